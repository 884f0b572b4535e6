"""The derivative of a program, again as values: reverse mode, from what is written to all that is loaded.

A gradient has the space and the width of what it is of. So where a value of an edge comes from one of its node, the
gradients of the edges are summed at the node; where a column comes from a value that all columns share, those of the
columns are; and a value of an edge that is summed at its node gets the node's gradient, at each edge.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import pi
from typing import Any

from dgltree.engine.compiled import values as v
from dgltree.engine.compiled.programs import NodeProgram, Product, Segment
from dgltree.engine.compiled.tensors import NotAProgramError
from dgltree.engine.compiled.values import Location, Space, Value, constant


@dataclass
class Derivative:
    """What a node, its edges and the held tensors get back."""

    products: list[list[list[Segment]]]
    """For each product and each of its rows: the gradient of what it gave."""
    loads: list[tuple[Value, Value]]
    """Each load that has a gradient, and that gradient; a look-up, too."""


def derivative(program: NodeProgram) -> Derivative:
    """The gradients of a program, of values that load ``given`` (of a field that was written) and ``product_input``.

    Those of a product's input are not known before the product's own, by which torch's matrix product makes them; so
    the products are gone through from the last level to the first.
    """
    seeds = []
    for name, segments in program.outputs.items():
        for segment in segments:
            given = v.load(Space.NODE, segment.width, Location("given", name), segment.first)
            seeds.append((segment.value, given))
    for number, product in enumerate(program.products):
        for part, row in enumerate(product.rows):
            for segment in row:
                place = segment.location("product_input", number, part)
                space = Space.EDGE if segment.step else product.space
                seeds.append((segment.value, v.load(space, segment.width, place, segment.first)))
    found = _gradients(seeds)
    products: list[list[list[Segment]]] = []
    loads = []
    by_place: dict[tuple[Any, Any], list[Value]] = {}
    for loaded, gradient in found.items():
        if loaded.operation == "load" and loaded.arguments[0].array == "product":
            place = loaded.arguments[0]
            by_place.setdefault((place.name, place.part), []).append(loaded)
        elif not (loaded.operation == "load" and loaded.arguments[0].array == "mask"):
            loads.append((loaded, gradient))
    for number, product in enumerate(program.products):
        rows = [_row(by_place.get((number, part), []), product, found) for part in range(len(product.rows))]
        products.append(rows)
    return Derivative(products, loads)


def _row(loaded: list[Value], product: Product, gradients: dict[Value, Value]) -> list[Segment]:
    """The gradient of all columns of a product's row, between the blocks that children have, and in these."""
    found = []
    begin = 0
    skip = 0
    for block in product.blocks:
        found += _zone(loaded, gradients, begin, block.first, skip, 0)
        found += _zone(loaded, gradients, block.first, block.first + block.step, skip, block.step)
        begin = block.first
        skip = skip + block.step
    _, end = product.of_node or (product.fan_in, product.fan_out)
    return found + _zone(loaded, gradients, begin, end, skip, 0)


def _zone(
    loaded: list[Value], gradients: dict[Value, Value], begin: int, end: int, skip: int, step: int
) -> list[Segment]:
    """The gradient of columns from ``begin`` to ``end``: of those that overlap the sum, of those not read 0."""
    mine = []
    for value in loaded:
        place, first = value.arguments
        if (place.skip, place.step) == (skip, step):
            mine.append((first, value))
    ends = {begin, end}
    for first, value in mine:
        ends |= {first, first + value.width}
    found = []
    for start, stop in pairwise(sorted(ends)):
        total = v.ZERO
        for first, value in mine:
            if first <= start < first + value.width:
                total = v.add(total, v.columns(gradients[value], start - first, stop - start))
        found.append(Segment(start, stop - start, total, skip, step))
    return found


def _gradients(seeds: Sequence[tuple[Value, Value]]) -> dict[Value, Value]:
    """The gradient of each load and look-up."""
    found: dict[Value, Value] = {}

    def give(x: Value, gradient: Value, space: Space, width: int) -> None:
        """Adds the gradient that a value of a space and a width gives to an operand."""
        if x.kind != "float" or x.operation == "constant" or gradient is v.ZERO:
            return
        if x.width == 1 and width > 1:
            gradient = v.sum_columns(gradient, width)
        if x.space != Space.EDGE and space == Space.EDGE:
            gradient = v.sum_edges(gradient)
        found[x] = v.add(found[x], gradient) if x in found else gradient

    for written, seed in seeds:
        give(written, seed, seed.space, seed.width)
    for x in reversed(v.ordered(written for written, _ in seeds)):
        if x not in found or x.operation in ("load", "look_up"):
            continue
        gradient = found.pop(x)
        if x.operation in ACROSS:
            ACROSS[x.operation](x, gradient, give)
            continue
        rule = RULES.get(x.operation)
        if rule is None:
            raise NotAProgramError(f"the derivative of {x.operation} is not known")
        for operand, part in rule(x, gradient):
            give(operand, part, x.space, x.width)
    return found


Parts = list[tuple[Value, Value]]
Rule = Callable[[Value, Value], Parts]


def _unary(of: Callable[[Value, Value, Value], Value]) -> Rule:
    """A rule for a function of one number, given the result, the operand and the gradient."""
    return lambda y, g: [(y.arguments[0], of(y, y.arguments[0], g))]


def _multiply(y: Value, g: Value) -> Parts:
    a, b = y.arguments
    return [(a, v.multiply(g, b)), (b, v.multiply(g, a))]


def _divide(y: Value, g: Value) -> Parts:
    a, b = y.arguments
    part = v.divide(g, b)
    return [(a, part), (b, v.negative(v.multiply(part, y)))]


def _where(y: Value, g: Value) -> Parts:
    condition, a, b = y.arguments
    return [(a, v.where(condition, g, v.ZERO)), (b, v.where(condition, v.ZERO, g))]


def _extreme_of_two(y: Value, g: Value) -> Parts:
    """Equal ones share."""
    a, b = y.arguments
    half = v.multiply(g, constant(0.5))
    same = v.compare("equal", a, b)
    is_first = v.compare("greater" if y.operation == "maximum" else "less", a, b)
    return [
        (a, v.where(same, half, v.where(is_first, g, v.ZERO))),
        (b, v.where(same, half, v.where(is_first, v.ZERO, g))),
    ]


def _first_of_two(y: Value, g: Value) -> Parts:
    """The first one where both are equal, as it is the first extreme of its axis."""
    a, b = y.arguments
    is_first = v.compare("greater_equal" if y.operation == "largest" else "less_equal", a, b)
    return [(a, v.where(is_first, g, v.ZERO)), (b, v.where(is_first, v.ZERO, g))]


def _power(y: Value, g: Value) -> Parts:
    a, exponent = y.arguments
    inner = v.value("power", a, exponent - 1)
    return [(a, v.multiply(g, v.multiply(constant(exponent), inner)))]


def _absolute(y: Value, a: Value, g: Value) -> Value:
    return v.multiply(g, v.value("sign", a))


RULES: dict[str, Rule] = {
    "add": lambda y, g: [(y.arguments[0], g), (y.arguments[1], g)],
    "subtract": lambda y, g: [(y.arguments[0], g), (y.arguments[1], v.negative(g))],
    "multiply": _multiply,
    "divide": _divide,
    "where": _where,
    "maximum": _extreme_of_two,
    "minimum": _extreme_of_two,
    "largest": _first_of_two,
    "smallest": _first_of_two,
    "power": _power,
    "value_of": lambda y, g: [(y.arguments[1], g)],
    "detach": lambda y, g: [],
    "sign": lambda y, g: [],
    "as_float": lambda y, g: [],
    "negative": _unary(lambda y, a, g: v.negative(g)),
    "absolute": _unary(_absolute),
    "tanh": _unary(lambda y, a, g: v.multiply(g, v.subtract(v.ONE, v.multiply(y, y)))),
    "sigmoid": _unary(lambda y, a, g: v.multiply(g, v.multiply(y, v.subtract(v.ONE, y)))),
    "exp": _unary(lambda y, a, g: v.multiply(g, y)),
    "expm1": _unary(lambda y, a, g: v.multiply(g, v.add(y, v.ONE))),
    "log": _unary(lambda y, a, g: v.divide(g, a)),
    "log1p": _unary(lambda y, a, g: v.divide(g, v.add(a, v.ONE))),
    "sqrt": _unary(lambda y, a, g: v.divide(v.multiply(g, constant(0.5)), y)),
    "norm": _unary(
        lambda y, a, g: v.where(v.compare("greater", y, v.ZERO), v.divide(v.multiply(g, constant(0.5)), y), v.ZERO)
    ),
    "sin": _unary(lambda y, a, g: v.multiply(g, v.unary("cos", a))),
    "cos": _unary(lambda y, a, g: v.negative(v.multiply(g, v.unary("sin", a)))),
    "erf": _unary(
        lambda y, a, g: v.multiply(g, v.multiply(constant(2 / pi**0.5), v.unary("exp", v.negative(v.multiply(a, a)))))
    ),
}
"""Name of an operation to a rule: its operands, and the gradient that each gets."""

Give = Callable[[Value, Value, Space, int], None]


def _sum_columns(y: Value, g: Value, give: Give) -> None:
    (a,) = y.arguments
    give(a, g, a.space, a.width)


def _sum_edges(y: Value, g: Value, give: Give) -> None:
    (a,) = y.arguments
    give(a, g, Space.EDGE, a.width)


def _extreme_of_columns(y: Value, g: Value, give: Give) -> None:
    """To the first one."""
    (a,) = y.arguments
    first = v.extreme_of_columns(f"which_{y.operation}", a)
    at = v.compare("equal", v.column_numbers(0, a.width), first)
    give(a, v.where(at, g, v.ZERO), a.space, a.width)


def _extreme_of_edges(y: Value, g: Value, give: Give) -> None:
    """To the first one."""
    (a,) = y.arguments
    first = v.extreme_of_edges(f"which_{y.operation}", a)
    at = v.compare("equal", v.POSITION, first)
    give(a, v.where(at, g, v.ZERO), Space.EDGE, a.width)


ACROSS: dict[str, Callable[[Value, Value, Give], None]] = {
    "sum_columns": _sum_columns,
    "sum_edges": _sum_edges,
    "largest_column": _extreme_of_columns,
    "smallest_column": _extreme_of_columns,
    "largest_edge": _extreme_of_edges,
    "smallest_edge": _extreme_of_edges,
}
"""Name of an operation to its rule where operands have another space or width than the result."""
