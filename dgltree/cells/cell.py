"""The contract of a cell: what it must state, and what follows from it.

A cell states its mathematics once (``state``, ``gates``, ``combine``). The level engine, the DGL functions, ranking and
the tests' recursion all call the same ``combine``; they differ only in which rows they bring together.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from dgltree.batch import NO_TOKEN, TreeBatch
from dgltree.cells.check import check_batch
from dgltree.schedule import Segments
from dgltree.vocabulary import Vocabulary

State = dict[str, Tensor]
"""Part name to (rows, *shape): ``{"h": (rows, n), "S": (rows, p, n)}``."""
Linear = Callable[[str, Tensor], Tensor]
"""``linear(name, v)``: the further typed product ``name`` of rows ``v``."""
Leaf = Literal["embedding", "network", "gates"]


class Cell(nn.Module, ABC):
    """A recursive cell with typed weights: one set for each (function, arity) of the vocabulary.

    Args:
        vocabulary: the functions and tokens.
        hidden_size: n, the width of the hidden state h.
        input_size: d, the width of input vectors. Without it the cell has no inputs. With it every gate also gets
            ``W_f^x x_j``; x_j comes from the batch's ``x``, else it is the embedding of the node's token (0 for a node
            without one).
        leaf: what a leaf's state is. "embedding": ``h = Embedding[token]``, other parts 0 (published). "network":
            ``h = sigma(W_2 sigma(W_1 onehot + b_1) + b_2)``, other parts 0 (Arabshahi et al. 2019, arXiv 1911.01545v1).
            "gates": the cell itself runs on x with no children (Tai et al. 2015, arXiv 1503.00075); it needs
            ``input_size``.
        dropout: probability, in training only; where it acts is stated by each cell.

    Initialisation: each product is a torch ``Linear`` of its own fan-in m: weights and biases U(-1/sqrt(m), 1/sqrt(m));
    embeddings N(0, 1).
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        hidden_size: int,
        *,
        input_size: int | None = None,
        leaf: Leaf = "embedding",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if hidden_size < 1:
            raise ValueError(f"hidden_size is {hidden_size}; it is 1 or more")
        if leaf not in ("embedding", "network", "gates"):
            raise ValueError(f"leaf is {leaf!r}; it is 'embedding', 'network' or 'gates'")
        if leaf == "gates" and input_size is None:
            raise ValueError("leaf='gates' runs the gates on a leaf's input: give input_size")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout is {dropout}; it is a probability from 0 to below 1")
        self.vocabulary = vocabulary
        self.hidden_size = hidden_size
        self.input_size = input_size
        self.leaf = leaf
        self.dropout = dropout
        self.config: dict[str, Any] = {
            "hidden_size": hidden_size,
            "input_size": input_size,
            "leaf": leaf,
            "dropout": dropout,
        }

    def build(self) -> None:
        """Make the parameters; a subclass calls it at the end of its ``__init__``, when its options are set."""
        n, d = self.hidden_size, self.input_size
        self.weight = nn.ParameterDict()
        self.bias = nn.ParameterDict()
        self.input_weight = nn.ParameterDict()
        self.product_weight = nn.ParameterDict()
        self.product_bias = nn.ParameterDict()
        self.position: dict[int, int] = {}  # function id -> its place in the stacked weights of its arity
        for arity in self.vocabulary.arities:
            functions = self.vocabulary.at_arity(arity)
            self.position.update({f: i for i, f in enumerate(functions)})
            if arity == 0 and self.leaf != "gates":
                continue
            key, count, out = str(arity), len(functions), sum(self.gates(arity).values())
            self.weight[key] = nn.Parameter(torch.empty(count, out, arity * n))
            self.bias[key] = nn.Parameter(torch.empty(count, out))
            if d is not None:
                self.input_weight[key] = nn.Parameter(torch.empty(count, out, d))
            for name, (fan_in, fan_out) in self.products(arity).items():
                self.product_weight[f"{name}_{arity}"] = nn.Parameter(torch.empty(count, fan_out, fan_in))
                self.product_bias[f"{name}_{arity}"] = nn.Parameter(torch.empty(count, fan_out))
        tokens = len(self.vocabulary.tokens)
        if self.leaf != "gates":
            self.embedding = nn.Embedding(tokens, n)
        if d is not None:
            self.input_embedding = nn.Embedding(tokens, d)
        if self.leaf == "network":
            self.leaf_bias = nn.Parameter(torch.empty(n))
            self.leaf_layer = nn.Linear(n, n)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew, as the class docstring says."""
        for key, weight in self.weight.items():
            bound = (weight.shape[-1] or self.input_size or 1) ** -0.5  # the gates of a leaf read x alone
            for parameters in (self.weight, self.bias):
                nn.init.uniform_(parameters[key], -bound, bound)
        for weight in self.input_weight.values():
            nn.init.uniform_(weight, -(weight.shape[-1] ** -0.5), weight.shape[-1] ** -0.5)
        for key, weight in self.product_weight.items():
            bound = weight.shape[-1] ** -0.5
            nn.init.uniform_(weight, -bound, bound)
            nn.init.uniform_(self.product_bias[key], -bound, bound)
        for module in self.children():
            if isinstance(module, nn.Embedding | nn.Linear):
                module.reset_parameters()
        if self.leaf == "network":
            # W_1 reads a one-hot vector: a Linear whose fan-in is the number of tokens
            bound = len(self.vocabulary.tokens) ** -0.5
            nn.init.uniform_(self.embedding.weight, -bound, bound)
            nn.init.uniform_(self.leaf_bias, -bound, bound)

    # --- what a cell states -------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def state(self) -> dict[str, tuple[int, ...]]:
        """Part name to its shape at one node; ``h``, (n,), is what parents and readouts read."""

    @abstractmethod
    def gates(self, arity: int) -> dict[str, int]:
        """Name to width of the pre-activations: affine maps of ``i_j = [h_c1; ...; h_cN]`` (and x_j)."""

    def products(self, arity: int) -> dict[str, tuple[int, int]]:
        """Name to (in, out) of the further typed products that ``combine`` asks for through ``linear``."""
        return {}

    @abstractmethod
    def combine(self, pre: State, children: Mapping[str, Sequence[Tensor]], linear: Linear) -> State:
        """A node's state from its pre-activations and its children's states: plain differentiable torch.

        Args:
            pre: name to (rows, width), as ``gates`` names them.
            children: part name to one tensor a slot, (rows, *shape). Ranking passes (equations, fillers, ...) with
                leading sizes that broadcast, so index from the right.
            linear: the products that ``products`` names.
        """

    def reachable(self, state: State, steps: int) -> State:
        """The part of a state that a readout ``steps`` cells further up can depend on; all of it unless overridden."""
        return state

    # --- what follows -------------------------------------------------------------------------------------------------

    def drop(self, v: Tensor) -> Tensor:
        return nn.functional.dropout(v, self.dropout, self.training) if self.dropout else v

    def split(self, pre: Tensor, arity: int) -> State:
        """(rows, out) to name -> (rows, width)."""
        gates = self.gates(arity)
        return dict(zip(gates, pre.split(list(gates.values()), -1), strict=True))

    def linear_for(self, arity: int, segments: Segments) -> Linear:
        """The further products of rows sorted by function."""

        def linear(name: str, v: Tensor) -> Tensor:
            weight, bias = self.product_weight[f"{name}_{arity}"], self.product_bias[f"{name}_{arity}"]
            places = [(self.position[f], start, stop) for f, start, stop in segments]
            return grouped_linear(v, [(weight[f], bias[f], start, stop) for f, start, stop in places])

        return linear

    def node_inputs(self, token: Tensor | None, x: Tensor | None) -> Tensor | None:
        """(rows, d): x where it is given, else the embedding of the token; None for a cell without inputs."""
        if self.input_size is None:
            return None
        if x is not None:
            return x
        assert token is not None, "check_batch has seen to tokens or x"
        embedded = self.input_embedding(token.clamp(min=0))
        return embedded * (token != NO_TOKEN).unsqueeze(-1)

    def leaf_states(self, batch: TreeBatch, leaves: Tensor) -> State:
        """States of the leaves with these node numbers, part name to (rows, *shape)."""
        token, x = batch.token[leaves], None if batch.x is None else batch.x[leaves]
        if self.leaf == "gates":
            inputs = self.node_inputs(token, x)

            def run(order: Tensor, segments: Segments) -> State:
                nothing = self.bias["0"].new_empty(len(order), 0)
                pre = self.pre_activations(nothing, None if inputs is None else inputs[order], 0, segments)
                children: dict[str, list[Tensor]] = {part: [] for part in self.state}
                return self.combine(self.split(pre, 0), children, self.linear_for(0, segments))

            return self._on_sorted(batch.function[leaves], 0, run)
        h = self.embedding(token)
        if self.leaf == "network":
            h = torch.sigmoid(self.leaf_layer(torch.sigmoid(h + self.leaf_bias)))
        zeros = {part: h.new_zeros(len(h), *shape) for part, shape in self.state.items() if part != "h"}
        return {"h": h, **zeros}

    def pre_activations(self, i: Tensor, x: Tensor | None, arity: int, segments: Segments) -> Tensor:
        """(rows, out): ``W_f i + b_f (+ W_f^x x)`` of rows sorted by function; i is (rows, arity * n)."""
        key = str(arity)
        places = [(self.position[f], start, stop) for f, start, stop in segments]
        weight, bias = self.weight[key], self.bias[key]
        pre = grouped_linear(i, [(weight[f], bias[f], start, stop) for f, start, stop in places])
        if x is not None:
            inputs = self.input_weight[key]
            pre = pre + grouped_linear(x, [(inputs[f], None, start, stop) for f, start, stop in places])
        return pre

    def _on_sorted(self, function: Tensor, arity: int, run: Callable[[Tensor, Segments], State]) -> State:
        """Run ``run(order, segments)`` on rows sorted by function and put its results back in the rows' own order."""
        order = torch.argsort(function, stable=True)
        ids, counts = torch.unique_consecutive(function[order], return_counts=True)
        stops = counts.cumsum(0)
        segments = list(zip(ids.tolist(), (stops - counts).tolist(), stops.tolist(), strict=True))
        back = torch.argsort(order)
        return {part: tensor[back] for part, tensor in run(order, segments).items()}

    # --- the functions that DGL calls ---------------------------------------------------------------------------------

    def prepare(self, graph: Any) -> None:
        """Put fresh states into ``graph.ndata``: leaf states at the leaves, 0 elsewhere. Call it before every pass.

        ``graph`` is a ``dgl.DGLGraph`` or a :class:`dgltree.runner.Graph`. Propagation overwrites the states, so a
        second pass over a graph that was not prepared again would differentiate through the first.
        """
        batch = getattr(graph, "batch", None) or TreeBatch.from_graph(graph)
        check_batch(self, batch)
        leaves = torch.nonzero(batch.arity == 0).squeeze(-1)
        for part, leaf in self.leaf_states(batch, leaves).items():
            empty = leaf.new_zeros(batch.num_nodes, *leaf.shape[1:])
            graph.ndata[part] = empty.index_copy(0, leaves, leaf)

    def message_func(self, edges: Any) -> State:
        """A child's state, and its slot, because a mailbox is in the order of edge ids."""
        return {**{part: edges.src[part] for part in self.state}, "slot": edges.data["slot"]}

    def reduce_func(self, nodes: Any) -> State:
        """A node's state from its mailbox: (rows, arity, *shape) a part, arity the degree bucket's."""
        slot = nodes.mailbox["slot"].argsort(1)
        arity = slot.shape[1]
        mail = {}
        for part, shape in self.state.items():
            index = slot.view(*slot.shape, *(1 for _ in shape)).expand(-1, -1, *shape)
            mail[part] = nodes.mailbox[part].gather(1, index)

        def run(order: Tensor, segments: Segments) -> State:
            children = {part: tensor[order].unbind(1) for part, tensor in mail.items()}
            own = [nodes.data[name][order] if name in nodes.data else None for name in ("token", "x")]
            pre = self.pre_activations(torch.cat(children["h"], -1), self.node_inputs(*own), arity, segments)
            return self.combine(self.split(pre, arity), children, self.linear_for(arity, segments))

        return self._on_sorted(nodes.data["function"], arity, run)

    def apply_node_func(self, nodes: Any) -> State:
        """The state as it stands: DGL calls this on leaves and, after ``reduce_func``, on inner nodes."""
        return {part: nodes.data[part] for part in self.state}


def grouped_linear(v: Tensor, groups: Sequence[tuple[Tensor, Tensor | None, int, int]]) -> Tensor:
    """Rows ``start:stop`` of v, (rows, ..., in), times their own (out, in) weight: (rows, ..., out)."""
    parts = [nn.functional.linear(v[start:stop], weight, bias) for weight, bias, start, stop in groups]
    return parts[0] if len(parts) == 1 else torch.cat(parts)
