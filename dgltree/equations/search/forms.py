"""The trees of a table's entries: several ways to write each value, the shortest first."""

from itertools import product

from dgltree.equations.expressions.written_form import symbols
from dgltree.equations.search.operations import COMMUTATIVE
from dgltree.equations.search.table import LEAF, ValueTable
from dgltree.equations.search.written_operations import fraction, write_operation
from dgltree.trees.tree import Tree

OF_A_PART = 3  # forms of a part that are put into forms of the whole


class Forms:
    """Writes the entries of a table, remembering what it wrote; once the table grew, another one is needed."""

    def __init__(self, table: ValueTable) -> None:
        self._table = table
        self._known: dict[tuple[int, int], list[Tree]] = {}

    def shortest(self, entry: int) -> Tree:
        """The shortest form of an entry."""
        return self.of(entry, 1)[0]

    def of(self, entry: int, most: int) -> list[Tree]:
        """At most so many distinct forms of an entry, the shortest first."""
        key = entry, most
        if key not in self._known:
            self._known[key] = self._written(entry, most)
        return self._known[key]

    def _written(self, entry: int, most: int) -> list[Tree]:
        table, found = self._table, dict[Tree, None]()
        if entry in table.numbers:
            return [fraction(table.numbers[entry])]
        for operation, left, right in table.forms(entry):
            if most == 1 and found:
                break
            if operation == LEAF:
                found[table.leaves[left].tree] = None
                continue
            name = table.names[operation]
            sides = (left,) if operation < len(table.operations.unary) else (left, right)
            if most <= OF_A_PART and found and max(sides) > entry:
                continue  # of a part, only what is made of earlier entries: x is not -(-x)
            for parts in product(*(self.of(side, min(most, OF_A_PART) if side < entry else 1) for side in sides)):
                found[write_operation(name, list(parts))] = None
                if name in COMMUTATIVE:
                    found[write_operation(name, list(reversed(parts)))] = None
        return sorted(found, key=symbols)[:most]
