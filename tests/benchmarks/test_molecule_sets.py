"""``python -m benchmarks.sets.molecules``: splits by scaffolds, peers and the table, on a few molecules."""

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score

pytest.importorskip("rdkit", reason="the chem extra is not installed")

from benchmarks.sets.estimators import PENALTIES, linear
from benchmarks.sets.molecules.__main__ import MODELS, RESULTS, main
from benchmarks.sets.molecules.published import SEEDS, Molecule, molecules, split
from benchmarks.sets.molecules.report import OURS, MoleculeLabels, table
from benchmarks.sets.peer_answers import score, scores

SUBSTITUENTS = {"C": 0.0, "O": 3.0, "N": 2.0}
RINGS = ("c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CCNCC1", "c1ccoc1", "c1ccsc1", "C1CCOC1", "C1CC1", "C1CCC1", "C1COCCN1")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with one set, whose numbers follow from atoms, of two rings each and of chains."""
    names = [(a + left + "-" + right, a) for a in SUBSTITUENTS for left in RINGS for right in RINGS]
    rows = [(name, SUBSTITUENTS[a] + 0.5 * name.count("N")) for name, a in names]
    rows += [("C" * length, 0.0) for length in range(1, 13)] + [("C(C)(C)(C)(C)C", 0.0)]
    folder = tmp_path / "data"
    folder.mkdir()
    with (folder / "freesolv.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("smiles", "expt"), *rows])
    return folder


def test_a_scaffold_is_in_one_part_and_every_readable_molecule_in_one(data: Path) -> None:
    rows = molecules(data, "freesolv")
    assert len(rows) == 300 + 12, "the carbon of five bonds is left out"
    assert {row.scaffold for row in rows if set(row.smiles) == {"C"}} == {"C" * n for n in range(1, 13)}
    for seed in SEEDS:
        parts = split(rows, seed)
        assert sorted(row for part in parts for row in part) == sorted(rows)
        of_parts = [{row.scaffold for row in part} for part in parts]
        assert sum(map(len, of_parts)) == len(set().union(*of_parts))
    assert split(rows, 0).test != split(rows, 1).test


def test_a_scaffold_of_many_molecules_is_trained_on() -> None:
    rows = [Molecule(f"large {i}", i, "large") for i in range(6)] + [Molecule(f"{i}", i, f"{i}") for i in range(94)]
    for seed in range(20):
        parts = split(rows, seed)
        assert [len(part) for part in parts] == [70, 10, 20]
        assert {row.scaffold for row in rows[:6]} <= {row.scaffold for row in parts.train}


def test_scores_are_those_of_scikit_learn() -> None:
    random = np.random.default_rng(0)
    numbers, given = random.normal(size=(2, 40))
    classes = (numbers > 0).astype(float)
    probabilities = 1 / (1 + np.exp(-given))
    resamples = random.integers(40, size=(5, 40))
    for labels, answers, kind in ((numbers, given, False), (classes, probabilities, True)):
        expected = [
            accuracy_score(labels[rows], answers[rows] > 0.5) if kind else r2_score(labels[rows], answers[rows])
            for rows in [np.arange(40), *resamples]
        ]
        rows = [Molecule("C", label, "") for label in labels]
        assert score(rows, answers, kind) == pytest.approx(expected[0])
        assert scores(labels, answers, resamples, kind) == pytest.approx(expected[1:])


def test_the_interval_of_a_difference_is_of_the_same_resamples_of_both() -> None:
    labels = np.arange(30.0)
    run = {"validation": 0.5, "seconds": 1.0, "weights": 1}
    ours = run | {"test": 1.0, "answers": labels.tolist()}
    peer = run | {"test": 0.9, "answers": (labels + 1).tolist()}
    runs = {("freesolv", 0, OURS): ours, ("freesolv", 0, "GIN"): peer, ("freesolv", 0, "n-grams"): peer | {"test": 0.2}}
    *rows, empty, line = table(runs, {("freesolv", 0): MoleculeLabels(labels, False)})
    assert [row.split(" | ")[1] for row in rows[2:]] == [OURS, "GIN", "n-grams"]
    assert empty == ""
    assert line.startswith(f"freesolv: {OURS} +0.100 (+0.0") and "against GIN" in line
    runs[("freesolv", 0, "GIN")] = peer | {"answers": labels.tolist()}
    assert "(+0.000 to +0.000)" in table(runs, {("freesolv", 0): MoleculeLabels(labels, False)})[-1]


def test_a_peer_whose_package_is_missing_is_left_out_and_said(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    given = ["--data", str(data), "--out", str(data.parent / "out"), "--sets", "freesolv", "--seeds", "0"]
    assert main([*given, "--models", "GIN", "n-grams"]) == 0
    out, err = capsys.readouterr()
    assert "freesolv, split 0: no GIN: " in err
    assert [row.split(" | ")[1] for row in out.splitlines() if row.startswith("| freesolv")] == ["n-grams"]


@pytest.mark.slow
def test_the_command_trains_each_once_and_prints_the_table(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("lightning", reason="the train extra is not installed")
    out = data.parent / "out"
    given = ["--data", str(data), "--out", str(out), "--sets", "freesolv", "--seeds", "1", "--models", *MODELS[:4]]
    for _ in range(2):
        assert main(given) == 0
        printed = capsys.readouterr().out.splitlines()
        assert [row.split(" | ")[1] for row in printed if row.startswith("| freesolv")] == list(MODELS[:4])
        lines = [json.loads(line) for line in (out / RESULTS).read_text().splitlines()]
        assert [line["model"] for line in lines] == list(MODELS[:4]), "what is there is not done again"
    labels = [row.label for row in split(molecules(data, "freesolv"), 1).test]
    for line in lines:
        assert line["test"] == pytest.approx(r2_score(labels, line["answers"]), abs=1e-4)
        assert line["test"] > 0.5
        assert line["weights"] > 0


@pytest.mark.parametrize("classes", [True, False])
def test_the_penalty_that_is_told_is_that_of_the_peer(classes: bool) -> None:
    found = {name: 1 / model.C if classes else model.alpha for name, model in linear(classes)}
    assert found == {f"penalty {penalty:g}": pytest.approx(penalty) for penalty in PENALTIES}
