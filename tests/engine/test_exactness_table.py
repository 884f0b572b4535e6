"""The table of exactness.md next to this file: whole, under its limits, and made by a command that runs."""

import runpy
import sys
from pathlib import Path

import downward_engines
import pytest
from engines import TABLE, engines_of
from rows import DOWNWARD, ROWS

ROOT = Path(__file__).parents[2]
FULL = Path(__file__).with_name("exactness.md")


def table(text: str) -> dict[str, dict[str, float]]:
    """Row name to "engine, dtype" to difference; those that are empty are left out."""
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    (_, *heads), _, *rows = lines
    return {name: {head: float(cell) for head, cell in zip(heads, cells, strict=True) if cell} for name, *cells in rows}


def assert_exact(rows: dict[str, dict[str, float]]) -> None:
    for name, differences in rows.items():
        of_row = engines_of(name, TABLE) if name in ROWS else downward_engines.engines_of(name)
        assert list(differences) == [f"{of}, {kind}" for kind in ("f64", "f32") for of in of_row], name
        for head, value in differences.items():
            assert value < (1e-10 if head.endswith("f64") else 1e-5), (name, head)


def test_the_documented_table_has_every_row_under_the_limits() -> None:
    rows = table(FULL.read_text(encoding="utf-8"))
    assert list(rows) == [*ROWS, *DOWNWARD]
    assert_exact(rows)


def test_the_summary_has_the_largest_differences_of_the_table() -> None:
    summary = (ROOT / "docs" / "exactness.md").read_text(encoding="utf-8")
    largest: dict[str, dict[str, float]] = {}
    for name, differences in table(FULL.read_text(encoding="utf-8")).items():
        cell = largest.setdefault(f"`{name.partition(',')[0]}`", {})
        for head, value in differences.items():
            kind = f"float{head[-2:]}"
            cell[kind] = max(value, cell.get(kind, 0))
    assert table(summary) == largest


@pytest.mark.slow
def test_the_command_makes_rows(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    script = str(ROOT / "scripts" / "exactness")
    monkeypatch.setattr(sys, "argv", [script, "--trees", "4", "--rows", "child_sum, any"])
    monkeypatch.setattr(sys, "path", [*sys.path])
    runpy.run_path(script, run_name="__main__")
    rows = table(capsys.readouterr().out)
    assert list(rows) == [name for name in ROWS if name.startswith("child_sum, any")]
    assert_exact(rows)
