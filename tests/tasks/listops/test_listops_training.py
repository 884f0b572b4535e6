"""The ListOps task at its smallest setting: every configuration, and what a run reports."""

import json
from pathlib import Path

import command_line
import pytest

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree.encoders import SEQUENCE_ENCODERS, InducingCore
from tasks.compare import _short
from tasks.listops.__main__ import main
from tasks.listops.variants import HEADS

CONFIGS = sorted((Path(__file__).parents[3] / "tasks" / "listops" / "configs").glob("*.yaml"))


@pytest.mark.parametrize("config", CONFIGS, ids=[file.stem for file in CONFIGS])
def test_every_configuration_runs_and_reports_by_length(tmp_path: Path, config: Path) -> None:
    given = {"data.count": 200, "data.batch_size": 50, "model.hidden_size": 16, "trainer.max_epochs": 1}
    command_line.run(main, "fit", [config], {**given, "trainer.default_root_dir": tmp_path})
    figures = json.loads((tmp_path / "test.json").read_text())
    assert {"accuracy", "length_20_accuracy", "length_40_accuracy"} <= figures.keys()
    core = SEQUENCE_ENCODERS.get(config.stem)
    assert ("f1" in figures) == (core is not None and issubclass(core, InducingCore))


def test_our_own_sets_are_tested_each_by_itself_and_the_table_says_so(tmp_path: Path) -> None:
    given = {"data.count": 100, "data.set_size": 5, "model.hidden_size": 4, "trainer.max_epochs": 1}
    sets = {"data.sets": "[length_200,arguments_10]", "trainer.default_root_dir": tmp_path}
    [config] = [file for file in CONFIGS if file.stem == "balanced_tree"]
    command_line.run(main, "fit", [config], {**given, **sets})
    figures = json.loads((tmp_path / "test.json").read_text())
    assert {"length_200_set", "arguments_10_set"} <= figures.keys()
    alone = json.loads((tmp_path / "test.json").read_text())["accuracy"]
    command_line.run(main, "fit", [config], {**given, "trainer.default_root_dir": tmp_path / "alone"})
    assert json.loads((tmp_path / "alone" / "test.json").read_text())["accuracy"] == alone
    assert _short("length_200_set", HEADS) == "200 to 300 words (our set, ± 1)"
