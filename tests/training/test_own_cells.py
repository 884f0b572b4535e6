"""Cells of one's own, out of files."""

import pickle
from pathlib import Path

import pytest

from dgltree import TreeDataset, Vocabulary, read_infix
from dgltree.cells import CELLS, TreeRNN
from dgltree.training.encoder_choice import choose_encoder
from dgltree.training.options import FitOptions
from dgltree.training.own_cells import modules, register

FILE = """\
from __future__ import annotations

from dataclasses import dataclass

from dgltree.cells import TreeRNN


@dataclass
class Options:
    width: int = 3


class {name}(TreeRNN):
    made = Options(width=5)
"""


pytestmark = pytest.mark.usefixtures("cells_as_before")


def test_a_file_of_cells_is_a_module_that_its_own_classes_find(tmp_path: Path) -> None:
    path = tmp_path / "cells_with_options.py"
    path.write_text(FILE.format(name="WithOptions"), encoding="utf-8")
    assert register(f"{path}:WithOptions") == "WithOptions"
    cell = CELLS["WithOptions"](Vocabulary([("f", 2)], ["x"]), 4)
    assert isinstance(cell, TreeRNN)
    assert pickle.loads(pickle.dumps(cell.made)) == type(cell.made)(width=5)
    assert [module.__file__ for module in modules() if module.__file__ == str(path)] == [str(path)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{file}", "expected FILE.py:CLASS, such as my_cells.py:TreeGRU"),
        ("{file}:Nothing", "there is no class 'Nothing' in this file"),
        ("{file}:Options", "is not a cell class; derive it from dgltree.cells.Cell or SumCell"),
        ("{file}:tree_lstm", "another cell is already called 'tree_lstm'; give the class another name"),
    ],
)
def test_what_is_no_cell_of_ones_own_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "cells.py"
    path.write_text(FILE.format(name="tree_lstm"), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        register(text.format(file=path))


class InHeads(TreeRNN):
    """Whose width is divided among heads."""

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, heads: int = 3, **options: object) -> None:
        if hidden_size % heads:
            raise ValueError(f"hidden_size is {hidden_size}; {heads} heads must divide it")
        super().__init__(vocabulary, hidden_size, **options)


@pytest.mark.parametrize(
    "options", [{"hidden_size": 6}, {"hidden_size": 8, "options": {"heads": 4}}, {"hidden_size": 8}]
)
def test_a_cell_is_only_made_at_widths_that_were_asked_for(options: dict) -> None:
    data = TreeDataset([read_infix("x + y"), read_infix("x*y")] * 10, ["a", "b"] * 10)
    settings = FitOptions(encoder=register(InHeads), **options)
    if options == {"hidden_size": 8}:
        with pytest.raises(ValueError, match="hidden_size is 8; 3 heads must divide it"):
            choose_encoder(data, settings)
    else:
        assert choose_encoder(data, settings).hidden_size == options["hidden_size"]
