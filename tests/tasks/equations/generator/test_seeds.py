"""What a seed means is pinned: the same equations on another day, on another machine, by another version."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the train extra is not installed")

from tasks.equations import store
from tasks.equations.generator import chains
from tasks.equations.generator.generate import GENERATOR, write_sets
from tasks.equations.generator.presets import PAPER_TEST, PAPER_TRAIN, Part

LABELLED = {2: "b92163a949517157918007f9f0ea6463a6fcc2e05d830975d019134c5c262605"}
CORRECT = {2: "4e509fb2b2b6d09122dd92f04333dce1a9cb1080b35bd6996c015f9af9b4df61"}
"""Digests of what a version of the generator makes; those of older versions say that a number is not used again."""
CHANGED = "another digest: raise GENERATOR in generate.py if a seed is meant to mean other equations"


def digest(*files: Path) -> str:
    """Of the texts, labels, depths and splits of data sets."""
    tables = [store.load(file).select(["equation", "label", "depth", "split"]).to_pylist() for file in files]
    return hashlib.sha256(repr([list(row.values()) for rows in tables for row in rows]).encode()).hexdigest()


def test_a_seed_means_the_same_labelled_equations_as_long_as_the_generator_has_its_number(tmp_path: Path) -> None:
    write_sets("tiny", {"train": PAPER_TRAIN.scaled(150), "test": PAPER_TEST.scaled(60)}, tmp_path, seed=1, chunk=80)
    assert digest(tmp_path / "train.parquet", tmp_path / "test.parquet") == LABELLED.get(GENERATOR), CHANGED


def test_a_seed_means_the_same_correct_equations_as_long_as_the_generator_has_its_number(tmp_path: Path) -> None:
    chains.write(tmp_path / "train.parquet", 200, "train", seed=1)
    assert digest(tmp_path / "train.parquet") == CORRECT.get(GENERATOR), CHANGED


def test_a_chunk_of_chains_depends_on_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def backwards(_: int) -> Iterator[Callable[..., Iterator[Any]]]:
        yield lambda function, jobs: reversed([function(job) for job in reversed(jobs)])

    monkeypatch.setattr(chains, "CHUNK", 40)
    chains.write(tmp_path / "forwards", 100, "train", seed=1)
    monkeypatch.setattr(chains, "pool_map", backwards)
    chains.write(tmp_path / "backwards", 100, "train", seed=1)
    assert (tmp_path / "forwards").read_bytes() == (tmp_path / "backwards").read_bytes()


@pytest.mark.parametrize("part", ["train", "test"])
def test_chains_leave_out_what_is_held_out(part: Part, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {one.digest for one in chains.correct((40, part, "held out", "paper"))}
    assert len(made) == 40
    monkeypatch.setattr(chains, "held_out", lambda world: made)
    assert not made & {one.digest for one in chains.correct((40, part, "held out", "paper"))}
