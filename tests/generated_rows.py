"""Passes of all cells by the machine code that is made of their ``combine``, also where there are kernels by hand.

    .venv/bin/python -m pytest -p generated_rows tests/engine tests/cells

A pytest plugin. Tests of what kernels by hand alone have are skipped: see ``generated_rows.tsv``.
"""

import csv
from pathlib import Path

import pytest

from dgltree.engine import propagate

EXCEPT = Path(__file__).with_suffix(".tsv")


def pytest_configure(config: pytest.Config) -> None:
    """No pass finds a kernel by hand."""
    propagate.fused_pass = lambda *given: None  # type: ignore[assignment]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what the table names, a file, a test or one case, each with its reason."""
    with EXCEPT.open(encoding="utf-8", newline="") as file:
        why = {row["test"]: row["why it needs a kernel by hand"] for row in csv.DictReader(file, delimiter="\t")}
    for item in items:
        for name in (item.nodeid, item.nodeid.partition("[")[0], item.nodeid.partition("::")[0]):
            if name in why:
                item.add_marker(pytest.mark.skip(reason=why[name]))
