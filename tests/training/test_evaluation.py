"""Metrics of examples that come some at a time."""

import pytest
import torch

pytest.importorskip("torchmetrics", reason="the train extra is not installed")

from dgltree.datasets.batches import UNSEEN
from dgltree.training.objectives.metrics import ClassMetrics, NumberMetrics, of_classes, of_numbers


def test_classes_in_blocks_have_the_metrics_of_all_at_once() -> None:
    random = torch.Generator().manual_seed(0)
    predicted, labels = torch.randint(3, (2, 50), generator=random)
    labels[7] = UNSEEN
    metrics = ClassMetrics(("a", "b", "c"))
    for some in torch.arange(50).split(16):
        metrics.update(predicted[some], labels[some])
    found, wanted = metrics.found(), of_classes(predicted, labels, ("a", "b", "c"))
    assert (found.examples, found.names, found.metrics) == (50, ("a", "b", "c", "(other)"), wanted.metrics)
    assert found.confusion is not None
    assert wanted.confusion is not None
    assert found.confusion.tolist() == wanted.confusion.tolist()
    assert found.metrics["accuracy"] == pytest.approx(float((predicted == labels).float().mean()))


def test_numbers_in_blocks_have_the_metrics_of_all_at_once_far_from_zero() -> None:
    labels = 1e4 + torch.randn(1000, generator=torch.Generator().manual_seed(0))
    answers = labels + 0.5
    metrics = NumberMetrics()
    for some in torch.arange(1000).split(16):
        metrics.update(answers[some], labels[some])
    found = metrics.found()
    assert found.metrics == pytest.approx(of_numbers(answers, labels).metrics)
    assert found.metrics["rmse"] == pytest.approx(0.5, rel=1e-3)
    variance = float(labels.double().var(correction=0))
    assert found.metrics["r2"] == pytest.approx(1 - 0.25 / variance, rel=1e-3)
