"""The tests of compositionality at their smallest: jobs, folders, interruption, report, and measures by hand."""

import json
import re
import warnings
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

pytest.importorskip("lightning", reason="the train extra is not installed")
pytest.importorskip("sklearn", reason="the plot extra is not installed")
pytest.importorskip("matplotlib", reason="the plot extra is not installed")

from sklearn.manifold import TSNE

from dgltree.read.infix import read_equation
from dgltree.read.infix_writer import write_infix
from tasks.equations.compositionality import command, substitutivity, training
from tasks.equations.compositionality.report import Report
from tasks.equations.compositionality.results import Spread
from tasks.equations.compositionality.trainings import TESTS, TrainingJob, jobs
from tasks.equations.generator.generate import write_sets
from tasks.equations.generator.presets import PAPER_TEST, PAPER_TRAIN, Part, Shape
from tasks.equations.verification.classifier import EquationClassifier
from tasks.equations.verification.data import LabelledEquations

TINY: dict[Part, Shape] = {"train": PAPER_TRAIN.scaled(150), "test": PAPER_TEST.scaled(200)}
REAL = {file.stem: file.read_text(encoding="utf-8") for file in sorted(command.CONFIGS.glob("*.yaml"))}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets")
    write_sets("small", TINY, folder, seed=0)
    return folder


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Configurations with few hidden units, a tiny preset and small classes of expressions."""
    configs = tmp_path / "configs"
    configs.mkdir()
    for name in ("tree_rnn", "tree_lstm", "tree_smu"):
        text = REAL[name].replace("hidden_size: 50", "hidden_size: 8").replace("max_epochs: 15", "max_epochs: 1")
        (configs / f"{name}.yaml").write_text(text.replace("batch_size: 256", "batch_size: 64"), encoding="utf-8")
    monkeypatch.setattr(command, "CONFIGS", configs)
    monkeypatch.setitem(command.PRESETS, "small", TINY)
    monkeypatch.setattr(substitutivity, "MIN_CLASS_SIZE", 2)
    monkeypatch.setattr("sklearn.manifold.TSNE", partial(TSNE, max_iter=250))  # the fewest that it takes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Lightning itself calls what torch deprecates
        warnings.simplefilter("ignore", FutureWarning)
        yield


def run(data: Path, out: Path, *arguments: str) -> int:
    given = ["--preset", "small", "--out", str(out), "--data", str(data), "--workers", "1"]
    return command.main([*arguments, *given])


def results(out: Path) -> dict[str, dict]:
    return {file.parent.name: json.loads(file.read_text()) for file in (out / "jobs").glob("*/result.json")}


def test_a_training_serves_every_test_that_it_can() -> None:
    models, seeds = ["tree_rnn", "tree_lstm", "tree_smu"], [0, 1]
    assert jobs(["productivity"], models, seeds) == jobs(["systematicity", "productivity"], models, seeds)
    assert jobs(["table", "substitutivity"], models, seeds) == jobs(["table"], models, seeds)
    every = jobs(list(TESTS), models, seeds)
    assert len(every) == len(set(every)) == len({job.name for job in every})
    assert len(every) == 2 * (3 + 3 + 3 + 2 * 4 + 5)  # table, localism, productivity, shares below 100 %, stack sizes
    assert [job.seed for job in every] == sorted(job.seed for job in every)
    assert TrainingJob("tree_smu", (1, 7), 3, 25, (("stack_size", 2),)).name == (
        "tree_smu-depth_1-7-25_percent-stack_size_2-seed_3"
    )


def test_options_of_a_job_are_added_to_those_of_its_configuration() -> None:
    job = TrainingJob("tree_smu", (1, 7), 0, options=(("stack_size", 3), ("no_op", False)))
    config = training.configuration(job, command.CONFIGS / "tree_smu.yaml", epochs=4)
    assert config["model"]["options"] == {"no_op": False, "stack_size": 3}, "the job has the last word"
    assert config["trainer"] == {"max_epochs": 4}
    assert training.module_of(config, 0).model.encoder.cell.stack_size == 3


@pytest.mark.slow
def test_the_report_has_the_tables_and_pictures_of_every_test(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(data, out, "all", "--seeds", "0", "--models", "tree_rnn", "tree_smu") == 0
    report = (out / "report.md").read_text(encoding="utf-8")
    assert report in capsys.readouterr().out
    done = jobs(list(TESTS), ["tree_rnn", "tree_smu"], [0])
    assert f"{len(done)} of {len(done)} trainings are done" in report
    for name, test in TESTS.items():
        assert f"## {test.title}\n" in report, name
    shown = {line[2 : line.index("]")] for line in report.splitlines() if line.startswith("![")}
    for stem in (*(set(TESTS) - {"substitutivity"}), "substitutivity-tree_smu", "table-usage", "stack-size-usage"):
        assert stem in shown or f"[{stem}" in report
        assert (out / f"{stem}.png").stat().st_size > 1000
        assert (out / f"{stem}.svg").stat().st_size > 1000
    assert "| tree_smu 25 % | 1 |" in report
    assert "| tree_smu p = 14 | 1 |" in report
    counts = results(out)["tree_rnn-depth_1-7-seed_0"]["by_depth"]
    right = sum(row[0] + row[2] for depth, row in counts.items() if int(depth) >= 8)
    assert f"{100 * right / sum(sum(row) for depth, row in counts.items() if int(depth) >= 8):.1f}"[:3] in report
    pictures = {file.name: file.read_bytes() for file in out.glob("*.svg")}
    before = {file: file.stat().st_mtime_ns for file in out.glob("jobs/*/result.json")}
    assert run(data, out, "all", "--seeds", "0", "--models", "tree_rnn", "tree_smu") == 0
    assert {file: file.stat().st_mtime_ns for file in before} == before, "a finished training was done again"
    assert {file.name: file.read_bytes() for file in out.glob("*.svg")} == pictures


def test_every_depth_is_tested_with_the_weights_of_the_best_epoch(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def worse_every_epoch(self, labelled, index):
        self.log("accuracy", 0.9 - 0.1 * self.current_epoch, batch_size=1)

    modules, tested = [], training.test_model
    monkeypatch.setattr(EquationClassifier, "validation_step", worse_every_epoch)
    monkeypatch.setattr(training, "test_model", lambda module, data: modules.append(module) or tested(module, data))
    run(data, tmp_path / "out", "productivity", "--models", "tree_rnn", "--seeds", "0", "--epochs", "3")
    [(name, result)] = results(tmp_path / "out").items()
    assert (result["epochs"], result["validation_accuracy"]) == (3, pytest.approx(0.9))
    checkpoint = torch.load(tmp_path / "out" / "jobs" / name / training.CHECKPOINTS / "best.ckpt", weights_only=True)
    assert checkpoint["epoch"] == 0
    [module] = modules
    assert all(torch.equal(weight, checkpoint["state_dict"][key]) for key, weight in module.state_dict().items())
    assert list(result["by_depth"]) == [str(depth) for depth in range(2, 20)]
    assert sum(map(sum, result["by_depth"].values())) == 200


@pytest.mark.slow
def test_an_interrupted_training_goes_on_to_the_same_result(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("localism", "--models", "tree_lstm", "--seeds", "0", "--epochs", "3")
    with monkeypatch.context() as patch:
        times = iter([10.0, 15.0, 35.0])  # when it begins, is trained, and is tested
        patch.setattr(training, "time", SimpleNamespace(perf_counter=times.__next__))
        run(data, tmp_path / "whole", *arguments)
    assert [result["seconds"] for result in results(tmp_path / "whole").values()] == [
        {"training": 5.0, "testing": 20.0}
    ]
    step, steps = EquationClassifier.training_step, []

    def stop_in_the_third_epoch(self, labelled, index):
        steps.append(self.current_epoch)
        if self.current_epoch == 2:
            raise KeyboardInterrupt
        return step(self, labelled, index)

    with monkeypatch.context() as patch:
        patch.setattr(EquationClassifier, "training_step", stop_in_the_third_epoch)
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            run(data, tmp_path / "part", *arguments)
    assert not results(tmp_path / "part")

    def count(self, labelled, index):
        steps.append(self.current_epoch)
        return step(self, labelled, index)

    steps.clear()
    monkeypatch.setattr(EquationClassifier, "training_step", count)
    run(data, tmp_path / "part", *arguments)
    assert set(steps) == {2}
    [whole], [part] = results(tmp_path / "whole").values(), results(tmp_path / "part").values()
    assert {**whole, "seconds": None} == {**part, "seconds": None}


def test_a_folder_of_another_run_is_refused_with_the_difference(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ("localism", "--models", "tree_rnn", "--seeds", "0")
    run(data, out, *arguments)
    with pytest.raises(SystemExit, match=r"seed_0.job.json belongs to another run: trainer.max_epochs: 1 there, 2 now"):
        run(data, out, *arguments, "--epochs", "2")
    with pytest.raises(SystemExit, match="belongs to another run"):
        run(data, out, *arguments, "--data-seed", "1")
    file = out / "run.json"
    file.write_text(file.read_text().replace('"small"', '"paper"', 1))
    with pytest.raises(SystemExit, match=r"run.json belongs to another run: preset: 'paper' there, 'small' now"):
        run(data, out, *arguments)


def test_what_cannot_be_run_is_said_before_anything_is_trained(data: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no configuration tree_rmn; there are tree_rnn, tree_lstm, tree_smu"):
        run(data, tmp_path / "out", "table", "--models", "tree_rmn")
    with pytest.raises(SystemExit, match="stack-size is not a test of tree_rnn"):
        run(data, tmp_path / "out", "stack-size", "--models", "tree_rnn")
    assert not (tmp_path / "out" / "jobs").exists()


def test_a_failing_training_is_reported_and_does_not_stop_the_others(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = command.CONFIGS / "tree_rnn.yaml"
    bad.write_text(bad.read_text().replace("hidden_size: 8", "hidden_size: -8"), encoding="utf-8")
    assert run(data, tmp_path / "out", "localism", "--models", "tree_rnn", "tree_lstm", "--seeds", "0") == 1
    out = capsys.readouterr().out
    assert "failed: tree_rnn-depth_5-13-seed_0: ValueError: hidden_size is -8" in out
    assert "1 of 2 trainings are done" in out
    assert "Traceback" in (tmp_path / "out" / "jobs" / "tree_rnn-depth_5-13-seed_0" / "log.txt").read_text()


@pytest.mark.slow
def test_workers_do_what_one_process_does(data: Path, tmp_path: Path) -> None:
    arguments = ("localism", "--models", "tree_rnn", "--seeds", "0", "1", "--data", str(data))
    run(data, tmp_path / "one", *arguments)
    report = (tmp_path / "one" / "report.md").read_text(encoding="utf-8")
    assert "| tree_rnn | 2 |" in report, "both seeds in one row"
    assert re.search(r"\| \d+\.\d ± \d+\.\d \|", report)
    settings = ["--preset", "small", "--out", str(tmp_path / "two"), "--workers", "2"]
    assert command.main([*arguments, *settings]) == 0
    one, two = results(tmp_path / "one"), results(tmp_path / "two")
    assert {name: {**result, "seconds": 0} for name, result in one.items()} == {
        name: {**result, "seconds": 0} for name, result in two.items()
    }


def test_a_larger_share_of_the_training_equations_holds_the_smaller(data: Path) -> None:
    def digests(share: float, seed: int) -> set[int]:
        rows = LabelledEquations(data / "train.parquet", seed=seed, train_share=share).train_rows
        assert all(row.split == "train" for row in rows)
        return {row.digest for row in rows}

    shares = [digests(share, 0) for share in (0.25, 0.5, 0.75, 1.0)]
    assert all(small < large for small, large in pairwise(shares))
    assert len(shares[0]) == round(len(shares[3]) / 4)
    assert digests(0.25, 1) != shares[0]
    with pytest.raises(ValueError, match=r"train_share is 1\.5; it must be above 0 and at most 1"):
        LabelledEquations(data / "train.parquet", train_share=1.5)


def test_classes_are_of_equal_value(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["sin(x)*2 = sin(x)+sin(x)", "2*sin(x) = x+x", "x*2 = 2*x", "cos(0) = 3^0", "log(x, 10) = 2^(1/2)"]
    equations = [read_equation(text.replace("x", "var_1")) for text in texts]
    trees, classes = substitutivity.expressions(equations)
    found = [{write_infix(trees[i]) for i in np.flatnonzero(classes == number)} for number in range(max(classes) + 1)]
    assert found == [
        {"sin(var_1)*2", "sin(var_1) + sin(var_1)", "2*sin(var_1)"},
        {"var_1 + var_1", "var_1*2", "2*var_1"},
        {"cos(0)", "3^0"},
    ]
    monkeypatch.setattr(substitutivity, "MIN_CLASS_SIZE", 9)
    with pytest.raises(ValueError, match="0 values have 9 expressions or more"):
        substitutivity.expressions(equations)


def test_purity_and_silhouette_by_hand() -> None:
    classes = np.array([0, 0, 1, 1, 1])
    angles = np.radians([0, 10, 90, 100, 14])  # the last lies with the other class
    states = np.stack([np.cos(angles), np.sin(angles)], 1) * np.array([[1], [5], [2], [1], [9]])  # lengths do not count
    # nearest: 0 -> 10 (right), 10 -> 14 (wrong), 90 -> 100 (right), 100 -> 90 (right), 14 -> 10 (wrong)
    assert substitutivity.neighbour_purity(states, classes) == 3 / 5
    assert substitutivity.chance(classes) == pytest.approx((2 * 1 + 3 * 2) / (5 * 4))
    two = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    assert substitutivity.silhouette(two, np.array([0, 0, 1, 1])) == pytest.approx(1)
    assert substitutivity.silhouette(two, np.array([0, 1, 0, 1])) == pytest.approx(-0.5)


def test_spreads_are_sample_deviations() -> None:
    found = Spread.of([0.5, 0.6, 0.7])
    assert found is not None
    assert found.percent() == "60.0 ± 10.0"
    one = Spread.of([0.5])
    assert one is not None
    assert one.percent() == "50.0"
    assert Spread.of([]) is None


def test_a_report_counts_hours(tmp_path: Path) -> None:
    report = Report(tmp_path, ["table"], ["tree_smu"], [0], tmp_path / "test.parquet")
    report.__dict__.update(_results={k: SimpleNamespace(seconds=k * 3600.0) for k in (1, 2)}, _jobs=[1, 2, 3])
    assert report._head()[-1].endswith("2 of 3 trainings are done, 3.0 hours of work.")
