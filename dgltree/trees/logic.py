"""Truth tables of propositional formulas, and the seven relations between two (Bowman et al. 2015).

A formula is a variable, ``( not F )``, ``( F ( and F ) )`` or ``( F ( or F ) )``; as a tree every word is a leaf,
``not`` included, and every bracket a node of two children.
"""

from collections.abc import Callable, Sequence

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
"""The most variables of formulas that are compared; a truth table has a bit for each assignment."""

# A formula means its table. A connective is curried, because a bracket joins two things at a time: ``( and F )`` means
# a function that waits for the formula on its left.
_Meaning = int | Callable[[int], "_Meaning"]


class TruthTables:
    """Truth tables of the formulas over some variables, as integers: bit r says whether one holds in assignment r.

    Args:
        variables: their names; variable k is true in the assignments r that have bit k.
    """

    def __init__(self, variables: Sequence[str]) -> None:
        assignments = 2 ** len(variables)
        self.always = 2**assignments - 1
        """The table of a tautology."""
        self.of_variables: dict[str, int] = {}
        for k, name in enumerate(variables):
            rows = (1 << row for row in range(assignments) if row >> k & 1)
            self.of_variables[name] = sum(rows)
        self._meanings: dict[str, _Meaning] = {
            **self.of_variables,
            "not": lambda table: self.always ^ table,
            "and": lambda right: lambda left: left & right,
            "or": lambda right: lambda left: left | right,
        }

    def of(self, formula: Tree) -> int:
        """The table of a formula over the variables; ``ValueError`` for another word, and for what is not a formula."""

        def apply(node: Tree, children: list[_Meaning]) -> _Meaning:
            if node.token is not None:
                if node.token not in self._meanings:
                    raise ValueError(f"found the word {node.token!r}; expected {', '.join(self._meanings)}")
                return self._meanings[node.token]
            # ``not F`` and ``and F`` begin with the function, ``F (and F)`` ends with it.
            match children:
                case [function, int(argument)] | [int(argument), function] if callable(function):
                    return function(argument)
            raise ValueError("found brackets without a connective and a formula; expected ( not a ) or ( a ( and b ) )")

        table = formula.fold(apply)
        if not isinstance(table, int):
            raise ValueError("found a connective without its operands; expected a formula")
        return table

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
