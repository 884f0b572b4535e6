"""All numbers of a training's folder and of ``evaluate`` are those that numpy and scikit-learn find."""

import contextlib
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from own_trees import QUIET, SMALL, expression

pytest.importorskip("lightning", reason="the train extra is not installed")

import recomputed

from dgltree.commands.main import main

pytestmark = QUIET
SPLITS = ("train", "train", "train", "validation", "test")
CLASSES = {"often": 12, "some, but few": 4, 'the "rare" one': 1}
"""Names with separators of other formats, and how often each is drawn."""
BAD = {"open": ("x+", "train"), "unknown": ("cosh(x)", "test"), "empty": ("", "validation")}
"""Trees that cannot be read, or have a function that the model does not know."""


class Trained(NamedTuple):
    folder: Path
    table: Path
    card: dict[str, Any]
    rows: dict[str, recomputed.Rows]
    evaluated: dict[str, Any]


def classes(rng: random.Random, text: str) -> str:
    drawn = rng.choices(list(CLASSES), list(CLASSES.values()))[0]
    return drawn if rng.random() < 0.5 else "often" if "*" in text else "some, but few"


def numbers(rng: random.Random, text: str) -> str:
    """In a unit of their own, with an outlier now and then."""
    return str(100.5 + 20 * text.count("x") + (5000 if rng.random() < 0.03 else rng.gauss(0, 5)))


def table(label: Callable[[random.Random, str], str], seed: int) -> str:
    rng = random.Random(seed)
    lines = []
    for i in range(240):
        text = expression(rng, 3)
        lines.append(f"r{i}\t{text}\t{label(rng, text)}\t{SPLITS[i % 5]}")
    for at, (name, (tree, split)) in zip((7, 90, 150), BAD.items(), strict=True):
        lines.insert(at, f"{name}\t{tree}\t{label(rng, 'x')}\t{split}")
    lines.append(f"r4\tx\t{label(rng, 'x')}\ttest")  # an id that was used
    return "\n".join(["id\ttree\tlabel\tsplit", *lines, ""])


@pytest.fixture(scope="module", params=[classes, numbers], ids=["classes", "numbers"])
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("recomputed")
    file, out = folder / "trees.tsv", folder / "model"
    text = table(request.param, seed=2)
    if request.param is classes:  # a class that training never saw
        text = text.replace("\toften\ttest\n", "\tnever seen\ttest\n", 2)
    file.write_text(text, encoding="utf-8")
    assert main(["fit", str(file), "--out", str(out), *SMALL, "--epochs", "4", "--no-unk"]) == 0
    printed = []
    for command in (["predict", str(out), str(file)], ["evaluate", str(out), str(file), "--json"]):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            main(command)
        printed.append(said.getvalue())
    bad = {name: split for name, (_, split) in BAD.items()}
    card = json.loads((out / "card.json").read_text(encoding="utf-8"))
    return Trained(out, file, card, recomputed.rows_of(file, bad, printed[0]), json.loads(printed[1]))


def test_the_card_has_the_metrics_of_its_splits(trained: Trained) -> None:
    for split in ("validation", "test"):
        wanted = recomputed.metrics(trained.rows[split], trained.rows["train"].labels)
        found = dict(trained.card["metrics"][split])
        assert found.pop("examples") == len(trained.rows[split].labels)
        assert found == pytest.approx(wanted, rel=1e-4, abs=2e-6), split


def test_the_card_has_intervals_probabilities_and_classes_of_its_tests(trained: Trained) -> None:
    rows, card = trained.rows["test"], trained.card
    wanted = recomputed.intervals(rows, trained.rows["train"].labels)
    assert card["tested"] == {"test": {name: pytest.approx(ends, rel=1e-4, abs=2e-5) for name, ends in wanted.items()}}
    if card["task"] == "regress":
        assert card["probabilities"] == card["by class"] == {}
        return
    for split in ("validation", "test"):
        of = trained.rows[split]
        assert card["probabilities"][split] == pytest.approx(recomputed.probabilities(of), abs=2e-5)
        found = {
            row["name"]: [row[name] for name in ("precision", "recall", "f1", "support")]
            for row in card["by class"][split]
        }
        assert found == {name: pytest.approx(list(each), abs=1e-6) for name, each in recomputed.by_class(of).items()}


def test_the_card_counts_what_was_read_and_left_out(trained: Trained) -> None:
    data = trained.card["data"]
    for split in ("train", "validation", "test"):
        assert data["examples"][split] == len(trained.rows[split].labels)
    assert sum(data["left out"].values()) == trained.rows[""].left_out == 4


def test_evaluate_has_the_metrics_of_all_rows(trained: Trained) -> None:
    found, wanted = dict(trained.evaluated), trained.rows[""]
    assert found.pop("examples") == len(wanted.labels)
    assert (found.pop("left_out"), found.pop("refused")) == (wanted.left_out, 1)
    if trained.card["task"] != "regress":
        rows = {row.pop("name"): tuple(row.values()) for row in found.pop("by_class")}
        assert rows == {name: pytest.approx(of, abs=1e-6) for name, of in recomputed.by_class(wanted).items()}
        chances = {name: found.pop(name) for name in recomputed.probabilities(wanted)}
        assert chances == pytest.approx(recomputed.probabilities(wanted), abs=2e-5)
        confusion = found.pop("confusion")
        names_and_counts = zip(confusion["classes"], confusion["labels_in_rows"], strict=True)
        assert [[name, *counts] for name, counts in names_and_counts] == recomputed.confusion(wanted)
    assert found == pytest.approx(recomputed.metrics(wanted, trained.rows["train"].labels), rel=1e-4, abs=2e-6)


def test_the_table_of_confusions_is_scikit_learns_of_the_test_split(trained: Trained) -> None:
    file = trained.folder / "confusion.tsv"
    if trained.card["task"] == "regress":
        assert not file.exists()
        return
    header, *found = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    wanted = recomputed.confusion(trained.rows["test"])
    assert header[1:] == [row[0] for row in wanted]
    assert [[name, *map(int, counts)] for name, *counts in found] == wanted


def test_the_network_of_the_card_is_the_one_of_the_best_epoch(trained: Trained) -> None:
    epochs = [json.loads(line) for line in (trained.folder / "epochs.jsonl").read_text().splitlines()]
    if trained.card["task"] == "regress":
        assert trained.card["options"]["label_scale"] != "none", "epochs are compared on a scale, the card is in units"
        return
    metric = trained.card["intervals"]["metric"]
    best = max(epochs, key=lambda epoch: (epoch[metric], -epoch["validation_loss"]))
    for name in (metric, "accuracy"):
        assert trained.card["network"]["validation"][name] == pytest.approx(best[name], abs=1e-6)
