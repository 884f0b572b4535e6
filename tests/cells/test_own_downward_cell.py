"""The page on writing one's own downward cell: its cell runs, is short, and is the same on every engine."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from downward_engines import both, compare, gradients
from helpers import VOCABULARY, random_dag

from dgltree import batch
from dgltree.cells import TreeLSTM
from dgltree.cells.downward import DownwardBanyanCell

PAGE = (Path(__file__).parents[2] / "docs" / "own_downward_cell.md").read_text(encoding="utf-8")
CELL, USE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.filterwarnings("ignore:The input graph for the user-defined edge function")
def test_the_page_runs_and_the_cell_is_short() -> None:
    pytest.importorskip("dgl", reason="DGL is not installed")
    assert len(CELL.splitlines()) < 40
    exec(CELL + USE, {})


@pytest.mark.parametrize("options", [{}, {"typed": False}, {"positions": True}, {"aggregation": "attention"}])
def test_all_engines_agree(options: dict[str, Any]) -> None:
    names: dict[str, Any] = {}
    exec(CELL, names)
    torch.manual_seed(0)
    up, down = TreeLSTM(VOCABULARY, 5).double(), names["DownwardGRU"](VOCABULARY, 5, **options).double()
    trees = batch([random_dag(8, 4, seed) for seed in (1, 2, 1)], VOCABULARY)
    expected = both("runner", up, down, trees)
    wanted = gradients(up, down, expected)
    for engine in ("levels", "levels shared"):
        found = both(engine, up, down, trees)
        compare(found, expected)
        compare(gradients(up, down, found), wanted, 1e-10)


@pytest.mark.parametrize("option", ["typed", "positions"])
def test_what_a_class_fixes_is_added_to_what_its_base_class_fixes(option: str) -> None:
    with pytest.raises(TypeError, match=f"DownwardBanyanCell has no option '{option}'"):
        DownwardBanyanCell(VOCABULARY, 4, **{option: True})
