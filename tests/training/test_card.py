"""What stands beside a model for people."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from own_trees import QUIET, SMALL, written

from dgltree import TrainedModel, TreeDataset
from dgltree.commands.main import main
from dgltree.datasets import split
from dgltree.support.durations import in_seconds

pytest.importorskip("lightning", reason="the train extra is not installed")
from dgltree.training.model_card import card

pytestmark = QUIET


@pytest.mark.slow
def test_classes_and_the_command_are_shown_as_they_are(tmp_path: Path) -> None:
    classes = ["<b>bold</b>", "*a*", "`c`", "[x](y)", "a|b", "&lt;"]
    rows = [f"x{'+y' * i}\t{classes[i % 6]}" for i in range(120)]
    path = written(tmp_path, "a`b.tsv", "tree\tlabel\n" + "\n".join(rows) + "\n")
    assert main(["fit", str(path), "--out", str(tmp_path / "model"), *SMALL, "--epochs", "1"]) == 0
    page = (tmp_path / "model" / "card.md").read_text(encoding="utf-8")
    [line] = re.findall("^- Classes: (.*)$", page, re.MULTILINE)
    shown = r"\&lt;, \*a\*, \<b\>bold\</b\>, \[x\]\(y\), \`c\`, a\|b"
    assert sorted(line.split(", ")) == sorted(shown.split(", "))
    assert re.search(r"by `` dgltree fit '.*a`b.tsv' .* `` in", page)
    json.loads((tmp_path / "model" / "card.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)


def test_the_numbers_of_a_card_are_those_of_the_training(fitted: Path) -> None:
    folder = fitted / "model"
    found_card, text = json.loads((folder / "card.json").read_text()), (folder / "card.md").read_text(encoding="utf-8")
    epochs = [json.loads(line) for line in (folder / "epochs.jsonl").read_text().splitlines()]
    off = [name for name, value in found_card["options"].items() if value is not None and not value]
    [listed] = re.findall("^- Options: (.*)$", text, re.MULTILINE)
    assert "seed" in off and all(f"{name} {found_card['options'][name]}" in listed for name in off)
    assert len(epochs) == 6 and all(epoch["seconds"] > 0 for epoch in epochs)
    assert found_card["seconds"] == pytest.approx(sum(epoch["seconds"] for epoch in epochs), abs=1e-6)
    assert f" in {in_seconds(found_card['seconds'])} s." in text
    model = TrainedModel.load(folder)
    assert found_card["weights"] == sum(weight.numel() for weight in model.model.parameters())
    assert f"- Weights: {found_card['weights']:,}\n" in text
    known = model.model.encoder.vocabulary
    assert found_card["vocabulary"] == {"functions": len(known.functions), "tokens": len(known.tokens)}
    splits = found_card["data"]["examples"]
    assert sum(splits.values()) + sum(found_card["data"]["left out"].values()) == 400
    table, by_class = [], []
    for line in text.splitlines():
        if line.startswith("| "):
            (by_class if by_class or line.startswith("| class") else table).append(line.strip("| ").split(" | "))
    assert [row[0] for row in by_class[2:]] == [row["name"] for row in found_card["by class"]["test"]]
    names = table[0][1:]
    assert [row[0] for row in table[2:] if ", " not in row[0]] == list(found_card["metrics"])
    for name, *numbers in table[2:]:
        split, _, who = name.partition(", ")
        found = {**found_card["metrics"][split], **(found_card[who][split] if who else {})}
        assert numbers == [f"{found[metric]:.4g}" for metric in names], name
        assert found["examples"] == splits[split]


def test_the_seconds_of_a_training_that_went_on_are_those_of_all_its_epochs() -> None:
    epochs = [{"seconds": seconds} for seconds in (1.26, 30.5, 2.25)]
    model = SimpleNamespace(
        encoder=SimpleNamespace(vocabulary=SimpleNamespace(functions=[1], tokens=[])), parameters=list
    )
    objective, options = SimpleNamespace(monitored="accuracy"), SimpleNamespace(task="t", to_json=dict)
    trained = SimpleNamespace(
        model=model, average=None, classes=("a",), objective=objective, reading=SimpleNamespace(to_json=dict)
    )
    compared = SimpleNamespace(used={}, metrics={}, intervals={}, differences={}, tested={})
    prepared = SimpleNamespace(options=options, digest="", splits={}, left_out={}, crossed=None)
    assert card(prepared, trained, compared, "fit", epochs)["seconds"] == 34.01  # type: ignore[arg-type]
    assert card(prepared, trained, compared, "fit", [])["seconds"] == 0  # type: ignore[arg-type]


def test_a_card_has_the_log_loss_of_the_network_before_and_after_its_temperature(fitted: Path) -> None:
    folder = fitted / "model"
    found = json.loads((folder / "card.json").read_text())["calibration"]
    network = TrainedModel.load(folder)
    network.average = None
    parts = split(TreeDataset.from_file(fitted / "trees.tsv"), 0)
    for name in ("validation", "test"):
        data = network.dataset(parts[name])
        places = [network.classes.index(str(label)) for label in data.labels]
        answers = np.concatenate([np.asarray(network.predict_proba(data))])
        raw = answers ** found["temperature"]
        for which, probabilities in (("after", answers), ("before", raw / raw.sum(1, keepdims=True))):
            loss = -np.log(probabilities[np.arange(len(places)), places]).mean()
            assert found[which][name]["log_loss"] == pytest.approx(loss, rel=1e-3)
            sure, right = probabilities.max(1), probabilities.argmax(1) == places
            bins = np.minimum((sure * 15).astype(int), 14)
            error = sum(abs((sure - right)[bins == k].sum()) for k in range(15)) / len(places)
            assert found[which][name]["calibration_error"] == pytest.approx(error, rel=1e-2, abs=1e-4)
    before, after = found["before"]["validation"], found["after"]["validation"]
    line = (
        f"- The network before and after it, validation: log loss {before['log_loss']:.4g} to "
        f"{after['log_loss']:.4g}, calibration error "
        f"{before['calibration_error']:.4g} to {after['calibration_error']:.4g}"
    )
    assert line in (folder / "card.md").read_text(encoding="utf-8")
