"""Scores of forms: what they depend on, what they stand for, and the shipped scorer."""

import pytest
import torch

from dgltree.cells import CELLS
from dgltree.encoders import TreeEncoder
from dgltree.equations.expressions.written_form import symbols
from dgltree.equations.pretrained.shipped import FOLDER, FORMS, form_scorer, model_names, open_model
from dgltree.equations.ranking.form_scorer import MOST, FormScorer, form_vocabulary
from dgltree.models import PairModel, PairReadout
from dgltree.read.infix import read_equation, read_infix
from dgltree.trees.equation import Equation, blank
from dgltree.trees.tree import Tree

LEAVES = [("Symbol", 0), ("Integer", 0), ("NegativeOne", 0)]
FUNCTIONS = [*LEAVES, ("sin", 1), ("Add", 2), ("Mul", 2), ("Pow", 2)]
TOKENS = [*(f"var_{i}" for i in range(4)), "-1", "1", "2", "3"]


@pytest.fixture
def scorer() -> FormScorer:
    torch.manual_seed(0)
    cell = CELLS["tree_lstm"](form_vocabulary(FUNCTIONS, TOKENS), 8)
    return FormScorer(PairModel(TreeEncoder(cell), PairReadout(8, 1), ["form"]).double())


def test_a_vocabulary_of_forms_knows_the_equation_the_blank_and_what_is_unknown() -> None:
    further = form_vocabulary(FUNCTIONS, TOKENS).functions[len(FUNCTIONS) :]
    assert further == (("=", 2), ("_", 0), ("<unk>", 0), ("<unk>", 1), ("<unk>", 2))


def scores(scorer: FormScorer, equation: str, *fillers: str) -> list[float]:
    return scorer.scores(read_equation(equation), list(map(read_infix, fillers))).tolist()


def test_a_score_is_minus_the_length_and_at_most_so_much_more(scorer: FormScorer) -> None:
    fillers = ["x - 3", "-3 + x", "sin(x)*2", "x"]
    lengths = [symbols(read_infix(filler)) for filler in fillers]
    added = [score + length for score, length in zip(scores(scorer, "y + _ = x", *fillers), lengths, strict=True)]
    assert max(map(abs, added)) < MOST
    assert len(set(added)) == len(added)
    scorer.model.readout.layers[-1].weight.data *= 1e6
    added = [score + length for score, length in zip(scores(scorer, "y + _ = x", *fillers), lengths, strict=True)]
    assert max(map(abs, added)) == pytest.approx(MOST)


def test_forms_are_scored_one_by_one_and_equal_ones_alike(scorer: FormScorer) -> None:
    together = scores(scorer, "x + _ = 2", "2 - x", "-x + 2", "2 - x")
    assert together[0] == together[2] != together[1]
    assert together == pytest.approx(
        [*scores(scorer, "x + _ = 2", "2 - x"), *scores(scorer, "x + _ = 2", "-x + 2", "x")[:1], together[0]]
    )
    assert scorer.scores(read_equation("x + _ = 2"), []).tolist() == []


def test_names_count_by_their_order_in_the_alphabet_only(scorer: FormScorer) -> None:
    named = scores(scorer, "x + _ = y", "y - x")
    assert named == scores(scorer, "a + _ = b", "b - a") == scores(scorer, "var_2 + _ = var_3", "var_3 - var_2")
    assert named != scores(scorer, "y + _ = x", "x - y")


def test_the_equation_counts(scorer: FormScorer) -> None:
    assert scores(scorer, "x + _ = 2", "2 - x") != scores(scorer, "_ = 2 - x", "2 - x")


def test_nothing_is_refused_but_too_many_variables(scorer: FormScorer) -> None:
    [known, unknown, other] = scores(scorer, "x + _ = 2", "sin(x)", "sinh(x)", "tanh(x)")
    assert known != unknown == other, "functions that the model does not know are one to it"
    assert scores(scorer, "17 + _ = 2*x", "19*x") == scores(scorer, "18 + _ = 2*x", "23*x")
    assert len(scores(scorer, "log(x, 7) + _ = pi", "z", "Mul(x, x)", "0.25*e")) == 3
    named = Equation(blank("_1"), Tree("sin", (blank("_2"),)))
    assert scorer.scores(named, [read_infix("2")]).tolist() == scores(scorer, "_ = sin(_)", "2")
    with pytest.raises(ValueError, match=r"5 variables \(a, b, c, d, f\); this model knows 4 at once"):
        scores(scorer, "a + b + c + d + f = _", "a")


def test_scoring_leaves_the_model_in_its_mode(scorer: FormScorer) -> None:
    scorer.model.train()
    assert not scorer.scores(read_equation("x = _"), [read_infix("x")]).requires_grad
    assert scorer.model.training


def test_the_shipped_files_are_small_and_computed_in_float32() -> None:
    size = sum((FOLDER / name).stat().st_size for name in ("default.safetensors", FORMS))
    assert size <= 4_900_000
    assert model_names() == ["default"]
    assert {parameter.dtype for parameter in open_model().parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("equation", "textbook", "others"),
    [
        ("x^2 - 5*x + 6 = (x - 2)*_", "x - 3", ["-3 + x", "-(3 - x)", "x - 2 - 1", "x*1 - 3"]),
        ("(x + y)^2 = x^2 + _ + y^2", "2*x*y", ["x*(y + y)", "2*y*x", "x*y*2", "y*(x + x)", "(x + x)*y"]),
        ("1 + tan(x)^2 = _", "sec(x)^2", ["cos(x)^-2", "1/cos(x)^2", "sec(x)*sec(x)", "tan(x)^2 + 1"]),
        ("sin(2*x) = 2*sin(x)*_", "cos(x)", ["cos(-x)", "1/sec(x)", "sin(x)/tan(x)"]),
        ("cosh(x)^2 - _ = 1", "sinh(x)^2", ["cosh(x)^2 - 1", "-1 + cosh(x)^2", "sinh(x)*sinh(x)"]),
        ("log(x*y) = _", "log(x) + log(y)", ["log(y) + log(x)", "log(y*x)", "2*log(x*y)/2"]),
    ],
)
def test_the_shipped_scorer_puts_the_form_of_textbooks_first(equation: str, textbook: str, others: list[str]) -> None:
    found = scores(form_scorer(), equation, textbook, *others)
    assert found[0] == max(found)
