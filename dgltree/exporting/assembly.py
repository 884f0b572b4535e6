"""One ONNX graph of a model: the loop over the runs of a plan, around the pieces that torch traced.

A loop in ONNX hands on what it carries from one turn to the next, and ONNX Runtime copies it each time. To carry the
states of all nodes would take time quadratic in a tree's depth. So the loop carries a table of slots, in which a state
stays only until its last parent has read it; the states of leaves, which are computed before, are read from outside. A
chain of 10,000 nodes then carries one state.
"""

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from dgltree.cells import Cell
from dgltree.exporting.onnx_graph import IR_VERSION, OPSET, Block, Body, element_type
from dgltree.exporting.pieces import TracedPiece
from dgltree.exporting.plan import RowGroup, input_names

SIZES: dict[str, list[str | int]] = {
    "function": ["rows"],
    "token": ["rows"],
    "number": ["rows"],
    "leaf_runs": ["leaf_runs", 3],
    "runs": ["runs", 5],
    "slots": ["inner_rows"],
    "children": ["edges"],
    "parents": ["edges"],
    "positions": ["edges"],
    "roots": ["trees"],
}
"""The shape of each input."""


class Assembly:
    """The graph of a cell and of what follows it.

    Args:
        cell: its weights become constants.
        pieces: traced.
        groups: of the cell's functions.
    """

    def __init__(self, cell: Cell, pieces: dict[str, TracedPiece], groups: Sequence[RowGroup]) -> None:
        self.cell = cell
        self.pieces = pieces
        self.groups = groups
        self.block = Block()
        self.parts = list(cell.state)
        self.dtype = cell.first_weight.dtype
        self._weights = {
            name: tensor.detach().transpose(-1, -2) if name.endswith(".weight") else tensor.detach()
            for name, tensor in cell.map_weights().items()
        }

    def model(self) -> onnx.ModelProto:
        """Return the model: inputs of :func:`input_names`; what ``answer`` gives, and ``vectors`` (trees, n)."""
        block = self.block
        last = block.add("Gather", "leaf_runs", block.constant(-1), axis=0)
        leaves = block.rows(last, block.constant([1]), block.constant([2]))
        leaf = self._leaf_states(leaves)
        slots = self._run_steps(leaves, leaf)
        results = {"vectors": self._states_at(block, "h", "roots", leaves, leaf, slots)}
        if "answer" in self.pieces:
            results = self._apply(block, "answer", results) | results
        for name, value in results.items():
            block.nodes.append(helper.make_node("Identity", [value], [name]))
        kinds = {name: TensorProto.DOUBLE if name == "number" else TensorProto.INT64 for name in SIZES}
        inputs = [helper.make_tensor_value_info(name, kinds[name], SIZES[name]) for name in input_names(self.cell)]
        outputs = [self._output(name) for name in results]
        graph = helper.make_graph(block.nodes, "dgltree", inputs, outputs, block.initializers)
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION, producer_name="dgltree")
        onnx.checker.check_model(model)
        return model

    def _output(self, name: str) -> onnx.ValueInfoProto:
        if name == "vectors":
            return helper.make_tensor_value_info(name, element_type(self.dtype), ["trees", self.cell.hidden_size])
        piece = self.pieces["answer"]
        traced = piece.types[piece.outputs.index(name)].tensor_type
        further = [size.dim_value for size in traced.shape.dim[1:]]
        return helper.make_tensor_value_info(name, traced.elem_type, ["examples", *further])

    def _leaf_states(self, leaves: str) -> dict[str, str]:
        """Compute the states of the leaves, (leaves, *shape) by part."""
        block = self.block
        names = [name for name in input_names(self.cell) if SIZES[name] == ["rows"]]
        columns = {name: block.rows(name, block.constant([0]), leaves) for name in names}
        if self.cell.leaf != "gates":
            return self._apply(block, "leaf", columns)
        x = self._apply(block, "leaf_inputs", columns)
        if all(len(self._weights[name]) == 1 for name in self._weights if name in self.pieces["leaf"].names):
            return self._apply(block, "leaf", x)
        body = self._body()
        start, stop, group = self._row_of(body, "leaf_runs")
        new = self._apply(body, "leaf", {"x": body.rows(x["x"], start, stop)}, group)
        results = {part: body.add("Concat", body.carried[part], new[part], axis=0) for part in self.parts}
        return self._loop("leaf_runs", body, results, block.constant([0]))

    def _run_steps(self, leaves: str, leaf: dict[str, str]) -> dict[str, str]:
        """Run the loop over inner rows; the slots as it leaves them, (slots, *shape) by part."""
        block = self.block
        steps = [name for name in self.pieces if name.startswith("step_")]
        highest = block.add("ReduceMax", block.add("Concat", "slots", block.constant([0]), axis=0))
        count = block.add("Add", highest, block.constant([1]))
        if not steps:
            return {part: self._zeros(part, count) for part in self.parts}
        x = self._inner_inputs(leaves)
        body = self._body()
        start, stop, group, first_edge, last_edge = self._row_of(body, "runs")
        edges = body.rows("children", first_edge, last_edge)
        given = {part: self._states_at(body, part, edges, leaves, leaf, body.carried) for part in self.parts}
        slots = body.rows("slots", start, stop)
        if x is not None:
            given["x"] = body.rows(x, start, stop)
        if self.cell.any_arity:
            given["parent"] = body.add("Sub", body.rows("parents", first_edge, last_edge), start)
            given["position"] = body.rows("positions", first_edge, last_edge)
            given["node"] = slots
        new = self._choose_step(body, steps, given, group)
        index = body.add("Unsqueeze", slots, body.constant([1]))
        results = {part: body.add("ScatterND", body.carried[part], index, new[part]) for part in self.parts}
        return self._loop("runs", body, results, count)

    def _inner_inputs(self, leaves: str) -> str | None:
        """Compute the inputs of inner rows, (inner rows, d), if the cell's gates read some."""
        if "inner_inputs" not in self.pieces:
            return None
        end = self.block.constant([np.iinfo(np.int64).max])
        columns = {name: self.block.rows(name, leaves, end) for name in ("function", "token")}
        return self._apply(self.block, "inner_inputs", columns)["x"]

    def _choose_step(self, block: Block, steps: list[str], given: dict[str, str], group: str) -> dict[str, str]:
        """Compute the states of a run by the piece of its arity: the only one, or by branches on its group."""
        step = steps[0]
        others = steps[1:]
        if not others:
            return self._step(block, step, given, group)
        is_step = block.constant(np.array([each.piece == step for each in self.groups]))
        yes = Body(block)
        no = Body(block)
        self._set_outputs(yes, self._step(yes, step, given, group))
        self._set_outputs(no, self._choose_step(no, others, given, group))
        chosen = block.choose(block.add("Gather", is_step, group, axis=0), yes, no)
        return dict(zip(self.parts, chosen, strict=True))

    def _step(self, block: Block, step: str, given: dict[str, str], group: str) -> dict[str, str]:
        if not self.cell.any_arity:
            arity = int(step.removeprefix("step_"))
            shapes = {part: block.constant([-1, arity, *shape]) for part, shape in self.cell.state.items()}
            given = given | {part: block.add("Reshape", given[part], shape) for part, shape in shapes.items()}
        return self._apply(block, step, given, group)

    def _states_at(
        self, block: Block, part: str, places: str, leaves: str, leaf: dict[str, str], slots: dict[str, str]
    ) -> str:
        """Gather states (places, *shape): the first places are the leaves, those after them the slots."""
        last_leaf = block.add("Sub", leaves, block.constant([1]))
        of_leaf = block.add("Gather", leaf[part], block.add("Min", places, last_leaf), axis=0)
        slot = block.add("Max", block.add("Sub", places, leaves), block.constant([0]))
        of_slot = block.add("Gather", slots[part], slot, axis=0)
        is_leaf = block.add("Less", places, leaves)
        columns = block.constant([-1, *[1] * len(self.cell.state[part])])
        return block.add("Where", block.add("Reshape", is_leaf, columns), of_leaf, of_slot)

    def _apply(self, block: Block, name: str, given: dict[str, str], group: str = "") -> dict[str, str]:
        """Put a piece into a block; ``given`` are its inputs but the weights, which are those of a group."""
        piece = self.pieces[name]
        names = {there: given.get(name) or self._weight(block, name, group) for name, there in piece.names.items()}
        names |= {there: block.constant(numpy_helper.to_array(tensor)) for there, tensor in piece.initializers.items()}
        results = block.inline(piece.nodes, names, piece.results)
        return dict(zip(piece.outputs, results, strict=True))

    def _weight(self, block: Block, name: str, group: str) -> str:
        """Return the matrix (in, out) or bias (out,) of a group: a constant, if all groups share it."""
        tensor = self._weights[name].numpy()
        if len(tensor) == 1:
            return block.constant(tensor[0])
        position = self.cell.named_maps()[name.rpartition(".")[0]].position
        numbers = block.constant([position.get(each.function, 0) for each in self.groups])
        chosen = block.add("Gather", block.constant(tensor), block.add("Gather", numbers, group, axis=0), axis=0)
        return block.add("Squeeze", chosen, block.constant([0]))

    def _body(self) -> Body:
        """Begin the body of a loop that carries the cell's state."""
        return Body(self.block, {part: element_type(self.dtype) for part in self.parts})

    def _row_of(self, body: Body, table: str) -> list[str]:
        """Return the columns of this turn's row of a table, (1,) each."""
        row = body.add("Gather", table, body.turn, axis=0)
        width = {"leaf_runs": 3, "runs": 5}[table]
        return [body.rows(row, body.constant([column]), body.constant([column + 1])) for column in range(width)]

    def _loop(self, table: str, body: Body, results: dict[str, str], count: str) -> dict[str, str]:
        """Run a body for each row of a table, from ``count`` (1,) rows of zeros; return what it carries, by part."""
        block = self.block
        self._set_outputs(body, results)
        first = [self._zeros(part, count) for part in self.parts]
        length = block.add("Gather", block.add("Shape", table), block.constant(0), axis=0)
        return dict(zip(self.parts, block.loop(length, first, body), strict=True))

    def _set_outputs(self, body: Body, results: dict[str, str]) -> None:
        body.outputs = [(results[part], element_type(self.dtype)) for part in self.parts]

    def _zeros(self, part: str, count: str) -> str:
        block = self.block
        shape = block.add("Concat", count, block.constant([*self.cell.state[part]]), axis=0)
        zero = helper.make_tensor("zero", element_type(self.dtype), [1], [0.0])
        return block.add("ConstantOfShape", shape, value=zero)
