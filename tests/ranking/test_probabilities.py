"""Probabilities are the model's, whatever the size of a block and the names of variables; a blank is refused."""

import pytest
import torch
from equation_models import VOCABULARY, make_model

from dgltree import batch, read_equation
from dgltree.ranking.ranker import probabilities


def test_probabilities_are_those_of_the_model_whatever_the_batch_size_and_the_names() -> None:
    model = make_model()
    texts = ["x + y = y + x", "sin(x) = 2", "x = x"]
    expected = model(
        batch(
            [read_equation(t.replace("x", "var_0").replace("y", "var_1")) for t in ["x + y = y + x", "2 = 2", "x = x"]],
            VOCABULARY,
        )
    ).sigmoid()
    for size in (1, 2, 1024):
        found = probabilities(model, [read_equation(text) for text in texts], batch_size=size)
        torch.testing.assert_close(found[[0, 2]], expected[[0, 2]])


def test_no_equations_give_no_probabilities() -> None:
    assert probabilities(make_model(), []).tolist() == []


def test_a_blank_is_refused() -> None:
    with pytest.raises(ValueError, match="equation 1 has a blank"):
        probabilities(make_model(), [read_equation("x + _ = x")])
