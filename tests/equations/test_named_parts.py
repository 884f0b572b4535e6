"""Parts of the real line, as verdicts name them and as they were written down before the judge."""

import csv
import re
from pathlib import Path

import pytest

from benchmarks.verdicts.mpmath_values import value
from dgltree import read_infix
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.verdict import Domain, Verdict
from dgltree.equations.typed import read_typed

with (Path(__file__).parent / "verdicts.tsv").open(encoding="utf-8") as opened:
    ROWS = list(csv.DictReader(opened, delimiter="\t", quoting=csv.QUOTE_NONE))
EXACT = [row for row in ROWS if row["where"][0] in "([{" and row["kind"] != "numeric part"]
NUMERIC = [row for row in ROWS if row["where"][0] in "([{" and row["kind"] == "numeric part"]
INFINITE = float("inf")
Piece = tuple[float, float, bool, bool]
"""The ends, and whether they are part of it."""


def number(text: str) -> float:
    if text.endswith("inf"):
        return float(text)
    return float(value(read_infix(re.sub(r"([0-9])pi", r"\1*pi", text)), {}, True).real)


def labelled(where: str) -> list[Piece]:
    """The pieces of ``(-inf,-1]u{0}u[2,inf)``, from left to right."""
    pieces: list[Piece] = []
    for text in where.split("u"):
        if text[0] == "{":
            pieces += [(x, x, True, True) for x in map(number, filter(None, text[1:-1].split(",")))]
        else:
            low, high = map(number, text[1:-1].split(","))
            pieces.append((low, high, text[0] == "[", text[-1] == "]"))
    return sorted(pieces)


def named(verdict: Verdict) -> list[Piece]:
    if verdict.domain is Domain.POSITIVE and not verdict.part:
        return [(0, INFINITE, False, False)]
    low, high = verdict.window or (-INFINITE, INFINITE)
    return [
        (piece.low.value if piece.low else low, piece.high.value if piece.high else high, piece.low_in, piece.high_in)
        for piece in verdict.part
    ]


def near(one: list[Piece], other: list[Piece], error: float) -> bool:
    """Whether the ends of all pieces are the same up to an error."""
    ends = [[end for piece in pieces for end in piece[:2]] for pieces in (one, other)]
    return len(one) == len(other) and all(a == b or abs(a - b) <= error for a, b in zip(*ends, strict=True))


def judged(text: str) -> Verdict:
    return Judge().verdict(read_typed(text).equation)


@pytest.mark.slow
def test_parts_with_exact_ends_are_those_that_were_written_down() -> None:
    other = []
    for row in EXACT:
        found, label = named(judged(row["equation"])), labelled(row["where"])
        if not near(found, label, 1e-12) or [piece[2:] for piece in found] != [piece[2:] for piece in label]:
            other.append(row["equation"])
    assert other == [  # everywhere, as principal values
        "sqrt((x - 1)/(x + 1)) = sqrt(x - 1)/sqrt(x + 1)",
        "sqrt(x/(x + 1)) = sqrt(x)/sqrt(x + 1)",
    ]
    assert len(EXACT) == 147


@pytest.mark.slow
def test_parts_between_numeric_ends_are_those_that_were_written_down() -> None:
    other = []
    for row in NUMERIC:
        verdict = judged(row["equation"])
        low, high = verdict.window or (-INFINITE, INFINITE)
        label = [(max(a, low), min(b, high), *closed) for a, b, *closed in labelled(row["where"])]
        label = [piece for piece in label if piece[0] < piece[1] or verdict.window is None]  # in the window
        if not near(named(verdict), label, 1e-6):
            other.append(row["equation"])
    assert other == []
    assert len(NUMERIC) == 19
