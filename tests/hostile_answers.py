"""Answers of pupils with pieces changed, which all have a mark (also of ``scripts/fuzz``)."""

import csv
from pathlib import Path
from typing import Any

from fuzzing import Target, mutated
from hypothesis import strategies as st

from dgltree.equations.marking.check import MarkingTask, mark_within
from dgltree.equations.marking.marks import Mark
from dgltree.read.json_text import write_json

with (Path(__file__).parent / "equations" / "platform_answers.tsv").open(encoding="utf-8") as opened:
    ROWS = list(csv.DictReader(opened, delimiter="\t", quoting=csv.QUOTE_NONE))


SECONDS = 10.0
"""That an answer may take: powers of powers take very long, and are out of time then."""


def settings(options: str) -> tuple[tuple[str, Any], ...]:
    """Those of a row of the table; units need pint."""
    pairs = (option.partition("=") for option in options.split(",") if option)
    return tuple((name, value or True) for name, _, value in pairs)


@st.composite
def changed_answer(draw: st.DrawFn) -> tuple[dict[str, str], str]:
    row = draw(st.sampled_from(ROWS))
    return row, draw(mutated(draw(st.sampled_from([row["answer"], draw(st.sampled_from(ROWS))["answer"]]))))


def marked(example: tuple[dict[str, str], str]) -> bool:
    """Whether the answer can be read in time; any exception is a defect, which ends the process that judges."""
    row, answer = example
    found = mark_within(MarkingTask(row["question"], answer, settings(row["options"])), SECONDS)
    assert write_json(found.record) and str(found)
    assert found.explanation.code != "ended"
    assert (found.mark is Mark.EMPTY) == (not answer.strip())
    return found.mark not in (Mark.UNREADABLE, Mark.OUT_OF_TIME)


def answer_targets() -> dict[str, Target]:
    return {"marks": Target(changed_answer(), marked)}
