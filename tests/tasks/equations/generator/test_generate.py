"""The training equations: labels, keys, what is held out, and that a seed means the same whatever the workers."""

import json
import os
import re
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the train extra is not installed")

from dgltree.equations.truth.evaluator import Evaluator, Truth
from tasks.equations.canonical import canonical_key, digest
from tasks.equations.fillers import LITERALS
from tasks.equations.generator import generate as program
from tasks.equations.generator.chunk import USUAL, ChunkGenerator
from tasks.equations.generator.generate import EquationGenerator, generate, write_sets
from tasks.equations.generator.held_out import held_out
from tasks.equations.generator.presets import PAPER_TEST, PAPER_TRAIN, PRESETS, part_of
from tasks.equations.leaves import variables
from tasks.equations.store import EquationRow, Made, read
from tasks.equations.words import NAMES

ROOT = Path(__file__).parents[4]


SHAPE = PAPER_TRAIN.scaled(1200)


@pytest.fixture(scope="module")
def examples() -> list[EquationRow]:
    return generate(SHAPE.quotas(), seed=3, chunk=500)


def test_the_card_counts_by_depth_and_names_what_is_missing() -> None:
    import pyarrow

    made = pyarrow.table({"depth": [2, 2, 2, 5], "label": [1, 0, 0, 1], "split": ["train"] * 3 + ["validation"]})
    generator: Any = SimpleNamespace(counts=Counter(undecided=4), missing=Counter({(1, 7): 3, (0, 6): 5}))
    assert program._card(made, generator) == {
        "equations": 4,
        "splits": {"train": 3, "validation": 1},
        "depths": {2: 3, 5: 1},
        "correct": {2: 1 / 3, 5: 1.0},
        "dropped": {"undecided": 4},
        "missing": {"wrong, depth 6": 5, "correct, depth 7": 3},
    }


def test_labels_are_what_the_values_say(examples: list[EquationRow]) -> None:
    evaluator = Evaluator()  # in other names than while they grew, so at other points, where a few are undecided
    decided = [(Truth(made.label), evaluator.truth(made.equation)) for made in examples]
    assert all(truth in (label, Truth.UNDECIDED) for label, truth in decided)
    assert sum(truth is Truth.UNDECIDED for _, truth in decided) < 0.01 * len(examples)


def test_labels_and_depths_are_those_asked_for(examples: list[EquationRow]) -> None:
    assert Counter((made.label, made.depth) for made in examples) == Counter(SHAPE.quotas())


def test_no_two_are_equal_up_to_names_and_sides(examples: list[EquationRow]) -> None:
    keys = [canonical_key(made.equation) for made in examples]
    assert len(set(keys)) == len(keys) == 1200
    assert [digest(made.equation) for made in examples] == [made.digest for made in examples]


def test_equations_have_about_the_size_of_published_ones(examples: list[EquationRow]) -> None:
    sizes = [made.equation.left.size + made.equation.right.size for made in examples if made.equation.depth == 8]
    assert 22 < statistics.median(sizes) < 36  # published: 27


def test_no_equation_is_held_out_or_of_the_other_part(examples: list[EquationRow]) -> None:
    tests = generate(PAPER_TEST.scaled(300).quotas(), seed=3, part="test", chunk=300)
    assert not held_out() & {made.digest for made in (*examples, *tests)}
    assert not {made.digest for made in examples} & {made.digest for made in tests}
    assert {part_of(made.digest, made.depth) for made in examples} == {"train"}
    assert {part_of(made.digest, made.depth) for made in tests} == {"test"}


def test_leaves_are_published_tokens_and_mostly_the_first_four_names(examples: list[EquationRow]) -> None:
    leaves = {n for made in examples for side in made.equation for n in side.preorder() if not n.children}
    assert leaves <= {*LITERALS, *NAMES}
    assert leaves >= set(NAMES)
    usual = [{v for side in made.equation for v in variables(side)} <= set(NAMES[:USUAL]) for made in examples]
    assert sum(usual) > 0.8 * len(examples)


@pytest.mark.slow
def test_a_seed_means_the_same_whatever_the_number_of_workers() -> None:
    quotas = PAPER_TRAIN.scaled(300).quotas()
    one, two = (generate(quotas, seed=7, workers=workers, chunk=100) for workers in (1, 2))
    assert one == two
    assert generate(quotas, seed=8, chunk=100) != one


def test_the_command_writes_the_same_whatever_the_salt_of_hashes_and_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(PRESETS, "small", {"train": PAPER_TRAIN.scaled(100), "test": PAPER_TEST.scaled(100)})
    program.main(["--preset", "small", "--out", str(tmp_path / "sets"), "--seed", "1"])
    out = capsys.readouterr().out
    assert "train: {" in out
    assert re.search(r"  depth 5: 2\d, 5\d\.\d% correct\n", out)
    code = (
        "from tasks.equations.generator.generate import generate;"
        "from tasks.equations.generator.presets import PAPER_TRAIN;"
        "print(*[m.digest for m in generate(PAPER_TRAIN.scaled(100).quotas(), seed=1)])"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, check=True)
    assert done.stdout.split() == [str(row.digest).encode() for row in read(tmp_path / "sets" / "train.parquet")]


def small_sets(folder: Path, seed: int = 1, name: str = "small") -> dict:
    return write_sets(name, {"train": PAPER_TRAIN.scaled(200)}, folder, seed, chunk=50)


def test_a_card_says_what_the_set_holds(tmp_path: Path) -> None:
    card = small_sets(tmp_path)["train"]
    rows = read(tmp_path / "train.parquet")
    assert card == json.loads((tmp_path / "train.json").read_text()) | {k: card[k] for k in ("depths", "correct")}
    assert card["equations"] == len(rows) == 200
    assert card["splits"] == dict(Counter(row.split for row in rows))
    shallow = [row for row in rows if row.depth <= 7]
    assert [row.split for row in shallow] == ["validation" if i % 10 == 0 else "train" for i in range(len(shallow))]
    assert {row.split for row in rows if row.depth > 7} == {"train"}
    assert card["depths"] == dict(sorted(Counter(row.depth for row in rows).items()))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.json", "train.parquet"]


def test_every_equation_of_a_test_set_is_for_tests(tmp_path: Path) -> None:
    card = write_sets("tiny", {"test": PAPER_TEST.scaled(60)}, tmp_path, seed=1)["test"]
    assert {row.split for row in read(tmp_path / "test.parquet")} == {"test"}
    assert card["splits"] == {"test": card["equations"]}


def test_an_interrupted_run_continues_from_its_finished_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_sets(tmp_path / "whole")
    finished: list[str] = []

    def counted(self: ChunkGenerator) -> list[Made]:
        if len(finished) == 2:
            raise KeyboardInterrupt
        finished.append("chunk")
        return run(self)

    run = ChunkGenerator.run
    with monkeypatch.context() as patch:
        patch.setattr(ChunkGenerator, "run", counted)
        with pytest.raises(KeyboardInterrupt):
            small_sets(tmp_path / "part")
    assert not (tmp_path / "part" / "train.parquet").exists()
    with monkeypatch.context() as patch:
        patch.setattr(ChunkGenerator, "run", lambda self: finished.append("chunk") or run(self))
        small_sets(tmp_path / "part")
    assert read(tmp_path / "part" / "train.parquet") == read(tmp_path / "whole" / "train.parquet")
    with monkeypatch.context() as patch:
        patch.setattr(ChunkGenerator, "run", lambda self: finished.append("all"))
        small_sets(tmp_path / "whole")
    assert "all" not in finished, "a set that is there is not made again"


def test_sets_of_different_runs_are_not_mixed(tmp_path: Path) -> None:
    small_sets(tmp_path)
    with pytest.raises(ValueError, match=r"train.json belongs to another run: seed: 1 there, 2 now. Give"):
        small_sets(tmp_path, seed=2)
    parts = tmp_path / "other" / ".train-parts"
    parts.mkdir(parents=True)
    (parts / "plan.json").write_text(json.dumps({"preset": "large", "seed": 1}))
    with pytest.raises(ValueError, match=r"plan.json belongs to another run: preset: 'large' there, 'small' now"):
        small_sets(tmp_path / "other")


def test_what_does_not_exist_is_reported_as_missing() -> None:
    generator = EquationGenerator({(1, 1): 500, (0, 1): 5}, "train", seed=0)
    made = generator.run()
    assert 5 < len(made) < 100
    assert generator.missing == {(1, 1): 505 - len(made)}


@pytest.mark.parametrize("wrong", [{"quotas": {}}, {"workers": 0}, {"chunk": 0}])
def test_numbers_under_one_are_refused(wrong: dict) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        generate(**{"quotas": {(1, 3): 1}, "seed": 1, **wrong})
