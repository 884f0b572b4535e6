"""The parts of a model that torch traces: leaves, inputs, one step of each arity, answers.

A graph of ONNX holds the operations of one call, and which products a pass has depends on its trees. So nothing that
depends on them is traced: a piece is what a cell does with some rows of one function, their number left open. The loop
over these rows is put around the pieces by :mod:`dgltree.exporting.assembly`.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import onnx
import torch
from torch import Tensor, nn

from dgltree.cells import Aggregation, Cell
from dgltree.engine.contract import Children, Map, Send, State, StepRows
from dgltree.engine.typed_linear import Linear
from dgltree.exporting.onnx_graph import OPSET
from dgltree.support.unwarned import without_warnings

ROWS, EDGES = 3, 6
"""Sizes of the examples that are traced; neither is 0 or 1, for which torch makes graphs of their own."""


@dataclass
class TracedPiece:
    """A part of a model: a function of named tensors.

    Once it is traced, ``nodes`` compute ``results`` from the inputs and from ``initializers``.
    """

    inputs: dict[str, Tensor]
    """Examples."""
    open: list[str]
    """The inputs whose number of rows is left open."""
    compute: Callable[[dict[str, Tensor]], Mapping[str, Any]]
    outputs: list[str]
    """Which of what it computes are results."""
    edges: list[str] = field(default_factory=list)
    """The open inputs whose rows are edges, not nodes."""
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """Name in the traced graph of each input that is read."""
    results: list[str] = field(default_factory=list)
    """Names in the traced graph of the outputs."""
    types: list[onnx.TypeProto] = field(default_factory=list)
    """Types of the outputs."""
    initializers: dict[str, onnx.TensorProto] = field(default_factory=dict)


class TracedRows(StepRows):
    """Rows of one function, whose weights and children's states are inputs of the graph.

    Args:
        linear: the maps of these rows.
        x_pre: (rows, widths of all gates), what the inputs add to the gates; None without inputs.
        given: the children's states, part name to (rows, arity, *shape); for cells that add up their children, to
            (edges, *shape).
        parent, position: (edges,) int64 for these cells, the row that each edge leads to, counted from the first of
            these rows, and the child's place among its siblings.
        count: of the rows.
    """

    def __init__(
        self,
        linear: Linear,
        x_pre: Tensor | None,
        given: State,
        parent: Tensor | None,
        position: Tensor | None,
        count: int,
    ) -> None:
        super().__init__(linear, x_pre)
        self._given = given
        self._parent = parent
        self._position = position
        self._count = count

    def children(self) -> Children:
        return {part: rows.unbind(1) for part, rows in self._given.items()}

    def products(self, names: Sequence[str], drop: Map | None) -> list[Tensor]:
        i = self._given["h"].flatten(1)
        return [self.linear(name, i) for name in names]

    def aggregated(
        self, send: Send, x_pre: Tensor | None, names: Sequence[str], aggregate: Aggregation
    ) -> tuple[State, State]:
        assert self._parent is not None and self._position is not None
        x_edge = None if x_pre is None else x_pre.index_select(0, self._parent)
        sent = send(self._given, self._position, x_edge, self.linear)
        return aggregate({name: sent[name] for name in names}, self._parent, self._count), sent


def linear_of(weights: Mapping[str, Tensor], key: str) -> Linear:
    """Return the maps of an arity's key, with weights (in, out) and biases (out,) by the names of the maps."""

    def linear(name: str, v: Tensor) -> Tensor:
        weight = weights[f"{name}_{key}.weight"]
        bias = weights.get(f"{name}_{key}.bias")
        if not v.shape[-1]:  # the gates of a leaf read nothing
            out = v.new_zeros(*v.shape[:-1], weight.shape[1])
            return out if bias is None else out + bias
        if bias is None:
            return v @ weight
        return torch.addmm(bias, v, weight) if v.dim() == 2 else v @ weight + bias

    return linear


def pieces_of(cell: Cell, answer: Callable[[Tensor], dict[str, Tensor]] | None) -> dict[str, TracedPiece]:
    """Return the parts of a cell and of what follows it, by name, not yet traced.

    ``leaf``, with ``leaf_inputs`` before it if gates compute it; ``inner_inputs``, what the gates of other nodes read;
    ``step_ARITY``, or ``step_any`` for a cell that adds up its children; ``answer``, from the roots' vectors.
    """
    dtype = cell.first_weight.dtype
    nodes = {"function": torch.zeros(ROWS, dtype=torch.int64), "token": torch.zeros(ROWS, dtype=torch.int64)}
    numbers = {"number": torch.zeros(ROWS, dtype=torch.float64)} if cell.numbers else {}
    pieces: dict[str, TracedPiece] = {}
    if cell.leaf == "gates":

        def leaf_inputs(t: dict[str, Tensor]) -> Mapping[str, Any]:
            return {"x": cell.node_inputs(t["function"], t["token"], t.get("number"), None)}

        def leaf(t: dict[str, Tensor]) -> Mapping[str, Any]:
            linear = linear_of(t, cell.key(0))
            return cell.leaf_gates(len(t["x"]), linear("input", t["x"]), linear)

        x = {"x": torch.zeros(ROWS, cell.input_size or 0, dtype=dtype)}
        pieces["leaf_inputs"] = TracedPiece(nodes | numbers, [*nodes, *numbers], leaf_inputs, ["x"])
        pieces["leaf"] = TracedPiece(x | _weights_of(cell, cell.key(0)), ["x"], leaf, list(cell.state))
    else:

        def embedded(t: dict[str, Tensor]) -> Mapping[str, Any]:
            return cell.embedded_leaves(t["token"], t.get("number"))

        pieces["leaf"] = TracedPiece(nodes | numbers, [*nodes, *numbers], embedded, list(cell.state))
    if cell.input_size is not None:

        def inner_inputs(t: dict[str, Tensor]) -> Mapping[str, Any]:
            return {"x": cell.node_inputs(t["function"], t["token"], None, None)}

        pieces["inner_inputs"] = TracedPiece(nodes, list(nodes), inner_inputs, ["x"])
    for arity in [None] if cell.any_arity else [arity for arity in cell.vocabulary.arities if arity]:
        pieces[f"step_{cell.key(arity)}"] = _step(cell, arity)
    if answer is not None:
        roots = {"vectors": torch.zeros(EDGES, cell.hidden_size, dtype=dtype)}
        with torch.no_grad():
            names = list(answer(roots["vectors"]))
        pieces["answer"] = TracedPiece(roots, ["vectors"], lambda t: answer(t["vectors"]), names)
    return pieces


def _weights_of(cell: Cell, key: str) -> dict[str, Tensor]:
    """Examples of the matrices, (in, out), and biases, (out,), that rows with this key read, by the names of maps."""
    found = {}
    for name, tensor in cell.map_weights().items():
        if name.rpartition(".")[0].endswith(f"_{key}"):
            found[name] = tensor[0].t().contiguous() if name.endswith(".weight") else tensor[0]
    return found


def _step(cell: Cell, arity: int | None) -> TracedPiece:
    dtype = cell.first_weight.dtype
    added = arity is None
    lead = (EDGES,) if arity is None else (ROWS, arity)
    inputs = {part: torch.zeros(*lead, *shape, dtype=dtype) for part, shape in cell.state.items()}
    edges = [*inputs]
    if added:
        inputs |= {"parent": torch.arange(EDGES) // 2, "position": torch.arange(EDGES) % 2}
        edges += ["parent", "position"]
        inputs["node"] = torch.zeros(ROWS, dtype=torch.int64)
    if cell.input_size is not None:
        inputs["x"] = torch.zeros(ROWS, cell.input_size, dtype=dtype)
    open_inputs = [*inputs]

    def step(t: dict[str, Tensor]) -> Mapping[str, Any]:
        linear = linear_of(t, cell.key(arity))
        x_pre = linear("input", t["x"]) if "x" in t else None
        count = len(t["node"]) if added else len(t["h"])
        states = {part: t[part] for part in cell.state}
        computed, _ = cell.step(TracedRows(linear, x_pre, states, t.get("parent"), t.get("position"), count))
        return computed

    inputs |= _weights_of(cell, cell.key(arity))
    return TracedPiece(inputs, open_inputs, step, list(cell.state), edges if added else [])


class _Together(nn.Module):
    """All pieces as one module, because torch takes seconds for each that it exports."""

    def __init__(self, model: nn.Module, pieces: Sequence[TracedPiece]) -> None:
        super().__init__()
        self.model = model
        self._pieces = pieces

    def forward(self, *tensors: Tensor) -> list[Tensor]:
        given = iter(tensors)
        results = []
        for piece in self._pieces:
            found = piece.compute({name: next(given) for name in piece.inputs})
            results += [found[name] for name in piece.outputs]
        return results


def trace(model: nn.Module, pieces: Mapping[str, TracedPiece]) -> None:
    """Trace all pieces of a model, which is in evaluation mode.

    Raises what torch says of operations that it cannot trace.
    """
    all_pieces = list(pieces.values())
    examples = [tensor.clone() for piece in all_pieces for tensor in piece.inputs.values()]  # one twice is one input
    sizes = [size for name, piece in pieces.items() for size in _open_sizes(name, piece)]
    with torch.no_grad(), _quiet():
        program = torch.export.export(
            _Together(model, all_pieces), tuple(examples), dynamic_shapes={"tensors": tuple(sizes)}, strict=True
        ).run_decompositions(DECOMPOSITIONS)
        traced = torch.onnx.export(program, dynamo=True, opset_version=OPSET, verbose=False, optimize=True)
    assert traced is not None
    graph = traced.model_proto.graph
    inputs = iter(graph.input)
    results = iter(graph.output)
    initializers = {tensor.name: tensor for tensor in graph.initializer}
    for piece in all_pieces:
        names = {next(inputs).name: name for name in piece.inputs}
        values = [next(results) for _ in piece.outputs]
        piece.results = [value.name for value in values]
        piece.types = [value.type for value in values]
        wanted = set(piece.results)
        for node in reversed(graph.node):  # those that its results depend on
            if wanted & set(node.output):
                piece.nodes.insert(0, node)
                wanted |= _read_by(node)
        piece.names = {name: there for there, name in names.items() if there in wanted}
        piece.initializers = {name: initializers[name] for name in initializers.keys() & wanted}


def _open_sizes(name: str, piece: TracedPiece) -> Iterator[dict[int, Any] | None]:
    """Yield for each input of a piece its open sizes, which no other piece has: each reads its own inputs alone."""
    rows = torch.export.Dim(f"rows_of_{name}")
    edges = torch.export.Dim(f"edges_of_{name}")
    for given in piece.inputs:
        if given not in piece.open:
            yield None
        elif name == "answer":
            yield {0: 2 * rows}  # of pairs
        else:
            yield {0: edges if given in piece.edges else rows}


def _read_by(node: onnx.NodeProto) -> set[str]:
    """Return the names that a node, or a body in it, reads."""
    names = {name for name in node.input if name}
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            names |= {output.name for output in attribute.g.output}
            for inner in attribute.g.node:
                names |= _read_by(inner)
    return names


@contextmanager
def _quiet() -> Iterator[None]:
    """A block in which torch's exporter does not report packages that it could use and lacks, nor its own guesses."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx._internal.exporter._registration", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with without_warnings():
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


# ---------------------------------------------------------------------------------------------------------------------
# Operations of float64 that ONNX Runtime lacks, by ones that it has.


def _asinh(v: Tensor) -> Tensor:
    size = v.abs()
    near = (size + (size * size + 1).sqrt()).log()
    return v.sign() * torch.where(size < 1e8, near, size.log() + 0.6931471805599453)


def _sinh(v: Tensor) -> Tensor:
    return (v.exp() - (-v).exp()) / 2


def _searchsorted(ascending: Tensor, v: Tensor, *, right: bool = False, **_: Any) -> Tensor:
    v = v.unsqueeze(-1)
    return ((ascending <= v) if right else (ascending < v)).sum(-1)


DECOMPOSITIONS: dict[Any, Callable[..., Tensor]] = {
    torch.ops.aten.asinh.default: _asinh,
    torch.ops.aten.sinh.default: _sinh,
    torch.ops.aten.searchsorted.Tensor: _searchsorted,
}
