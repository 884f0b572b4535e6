"""Encoders compared on two sets; the numbers by scikit-learn and numpy, from what `predict` prints."""

import csv
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from own_trees import QUIET, rows_of, table, written
from sklearn.metrics import accuracy_score, r2_score

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree import TrainedModel, TreeDataset
from dgltree.commands.main import main
from dgltree.datasets import split
from dgltree.training import contest
from dgltree.training.contest import Contest, Entry

pytestmark = QUIET
SMALL = ["--hidden-size", "8", "--epochs", "1", "--lr", "0.02", "--seeds", "2"]
OPTIONS = '{"child_sum": {"positions": [true, false]}, "tree_smu": {"stack_size": 0}}'


class Compared(NamedTuple):
    folder: Path
    arguments: list[str]
    found: dict[str, Any]
    test: dict[str, str]
    """The labels of the test examples by their ids."""
    numbers: bool


@pytest.fixture(scope="module", params=["class", "value"])
def compared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Compared:
    folder = tmp_path_factory.mktemp("contest")
    path = written(folder, "trees.tsv", table(220, request.param))
    encoders = ["--encoders", "tree_lstm,child_sum,tree_smu", "--options", OPTIONS]
    arguments = ["compare", str(path), *encoders, *SMALL, "--label-scale", "none"][
        : None if request.param == "value" else -2
    ]
    arguments += ["--out", str(folder / "runs")]
    assert main(arguments) == 1, "an encoder failed"
    test = split(TreeDataset.from_file(path), 0)["test"]
    labels = dict(zip(map(str, test.ids), map(str, test.labels), strict=True))
    found = json.loads((folder / "runs" / "summary.json").read_text(encoding="utf-8"))
    return Compared(folder, arguments, found, labels, request.param == "value")


def scores(each: Compared, entry: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> list[np.ndarray]:
    """By seed what is predicted of each test example."""
    name = "-".join([entry["encoder"], *(f"{key}={value}" for key, value in entry["setting"].items())])
    found = []
    for seed in each.found["seeds"]:
        capsys.readouterr()
        assert main(["predict", str(each.folder / "runs" / name / f"seed-{seed}"), str(each.folder / "trees.tsv")]) == 0
        answers = {row[0]: row[1] for row in rows_of(capsys.readouterr().out)}
        found.append(np.array([answers[name] for name in each.test], float if each.numbers else str))
    return found


def test_metrics_and_differences_are_those_of_scikit_learn(
    compared: Compared, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = np.array([*compared.test.values()], float if compared.numbers else str)
    score = r2_score if compared.numbers else accuracy_score
    assert compared.found["metric"] == ("r2" if compared.numbers else "accuracy")
    assert compared.found["examples"]["test"] == len(labels)
    entries = [entry for entry in compared.found["entries"] if entry["failure"] is None]
    predicted = [scores(compared, entry, capsys) for entry in entries]
    means = [np.mean(entry["validation"]) for entry in entries]
    assert means == sorted(means, reverse=True), "the best in validation comes first"
    rng = np.random.default_rng(7)
    drawn = [rng.integers(len(labels), size=len(labels)) for _ in range(150)]
    for entry, own in zip(entries, predicted, strict=True):
        values = [score(labels, each) for each in own]
        assert entry["test"] == pytest.approx(values, abs=1e-4)

        def above(rows: np.ndarray, own: list[np.ndarray] = own) -> float:
            pairs = zip(own, predicted[0], strict=True)
            return float(np.mean([score(labels[rows], a[rows]) - score(labels[rows], b[rows]) for a, b in pairs]))

        assert entry["difference"] == pytest.approx(above(np.arange(len(labels))), abs=1e-4)
        ends = np.quantile([above(rows) for rows in drawn], [0.025, 0.975])
        assert [entry["low"], entry["high"]] == pytest.approx(ends, abs=0.05 + 0.25 * float(np.ptp(ends)))


def test_validation_chooses_the_setting_and_no_training_sees_the_test_set(compared: Compared) -> None:
    runs, means = compared.folder / "runs", {}
    for positions in (True, False):
        cards = [
            json.loads((runs / f"child_sum-positions={positions}" / f"seed-{seed}" / "card.json").read_text())
            for seed in (0, 1)
        ]
        assert all(set(card["metrics"]) == {"validation"} and card["baseline"] == {} for card in cards)
        means[positions] = np.mean([card["metrics"]["validation"][compared.found["metric"]] for card in cards])
    [entry] = [entry for entry in compared.found["entries"] if entry["encoder"] == "child_sum"]
    assert means[entry["setting"]["positions"]] == max(means.values()) and entry["tried"] == 2
    other = not entry["setting"]["positions"]
    [passed_over] = compared.found["passed_over"]
    assert passed_over["encoder"] == "child_sum" and passed_over["setting"] == {"positions": other}
    assert np.mean(passed_over["validation"]) == pytest.approx(means[other])
    row = f"| child_sum positions={other} | {means[other]:.4f} ± "
    [line] = [line for line in (runs / "summary.md").read_text(encoding="utf-8").splitlines() if row in line]
    assert line.endswith(" | not chosen | | | |")


def test_an_encoder_that_refuses_has_a_row_and_the_command_continues_where_it_was(
    compared: Compared, capsys: pytest.CaptureFixture[str]
) -> None:
    last = compared.found["entries"][-1]
    assert last["encoder"] == "tree_smu" and "stack_size" in last["failure"] and last["test"] == []
    before = (compared.folder / "runs" / "summary.json").read_bytes()
    capsys.readouterr()
    assert main(compared.arguments) == 1
    printed = capsys.readouterr()
    assert printed.err.count("is already finished; nothing to do") == 6
    assert (compared.folder / "runs" / "summary.json").read_bytes() == before
    assert (compared.folder / "runs" / "summary.md").read_text(encoding="utf-8") in printed.out
    assert (compared.folder / "runs" / "summary.png").exists()


def test_a_spreadsheet_has_a_line_for_each_seed_and_latex_a_row_for_each_encoder(compared: Compared) -> None:
    runs, entries = compared.folder / "runs", compared.found["entries"]
    with (runs / "summary.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 2 * 2 + 1 + 2
    [passed_over] = compared.found["passed_over"]
    assert [float(line["validation"]) for line in lines[-2:]] == passed_over["validation"]
    assert all(line["test"] == "" and "positions=" in line["setting"] for line in lines[-2:])
    for entry in entries[:2]:
        own = [line for line in lines[:-2] if line["encoder"] == entry["encoder"]]
        assert [int(line["seed"]) for line in own] == compared.found["seeds"]
        assert [float(line["test"]) for line in own] == entry["test"]
    assert lines[-3]["encoder"] == "tree_smu" and "stack_size" in lines[-3]["failure"]
    rows = (runs / "summary.tex").read_text(encoding="utf-8").splitlines()[1:]
    names = [entry["encoder"].replace("_", r"\_") for entry in entries[:2]]
    assert [row.split()[0] for row in rows] == names
    assert all(row.count(" & ") == 3 and row.count(r"$\pm$") == 2 and row.endswith(r"\\") for row in rows)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--encoders", "tree_lstm"], "give two or more different encoders"),
        (["--encoders", "tree_lstm,tree_lsm"], "no encoder 'tree_lsm'; nearest known: tree_lstm"),
        (["--encoders", "tree_lstm,none.py:Cell"], "none.py: no such file"),
        (["--encoders", "tree_lstm", "--cell", "tree_rnn"], "expected FILE.py:CLASS"),
        (["--encoders", "tree_lstm,grc", "--seeds", "0"], "seeds is 0"),
        (["--encoders", "tree_lstm,grc", "--options", "{"], "--options is not JSON"),
        (["--encoders", "tree_lstm,grc", "--options", "[1]"], "give options by encoder"),
        (
            ["--encoders", "tree_lstm,grc", "--options", '{"stack_size": 3}'],
            "options are given for 'stack_size', which is not one of",
        ),
        (["--encoders", "tree_lstm,grc", "--options", '{"grc": {"typed": []}}'], "a list of values"),
    ],
)
def test_what_cannot_be_compared_is_refused_at_once(
    given: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "trees.tsv", table(20))
    assert main(["compare", str(path), *given, "--out", str(tmp_path / "runs")]) == 1
    assert message in capsys.readouterr().err and not (tmp_path / "runs").exists()


def test_if_every_encoder_fails_the_reasons_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "trees.tsv", table(40))
    options = '{"grc": {"nothing": 1}, "tree_smu": {"stack_size": 0}}'
    assert main(["compare", str(path), "--encoders", "grc,tree_smu", "--options", options, *SMALL]) == 1
    assert "no encoder could be trained: grc: grc has no option 'nothing'" in capsys.readouterr().err


def test_the_standard_output_has_the_table_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def compare(*_: Any, **__: Any) -> Contest:
        print("validation: accuracy 0.5")  # what a training prints
        return Contest("accuracy", {"train": 1, "validation": 1, "test": 1}, [0], [], [])

    monkeypatch.setattr(contest, "compare_encoders", compare)
    path = written(tmp_path, "trees.tsv", table(20))
    assert main(["compare", str(path), "--encoders", "grc,tree_lstm"]) == 0
    printed = capsys.readouterr()
    assert "validation: accuracy 0.5" in printed.err and "validation: accuracy" not in printed.out
    assert "the models are in the folders of" in printed.out


def test_the_table_has_no_bar_of_a_message() -> None:
    nothing = float("nan")
    entries = [
        Entry("a", {}, 1, [0.5, 0.7], [0.5, 0.6], 0, 0, 0, 10),
        Entry("b", {}, 0, [], [], nothing, nothing, nothing, 0, "x | y"),
    ]
    lines = str(Contest("accuracy", {"train": 9, "test": 3}, [0, 1], entries, [])).splitlines()
    assert lines[4:] == ["| a | 0.6000 ± 0.1414 | 0.5500 ± 0.0707 |  | 10 | 1 |", "| b | x / y | | | | |"]


OWN_CELLS = """\
from dgltree.cells import TreeRNN


class FirstOwn(TreeRNN):
    pass


class SecondOwn(TreeRNN):
    pass
"""


@pytest.mark.usefixtures("cells_as_before")
def test_cells_of_ones_own_are_compared_with_others(tmp_path: Path) -> None:
    path, file = written(tmp_path, "trees.tsv", table(120)), written(tmp_path, "two_cells.py", OWN_CELLS)
    options = ["--options", '{"SecondOwn": {"hidden_size": [4, 6]}}', "--out", str(tmp_path / "runs")]
    encoders = ["--encoders", f"tree_rnn,{file}:FirstOwn", "--cell", f"{file}:SecondOwn"]
    assert main(["compare", str(path), *encoders, *options, *SMALL, "--seeds", "1"]) == 0
    found = json.loads((tmp_path / "runs" / "summary.json").read_text(encoding="utf-8"))
    entries = {entry["encoder"]: entry for entry in found["entries"]}
    assert {*entries} == {"tree_rnn", "FirstOwn", "SecondOwn"}
    assert entries["FirstOwn"]["test"] == entries["tree_rnn"]["test"], "the same cell by another name"
    assert entries["SecondOwn"]["tried"] == 2


def test_an_ablation_shows_every_setting_of_one_encoder_on_the_test_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "trees.tsv", table(120))
    command = ["compare", str(path), "--encoders", "tree_smu", *SMALL, "--seeds", "1", "--out", str(tmp_path / "runs")]
    options = ["--options", '{"tree_smu": {"stack_size": [1, 2]}}']
    assert main([*command, *options]) == 1
    assert "give two or more different encoders" in capsys.readouterr().err
    assert main([*command, *options, "--ablation"]) == 0
    found = json.loads((tmp_path / "runs" / "summary.json").read_text(encoding="utf-8"))
    assert found["passed_over"] == []
    assert [entry["tried"] for entry in found["entries"]] == [1, 1]
    assert sorted(entry["setting"]["stack_size"] for entry in found["entries"]) == [1, 2]
    for entry in found["entries"]:
        model = TrainedModel.load(
            tmp_path / "runs" / f"tree_smu-stack_size={entry['setting']['stack_size']}" / "seed-0"
        )
        test = model.dataset(split(TreeDataset.from_file(path), 0)["test"])
        assert entry["test"] == [pytest.approx(accuracy_score(test.labels, model.predict(test)))]
