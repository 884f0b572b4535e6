"""The picture of accuracy by words has the numbers of the table."""

import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="the plot extra is not installed")

from tasks.listops.lengths import STEM, TABLE, by_words, main


def test_the_picture_has_the_numbers_of_the_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = by_words()
    head, *rows = TABLE.read_text(encoding="utf-8").splitlines()
    assert len(found) == len(rows) >= 6
    for row in rows:
        name, *numbers = row.split("\t")
        assert [round(100 * mean, 1) for mean, _ in found[name].values()] == [float(number) for number in numbers]
    assert [*map(str, map(int, found["grc"]))] == head.split("\t")[1:]
    monkeypatch.setattr("tasks.listops.lengths.STEM", f"{tmp_path}/lengths")
    main([])
    labels = re.findall(r"<!-- (.+) -->", (tmp_path / "lengths.svg").read_text())
    assert set(found) <= set(labels)
    assert labels == re.findall(r"<!-- (.+) -->", STEM.with_suffix(".svg").read_text())
