"""A visitor who reads in order finds each answer of ``first_minute.tsv`` within a click and a minute.

A click takes three seconds, a heading that is passed one, a word of the section a quarter, and a line of code one.
``python tests/test_first_minute.py`` prints clicks and seconds.
"""

import csv
import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
MOST_CLICKS, MOST_SECONDS = 1, 60
CLICK, HEADING, LINE_OF_CODE, WORDS = 3, 1, 1, 4
with (ROOT / "tests" / "first_minute.tsv").open(encoding="utf-8") as file:
    QUESTIONS = list(csv.DictReader(file, delimiter="\t"))


class Way(NamedTuple):
    """What an answer takes."""

    clicks: int
    seconds: float


def read_until(page: Path, heading: str, answer: str) -> float:
    """Seconds from the top of a page to an answer, in the section with an anchor, or before the first section."""
    seconds, in_code, anchor = 0.0, False, ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            in_code = not in_code
        elif line.startswith("#") and not in_code:
            anchor = re.sub(r"[^\w -]", "", line.strip("# ").lower()).replace(" ", "-")
            seconds += HEADING
        is_read = anchor == heading or (not heading and not line.startswith("## "))
        if is_read and answer in line:
            return seconds + len(line.partition(answer)[0].split()) / WORDS
        if is_read:
            seconds += LINE_OF_CODE if in_code else len(line.split()) / WORDS
    raise AssertionError(f"{page}#{heading} does not say {answer!r}")


def way(pages: str, answer: str) -> Way:
    """Clicks and seconds from the README, or through it to a page that it links to, with the answer."""
    *before, last = pages.split()
    page, _, heading = last.partition("#")
    for start in before:
        assert f"]({page}" in (ROOT / start).read_text(encoding="utf-8"), f"{start} has no link to {page}"
    return Way(len(before), CLICK * len(before) + read_until(ROOT / page, heading, answer))


@pytest.mark.parametrize("row", QUESTIONS, ids=lambda row: row["question"])
def test_an_answer_takes_a_click_and_a_minute_at_most(row: dict[str, str]) -> None:
    found = way(row["pages"], row["what answers it"])
    assert found.clicks <= MOST_CLICKS
    assert found.seconds <= MOST_SECONDS


if __name__ == "__main__":
    for row in QUESTIONS:
        clicks, seconds = way(row["pages"], row["what answers it"])
        print(f"{row['question']}\t{clicks}\t{seconds:.0f}")
