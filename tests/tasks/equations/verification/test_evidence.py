"""The evidence of how near remade sets are to the published equations, at its smallest."""

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the train extra is not installed")
pytest.importorskip("sympy", reason="the train extra is not installed")

from dgltree import read_equation
from tasks.equations.__main__ import main
from tasks.equations.generator.generate import write_sets
from tasks.equations.generator.presets import PAPER_TRAIN
from tasks.equations.generator.published.process import Process
from tasks.equations.generator.rewrite import in_growing
from tasks.equations.verification import evidence
from tasks.equations.verification.evidence import distance


def words(*texts: str) -> list[bytes]:
    return [in_growing(read_equation(text)) for text in texts]


def test_distance_is_of_frequencies_whatever_the_names() -> None:
    assert distance(words("x = sin(y)"), words("z = sin(x)")) == 0
    assert distance(words("x = 1"), words("2 = 3")) == 1
    assert distance(words("x = 1"), words("x = 2")) == 0.5


def test_the_report(tmp_path: Path, published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "RUNS", 2)
    monkeypatch.setattr(evidence, "GROWN", 150)
    write_sets("tiny", {"train": Process(2, 300, 13, PAPER_TRAIN.scaled(150))}, tmp_path / "a", seed=0)
    for seed, name in enumerate("ab"):
        write_sets("tiny", {"test": Process(1, 600, 19, 20)}, tmp_path / name, seed=seed)
    data = published / "equations"
    blanks = tmp_path / "blanks"
    blanks.mkdir()
    (blanks / "some_0.json").write_bytes((data / "blanks" / "40k_test_blank_0.json").read_bytes())
    given = [
        "--weights",
        str(data / "checkpoints" / "tree_lstm_h50.checkpoint"),
        "--data",
        str(tmp_path / "a" / "train.parquet"),
    ]
    given += ["--tests", *(str(tmp_path / name / "test.parquet") for name in "ab"), "--blanks", str(blanks)]
    main(["published-evidence", *given, "--out", str(tmp_path / "out")])
    first = (tmp_path / "out" / "evidence.md").read_text(encoding="utf-8")
    assert first.count("| tree_lstm_h50 |") == 3
    assert "| the numeric truth |" in first
    assert " ± " in first
    assert sorted(file.name for file in (tmp_path / "out").glob("*.npy")) == [
        f"tree_lstm_h50-{name}.npy" for name in ("a-test", "b-test", "blanks", "train")
    ]
    main(["published-evidence", *given, "--out", str(tmp_path / "out")])
    assert (tmp_path / "out" / "evidence.md").read_text(encoding="utf-8") == first
