"""What no set may hold."""

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the train extra is not installed")

from dgltree.read.infix import read_equation
from tasks.equations.canonical import digest
from tasks.equations.fillers import fillers
from tasks.equations.generator.held_out import held_out, textbook_candidates
from tasks.equations.generator.held_out import published as published_equations


@pytest.mark.parametrize(
    "text",
    ["sin(x)^2 + cos(x)^2 = 1", "1 = sin(y)^2 + cos(y)^2", "cos(z) = cos(-z)", "x + 0 = x", "sin(x)^2 + x = 1"],
)
def test_textbook_equations_are_held_out_in_any_names_and_order(text: str) -> None:
    assert digest(read_equation(text)) in held_out()


def test_other_true_equations_are_not_held_out() -> None:
    assert digest(read_equation("cos(x)^2 = 1 - sin(x)^2")) not in held_out()


def test_every_candidate_of_the_textbook_lines_is_held_out() -> None:
    assert {digest(equation) for equation in textbook_candidates(fillers())} <= held_out()


@pytest.mark.slow
def test_the_file_of_digests_is_that_of_the_textbook_and_the_published_equations(published: Path) -> None:
    equations = published_equations(published / "equations" / "blanks")
    digests = {digest(equation) for equation in equations}
    assert digests <= held_out()
    assert len(held_out()) == len(digests | {digest(equation) for equation in textbook_candidates(fillers())})
