"""How many epochs a training has, how its rate begins, and which F1 it prints."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

pytest.importorskip("lightning", reason="the train extra is not installed")

from own_trees import QUIET, built, table, written

import dgltree
from dgltree import TreeDataset
from dgltree.training import finishing
from dgltree.training.objectives.metrics import ClassCounts
from dgltree.training.options import MOST_EPOCHS, FitOptions
from dgltree.training.stepping import data
from dgltree.training.stepping.callbacks import ScheduledRate, UsualEpochs

pytestmark = QUIET


def ended_after(values: list[float], usual: int) -> tuple[list[bool], list[str]]:
    """After each epoch with these values whether the training ends; and what was said."""
    said: list[str] = []
    usual_epochs, ends = UsualEpochs("r2", usual, said.append), []
    trainer: Any = SimpleNamespace(should_stop=False)
    module: Any = None
    for epoch, value in enumerate(values):
        trainer.current_epoch, trainer.callback_metrics = epoch, {"r2": torch.tensor(value)}
        resumed = UsualEpochs("r2", usual, said.append)
        resumed.load_state_dict(usual_epochs.state_dict())  # a training that goes on knows as much
        resumed.on_validation_end(trainer, module)
        usual_epochs = resumed
        ends.append(trainer.should_stop)
    return ends, said


def test_a_training_goes_on_where_the_last_usual_epoch_is_the_best() -> None:
    said = ["epoch 2 is the best so far, so the training continues"]
    assert ended_after([0.1, 0.2, 0.3, 0.2, 0.1], 3) == ([False] * 5, said)
    assert ended_after([0.1, 0.3, 0.2], 3) == ([False, False, True], [])
    assert ended_after([0.1, 0.3, 0.3], 3) == ([False, False, True], []), "as good is no better"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([(0.1, 1.0), (0.2, 2.0)], ["the last epoch, 1, was the best, so more epochs may help; --epochs 4 continues"]),
        ([(0.2, 2.0), (0.2, 1.0)], ["the last epoch, 1, was the best, so more epochs may help; --epochs 4 continues"]),
        ([(0.2, 1.0), (0.2, 1.0)], []),
        ([(0.2, 1.0), (0.1, 0.5)], []),
    ],
)
def test_the_last_epoch_that_was_the_best_is_said(
    values: list[tuple[float, float]],
    said: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        finishing, "read_epochs", lambda _: [{"r2": value, "validation_loss": loss} for value, loss in values]
    )
    finishing._say_last("r2", tmp_path)
    assert capsys.readouterr().err.splitlines() == said


def test_a_number_of_epochs_that_is_given_is_the_most() -> None:
    assert FitOptions().most_epochs == MOST_EPOCHS
    assert FitOptions(epochs=4).most_epochs == 4


@pytest.mark.parametrize(("encoder", "found"), [("transformer", (1e-3, 100)), ("lstm", (4e-3, 0)), (None, (4e-3, 0))])
def test_transformers_have_a_rate_of_their_own_that_rises(encoder: str | None, found: tuple[float, int]) -> None:
    trees = [dgltree.read_infix(text) for text in ("x+y", "x*y")]
    found_for = built(TreeDataset(trees * 4, ["a", "b"] * 4), FitOptions(encoder=encoder, hidden_size=8))
    assert (found_for.options.lr, found_for.options.warmup) == found
    warmed = [each for each in found_for.module.configure_callbacks() if isinstance(each, ScheduledRate)]
    assert [(each.rate, each.warmup) for each in warmed] == ([found] if found[1] else [])
    told = built(TreeDataset(trees * 4, ["a", "b"] * 4), FitOptions(encoder=encoder, hidden_size=8, lr=0.5, warmup=7))
    assert (told.options.lr, told.options.warmup) == (0.5, 7)


@pytest.mark.parametrize("seed", range(3))
def test_macro_f1_is_that_of_scikit_learn(seed: int) -> None:
    from sklearn.metrics import f1_score

    generator = torch.Generator().manual_seed(seed)
    predicted, labels = torch.randint(9, (2, 12), generator=generator)  # some classes are only predicted
    metric = ClassCounts(10)
    metric.update(predicted[:5], labels[:5])
    metric.update(predicted[5:], labels[5:])
    assert float(metric.compute()) == pytest.approx(f1_score(labels.numpy(), predicted.numpy(), average="macro"))


def test_a_small_validation_set_is_planned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, planned = [], data.plan_examples
    monkeypatch.setattr(data, "plan_examples", lambda *given: calls.append(given[-1]) or planned(*given))
    trees = TreeDataset.from_file(written(tmp_path, "trees.tsv", table(60)))
    dgltree.fit(trees, out=tmp_path / "model", epochs=3, hidden_size=4, batch_nodes=100_000)
    assert len(calls) == 3 + 1, "a batch to train on in each epoch, and one to validate on"
