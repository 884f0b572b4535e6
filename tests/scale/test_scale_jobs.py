"""What is done to the rows of a table, without a cluster: as one process does it."""

import hashlib
import shutil
import socket
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tampered import kinds
from tampered import write as write_model

from dgltree.commands.main import main

pyarrow = pytest.importorskip("pyarrow", reason="the train extra is not installed")
pytest.importorskip("lightning", reason="the train extra is not installed")

from pyarrow.parquet import read_table, write_table  # noqa: E402

from dgltree.datasets.formats import Bad  # noqa: E402
from dgltree.scale import Complete, Encode, Evaluate, Predict, run, tree_jobs  # noqa: E402
from dgltree.scale.job import TableJob, join_rows  # noqa: E402
from dgltree.scale.running import _check  # noqa: E402
from dgltree.scale.tables import open_tables  # noqa: E402
from dgltree.scale.tree_jobs import TreeJob  # noqa: E402
from dgltree.training.objectives.threshold import Threshold  # noqa: E402
from dgltree.training.trained_model import TrainedModel  # noqa: E402

TEXTS = ["x", "x+", "x+y", "sin(x)", "z*x", "y"]


def answered(job: TableJob, path: Path) -> tuple[list[dict[str, Any]], list[Bad]]:
    """All rows of the output, and what was left out."""
    tables = open_tables(str(path))
    job.opened(str(path), tables.columns, partial(tables.sample, max_line=job.max_line))
    rows, left_out = [], []
    for span in tables.spans(job.rows, job.size):
        for some in span.read(job.columns, set(span.blocks()), job.max_line):
            plan = job.plan(some)
            table, bad = join_rows(plan, job.answer(plan.inputs))
            rows += table.to_pylist()
            left_out += bad
    return rows, left_out


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of two files."""
    folder = tmp_path / "trees"
    for name, texts in {"a/1": TEXTS[:2], "b": TEXTS[2:]}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_table(
            pyarrow.table({"tree": texts, "class": ["pos", None] * (len(texts) // 2)}), folder / f"{name}.parquet"
        )
    return folder


def test_nodes_have_the_vectors_of_one_process(fitted: Path, tmp_path: Path) -> None:
    path = tmp_path / "trees.parquet"
    write_table(pyarrow.table({"tree": TEXTS}), path)
    one = tmp_path / "one.parquet"
    assert main(["encode", str(fitted / "model"), str(path), "--nodes", "--out", str(one)]) == 1
    found, bad = answered(Encode(fitted / "model", nodes=True), path)
    for row, other in zip(found, read_table(one).to_pylist(), strict=True):
        np.testing.assert_allclose(row.pop("vector"), other.pop("vector"), atol=1e-6)
        assert row == other
    assert [each.line for each in bad] == [4, 2]


def test_a_folder_of_files_is_one_table_whose_ids_say_the_file(fitted: Path, folder: Path) -> None:
    found, bad = answered(Predict(fitted / "model"), folder)
    assert [row["id"] for row in found] == ["a/1.parquet:1", "a/1.parquet:2", *(f"b.parquet:{i}" for i in range(1, 5))]
    assert [row["prediction"] is not None for row in found] == [True, False, True, False, True, True]
    assert [each.where for each in bad] == ["a/1.parquet, line 2", "b.parquet, line 2"]


@pytest.mark.parametrize("job", [Predict, Encode])
def test_answers_go_to_their_rows_whatever_is_read_at_a_time(
    job: type[TreeJob], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that cannot be read are in each part: first, last, alone, and all of one."""
    model = tmp_path / "model"
    model.mkdir()
    write_model(kinds()["classes"].content, model)
    texts = ["x", "x+", "x*y", "sin(x)", "(", "y", "y*x", "x*x", "*", "/", ")", "sin(y)", "y", "x+y"]
    write_table(pyarrow.table({"tree": texts}), tmp_path / "trees.parquet")
    found = {}
    for rows in (len(texts), 1, 2, 3, 5):
        monkeypatch.setattr(tree_jobs, "ROWS", rows)
        found[rows], _ = answered(job(model), tmp_path / "trees.parquet")
    if job is Predict:
        refused = {1, 4, 8, 9, 10}
        assert [row["prediction"] is None for row in found[2]] == [k in refused for k in range(len(texts))]
    for rows, others in found.items():
        assert [row["line"] for row in others] == [row["line"] for row in found[1]], rows
        for row, other in zip(others, found[1], strict=True):
            for name in row.keys() - {"vector"}:
                assert row[name] == (pytest.approx(other[name]) if isinstance(other[name], float) else other[name])
            np.testing.assert_allclose(row.get("vector", 0), other.get("vector", 0), atol=1e-6)
    assert len({str(row) for row in found[1]}) == len(found[1])


def test_what_has_no_label_is_left_out_of_an_evaluation(fitted: Path, folder: Path) -> None:
    found, bad = answered(Evaluate(fitted / "model", label="class"), folder)
    assert [(row["id"], row["label"]) for row in found] == [
        ("a/1.parquet:1", "pos"),
        ("b.parquet:1", "pos"),
        ("b.parquet:3", "pos"),
    ]
    assert [each.message for each in bad if "label" in each.message] == ["b.parquet:4: no label"]


def test_numbers_are_predicted_as_numbers(fitted_numbers: Path, folder: Path) -> None:
    found, _ = answered(Predict(fitted_numbers), folder)
    assert [type(row["prediction"]) for row in found] == [float, type(None), float, type(None), float, float]


def test_a_block_without_a_good_row_has_the_columns_of_the_others(fitted: Path, fitted_numbers: Path) -> None:
    good, bad = (pyarrow.table({"tree": [text, text]}) for text in ("x", "sin(x)"))
    for job in (Encode(fitted / "model"), Encode(fitted / "model", nodes=True), Predict(fitted / "model")):
        assert job(good).schema == job(bad).schema
    assert Predict(fitted_numbers)(good).schema == Predict(fitted_numbers)(bad).schema


def test_all_batches_of_a_job_are_read_by_the_first_one(fitted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its columns and its notation: the second batch has texts of another one, and other columns."""
    job, opened = Predict(fitted / "model", notation=None), []
    monkeypatch.setattr(job, "opened", lambda *given: (opened.append(given[1]), Predict.opened(job, *given)))
    first, second = (
        pyarrow.table({"tree": texts, "more": ["1"] * len(texts)}) for texts in (["x+y", "y"], ["(Add x y)"])
    )
    assert [row["prediction"] is None for row in job(first).to_pylist()] == [False, False]
    assert [row["prediction"] is None for row in job(second).to_pylist()] == [True]
    assert [row["prediction"] is None for row in job(first.drop(["more"])).to_pylist()] == [False, False]
    assert opened == [["tree", "more"]]


def test_a_run_knows_all_the_files_of_its_model(fitted: Path, tmp_path: Path) -> None:
    """One that goes on with another model, way of reading or baseline would mix answers."""
    model = tmp_path / "model"
    shutil.copytree(fitted / "model", model)
    before = Predict(model).settings()["model"]
    assert before == hashlib.sha256((model / "reading.json").read_bytes()).hexdigest(), (
        "it has the digests of the others"
    )
    TrainedModel.load(model).save(model)
    assert Predict(model).settings()["model"] == before
    trained = TrainedModel.load(model)
    trained.predict_from(Threshold(0, 0.25))
    trained.save(model)
    assert Predict(model).settings()["model"] != before
    kinds_of_rows = [Encode(model, nodes=nodes).settings()["kind of rows"] for nodes in (False, True)]
    assert kinds_of_rows == ["trees", "nodes"]


@pytest.mark.parametrize("by_score", [False, True])
def test_equations_are_completed_and_refused(by_score: bool) -> None:
    job = Complete("text", top=2, by_score=by_score)
    batch = pyarrow.table({"text": ["x + _ = 3x", "x = x", "2 +", None], "id": ["a", None, "c", "d"]})
    first, *others = job(batch).to_pylist()
    assert (first["id"], first["understood"], first["blanks"], first["found"]) == ("a", "x + _ = 3*x", ["_"], True)
    assert len(first["fillers"]) == (2 if by_score else 1)
    assert first["fillers"][0]["blanks"] == [{"name": "_", "infix": "2*x", "latex": "2x"}]
    assert (first["fillers"][0]["score"] is not None) == by_score
    assert [row["id"] for row in others] == ["2", "c", "d"]
    assert all(row["error"] and row["fillers"] is None for row in others)
    with pytest.raises(ValueError, match=r"no column 'equation'; .* Name yours with --column"):
        Complete()(batch)


def test_a_row_over_the_limit_is_left_out_and_has_its_place(fitted: Path, tmp_path: Path) -> None:
    write_table(pyarrow.table({"tree": ["x" * 200, "x", "y" * 31, "y"]}), tmp_path / "long.parquet")
    rows, left_out = answered(Predict(fitted / "model", max_line=30), tmp_path / "long.parquet")
    assert [row["line"] for row in rows] == [1, 2, 3, 4]
    assert [row["prediction"] is None for row in rows] == [True, False, True, False]
    message = "longer than 30 bytes, the limit (--max-line)"
    assert left_out == [Bad(1, message), Bad(3, message)]


def test_an_equation_over_the_limit_is_refused_in_its_place(tmp_path: Path) -> None:
    write_table(pyarrow.table({"id": ["a", "b"], "equation": ["x" * 1_000_001, "2*3 = _"]}), tmp_path / "long.parquet")
    rows, left_out = answered(Complete(), tmp_path / "long.parquet")
    message = "longer than 1,000,000 bytes, the limit (--max-line)"
    assert [(row["id"], row["equation"], row["error"]) for row in rows] == [
        ("1", None, message),
        ("b", "2*3 = _", None),
    ]
    assert left_out == [Bad(1, message)]


def test_ray_that_is_missing_is_told_with_what_brings_it(
    fitted: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(ValueError, match=r"Ray is not installed \(the extra 'ray'"):
        run(Encode(fitted / "model"), folder, tmp_path / "out")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "MODEL", "t.parquet", "--ray"], "give the folder for them as --out DIR"),
        (["predict", "MODEL", "t.parquet", "--out", "o"], "--out is for --ray"),
        (["encode", "MODEL", "t.parquet", "--out", "o", "--ray", "--threads", "2"], "--threads is for one process"),
        (["complete", "x + _ = 1", "--out", "o"], "are for --ray"),
        (["complete", "x + _ = 1", "--ray"], "give the folder for them as --out DIR"),
        (["complete", "a.parquet", "b.parquet", "--out", "o", "--ray"], "one Parquet file or folder"),
    ],
)
def test_options_that_need_each_other(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("protocol", ["", "ray://"])
def test_a_cluster_is_looked_for_where_its_address_says(protocol: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        _check(f"{protocol}127.0.0.1:{port}")
    with pytest.raises(ValueError, match=f"no Ray cluster responds at {protocol}127.0.0.1:{port}"):
        _check(f"{protocol}127.0.0.1:{port}")
