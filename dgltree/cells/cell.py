"""The base of the cells: what an author states, and what follows from it.

An author states the mathematics once: ``state``, ``gates`` and ``combine``, and where a cell needs them
``shared_gates`` and ``products``. From these :class:`Cell` makes the weights (``build``), a step on the rows of any
engine (``step``), the states of leaves, and the functions that DGL calls. The level engine, ranking, tracing, exported
graphs and the tests' recursion differ in which rows they bring together, and in nothing else.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ClassVar, TypeVar, cast

import torch
from torch import Tensor, nn

from dgltree.batching.batch import TreeBatch
from dgltree.batching.vocabulary import ANY_ARITY, NO_TOKEN, Vocabulary, part_table
from dgltree.engine.checks import check_batch, check_device, check_nodes
from dgltree.engine.contract import CellBase, CellContract, Children, Computed, Leaf, State, StepRows, Widths
from dgltree.engine.memory import LARGE, available_bytes
from dgltree.engine.propagate import states_of
from dgltree.engine.typed_linear import Affine, Linear, Segments, TypedLinear, sort_rows, split
from dgltree.support.arguments import check_dropout, check_size
from dgltree.support.torch_internals import without_autocast

# ---------------------------------------------------------------------------------------------------------------------
# Common parts of the functions that DGL calls: frames of states, their order, and the inputs of nodes.


Frame = dict[str, Tensor]
COMPUTED = "computed"
"""The field of a graph's nodes that says whose states are there."""
C = TypeVar("C", bound="CellBase")
Result = TypeVar("Result")


def outside_autocast(function: Callable[[C, Any], Result]) -> Callable[[C, Any], Result]:
    """A method of a cell that computes in the dtype of the weights, as ``propagate`` does: a frame has one dtype."""

    @wraps(function)
    def run(cell: C, given: Any) -> Result:
        with without_autocast(cell.first_weight.device):
            return function(cell, given)

    return run


def get_prepared(cell: CellContract, frame: Frame) -> Frame:
    """The states in a frame. Raises ``ValueError`` if ``prepare`` did not put them there."""
    for part, shape in cell.state.items():
        if part not in frame or tuple(frame[part].shape[1:]) != shape:
            raise ValueError(
                f"the graph has no states {part!r} of this {type(cell).__name__}: "
                "call cell.prepare(graph) before every pass"
            )
    return {part: frame[part] for part in cell.state}


def check_order(nodes: Any) -> None:
    """``ValueError`` if nodes have the states of an earlier pass, or children have none yet."""
    is_stale = nodes.data[COMPUTED].any()
    is_early = ~nodes.mailbox[COMPUTED].all()
    stale, early = torch.stack([is_stale, is_early]).tolist()  # at once: a GPU is waited for
    if stale:
        raise ValueError("the graph has the states of an earlier pass: call cell.prepare(graph) before every pass")
    if early:
        raise ValueError(
            "a node is reached before its children: run the cell from the leaves to the roots, without reverse=True"
        )


def now_computed(nodes: Any) -> Tensor:
    """Return (rows,) bool, all true: these nodes are computed from now on."""
    return torch.ones_like(nodes.data[COMPUTED])


# ---------------------------------------------------------------------------------------------------------------------
# Vectors of what a node carries: a token, a number or a vector.


class NumberEncoder(nn.Module):
    r""":math:`\sigma(W_2 \sigma(W_1 v + b_1) + b_2)` of a number v (Arabshahi et al. 2021, arXiv 1911.01545).

    Args:
        size: width of the vectors.
        scale: (m, s), to read :math:`asinh((v - m) / s)` in the place of v: linear near m, logarithmic far from it, so
            that numbers of any size are told apart. None: as published.
    """

    def __init__(self, size: int, scale: tuple[float, float] | None = None) -> None:
        super().__init__()
        self.scale = scale
        self.linear1 = nn.Linear(1, size)
        self.linear2 = nn.Linear(size, size)

    def forward(self, value: Tensor) -> Tensor:
        """(rows,) of any floating dtype to (rows, size)."""
        if self.scale is not None:
            middle, spread = self.scale
            value = torch.asinh((value - middle) / spread)
        v = value.to(self.linear1.weight.dtype).unsqueeze(-1)
        return torch.sigmoid(self.linear2(torch.sigmoid(self.linear1(v))))


class FunctionEmbedding(nn.Module):
    """Vectors of functions by their names: one at two arities has one vector.

    Args:
        names: of the functions, by their ids.
        size: width of the vectors.

    Initialisation: N(0, 1).
    """

    place: Tensor

    def __init__(self, names: Sequence[str], size: int) -> None:
        super().__init__()
        row_of_name: dict[str, int] = {}
        rows = [row_of_name.setdefault(name, len(row_of_name)) for name in names]
        self.register_buffer("place", torch.tensor(rows, dtype=torch.long), persistent=False)
        self.weight = nn.Parameter(torch.empty(len(row_of_name), size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the embeddings again."""
        nn.init.normal_(self.weight)

    def forward(self, function: Tensor) -> Tensor:
        """(rows, size) from function ids (rows,) int64."""
        return nn.functional.embedding(self.place[function], self.weight)


class Vectors(nn.Module):
    """Rows of a table by ids of any shape: a module of its own, so that a training can drop some."""

    def forward(self, ids: Tensor, weight: Tensor) -> Tensor:
        """(..., size) from ids (...) int64 and a table (tokens, size)."""
        return nn.functional.embedding(ids, weight)


def computes_all_rows(token: Tensor) -> bool:
    """Whether rows without a token are computed, too: whether there are any is not known on a GPU or in an export."""
    return token.device.type != "cpu" or torch.compiler.is_exporting()


class Embedding(nn.Module):
    """Vectors of nodes that carry a token or a number.

    Args:
        tokens: how many the vocabulary has.
        size: width of the vectors.
        network: :math:`\\sigma(W_2 \\sigma(W_1 onehot + b_1) + b_2)` for tokens, instead of a row of W_1.
        numbers: whether there is a :class:`NumberEncoder`.
        number_scale: its scale.
        parts: (tokens, P) int64, the ids of the words that a token is made of, -1 for none: the mean of their vectors
            is added to its own. See :func:`dgltree.batching.vocabulary.part_table`.

    Initialisation: N(0, 1); with ``network``, W_1 and b_1 as a Linear whose fan-in is the number of tokens.
    """

    parts: Tensor | None

    def __init__(
        self,
        tokens: int,
        size: int,
        *,
        network: bool = False,
        numbers: bool = False,
        number_scale: tuple[float, float] | None = None,
        parts: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(tokens, size))
        self.vectors = Vectors()
        self.register_buffer("parts", parts, persistent=False)
        self.bias = nn.Parameter(torch.empty(size)) if network else None
        self.layer = nn.Linear(size, size) if network else None
        self.number = NumberEncoder(size, number_scale) if numbers else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the embeddings again."""
        if self.bias is None:
            nn.init.normal_(self.weight)
            return
        bound = max(len(self.weight), 1) ** -0.5
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, token: Tensor, value: Tensor | None) -> Tensor:
        """(rows, size) from token ids (rows,) int64 and numbers (rows,), NaN if there is none; 0 without either.

        A CPU computes the rows that have one. A GPU computes all, because to know which these are it is waited for,
        and so does a graph that is exported, which cannot depend on them.
        """
        everywhere = computes_all_rows(token)
        rows = self._token_rows(token, everywhere)
        if value is None or self.number is None:
            return rows
        is_number = ~value.isnan()
        if everywhere:
            return self.number(value.nan_to_num()).where(is_number.unsqueeze(1), rows)
        numbered = torch.nonzero(is_number).squeeze(-1)
        return rows.index_copy(0, numbered, self.number(value[numbered]))

    def _token_rows(self, token: Tensor, everywhere: bool) -> Tensor:
        """(rows, size) from token ids (rows,) int64, 0 for rows without a token."""
        is_token = token != NO_TOKEN
        if everywhere:
            zeros = token.new_zeros(len(token), self.weight.shape[1], dtype=self.weight.dtype)
            if not len(self.weight):
                return zeros
            return self._vectors_of(token.clamp(min=0)).where(is_token.unsqueeze(1), zeros)
        present = torch.nonzero(is_token).squeeze(-1)
        vectors = self._vectors_of(token[present])
        if len(present) == len(token):
            return vectors
        return vectors.new_zeros(len(token), vectors.shape[1]).index_copy(0, present, vectors)

    def _vectors_of(self, token: Tensor) -> Tensor:
        """(rows, size) from ids (rows,) int64 of which none is -1."""
        vectors = self.vectors(token, self.weight)
        if self.parts is not None:
            parts = self.parts[token]
            is_part = (parts >= 0).to(vectors.dtype)
            words = self.vectors(parts.clamp(min=0), self.weight) * is_part.unsqueeze(-1)
            vectors = vectors + words.sum(1) / is_part.sum(1, keepdim=True).clamp(min=1)
        if self.bias is None:
            return vectors
        assert self.layer is not None
        return torch.sigmoid(self.layer(torch.sigmoid(vectors + self.bias)))


class Cell(CellContract):
    """A recursive cell. Its weights belong to a (function, arity) of the vocabulary, or to an arity.

    Args:
        vocabulary: the functions and tokens.
        hidden_size: n, the width of the hidden state h.
        typed: whether each function has weights of its own. Otherwise all functions of an arity share them.
        rank: 0, or of a typed cell the rank of what is a function's own: the matrix of each gate is W + U_f V_f, where
            all functions of an arity share W, and U_f has so many columns.
        input_size: d, the width of input vectors. Without it the cell has no inputs. With it every gate also gets
            ``W_f^x x_j``; x_j comes from the batch's ``x``, else it is the embedding of the node's token or number (0
            for a node without one).
        leaf: what a leaf's state is. "embedding": ``h = Embedding[token]``, other parts 0 (published). "network":
            ``h = sigma(W_2 sigma(W_1 onehot + b_1) + b_2)``, other parts 0 (Arabshahi et al. 2019, arXiv 1911.01545v1).
            "gates": the cell itself runs on x with no children (Tai et al. 2015, arXiv 1503.00075); it needs
            ``input_size``.
        functions: whether x_j is that plus the embedding of the name of the node's function. A cell whose
            functions share their weights sees functions in no other way. It needs ``input_size``.
        numbers: whether leaves may carry a number, which :class:`NumberEncoder` then turns into h (or x, for "gates").
        number_scale: (m, s), to read :math:`asinh((v - m) / s)` of a number v; None: v itself.
        dropout: probability, in training only; where it acts is stated by each cell.

    Initialisation: each product is a torch ``Linear`` of its own fan-in m: weights and biases U(-1/sqrt(m), 1/sqrt(m));
    embeddings N(0, 1). A cell that differs says so. ``torch.manual_seed`` before building gives the same weights.
    """

    drops_inputs: ClassVar[bool] = False
    """Whether the dropout also acts on i_j before the gates read it."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        hidden_size: int,
        *,
        typed: bool = True,
        rank: int = 0,
        input_size: int | None = None,
        leaf: Leaf = "embedding",
        functions: bool = False,
        numbers: bool = False,
        number_scale: Sequence[float] | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_size("hidden_size", hidden_size)
        if input_size is not None:
            check_size("input_size", input_size)
        if leaf not in ("embedding", "network", "gates"):
            raise ValueError(f"leaf is {leaf!r}; it must be 'embedding', 'network' or 'gates'")
        if leaf == "gates" and input_size is None:
            raise ValueError("leaf='gates' applies the gates to a leaf's input: give input_size")
        if functions and input_size is None:
            raise ValueError("functions=True adds the embedding of a node's function to its input: give input_size")
        if number_scale is not None and (len(number_scale) != 2 or not number_scale[1] > 0):
            raise ValueError(f"number_scale is {number_scale!r}; it must be a middle and a spread above 0")
        if not isinstance(rank, int) or rank < 0 or (rank and not typed):
            raise ValueError(f"rank is {rank!r}; it must be a whole number, 0 or more (0 if functions share weights)")
        check_dropout(dropout)
        self.vocabulary = vocabulary
        self.hidden_size = hidden_size
        self.typed = typed
        self.rank = rank
        self.input_size = input_size
        self.leaf = leaf
        self.functions = functions
        self.numbers = numbers
        self.number_scale = None if number_scale is None else (number_scale[0], number_scale[1])
        self.dropout = dropout

    # What an author states: together with ``state``, the mathematics of the cell.

    @abstractmethod
    def gates(self, arity: int) -> Widths:
        """Name to width of the pre-activations: affine maps of ``i_j = [h_c1; ...; h_cN]`` (and x_j)."""

    def shared_gates(self, arity: int) -> Widths:
        """Name to width of gates whose weights on i_j all functions share, even if the cell is typed."""
        return {}

    def products(self, arity: int) -> dict[str, Affine]:
        """The further maps that ``combine`` asks for through ``linear``."""
        return {}

    @abstractmethod
    def combine(self, pre: State, children: Children, linear: Linear) -> Computed:
        """A node's state from its pre-activations and its children's states: plain differentiable torch.

        Args:
            pre: name to (rows, width), as ``gates`` names them.
            children: part name to one tensor a child, (rows, *shape). Ranking passes (equations, fillers, ...) with
                leading sizes that broadcast, so index from the right.
            linear: the maps that ``products`` names.

        Returns the state. Whatever else is in the result (gates, actions) can be asked for by name from
        ``propagate(..., trace=...)`` and costs nothing otherwise.
        """

    def reachable(self, state: State, steps: int) -> State:
        """The part of a state that a readout ``steps`` cells further up can depend on; all of it unless overridden."""
        return state

    # The weights.

    def build(self) -> None:
        """Make the parameters; a subclass calls it at the end of its ``__init__``, when its options are set."""
        self.maps = nn.ModuleDict()
        for arity, position in self._functions().items():
            one_for_all = dict.fromkeys(position, 0)
            for name, affine in self._affine(arity).items():
                matrices = position if self.typed and not affine.shared else one_for_all
                count = max(matrices.values()) + 1
                self._check_size(arity, count * affine.fan_in * affine.fan_out)
                self.maps[f"{name}_{self.key(arity)}"] = TypedLinear(affine, matrices, self.rank)
        self._build_embeddings()
        for name, linear in self.named_maps().items():
            if name.startswith("input_") and not linear.affine.fan_out:
                raise ValueError(f"{type(self).__name__} has no gates to read its inputs: leave out input_size")
        self.reset_parameters()
        self.sign()

    def _build_embeddings(self) -> None:
        """Make the vectors of leaves, of inputs, and of functions: each where something reads it."""
        tokens = len(self.vocabulary.tokens)
        parts = part_table(self.vocabulary.tokens) if self.vocabulary.parts else None
        numbers: dict[str, Any] = {"numbers": self.numbers, "number_scale": self.number_scale}
        if self.leaf != "gates":
            is_network = self.leaf == "network"
            self.embedding = Embedding(tokens, self.hidden_size, network=is_network, parts=parts, **numbers)
        if self.input_size is not None:
            read = numbers if self.leaf == "gates" else {}  # only leaves carry numbers
            self.input_embedding = Embedding(tokens, self.input_size, parts=parts, **read)
        if self.functions:
            names = [name for name, _ in self.vocabulary.functions]
            self.function_embedding = FunctionEmbedding(names, self.input_size or 0)

    def _check_size(self, arity: int | None, numbers: int) -> None:
        """``MemoryError`` if so many weights of nodes of an arity are more than the memory that is left."""
        needed = numbers * torch.get_default_dtype().itemsize
        if needed < LARGE:
            return
        left = available_bytes(torch.device("cpu"))
        if left is None or needed <= left:
            return
        adding = ", or a cell that sums children, such as ChildSumTreeLSTM" if arity else ""
        raise MemoryError(
            f"a {type(self).__name__} needs {needed / 2**30:,.0f} GiB of weights for nodes of {arity or 0:,} children, "
            f"but {left / 2**30:,.1f} GiB are left: use a smaller hidden_size (--hidden-size){adding}"
        )

    def reset_parameters(self) -> None:
        """Draw the parameters again, as the class docstring says."""
        super().reset_parameters()
        for linear in self.named_maps().values():
            if linear.affine.fan_in == 0:  # the gates of a leaf read x alone
                linear.reset_parameters((self.input_size or 1) ** -0.5)

    def _functions(self) -> dict[int, dict[int, int]]:
        """Arity -> function id -> its number among the functions of that arity."""
        vocabulary = self.vocabulary
        anywhere = vocabulary.at_arity(ANY_ARITY)
        if anywhere:
            name, _ = vocabulary.functions[anywhere[0]]
            raise ValueError(
                f"the vocabulary has functions of any arity, such as {name!r}, but {type(self).__name__} has weights "
                "for each arity: use ChildSumTreeLSTM, or a vocabulary with arities"
            )
        numbers: dict[int, dict[int, int]] = {}
        for arity in vocabulary.arities:
            if arity or self.leaf == "gates":
                functions = vocabulary.at_arity(arity)
                numbers[arity] = dict(zip(functions, range(len(functions)), strict=True))
        return numbers

    def _affine(self, arity: int) -> dict[str, Affine]:
        """All maps of one arity: those of i_j, that of x_j, and the further ones of ``combine``."""
        fan_in = arity * self.hidden_size
        maps = {}
        for name, widths in self.gate_maps(arity).items():
            maps[name] = Affine(fan_in, sum(widths.values()), shared=name == "shared_gates")
        if self.input_size is not None:
            width = sum(affine.fan_out for affine in maps.values())
            maps["input"] = Affine(self.input_size, width, bias=False)
        return maps | self.products(arity)

    def key(self, arity: int | None) -> str:
        return str(arity)

    def linear_for(self, arity: int | None, segments: Segments) -> Linear:
        """The maps of rows that have this arity and are sorted by function."""
        key = self.key(arity)
        return lambda name, v: cast(Tensor, self.maps[f"{name}_{key}"](v, segments))

    def gate_maps(self, arity: int) -> dict[str, Widths]:
        """The maps of i_j, and the gates whose pre-activations each gives."""
        maps = {"gates": self.gates(arity), "shared_gates": self.shared_gates(arity)}
        return {name: widths for name, widths in maps.items() if widths}

    # One step, and a call.

    def forward(
        self,
        batch: Any,
        share: bool = False,
        trace: Sequence[str] = (),
        check: bool = False,
        recompute: bool = False,
    ) -> State:
        """States, as of ``dgltree.propagate``, which calls the cell: forward hooks are run once a pass.

        A ``Ranker`` runs no passes, and refuses a cell with hooks.
        """
        return states_of(self, batch, share, trace, check, recompute)

    def step(self, rows: StepRows) -> tuple[Computed, State]:
        """New states of rows and what else ``combine`` gives; no messages, since children are read one by one."""
        children = rows.children()
        names = list(self.gate_maps(len(children["h"])))
        products = rows.products(names, self.drop if self.drops_inputs else None)
        return self._combined(products, rows.x_pre, children, rows.linear), {}

    def compute(self, i: Tensor, x_pre: Tensor | None, children: Children, linear: Linear) -> Computed:
        """New states of rows from i_j (rows, N * n), and what x_j adds to the gates."""
        if self.drops_inputs:
            i = self.drop(i)
        products = [linear(name, i) for name in self.gate_maps(len(children["h"]))]
        return self._combined(products, x_pre, children, linear)

    def _combined(self, products: list[Tensor], x_pre: Tensor | None, children: Children, linear: Linear) -> Computed:
        if x_pre is not None:
            parts = x_pre.split([product.shape[-1] for product in products], -1)
            products = [product + part for product, part in zip(products, parts, strict=True)]
        pre: State = {}
        for product, widths in zip(products, self.gate_maps(len(children["h"])).values(), strict=True):
            pre |= split(product, widths)
        return self.combine(pre, children, linear)

    def split_inputs(self, x_pre: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
        """The contribution of a node's x to its own gates, and to those of the messages that it gets, if any."""
        return x_pre, None

    def node_inputs(
        self, function: Tensor, token: Tensor | None, value: Tensor | None, x: Tensor | None
    ) -> Tensor | None:
        """(rows, d): x if it is given, else the embedding, and that of the function if the cell reads it.

        None for a cell, or for rows, without inputs. Whether any row has a token a GPU would have to be waited for, so
        there all rows have inputs, unless ``token`` is None.
        """
        if self.input_size is None:
            return None
        if x is None and token is not None:
            is_any = value is not None or computes_all_rows(token) or bool((token >= 0).any())
            x = self.input_embedding(token, value) if is_any else None
        if not self.functions:
            return x
        of_function: Tensor = self.function_embedding(function)
        return of_function if x is None else x + of_function

    # Leaves.

    def leaf_states(self, batch: TreeBatch, leaves: Tensor, segments: Segments) -> Computed:
        """States of the leaves with these node numbers, and with ``leaf="gates"`` what else their gates computed.

        The leaves are sorted by function, and ``segments`` says how.
        """
        numbers = batch.within(self.vocabulary).numbers
        token = batch.token.index_select(0, leaves)
        value = None if numbers is None else numbers.index_select(0, leaves)
        if self.leaf != "gates":
            return self.embedded_leaves(token, value)
        x = None if batch.x is None else batch.x.index_select(0, leaves)
        inputs = self.node_inputs(batch.function.index_select(0, leaves), token, value, x)
        linear = self.linear_for(0, segments)
        return self.leaf_gates(len(leaves), None if inputs is None else linear("input", inputs), linear)

    def embedded_leaves(self, token: Tensor, value: Tensor | None) -> State:
        """The states of leaves with these tokens (rows,) int64 and numbers (rows,), unless gates compute them."""
        h = self.embedding(token, value)
        zero = h.new_zeros(())  # one number in memory, since a pass keeps what it begins with
        states: State = {"h": h}
        for part, shape in self.state.items():
            if part != "h":
                states[part] = zero.expand(len(h), *shape)
        return states

    def leaf_gates(self, rows: int, x_pre: Tensor | None, linear: Linear) -> Computed:
        """The states of leaves with gates, and what else these computed, from what x adds to them."""
        x_pre, _ = self.split_inputs(x_pre)
        i = next(self.maps.parameters()).new_empty(rows, 0)
        computed = self.compute(i, x_pre, self.no_children(rows), linear)
        return {name: tensor for name, tensor in computed.items() if isinstance(tensor, Tensor)}

    def no_children(self, rows: int) -> Children:
        """The arguments of ``compute`` for leaves."""
        return {part: [] for part in self.state}

    # The functions that DGL calls. A frame holds rows in the order of a degree bucket, so each function sorts them by
    # the function of their node, and puts its result back.

    @outside_autocast
    def prepare(self, graph: Any) -> None:
        """Put fresh states into ``graph.ndata``: leaf states at the leaves, 0 elsewhere. Call it before every pass.

        ``graph`` is a ``dgl.DGLGraph`` or a ``dgltree.engine.Graph``. Propagation overwrites the states of
        inner nodes, by which a second pass over a graph that was not prepared again is known, and refused: its leaves
        would have the states of earlier weights. So is a pass from the roots down, which would read states of zeros.
        """
        batch = getattr(graph, "batch", None) or TreeBatch.from_graph(graph)
        check_batch(self, batch)
        check_device(self, batch)
        check_nodes(self, batch)
        is_leaf = batch.arity == 0
        leaves = torch.nonzero(is_leaf).squeeze(-1)
        order, segments, _ = sort_rows(batch.function[leaves])
        leaves = leaves[order]
        states = self.leaf_states(batch, leaves, segments)
        graph.ndata[COMPUTED] = is_leaf
        for part in self.state:
            rows = states[part]
            empty = rows.new_zeros(batch.num_nodes, *rows.shape[1:])
            graph.ndata[part] = empty.index_copy(0, leaves, rows)

    def message_func(self, edges: Any) -> Frame:
        """A child's state, and its slot, because a mailbox is in the order of edge ids."""
        return {**get_prepared(self, edges.src), "slot": edges.data["slot"], COMPUTED: edges.src[COMPUTED]}

    @outside_autocast
    def reduce_func(self, nodes: Any) -> Frame:
        """A node's state from its mailbox: (rows, arity, *shape) a part, arity the degree bucket's."""
        check_order(nodes)
        order, segments, back = sort_rows(nodes.data["function"])
        slot = nodes.mailbox["slot"][order].argsort(1)
        mail = {}
        for part, shape in self.state.items():
            index = slot.view(*slot.shape, *(1 for _ in shape))
            messages = nodes.mailbox[part][order]
            mail[part] = messages.gather(1, index.expand(-1, -1, *shape))
        children = {part: rows.unbind(1) for part, rows in mail.items()}
        linear = self.linear_for(slot.shape[1], segments)
        x = self.frame_inputs(nodes.data, order)
        x_pre = None if x is None else linear("input", x)
        computed = self.compute(mail["h"].flatten(1), x_pre, children, linear)
        states = {part: computed[part][back] for part in self.state}
        return {**states, COMPUTED: now_computed(nodes)}

    def apply_node_func(self, nodes: Any) -> Frame:
        """The state as it is: DGL calls this on leaves and, after ``reduce_func``, on inner nodes."""
        return {**get_prepared(self, nodes.data), COMPUTED: nodes.data[COMPUTED]}

    def frame_inputs(self, frame: Frame, order: Tensor) -> Tensor | None:
        """(rows, d), the inputs of inner nodes (or of the nodes that edges lead to), in this order."""
        if self.input_size is None:
            return None
        token = frame["token"][order] if "token" in frame else torch.full_like(order, NO_TOKEN)
        x = frame["x"][order] if "x" in frame else None
        return self.node_inputs(frame["function"][order], token, None, x)
