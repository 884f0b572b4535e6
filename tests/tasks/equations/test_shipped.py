"""The order in which the shipped models are made, and what is left out because it is there."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the train extra is not installed")
pytest.importorskip("lightning", reason="the train extra is not installed")

from tasks.equations import shipped as module


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What is made, in order, instead of being made."""
    calls: list[tuple[Any, ...]] = []

    def train(out: Path, work: Path, start: Path | None, **options: Any) -> None:
        calls.append((out.name, start and start.name, options["shares"]))
        out.touch()

    def write(path: Path, school: int, phrases: int) -> None:
        calls.append((path.name, phrases))

    def train_forms(groups: tuple[Path, ...], out: Path) -> None:
        calls.append((out.name, *(path.name for path in groups)))

    monkeypatch.setattr(module, "train", train)
    monkeypatch.setattr(module.groups, "write", write)
    monkeypatch.setattr(module.forms, "train", train_forms)
    return calls


FORMS = [("lines.jsonl", 0), ("phrases.jsonl", 900), ("forms.safetensors", "lines.jsonl", "phrases.jsonl")]


def test_each_training_begins_with_the_model_before(made: list[tuple[Any, ...]], tmp_path: Path) -> None:
    module.shipped(tmp_path)
    assert made == [
        ("paper.safetensors", None, (1, 0, 0)),
        ("elementary.safetensors", "paper.safetensors", (0.35, 0.45, 0.2)),
        ("default.safetensors", "elementary.safetensors", (0.7, 0.2, 0.1)),
        *FORMS,
    ]


def test_what_is_there_is_taken_and_a_start_replaces_the_first(made: list[tuple[Any, ...]], tmp_path: Path) -> None:
    (tmp_path / "elementary.safetensors").touch()
    module.shipped(tmp_path, tmp_path / "third.safetensors")
    assert made == [("default.safetensors", "elementary.safetensors", (0.7, 0.2, 0.1)), *FORMS]
    made.clear()
    (tmp_path / "forms.safetensors").touch()
    module.shipped(tmp_path, tmp_path / "third.safetensors")
    assert made == FORMS[:2]
