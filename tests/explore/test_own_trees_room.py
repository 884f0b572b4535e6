"""The room of own trees: figures of the training, its mistakes, and what stands near what."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from explore_page import COOKIE, HOST, TOKEN, ask, refusal
from own_trees import QUIET, SMALL

import dgltree
from dgltree import TrainedModel, TreeDataset

pytest.importorskip("starlette", reason="the explore extra is not installed")
pytest.importorskip("sklearn", reason="the explore extra is not installed")
from starlette.applications import Starlette

from dgltree.commands.main import main
from dgltree.datasets import UNSEEN
from dgltree.explore import tree_room
from dgltree.explore.app import make_app
from dgltree.explore.open_models import open_all
from dgltree.explore.tree_room import ClassAnswers, neighbouring, principal
from dgltree.support.durations import in_seconds
from dgltree.training.neighbours import nearest

pytestmark = QUIET


def asking(app: Starlette, client: Any) -> Any:
    return type(client)(app, base_url=f"http://{HOST}", cookies=COOKIE)


@pytest.fixture(scope="module")
def trees(fitted: Path, client: Any) -> Iterator[Any]:
    opened = open_all([str(fitted / "model")], str(fitted / "trees.tsv"))
    with asking(make_app(opened, [HOST], TOKEN), client) as made:
        yield made


@pytest.fixture(scope="module")
def numbers(fitted_numbers: Path, client: Any) -> Iterator[Any]:
    opened = open_all([str(fitted_numbers)], str(fitted_numbers.parent / "trees.tsv"))
    with asking(make_app(opened, [HOST], TOKEN), client) as made:
        yield made


def test_the_card_is_that_of_the_training_and_the_examples_its_test_set(trees: Any, fitted: Path) -> None:
    found = ask(trees, "trees/card", model="model")
    card = json.loads((fitted / "model" / "card.json").read_text(encoding="utf-8"))
    assert found["metrics"] == card["metrics"] and found["baseline"] == card["baseline"]
    assert found["seconds"] == in_seconds(card["seconds"]), "as a person reads it"
    assert found["test"] and found["examples"] == card["metrics"]["test"]["examples"]
    lines = (fitted / "model" / "confusion.tsv").read_text(encoding="utf-8").splitlines()
    assert found["confusion"]["counts"] == [[int(cell) for cell in line.split("\t")[1:]] for line in lines[1:]]
    assert len(found["epochs"]) == 6 and found["file"] == "trees.tsv"


def test_a_field_opens_its_examples_and_the_worst_mistakes_come_first(trees: Any) -> None:
    card = ask(trees, "trees/card", model="model")
    for true, row in enumerate(card["confusion"]["counts"]):
        for predicted, count in enumerate(row):
            found = ask(trees, "trees/examples", model="model", true=true, predicted=predicted, start=0)
            assert found["count"] == count
            kinds = {(one["label"], one["predicted"]) for one in found["rows"]}
            assert kinds <= {(card["classes"][true], card["classes"][predicted])}
    worst = ask(trees, "trees/examples", model="model", all=True, start=0)
    assert worst["count"] == sum(map(sum, card["confusion"]["counts"])) - sum(
        row[k] for k, row in enumerate(card["confusion"]["counts"])
    )
    sure = [one["probability"] for one in worst["rows"]]
    assert sure == sorted(sure, reverse=True)  # of two classes
    assert "true is not a whole number" in refusal(trees, "trees/examples", model="model", true=9, predicted=0, start=0)


def test_a_label_that_the_model_lacks_is_as_wrong_as_can_be() -> None:
    made = object.__new__(ClassAnswers)
    made.answers, made.labels = torch.tensor([[0.9, 0.1], [0.3, 0.7]]), torch.tensor([UNSEEN, 0])
    assert made.wrongness.tolist() == pytest.approx([1, 0.7])


def test_a_tree_has_its_states_and_the_neighbours_that_similar_finds(trees: Any, fitted: Path) -> None:
    found = ask(trees, "trees/tree", model="model", example=3)
    model = TrainedModel.load(fitted / "model")
    data = model.dataset(TreeDataset.from_file(fitted / "trees.tsv", **model.reading.to_json()))
    place = data.ids.index(found["id"])
    h = {part["name"]: part["rows"][0] for part in found["parts"][0]}["h"]
    states = model.node_vectors(data.select([place]))
    torch.testing.assert_close(torch.tensor(h).float(), (states[0] * 100).round(), atol=1, rtol=0)
    assert sum(one["probability"] for one in found["answers"]) == pytest.approx(1, abs=1e-3)
    test = model.dataset(dgltree.datasets.split(TreeDataset.from_file(fitted / "trees.tsv"), 0)["test"])
    [own] = nearest(model, test, test.select([3]), 7)
    assert [one["example"] for one in found["near"]] == [one.example for one in own if one.example != 3][:6]


def test_the_subtrees_that_decide_are_those_of_the_model(trees: Any, fitted: Path) -> None:
    """Each effect is the difference of two predictions, of the tree and of the tree with a leaf in its place."""
    worst = ask(trees, "trees/examples", model="model", all=True, start=0)["rows"]
    example = next(one["example"] for one in worst if "*" in one["text"])
    tree, found = (ask(trees, f"trees/{what}", model="model", example=example) for what in ("tree", "explain"))
    model, data = TrainedModel.load(fitted / "model"), TreeDataset.from_file(fitted / "trees.tsv")
    [whole] = [data[i][0] for i, name in enumerate(data.ids) if name == tree["id"]]
    assert isinstance(whole, dgltree.Tree) and len(whole.children) == 2
    assert any(node == dgltree.Tree("Symbol", token="x") for node in whole.children[0].preorder())
    hidden = [dgltree.Tree("Symbol", token="<unk>"), whole.children[1]]
    answers = model.answers_to([whole, whole.replace(children=hidden)])
    place = list(model.classes).index(found["prediction"])
    assert found["support"] == pytest.approx(float(answers[0, place]), abs=1e-6)
    assert found["effects"][0] is None and len(found["effects"]) == len(tree["nodes"]) == whole.size
    assert found["effects"][1] == pytest.approx(float(answers[0, place] - answers[1, place]), abs=1e-6)
    first = found["ranked"][0]
    assert len(found["ranked"]) == 5 and found["effects"][first["node"]] == first["effect"]
    assert "is not a whole number" in refusal(trees, "trees/explain", model="model", example=10**6)


def pieces(answer: Any) -> list[dict[str, Any]]:
    return [json.loads(event.removeprefix("data: ")) for event in answer.text.split("\n\n") if event]


def test_a_map_comes_at_once_or_in_stages(trees: Any) -> None:
    [found] = pieces(trees.post("/api/trees/map", json={"model": "model", "method": "pca"}))
    examples = ask(trees, "trees/card", model="model")["examples"]
    assert len(found["points"]) == len(found["labels"]) == examples
    stages = pieces(trees.post("/api/trees/map", json={"model": "model", "method": "tsne"}))
    assert [one["stage"] for one in stages] == [1, 2, 3, 4] and stages[0]["points"] != stages[-1]["points"]


def test_points_that_are_apart_stay_apart() -> None:
    torch.manual_seed(0)
    vectors = torch.cat([torch.randn(20, 6), torch.randn(20, 6) + 30])
    for plane in (principal(vectors), *neighbouring(vectors)):
        assert plane.shape == (40, 2) and np.isfinite(plane).all()
        middles = plane[:20].mean(0), plane[20:].mean(0)
        nearer = [np.linalg.norm(plane - middle, axis=1) for middle in middles]
        assert ((nearer[0] < nearer[1]) == (np.arange(40) < 20)).all()
    assert principal(torch.ones(6, 1)).tolist() == [[0.0, 0.0]] * 6
    assert len(list(neighbouring(torch.randn(6, 1)))) == 4
    with pytest.raises(ValueError, match="4 trees; a map needs 5"):
        principal(vectors[:4])


def test_numbers_are_shown_beside_their_labels(numbers: Any) -> None:
    found = ask(numbers, "trees/card", model="model")
    assert len(found["predicted"]) == found["examples"] and found["test"] and "confusion" not in found
    worst = ask(numbers, "trees/examples", model="model", start=0)["rows"]
    off = [abs(float(one["label"]) - one["predicted"]) for one in worst]
    assert off == sorted(off, reverse=True)


def test_without_a_file_there_are_figures_alone(fitted: Path, client: Any) -> None:
    with asking(make_app(open_all([str(fitted / "model")]), [HOST], TOKEN), client) as app:
        found = ask(app, "trees/card", model="model")
        assert found["examples"] is None and found["confusion"]["counts"]
        assert "--trees FILE" in refusal(app, "trees/tree", model="model", example=0)
    with pytest.raises(ValueError, match="name the folder that 'dgltree fit' wrote"):
        open_all([], str(fitted / "trees.tsv"))


def test_another_file_is_not_taken_for_the_test_set(fitted: Path, client: Any, tmp_path: Path) -> None:
    lines = (fitted / "trees.tsv").read_text(encoding="utf-8").splitlines()
    turned = [line.replace("pos", "?").replace("neg", "pos").replace("?", "neg") for line in lines]
    for kept in (lines[:150], turned):
        (tmp_path / "other.tsv").write_text("\n".join(kept) + "\n", encoding="utf-8")
        opened = open_all([str(fitted / "model")], str(tmp_path / "other.tsv"))
        with asking(make_app(opened, [HOST], TOKEN), client) as app:
            found = ask(app, "trees/card", model="model")
        assert not found["test"] and found["examples"] == len(kept) - 1


def test_a_file_that_one_model_can_read_is_shown_with_that_one(fitted: Path, tmp_path: Path) -> None:
    import shutil

    other, file = tmp_path / "other", tmp_path / "renamed.tsv"
    shutil.copytree(fitted / "model", other)
    reading = (other / "reading.json").read_text(encoding="utf-8")
    (other / "reading.json").write_text(reading.replace('"tree": "tree"', '"tree": "text"'), encoding="utf-8")
    shutil.copy(fitted / "trees.tsv", file)
    folders = [str(other), str(fitted / "model")]
    with pytest.warns(UserWarning, match="other is shown without trees, because it cannot read the file: .*no column"):
        opened = open_all(folders, str(file))
    assert opened.own_trees["other"].data is None and len(opened.own_trees["model"].data) > 0
    with pytest.raises(
        ValueError, match=r"there are 'id', 'tree', .*give --trees in the format of the training file"
    ) as one:
        open_all([str(other)], str(file))
    assert "Name yours with" not in str(one.value)


def test_of_very_many_classes_the_most_frequent_mistakes_are_sent(trees: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ask(trees, "trees/card", model="model")
    counts, classes = whole["confusion"]["counts"], whole["classes"]
    monkeypatch.setattr(tree_room, "MAX_CLASSES", 1)
    few = ask(trees, "trees/card", model="model")["confusion"]
    assert few["true"] == [*classes, "none of these"]
    listed = {(row["true"], row["predicted"]): (row["count"], row["share"]) for row in few["mistakes"]}
    expected = {
        (r, c): (count, pytest.approx(count / sum(row)))
        for r, row in enumerate(counts)
        for c, count in enumerate(row)
        if count and r != c
    }
    assert listed == expected and [row["count"] for row in few["mistakes"]] == sorted(
        (count for count, _ in expected.values()), reverse=True
    )


def test_models_of_other_tasks_are_shown_next_to_the_one_whose_file_it_is(
    fitted: Path, fitted_numbers: Path, tmp_path: Path
) -> None:
    pairs = tmp_path / "pairs"
    rows = [f"x + {k}\t{k % 7}*x\t{'even' if k % 2 else 'odd'}" for k in range(60)]
    (tmp_path / "pairs.tsv").write_text("left\tright\tlabel\n" + "\n".join(rows) + "\n", encoding="utf-8")
    assert (
        main(["fit", str(tmp_path / "pairs.tsv"), "--out", str(pairs), "--no-baseline", *SMALL, "--epochs", "1"]) == 0
    )
    folders = [str(fitted / "model"), str(fitted_numbers), str(pairs)]
    with pytest.warns(UserWarning, match="is shown without trees") as warned:
        opened = open_all(folders, str(fitted / "trees.tsv"))
    shown = {name: own.data is not None for name, own in opened.own_trees.items()}
    assert list(shown.values()) == [True, False, False]
    reasons = [str(each.message) for each in warned]
    assert any("is not a number" in reason for reason in reasons)
    assert any("left" in reason or "pairs" in reason for reason in reasons)


def test_names_are_short_and_differ(fitted: Path, tmp_path: Path) -> None:
    import shutil

    other = tmp_path / "model"
    shutil.copytree(fitted / "model", other)
    opened = open_all([str(fitted / "model"), str(other)])
    assert list(opened.own_trees) == ["model", f"{tmp_path.name}/model"]
    twice = open_all([str(other), "default", str(other), "default"])
    assert (list(twice.own_trees), list(twice.equations)) == (["model"], ["default"])
    with pytest.raises(FileNotFoundError, match="no such file"):
        open_all(["nowhere.safetensors"])
