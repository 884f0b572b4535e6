"""The published equations, fillers and weights, against the published ranks."""

import importlib.util
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from dgltree import read_equation, read_infix
from dgltree.ranking.path_engine import FusedPaths
from tasks.equations.completion import ranks as completion

LIMIT = 120


def run(*arguments: object) -> int:
    return completion.main(list(map(str, arguments)))


def options(folder: Path, out: Path) -> list[object]:
    candidates = folder / "candidate_classes.json"
    return ["--blanks", folder / "blanks", "--candidates", candidates, "--out", out, "--limit", LIMIT]


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", ["tree_rnn_h45", "tree_lstm_h50", "tree_smu_h50"])
def test_ranks_are_the_published_ones_through_kernels_too(
    name: str, published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, out = published / "equations", tmp_path / "ranks.json"
    out.write_text("old")
    through_kernels, up = [], FusedPaths.root_states
    monkeypatch.setattr(FusedPaths, "root_states", lambda *given: through_kernels.append(1) or up(*given))
    weights = folder / "checkpoints" / f"{name}.checkpoint"
    assert run("--model", weights, *options(folder, out)) == 0
    assert bool(through_kernels) == (name != "tree_rnn_h45" and importlib.util.find_spec("numba") is not None)
    found = json.loads(out.read_text())
    expected = json.loads((folder / "published_ranks.json").read_text())[name]
    assert found["columns"] == expected["columns"]
    rows = {(row[0], row[1]): row for row in expected["ranks"]}
    same = [[a == b for a, b in zip(row, rows[row[0], row[1]], strict=True)] for row in found["ranks"]]
    assert len(same) == LIMIT
    assert all(row[2] for row in same)
    for column in (3, 4, 5):
        assert sum(row[column] for row in same) >= LIMIT - 1, "a tie may move one rank"
    printed = capsys.readouterr().out
    one, five = map(float, re.search(r"valid@1 ([\d.]+), valid@5 ([\d.]+)", printed).groups())
    assert 0.2 < one < five < 1
    assert [path.name for path in tmp_path.iterdir()] == ["ranks.json"]


def test_the_first_filler_that_makes_an_equation_true_is_found() -> None:
    equations = [read_equation(text) for text in ("sin(var_0)^2 + _ = 1", "_ = var_0", "var_0*_ = var_0")]
    fillers = [[read_infix(text) for text in ("var_0", "cos(var_0)^2")], [], [read_infix("1")]]
    blanks = [SimpleNamespace(example=SimpleNamespace(equation=equation)) for equation in equations]
    assert completion.first_valid(blanks, fillers) == [2, None, 1]


@pytest.mark.data
def test_without_a_checkpoint_the_shipped_model_is_used(
    published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completion, "time", SimpleNamespace(perf_counter=iter([1.0, 7.0]).__next__))
    assert run(*options(published / "equations", tmp_path / "ranks.json")[:-1], 12) == 0
    assert "\n500.0 ms per equation" in capsys.readouterr().out  # 6 s for 12


@pytest.mark.data
def test_bad_files_are_named_and_leave_no_ranks(
    published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = tmp_path / "equations", tmp_path / "ranks.json"
    (folder / "blanks").mkdir(parents=True)
    shutil.copy(published / "equations" / "candidate_classes.json", folder)
    assert run(*options(folder, out)) == 1
    assert "no files named *_N.json" in capsys.readouterr().err
    whole = (published / "equations" / "blanks" / "40k_test_blank_0.json").read_text()
    (folder / "blanks" / "blank_0.json").write_text(whole[: len(whole) // 2])
    assert run(*options(folder, out)) == 1
    assert "blank_0.json" in capsys.readouterr().err
    assert not out.exists()


def test_the_picture_has_the_shares_of_each_depth() -> None:
    rows = [[0, 0, 2, 9, 1, 1], [0, 1, 2, 9, 5, 2], [0, 2, 4, 9, 6, 5], [0, 3, 4, 1, 1, 1], [0, 4, 4, 1, 7, 1]]
    found = completion.by_depth(rows)
    shares = {name: {depth: share for depth, (share, _) in line.items()} for name, line in found.items()}
    assert shares == {
        "class, top-1": {2: 0.5, 4: pytest.approx(1 / 3)},
        "class, top-5": {2: 1.0, 4: pytest.approx(1 / 3)},
        "collapse, top-1": {2: 0.5, 4: pytest.approx(2 / 3)},
        "collapse, top-5": {2: 1.0, 4: 1.0},
    }
