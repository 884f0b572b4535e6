"""Trainings inside other programs: nothing of the process changes, in none of its threads."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from own_trees import QUIET

import dgltree
from dgltree import TreeClassifier, TreeDataset
from dgltree.read.sexpr import read_sexpr

pytestmark = QUIET
TREES = [f"({name} {a} {b})" for name in ("add", "mul") for a in "xyz" for b in "uvwxy"]
LABELS = ["sum"] * 15 + ["product"] * 15


def small(seed: int = 0, **options: object) -> TreeClassifier:
    return TreeClassifier(hidden_size=4, epochs=1, baseline=False, seed=seed, **options)


@pytest.mark.slow
def test_fits_in_threads_leave_the_streams_of_the_process_and_its_output_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    streams, seen = (sys.stdout, sys.stderr), set()

    def work(seed: int) -> np.ndarray:
        answers = small(seed).fit(TREES, LABELS).predict_proba(TREES)
        print(f"thread {seed} is done")
        return answers

    with ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(work, seed) for seed in range(3)]
        while not all(future.done() for future in futures):
            seen.add((id(sys.stdout), id(sys.stderr)))
            time.sleep(0.001)  # the trainings take seconds or, on busy cores, minutes
        answers = [future.result() for future in futures]
    assert seen == {tuple(map(id, streams))}
    assert (sys.stdout, sys.stderr) == streams
    assert sorted(capsys.readouterr().out.split("\n")) == ["", *(f"thread {seed} is done" for seed in range(3))]
    assert all(np.isfinite(each).all() and each.shape == (30, 2) for each in answers)


def test_an_estimator_says_nothing_unless_it_is_asked_to(capsys: pytest.CaptureFixture[str]) -> None:
    small().fit(TREES, LABELS)
    assert capsys.readouterr() == ("", "")
    small(verbose=True).fit(TREES, LABELS)
    told = capsys.readouterr()
    assert "epoch 0" in told.err
    assert "validation: accuracy" in told.out


def test_without_a_folder_trainings_of_other_data_follow_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for trees, labels in ((TREES, LABELS), (TREES[5:25], LABELS[5:25])):
        read = list(map(read_sexpr, trees))
        data = TreeDataset.from_iterable(zip(read, labels, strict=True))
        model = dgltree.fit(data, validation=data, hidden_size=4, epochs=1, baseline=False)
        assert model.classes == ("product", "sum")
        assert len(model.answers_to(read)) == len(trees)
    assert not list(tmp_path.iterdir()), "nothing is left"


def test_the_baseline_is_named_as_in_the_estimators() -> None:
    read = list(map(read_sexpr, TREES))
    data = TreeDataset(read, LABELS)
    few = {"validation": data, "hidden_size": 4, "epochs": 1}
    averaged, *alone = (dgltree.fit(data, **few, **how) for how in ({}, {"baseline": False}, {"no_baseline": True}))
    assert averaged.average is not None
    assert [model.average for model in alone] == [None, None]
    assert dgltree.fit(data, **few, baseline=True).average is not None
    for wrong in ({"baseline": "slow"}, {"baseline": False, "no_baseline": True}):
        with pytest.raises(ValueError, match="False or 'full' or 'fast'; with True or False, omit no_baseline"):
            dgltree.fit(data, **wrong)


def test_a_fast_baseline_is_one_linear_model_and_none_is_not_fast() -> None:
    data = TreeDataset(list(map(read_sexpr, TREES)), LABELS)
    model = dgltree.fit(data, validation=data, hidden_size=4, epochs=1, baseline="fast")
    assert model.average is not None
    assert model.average.baseline.what == "logistic regression of counts (penalty 0.1)"
    with pytest.raises(
        ValueError, match="baseline is 'fast', but no_baseline leaves the baseline out: give only one of the two"
    ):
        dgltree.fit(data, validation=data, baseline="fast", no_baseline=True)


def test_several_processes_need_a_folder() -> None:
    data = TreeDataset.from_iterable(zip(map(read_sexpr, TREES), LABELS, strict=True))
    with pytest.raises(ValueError, match="several processes train into one shared folder; name it with out"):
        dgltree.fit(data, devices=2)
