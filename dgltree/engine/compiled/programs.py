"""Programs: what is written at a node of some degree, as values, with the products and parameters that they need."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dgltree.engine.compiled.recording import Kind, Ref, UserLine
from dgltree.engine.compiled.tensors import ValueTensor
from dgltree.engine.compiled.values import Location, Space, Value, is_load, load, ordered
from dgltree.support.lazy import cached_property


class Segment(NamedTuple):
    """Columns of something that is written: ``width`` of them from ``first`` on, with the numbers of a value.

    ``skip`` and ``step`` are those of :class:`Location`.
    """

    first: int
    width: int
    value: Value
    skip: int = 0
    step: int = 0

    def location(self, array: str, name: str | int, part: int = 0) -> Location:
        """Where the columns are, in an array."""
        return Location(array, name, part, self.skip, self.step)


class ChildColumns(NamedTuple):
    """Columns of a row of which each child has its own, one child's next to another's."""

    first: int
    """Where they begin, less the columns of earlier blocks."""
    step: int
    """How many each child has."""


class Held(NamedTuple):
    """A tensor of parameters alone, computed before a pass."""

    ref: Ref
    tensor: Tensor
    """The tensor as it was when the functions were recorded."""


Operand = ValueTensor | Held


class Hoisted(NamedTuple):
    """A call of torch on parameters and other tensors from outside alone: computed before a pass, with its gradient."""

    function: Any
    arguments: tuple[Any, ...]
    """Numbers, and refs to tensors from outside (``outside``) or to what was computed before (``result``)."""
    options: dict[str, Any]


@dataclass(frozen=True)
class Product:
    """Rows of values by a matrix: ``count`` rows for each node, or for each edge that leads to it."""

    space: Space
    rows: list[list[Segment]]
    """The columns of each of the ``count`` rows."""
    weight: int
    """The number of the held matrix."""
    fan_in: int
    fan_out: int
    is_turned: bool = False
    """Whether the matrix is (fan_out, fan_in), as that of a torch Linear; otherwise (fan_in, fan_out)."""
    blocks: tuple[ChildColumns, ...] = ()
    """Columns of its result that children have, of a program for any number of these."""
    of_node: tuple[int, int] | None = None
    """``fan_in`` and ``fan_out`` without the columns that children have; None: there are none."""

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        return (self.fan_out, self.fan_in) if self.is_turned else (self.fan_in, self.fan_out)


class Mask(NamedTuple):
    """Random numbers, 1 with a probability and 0 otherwise: drawn by torch for all nodes of a pass at once."""

    space: Space
    probability: float
    rows: int
    """Rows for each node or edge."""
    width: int
    of_node: int | None = None
    """``width`` without the columns that children have; None: there are none."""


@dataclass(eq=False)
class NodeProgram:
    """What is written at a node of one of some degrees."""

    outputs: dict[str, list[Segment]]
    """A field as its columns, axes of whole numbers laid side by side."""
    kinds: dict[str, Kind]
    products: list[Product]
    masks: list[Mask]
    hoisted: list[Hoisted]
    held: list[Ref]
    """What values load: tensors from outside, or what was hoisted."""
    dtype: torch.dtype
    by_child: bool
    """Whether each message has values of its own, for one degree alone."""
    lines: dict[Value, UserLine] = field(default_factory=dict, repr=False)
    """Lines of the user's functions that values come from."""

    def roots(self) -> Iterator[Value]:
        """All values that are stored."""
        for product in self.products:
            for row in product.rows:
                yield from (segment.value for segment in row)
        for segments in self.outputs.values():
            yield from (segment.value for segment in segments)

    def loads(self) -> list[Value]:
        """What is read of fields, parameters, products and masks; tables that are looked up, too."""
        return [each for each in ordered(self.roots()) if each.operation in ("load", "look_up")]

    @cached_property
    def reads(self) -> set[tuple[str, str]]:
        """The fields that are read, as ``node`` or ``edge`` and their names."""
        kinds = {"node": "node", "source": "node", "child": "node", "edge": "edge", "child_edge": "edge"}
        places = [each.arguments[0] for each in self.loads() if each.operation == "load"]
        return {(kinds[place.array], place.name) for place in places if place.array in kinds}

    def levels(self) -> list[int]:
        """For each product, how many lie between it and the fields."""
        found: list[int] = []
        for product in self.products:
            needed = ordered(segment.value for row in product.rows for segment in row)
            below = [found[each.arguments[0].name] for each in needed if is_load(each, "product")]
            found.append(1 + max(below, default=-1))
        return found

    def hold(self, outside: Sequence[Tensor]) -> list[Tensor]:
        """What is held, computed by torch from the tensors that the functions hold; gradients flow to them."""
        results: dict[int, Any] = {}

        def given(argument: Any) -> Any:
            if isinstance(argument, Ref):
                return outside[argument.number] if argument.origin == "outside" else _part(results, argument)
            if isinstance(argument, tuple | list):
                return type(argument)(given(each) for each in argument)
            return argument

        for number in self.needed:
            each = self.hoisted[number]
            options = {name: given(option) for name, option in each.options.items()}
            results[number] = each.function(*given(each.arguments), **options)
        return [given(ref) for ref in self.held]

    @cached_property
    def needed(self) -> list[int]:
        """The numbers of what is hoisted and held, or needed for that, in order: a turned matrix is mostly not."""
        found: set[int] = set()
        waiting: list[Any] = list(self.held)
        while waiting:
            argument = waiting.pop()
            if isinstance(argument, Ref):  # a tuple, too
                if argument.origin != "outside" and argument.number not in found:
                    found.add(argument.number)
                    hoisted = self.hoisted[argument.number]
                    waiting += [*hoisted.arguments, *hoisted.options.values()]
            elif isinstance(argument, tuple | list):
                waiting += argument
        return sorted(found)

    @cached_property
    def form(self) -> tuple[Any, ...]:
        """All but the tensors that are held: programs of one form have the same machine code."""
        products = tuple(
            (each.space, each.of_node or (each.fan_in, each.fan_out), each.weight, each.is_turned, each.blocks)
            for each in self.products
        )
        return self.text(), self.dtype, tuple(self.kinds.items()), products

    @cached_property
    def size(self) -> int:
        """The number of its values."""
        return len(ordered(self.roots()))

    def text(self) -> str:
        """A line for each value, without the user's lines: equal for equal programs."""
        return "\n".join(line for line, _ in self._described())

    def __str__(self) -> str:
        """A line for each value, next to the line of the user's function that it comes from."""
        described = self._described()
        margin = min(60, max((len(line) for line, _ in described), default=0))
        return "\n".join(f"{line:{margin}}  {'' if of is None else of}".rstrip() for line, of in described)

    def _described(self) -> list[tuple[str, UserLine | None]]:
        names: dict[Value, str] = {}
        found: list[tuple[str, UserLine | None]] = []
        for number, ref in enumerate(self.held):
            found.append((f"held {number} = {ref.origin} {ref.number}.{ref.part}", None))
        for number, mask in enumerate(self.masks):
            width = mask.width if mask.of_node is None else mask.of_node
            found.append((f"mask {number} = {mask._replace(width=width)}", None))
        for number, product in enumerate(self.products):
            for part, row in enumerate(product.rows):
                self._describe([segment.value for segment in row], names, found)
                text = ", ".join(_segment(segment, names) for segment in row)
                matrix = f"held {product.weight}{'.T' if product.is_turned else ''}"
                found.append((f"product {number}.{part} = [{text}] @ {matrix}", None))
        for name, segments in self.outputs.items():
            self._describe([segment.value for segment in segments], names, found)
            found.append((f"{name} = [{', '.join(_segment(segment, names) for segment in segments)}]", None))
        return found

    def _describe(self, roots: list[Value], names: dict[Value, str], found: list[tuple[str, UserLine | None]]) -> None:
        for each in ordered(roots, without=names):
            if each in names:
                continue
            if each.operation == "constant":
                names[each] = each.arguments[0]
                continue
            names[each] = f"{'knr'[each.space]}{len(names)}"
            operands = ", ".join(
                names.get(part, str(part)) if isinstance(part, Value) else _plain(part) for part in each.arguments
            )
            found.append((f"{names[each]}:{each.width} = {each.operation}({operands})", self.lines.get(each)))


def _plain(argument: Any) -> str:
    if isinstance(argument, Location):
        part = f".{argument.part}" if argument.part else ""
        return f"{argument.array} {argument.name}{part}{_per_edge(argument)}"
    return str(argument)


def _per_edge(place: Location | Segment) -> str:
    """How columns depend on the number of edges and on the position of one."""
    skip = f" + {place.skip} for each edge" if place.skip else ""
    return skip + (f" + {place.step} from edge to edge" if place.step else "")


def _segment(segment: Segment, names: dict[Value, str]) -> str:
    return f"{segment.first}:{segment.first + segment.width}{_per_edge(segment)} {names[segment.value]}"


def _part(results: dict[int, Any], ref: Ref) -> Tensor:
    result = results[ref.number]
    return result if isinstance(result, Tensor) else result[ref.part]


def segments_of(widths: list[int], values: list[Value]) -> list[Segment]:
    """Values side by side."""
    found = []
    first = 0
    for width, value in zip(widths, values, strict=True):
        found.append(Segment(first, width, value))
        first += width
    return found


def product_column(product: Product, number: int, part: int) -> Value:
    """What a product gives for one of its rows."""
    return load(product.space, product.fan_out, Location("product", number, part), 0)
