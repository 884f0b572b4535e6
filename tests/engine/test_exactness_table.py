"""The table of docs/exactness.md: whole, under its limits, and made by a command that runs."""

import subprocess
import sys
from pathlib import Path

from engines import ENGINES
from rows import ROWS

ROOT = Path(__file__).parents[2]


def table(text: str) -> dict[str, list[float]]:
    """Row name to differences, float64 first, then float32."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {name: [float(cell) for cell in cells] for name, *cells in lines[2:]}


def assert_exact(rows: dict[str, list[float]]) -> None:
    for name, differences in rows.items():
        assert len(differences) == 2 * len(ENGINES), name
        assert max(differences[: len(ENGINES)]) < 1e-10, name
        assert max(differences[len(ENGINES) :]) < 1e-5, name


def test_the_documented_table_has_every_row_under_the_limits() -> None:
    rows = table((ROOT / "docs" / "exactness.md").read_text(encoding="utf-8"))
    assert list(rows) == list(ROWS)
    assert_exact(rows)


def test_the_command_makes_rows() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "exactness"), "--trees", "4", "--rows", "child_sum, any"]
    done = subprocess.run(command, check=True, timeout=300, capture_output=True, text=True)
    rows = table(done.stdout)
    assert list(rows) == [name for name in ROWS if name.startswith("child_sum, any")]
    assert_exact(rows)
