"""What the page's score of an equation is worth: the shares that docs/explore.md gives."""

import csv
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the explore extra is not installed")
from dgltree import open_model, read_equation
from dgltree.equations.typed import read_typed
from dgltree.explore.equation_room import _score

HOLDING = ("everywhere", "reals", "positive")


def test_high_and_low_scores_are_right_as_often_as_the_docs_say() -> None:
    model = open_model()
    with (Path(__file__).parents[1] / "equations" / "verdicts.tsv").open(encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened, delimiter="\t", quoting=csv.QUOTE_NONE))
    scored = [(_score(read_typed(row["equation"]).equation, model), row["where"] in HOLDING) for row in rows]
    known = [(score, holds) for score, holds in scored if score is not None]
    high = [holds for score, holds in known if score > 0.9]
    low = [holds for score, holds in known if score < 0.1]
    assert (len(rows), len(known), len(high), len(low)) == (483, 424, 249, 89)
    assert (round(100 * sum(high) / len(high)), round(100 * sum(low) / len(low))) == (69, 28)


def test_there_is_no_score_where_a_number_is_unknown_to_the_model() -> None:
    assert _score(read_equation("x + 1973 = 1973 + x"), open_model()) is None
    assert _score(read_equation("x + 1 = 1 + x"), open_model()) is not None
