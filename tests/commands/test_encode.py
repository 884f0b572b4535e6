"""``dgltree encode``."""

from pathlib import Path

import numpy as np
import pytest
from own_trees import QUIET
from tampered import kinds, write

from dgltree.commands.main import main

pytest.importorskip("lightning", reason="the train extra is not installed")

pytestmark = QUIET


def test_vectors_of_bad_lines_are_nan_and_those_of_nodes_say_whose_they_are(fitted: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.tsv"
    path.write_text("id\ttree\na\tx+y\nb\tx+\nc\tz\n", encoding="utf-8")
    model = str(fitted / "model")
    assert main(["encode", model, str(path), "--out", str(tmp_path / "v.npy")]) == 1
    vectors = np.load(tmp_path / "v.npy")
    assert np.isnan(vectors).all(1).tolist() == [False, True, False]
    assert main(["encode", model, str(path), "--out", str(tmp_path / "v.parquet"), "--nodes"]) == 1
    rows = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "v.parquet").to_pylist()
    assert [(row["line"], row["id"], row["node"], row["function"], row["token"]) for row in rows] == [
        (2, "a", 0, "Add", None),
        (2, "a", 1, "Symbol", "x"),
        (2, "a", 2, "Symbol", "y"),
        (4, "c", 0, "Symbol", "z"),
    ]
    np.testing.assert_allclose(rows[0]["vector"], vectors[0], atol=1e-6)
    np.testing.assert_allclose(rows[3]["vector"], vectors[2], atol=1e-6)


@pytest.mark.parametrize(
    ("out", "more", "message"),
    [
        ("v.csv", [], "a .npy or .parquet file"),
        ("v.npy", ["--nodes"], "vectors of nodes need a .parquet file, which also gives the tree of each node"),
    ],
)
def test_vectors_have_two_kinds_of_files(
    out: str, more: list[str], message: str, fitted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["encode", str(fitted / "model"), str(fitted / "trees.tsv"), "--out", out, *more]
    assert main(arguments) == 1
    assert message in capsys.readouterr().err


def test_a_block_of_trees_that_the_model_does_not_know_is_no_end(
    fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new.tsv"
    path.write_text("tree\nsin(x)\ncos(x)\n", encoding="utf-8")
    assert main(["predict", str(fitted / "model"), str(path)]) == 1
    assert capsys.readouterr().out.splitlines() == ["id\tprediction\tneg\tpos", "2\t\t\t", "3\t\t\t"]
    assert main(["encode", str(fitted / "model"), str(path), "--out", str(tmp_path / "v.npy")]) == 1
    assert np.isnan(np.load(tmp_path / "v.npy")).all()
    assert main(["encode", str(fitted / "model"), str(path), "--out", str(tmp_path / "no" / "v.npy")]) == 1
    assert f"there is no folder {tmp_path / 'no'}" in capsys.readouterr().err


def test_a_pair_has_two_rows_in_a_numpy_file_also_where_it_cannot_be_read(tmp_path: Path) -> None:
    write(kinds()["pairs"].content, tmp_path)
    path, lines = tmp_path / "new.tsv", ["x*y\ty*x", "x*y\tx+", "sin(x + y)\tx*y", "x*y\tx*y"]
    path.write_text("left\tright\n" + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert main(["encode", str(tmp_path), str(path), "--out", str(tmp_path / "v.npy")]) == 1
    vectors = np.load(tmp_path / "v.npy")
    assert vectors.shape == (8, 4)
    assert np.isnan(vectors).all(1).tolist() == [False, False, True, True, False, False, False, False]
    np.testing.assert_allclose(vectors[[5, 6, 7]], vectors[[0, 0, 0]], atol=1e-6)  # the same tree, x*y
    assert not np.allclose(vectors[0], vectors[1])
