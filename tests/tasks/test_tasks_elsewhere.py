"""Every task trains, tests and writes its files on a second device (tests/second_device.py)."""

import importlib
import json
from pathlib import Path

import command_line
import pytest

pytest.importorskip("lightning", reason="the train extra is not installed")

from own_trees import QUIET
from second_device import second_device
from test_two_processes import data, jobs

from dgltree.engine.kernels.dispatch import kernels

__all__ = ["data"]
pytestmark = QUIET
FILES = {"nodes": "card.json", "verification": "test.json", "logic": "card.json", "listops": "card.json"}
FILES |= {"sentiment": "card.json", "numbers": "card.json", "language": "test.json"}
LONG = ("numbers", "language")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in FILES])
def test_it_trains_and_tests_to_its_last_line_and_file(name: str, data: Path, tmp_path: Path) -> None:
    [(_, module, arguments)] = [job for job in jobs(data, tmp_path, devices=1) if job[0] == name]
    there = [
        each
        for each in arguments
        if each != "cpu" and not each.startswith(("--device", "--fit.device", "--trainer.accelerator"))
    ]
    there += ["--epochs", "1"] if name in ("nodes", "numbers") else []
    with second_device() as device, kernels("off"), command_line.quiet():
        assert not importlib.import_module(module).main(there)
    assert (device.reads + device.flights).total() > 0, "nothing was computed on the device"
    assert json.loads((tmp_path / name / FILES[name]).read_text())
