"""The ListOps task at its smallest setting: every configuration, and what a run reports."""

import json
from pathlib import Path

import command_line
import pytest

pytest.importorskip("lightning", reason="the train extra is not installed")

from tasks.listops.__main__ import main

CONFIGS = sorted((Path(__file__).parents[3] / "tasks" / "listops" / "configs").glob("*.yaml"))


@pytest.mark.parametrize("config", CONFIGS, ids=[file.stem for file in CONFIGS])
def test_every_configuration_runs_and_reports_by_length(tmp_path: Path, config: Path) -> None:
    given = {"data.count": 200, "data.batch_size": 50, "model.hidden_size": 16, "trainer.max_epochs": 1}
    command_line.run(main, "fit", [config], {**given, "trainer.default_root_dir": tmp_path})
    figures = json.loads((tmp_path / "test.json").read_text())
    assert {"accuracy", "length_20_accuracy", "length_40_accuracy"} <= figures.keys()
    assert ("f1" in figures) == (config.stem in ("ordered_memory", "on_lstm"))
