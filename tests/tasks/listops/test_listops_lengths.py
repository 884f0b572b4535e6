"""The picture of accuracy by words has the numbers of the page."""

import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="the plot extra is not installed")

from tasks.listops.lengths import PAGE, STEM, by_words, main


def test_the_picture_has_the_numbers_of_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    found = by_words(page)
    table = page.split("| by words, up to |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| `?([\w ,]+?)`? \| ([\d. |]+) \|$", table, re.MULTILINE)
    assert len(found) == len(rows) >= 6
    for name, numbers in rows:
        accuracies = [round(100 * mean, 1) for mean, _ in found[name].values()]
        assert accuracies == [float(number) for number in numbers.split(" | ")]
    assert list(found["grc"]) == [20, 40, 60, 80, 100, 200, 1000]
    monkeypatch.setattr("tasks.listops.lengths.STEM", f"{tmp_path}/lengths")
    main([])
    labels = re.findall(r"<!-- (.+) -->", (tmp_path / "lengths.svg").read_text())
    assert set(found) <= set(labels)
    assert labels == re.findall(r"<!-- (.+) -->", STEM.with_suffix(".svg").read_text())


def test_a_page_without_the_table_is_named() -> None:
    with pytest.raises(ValueError, match="no table that begins with"):
        by_words("| something else |\n| --- |\n")
