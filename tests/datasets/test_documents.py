"""Files and objects of JSON documents: their schema is that of the training documents, and later ones are compared."""

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from dgltree import TreeDataset
from dgltree.datasets.objects import read_objects, with_notation
from dgltree.datasets.settings import Reading
from dgltree.datasets.splitting import split
from dgltree.datasets.unseen import check_schema, describe_unseen, find_unseen
from tests.read.documents import KINDS, documents, feature, log_record, package


def write(path: Path, trees: list[Any], **columns: list[Any]) -> Path:
    rows = [{"tree": tree, **{name: of[i] for name, of in columns.items()}} for i, tree in enumerate(trees)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_documents_are_detected_with_their_schema(kind: Any, tmp_path: Path) -> None:
    values = documents(kind, 60)
    data = TreeDataset.from_file(write(tmp_path / "documents.jsonl", values))
    assert data.reading.notation == "json_object"
    again = TreeDataset.from_file(tmp_path / "documents.jsonl")  # from the cache
    assert again.reading == data.reading
    reading = with_notation(values, Reading())
    assert reading.schema == data.reading.schema
    assert read_objects(values, reading) == [data[i][0] for i in range(60)]
    assert read_objects([json.dumps(value) for value in values], reading) == read_objects(values, reading)


def test_a_schema_is_that_of_the_documents_to_train_on(tmp_path: Path) -> None:
    values = [*documents(log_record, 60), {**documents(log_record, 1)[0], "new": "x"}]
    path = write(tmp_path / "logs.jsonl", values, split=["train"] * 60 + ["test"])
    data = TreeDataset.from_file(path)
    schema = data.reading.schema
    assert isinstance(schema, dict) and schema["documents"] == 60 and "$.new" not in schema["paths"]
    assert find_unseen(data) == {"$.new, a new path": [60]}


def test_a_generator_has_the_schema_of_its_first_documents() -> None:
    values = documents(log_record, 1500)
    data = TreeDataset.from_iterable((value, value["level"]) for value in values)
    schema = data.reading.schema
    assert isinstance(schema, dict) and schema["documents"] == 1000 and len(data) == 1500


def test_dates_and_numbers_of_numpy_are_read_as_in_json() -> None:
    values = [{"n": i + 0.5, "at": f"2026-11-{10 + i}"} for i in range(9)]
    like = [{"n": np.float64(i + 0.5), "at": np.datetime64(f"2026-11-{10 + i}").item()} for i in range(9)]
    reading = with_notation(values, Reading())
    assert read_objects(like, reading) == read_objects(values, reading)
    with pytest.raises(
        ValueError, match=r"tree 1: found .* of type set; expected a JSON value, a date or a NumPy number"
    ):
        read_objects([{"n": {1}}], reading)
    with pytest.raises(ValueError, match=r"tree 1: .*found NaN"):
        read_objects([{"n": float("nan")}], reading)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_columns_of_tables_are_documents(kind: str) -> None:
    module = pytest.importorskip(kind)
    values = documents(feature, 30)
    reading = with_notation(module.Series(values), Reading())
    assert reading.notation == "json_object"
    found = read_objects(module.Series(values), reading)
    assert found == read_objects(values, with_notation(values, Reading()))
    texts = module.Series([json.dumps(value) for value in values])
    assert read_objects(texts, with_notation(texts, Reading())) == found


def test_trees_in_dicts_are_no_documents() -> None:
    assert with_notation([{"label": "x"}], Reading()).notation is None
    assert with_notation([{"type": "Program", "body": []}], Reading()).notation is None
    assert with_notation([{"nodes": [], "edges": []}], Reading()).notation is None


def test_what_is_not_in_the_schema_is_counted_by_documents(tmp_path: Path) -> None:
    values = [{"age": i + 0.5, "tags": ["x", "y"]} for i in range(40)]
    write(tmp_path / "train.jsonl", values)
    schema = TreeDataset.from_file(tmp_path / "train.jsonl").reading.schema
    later: list[Any] = [
        {"age": "old", "tags": [1, {"a": 1}, {"b": 1}]},
        {"age": None, "tags": ["x"], "new": 1, "newer": {}},
        {"age": "3", "tags": [], "new": [1]},
        {"tags": ["z", None]},
    ]
    write(tmp_path / "later.jsonl", later)
    data = TreeDataset.from_file(tmp_path / "later.jsonl", schema=schema)
    found = find_unseen(data)
    assert found == {
        "$.age, not number": [0],
        "$.tags[], not category": [0],
        "$.new, a new path": [1, 2],
        "$.newer, a new path": [1],
    }
    line = describe_unseen({what: len(examples) for what, examples in found.items()})
    assert line.startswith("not in the schema: $.new, a new path (2 documents), $.age, not number (1 document), ")
    assert describe_unseen({str(i): 1 for i in range(9)}).endswith(" and 4 more")


@pytest.mark.parametrize("seed", range(10))
def test_drawn_faults_are_counted_in_their_documents(seed: int) -> None:
    random = Random(seed)
    values = documents(log_record, 80, seed)
    reading = with_notation(values, Reading())
    faulty = sorted(random.sample(range(80), 5))
    for i in faulty:
        random.choice([values[i], values[i]["http"]])["fault"] = random.choice([1, "x", {"a": 1}])
    data = TreeDataset(read_objects(values, reading), reading=reading)
    assert sorted({i for examples in find_unseen(data).values() for i in examples}) == faulty


def test_a_schema_that_contradicts_the_documents_names_path_and_line(tmp_path: Path) -> None:
    path = write(tmp_path / "ages.jsonl", [*[{"age": i + 0.5} for i in range(40)], {"age": "old"}, {"age": "young"}])
    schema = TreeDataset.from_file(path).reading.schema
    assert isinstance(schema, dict)
    schema["paths"]["$.age"]["kind"] = "number"
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    data = TreeDataset.from_file(path, schema=str(tmp_path / "schema.json"))
    with pytest.raises(ValueError, match=r"line 41: \$\.age, not number \(2 of 42 documents\); change its kind"):
        check_schema(data)
    del schema["paths"]["$.age"]
    with pytest.raises(ValueError, match=r"line 1: \$\.age, a new path \(42 of 42 documents\)"):
        check_schema(TreeDataset.from_file(path, schema=schema))


def test_a_map_is_refused_with_the_way_out() -> None:
    values = documents(package, 200)
    reading = with_notation(values, Reading())
    data = TreeDataset(read_objects(values, reading), reading=reading)
    with pytest.raises(ValueError, match=r'^\$\.dependencies is an object .* "skip": true or the kind "pairs"'):
        check_schema(data)


def test_settings_that_are_no_schema_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Reading(schema=str(tmp_path / "none.json"))
    with pytest.raises(ValueError, match="schema is for JSON documents, but the notation is 'infix'"):
        Reading(schema={"paths": {"$": {"kind": "object"}}}, notation="infix")
    with pytest.raises(ValueError, match=r"expected an object with \"paths\""):
        Reading(schema={})


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ('{"a": NaN}', "invalid JSON: line 1, column 16: found NaN, which is not JSON"),
        ('{"a": Infinity}', "found Infinity, which is not JSON"),
        ('{"a": 1, "a": 2}', 'the key "a" occurs twice'),
        ("[1]", r"\$: found a list; expected an object"),
        ('"x"', "not a valid json_object tree: line 1, column 1"),
        ("3", "found int; expected text"),
    ],
)
def test_a_bad_document_is_left_out_with_its_line(tree: str, message: str, tmp_path: Path) -> None:
    rows = [f'{{"tree": {text}}}' for text in ['{"a": 1}'] * 30 + [tree]]
    (tmp_path / "documents.jsonl").write_text("\n".join(rows) + "\n")
    data = TreeDataset.from_file(tmp_path / "documents.jsonl", cached=False)
    assert len(data) == 30
    [bad] = data.bad
    assert bad.line == 31
    assert re.search(message, bad.message)


def test_rows_that_change_the_schema_move_no_earlier_row(tmp_path: Path) -> None:
    random = Random(0)
    values = [{"name": f"x{random.randrange(40 if i < 300 else 400)}", "i": i / 7} for i in range(3000)]
    parts = []
    for count in (300, 3000):
        data = TreeDataset.from_file(write(tmp_path / f"{count}.jsonl", values[:count]), cached=False)
        schema = data.reading.schema
        assert isinstance(schema, dict)
        of_line = {}
        for name, some in split(data, 0).items():
            of_line.update(dict.fromkeys(some.lines, name))
        parts.append((schema["paths"]["$.name"]["kind"], of_line))
    (few, before), (many, after) = parts
    assert (few, many) == ("category", "text")
    assert {line: after[line] for line in before} == before
