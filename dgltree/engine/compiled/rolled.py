"""Programs that loop over children: what is alike for each child of a node becomes one value of edges.

Functions that read their children one by one have a program of their own for each number of children, whose values grow
with it. In that of a Tree-LSTM the forget gates are alike, each reads the next columns of one product, and what they
give is added up. So each becomes a value of edges, their sum a sum over these, and the columns lie a *step* apart.
Columns behind them lie further back by a *skip* for each child. What is left does not say how many children there are:
one machine code serves all numbers of them.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from dgltree.engine.compiled.programs import ChildColumns, Mask, NodeProgram, Product, Segment
from dgltree.engine.compiled.recording import UserLine
from dgltree.engine.compiled.values import (
    DEGREE,
    ONE,
    Location,
    Space,
    Value,
    add,
    as_float,
    divide,
    load,
    number_of,
    ordered,
    sum_edges,
    value,
)

LEAST_ROLLED = 3
"""Children from which on a program has a loop over them: with two, of which most trees consist, it is up to a twentieth
faster without."""
STEPPED = ("product", "held", "mask")
"""Arrays in whose rows children may have columns of their own."""
OF_CHILDREN = {"child": "source", "child_edge": "edge"}
"""The arrays of one child, and those of each edge."""


def rolled(program: NodeProgram, degree: int) -> NodeProgram:
    """A program of some children with a loop over them; the program itself if they are not alike."""
    if degree < LEAST_ROLLED or any(product.space == Space.EDGE for product in program.products):
        return program
    try:
        found = _Rolling(degree, {}).program(program)
        blocks = None if found is None else blocks_of(found, degree)
        return program if blocks is None else _Rolling(degree, blocks).program(program) or program
    except RecursionError:  # what is alike for each child is a thousand operations deep
        return program


Blocks = dict[Location, tuple[ChildColumns, ...]]
"""The columns that children have, by where rows of them lie."""


def blocks_of(program: NodeProgram, degree: int) -> Blocks | None:
    """The blocks that a program reads, each behind the columns of the last; None if some overlap, or the row ends."""
    steps: dict[Location, set[tuple[int, int, int]]] = {}
    for each in program.loads():
        if each.operation == "load" and each.arguments[0].step:
            place, first = each.arguments
            steps.setdefault(place._replace(step=0), set()).add((first, place.step, each.width))
    found: Blocks = {}
    for place, of_place in steps.items():
        blocks: list[ChildColumns] = []
        begin = end = past = 0
        for first, step, width in sorted(of_place):
            if blocks and first < end:
                if step != blocks[-1].step or first + width > begin + step:
                    return None
                continue
            blocks.append(ChildColumns(first - past, step))
            begin = first
            end = first + degree * step
            past += degree * step
        if place.array == "product" and end > program.products[int(place.name)].fan_out:
            return None
        found[place] = tuple(blocks)
    return found


class _Rolling:
    """Values of a program as they become values for any number of children.

    Args:
        degree: N, the number of children.
        known: the columns that children have; empty while they are looked for.
    """

    def __init__(self, degree: int, known: Blocks) -> None:
        self.degree = degree
        self.known = known
        self._of_node: dict[Value, Value | None] = {}
        self._of_child: dict[tuple[Value, ...], Value | None] = {}

    def program(self, given: NodeProgram) -> NodeProgram | None:
        """All of it, or None where values of one child are left."""
        products = []
        for number, product in enumerate(given.products):
            of_product = self._product(number, product)
            if of_product is None:
                return None
            products.append(of_product)
        masks = [mask._replace(of_node=self._mask_columns(number, mask)) for number, mask in enumerate(given.masks)]
        outputs = {}
        for name, segments in given.outputs.items():
            of_field = self._row(segments)
            if of_field is None or any(segment.step or segment.skip for segment in of_field):
                return None
            outputs[name] = of_field
        lines = self._lines(given)
        return replace(given, products=products, masks=masks, outputs=outputs, by_child=False, lines=lines)

    def _lines(self, given: NodeProgram) -> dict[Value, UserLine]:
        """The user's lines, of what values have become."""
        pairs = [(each, found) for each, found in self._of_node.items()]
        pairs += [(each[0], found) for each, found in self._of_child.items()]
        return {found: given.lines[each] for each, found in pairs if found is not None and each in given.lines}

    # -----------------------------------------------------------------------------------------------------------------
    # Rows of products, and what is written.

    def _product(self, number: int, product: Product) -> Product | None:
        blocks = [self.known.get(Location("product", number, part), ()) for part in range(len(product.rows))]
        if any(of_row != blocks[0] for of_row in blocks):
            return None
        rows = [self._row(row) for row in product.rows]
        found = [row for row in rows if row is not None]
        if len(found) < len(rows):
            return None
        widths = set()
        for row in found:
            widths.add(sum(segment.width for segment in row if not segment.step))
        if len(widths) > 1:
            return None
        own = product.fan_out - self.degree * sum(block.step for block in blocks[0])
        return replace(product, rows=found, blocks=blocks[0], of_node=(widths.pop(), own))

    def _mask_columns(self, number: int, mask: Mask) -> int:
        """The columns of a mask's rows that are not the children's."""
        most = 0
        for part in range(mask.rows):
            blocks = self.known.get(Location("mask", number, part), ())
            most = max(most, sum(block.step for block in blocks))
        return mask.width - self.degree * most

    def _row(self, segments: Sequence[Segment]) -> list[Segment] | None:
        """Columns side by side, those of the children as one segment."""
        found: list[Segment] = []
        first = skip = place = 0
        while place < len(segments):
            width = segments[place].width
            window = segments[place : place + self.degree]
            each = self._edges_of([segment.value for segment in window])
            if each is not None and all(segment.width == width for segment in window):
                found.append(Segment(first, width, each, skip, width))
                skip += width
                place += self.degree
                continue
            own = self._node_value(segments[place].value)
            if own is None:
                return None
            found.append(Segment(first, width, own, skip))
            first += width
            place += 1
        return found

    # -----------------------------------------------------------------------------------------------------------------
    # Values.

    def _node_value(self, of: Value) -> Value | None:
        """What a value of a node becomes; None for one of a single child."""
        for each in ordered([of], without=self._of_node):
            if each not in self._of_node:
                self._of_node[each] = self._without_children(each)
        return self._of_node[of]

    def _without_children(self, of: Value) -> Value | None:
        if of.operation == "load":
            place, first = of.arguments
            return None if place.array in OF_CHILDREN else self._load(of, place, first, 0)
        if of.operation == "constant":
            return self._constant(of)
        operands = [self._of_node[each] for each in of.operands]
        if all(each is not None for each in operands):
            return _again(of, [each for each in operands if each is not None])
        return self._sum(of) if of.operation == "add" else None

    def _constant(self, of: Value) -> Value:
        """A number; the number of children where it is equal to that, as it is in means."""
        number = number_of(of)
        if of.kind == "truth" or number not in (self.degree, 1 / self.degree):
            return of
        if of.kind == "whole":
            return DEGREE
        return as_float(DEGREE) if number == self.degree else divide(ONE, DEGREE)

    def _sum(self, of: Value) -> Value | None:
        """A sum of which some terms, one after another, are alike for each child."""
        terms = []
        while of.operation == "add":
            of, term = of.arguments
            terms.append(term)
        terms = [of, *reversed(terms)]
        total: Value | None = None
        place = 0
        while place < len(terms):
            each = self._edges_of(terms[place : place + self.degree])
            term = self._node_value(terms[place]) if each is None else sum_edges(each)
            if term is None:
                return None
            total = term if total is None else add(total, term)
            place += 1 if each is None else self.degree
        return total

    def _edges_of(self, values: Sequence[Value]) -> Value | None:
        """The value of edges that stands for one value of each child, if there is one."""
        if len(values) < self.degree:
            return None
        found = self._alike(tuple(values))
        return found if found is not None and found.space == Space.EDGE else None

    def _alike(self, values: tuple[Value, ...]) -> Value | None:
        """What stands for one value of each child; None if they are not alike."""
        if values not in self._of_child:
            self._of_child[values] = self._computed_alike(values)
        return self._of_child[values]

    def _computed_alike(self, values: tuple[Value, ...]) -> Value | None:
        first = values[0]
        if all(each is first for each in values):
            return self._node_value(first)
        kinds = {(each.operation, each.width, each.kind, len(each.arguments)) for each in values}
        if len(kinds) > 1:
            return None
        if first.operation == "load":
            return self._load_of_edges(values)
        operands = []
        for of_each in zip(*(each.arguments for each in values), strict=True):
            if isinstance(of_each[0], Value):
                operand = self._alike(of_each) if all(isinstance(each, Value) for each in of_each) else None
                if operand is None:
                    return None
                operands.append(operand)
            elif any(each != of_each[0] for each in of_each):
                return None
        return _again(first, operands)

    def _load_of_edges(self, values: tuple[Value, ...]) -> Value | None:
        """Fields of the children, or columns that follow one another."""
        places, firsts = zip(*(each.arguments for each in values), strict=True)
        place = places[0]
        first = firsts[0]
        width = values[0].width
        if place.array in OF_CHILDREN:
            wanted = [place._replace(part=part) for part in range(self.degree)]
            if list(places) != wanted or any(each != first for each in firsts):
                return None
            of_edges = Location(OF_CHILDREN[place.array], place.name)
            return load(Space.EDGE, width, of_edges, first, values[0].kind)
        [step, *others] = {after - before for before, after in pairwise(firsts)}
        if others or step < width or place.array not in STEPPED or len(set(places)) > 1:
            return None
        return self._load(values[0], place, first, step)

    def _load(self, of: Value, place: Location, first: int, step: int) -> Value | None:
        """A load behind blocks of columns, whose number of these is left out; None for one that reads of a block."""
        skip = past = 0
        for block in self.known.get(place, ()):
            begin = block.first + past
            if first < begin + (block.step if step else 0):
                if not step and first + of.width > begin:
                    return None
                break
            past += self.degree * block.step
            if first < begin + self.degree * block.step:
                return None
            skip += block.step
        space = Space.EDGE if step else of.space
        if not step and space == Space.CONSTANT and skip:
            space = Space.NODE
        return load(space, of.width, place._replace(skip=skip, step=step), first - past, of.kind)


def _again(of: Value, operands: list[Value]) -> Value:
    """The operation of a value, of other operands."""
    rest = iter(operands)
    arguments = [next(rest) if isinstance(each, Value) else each for each in of.arguments]
    space = max([of.space, *(each.space for each in operands)])
    return value(of.operation, *arguments, space=space, width=of.width, kind=of.kind)
