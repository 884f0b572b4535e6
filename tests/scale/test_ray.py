"""Large tables by a cluster of Ray: the rows of one process, each once, whatever dies.

.venv/bin/python -m pytest -m ray
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from own_trees import rows_of, table

from dgltree import Vocabulary, read_infix
from dgltree.commands.main import main
from dgltree.datasets import Reading
from dgltree.encoders import make_encoder
from dgltree.models import NumberReadout, TreeModel

ray = pytest.importorskip("ray", reason="the extra ray is not installed")
pyarrow = pytest.importorskip("pyarrow", reason="the train extra is not installed")

from pyarrow.parquet import read_table, write_table  # noqa: E402

from dgltree.scale import Encode, run  # noqa: E402
from dgltree.scale.equation_jobs import Complete  # noqa: E402
from dgltree.scale.running import ANY_ADDRESS, start_cluster  # noqa: E402
from dgltree.scale.tree_jobs import TreeJob  # noqa: E402
from dgltree.training.own_cells import register  # noqa: E402
from dgltree.training.trained_model import TrainedModel  # noqa: E402

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]  # Ray's own, of what it does beside its work
ROWS = 60


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """One for all tests that need no other."""
    with start_cluster():
        yield


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few rows, so that there are several."""
    monkeypatch.setattr(TreeJob, "rows", 16)
    monkeypatch.setattr(Complete, "rows", 2)


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    """A file of trees of which some are bad: no tree, an unknown function, no label."""
    _, *rows = rows_of(table(ROWS, seed=3))
    columns = dict(zip(("id", "tree", "label"), map(list, zip(*rows, strict=True)), strict=True))
    columns["tree"][7], columns["tree"][20] = "x+", "sin(x)"
    columns["label"][30] = None
    path = tmp_path / "trees.parquet"
    write_table(pyarrow.table({"tree": columns["tree"], "label": columns["label"]}), path, row_group_size=40)
    return path


@pytest.fixture
def named(trees: Path) -> Path:
    """The same with ids, of which two occur twice: that of a good record, and that of a bad one."""
    ids = [f"e{i}" for i in range(ROWS)]
    ids[40], ids[41], ids[50] = "e2", "e7", ""
    path = trees.with_stem("named")
    write_table(read_table(trees).append_column("id", pyarrow.array(ids)), path, row_group_size=40)
    return path


def written(out: Path) -> list[dict[str, Any]]:
    """All rows of the output, in the order of the names of its files."""
    return pyarrow.concat_tables([read_table(path) for path in sorted(out.glob("*.parquet"))]).to_pylist()


def test_vectors_are_those_of_one_process(
    cluster: None, fitted: Path, named: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["encode", str(fitted / "model"), str(named), "--out"]
    assert main([*arguments, str(tmp_path / "one.parquet")]) == 1
    alone = capsys.readouterr()
    assert main([*arguments, str(tmp_path / "out"), "--ray"]) == 1
    said = capsys.readouterr()
    assert len(list((tmp_path / "out").glob("*.parquet"))) > 1
    wanted, found = read_table(tmp_path / "one.parquet").to_pylist(), written(tmp_path / "out")
    for row, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(row.pop("vector"), other.pop("vector"), atol=1e-6)
        assert row == other
    told = [{line for line in text.splitlines() if "line " in line} for text in (alone.err, said.err)]
    assert told[0] == told[1]
    assert len(told[0]) == 3  # the bad one's id was not used by a record that could be read
    assert "the id 'e2' was already used in line 3" in said.err
    assert "rows, and 3 records that could not be read" in said.out


def test_predictions_are_those_of_one_process(
    cluster: None, fitted: Path, trees: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", str(fitted / "model"), str(trees)]) == 1
    header, *wanted = rows_of(capsys.readouterr().out)
    assert main(["predict", str(fitted / "model"), str(trees), "--out", str(tmp_path / "out"), "--ray"]) == 1
    found = written(tmp_path / "out")
    assert list(found[0]) == ["line", *header]
    assert [row["line"] for row in found] == list(range(1, ROWS + 1))
    for row, other in zip(found, wanted, strict=True):
        assert [row["id"], row["prediction"] or ""] == other[:2]
        assert (
            [row["neg"], row["pos"]] == pytest.approx([float(p) for p in other[2:]], abs=1e-6)
            if other[2]
            else [None] * 2
        )


def test_metrics_are_those_of_one_process(
    cluster: None, fitted: Path, fitted_numbers: Path, trees: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = tmp_path / "values.parquet"
    _, *rows = rows_of(table(ROWS, "value", seed=5))
    write_table(pyarrow.table({"tree": [row[1] for row in rows], "label": [float(row[2]) for row in rows]}), values)
    for model, path in ((fitted / "model", trees), (fitted_numbers, values)):
        arguments = ["evaluate", str(model), str(path), "--json"]
        assert main(arguments) == 0
        wanted = json.loads(capsys.readouterr().out)
        del wanted["refused"]  # a cluster counts them with all that is left out
        assert main([*arguments, "--out", str(tmp_path / path.stem), "--ray"]) == 0
        answer = json.loads(capsys.readouterr().out)
        by_class = zip(answer.pop("by_class", []), wanted.pop("by_class", []), strict=True)
        assert all(
            one.pop("name") == other.pop("name") and one == pytest.approx(other, abs=1e-6) for one, other in by_class
        )
        assert answer.pop("confusion", None) == wanted.pop("confusion", None)
        assert answer == pytest.approx(wanted, abs=1e-6)
        assert {"line", "id", "label", "prediction"} <= set(written(tmp_path / path.stem)[0])
    assert wanted["examples"] == ROWS


def test_completions_are_those_of_one_process(
    cluster: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ["x + _ = 3x", "2 +", "sin(x)^2 + _ = 1", "x = x"]
    write_table(pyarrow.table({"equation": [*texts, None]}), tmp_path / "equations.parquet")
    assert main(["complete", *texts, "--json", "--top", "3"]) == 1
    wanted = list(map(json.loads, capsys.readouterr().out.splitlines()))
    assert [row["equation"] for row in wanted] == texts
    arguments = ["complete", str(tmp_path / "equations.parquet"), "--top", "3", "--out", str(tmp_path / "out"), "--ray"]
    assert main(arguments) == 1
    assert "line 2: " in capsys.readouterr().err
    *found, last = written(tmp_path / "out")
    assert [row["line"] for row in (*found, last)] == [1, 2, 3, 4, 5]
    assert last["error"] == "nothing in the column 'equation'; expected an equation"
    for row, other in zip(found, wanted, strict=True):
        row["fillers"] = row["fillers"] and [
            {k: v for k, v in each.items() if v is not None} for each in row["fillers"]
        ]
        there = {
            name: value for name, value in row.items() if value is not None and name not in ("line", "id", "seconds")
        }
        fillers = other.get("fillers") and [
            {k: v for k, v in each.items() if k in ours}
            for each, ours in zip(other["fillers"], row["fillers"], strict=True)
        ]  # of a verdict the files have the words and the codes
        other |= {"fillers": fillers}
        assert there == {name: value for name, value in other.items() if value is not None and name != "seconds"}


def test_only_what_is_missing_is_made_and_nothing_is_mixed(
    cluster: None,
    fitted: Path,
    trees: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "out"
    arguments = ["encode", str(fitted / "model"), str(trees), "--out", str(out), "--ray"]
    assert main(arguments) == 1
    rows, [first, *others] = written(out), sorted(out.glob("*.parquet"))
    first.unlink()
    (out / f".{first.name}.0.part").write_bytes(b"half")
    before = [path.stat().st_mtime_ns for path in others]
    assert main(arguments) == 1
    assert written(out) == rows
    assert [path.stat().st_mtime_ns for path in others] == before
    assert sorted(path.name for path in out.iterdir()) == [*(path.name for path in (first, *others)), "_run.json"]
    capsys.readouterr()
    assert main([*arguments, "--nodes"]) == 1
    assert "holds another run (another kind of rows" in capsys.readouterr().err
    assert main(["predict", *arguments[1:]]) == 1
    assert "holds another run (another command" in capsys.readouterr().err
    with monkeypatch.context() as other:
        other.setattr(TreeJob, "rows", 17)
        assert main(arguments) == 1
    assert "(another size of blocks)" in capsys.readouterr().err
    write_table(read_table(trees).slice(1), trees)
    assert main(arguments) == 1
    assert "(another data)" in capsys.readouterr().err
    assert written(out) == rows


def test_a_ray_data_set_is_mapped_by_a_job(cluster: None, fitted: Path, named: Path, tmp_path: Path) -> None:
    vectors = ray.data.read_parquet(str(named)).map_batches(
        Encode,
        fn_constructor_args=[str(fitted / "model")],
        batch_format="pyarrow",
        batch_size=16,
        compute=ray.data.ActorPoolStrategy(size=1),
    )
    found = {row["id"]: row["vector"] for row in vectors.take_all() if row["id"]}
    main(["encode", str(fitted / "model"), str(named), "--out", str(tmp_path / "one.parquet")])
    wanted = {row["id"]: row["vector"] for row in read_table(tmp_path / "one.parquet").to_pylist() if row["id"]}
    for name in ("e0", "e59"):
        np.testing.assert_allclose(found[name], wanted[name], atol=1e-6)


def test_a_cell_of_ones_own_travels_to_the_workers(cluster: None, tmp_path: Path) -> None:
    file = tmp_path / "my_cells.py"
    file.write_text("from dgltree.cells import TreeRNN\n\n\nclass Mine(TreeRNN):\n    pass\n", encoding="utf-8")
    register(f"{file}:Mine")
    vocabulary = Vocabulary.from_trees([read_infix("x+y")])
    encoder = make_encoder("Mine", vocabulary, 8)
    TrainedModel(TreeModel(encoder, NumberReadout(8)), Reading(notation="infix")).save(tmp_path / "model")
    write_table(pyarrow.table({"tree": ["x+y", "x"]}), tmp_path / "trees.parquet")
    outcome = run(Encode(tmp_path / "model", cell=f"{file}:Mine"), tmp_path / "trees.parquet", tmp_path / "out")
    assert (outcome.rows, outcome.left_out) == (2, 0)


def test_an_error_of_a_worker_is_said_as_here(
    cluster: None, fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pairs.parquet"
    write_table(pyarrow.table({"left": ["x"], "right": ["y"]}), path)
    assert main(["predict", str(fitted / "model"), str(path), "--out", str(tmp_path / "out"), "--ray"]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith("dgltree: the model reads single trees")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trees.parquet", "--ray", "--tree", "none"], "no column 'none'"),
        (["trees.tsv", "--ray"], "trees.tsv: not a Parquet file"),
        (["none.parquet", "--ray"], "none.parquet: no such file or folder"),
        (["trees.parquet", "--ray", "--device", "cuda"], "the cluster has no GPU"),
        (["trees.parquet", "--ray", "--strict"], "trees.parquet, line "),
    ],
)
def test_bad_input_is_told_in_one_line(
    arguments: list[str], message: str, cluster: None, fitted: Path, trees: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (trees.parent / "trees.tsv").write_text("tree\nx\n", encoding="utf-8")
    path, *more = arguments
    out = str(trees.parent / "out")
    assert main(["encode", str(fitted / "model"), str(trees.parent / path), "--out", out, *more]) == 1
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_an_address_where_nothing_listens_is_told(
    fitted: Path, trees: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ray.shutdown()
    arguments = ["encode", str(fitted / "model"), str(trees), "--out", str(tmp_path / "out")]
    assert main([*arguments, "--ray", "127.0.0.1:1"]) == 1
    assert "no Ray cluster responds at 127.0.0.1:1" in capsys.readouterr().err.splitlines()[-1]


def test_after_a_cluster_on_the_loopback_other_machines_are_refused(monkeypatch) -> None:
    ray.shutdown()
    monkeypatch.setenv(ANY_ADDRESS, "0")
    with pytest.raises(ValueError, match=r"connect to 127\.0\.0\.1:1 in a new process"), start_cluster("127.0.0.1:1"):
        pass


LISTENING = """
import sys
from pathlib import Path
from dgltree.scale.running import start_cluster

def below(process):
    children = [line for task in Path(f"/proc/{process}/task").glob("*/children") for line in task.read_text().split()]
    return [process, *(each for child in children for each in below(child))]

with start_cluster():
    import ray
    ray.get(ray.remote(lambda: None).remote())
    files = [file for each in below("self") for file in Path(f"/proc/{each}/fd").iterdir()]
    links = [str(file.readlink()) for file in files if file.is_symlink()]
    for line in [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").open()]:
        if line[3] == "0A" and f"socket:[{line[9]}]" in links:
            print(line[1].rpartition(":")[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_cluster_of_this_machine_listens_on_the_loopback_alone() -> None:
    done = subprocess.run([sys.executable, "-c", LISTENING], capture_output=True, text=True, check=True)
    addresses = done.stdout.split()
    assert len(addresses) >= 4  # of the command, of both programs of Ray, and of a worker
    assert set(addresses) <= {"0100007F", "0000000000000000FFFF00000100007F"}


def test_a_command_that_was_killed_is_finished_by_the_same_one(fitted: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "trees.parquet", tmp_path / "out"
    _, *rows = rows_of(table(8000, seed=4))
    write_table(pyarrow.table({"tree": [row[1] for row in rows]}), path)
    code = (
        "import sys; from dgltree.commands.main import main; from dgltree.scale.tree_jobs import TreeJob; "
        "TreeJob.rows = 400; sys.exit(main(sys.argv[1:]))"
    )
    arguments = ["encode", str(fitted / "model"), str(path), "--out", str(out), "--ray"]
    command = [sys.executable, "-c", code, *arguments]
    begun = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    while begun.poll() is None and not list(out.glob("*.parquet")):
        time.sleep(0.05)
    begun.kill()
    assert begun.wait(60)
    there = len(list(out.glob("*.parquet")))
    assert 0 < there < 20
    assert (
        subprocess.run(command, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, timeout=900).returncode == 0
    )
    assert [row["line"] for row in written(out)] == list(range(1, 8001))
