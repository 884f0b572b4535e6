"""Decisions, digests and texts of many words are those of their equations."""

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="the train extra is not installed")

from dgltree.equations.truth.evaluator import Evaluator, Truth
from dgltree.read.infix_writer import write_equation
from dgltree.trees.equation import Equation
from tasks.equations.canonical import digest, word_digest
from tasks.equations.generator.chunk import ChunkGenerator
from tasks.equations.generator.places import Places
from tasks.equations.generator.presets import PAPER_TEST, PAPER_TRAIN
from tasks.equations.generator.values import WordValues
from tasks.equations.words import tree


@pytest.fixture(scope="module")
def considered() -> list[Places]:
    """Some thousand equations that chunks decided, correct, wrong and undecided ones."""
    with pytest.MonkeyPatch.context() as patch:
        equations: list[Places] = []
        truths = WordValues.truths
        patch.setattr(WordValues, "truths", lambda self, asked: equations.extend(asked) or truths(self, asked))
        ChunkGenerator(PAPER_TRAIN.scaled(1500).quotas(), "train", "decisions").run()
        ChunkGenerator(PAPER_TEST.scaled(500).quotas(), "test", "decisions").run()
    return equations


def test_many_decisions_at_once_are_those_of_the_evaluator(
    considered: list[Places], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.equations.generator.values.CACHED", 5000)  # so that some are forgotten on the way
    values, evaluator = WordValues(), Evaluator()
    found = []
    with np.errstate(all="ignore"):
        for start in range(0, len(considered), 100):
            found += values.truths(considered[start : start + 100])
    assert found == [evaluator.truth(Equation(*map(tree, equation.sides()))) for equation in considered]
    assert {*Truth} == {*found}
    assert len(found) > 3000


def test_digests_of_words_are_those_of_their_equations(considered: list[Places]) -> None:
    for equation in considered[::4]:
        assert word_digest(*equation.sides()) == digest(Equation(*map(tree, equation.sides())))


def test_texts_say_what_the_ids_say() -> None:
    made = ChunkGenerator(PAPER_TEST.scaled(300).quotas(), "test", "texts").run()
    assert [one.text for one in made] == [write_equation(one.equation) for one in made]
