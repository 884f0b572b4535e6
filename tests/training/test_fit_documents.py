"""``fit`` on JSON documents: by commands and in Python, with a schema that is edited, and later documents."""

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dgltree import TrainedModel, TreeClassifier, TreeDataset, fit
from dgltree.commands.main import main
from dgltree.datasets.objects import read_objects, with_notation
from dgltree.datasets.settings import Reading
from dgltree.training.encoder_choice import choose_encoder
from dgltree.training.options import FitOptions
from tests.read.documents import documents, feature, log_record, package, permuted, pod

pytest.importorskip("lightning", reason="the train extra is not installed")
SHORT = ["--epochs", "2", "--hidden-size", "8", "--baseline", "fast", "--no-cache"]


def write(path: Path, values: list[Any], labels: list[str]) -> str:
    rows = [{"tree": value, "label": label} for value, label in zip(values, labels, strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of log records in ``model``, its documents in ``logs.jsonl``, and their schema."""
    place = tmp_path_factory.mktemp("documents")
    values = documents(log_record, 120)
    logs = write(place / "logs.jsonl", values, [value["level"] for value in values])
    assert main(["inspect", logs, "--no-cache", "--schema-out", str(place / "schema.json")]) == 0
    assert main(["fit", logs, *SHORT, "--out", str(place / "model")]) == 0
    return place


def test_the_model_keeps_the_schema_that_inspect_writes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = TrainedModel.load(folder / "model").reading.schema
    assert kept == json.loads((folder / "schema.json").read_text())
    assert "schema of" in (folder / "model" / "card.md").read_text()
    assert main(["inspect", str(folder / "logs.jsonl"), "--no-cache"]) == 0
    assert re.search(r"\n  \.level +category, 2 different, 120 times\n", capsys.readouterr().out)


def test_an_edited_schema_is_used(folder: Path, tmp_path: Path) -> None:
    schema = json.loads((folder / "schema.json").read_text())
    schema["paths"]["$.level"]["skip"] = True
    schema["paths"]["$.message"]["kind"] = "category"
    (tmp_path / "edited.json").write_text(json.dumps(schema))
    edited = ["--schema", str(tmp_path / "edited.json")]
    assert main(["fit", str(folder / "logs.jsonl"), *SHORT, *edited, "--out", str(tmp_path / "model")]) == 0
    model = TrainedModel.load(tmp_path / "model")
    assert model.reading.schema == schema
    functions = {name for name, _ in model.model.encoder.vocabulary.functions}
    assert "$.level" not in functions and "$.message" in functions and "$.message word" not in functions
    value = documents(log_record, 1)[0]
    assert model.predict_proba([value]).equal(model.predict_proba([{**value, "level": "INFO"}]))


def test_later_documents_are_compared_with_the_schema(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = documents(log_record, 6, seed=1)
    values[1]["trace"] = values[2]["trace"] = {"span": 1}
    values[2]["http"] = "none"
    later = write(folder / "later.jsonl", values, [value["level"] for value in values])
    said = f"{later}: not in the schema: $.trace, a new path (2 documents), $.http, not object (1 document)\n"
    for command in ("predict", "evaluate"):
        capsys.readouterr()
        assert main([command, str(folder / "model"), later]) == 0
        assert said in capsys.readouterr().err
    capsys.readouterr()
    assert main(["predict", str(folder / "model"), str(folder / "logs.jsonl")]) == 0
    assert "schema" not in capsys.readouterr().err


def test_a_group_that_no_document_has_is_refused_and_is_no_digest(folder: Path, tmp_path: Path) -> None:
    logs = str(folder / "logs.jsonl")
    for place in ("nosuch", "label:^(zzz)"):
        with pytest.raises(ValueError, match=r"--group-by is '.*', which no record has"):
            TreeDataset.from_file(logs, tree="tree", group_by=place, cached=False)
    assert len(set(TreeDataset.from_file(logs, cached=False).groups)) > 100  # by which splits are dealt
    with pytest.raises(ValueError, match="--group-by is 'nosuch', which no record has"):
        TrainedModel.load(folder / "model").dataset(TreeDataset.from_file(logs, group_by="nosuch", cached=False))
    values = documents(log_record, 4)
    rows = [{"tree": value, "label": "a", **({"month": "5"} if k else {})} for k, value in enumerate(values)]
    (tmp_path / "half.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = TreeDataset.from_file(tmp_path / "half.jsonl", tree="tree", group_by="month", cached=False)
    assert list(data.groups) == [None, "5", "5", "5"]


def test_documents_are_explained_by_their_paths(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = documents(log_record, 1)[0]
    given = [str(folder / "model"), str(folder / "logs.jsonl"), "--first", "1", "--top", "40"]
    assert main(["explain", *given]) == 0
    out = capsys.readouterr().out
    assert f"$.level = {first['level']}" in out
    assert main(["explain", *given, "--json"]) == 0
    [line] = capsys.readouterr().out.splitlines()
    effects = {each["path"]: each["subtree"] for each in json.loads(line)["effects"]}
    assert effects["$.level"] == f"$.level = {first['level']}"
    assert main(["similar", str(folder / "model"), str(folder / "logs.jsonl"), "--query", json.dumps(first)]) == 0
    nearest = capsys.readouterr().out.splitlines()[1].split("\t")[-1]
    assert nearest.startswith("$.") and " = " in nearest


def test_orders_change_no_answer(folder: Path) -> None:
    model, values = TrainedModel.load(folder / "model"), documents(log_record, 20, seed=2)
    random = Random(0)
    changed = [permuted(value, random, lists=True) for value in values]
    assert model.predict_proba(changed).equal(model.predict_proba(values))
    texts = [json.dumps(value) for value in changed]
    assert model.predict_proba(texts).equal(model.predict_proba(values))


def test_a_map_is_refused_before_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "packages.jsonl", documents(package, 200), ["a", "b"] * 100)
    assert main(["fit", file, *SHORT, "--out", str(tmp_path / "model")]) == 1
    assert "$.dependencies is an object with too many different keys" in capsys.readouterr().err
    assert main(["inspect", file, "--no-cache", "--schema-out", str(tmp_path / "schema.json")]) == 0
    schema = (tmp_path / "schema.json").read_text().replace('"kind": "map"', '"kind": "pairs"')
    (tmp_path / "schema.json").write_text(schema)
    edited = ["--schema", str(tmp_path / "schema.json")]
    assert main(["fit", file, *SHORT, *edited, "--out", str(tmp_path / "model")]) == 0


def test_only_documents_have_a_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "trees.tsv").write_text("tree\tlabel\n(f x)\ta\n(g x)\tb\n")
    command = ["inspect", str(tmp_path / "trees.tsv"), "--no-cache", "--schema-out", str(tmp_path / "schema.json")]
    assert main(command) == 1
    assert "only JSON documents have a schema" in capsys.readouterr().err
    assert not (tmp_path / "schema.json").exists()


def test_files_of_their_own_are_read_by_the_schema_of_the_training_file(folder: Path, tmp_path: Path) -> None:
    values = documents(log_record, 20, seed=3)
    for value in values:
        value["level"] = value["level"].lower()
    dev = write(tmp_path / "dev.jsonl", values, [value["level"].upper() for value in values])
    files = ["--validation", dev, "--test", dev]
    assert main(["fit", str(folder / "logs.jsonl"), *files, *SHORT, "--out", str(tmp_path / "model")]) == 0
    train, held_out = TreeDataset.from_file(folder / "logs.jsonl"), TreeDataset.from_file(dev)
    with pytest.raises(
        ValueError, match=r"validation were read by a different schema .* schema=train\.reading\.schema"
    ):
        fit(train, validation=held_out, test=held_out, epochs=1)


def test_estimators_take_dicts_and_columns() -> None:
    values, labels = documents(feature, 60), ["a", "b"] * 30
    options: dict[str, Any] = {"hidden_size": 8, "epochs": 1, "baseline": False}
    model = TreeClassifier(**options).fit(values, labels)
    wanted = model.predict_proba(values)
    assert (model.predict_proba([json.dumps(value) for value in values]) == wanted).all()
    pandas = pytest.importorskip("pandas")
    column = TreeClassifier(**options).fit(pandas.Series(values), labels)
    assert (column.predict_proba(pandas.DataFrame({"tree": values})) == wanted).all()


@pytest.mark.parametrize(
    ("count", "kind", "options"),
    [(3, pod, {"typed": False}), (100, pod, {"typed": True, "rank": 8}), (2000, pod, {"typed": True})],
)
def test_paths_share_weights_where_documents_are_few(count: int, kind: Any, options: dict[str, Any]) -> None:
    values = documents(kind, count)
    reading = with_notation(values, Reading())
    data = TreeDataset(read_objects(values, reading), ["a"] * count, reading=reading)
    choice = choose_encoder(data, FitOptions(task="classify"))
    assert choice.name == "child_sum" and choice.options["aggregation"] == "bag"
    assert {name: choice.options[name] for name in ("typed", "rank") if name in choice.options} == options
    assert choice.options["positions"] is False


def test_a_cell_reads_positions_where_a_list_is_ordered() -> None:
    values = documents(feature, 60)
    reading = with_notation(values, Reading())
    data = TreeDataset(read_objects(values, reading), ["a"] * 60, reading=reading)
    assert choose_encoder(data, FitOptions(task="classify")).options["positions"] is True


def test_a_sequence_encoder_reads_documents_without_numbers(tmp_path: Path) -> None:
    values, labels = documents(log_record, 60), ["a", "b"] * 30
    file = write(tmp_path / "logs.jsonl", values, labels)
    with pytest.raises(ValueError, match=r"numbers and dates of documents: read these as strings \(--no-numbers"):
        fit(TreeDataset.from_file(file), encoder="transformer", epochs=1, out=tmp_path / "one")
    as_texts = ["--encoder", "transformer", "--no-numbers", "--no-dates"]
    assert main(["fit", file, *SHORT, *as_texts, "--out", str(tmp_path / "model")]) == 0
