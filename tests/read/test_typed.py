import re
from pathlib import Path

import pytest

from dgltree.read.infix import read_equation
from dgltree.read.infix_writer import write_equation
from dgltree.read.typed import read_typed

PAGE = Path(__file__).parents[2] / "docs" / "reading.md"


def rows():
    """The table of docs/reading.md: text, and what is read or (where the last is true) refused."""
    section = PAGE.read_text(encoding="utf-8").split("## What people type")[1].split("\n## ")[0]
    for line in section.splitlines():
        if match := re.fullmatch(r"\| `(.+)` \| (refused: )?`(.+)` \|", line):
            yield *(cell.replace("\\|", "|") for cell in (match[1], match[3])), match[2] is not None


ROWS = list(rows())


def test_no_row_of_the_table_is_passed_over():
    section = PAGE.read_text(encoding="utf-8").split("## What people type")[1].split("\n## ")[0]
    assert len(ROWS) == sum(line.startswith("|") for line in section.splitlines()) - 2
    assert len({text for text, _, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("text", "written"), [row[:2] for row in ROWS if not row[2]])
def test_the_table_is_what_is_read(text, written):
    found = read_typed(text).equation
    assert write_equation(found) == written
    assert read_equation(written) == found or "_" in written


@pytest.mark.parametrize(("text", "words"), [row[:2] for row in ROWS if row[2]])
def test_the_table_is_what_is_refused(text, words):
    with pytest.raises(ValueError, match=r"^line 1, column \d+: ") as error:
        read_typed(text)
    assert words in str(error.value)
