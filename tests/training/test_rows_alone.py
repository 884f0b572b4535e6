"""An answer is that of its row: whatever stands beside it, in any order and whatever its size."""

import random
from collections.abc import Callable

import numpy as np
import pytest
import torch
from own_trees import QUIET

import dgltree
from dgltree import Tree, TreeDataset

pytest.importorskip("lightning", reason="the train extra is not installed")
pytestmark = QUIET

ENCODERS = (
    "tree_lstm", "child_sum", "tree_smu", "stack_tree_rnn", "grc", "lstm", "transformer", "tree_transformer",
    "neural_data_router", "ordered_memory", "on_lstm", "efficient_beam_tree", "crvnn", "gumbel_tree", "recurrent_grc",
)  # fmt: skip
FAST = ("child_sum", "ordered_memory", "neural_data_router")


def draw_tree(random_: random.Random, depth: int) -> Tree:
    """Lists of numbers and words, which the value of the first decides."""
    if depth == 0 or random_.random() < 0.2:
        return (
            Tree("word", token=random_.choice("abcdefg"))
            if random_.random() < 0.6
            else Tree("number", token=str(random_.randint(1, 10**6)))
        )
    return Tree(
        random_.choice(["max", "min", "sum"]), [draw_tree(random_, depth - 1) for _ in range(random_.randint(1, 4))]
    )


def neighbours(random_: random.Random) -> list[Tree]:
    """Trees that a batch should not notice: deep, wide, lone leaves, of unknown names and numbers."""
    chain = Tree("word", token="a")
    for _ in range(60):
        chain = Tree("min", [chain])
    wide = Tree("sum", [Tree("word", token=random_.choice("abc")) for _ in range(40)])
    strange = Tree("never", [Tree("word", token="unheard"), Tree("number", token="1e30")])
    return [chain, wide, strange, Tree("word", token="b"), Tree("number", token="-7")]


@pytest.fixture(scope="module")
def models() -> Callable[[str], dgltree.TrainedModel]:
    random_ = random.Random(1)
    trees = [draw_tree(random_, 3) for _ in range(90)]
    labels = [tree.function if tree.children else "leaf" for tree in trees]
    made: dict[str, dgltree.TrainedModel] = {}

    def model(encoder: str) -> dgltree.TrainedModel:
        if encoder not in made:
            data = TreeDataset(trees, labels)
            made[encoder] = dgltree.fit(data, encoder=encoder, hidden_size=12, epochs=1, baseline=False)
        return made[encoder]

    return model


@pytest.mark.parametrize(
    "encoder", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in ENCODERS]
)
def test_a_row_is_answered_as_alone(encoder: str, models: Callable[[str], dgltree.TrainedModel]) -> None:
    model = models(encoder)
    for seed in range(2):
        random_ = random.Random(seed)
        rows = [draw_tree(random_, random_.randint(0, 4)) for _ in range(12)]
        alone = torch.cat([model.predict_proba([row]) for row in rows])
        beside = [*rows, *neighbours(random_)]
        order = random_.sample(range(len(beside)), len(beside))
        together = model.predict_proba([beside[k] for k in order])
        back = together[torch.tensor(order).argsort()][: len(rows)]
        torch.testing.assert_close(back, alone, atol=2e-5, rtol=1e-4)
        assert torch.isfinite(together).all()


@pytest.mark.parametrize("encoder", ["child_sum", "neural_data_router"])
def test_vectors_and_explanations_are_those_of_the_row(
    encoder: str, models: Callable[[str], dgltree.TrainedModel]
) -> None:
    model, random_ = models(encoder), random.Random(5)
    rows = [draw_tree(random_, 2) for _ in range(5)]
    beside = [*neighbours(random_), *rows]
    np.testing.assert_allclose(model.encode(beside)[5:], np.stack([model.encode([row])[0] for row in rows]), atol=2e-5)
    for row, explained in zip(rows, model.explain(beside)[5:], strict=True):
        [single] = model.explain([row])
        assert single.prediction == explained.prediction
        effects, others = ([each.evidence for each in one.effects] for one in (single, explained))
        np.testing.assert_allclose(effects, others, atol=1e-4)
