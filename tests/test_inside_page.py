"""The programs of docs/howto/inside.md run, each by itself, and are as short as the page says."""

import re
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
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
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


def test_the_programs_are_short() -> None:
    programs = [BLOCK.findall(text) for text in PROGRAMS.values()]
    assert max(len("".join(blocks).splitlines()) for blocks in programs) < 40
