"""The programs of docs/howto/inside.md run, each by itself, and are as short as the page says."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from own_trees import QUIET

pytest.importorskip("sklearn", reason="the train extra is not installed")

PAGE = Path(__file__).parents[1] / "docs" / "howto" / "inside.md"
FIRST, *SECTIONS = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
PROGRAMS = {section.splitlines()[0]: section for section in SECTIONS}
BLOCK, FILE = (
    re.compile(r"```python\n(.*?)```", re.DOTALL),
    re.compile(r'```python title="ddp.py"\n(.*?)```', re.DOTALL),
)
pytestmark = QUIET


def run(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in BLOCK.findall(FIRST) + BLOCK.findall(PROGRAMS[title]):
        exec(block, names)


@pytest.mark.parametrize("title", [name for name in PROGRAMS if name != "Optuna in threads"])
def test_each_program_runs(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(title, tmp_path, monkeypatch)


def test_the_program_of_optuna_runs_with_optuna(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed")
    run("Optuna in threads", tmp_path, monkeypatch)


class Trial:
    """What the program asks of a trial of Optuna."""

    def __init__(self, number: int) -> None:
        self.number, self.params, self.user_attrs = number, {}, {}

    def suggest_categorical(self, name: str, choices: list[int]) -> int:
        return self.params.setdefault(name, choices[self.number % len(choices)])

    def suggest_float(self, name: str, low: float, high: float, log: bool) -> float:
        return self.params.setdefault(name, (low * high) ** 0.5)

    def set_user_attr(self, name: str, value: Any) -> None:
        self.user_attrs[name] = value


class Study:
    """Trials on threads, as Optuna runs them."""

    def optimize(self, objective: Any, n_trials: int, n_jobs: int) -> None:
        self.trials = list(map(Trial, range(n_trials)))
        with ThreadPoolExecutor(n_jobs) as pool:
            for trial, value in zip(self.trials, pool.map(objective, self.trials), strict=True):
                trial.value = value
        self.best_value = max(trial.value for trial in self.trials)


def test_the_program_of_optuna_runs_in_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    optuna = ModuleType("optuna")
    optuna.__dict__.update(Trial=Trial, create_study=lambda direction: Study())
    monkeypatch.setitem(sys.modules, "optuna", optuna)
    run("Optuna in threads", tmp_path, monkeypatch)


def test_two_processes_have_the_weights_of_one(tmp_path: Path) -> None:
    [program] = FILE.findall(PAGE.read_text(encoding="utf-8"))
    (tmp_path / "ddp.py").write_text(program, encoding="utf-8")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "ddp.py"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "DGLBACKEND": "pytorch"}
    done = subprocess.run(torchrun, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("weights as of one process") == 2


def test_there_are_ten_programs_each_under_60_lines() -> None:
    programs = {title: BLOCK.findall(text) + FILE.findall(text) for title, text in PROGRAMS.items()}
    assert len(programs) == 11  # the last section says what a call leaves alone
    assert max(len("".join(blocks).splitlines()) for blocks in programs.values()) < 60
