"""Many trainings and their report."""

from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("lightning", reason="the train extra is not installed")
pytest.importorskip("matplotlib", reason="the plot extra is not installed")

import command_line

from dgltree.training.folder import read_epochs
from tasks import baselines, compare
from tasks.fit_cli import read_results as found_of
from tasks.listops.files import Expression, write_expressions

TINY = [
    "--data.count=200",
    "--fit.hidden_size=4",
    "--fit.epochs=1",
]


def run(out: Path, *arguments: str, further: list[str] = TINY) -> int:
    with command_line.quiet():
        return compare.main(["listops", f"--out={out}", "--models", "lstm", "tree_lstm", *arguments, "--", *further])


def test_a_row_has_means_over_seeds_and_the_best_of_each() -> None:
    seeds = [
        SimpleNamespace(
            figures=lambda k=k: {"accuracy": 0.5 + k / 10, "f1": 0.1 * k},
            epochs=lambda k=k: [{"accuracy": 0.4 + k / 10, "seconds": 30.0 * k}, {"accuracy": 0.2, "seconds": 90.0}],
        )
        for k in (1, 2, 3)
    ]
    *_, row = compare._table({"lstm": seeds}, {"accuracy": "accuracy", "f1": "F1"})  # type: ignore[dict-item]
    assert row == "| lstm | 3 | 70.0 ± 10.0 | 20.0 ± 10.0 | 80.0 | 60.0 ± 10.0 | 2 | 2.5 |"


@pytest.mark.slow
def test_models_and_shares_are_trained_once_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--variants", "100 %", "--seeds", "0") == 0  # in processes of their own, the others here
    shares = ["--variants", "100 %", "25 %", "--seeds", "0", "--jobs", "1"]
    assert capsys.readouterr().out.startswith("# listops\n\n2 of 2 trainings are done.")
    assert run(tmp_path, *shares) == 0
    report = capsys.readouterr().out
    assert report.startswith("# listops\n\n4 of 4 trainings are done.")
    rows = [line.split(" | ") for line in report.splitlines() if line.startswith(("| lstm", "| tree_lstm"))]
    assert [row[0] for row in rows] == ["| lstm", "| tree_lstm"] * 4
    figures = found_of(tmp_path / "25" / "lstm-0")
    assert [len(row) for row in rows] == [len(rows[0]), len(rows[0]), 9, 9] * 2, "and a table by operator"
    assert float(rows[4][-4]) == pytest.approx(100 * figures["accuracy"], abs=0.06), "the highest of one seed"
    assert float(rows[4][2]) == pytest.approx(100 * figures["accuracy"], abs=0.06)
    assert float(rows[6][1]) == pytest.approx(100 * figures["root_min"], abs=0.06)
    for picture in ("accuracy-100.png", "accuracy-25.svg", "epochs-25.png", "shares.png"):
        assert (tmp_path / picture).exists()
    files = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("card.json")}
    assert run(tmp_path, *shares) == 0
    assert files == {file: file.stat().st_mtime_ns for file in tmp_path.rglob("card.json")}
    with pytest.raises(SystemExit, match=r"lstm-0/job.json belongs to another run: options: .*fit.lr=0.1.* Give"):
        run(tmp_path, *shares, further=[*TINY, "--fit.lr=0.1"])


def test_pictures_show_the_test_by_groups_and_validation_by_epochs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = {}
    monkeypatch.setattr(compare.charts, "accuracy_by", lambda axis, models, **_: shown.update({axis: models}))
    monkeypatch.setattr(compare.charts, "save", lambda *_: [])
    assert run(tmp_path, "--models", "lstm", "--seeds", "0", "1", "--jobs", "1", further=[*TINY, "--fit.epochs=2"]) == 0
    first, second = (read_epochs(tmp_path / "100" / f"lstm-{seed}") for seed in (0, 1))
    means = [(one["accuracy"] + other["accuracy"]) / 2 for one, other in zip(first, second, strict=True)]
    assert [mean for mean, _ in shown["epoch"]["lstm"].values()] == pytest.approx(means)
    assert set(shown["epoch"]["lstm"]) == {0, 1}
    assert min(shown["words, up to"]["lstm"]) == 20


@pytest.mark.slow
def test_a_grid_is_one_table_in_which_validation_chooses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid = ["--models", "lstm", "--seeds", "0", "--grid", "fit.hidden_size=3,4", "fit.dropout=0,0.2", "--jobs", "1"]
    assert run(tmp_path, *grid) == 0
    report = capsys.readouterr().out
    assert report.startswith("# listops\n\n4 of 4 trainings are done.")
    rows = [line.replace("*", "") for line in report.splitlines() if "lstm |" in line.replace("*", "")]
    names = [f"100 % fit.hidden_size={width} fit.dropout={dropout}" for width in (3, 4) for dropout in ("0", "0.2")]
    assert [row.split(" | ")[1] for row in rows] == names
    points = [f"fit.hidden_size={width}/fit.dropout={dropout}" for width in (3, 4) for dropout in ("0", "0.2")]
    folders = [tmp_path / "100" / point / "lstm-0" for point in points]
    best = [max(row["accuracy"] for row in read_epochs(folder)) for folder in folders]
    test = [found_of(folder)["accuracy"] for folder in folders]
    for row, validation, tested in zip(rows, best, test, strict=True):
        cells = [float(cell.split(" ±")[0]) for cell in row.rstrip(" |").split(" | ")[3:]]
        assert cells == pytest.approx([100 * validation, 100 * tested], abs=0.06)
    [bold] = [line for line in report.splitlines() if line.startswith("| **lstm")]
    assert bold.split("** | **")[1] == names[best.index(max(best))]


def test_a_failing_training_is_named_and_the_rest_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    order = "--fit.options={order: leaves}"  # a tree has no order
    assert run(tmp_path, "--seeds", "0", "--jobs", "1", further=[*TINY, order]) == 1
    out = capsys.readouterr().out
    assert "1 of 2 trainings are done" in out
    assert "failed: 100 %, tree_lstm, seed 0: error: " in out
    assert f"({tmp_path / '100' / 'tree_lstm-0' / 'log.txt'} says more)" in out
    assert "its options are" in (tmp_path / "100" / "tree_lstm-0" / "log.txt").read_text()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--models", "gru"], "no model gru; there are"),
        (["--variants", "A"], "no variant A; there are 100 %, 10 %, 25 %, 50 %, family, depth"),
        (["--grid", "fit.dropout"], "--grid fit.dropout: give a name and its values, such as fit.dropout=0,0.2"),
        (["--jobs", "0"], "jobs is 0; it must be 1 or more"),
    ],
)
def test_impossible_settings_are_refused(
    tmp_path: Path, arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        compare.main(["listops", f"--out={tmp_path}", *arguments])
    assert error in f"{stopped.value}{capsys.readouterr().err}"


def test_baselines_are_scored_on_the_given_trees(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "test.tsv"
    write_expressions(file, [Expression("[MAX 1 2 ]", 2), Expression("7", 7)])
    baselines.main(["listops", f"--data={file}"])
    figures = dict(line.split() for line in capsys.readouterr().out.splitlines())
    assert figures.keys() == {"balanced", "left-branching", "right-branching", "random"}
    assert float(figures["left-branching"]) == 100, "a flat list, binarised"
    assert round(float(figures["right-branching"]), 1) == 33.3, "the whole alone"
    with pytest.raises(SystemExit, match="nothing: no such file"):
        baselines.main(["listops", f"--data={tmp_path / 'nothing'}"])
