"""The answer to an equation with blanks has fillers with their verdicts.

It is printed as a table, as HTML and LaTeX in notebooks, and as the texts and numbers that JSON and tables hold
(``dgltree/data/completion.schema.json`` says which).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

from dgltree.equations.expressions.variables import variables
from dgltree.equations.truth.drawn_letters import unused_counter
from dgltree.equations.truth.verdict import Grade, Verdict
from dgltree.equations.typed.latex_writer import write_latex, write_latex_equation
from dgltree.read.infix_writer import write_equation, write_infix
from dgltree.read.notation import make_leaf
from dgltree.support.durations import in_seconds
from dgltree.trees.equation import BLANK, Equation, substitute
from dgltree.trees.tree import Tree

HOLDS = (Grade.PROVED, Grade.TESTED, Grade.ROUNDED)
"""Grades of fillers that hold, on a part at least."""
MOST_ROWS = 30
MAX_HTML_LENGTH = 100
"""Characters of one expression in HTML."""


class Filler(NamedTuple):
    """A filler of the blanks."""

    trees: tuple[Tree, ...]
    """One for each blank, in the equation's own names."""
    verdict: Verdict
    """Where the filled equation holds."""
    source: str
    """Where it comes from: ``search``, ``isolated``, ``a number``, ``a fitted sum``, ``expanded``, ``list`` ..."""
    score: float | None = None
    """The network's logit for the filled equation, if fillers of a list were ranked by it."""
    forms: tuple[Tree, ...] = ()
    """Other spellings of the same value, for one blank."""

    def __str__(self) -> str:
        return ", ".join(map(write_infix, self.trees))

    @property
    def remark(self) -> str:
        """The verdict, the network's score if it has one, and the source."""
        score = "" if self.score is None else f"score {self.score:+.3f}, "
        return f"{self.verdict.short}  ({score}{self.source})"


@dataclass(frozen=True)
class Completion:
    """The answer to an equation with blanks."""

    equation: Equation
    blanks: tuple[str, ...]
    fillers: tuple[Filler, ...]
    """Best first; each has another value, or another form of an expression."""
    tried: int
    """Expressions whose values were looked at."""
    seconds: float
    stopped: bool
    """Whether the clock ended the search before it was through."""
    memory: int
    """Bytes of the largest table of the search."""
    unknown: str | None = None
    """The variable that the blank replaces, if the equation was to be solved."""
    unit: str | None = None
    """The name of the imaginary unit in the equation or in a filler."""
    reason: str = ""
    """Why there are no fillers, that none is real, or that they are not single numbers."""

    period: Tree | None = None
    """The number of which each whole multiple, added to a solution, gives another one."""
    more: bool = False
    """Whether there may be other real solutions."""
    extraneous: tuple[str, ...] = ()
    """Sentences about numbers that solve the equation by its rules, but at which a part is not real."""
    left_out: int = 0
    """Solutions that are known and not among the fillers: those farthest from 0."""

    @property
    def found(self) -> bool:
        """Whether any filler holds, on a part at least; else they are guesses."""
        return any(filler.verdict.grade in HOLDS for filler in self.fillers)

    def __str__(self) -> str:
        return "\n".join([self.understood(), *self.lines()])

    def understood(self, write: Callable[[Equation], str] = write_equation) -> str:
        """The question as it was read: ``x + _ = 2``, or ``2*x + 3 = 11, x = _``."""
        if self.unknown is None:
            return write(self.equation)
        variable = Tree("Symbol", token=self.unknown)
        asked = Equation(*(substitute(side, {BLANK: variable}) for side in self.equation))
        return f"{write(asked)}, {write(Equation(variable, BLANK))}"

    def lines(self, write: Callable[[Tree], str] = write_infix, forms: bool = False) -> list[str]:
        """The fillers as a table, with ``forms`` their other spellings below them, and what was tried."""
        texts = self._texts(write)
        width = max(map(len, texts), default=0)
        lines = [f"      {note}" for note in self._notes()]
        for place, (text, filler) in enumerate(zip(texts, self.fillers, strict=True), start=1):
            lines.append(f"{place:4}  {text:{width}}  {filler.remark}")
            lines += [f"      = {write(form)}" for form in filler.forms if forms]
        lines += [f"      ({remark})" for remark in self.remarks(write)]
        return [*lines, f"      ({self._effort()})"]

    def remarks(self, write: Callable[[Tree], str] = write_infix) -> list[str]:
        """Remarks after the fillers: on the imaginary unit, the period, and whether solutions are not shown."""
        found = [] if self.unit is None else [f"{self.unit} is the imaginary unit"]
        if self.fillers and self.period is not None:
            counter = unused_counter(variables(*self.equation))
            found.append(f"so is {self.unknown} + {_factor(self.period, write)}*{counter} for each whole {counter}")
        found += self.extraneous
        if self.left_out:
            found.append(
                f"{self.left_out} more solutions are farther from 0; --top {len(self.fillers) + self.left_out} shows "
                "all"
            )
        if self.found and self.more:
            found.append("there may be more solutions")
        if self._are_all():
            each = "the only real solution" if len(self.fillers) == 1 else "all real solutions"
            found.append(f"{' or '.join(self._texts(write))}: {each}")
        return found

    def _are_all(self) -> bool:
        """Whether the fillers are all real numbers that solve an equation of one letter."""
        if self.unknown is None or variables(*self.equation) or self.unit is not None or self.reason:
            return False
        missing = self.more or self.left_out or self.period is not None
        hold = [filler.verdict.grade in HOLDS and not variables(*filler.trees) for filler in self.fillers]
        return not missing and bool(hold) and all(hold)

    def _texts(self, write: Callable[[Tree], str]) -> list[str]:
        """The fillers, with the unknown or the blanks in front if they need a name."""
        names = self.unknown or ("" if len(self.blanks) < 2 else ", ".join(self.blanks))
        front = f"{', '.join(write(make_leaf(name)) for name in names.split(', '))} = " if names else ""
        return [front + ", ".join(map(write, filler.trees)) for filler in self.fillers]

    def _notes(self) -> list[str]:
        """Remarks before the fillers: on all of them, or that none was found."""
        if self.reason:
            return [self.reason]
        return [] if self.found else [f"nothing was found that holds{'; guesses:' if self.fillers else ''}"]

    def _repr_html_(self) -> str:
        """A table for notebooks, under 50 KB."""
        notes = self._notes()
        notes += self.remarks()
        rows = [
            AnswerRow(text, list(map(write_infix, filler.forms)), filler.verdict.short, filler.source)
            for text, filler in zip(self._texts(write_infix), self.fillers, strict=True)
        ]
        return html(self.understood(), self.unknown or ", ".join(self.blanks), rows, notes)

    def _repr_latex_(self) -> str:
        return latex([self.understood(write_latex_equation), *self._texts(write_latex)])

    def _effort(self) -> str:
        memory = f", {self.memory / 1e6:.0f} MB" if self.memory else ""
        clock = "; stopped by the time limit, so there may be better expressions" if self.stopped else ""
        return f"{self.tried:,} expressions tried in {in_seconds(self.seconds)} s{memory}{clock}"


def _factor(tree: Tree, write: Callable[[Tree], str]) -> str:
    """A period as a factor: ``2*pi``, ``(pi/2)``"""
    text = write(tree)
    return f"({text})" if "/" in text or "frac" in text else text


def describe_completion(found: Completion, notes: Sequence[str] = ()) -> dict[str, Any]:
    """The reading, the fillers, best first, with an expression for each blank, and the effort.

    ``notes`` are those of the question, as :class:`dgltree.equations.typed.Question` has them.
    """
    return {
        "understood": found.understood(write_equation),
        "understood_latex": found.understood(write_latex_equation),
        "blanks": list(found.blanks),
        "unknown": found.unknown,
        "imaginary_unit": found.unit,
        "notes": list(notes),
        "found": found.found,
        **({"reason": found.reason} if found.reason else {}),
        **({"period": _written(found.period)} if found.period is not None and found.fillers else {}),
        **({"more": True} if found.more and found.found else {}),
        **({"extraneous": list(found.extraneous)} if found.extraneous else {}),
        **({"left_out": found.left_out} if found.left_out else {}),
        "fillers": [_row(filler, found.blanks) for filler in found.fillers],
        "tried": found.tried,
        "seconds": round(found.seconds, 6),
        "stopped": found.stopped,
    }


def _row(filler: Filler, blanks: tuple[str, ...]) -> dict[str, Any]:
    scored = {} if filler.score is None else {"score": filler.score}
    return {
        "blanks": [{"name": name, **_written(tree)} for name, tree in zip(blanks, filler.trees, strict=True)],
        "forms": list(map(_written, filler.forms)),
        **filler.verdict.described,
        **scored,
        "source": filler.source,
    }


def _written(tree: Tree) -> dict[str, str]:
    return {"infix": write_infix(tree), "latex": write_latex(tree)}


class AnswerRow(NamedTuple):
    """An answer as texts."""

    text: str
    forms: Sequence[str]
    """Other spellings, folded away in HTML."""
    verdict: str
    source: str


def html(asked: str, name: str, rows: Sequence[AnswerRow], notes: Sequence[str]) -> str:
    """The question, a table of at most 30 answers under a name, and notes; long expressions are cut."""
    body = "".join(
        f"<tr><td>{place}</td><td><code>{_cut(row.text)}</code>{_forms(row.forms)}</td>"
        f"<td>{escape(row.verdict)}</td><td>{escape(row.source)}</td></tr>"
        for place, row in enumerate(rows[:MOST_ROWS], start=1)
    )
    head = f"<tr><th></th><th>{escape(name)}</th><th>verdict</th><th>source</th></tr>"
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    table = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>" if rows else ""
    return f"<div><p><code>{_cut(asked)}</code></p>{table}{below}</div>"


def latex(lines: Sequence[str]) -> str:
    """Lines of LaTeX below each other, as mathematics."""
    return "$\\displaystyle \\begin{gathered} " + " \\\\ ".join(lines[: MOST_ROWS + 1]) + " \\end{gathered}$"


def _forms(forms: Sequence[str]) -> str:
    if not forms:
        return ""
    items = "".join(f"<li><code>{_cut(form)}</code></li>" for form in forms)
    return f"<details><summary>other forms</summary><ul>{items}</ul></details>"


def _cut(text: str) -> str:
    return escape(text if len(text) <= MAX_HTML_LENGTH else f"{text[:MAX_HTML_LENGTH]} ...")
