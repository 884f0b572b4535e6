"""Truth tables of propositional formulas, and the seven relations between two (Bowman et al. 2015).

A formula is a variable, ``( not F )``, ``( F ( and F ) )`` or ``( F ( or F ) )``; as a tree every word is a leaf,
``not`` included, and every bracket a node of two children.
"""

from collections.abc import Sequence
from typing import NamedTuple

from dgltree.trees.tree import Tree

CONNECTIVES = ("and", "not", "or")
RELATIONS = (
    "#",  # independence
    "<",  # forward entailment
    "=",  # equivalence
    ">",  # reverse entailment
    "^",  # negation
    "v",  # cover
    "|",  # alternation
)
"""In the order of their class numbers."""
MOST_VARIABLES = 12
"""The most variables of truth tables, which have a bit for each assignment."""


class _RightOperand(NamedTuple):
    """The meaning of ``( and F )`` or ``( or F )``, which wait for the formula on their left."""

    connective: str
    table: int


# A formula means its table, and the leaf of a connective its word.
_Meaning = int | str | _RightOperand


class TruthTables:
    """Truth tables of the formulas over some variables, as integers: bit r says whether one holds in assignment r.

    Args:
        variables: up to MOST_VARIABLES different names; variable k is true in the assignments r that have bit k.

    Raises ``ValueError`` for more variables, for a name that occurs twice and for that of a connective.
    """

    def __init__(self, variables: Sequence[str]) -> None:
        if len(variables) > MOST_VARIABLES:
            raise ValueError(
                f"{len(variables)} variables; a truth table takes at most {MOST_VARIABLES} variables, because it has "
                "a bit for each assignment"
            )
        assignments = 2 ** len(variables)
        self.always = 2**assignments - 1
        """The table of a tautology."""
        self.of_variables: dict[str, int] = {}
        for k, name in enumerate(variables):
            if name in CONNECTIVES or name in self.of_variables:
                raise ValueError(f"variable {k} is {name!r}; variables must be different words, and no connectives")
            rows = (1 << row for row in range(assignments) if row >> k & 1)
            self.of_variables[name] = sum(rows)

    def of(self, formula: Tree) -> int:
        """The table of a formula over the variables; ``ValueError`` for another word, and for what is not a formula."""

        def apply(node: Tree, children: list[_Meaning]) -> _Meaning:
            if children and node.token is not None:
                raise ValueError(f"found the word {node.token!r} above other words; every word must be a leaf")
            match children:
                case []:
                    return self._of_word(node.token)
                case ["not", int(table)]:
                    return self.always ^ table
                case ["and" | "or" as connective, int(table)]:
                    return _RightOperand(connective, table)
                case [int(left), _RightOperand("and", right)]:
                    return left & right
                case [int(left), _RightOperand("or", right)]:
                    return left | right
            raise ValueError("found brackets without a connective and a formula; expected ( not a ) or ( a ( and b ) )")

        table = formula.fold(apply)
        if not isinstance(table, int):
            raise ValueError("found a connective without its operands; expected a formula")
        return table

    def _of_word(self, word: str | None) -> _Meaning:
        """The meaning of a leaf."""
        if word in CONNECTIVES:
            return word
        if word not in self.of_variables:
            words = ", ".join((*self.of_variables, *CONNECTIVES))
            raise ValueError(f"found the word {word!r}; expected {words}")
        return self.of_variables[word]

    def relation(self, left: int, right: int) -> str:
        """Which of the seven relations holds between two tables, neither of them 0 or ``always``.

        ``=`` equivalence, ``^`` negation, ``<`` and ``>`` entailment, ``|`` they exclude each other, ``v`` one of them
        always holds, ``#`` none of these.
        """
        if left == right:
            return "="
        if left == self.always ^ right:
            return "^"
        if not left & right:
            return "|"
        if left | right == self.always:
            return "v"
        if left | right == right:
            return "<"
        if left | right == left:
            return ">"
        return "#"
