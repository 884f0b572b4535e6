"""Columns next to the tree as numbers, against their definition written once more with the statistics module."""

import json
import math
import random
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from own_trees import written

from dgltree import Tree, TreeDataset
from dgltree.batching.number_scales import FARTHEST
from dgltree.datasets.feature_columns import MAX_CATEGORIES, FeatureColumns, NumberFeature

TABLE = "tree\tlabel\tage\tsite\n" + "".join(
    f"(f a)\tx\t{age}\t{site}\n"
    for age, site in zip(("18", "72", "", "2.5e1"), ("north", "", "south", "north"), strict=True)
)


def literal_rows(column: Any, texts: list[str | None]) -> list[list[float]]:
    """What is read of each text: slow, by the definition."""
    if isinstance(column, NumberFeature):
        known = [
            [0.0 if text is None else math.asinh((float(text) - column.middle) / column.spread), float(text is None)]
            for text in texts
        ]
        return [row[: column.width] for row in known]
    rows = []
    for text in texts:
        row = [float(text == value) for value in column.values]
        row += [float(text is not None and text not in column.values)] * column.unknown
        rows.append(row + [float(text is None)] * column.missing)
    return rows


@pytest.mark.parametrize("seed", range(8))
def test_drawn_columns_are_read_as_they_are_defined(seed: int) -> None:
    rng = random.Random(seed)
    unit = 10.0 ** rng.randrange(-6, 9)

    def drawn(count: int) -> list[list[str | None]]:
        numbers = [repr(rng.gauss(3, 1) * unit) if rng.random() < 0.9 else None for _ in range(count)]
        texts = [rng.choice(["north", "south", f"alone {rng.random()}", None]) for _ in range(count)]
        return [numbers, texts]

    train, other = drawn(60), drawn(30)
    columns = FeatureColumns.of(["amount", "site"], train)
    amount, site = columns.columns
    values = [float(text) for text in train[0] if text is not None]
    middle = statistics.median(values)
    assert amount.middle == pytest.approx(middle)  # type: ignore[union-attr]
    spread = 1.4826 * statistics.median(abs(value - middle) for value in values)
    assert amount.spread == pytest.approx(spread)  # type: ignore[union-attr]
    assert site.values == ("north", "south")  # type: ignore[union-attr]
    for texts in (train, other):
        wanted = np.hstack([literal_rows(column, each) for column, each in zip(columns.columns, texts, strict=True)])
        np.testing.assert_allclose(columns.rows(texts), wanted, rtol=1e-5, atol=1e-6)
        assert columns.rows(texts).shape == (len(texts[0]), columns.width)
    again = FeatureColumns.from_json(json.loads(json.dumps(columns.to_json())))
    assert again.columns == columns.columns and [span.stop for _, span in again.spans][-1] == again.width


def test_what_training_has_not_seen_is_a_row_of_zeros() -> None:
    columns = FeatureColumns.of(["age", "site"], [["1", "2", "3"], ["a", "a", "a"]])
    assert (
        columns.rows([["2", None, "1e400"], ["a", None, "new"]][:0] or [["2", None], ["new", None]]).tolist()
        == [[0, 0]] * 2
    )
    assert columns.faults([["2", "two"], ["a", "3"]]) == {
        1: "age: 'two' is not a number, but the column held numbers in training"
    }
    dates = FeatureColumns.of(["day"], [["2026-11-27", "2026-11-28", "2026-11-29T00:00:00Z"]])
    assert dates.rows([["2026-11-28"]]).tolist() == [[0]]


def test_constant_columns_long_texts_and_ids_are_named() -> None:
    many = [f"text {i // 3}" for i in range(30_000)]
    table = [["7"] * 30_000, many, [str(i) + "x" for i in range(30_000)]]
    columns = FeatureColumns.of(["same", "many", "id"], table)
    assert list(columns.warnings(table)) == [
        "warning: same is the same in all training examples and not informative",
        f"many has 10,000 different values; the {MAX_CATEGORIES} most frequent values are categories, and all others "
        "are read as <unk>",
        "warning: no value of id occurs in two training examples; the column is not informative",
    ]
    assert [column.width for column in columns.columns] == [1, MAX_CATEGORIES + 1, 1]
    assert not columns.rows(table)[:, 0].any()
    with pytest.raises(ValueError, match=r"no training example has a value in the column 'empty' \(--features\)"):
        FeatureColumns.of(["empty"], [[None, None]])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["5,3", "7,1", None], "'5,3' is not a number, as it has a decimal comma"),
        (["5.3", "7", "unclear"], "'unclear' is not a number"),
        (["north", "7", "south"], None),
    ],
)
def test_numbers_that_are_read_as_texts_are_named(texts: list[str | None], message: str | None) -> None:
    table = [texts * 2]
    said = [] if message is None else [f"warning: size is read as categories, because {message}"]
    assert list(FeatureColumns.of(["size"], table).warnings(table)) == said


@pytest.mark.parametrize("data", [None, {}, [], [{}], [{"kind": "number"}], [{"kind": "x", "name": "a"}], "ab"])
def test_a_damaged_description_is_one_error(data: Any) -> None:
    with pytest.raises(ValueError, match="next to a tree"):
        FeatureColumns.from_json(data)


@pytest.mark.parametrize("name", ["trees.tsv", "trees.csv", "trees.jsonl", "trees.parquet"])
def test_columns_are_read_from_every_kind_of_table(name: str, tmp_path: Path) -> None:
    rows = [
        dict(zip(("tree", "label", "age", "site"), line.split("\t"), strict=True)) for line in TABLE.splitlines()[1:]
    ]
    if name.endswith("jsonl"):
        numbers = [
            {**row, "age": float(row["age"]) if row["age"] else None, "site": row["site"] or None} for row in rows
        ]
        path = written(tmp_path, name, "\n".join(map(json.dumps, numbers)))
    elif name.endswith("parquet"):
        pyarrow = pytest.importorskip("pyarrow", reason="the train extra is not installed")
        path = tmp_path / name
        table = pyarrow.Table.from_pylist([{**row, "age": float(row["age"]) if row["age"] else None} for row in rows])
        pyarrow.parquet.write_table(table, path) if hasattr(pyarrow, "parquet") else __import__(
            "pyarrow.parquet"
        ).parquet.write_table(table, path)
    else:
        path = written(tmp_path, name, TABLE if name.endswith("tsv") else TABLE.replace("\t", ","))
    for _ in "cached", "from the cache":
        data = TreeDataset.from_file(path, features="age, site")
        age, site = data.select([3, 0, 1, 2]).feature_table(["age", "site"])
        assert [None if text is None else float(text) for text in age] == [25, 18, 72, None]
        assert site == ["north", "north", None, "south"]
    with pytest.raises(ValueError, match=r"no .*'height'.*\(--features\)"):
        TreeDataset.from_file(path, features="age,height", named=False)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("age,tree", "features names 'tree', which is the column of the trees"),
        ("label", "features names 'label', which is the column of the labels"),
        ("age,age", "name each column once"),
        ("age,", "name each column once"),
    ],
)
def test_columns_that_cannot_be_features_are_refused(features: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        TreeDataset.from_file(written(tmp_path, "trees.tsv", TABLE), features=features)


def test_a_column_of_a_pair_is_not_a_feature(tmp_path: Path) -> None:
    path = written(tmp_path, "pairs.tsv", "left\tright\tlabel\n(f a)\t(f b)\tx\n")
    with pytest.raises(ValueError, match="--features names 'left', which is the column of the trees"):
        TreeDataset.from_file(path, features="left")


def test_columns_of_python_are_numbers_texts_truths_dates_or_nothing() -> None:
    trees, nan = [Tree("x")] * 4, float("nan")
    data = TreeDataset(trees, features={"a": [1, 2.5, nan, None], "b": ["x", True, np.float32(0.5), np.int64(3)]})
    assert data.feature_table(["b", "a"]) == [["x", "true", "0.5", "3"], ["1", "2.5", None, None]]
    with pytest.raises(ValueError, match="3 values of 'a' for 4 examples"):
        TreeDataset(trees, features={"a": [1, 2, 3]})
    with pytest.raises(ValueError, match="a: found \\[1\\]; expected a string or a finite number"):
        TreeDataset(trees, features={"a": [[1], 2, 3, 4]})


def test_a_comment_of_a_sentence_and_a_key_that_may_be_absent_are_columns(tmp_path: Path) -> None:
    words = "1\tcats\tcat\tNOUN\t_\t_\t0\troot\t_\t_\n"
    text = f"# label = a\n# age = 30\n{words}\n# label = b\n{words}"
    data = TreeDataset.from_file(written(tmp_path, "trees.conllu", text), features="age")
    assert data.feature_table(["age"]) == [["30", None]]
    records = [{"tree": "(f a)", "label": "a", "age": 30}, {"tree": "(f b)", "label": "b"}]
    path = written(tmp_path, "trees.jsonl", "\n".join(map(json.dumps, records)))
    assert TreeDataset.from_file(path, features="age").feature_table(["age"]) == [["30", None]]


def test_a_number_is_read_at_most_farthest_spreads_from_the_middle() -> None:
    column = NumberFeature("x", 0.0, 1e-10, 0.0, 1.0, missing=False)
    assert column.rows(["1e308", "-1e308", "0"])[:, 0].tolist() == pytest.approx(
        [math.asinh(FARTHEST), -math.asinh(FARTHEST), 0.0], rel=1e-15
    )
