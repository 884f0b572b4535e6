"""``read_question`` reads an equation with blanks, an unknown to solve for, or an expression whose form is asked for.

``read_steps`` reads a calculation in steps, ``2x + 4 = 2(x + 2) = 2x + 4``, as the equations of neighbours.
"""

import re
from collections.abc import Collection
from itertools import pairwise
from typing import NamedTuple

from dgltree.equations.typed.names import letter_key
from dgltree.equations.typed.notes import Note
from dgltree.equations.typed.reader import Typed, check_length, read_typed, without_layout
from dgltree.equations.typed.tokens import tokens
from dgltree.support.refusal import Refusal
from dgltree.trees.equation import BLANK, Equation, substitute
from dgltree.trees.tree import Tree

FORMS = {
    "expand": "expanded",
    "factor": "factored",
    "factorise": "factored",
    "factorize": "factored",
    "simplify": "simplified",
}
"""The words that ask for a form, each with the form's name."""
_COMMAND = re.compile(rf"\s*({'|'.join(FORMS)})\b(?=\s*[^\s=])", re.IGNORECASE)
_SOLVE = re.compile(r"\s*solve\b:?(?=\s*[^\s=])", re.IGNORECASE)
_FOR = re.compile(r"\s+for\s+([^\W\d]\w*)\s*[.:]?\s*$", re.IGNORECASE)
_BETWEEN = re.compile(r"[,;]|[-=]>|[⇒⟹→]|\\(?:Rightarrow|Longrightarrow|implies|to)\b")
"""Separators between an equation and ``x = _``."""

_NAMED = re.compile(r"\s*([^\W\d]\w*)\s*=|=\s*([^\W\d]\w*)\s*$")


class Question(NamedTuple):
    """The reading of a typed question."""

    equation: Equation
    """The equation, with a blank for the unknown, and for what is to be rewritten: ``(x + 1)^3 = _``."""
    blanks: tuple[str, ...]
    """The names of its blanks as they first appear, each once."""
    form: str = ""
    """The form that is asked for, a value of ``FORMS``."""
    unknown: str | None = None
    """The variable that the blank replaces, in all its places."""
    notes: tuple[Note, ...] = ()
    """Notes on other possible readings, as those of :class:`dgltree.equations.typed.Typed` are."""


def read_question(text: str, names: Collection[str] = ()) -> Question:
    """``x + _ = 2``, ``2x + 3 = 11, x = _``, ``2^x = 16 => x = _``, ``expand (x + 1)^3``; see docs/reading.md.

    ``names`` are runs of letters that are one name. Raises ``ValueError`` as :func:`dgltree.equations.typed.read_typed`
    does, and for an unknown that is not in the equation.
    """
    check_length(text)
    if command := _COMMAND.match(text):
        return _form(text, command, names)
    if (command := _SOLVE.match(text)) and "=" in text:
        return _solve(_blanked(text, command.end()), names)
    for between in reversed(list(_BETWEEN.finditer(text))):
        if "=" in text[: between.start()] and "=" in text[between.end() :]:
            unknown = _unknown(_blanked(text, between.end()), names)
            if unknown is not None:
                return _solved(text[: between.start()], unknown, names)
    typed = read_typed(text, names)
    return Question(typed.equation, typed.blanks, notes=typed.notes)


def _form(text: str, command: re.Match[str], names: Collection[str]) -> Question:
    """Read a command and an expression, as ``expand (x + 1)^3``."""
    word = command[1].lower()
    rest = _blanked(text, command.end())
    equation, _, notes = read_typed(rest if "=" in rest else f"{rest} = _", names)
    if BLANK not in equation:
        raise Refusal(f"{word} takes an expression, and this is an equation; write {word} x^2 - 4")
    tree = equation.left if equation.right == BLANK else equation.right
    if any(node.function == BLANK.function for node in tree.distinct()):
        raise Refusal(f"{word} takes an expression with no blank to fill; for example, write {word} x^2 - 4")
    return Question(Equation(tree, BLANK), ("_",), FORMS[word], notes=notes)


def _solve(text: str, names: Collection[str]) -> Question:
    """Read an equation to solve: ``2x + 3 = 11`` and ``A = 1/2 g h for h``."""
    if found := _FOR.search(text):
        return _solved(text[: found.start()], Tree("Symbol", token=found[1]), names)
    equation = read_typed(text, names).equation
    leaves = (leaf.token or "" for side in equation for leaf in side.distinct_preorder() if leaf.function == "Symbol")
    unknowns = list(dict.fromkeys(leaves))
    if len(unknowns) != 1:
        there = f"its variables are {', '.join(unknowns)}" if unknowns else "it has no variables"
        raise Refusal(f"name the variable to solve for: {there}; write solve EQUATION for x")
    return _solved(text, Tree("Symbol", token=unknowns[0]), names)


def _unknown(text: str, names: Collection[str]) -> Tree | None:
    """The variable of ``x = _``; ``KE = _`` asks for one name."""
    asked = {name for match in _NAMED.finditer(text) for name in match.groups() if name and name.isalpha()}
    try:
        equation = read_typed(text, asked.union(names)).equation
    except ValueError:
        return None
    variables = [side for side in equation if side.function == "Symbol"]
    return variables[0] if len(variables) == 1 and BLANK in equation else None


def _solved(text: str, unknown: Tree, names: Collection[str]) -> Question:
    """The equation before ``x = _``, with the blank in the places of x."""
    equation, blanks, notes = read_typed(text, {*names, unknown.token or ""})
    if blanks:
        raise Refusal(f"the blank of the equation is not {unknown.token}; write {unknown.token} = _ alone for one")
    leaves = {node for side in equation for node in side.distinct() if not node.children}
    spelled = letter_key(unknown.token or "")
    unknown = next((leaf for leaf in leaves if spelled and letter_key(leaf.token or "") == spelled), unknown)
    if unknown not in leaves:
        found = sorted(leaf.token or "" for leaf in leaves if leaf.function == "Symbol")
        there = f"its variables are {', '.join(found)}" if found else "it has no variables"
        raise Refusal(f"there is no {unknown.token} in the equation; {there}")
    return Question(
        Equation(*(substitute(side, {unknown: BLANK}) for side in equation)), ("_",), unknown=unknown.token, notes=notes
    )


def _blanked(text: str, stop: int) -> str:
    """The text with spaces in place of its beginning, so that errors name the right column."""
    return re.sub(r"[^\n]", " ", text[:stop]) + text[stop:]


def read_steps(text: str, names: Collection[str] = ()) -> list[tuple[str, Typed]]:
    """The equation of each side and the next one, with its text; of an equation with one ``=`` itself.

    ``names`` are runs of letters that are one name. Raises ``ValueError`` as :func:`dgltree.equations.typed.read_typed`
    does, also if a side is none by itself: a system of equations is refused.
    """
    if _SOLVE.match(text):
        raise Refusal("solve asks for solutions, which dgltree complete finds; verify takes an equation alone")
    text = without_layout(text)
    try:
        signs = [token for token in tokens(text) if token.kind == "="]
        starts = [0, *(sign.stop for sign in signs)]
        stops = [*(sign.start for sign in signs), len(text)]
        sides = [text[start:stop].strip() for start, stop in zip(starts, stops, strict=True)]
        if len(signs) > 1:
            pairs = [f"{left} = {right}" for left, right in pairwise(sides)]
            return [(pair, read_typed(pair, names)) for pair in pairs]
    except ValueError:
        pass  # said by the reader of the whole text
    return [(text.strip(), read_typed(text, names))]
