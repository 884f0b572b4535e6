"""Known equations as rewrite rules, of which thousands are looked through at once."""

from collections.abc import Sequence
from random import Random
from typing import Any

from tasks.equations.generator.places import Places
from tasks.equations.generator.rewrite import match
from tasks.equations.words import ARITIES, VARIABLES, Word, with_words

Rule = tuple[Word, Word]
"""(pattern, result)"""
ANYTHING = -1  # the label of a variable of a pattern
TWINS = 128  # is added to the label of a node whose two children are equal
Tail = tuple[list[int], list[Rule]]
"""The labels that are left if only one form continues, and the rules of this form."""


class PatternTree:
    """A tree of the forms of patterns; a form is the preorder of their labels, variables being all alike.

    A rule fits a subtree if constants and functions agree and, unless ``checked``, its repeated variables are not
    compared: only the two children of one node are equal exactly where the rule's are. A pattern that is a bare
    variable fits variables only. Every rule counts as often as it was added.
    """

    def __init__(self, checked: bool) -> None:
        self._checked = checked
        self._root: dict[int, Any] = {}

    def add(self, equation: Places) -> None:
        """Both directions of a known equation."""
        left, right = equation.sides()
        first, second = equation.children(0)
        self._insert(_labels(equation, first), (left, right))
        self._insert(_labels(equation, second), (right, left))

    def rewritten(self, equation: Places, place: int, random: Random) -> Word | None:
        """``equation`` with one of the rules that fit the subtree of a place applied; None if there is none.

        Variables of the result that the pattern lacks stay what they are. A checked rule that was drawn and does not
        fit for its repeated variables is none.
        """
        found = self.fitting(equation, place)
        if not found:
            return None
        [rules] = random.choices(found, [len(rules) for rules in found])
        pattern, result = random.choice(rules)
        bound = match(pattern, equation, place) if self._checked else _bound(pattern, equation, place, random)
        return None if bound is None else equation.replaced(place, with_words(result, bound))

    def _insert(self, labels: list[int], rule: Rule) -> None:
        node = self._root
        for number, label in enumerate(labels):
            below = node.get(label)
            if below is None:
                node[label] = (labels[number + 1 :], [rule])
                return
            if isinstance(below, tuple):
                tail, rules = below
                if tail == labels[number + 1 :]:
                    rules.append(rule)
                    return
                below = node[label] = {tail[0]: (tail[1:], rules)}
            node = below

    def fitting(self, equation: Places, place: int) -> list[list[Rule]]:
        """The rules of all forms that fit."""
        found = []
        open_: list[tuple[dict[int, Any], int]] = [(self._root, place)]
        while open_:
            node, at = open_.pop()
            nexts = []
            if equation.word[at] not in VARIABLES and (below := node.get(_label(equation, at))) is not None:
                nexts.append((below, at + 1))
            if (at > place or equation.word[at] in VARIABLES) and (below := node.get(ANYTHING)) is not None:
                nexts.append((below, equation.ends[at]))
            for below, after in nexts:
                if isinstance(below, dict):
                    open_.append((below, after))
                elif _fits(below[0], equation, after):
                    found.append(below[1])
        return found


def _fits(labels: Sequence[int], equation: Places, place: int) -> bool:
    for label in labels:
        if label == ANYTHING:
            place = equation.ends[place]
        elif label == _label(equation, place):
            place += 1
        else:
            return False
    return True


def _labels(equation: Places, place: int) -> list[int]:
    """The form of a side as a pattern."""
    places = range(place, equation.ends[place])
    return [ANYTHING if equation.word[at] in VARIABLES else _label(equation, at) for at in places]


def _label(equation: Places, place: int) -> int:
    word = equation.word
    ends = equation.ends
    symbol = word[place]
    if ARITIES[symbol] == 2 and word[place + 1 : ends[place + 1]] == word[ends[place + 1] : ends[place]]:
        return symbol + TWINS
    return symbol


def _bound(pattern: Word, equation: Places, place: int, random: Random) -> dict[int, Word]:
    """The values of the variables of a pattern that fits: one of the subtrees that each of them met."""
    met: dict[int, list[Word]] = {}
    for symbol in pattern:
        if symbol in VARIABLES:
            met.setdefault(symbol, []).append(equation.at(place))
            place = equation.ends[place]
        else:
            place += 1
    return {symbol: parts[0] if len(parts) == 1 else random.choice(parts) for symbol, parts in met.items()}
