"""``read_typed``: tokens, levels of brackets, strict text, and the strict reader's tree of it."""

from bisect import bisect_right
from collections.abc import Collection
from itertools import accumulate, pairwise
from typing import Any, Literal, NamedTuple

from dgltree.read.infix import Builder, MakeBuilder, Value, build
from dgltree.read.notation import EXP1, FUNCTIONS
from dgltree.read.text import error_at, one_line
from dgltree.read.typed.angles import in_radians
from dgltree.read.typed.brackets import levels
from dgltree.read.typed.items import Pieces, TextPiece, flat
from dgltree.read.typed.letters import Runs
from dgltree.read.typed.names import factors_of_sums, split_names, standing
from dgltree.read.typed.notes import Note, make_note
from dgltree.read.typed.postfix import with_postfixes
from dgltree.read.typed.same_letters import other_spellings, with_one_name
from dgltree.read.typed.separators import with_separators
from dgltree.read.typed.sheets import without_layout
from dgltree.read.typed.subjects import check_subject
from dgltree.read.typed.token import Token
from dgltree.read.typed.tokens import tokens
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

LOGARITHM = make_note("logarithm")


class Typed(NamedTuple):
    """The reading of a typed equation; :func:`dgltree.read.infix_writer.write_equation` prints it."""

    equation: Equation
    blanks: tuple[str, ...]
    """The names of its blanks as they first appear, each once. ``dgltree.trees.equation.blank`` gives the leaf of one.
    Where there is only one it is called ``_``, whatever it was called in the text."""
    notes: tuple[Note, ...] = ()
    """Notes on other possible readings: which logarithm ``log`` is, what letters side by side are."""


def read_typed(text: str, names: Collection[str] = ()) -> Typed:
    """The equation that a person means by ``text``: ``2x``, ``sin^2 x``, ``√x``, ``\\frac{1}{x}``; see docs/reading.md.

    Trees are those of the strict reader (:func:`dgltree.read.infix.read_equation`), except ``e^x``, which is exp(x).
    ``names`` are runs of letters that are one name: ``("KE",)``.

    Raises ``ValueError`` with line, column and what would be right: for what has no meaning, and with both readings
    for what has two.
    """
    text = without_layout(text)
    found, runs = _tokens(text, (), names)
    signs = [token for token in found if token.kind == "="]
    if len(signs) > 1:
        raise error_at(text, signs[1].start, "a second '='; an equation is left = right, and a system is not supported")
    sides = levels(text, found, standing(found).union(runs.before_brackets, *runs.split.values()))
    if not signs:
        value = f"; for the value of an expression, write {one_line(text.strip(), 40)} = _" if text.strip() else ""
        raise error_at(text, len(text.rstrip()), f"there is no '='; an equation is left = right{value}")
    blanks = dict.fromkeys(token.text for token in found if token.kind == "blank")
    equal = TextPiece(" = ", signs[0].start)
    equation = _built(text, [sides[0], equal, sides[1]], "equation")
    notes = (LOGARITHM,) if _has_bare_log(text, found, equation) else ()
    return Typed(equation, tuple(blanks), (*notes, *in_radians(*equation), *runs.notes))


def _has_bare_log(text: str, found: list[Token], equation: Equation) -> bool:
    """Whether ``log`` is written without a base."""
    logs = [a for a, b in pairwise(found) if a.kind == "function" and a.text == "log" and b.kind != "sub"]
    if not any(text[log.start : log.stop].lower().lstrip("\\").startswith("log") for log in logs):
        return False
    return any(node.function == "log" and node.children[1:] == (EXP1,) for side in equation for node in side.distinct())


class TypedExpression(NamedTuple):
    """The reading of a typed expression."""

    tree: Tree
    notes: tuple[Note, ...]
    """As of :class:`Typed`."""


def read_typed_expression(
    text: str, known: Collection[str] = (), as_written: bool = False, names: Collection[str] = ()
) -> Tree:
    """The tree of one side of an equation, read and refused as in :func:`read_typed`.

    Args:
        known: variables of an equation that the text belongs to: ``x(y + 1)`` is a product then.
        as_written: whether 2/4 is a quotient of two numbers; else it is 1/2.
        names: as of :func:`read_typed`.
    """
    return read_noted_expression(text, known, as_written, names).tree


def read_noted_expression(
    text: str, known: Collection[str] = (), as_written: bool = False, names: Collection[str] = ()
) -> TypedExpression:
    """The tree as :func:`read_typed_expression` has it, with notes."""
    text = without_layout(text)
    found, runs = _tokens(text, known, names)
    for token in found:
        if token.kind == "=":
            raise error_at(text, token.start, "unexpected '='; an expression has none")
    builder = _WrittenBuilder if as_written else _TypedBuilder
    factors = standing(found).union(known, runs.before_brackets, *runs.split.values())
    tree = _built(text, levels(text, found, factors), "expression", builder)
    return TypedExpression(tree, (*in_radians(tree), *runs.notes))


def _tokens(text: str, known: Collection[str], names: Collection[str]) -> tuple[list[Token], Runs]:
    check_subject(text)
    spellings = other_spellings(known)
    split, runs = split_names(text, with_separators(text, tokens(text)), spellings, names)
    found = with_postfixes(text, with_one_name(split, known))
    alone = standing(found).union(known, *runs.split.values())
    runs = runs._replace(before_brackets=tuple(sorted(factors_of_sums(found) - alone)))
    if len({token.text for token in found if token.kind == "blank"}) > 1:
        return found, runs
    return [token._replace(text="_") if token.kind == "blank" else token for token in found], runs


class _TypedBuilder(Builder):
    """The strict trees, except for ``e^x``: a person means the function."""

    def power(self, values: list[Value]) -> Tree:
        node = super().power(values)
        return Tree("exp", node.children[1:]) if node.children[0] == EXP1 else node


class _WrittenBuilder(_TypedBuilder):
    """The trees in which no fraction is reduced."""

    def divide(self, values: list[Value]) -> Tree:
        return super().divide([self.expression([value]) for value in values])


def _built(
    text: str, pieces: Pieces, start: Literal["expression", "equation"], builder: MakeBuilder = _TypedBuilder
) -> Any:
    parts = flat(pieces)
    ends = list(accumulate(len(part.text) for part in parts))

    def refusal(offset: int, message: str) -> ValueError:
        part = bisect_right(ends, offset)
        return error_at(text, parts[part].start if part < len(parts) else len(text.rstrip()), message)

    return build("".join(part.text for part in parts), start, FUNCTIONS, builder, refusal)
