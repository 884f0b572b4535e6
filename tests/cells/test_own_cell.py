"""The page on cells of your own: its cells, upward and downward, work wherever ours do."""

import re
from pathlib import Path
from typing import Any

import downward_engines
import pytest
import torch
from engines import ENGINES, assert_close, gradients
from equation_models import VOCABULARY as EQUATIONS
from equation_models import candidates, questions, scores_in_filler_order, whole_scores
from helpers import VOCABULARY, random_dag, random_tree

from dgltree import batch, plan, propagate, rank
from dgltree.cells import TreeLSTM
from dgltree.cells.downward import DownwardBanyanCell
from dgltree.encoders import TreeEncoder
from dgltree.models import EquationModel, EquationReadout

PAGE = (Path(__file__).parents[2] / "docs" / "own_cell.md").read_text(encoding="utf-8")
CELL, DOWNWARD = re.findall(r"```python\n([^`]*class \w+\((?:Downward)?Cell\).*?)```", PAGE, re.DOTALL)
OPTIONS = [{}, {"typed": False}, {"input_size": 3, "leaf": "gates"}]


@pytest.fixture(scope="module")
def tree_gru() -> Any:
    names: dict[str, Any] = {}
    exec(CELL, names)
    return names["TreeGRU"]


def test_the_cells_are_short() -> None:
    """The page itself is run by ``test_page_blocks.py``."""
    assert all(len(cell.splitlines()) < 40 for cell in (CELL, DOWNWARD))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("options", OPTIONS)
def test_all_engines_agree(tree_gru: Any, engine: str, options: dict[str, Any]) -> None:
    torch.manual_seed(0)
    cell = tree_gru(VOCABULARY, 5, **options).double()
    trees = batch([random_tree(8, 6, seed) for seed in range(4)], VOCABULARY)
    expected, found = ENGINES["runner"](cell, trees), ENGINES[engine](cell, trees)
    assert_close(found["h"], expected["h"], "h")
    wanted = gradients(cell, expected)
    for name, gradient in gradients(cell, found).items():
        assert_close(gradient, wanted[name], name)


@pytest.mark.parametrize("options", OPTIONS)
def test_it_passes_gradcheck(tree_gru: Any, options: dict[str, Any]) -> None:
    torch.manual_seed(0)
    cell = tree_gru(VOCABULARY, 3, **options).double()
    trees = batch([random_tree(3, 3, 8)], VOCABULARY)
    assert torch.autograd.gradcheck(lambda *_: propagate(trees, cell)["h"], list(cell.parameters()), fast_mode=True)


@pytest.mark.parametrize("options", OPTIONS)
def test_ranking_equals_filling(tree_gru: Any, options: dict[str, Any]) -> None:
    torch.manual_seed(0)
    model = EquationModel(TreeEncoder(tree_gru(EQUATIONS, 5, **options)), EquationReadout()).double()
    fillers = candidates(2)
    for equation, ranking in zip(questions(1), rank(model, questions(1), fillers), strict=True):
        expected = whole_scores(model, equation, fillers)
        torch.testing.assert_close(scores_in_filler_order(ranking), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("options", [{}, {"typed": False}, {"positions": True}, {"aggregation": "attention"}])
def test_all_engines_agree_on_the_downward_cell(options: dict[str, Any]) -> None:
    names: dict[str, Any] = {}
    exec(DOWNWARD, names)
    torch.manual_seed(0)
    up, down = TreeLSTM(VOCABULARY, 5).double(), names["DownwardGRU"](VOCABULARY, 5, **options).double()
    trees = batch([random_dag(8, 4, seed) for seed in (1, 2, 1)], VOCABULARY)
    expected = downward_engines.both("runner", up, down, trees)
    wanted = downward_engines.gradients(up, down, expected)
    for engine in ("levels", "levels shared"):
        found = downward_engines.both(engine, up, down, trees)
        downward_engines.compare(found, expected)
        downward_engines.compare(downward_engines.gradients(up, down, found), wanted, 1e-10)


def test_a_class_that_makes_no_weights_is_told_how(tree_gru: Any) -> None:
    class Unbuilt(TreeLSTM):
        def build(self) -> None:
            pass

    flat = batch([random_dag(8, 4, 1)], VOCABULARY)
    for run in (propagate, plan):
        with pytest.raises(ValueError, match=r"Unbuilt has no weights yet: its __init__ must end with self.build\(\)"):
            run(flat, Unbuilt(VOCABULARY, 5))
    own = Unbuilt(VOCABULARY, 5)
    own.further = torch.nn.Linear(2, 2)
    with pytest.raises(ValueError, match="Unbuilt has no weights yet"):
        propagate(flat, own)


@pytest.mark.parametrize("option", ["typed", "positions"])
def test_what_a_class_fixes_is_added_to_what_its_base_class_fixes(option: str) -> None:
    with pytest.raises(TypeError, match=f"DownwardBanyanCell has no option '{option}'"):
        DownwardBanyanCell(VOCABULARY, 4, **{option: True})
