"""Kinds of what is predicted: losses and their weights, calibration and labels, each computed in another way."""

import random
from collections import Counter

import pytest
import torch

from dgltree import Tree, TreeDataset
from dgltree.batching.vocabulary import NO_LABEL

pytest.importorskip("torchmetrics", reason="the train extra is not installed")
from dgltree.training.objectives.classes import Classes
from dgltree.training.objectives.metrics import BINS, Evaluation
from dgltree.training.objectives.numbers import Numbers

NAMES = ("a", "b", "c")
X = Tree("Symbol", token="x")


def drawn(seed: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits, and classes, of which every third is no label; the first class has none of its own."""
    generator = torch.Generator().manual_seed(seed)
    targets = torch.randint(1, 3, (count,), generator=generator)
    targets[::3] = NO_LABEL
    return torch.randn(count, 3, generator=generator, dtype=torch.float64), targets


@pytest.mark.parametrize("weights", [None, [5.0, 1.0, 0.25]])
def test_what_has_no_label_neither_counts_nor_weighs(weights: list[float] | None) -> None:
    """The weight of a loss is that of its labels, so that losses of parts add up to that of the whole."""
    objective = Classes(NAMES, None if weights is None else torch.tensor(weights, dtype=torch.float64))
    found, targets = drawn(0, 31)
    mean, weight = objective.loss(found, targets)
    of = weights or [1.0] * 3
    known = [i for i, target in enumerate(targets.tolist()) if target != NO_LABEL]
    losses = {i: -float(found[i].log_softmax(0)[targets[i]]) * of[targets[i]] for i in known}
    expected = sum(of[targets[i]] for i in known)
    assert float(weight) == pytest.approx(expected)
    assert float(mean) == pytest.approx(sum(losses.values()) / expected)
    parts = [objective.loss(found[rows], targets[rows]) for rows in (slice(0, 7), slice(7, 19), slice(19, 31))]
    together = sum(float(m) * float(w) for m, w in parts) / sum(float(w) for _, w in parts)
    assert together == pytest.approx(float(mean))


@pytest.mark.parametrize("nodes", [False, True])
def test_a_class_weighs_inversely_to_its_examples(nodes: bool) -> None:
    """One on the mean of all labels."""
    labels = ["0"] * 6 + ["1"] * 2 + ["2"]
    trees = [Tree("word", token="w", label=int(label)) for label in labels]
    if nodes:  # one more label of each at a node below
        trees = [Tree("phrase", (tree, Tree("word", token="v", label=0)), label=tree.label) for tree in trees]
    objective = Classes.of(TreeDataset(trees, labels), nodes, class_weights=True)
    counts = [6 + 6 + 9, 2 + 2, 1 + 1] if nodes else [6, 2, 1]
    assert objective.weights is not None and objective.classes == ("0", "1", "2")
    assert objective.weights.tolist() == pytest.approx([sum(counts) / (3 * count) for count in counts])


@pytest.mark.parametrize("seed", range(5))
def test_the_calibration_error_is_added_up_bin_by_bin(seed: int) -> None:
    """Some bins are too sure and others not sure enough: their errors add up, and never cancel out."""
    rng = random.Random(seed)
    rows, labels = [], []
    for _ in range(200):
        sure = rng.uniform(0.34, 1)
        rows.append([sure, (1 - sure) / 2, (1 - sure) / 2])
        labels.append(0 if rng.random() < (0.95 if sure < 0.7 else 0.6) else 1)
    bins: dict[int, list[tuple[float, bool]]] = {}
    for (sure, *_), label in zip(rows, labels, strict=True):
        bins.setdefault(min(int(sure * BINS), BINS - 1), []).append((sure, label == 0))
    off = [abs(sum(sure for sure, _ in each) - sum(right for _, right in each)) for each in bins.values()]
    found = Classes(NAMES).evaluation(torch.tensor(rows, dtype=torch.float64), torch.tensor(labels))
    assert found.metrics["calibration_error"] == pytest.approx(sum(off) / 200, abs=1e-9)
    signs = {sum(sure for sure, _ in each) > sum(right for _, right in each) for each in bins.values()}
    assert signs == {True, False}


def test_a_label_of_another_kind_is_a_bad_record() -> None:
    labels = ["1", "two", None, "-2.5", "1e308", "1e999", "0"]
    kept = {Classes: [0, 1, 3, 4, 5, 6], Numbers: [0, 3, 6]}
    for kind, rows in kept.items():
        data = TreeDataset([X] * len(labels), labels)
        found = kind.labelled(data)
        assert found.labels == [labels[row] for row in rows]
        assert [bad.line for bad in found.bad] == [row + 1 for row in range(len(labels)) if row not in rows]
        assert kind(*([("1", "two")] if kind is Classes else [])).targets(found.labels).shape == (len(rows),)
    with pytest.raises(
        ValueError, match="no example can be used: line 1: the label 'two' is not a number that float32"
    ):
        Numbers.labelled(TreeDataset([X], ["two"]))


def test_of_many_classes_the_most_frequent_mistakes_are_printed() -> None:
    few, many = (tuple(f"c{k}" for k in range(count)) for count in (20, 21))
    pairs = [(3, 4)] * 5 + [(4, 3)] * 2 + [(k, k + 1) for k in range(6, 18)] + [(k, k) for k in range(20)] * 3
    labels, predicted = (torch.tensor(side) for side in zip(*pairs, strict=True))
    printed = {}
    for classes in (few, many):
        confusion = torch.zeros(len(classes), len(classes), dtype=torch.int64)
        confusion.index_put_((labels, predicted), torch.ones_like(labels), accumulate=True)
        printed[classes] = Evaluation(len(pairs), {}, confusion, classes).shown_confusions().splitlines()
    assert len(printed[few]) == 21 and printed[few][0].startswith("label (rows), prediction (columns)\tc0\t")
    head, *rows = printed[many]
    assert head == "the 10 most frequent of 14 different mistakes: label, prediction, number of examples"
    counted = Counter((a, b) for a, b in pairs if a != b)
    expected = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:10]
    assert rows == [f"c{a}\tc{b}\t{count}" for (a, b), count in expected]
