"""The contract of a cell: what it must state, and what follows from it.

A cell states its mathematics once (``state``, ``gates``, ``combine``). The level engine, the DGL functions, ranking,
tracing and the tests' recursion all call the same ``combine``; they differ only in which rows they bring together.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, cast

from torch import Tensor, nn

from dgltree.arguments import check_dropout, check_size
from dgltree.batching.batch import TreeBatch
from dgltree.batching.vocabulary import ANY_ARITY, Vocabulary
from dgltree.cells.inputs import Embedding, Leaf
from dgltree.cells.message_passing import MessagePassing
from dgltree.cells.typed import Affine, Linear, TypedLinear, split
from dgltree.engine.schedule import Segments

State = dict[str, Tensor]
"""Part name to (rows, *shape): ``{"h": (rows, n), "S": (rows, p, n)}``."""
Children = Mapping[str, Sequence[Tensor]]
"""Part name to one tensor a child, (rows, *shape)."""
Computed = Mapping[str, Any]
"""A state, and what else was computed on the way: (rows, *shape), or one such tensor a child."""


class Cell(MessagePassing, nn.Module, ABC):
    """A recursive cell. Its weights belong to a (function, arity) of the vocabulary, or to an arity.

    Args:
        vocabulary: the functions and tokens.
        hidden_size: n, the width of the hidden state h.
        typed: whether each function has weights of its own. Otherwise all functions of an arity share them.
        input_size: d, the width of input vectors. Without it the cell has no inputs. With it every gate also gets
            ``W_f^x x_j``; x_j comes from the batch's ``x``, else it is the embedding of the node's token or number (0
            for a node without one).
        leaf: what a leaf's state is. "embedding": ``h = Embedding[token]``, other parts 0 (published). "network":
            ``h = sigma(W_2 sigma(W_1 onehot + b_1) + b_2)``, other parts 0 (Arabshahi et al. 2019, arXiv 1911.01545v1).
            "gates": the cell itself runs on x with no children (Tai et al. 2015, arXiv 1503.00075); it needs
            ``input_size``.
        numbers: whether leaves may carry a number, which :class:`NumberEncoder` then turns into h (or x, for "gates").
        dropout: probability, in training only; where it acts is stated by each cell.

    Initialisation: each product is a torch ``Linear`` of its own fan-in m: weights and biases U(-1/sqrt(m), 1/sqrt(m));
    embeddings N(0, 1). A cell that differs says so. ``torch.manual_seed`` before building gives the same weights.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        hidden_size: int,
        *,
        typed: bool = True,
        input_size: int | None = None,
        leaf: Leaf = "embedding",
        numbers: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_size("hidden_size", hidden_size)
        if input_size is not None:
            check_size("input_size", input_size)
        if leaf not in ("embedding", "network", "gates"):
            raise ValueError(f"leaf is {leaf!r}; it is 'embedding', 'network' or 'gates'")
        if leaf == "gates" and input_size is None:
            raise ValueError("leaf='gates' runs the gates on a leaf's input: give input_size")
        check_dropout(dropout)
        self.vocabulary = vocabulary
        self.hidden_size = hidden_size
        self.typed = typed
        self.input_size = input_size
        self.leaf = leaf
        self.numbers = numbers
        self.dropout = dropout
        self.config: dict[str, Any] = {
            "hidden_size": hidden_size,
            "typed": typed,
            "input_size": input_size,
            "leaf": leaf,
            "numbers": numbers,
            "dropout": dropout,
        }

    def build(self) -> None:
        """Make the parameters; a subclass calls it at the end of its ``__init__``, when its options are set."""
        n, d, tokens = self.hidden_size, self.input_size, len(self.vocabulary.tokens)
        self.maps = nn.ModuleDict()
        for arity, functions in self._functions().items():
            own = {f: i if self.typed else 0 for f, i in functions.items()}
            for name, affine in self._affine(arity).items():
                position = dict.fromkeys(functions, 0) if affine.shared else own
                self.maps[f"{name}_{self.key(arity)}"] = TypedLinear(affine, position)
        if self.leaf != "gates":
            self.embedding = Embedding(tokens, n, network=self.leaf == "network", numbers=self.numbers)
        if d is not None:
            self.input_embedding = Embedding(tokens, d, numbers=self.numbers and self.leaf == "gates")
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew, as the class docstring says."""
        for module in self.modules():
            if module is not self and callable(reset := getattr(module, "reset_parameters", None)):
                reset()
        for linear in self.named_maps().values():
            if linear.affine.fan_in == 0:  # the gates of a leaf read x alone
                linear.reset_parameters((self.input_size or 1) ** -0.5)

    def _functions(self) -> dict[int, dict[int, int]]:
        """Arity -> function id -> its place among the functions of that arity."""
        vocabulary = self.vocabulary
        if anywhere := vocabulary.at_arity(ANY_ARITY):
            name = vocabulary.functions[anywhere[0]][0]
            raise ValueError(
                f"the vocabulary has functions of any arity, {name!r} for one; {type(self).__name__} has weights for "
                "each arity: use ChildSumTreeLSTM, or a vocabulary with arities"
            )
        arities = [arity for arity in vocabulary.arities if arity or self.leaf == "gates"]
        return {arity: {f: i for i, f in enumerate(vocabulary.at_arity(arity))} for arity in arities}

    def _affine(self, arity: int) -> dict[str, Affine]:
        """All maps of one arity."""
        i, gates = arity * self.hidden_size, self.gate_maps(arity)
        maps = {name: Affine(i, sum(widths.values()), shared=name == "shared_gates") for name, widths in gates.items()}
        if self.input_size is not None:
            maps["input"] = Affine(self.input_size, sum(affine.fan_out for affine in maps.values()), bias=False)
        return maps | self.products(arity)

    # --- what a cell states -------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def state(self) -> dict[str, tuple[int, ...]]:
        """Part name to its shape at one node; ``h``, (n,), is what parents and readouts read."""

    @abstractmethod
    def gates(self, arity: int) -> dict[str, int]:
        """Name to width of the pre-activations: affine maps of ``i_j = [h_c1; ...; h_cN]`` (and x_j)."""

    def shared_gates(self, arity: int) -> dict[str, int]:
        """The same for gates whose weights on i_j all functions share, even where the cell is typed."""
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

    def drop_inputs(self, i: Tensor) -> Tensor:
        """What the gates read of i_j: itself, unless a cell has dropout there."""
        return i

    # --- what follows -------------------------------------------------------------------------------------------------

    def drop(self, v: Tensor) -> Tensor:
        return nn.functional.dropout(v, self.dropout, self.training) if self.dropout else v

    def key(self, arity: int) -> str:
        """What the maps of an arity are named by."""
        return str(arity)

    def named_maps(self) -> dict[str, TypedLinear]:
        """``{name}_{key}`` to map: "gates_2" are the gates of nodes with two children."""
        return cast(dict[str, TypedLinear], dict(self.maps.items()))

    def linear_for(self, arity: int, segments: Segments) -> Linear:
        """The maps of rows that have this arity and are sorted by function."""
        key = self.key(arity)
        return lambda name, v: cast(Tensor, self.maps[f"{name}_{key}"](v, segments))

    def gate_maps(self, arity: int) -> dict[str, dict[str, int]]:
        """The maps of i_j, and the gates whose pre-activations each gives."""
        shared = self.shared_gates(arity)
        return {"gates": self.gates(arity), **({"shared_gates": shared} if shared else {})}

    def compute(self, i: Tensor, x_pre: Tensor | None, children: Children, linear: Linear) -> Computed:
        """New states and what else ``combine`` gives, from i_j (rows, N * n) and what x_j adds to the gates."""
        i = self.drop_inputs(i)
        products = [linear(name, i) for name in self.gate_maps(len(children["h"]))]
        return self.compute_from(products, x_pre, children, linear)

    def compute_from(
        self, products: list[Tensor], x_pre: Tensor | None, children: Children, linear: Linear
    ) -> Computed:
        """The same from the products of i_j with each of ``gate_maps``."""
        if x_pre is not None:
            parts = x_pre.split([product.shape[-1] for product in products], -1)
            products = [product + part for product, part in zip(products, parts, strict=True)]
        pre: State = {}
        for product, widths in zip(products, self.gate_maps(len(children["h"])).values(), strict=True):
            pre |= split(product, widths)
        return self.combine(pre, children, linear)

    def split_inputs(self, x_pre: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
        """What a node's x adds to its own gates, and to those of the messages that it gets, if any."""
        return x_pre, None

    def own_parameters(self) -> dict[str, nn.Parameter]:
        """Parameters that ``combine`` uses besides the maps, such as those of a LayerNorm."""
        ours = ("maps", "embedding", "input_embedding")
        return {name: p for name, p in self.named_parameters() if name.split(".")[0] not in ours}

    def node_inputs(self, token: Tensor, value: Tensor | None, x: Tensor | None) -> Tensor | None:
        """(rows, d): x where it is given, else the embedding; None for a cell, or for rows, without inputs."""
        if self.input_size is None or x is not None:
            return x
        if value is None and not (token >= 0).any():
            return None
        return self.input_embedding(token, value)

    def leaf_states(self, batch: TreeBatch, leaves: Tensor, segments: Segments) -> Computed:
        """States of the leaves with these node numbers, and with ``leaf="gates"`` what else their gates computed.

        The leaves are sorted by function, and ``segments`` says how.
        """
        columns = (batch.token, batch.value, batch.x)
        token, value, x = (None if column is None else column.index_select(0, leaves) for column in columns)
        assert token is not None
        if self.leaf == "gates":
            return self._leaf_gates(len(leaves), segments, self.node_inputs(token, value, x))
        h = self.embedding(token, value)
        zeros = {part: h.new_zeros(len(h), *shape) for part, shape in self.state.items() if part != "h"}
        return {"h": h, **zeros}

    def _leaf_gates(self, rows: int, segments: Segments, x: Tensor | None) -> Computed:
        linear = self.linear_for(0, segments)
        x_pre, _ = self.split_inputs(None if x is None else linear("input", x))
        i = next(self.maps.parameters()).new_empty(rows, 0)
        computed = self.compute(i, x_pre, self.no_children(rows), linear)
        return {name: tensor for name, tensor in computed.items() if isinstance(tensor, Tensor)}

    def no_children(self, rows: int) -> Children:
        """What ``compute`` gets for leaves."""
        return {part: [] for part in self.state}
