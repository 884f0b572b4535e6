"""Scales on which a baseline of numbers is fitted."""

import random
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dgltree import Tree, TreeDataset
from dgltree.models.label_scales import LabelScale, worth_trying

pytest.importorskip("sklearn", reason="the train extra is not installed")

from dgltree.training.baseline.baseline import occurrences
from dgltree.training.baseline.selection import choose
from dgltree.training.finishing import _scales
from dgltree.training.objectives import Numbers


def test_numbers_with_a_tail_are_fitted_on_the_scale_that_is_best_in_their_own_unit() -> None:
    """Products of two numbers: their logarithm is a sum of logarithms."""
    rng = random.Random(0)
    drawn = [(rng.lognormvariate(2, 1), rng.lognormvariate(2, 1)) for _ in range(300)]
    trees = [Tree("times", (Tree("atom", token=f"{p:.3f}"), Tree("atom", token=f"{q:.3f}"))) for p, q in drawn]
    data = TreeDataset(trees, [p * q for p, q in drawn]).with_numbers()
    train, test = data.select(range(200)), data.select(range(200, 300))
    labels = torch.tensor([p * q for p, q in drawn])
    assert worth_trying(labels[:200]) == ["none", "asinh", "rank", "log"]
    scales = [LabelScale.of(name, labels[:200]) for name in worth_trying(labels[:200])]
    found = {name: choose(train, Numbers(), of) for name, of in (("own", scales[:1]), ("best", scales))}
    assert found["best"].scale.name == "log" and found["best"].what.endswith(" on the scale log")
    assert found["own"].scale.name == "none" and "scale" not in found["own"].what
    r2 = {name: Numbers().score(baseline.answers(test), labels[200:]) for name, baseline in found.items()}
    assert r2["best"] > 0.7 and r2["best"] > r2["own"] + 0.05


def test_scales_are_tried_if_some_labels_are_far_from_all_others() -> None:
    even = torch.linspace(-1, 1, 101)
    assert worth_trying(even) == worth_trying(even[:1]) == ["none"]
    assert worth_trying(torch.cat([even, torch.tensor([50.0])])) == ["none", "asinh", "rank"]
    assert worth_trying(torch.cat([even + 2, torch.tensor([50.0])]))[-1] == "log"


@pytest.mark.parametrize("network", ["none", "asinh", "rank", "log"])
def test_a_baseline_may_have_the_labels_own_scale_whatever_the_networks(network: Any) -> None:
    labels = [*range(1, 100), 5000]
    train = TreeDataset([Tree("x")] * 100, labels)
    objective = Numbers().on(network, torch.tensor(labels))
    decision: Any = SimpleNamespace(objective=objective, splits={"train": train})
    names = [scale.name for scale in _scales(decision)]
    assert names[0] == network and sorted(names) == ["asinh", "log", "none", "rank"]


def test_numbers_of_one_argument_are_summed_apart_from_those_of_another() -> None:
    """Wherever their calls are."""

    def call(*numbers: float) -> Tree:
        return Tree("f", tuple(Tree("atom", token=str(number)) for number in numbers))

    data = TreeDataset([Tree("all", (call(1.5, 2.5), Tree("g", (call(3.5, 4.5),))))], [0.5]).with_numbers()
    _, codes, amounts = occurrences(data)
    sums: Counter[int] = Counter()
    for code, amount in zip(codes.tolist(), amounts.tolist(), strict=True):
        sums[code] += amount
    assert {1.5 + 3.5, 2.5 + 4.5, 1.5 + 2.5 + 3.5 + 4.5} <= set(sums.values())
