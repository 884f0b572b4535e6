"""One label for an example, whichever way a model with a threshold is asked."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import dgltree
from dgltree import TrainedModel, TreeClassifier
from dgltree.commands.main import main
from dgltree.explore.tree_room import ClassAnswers
from dgltree.training.objectives.threshold import Threshold

TEXTS = [f"({f} {a} {b})" for f in ("add", "mul", "sub") for a in "xyz" for b in "uvw"]
LABELS = [{"add": "sum", "mul": "product", "sub": "difference"}[text[1:4]] for text in TEXTS]
PAGE = Path(__file__).parents[2] / "docs" / "howto" / "serving.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose probabilities lie between 0 and 1, and its file."""
    place = tmp_path_factory.mktemp("thresholds")
    rows = [f"{text}\t{label}" for text, label in zip(TEXTS * 4, LABELS * 4, strict=True)]
    (place / "trees.tsv").write_text("\n".join(["tree\tlabel", *rows, ""]))
    data = dgltree.TreeDataset.from_file(place / "trees.tsv")
    dgltree.fit(data, validation=data, out=place / "model", hidden_size=4, epochs=2, baseline=False)
    return place


def by_command(model: TrainedModel, place: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    model.save(place / "copy")
    capsys.readouterr()
    (place / "new.tsv").write_text("\n".join(["tree", *TEXTS, ""]))
    assert main(["predict", str(place / "copy"), str(place / "new.tsv")]) == 0
    return [line.split("\t")[1] for line in capsys.readouterr().out.splitlines()[1:]]


def by_page(model: TrainedModel, place: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    room = ClassAnswers.__new__(ClassAnswers)  # its file and its pictures are not asked for
    vars(room).update(trained=model, answers=model.predict_proba(TEXTS))
    return [room.said(i)["predicted"] for i in range(len(TEXTS))]


def by_estimator(model: TrainedModel, place: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    estimator = TreeClassifier()
    estimator.model_, estimator.classes_ = model, np.unique(LABELS)
    return estimator.predict(TEXTS).tolist()


WAYS: dict[str, Callable[[TrainedModel, Path, Any], list[str]]] = {
    "labels_of": lambda model, *_: model.labels_of(model.predict_proba(TEXTS)),
    "one at a time": lambda model, *_: [label for text in TEXTS for label in model.predict([text])],
    "explain": lambda model, *_: [each.prediction for each in model.explain(TEXTS)],
    "columns of Ray": lambda model, *_: model.objective.columns(model.predict_proba(TEXTS))["prediction"].tolist(),
    "command": by_command,
    "page": by_page,
    "scikit-learn": by_estimator,
}


@pytest.mark.parametrize("seed", range(6))
def test_all_ways_to_ask_give_the_same_label(seed: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random = np.random.default_rng(seed)
    model = TrainedModel.load(folder / "model")
    place = int(random.integers(len(model.classes)))
    probabilities = model.predict_proba(TEXTS)
    threshold = float(random.choice([0.0, 1.0, *np.quantile(probabilities[:, place].double(), [0.2, 0.5, 0.8])]))
    model.predict_from(Threshold(place, threshold))
    others = probabilities.clone()
    others[:, place] = -1
    wanted = [
        model.classes[place if row[place].double() >= threshold else int(rest.argmax())]
        for row, rest in zip(probabilities, others, strict=True)
    ]
    assert model.predict(TEXTS) == wanted
    assert torch.equal(model.predict_proba(TEXTS), probabilities), "a threshold changes no probability"
    assert {name: ask(model, folder, capsys) for name, ask in WAYS.items()} == dict.fromkeys(WAYS, wanted)


def test_the_server_of_the_page_answers_by_the_threshold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE):
        exec(block.replace("epochs=3)", "epochs=1, threshold='sum=0')"), names)
    assert names["served"]["predictions"] == ["sum", "sum"]
    assert json.loads((tmp_path / "runs" / "served" / "threshold.json").read_text())["class"] == "sum"


@pytest.mark.parametrize("page", sorted((PAGE.parents[1]).rglob("*.md")), ids=lambda page: page.name)
def test_no_page_takes_the_most_probable_class_of_a_trained_model(page: Path) -> None:
    assert not re.search(
        r"classes\[.*argmax|(?:answers|probabilities|predict_proba\(.*\))(?:\[0\])?\.argmax", page.read_text()
    )
