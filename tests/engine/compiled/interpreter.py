"""Programs computed value by value with NumPy: slow, and plain enough to be the oracle of what computes them fast."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
import scipy.special
import torch
from torch import Tensor

from dgltree.engine.compiled.catalogue import Catalogue, KnownProgram
from dgltree.engine.compiled.derivative import Derivative, derivative
from dgltree.engine.compiled.programs import NodeProgram, Product, Segment
from dgltree.engine.compiled.recording import PassFunctions, kinds_of
from dgltree.engine.compiled.rows import PlainGraph, bunches, plain_graph
from dgltree.engine.compiled.values import Location, Space, Value, number_of, ordered
from dgltree.engine.frontiers import TopoPlan
from dgltree.engine.function import message_function, reduce_function
from dgltree.engine.message_graph import MessageGraph

Array = np.ndarray[Any, Any]
COMPUTED: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "subtract": np.subtract,
    "negative": np.negative,
    "multiply": np.multiply,
    "divide": np.true_divide,
    "power": np.power,
    "where": np.where,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "largest": np.maximum,
    "smallest": np.minimum,
    "greater": np.greater,
    "less": np.less,
    "greater_equal": np.greater_equal,
    "less_equal": np.less_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "absolute": np.abs,
    "sign": np.sign,
    "tanh": np.tanh,
    "sigmoid": scipy.special.expit,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "norm": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "erf": scipy.special.erf,
    "as_float": lambda x: x.astype(np.float64),
    "detach": lambda x: x,
    "value_of": lambda x, carrier: x,
    "sum_columns": lambda x: x.sum(1, keepdims=True),
    "largest_column": lambda x: x.max(1, keepdims=True),
    "smallest_column": lambda x: x.min(1, keepdims=True),
    "which_largest_column": lambda x: x.argmax(1)[:, None],
    "which_smallest_column": lambda x: x.argmin(1)[:, None],
}
"""By the name of an operation: what it does to arrays of (nodes or edges or 1, width or 1)."""


class Group(NamedTuple):
    """The nodes of a frontier that have one program."""

    program: NodeProgram
    derivative: Derivative
    nodes: Array
    """(R,), their numbers."""
    edges: Array
    """(E,), the ids of the edges that lead to them, node after node."""
    begin: Array
    """(R,), where the edges of each begin."""
    degree: Array
    """(R,), how many they are."""

    @property
    def owner(self) -> Array:
        """(E,), the place among the nodes of that which each edge leads to."""
        return np.repeat(np.arange(len(self.nodes)), self.degree)

    @property
    def position(self) -> Array:
        """(E,), the place of each edge in its mailbox."""
        return np.arange(len(self.edges)) - np.repeat(self.begin, self.degree)


def interpret(
    graph: MessageGraph, plan: TopoPlan, message: Any, reduce: Any, apply: Any = None
) -> tuple[dict[str, Tensor], Catalogue]:
    """What message functions write, as their programs say it, in float64; and the programs.

    Gradients flow to the fields and to what the functions hold. Raises :class:`NotAProgramError` for functions that
    are no program.
    """
    reduce, reduces_all = reduce_function(reduce)
    functions = PassFunctions(message_function(message), reduce, reduces_all, apply)
    plain = plain_graph(graph)
    catalogue = Catalogue(functions, kinds_of(plain.ndata), kinds_of(plain.edata))
    passed = _Pass(plain, plan, catalogue)
    columns = [*plain.ndata.values(), *plain.edata.values()]
    held = [tensor for entry in passed.entries for tensor in entry.program.hold(entry.outside)]
    written = _Differentiable.apply(passed, *columns, *held)
    return dict(zip(passed.states, written, strict=True)), catalogue


class _Differentiable(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, passed: "_Pass", *given: Tensor) -> tuple[Tensor, ...]:
        context.passed = passed
        context.kinds = [(tensor.shape, tensor.dtype, tensor.requires_grad) for tensor in given]
        passed.forward([_flat(tensor) for tensor in given])
        written = []
        for name, columns in passed.states.items():
            shape, dtype = passed.catalogue.written[name]
            written.append(torch.from_numpy(columns.copy()).reshape(len(columns), *shape).to(dtype))
        context.mark_non_differentiable(*(each for each in written if not each.is_floating_point()))
        return tuple(written)

    @staticmethod
    def backward(context: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        columns = [None if gradient is None else _flat(gradient) for gradient in gradients]
        found = context.passed.backward(columns)
        return None, *(
            torch.from_numpy(gradient).reshape(shape).to(dtype) if wanted else None
            for gradient, (shape, dtype, wanted) in zip(found, context.kinds, strict=True)
        )


def _flat(tensor: Tensor) -> Array:
    """(rows, columns)"""
    array = tensor.detach().cpu().numpy()
    if tensor.is_floating_point():
        array = array.astype(np.float64)
    return array.reshape(len(array) if array.ndim else 1, prod(array.shape[1:]))


@dataclass
class _Pass:
    """A pass over a graph: fields and held tensors in, states out, and back."""

    graph: PlainGraph
    plan: TopoPlan
    catalogue: Catalogue

    def __post_init__(self) -> None:
        self.node_fields, self.edge_fields = list(self.graph.ndata), list(self.graph.edata)
        self.entries: list[KnownProgram] = []
        self.groups = list(self._grouped())
        self.source = self.graph.source.numpy()

    def _grouped(self) -> Iterable[Group]:
        """The nodes of each frontier by program, in the order of the frontiers."""
        derivatives: dict[NodeProgram, Derivative] = {}
        for bunch in bunches(self.plan):
            entry = self.catalogue.entry(bunch.degree, bunch.others) if bunch.is_computed else None
            if entry is None:
                continue
            program = entry.program
            if program not in derivatives:
                derivatives[program] = derivative(program)
                self.entries.append(entry)
            nodes, edges = self.plan.nodes[bunch.rows].numpy(), self.plan.edges[bunch.edges].numpy()
            degree = np.full(len(nodes), bunch.degree)
            yield Group(program, derivatives[program], nodes, edges, np.arange(len(nodes)) * bunch.degree, degree)

    def forward(self, given: list[Array]) -> None:
        n, e = len(self.node_fields), len(self.edge_fields)
        self.nodes = dict(zip(self.node_fields, given, strict=False))
        self.edges = dict(zip(self.edge_fields, given[n:], strict=False))
        self.held: dict[int, list[Array]] = {}
        rest = iter(given[n + e :])
        for entry in self.entries:
            self.held[id(entry.program)] = [next(rest) for _ in entry.program.held]
        self.states: dict[str, Array] = {}
        for name, kind in self.catalogue.written.items():
            zeros = np.zeros((len(self.plan.nodes), prod(kind.shape)))
            self.states[name] = self.nodes[name].copy() if name in self.nodes else zeros
        self.known: list[_Evaluation] = []
        for group in self.groups:
            evaluation = _Evaluation(self, group)
            self.known.append(evaluation)
            for product in group.program.products:
                evaluation.multiply(product)
            for name, segments in group.program.outputs.items():
                for segment in segments:
                    self.states[name][group.nodes, segment.first : segment.first + segment.width] = evaluation.of(
                        segment.value
                    )

    def backward(self, gradients: list[Array | None]) -> list[Array]:
        """Those of all that was given."""
        self.given = {
            name: np.zeros_like(columns) if gradient is None else gradient.copy()
            for (name, columns), gradient in zip(self.states.items(), gradients, strict=True)
        }
        self.to_nodes = {name: np.zeros(columns.shape) for name, columns in self.nodes.items()}
        self.to_edges = {name: np.zeros(columns.shape) for name, columns in self.edges.items()}
        self.to_held = {key: [np.zeros(tensor.shape) for tensor in held] for key, held in self.held.items()}
        for evaluation in reversed(self.known):
            evaluation.back()
            for name in evaluation.group.program.outputs:  # what was there before was written over
                self.given[name][evaluation.group.nodes] = 0
        for name in self.nodes.keys() & self.given.keys():
            self.to_nodes[name] += self.given[name]
        held = [gradient for entry in self.entries for gradient in self.to_held[id(entry.program)]]
        return [*self.to_nodes.values(), *self.to_edges.values(), *held]


class _Evaluation:
    """The values of a group of nodes, each computed when it is first asked for."""

    def __init__(self, passed: _Pass, group: Group) -> None:
        self.passed, self.group = passed, group
        self.known: dict[Value, Array] = {}
        self.products: list[list[Array]] = []
        self.inputs: list[list[Array]] = []
        self.product_inputs: dict[tuple[Any, Any], Array] = {}
        """Gradients of the rows of products."""
        self.masks: dict[int, list[Array]] = {}

    def of(self, value: Value) -> Array:
        """(nodes or edges, width) of a value, or what broadcasts to it."""
        for each in ordered([value], without=self.known):
            if each not in self.known:
                self.known[each] = self._compute(each)
        return self.known[value]

    def _compute(self, value: Value) -> Array:
        operation, group = value.operation, self.group
        if operation == "constant":
            return np.array([[number_of(value)]])
        if operation == "degree":
            return group.degree[:, None]
        if operation == "position":
            return group.position[:, None]
        if operation == "column_numbers":
            return np.arange(value.arguments[0], value.arguments[0] + value.width)[None]
        if operation == "load":
            return self._load(value)
        arguments = [self._within(each, value.space) for each in value.arguments]
        if operation == "look_up":
            index, held, first = arguments
            table = self.passed.held[id(group.program)][held]
            return table[index[:, 0].astype(np.int64), first : first + value.width]
        if operation == "sum_edges":
            total = np.zeros((len(group.nodes), arguments[0].shape[1]))
            np.add.at(total, group.owner, self._each_edge(value))
            return total
        if operation in ("largest_edge", "smallest_edge"):
            function = np.maximum if operation == "largest_edge" else np.minimum
            return function.reduceat(self._each_edge(value), group.begin)
        if operation in ("which_largest_edge", "which_smallest_edge"):
            columns = self._each_edge(value)
            extreme = (np.maximum if "largest" in operation else np.minimum).reduceat(columns, group.begin)
            places = np.where(columns == extreme[group.owner], group.position[:, None], len(group.edges))
            return np.minimum.reduceat(places, group.begin)
        if "column" in operation:
            operand = value.arguments[0]
            arguments = [np.broadcast_to(arguments[0], (len(arguments[0]), operand.width))]
        with np.errstate(all="ignore"):  # NaN and infinity as torch has them, without a word
            return COMPUTED[operation](*arguments)

    def _each_edge(self, value: Value) -> Array:
        """The operand of what goes from edges to nodes."""
        operand = value.arguments[0]
        found = self.of(operand)
        return np.broadcast_to(found, (len(self.group.edges), found.shape[1]))

    def _within(self, argument: Any, space: Space) -> Any:
        """An argument of an operation in a space: a value of nodes stands for each of their edges."""
        if not isinstance(argument, Value):
            return argument
        found = self.known[argument]
        if space == Space.EDGE and argument.space == Space.NODE:
            return found[self.group.owner] if len(found) == len(self.group.nodes) else found
        return found

    def _edge_of(self, part: int) -> Array:
        """The edge from each node's child of a number."""
        return self.group.edges[self.group.begin + part]

    def _load(self, value: Value) -> Array:
        place, first = value.arguments
        columns = slice(first, first + value.width)
        passed, group = self.passed, self.group
        if place.array == "held":
            held = passed.held[id(group.program)][place.name].reshape(1, -1)
            return self._by_edge(held, value) if place.skip or place.step else held[:, columns]
        if place.array in ("product", "product_input"):
            rows = (
                self.products[place.name][place.part]
                if place.array == "product"
                else self.product_inputs[place.name, place.part]
            )
            return self._by_edge(rows, value) if place.skip or place.step else rows[:, columns]
        if place.array == "given":
            return passed.given[place.name][group.nodes, columns]
        if place.array == "node":
            return self._before(place.name)[group.nodes, columns]
        if place.array in ("source", "child"):
            edges = group.edges if place.array == "source" else self._edge_of(place.part)
            fields = passed.states if place.name in passed.states else passed.nodes
            return fields[place.name][passed.source[edges], columns]
        if place.array in ("edge", "child_edge"):
            edges = group.edges if place.array == "edge" else self._edge_of(place.part)
            return passed.edges[place.name][edges, columns]
        mask = self._mask(place.name)[place.part]
        return self._by_edge(mask, value) if place.skip or place.step else mask[:, columns]

    def _by_edge(self, rows: Array, value: Value) -> Array:
        """Columns of rows, one or one a node, that depend on the number of edges or on the position of one."""
        owner, columns = self._columns_by_edge(value.space, value.arguments[0], value.arguments[1], value.width)
        return rows[owner if len(rows) > 1 else np.zeros_like(owner), columns]

    def _columns_by_edge(self, space: Space, place: Location | Segment, first: int, width: int) -> tuple[Array, Array]:
        """The node of each row, (rows, 1), and the columns of the row, (rows, width)."""
        group = self.group
        is_of_edges = space == Space.EDGE
        owner = group.owner if is_of_edges else np.arange(len(group.nodes))
        begin = first + group.degree[owner] * place.skip + (group.position * place.step if is_of_edges else 0)
        return owner[:, None], begin[:, None] + np.arange(width)

    def _mask(self, number: int) -> list[Array]:
        """Random numbers of torch, drawn when they are first asked for."""
        if number not in self.masks:
            mask = self.group.program.masks[number]
            count = len(self.group.edges if mask.space == Space.EDGE else self.group.nodes)
            chances = torch.full((mask.rows, count, mask.width), mask.probability, dtype=torch.float64)
            self.masks[number] = list(torch.bernoulli(chances).numpy())
        return self.masks[number]

    def _before(self, name: str) -> Array:
        """A field as nodes have it before they are computed."""
        nodes = self.passed.nodes
        return nodes[name] if name in nodes else np.zeros_like(self.passed.states[name])

    def _side_by_side(self, segments: list[Segment], space: Space) -> Array:
        """(nodes or edges, columns), where a value of a node stands for each of its edges."""
        counts = {Space.NODE: len(self.group.nodes), Space.EDGE: len(self.group.edges)}
        if any(segment.step for segment in segments):
            return self._in_blocks(segments, counts)
        columns = []
        for segment in segments:
            self.of(segment.value)
            columns.append(np.broadcast_to(self._within(segment.value, space), (counts[space], segment.width)))
        return np.concatenate(columns, 1)

    def _in_blocks(self, segments: list[Segment], counts: dict[Space, int]) -> Array:
        """(nodes, columns), of which each child has some."""
        degree = int(self.group.degree[0])
        width = sum(segment.width * (degree if segment.step else 1) for segment in segments)
        found = np.zeros((counts[Space.NODE], width))
        for segment in segments:
            self.of(segment.value)
            space = Space.EDGE if segment.step else Space.NODE
            owner, columns = self._columns_by_edge(space, segment, segment.first, segment.width)
            found[owner, columns] = np.broadcast_to(self._within(segment.value, space), (counts[space], segment.width))
        return found

    def _weight(self, product: Product) -> Array:
        matrix = self.passed.held[id(self.group.program)][product.weight].reshape(product.shape)
        return matrix.T if product.is_turned else matrix

    def multiply(self, product: Product) -> None:
        """The rows of the next product."""
        inputs = [self._side_by_side(row, product.space) for row in product.rows]
        self.inputs.append(inputs)
        self.products.append([rows @ self._weight(product) for rows in inputs])

    def back(self) -> None:
        """Gives gradients to all that was loaded."""
        program, passed = self.group.program, self.passed
        levels = program.levels()
        for number in sorted(range(len(levels)), key=lambda number: -levels[number]):
            product = program.products[number]
            weight = self._weight(product)
            for part, row in enumerate(self.group.derivative.products[number]):
                gradient = self._side_by_side(row, product.space)
                self.product_inputs[number, part] = gradient @ weight.T
                to_weight = self.inputs[number][part].T @ gradient
                to_weight = to_weight.T if product.is_turned else to_weight
                passed.to_held[id(program)][product.weight] += to_weight.reshape(
                    passed.to_held[id(program)][product.weight].shape
                )
        for loaded, to_load in self.group.derivative.loads:
            self._give(loaded, to_load)

    def _give(self, loaded: Value, gradient: Value) -> None:
        """Adds a gradient to what it is of."""
        passed, group = self.passed, self.group
        space = max(loaded.space, Space.NODE)
        to_rows = self._side_by_side([Segment(0, loaded.width, gradient)], space)
        if loaded.operation == "look_up":
            index, held, first = loaded.arguments
            table = passed.to_held[id(group.program)][held][:, first : first + loaded.width]
            rows = self._side_by_side([Segment(0, 1, index)], space)[:, 0].astype(np.int64)
            np.add.at(table, rows, to_rows)
            return
        place, first = loaded.arguments
        columns = slice(first, first + loaded.width)
        if place.array == "held":
            to = passed.to_held[id(group.program)][place.name].reshape(1, -1)
            if place.skip or place.step:
                owner, at = self._columns_by_edge(space, place, first, loaded.width)
                np.add.at(to, (np.zeros_like(owner), at), to_rows)
            else:
                to[:, columns] += to_rows.sum(0)
            return
        if place.array == "node":
            if place.name in passed.to_nodes:
                np.add.at(passed.to_nodes[place.name][:, columns], group.nodes, to_rows)
            return
        edges = group.edges if place.array in ("source", "edge") else self._edge_of(place.part)
        if place.array in ("edge", "child_edge"):
            np.add.at(passed.to_edges[place.name][:, columns], edges, to_rows)
            return
        to = passed.given if place.name in passed.given else passed.to_nodes
        np.add.at(to[place.name][:, columns], passed.source[edges], to_rows)
