"""Building an ONNX graph: nodes, loops and branches, and graphs that torch traced put in between."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import count
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 18, 8
"""The lowest that torch writes, so that old releases of ONNX Runtime read the file."""


class Block:
    """The nodes of one graph, in their order. The body of a loop or a branch is a block of its own.

    Values have names. A body reads those of the blocks around it by their names, so names are unique over all blocks.

    Args:
        around: the block that this one is a body in; None for the whole graph.
    """

    def __init__(self, around: "Block | None" = None) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = [] if around is None else around.initializers
        self._numbers: count[int] = count() if around is None else around._numbers
        self._constants: dict[object, str] = {} if around is None else around._constants

    def fresh(self, name: str) -> str:
        """Return a name that no other value has."""
        return f"{name}.{next(self._numbers)}"

    def constant(self, values: Any) -> str:
        """Return the name of an array that is kept in the file, equal ones once; whole numbers are int64."""
        array = np.asarray(values)
        if isinstance(values, list | int):
            array = array.astype(np.int64)
        key = (array.dtype.str, array.shape, sha256(array.tobytes()).digest())
        if key not in self._constants:
            self._constants[key] = self.fresh("constant")
            self.initializers.append(numpy_helper.from_array(array.copy(), self._constants[key]))
        return self._constants[key]

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Append a node with one output, and return that."""
        output = self.fresh(operator)
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def rows(self, table: str, start: str, stop: str) -> str:
        """Slice rows ``start:stop`` of a table; both are (1,) int64."""
        return self.add("Slice", table, start, stop, self.constant([0]))

    def loop(self, turns: str, first: Sequence[str], body: "Body") -> list[str]:
        """Run a body ``turns`` times, and return the last values of what it carries, which begins as ``first``."""
        outputs = [self.fresh("carried") for _ in first]
        true = self.constant(np.array(True))
        self.nodes.append(helper.make_node("Loop", [turns, true, *first], outputs, body=body.graph()))
        return outputs

    def choose(self, condition: str, yes: "Body", no: "Body") -> list[str]:
        """Run one of two bodies, and return what it gives."""
        outputs = [self.fresh("chosen") for _ in yes.outputs]
        node = helper.make_node("If", [condition], outputs, then_branch=yes.graph(), else_branch=no.graph())
        self.nodes.append(node)
        return outputs

    def inline(self, nodes: Sequence[onnx.NodeProto], names: Mapping[str, str], outputs: Sequence[str]) -> list[str]:
        """Append nodes of another graph, and return the names that its outputs have here.

        Args:
            nodes: in their order.
            names: the names here of what they read: inputs and initializers.
            outputs: their names there.
        """
        names = dict(names)
        for node in nodes:
            self.nodes.append(_renamed(node, names, self))
        return [names[output] for output in outputs]


class Body(Block):
    """The block of a branch, or of a loop that carries values.

    Args:
        around: the block that it is in.
        carried: the names and element types of what the loop carries; None for a branch.
    """

    def __init__(self, around: Block, carried: Mapping[str, int] | None = None) -> None:
        super().__init__(around)
        self.outputs: list[tuple[str, int]] = []
        """Names and element types of the results."""
        self.turn, self._goes_on = self.fresh("turn"), self.fresh("goes_on")
        self.carried = {name: self.fresh(name) for name in carried or {}}
        """The names here of what the loop carries."""
        self._is_loop = carried is not None
        kinds = (TensorProto.INT64, TensorProto.BOOL, *(carried or {}).values())
        names = (self.turn, self._goes_on, *self.carried.values())
        shapes: list[list[int] | None] = [[], [], *[None] * len(self.carried)]
        infos = [_value(*each) for each in zip(names, kinds, shapes, strict=True)]
        self._inputs = infos if self._is_loop else []

    def graph(self) -> onnx.GraphProto:
        """Return the body as ONNX has it, once its ``outputs`` are set."""
        outputs = [_value(name, kind) for name, kind in self.outputs]
        if self._is_loop:
            outputs.insert(0, _value(self.add("Identity", self._goes_on), TensorProto.BOOL))
        return helper.make_graph(self.nodes, self.fresh("body"), self._inputs, outputs)


def _value(name: str, kind: int, shape: list[int] | None = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _renamed(node: onnx.NodeProto, names: dict[str, str], block: Block) -> onnx.NodeProto:
    """Copy a node into a block; ``names`` gets the new names of its outputs."""
    new = onnx.NodeProto()
    new.CopyFrom(node)
    new.name = ""
    del new.metadata_props[:]
    new.doc_string = ""
    new.input[:] = [names.get(name, name) for name in node.input]
    for name in node.output:
        names[name] = block.fresh(name)
    new.output[:] = [names[name] for name in node.output]
    for attribute in new.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            _rename_inside(attribute.g, dict(names), block)
    return new


def _rename_inside(graph: onnx.GraphProto, names: dict[str, str], block: Block) -> None:
    """Rename in place what a body reads and gives, as the block around it is renamed."""
    for value in (*graph.input, *graph.initializer):
        names[value.name] = block.fresh(value.name)
        value.name = names[value.name]
    nodes = [_renamed(node, names, block) for node in graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    for value in graph.output:
        value.name = names[value.name]
    del graph.value_info[:]


def element_type(dtype: Any) -> int:
    """Return ONNX's number of a dtype of torch or numpy."""
    return {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "int64": TensorProto.INT64}[
        str(dtype).removeprefix("torch.")
    ]
