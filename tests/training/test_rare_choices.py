"""The choices of validation if a class is rare or epochs are equal, and the warnings that a training leaves."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import dgltree
from benchmarks.sets.rare_events import auc, data_of, draw_events
from dgltree import Tree, TreeDataset
from dgltree.training.objectives import Classes
from dgltree.training.stepping.callbacks import BEST, Patience, check_checkpoint, checkpoints

QUICK: dict[str, Any] = {"hidden_size": 16, "epochs": 8, "baseline": False}


def labelled(counts: list[int]) -> TreeDataset:
    labels = [str(k) for k, count in enumerate(counts) for _ in range(count)]
    return TreeDataset([Tree("f", (Tree("x", token=f"t{i}"),)) for i in range(len(labels))], labels)


@pytest.mark.parametrize("seed", range(8))
def test_balanced_accuracy_is_monitored_if_a_class_has_less_than_half_of_an_even_share(seed: int) -> None:
    random = np.random.default_rng(seed)
    counts = random.integers(1, 40, random.integers(2, 6)).tolist()
    rare = min(counts) * 2 * len(counts) < sum(counts)
    objective = Classes.of(labelled(counts), nodes=False, class_weights=False)
    assert objective.monitored == ("balanced_accuracy" if rare else "accuracy")
    assert objective.with_threshold(None).monitored == objective.monitored
    kept = Classes.with_classes(objective.classes).with_counts(json.loads(json.dumps(objective.counts_to_json())))
    assert (kept.monitored, kept.largest) == (objective.monitored, objective.largest)


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.2])
def test_of_the_epochs_with_the_best_metric_that_with_the_lowest_loss_is_kept(tmp_path: Path, share: float) -> None:
    dgltree.fit(data_of(*draw_events(250, share, 0)), out=tmp_path, **QUICK)
    epochs = [json.loads(line) for line in (tmp_path / "epochs.jsonl").read_text().splitlines()]
    best = max(epochs, key=lambda row: (row["balanced_accuracy"], -row["validation_loss"]))
    assert check_checkpoint(tmp_path / BEST)["epoch"] == best["epoch"]
    assert best["epoch"] > 0


@pytest.mark.slow
def test_few_positive_events_are_ranked_by_a_trained_network() -> None:
    """With the first of equal epochs the area was 0.485."""
    model = dgltree.fit(data_of(*draw_events(500, 0.1, 0)), baseline=False)
    assert auc(model, 0, 0.1) > 0.7


def trainer_at(metric: float, loss: float) -> Any:
    return SimpleNamespace(
        callback_metrics={"accuracy": torch.tensor(metric), "validation_loss": torch.tensor(loss)},
        strategy=SimpleNamespace(reduce_boolean_decision=lambda stop, all=True: stop),
        state=SimpleNamespace(fn="fit"),
        should_stop=False,
        sanity_checking=False,
        fast_dev_run=False,
        current_epoch=0,
    )


def test_an_equal_metric_with_a_lower_loss_is_better_also_after_a_checkpoint() -> None:
    best, waits = checkpoints("accuracy", Path())[0], Patience("accuracy", 3)
    waits._check_on_train_epoch_end = True
    kept, waited = [], []
    for metric, loss in ((0.5, 1.0), (0.5, 0.9), (0.5, 0.9), (0.5, 0.95), (0.6, 2.0), (0.5, 0.1), (0.6, 1.5)):
        best.load_state_dict(best.state_dict())
        waits.load_state_dict(waits.state_dict())
        trainer = trainer_at(metric, loss)
        kept.append(bool(best.check_monitor_top_k(trainer, torch.tensor(metric))))
        if kept[-1]:
            best.best_k_models, best.kth_best_model_path = {"best.ckpt": torch.tensor(metric)}, "best.ckpt"
            best.best_model_score = torch.tensor(metric)
        waits.on_train_epoch_end(trainer, None)  # type: ignore[arg-type]
        waited.append(waits.wait_count)
    assert kept == [True, True, False, False, True, False, True]
    assert waited == [0, 0, 1, 2, 0, 1, 0]


def card_of(folder: Path) -> tuple[list[str], str]:
    return json.loads((folder / "card.json").read_text())["warnings"], (folder / "card.md").read_text()


def test_a_class_that_is_never_predicted_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = data_of(*draw_events(200, 0.05, 1))
    dgltree.fit(data, validation=data, test=data, out=tmp_path / "plain", **{**QUICK, "epochs": 1})
    line = (
        "1 class is never predicted in validation (fraud): --class-weights balanced gives all classes the same weight"
    )
    assert line in capsys.readouterr().err
    warnings, text = card_of(tmp_path / "plain")
    assert any("--threshold 'fraud=f1'" in warning for warning in warnings)
    assert "- Warning: 1 class is never predicted" in text
    dgltree.fit(
        data, validation=data, test=data, out=tmp_path / "threshold", threshold="fraud=f1", **{**QUICK, "epochs": 1}
    )
    assert "never predicted" not in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["a rule", "a column", "files"])
def test_a_held_out_set_of_one_class_is_a_warning(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Many examples with few different trees: equal trees stay in one split."""
    words = ["news", "shop", "blog"]
    trees = [Tree("page", tuple(Tree("w", token=f"{words[i % 3]}{k}") for k in range(1 + i % 4))) for i in range(360)]
    labels, further = [words[i % 3] for i in range(360)], {}
    data = TreeDataset(trees, labels)
    if kind == "a column":
        shop = [i for i in range(360) if labels[i] == "shop"]
        parts = dict.fromkeys(shop[:20], "dev") | dict.fromkeys(shop[20:40], "test")
        data.splits = [parts.get(i, "train") for i in range(360)]
    elif kind == "files":
        held = data.select([i for i in range(360) if labels[i] == "shop"][:20])
        further = {"validation": held, "test": held}
    dgltree.fit(data, out=tmp_path, **{**QUICK, "epochs": 1}, **further)
    said = capsys.readouterr().err
    warnings, text = card_of(tmp_path)
    [line] = [line for line in warnings if line.startswith("all ") and " test examples have the label '" in line]
    assert f"warning: {line}" in said
    assert (
        "use --folds to test every example, or choose the held-out examples in a split column" in line
        and "- Warning: all " in text
    )
    assert ("360 examples have only 12 different trees or groups, and equal trees stay in one split)" in line) == (
        kind == "a rule"
    )


def tree_of(name: str, value: Any) -> Tree:
    """A tree of an object, whose nodes are named after its keys."""
    if isinstance(value, dict):
        return Tree(name, [tree_of(key, item) for key, item in value.items()])
    return Tree(name, token=str(value))


def test_what_is_different_in_every_record_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events, labels = draw_events(200, 0.5, 0)
    for i, event in enumerate(events):
        event["id"], event["event"]["ref"] = 7 * i + 12, f"ref-{i}"  # ids: a whole number, and a text
        event["account"]["score"], event["at"] = i / 7 + 0.1, f"2026-{1 + i // 28:02}-{1 + i % 28:02}"  # measures
    data = TreeDataset([tree_of("object", event) for event in events], labels)
    dgltree.fit(data, out=tmp_path, **{**QUICK, "epochs": 1})
    warnings, text = card_of(tmp_path)
    ids = [line.split(" is different in every training example")[0] for line in warnings if "like an id" in line]
    assert sorted(ids) == ["object.event.ref", "object.id"]
    assert "warning: object.id is different in every training example" in capsys.readouterr().err
    assert "object.id is different" in text


def test_ids_of_documents_are_not_read() -> None:
    events, labels = draw_events(200, 0.5, 0)
    for i, event in enumerate(events):
        event["id"], event["event"]["ref"], event["at"] = 7 * i + 12, f"ref-{i}", i / 7
    schema = data_of(events, labels).reading.schema
    assert isinstance(schema, dict)
    assert [path for path, each in schema["paths"].items() if each.get("skip")] == ["$.event.ref", "$.id"]
