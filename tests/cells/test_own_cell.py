"""The page on writing one's own cell: its cell works wherever ours do."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from engines import ENGINES, assert_close, gradients
from equation_models import VOCABULARY as EQUATIONS
from equation_models import candidates, questions, scores_in_filler_order, whole_scores
from helpers import VOCABULARY, random_tree

from dgltree import batch, propagate, rank
from dgltree.encoders import TreeEncoder
from dgltree.models import EquationModel, EquationReadout

PAGE = (Path(__file__).parents[2] / "docs" / "own_cell.md").read_text(encoding="utf-8")
CELL, USE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
OPTIONS = [{}, {"typed": False}, {"input_size": 3, "leaf": "gates"}]


@pytest.fixture(scope="module")
def tree_gru() -> Any:
    names: dict[str, Any] = {}
    exec(CELL, names)
    return names["TreeGRU"]


@pytest.mark.filterwarnings("ignore:The input graph for the user-defined edge function")
def test_the_page_runs_and_the_cell_is_short() -> None:
    pytest.importorskip("dgl", reason="DGL is not installed")
    assert len(CELL.splitlines()) < 40
    exec(CELL + USE, {})


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
