"""With ``--tree .`` a JSON record is itself a tree, without what is read next to it."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dgltree import TreeDataset
from tests.read.documents import KINDS, documents

NEXT_TO_TREE = {"label", "split", "id", "site"}


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    text = json.dumps(rows, indent=1) if path.suffix == ".json" else "".join(f"{json.dumps(row)}\n" for row in rows)
    path.write_text(text)
    return path


def contents(data: TreeDataset) -> list[Any]:
    rows = zip(data, data.labels, data.splits, data.ids, strict=True)
    return [(trees, label, split, name) for trees, label, split, name in rows]


@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_record_is_the_tree_that_it_is_in_a_column_of_its_own(kind: Any, suffix: str, tmp_path: Path) -> None:
    random = Random(0)
    rows = []
    for i, document in enumerate(documents(kind, 60)):
        content = {name: value for name, value in document.items() if name not in NEXT_TO_TREE}
        columns = {"label": random.choice("ab"), "split": "test" if i > 50 else "train", "id": f"x{i}", "site": "s"}
        rows.append((content, columns))
    nested = write(tmp_path / f"nested{suffix}", [{"tree": content, **columns} for content, columns in rows])
    flat = []
    for content, columns in rows:
        items = [*content.items(), *columns.items()]
        random.shuffle(items)
        flat.append(dict(items))
    data = TreeDataset.from_file(write(tmp_path / f"flat{suffix}", flat), tree=".", features="site")
    expected = TreeDataset.from_file(nested, features="site")
    assert contents(data) == contents(expected)
    assert data.reading.schema == expected.reading.schema
    assert data.groups == expected.groups, "splits by hash are of the documents without their labels"


def test_columns_that_a_label_or_split_is_matched_in_are_not_in_the_tree(tmp_path: Path) -> None:
    rows = [{"kind": f"{'ab'[i % 2]}-{i % 3}", "part": ["train", "test"][i % 2], "label": i % 4} for i in range(40)]
    reading = {"notation": "json_object", "tree": ".", "label_from": "kind:^.", "split_from": "part"}
    data = TreeDataset.from_file(write(tmp_path / "rows.jsonl", rows), **reading)
    assert data.labels[:2] == ["a", "b"] and data.splits[:2] == ["train", "test"]
    tree, _ = data[5]
    assert [node.function for node in tree.preorder()] == ["$", "$.label"], "which is a key like others here"


def test_two_columns_of_trees_are_keys_of_a_record_that_is_a_tree(tmp_path: Path) -> None:
    rows = [{"left": i % 3, "right": i % 5, "label": "a"} for i in range(30)]
    data = TreeDataset.from_file(write(tmp_path / "rows.jsonl", rows), notation="json_object", tree=".")
    assert data.each == 1 and len(data[0][0].children) == 2


def test_records_without_a_column_of_trees_are_refused_with_advice_and_tables_cannot_be_trees(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", [{"user": {"age": i}, "label": "a"} for i in range(20)])
    with pytest.raises(ValueError, match=r"no column 'tree', only 'user', 'label'; .* or give --tree \. if each"):
        TreeDataset.from_file(path)
    table = tmp_path / "table.csv"
    table.write_text("a,label\n1,x\n")
    with pytest.raises(ValueError, match=r"table.csv: --tree \. reads JSON records as trees, but this is a table"):
        TreeDataset.from_file(table, tree=".")
