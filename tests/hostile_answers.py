"""Answers of pupils with pieces changed, which all have a mark (also of ``scripts/fuzz``)."""

import csv
from functools import cache
from pathlib import Path
from typing import Any

from fuzzing import Target, mutated
from hypothesis import strategies as st

from dgltree.equations.checking.checker import Checker
from dgltree.equations.checking.marks import Mark
from dgltree.read.json_text import write_json

with (Path(__file__).parent / "equations" / "platform_answers.tsv").open(encoding="utf-8") as opened:
    ROWS = list(csv.DictReader(opened, delimiter="\t", quoting=csv.QUOTE_NONE))


@cache
def checker(question: str, options: str) -> Checker:
    """Of a row of the table; units need pint."""
    pairs: dict[str, Any] = {}
    for name, _, value in (option.partition("=") for option in options.split(",") if option):
        pairs[name] = value or True
    return Checker(question, **pairs)


@st.composite
def changed_answer(draw: st.DrawFn) -> tuple[dict[str, str], str]:
    row = draw(st.sampled_from(ROWS))
    return row, draw(mutated(draw(st.sampled_from([row["answer"], draw(st.sampled_from(ROWS))["answer"]]))))


def marked(example: tuple[dict[str, str], str]) -> bool:
    """Whether the answer can be read; any exception is a defect."""
    row, answer = example
    found = checker(row["question"], row["options"]).mark(answer)
    assert write_json(found.record) and str(found)
    assert (found.mark is Mark.EMPTY) == (not answer.strip())
    return found.mark is not Mark.UNREADABLE


def answer_targets() -> dict[str, Target]:
    return {"marks": Target(changed_answer(), marked)}
