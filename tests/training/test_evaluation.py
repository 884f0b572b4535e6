"""Metrics, their calibration and their intervals."""

import pytest
import torch

pytest.importorskip("torchmetrics", reason="the train extra is not installed")

from dgltree.datasets.batches import UNSEEN
from dgltree.training.comparison import Compared, interval
from dgltree.training.objectives import Classes, Numbers
from dgltree.training.objectives.metrics import ClassMetrics, NumberMetrics


def test_classes_in_blocks_have_the_metrics_of_all_at_once() -> None:
    random = torch.Generator().manual_seed(0)
    labels, answers = torch.randint(3, (50,), generator=random), torch.rand(50, 3, generator=random).softmax(1)
    labels[7], predicted = UNSEEN, answers.argmax(1)
    metrics, whole = ClassMetrics(("a", "b", "c")), ClassMetrics(("a", "b", "c"))
    whole.update(answers, labels)
    for some in torch.arange(50).split(16):
        metrics.update(answers[some], labels[some])
    found, wanted = metrics.found(), whole.found()
    assert (found.examples, found.names, found.metrics) == (
        50,
        ("a", "b", "c", "(other)"),
        pytest.approx(wanted.metrics),
    )
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
    assert found.metrics == pytest.approx(Numbers().evaluation(answers, labels).metrics)
    assert found.metrics["rmse"] == pytest.approx(0.5, rel=1e-3)
    variance = float(labels.double().var(correction=0))
    assert found.metrics["r2"] == pytest.approx(1 - 0.25 / variance, rel=1e-3)


def calibration_error(probabilities: torch.Tensor, labels: torch.Tensor) -> float:
    return Classes(tuple("abc")).evaluation(probabilities, labels).metrics["calibration_error"]


def drawn(count: int, temperature: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Labels of three classes by some probabilities, and these with logits that were divided by a number."""
    random = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(count, 3, generator=random)
    labels = torch.multinomial(logits.softmax(1), 1, generator=random)[:, 0]
    return (logits / temperature).softmax(1), labels


def test_a_temperature_is_found_again_and_leaves_a_small_calibration_error() -> None:
    objective = Classes(tuple("abc"))
    for wrong in (0.3, 2.0):
        probabilities, labels = drawn(5000, wrong)
        found = objective.temperature(probabilities, labels)
        assert found == pytest.approx(1 / wrong, rel=0.05)
        scaled = (probabilities.double().log() / found).softmax(1)
        assert calibration_error(scaled, labels) < 0.02 < calibration_error(probabilities, labels)
        assert (scaled.argmax(1) == probabilities.argmax(1)).all()
    assert objective.temperature(probabilities[:0], labels[:0]) == 1
    assert Numbers().temperature(torch.zeros(3), torch.ones(3)) == 1


def test_the_calibration_error_is_that_of_its_equation() -> None:
    probabilities = torch.tensor([[0.9, 0.1, 0.0], [0.92, 0.08, 0.0], [0.45, 0.55, 0.0], [0.3, 0.7, 0.0]])
    labels = torch.tensor([0, 1, 1, UNSEEN])
    assert calibration_error(probabilities, labels) == pytest.approx((2 * abs(0.91 - 0.5) + 0.45 + 0.7) / 4)


def test_an_interval_is_that_of_the_normal_distribution_where_examples_are_many() -> None:
    right = (torch.rand(2000, generator=torch.Generator().manual_seed(0)) < 0.8).double()
    low, high = interval(lambda rows: float(right[rows].mean()), 2000)
    mean, error = float(right.mean()), float(right.std() / 2000**0.5)
    assert (low, high) == pytest.approx((mean - 1.96 * error, mean + 1.96 * error), abs=error / 5)


def test_a_difference_is_that_of_the_same_examples() -> None:
    labels = torch.arange(40) % 2
    right, noisy = (
        torch.nn.functional.one_hot(given, 2).float() for given in (labels, labels ^ (torch.arange(40) < 10))
    )
    answers = {"network": {"test": right}, "baseline": {"test": noisy}, "average": {"test": right}}
    found = Compared.of(Classes(("a", "b")), answers, {"test": labels})
    low, high = found.intervals["baseline"]["test"]
    assert found.differences["test"] == pytest.approx((1 - high, 1 - low))
    assert found.intervals["network"]["test"] == (1, 1)
