"""Models of a tree and of columns next to it: the label needs both."""

import json
import math
import random
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from own_trees import QUIET, expression, rows_of, worth, written

import dgltree
from dgltree import TrainedModel, TreeDataset
from dgltree.commands.main import main
from dgltree.datasets.objects import with_notation
from dgltree.datasets.settings import Reading

pytest.importorskip("lightning", reason="the train extra is not installed")
pytestmark = QUIET
NAMES = ("limit", "site")


def drawn(count: int, seed: int = 0) -> list[tuple[str, str, str, str]]:
    """Expressions whose value at a point is above a limit, or below it in the south."""
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        text, limit = expression(rng, 2), round(rng.gauss(1, 3), 2)
        site = rng.choice(["north", "south"])
        above = (dgltree.read_infix(text).fold(worth) > limit) != (site == "south")
        rows.append((text, "above" if above else "below", "" if rng.random() < 0.03 else str(limit), site))
    return rows


def table(rows: list[tuple[str, str, str, str]]) -> str:
    return "\n".join(["tree\tlabel\tlimit\tsite", *map("\t".join, rows)]) + "\n"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table and the model of it."""
    folder = tmp_path_factory.mktemp("columns")
    path = written(folder, "trees.tsv", table(drawn(600)))
    settings = ["--hidden-size", "24", "--epochs", "12", "--lr", "0.01", "--dropout", "0", "--baseline", "fast"]
    assert main(["fit", str(path), "--features", "limit,site", *settings, "--out", str(folder / "model")]) == 0
    return folder


def test_a_label_that_needs_tree_and_columns_is_learnt_by_the_network(trained: Path) -> None:
    card = json.loads((trained / "model" / "card.json").read_text())
    assert card["network"]["test"]["accuracy"] > 0.8
    shown = (trained / "model" / "card.md").read_text(encoding="utf-8")
    assert "- Baseline: " in shown and "cross-validation" not in shown, "a fast one is fitted once"
    rows = [row for row in drawn(400, seed=1) if row[2]]
    data = TreeDataset([dgltree.read_infix(row[0]) for row in rows], [row[1] for row in rows])
    data = TreeDataset(
        [tree for tree, _ in data],
        data.labels,
        features={"limit": [float(row[2]) for row in rows], "site": [r[3] for r in rows]},
    )
    model = TrainedModel.load(trained / "model")
    assert model.evaluate(data).metrics["accuracy"] > 0.8
    half = replace_site(data, rows)
    assert model.evaluate(half).metrics["accuracy"] < 0.5, "the other site has the other label"


def replace_site(data: TreeDataset, rows: list[Any]) -> TreeDataset:
    other = ["north" if row[3] == "south" else "south" for row in rows]
    return TreeDataset(
        [tree for tree, _ in data], data.labels, features={"limit": [float(r[2]) for r in rows], "site": other}
    )


def test_predict_evaluate_and_python_answer_alike_and_name_what_is_missing(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, path = TrainedModel.load(trained / "model"), trained / "trees.tsv"
    data = TreeDataset.from_file(path, features="limit,site")
    answers = model.answers_to(data)
    capsys.readouterr()
    assert main(["predict", str(trained / "model"), str(path)]) == 0
    printed = torch.tensor([list(map(float, row[2:])) for row in rows_of(capsys.readouterr().out)[1:]])
    torch.testing.assert_close(printed, answers, rtol=0, atol=1e-6)
    assert main(["evaluate", str(trained / "model"), str(path), "--json"]) == 0
    right = np.mean(
        [model.classes[i] == label for i, label in zip(answers.argmax(1).tolist(), data.labels, strict=True)]
    )
    assert json.loads(capsys.readouterr().out)["accuracy"] == pytest.approx(right, abs=1e-6)
    fewer = written(
        tmp_path, "fewer.tsv", "".join(line.rpartition("\t")[0] + "\n" for line in table(drawn(9)).splitlines())
    )
    for command in ("predict", "evaluate"):
        assert main([command, str(trained / "model"), str(fewer)]) != 0
        assert "no column 'site', which is read next to the trees (--features)" in capsys.readouterr().err
    with pytest.raises(
        ValueError,
        match="the model also reads the columns 'limit', 'site'; give a file or a pandas",
    ):
        model.predict_proba(["x + y"])
    with pytest.raises(
        ValueError, match=r"the model reads the column 'site' next to the trees, which is missing .*; limit are read"
    ):
        model.answers_to(TreeDataset([dgltree.read_infix("x")], features={"limit": [1]}))
    assert model.encode(["x + y"]).shape == (1, 24), "the vector of a tree needs no columns"
    bare = written(tmp_path, "bare.tsv", "tree\tlabel\nx + y\tabove\ny\tbelow\n")
    assert main(["similar", str(trained / "model"), str(bare), "--query", "x + y", "--top", "1"]) == 0
    assert main(["encode", str(trained / "model"), str(bare), "--out", str(tmp_path / "v.npy")]) == 0
    assert main(["explain", str(trained / "model"), "x + y"]) == 1
    assert "the model also reads the columns 'limit', 'site'; give a file or a pandas" in capsys.readouterr().err
    wrong = written(tmp_path, "wrong.tsv", table([("x", "above", "high", "north"), ("y", "below", "1", "west")]))
    assert main(["predict", str(trained / "model"), str(wrong)]) == 1
    out, said = capsys.readouterr()
    assert "line 2: limit: 'high' is not a number, but the column held numbers in training" in said
    assert [len(row) > 1 and row[1] != "" for row in rows_of(out)[1:]] == [False, True], "an unknown site has an answer"


def test_the_effect_of_a_column_is_the_fall_without_it(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, path = TrainedModel.load(trained / "model"), trained / "trees.tsv"
    data = TreeDataset.from_file(path, features="limit,site").select(range(3))
    known = model.dataset(data)
    assert model.features is not None and known.feature_rows is not None
    for i, found in enumerate(model.explain(data)):
        assert [each.name for each in found.columns] == list(NAMES)
        for each, (_, span) in zip(found.columns, model.features.spans, strict=True):
            hidden = known.select([i])
            hidden.feature_rows[:, span] = 0  # type: ignore[index]
            place = model.classes.index(str(found.prediction))
            p, q = float(found.answer[place]), float(model.answers_to(hidden)[0, place])
            assert each.effect == pytest.approx(p - q, abs=1e-5)
            assert each.evidence == pytest.approx(math.log(p / (1 - p)) - math.log(q / (1 - q)), abs=1e-3)
    assert main(["explain", str(trained / "model"), str(path), "--first", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.endswith(f"site = {drawn(1)[0][3]}") for line in lines) and "points\tlog-odds\tcolumn" in lines
    assert main(["explain", str(trained / "model"), str(path), "--first", "1", "--json"]) == 0
    assert [each["column"] for each in json.loads(capsys.readouterr().out)["columns"]] == list(NAMES)


def test_the_baseline_has_the_columns_too_and_is_the_same_from_its_file(trained: Path) -> None:
    model = TrainedModel.load(trained / "model")
    assert model.average is not None and model.features is not None
    columns = model.average.baseline.columns
    assert columns.features.tolist() == list(range(model.features.width))
    assert columns.take(np.array([0, columns.width - 1])).features.tolist() == [model.features.width - 1]
    data = TreeDataset.from_file(trained / "trees.tsv")
    with pytest.raises(ValueError, match="the baseline reads columns next to the trees"):
        model.average.baseline.answers(data)


@pytest.mark.parametrize("content", ["[]", "{", '[{"kind": "number", "name": "limit", "middle": 1}]'])
def test_a_damaged_file_of_columns_is_refused(content: str, trained: Path, tmp_path: Path) -> None:
    model = TrainedModel.load(trained / "model")
    model.save(tmp_path)
    (tmp_path / "features.json").write_text(content)
    with pytest.raises(ValueError, match=r"features.json: "):
        TrainedModel.load(tmp_path)
    TrainedModel(model.model, replace(model.reading, features=None)).save(tmp_path)
    assert not (tmp_path / "features.json").exists()


def test_estimators_take_a_table_with_a_column_of_trees() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    rows = drawn(80)
    table = pandas.DataFrame(rows, columns=["expression", "label", "limit", "site"])
    table["limit"] = pandas.to_numeric(table["limit"])
    X = table.drop(columns="label")
    model = dgltree.TreeClassifier(features=["limit", "site"], hidden_size=8, epochs=1, baseline="fast").fit(
        X, table["label"]
    )
    assert model.model_.features.names == NAMES
    assert model.predict_proba(X).shape == (80, 2) and model.encode(X).shape == (80, 8)
    assert not np.allclose(model.predict_proba(X.assign(limit=0)), model.predict_proba(X))
    with pytest.raises(ValueError, match="the table lacks the column 'site', which is read next to the trees"):
        model.predict(X.drop(columns="site"))
    with pytest.raises(ValueError, match="give a table of pandas or polars with these columns and the trees"):
        model.predict(list(X["expression"]))
    with pytest.raises(ValueError, match=r"features are 'limit,site'; give a list of names: \['limit', 'site'\]"):
        dgltree.TreeClassifier(features="limit,site").fit(X, table["label"])


def test_tables_of_polars_are_read_as_those_of_pandas() -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed, and the library does without it")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    texts = [f"({name} {a} {b})" for a in "xyzuv" for b in "xyzu" for name in ("add", "mul")]
    labels = ["sum", "product"] * 20
    days = [date(2026, 1 + k % 3, 1) for k in range(40)]
    columns = {"tree": texts, "age": [k % 7 if k % 5 else None for k in range(40)], "day": days}
    table, same = polars.DataFrame(columns), pandas.DataFrame(columns)
    few = {"hidden_size": 4, "epochs": 1, "baseline": "fast"}
    model = dgltree.TreeClassifier(features=["age", "day"], **few).fit(table, polars.Series(labels))
    assert np.array_equal(model.predict_proba(table), model.predict_proba(same))
    assert model.model_.predict(table) == model.model_.predict(same)
    pairs = [[left, right] for left, right in zip(texts, texts[::-1], strict=True)]
    of_pairs = dgltree.TreeClassifier(**few).fit(polars.Series(pairs), labels)
    sides = polars.DataFrame({"left": texts, "right": texts[::-1]})
    assert np.array_equal(of_pairs.predict_proba(sides), of_pairs.predict_proba(pairs))


def test_the_notation_of_a_table_is_that_of_its_trees_and_not_of_its_names() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    table = pandas.DataFrame({"tree": ["((A:0.1,B:0.2)90:0.1,C:0.4);"] * 3, "age": [1, 2, 3]})
    assert with_notation(table, Reading()).notation == "newick"


def test_a_model_whose_answers_are_the_baselines_names_its_columns_too(trained: Path) -> None:
    model = dgltree.TrainedModel.load(trained / "model")
    assert model.average is not None
    model.average = replace(model.average, weight=0.0)
    with pytest.raises(
        ValueError,
        match="the model also reads the columns 'limit', 'site'; give a file or a pandas",
    ):
        model.predict_proba(["x + y"])


def test_pairs_have_columns_and_labels_of_nodes_have_none() -> None:
    trees = [dgltree.read_infix(text) for text in ("x + y", "x*y", "x", "y")] * 10
    pairs = list(zip(trees, trees[::-1], strict=True))
    labels, few = ["a", "b"] * 20, {"hidden_size": 6, "epochs": 1, "baseline": "fast"}
    data = TreeDataset(pairs, labels, features={"age": range(40)})
    model = dgltree.fit(data, validation=data, **few)
    assert model.answers_to(data).shape == (40, 2)
    nodes = TreeDataset([tree.replace(label=1) for tree in trees], labels, features={"age": range(40)})
    with pytest.raises(
        ValueError, match="features describe examples, but nodes learns node labels: leave out features or nodes"
    ):
        dgltree.fit(nodes, validation=nodes, nodes=True, **few)
    numbers = TreeDataset(trees, [float(k) for k in range(40)], features={"age": range(40)})
    model = dgltree.fit(numbers, validation=numbers, **few)
    assert not torch.equal(model.answers_to(numbers), model.answers_to(TreeDataset(trees, features={"age": [5] * 40})))
