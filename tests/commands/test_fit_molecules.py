"""``dgltree fit`` chooses the tree of molecules on the training examples, and says so."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from own_trees import QUIET

from dgltree import TreeDataset
from dgltree.commands.main import main
from dgltree.models import load

pytest.importorskip("rdkit", reason="the chem extra is not installed")
pytest.importorskip("lightning", reason="the train extra is not installed")
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_score

from dgltree.datasets.splitting import split
from dgltree.training.baseline.baseline import Columns

pytestmark = QUIET


def molecules(path: Path) -> Path:
    """Rings, nearly each of them once, and how much nitrogen they have."""
    rows = ["tree\tlabel"]
    for length in range(2, 7):
        for n in range(5):
            ring = "C1" + "N" * n + "C" * length + "1"
            rows += [f"{ring}{'C' * tail}\t{n + 0.1 * tail}" for tail in range(3)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("notation", ["smiles", "smiles_rings"])
def test_the_tree_that_predicts_best_is_taken_unless_it_is_named(
    notation: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = molecules(tmp_path / "molecules.tsv"), tmp_path / "model"
    more = ["--hidden-size", "4", "--epochs", "1", "--out", str(out)]
    assert main(["fit", str(file), "--notation", notation, *more]) == 0
    said = capsys.readouterr().err
    chosen = notation == "smiles"
    assert (
        "molecules are read as trees of atoms, which gave a baseline its best cross-validation score (" in said
    ) is chosen
    assert ("closure" in str(load(out / "model.safetensors").encoder.vocabulary.to_json())) is chosen
    assert said.count(" examples, ") == (2 if chosen else 1), "each tree is read once"
    assert main(["predict", str(out), str(file)]) == 0, "it reads them as in training"
    answers = capsys.readouterr().out
    assert len(answers.splitlines()) == 1 + len(TreeDataset.from_file(file, notation=notation))
    for command in ("predict", "evaluate"):
        assert main([command, str(out), str(file)]) == 0
        as_trained = capsys.readouterr().out
        assert main([command, str(out), str(file), "--notation", "smiles"]) == 0
        assert capsys.readouterr().out == as_trained, "the training chose the tree, and its folder knows it"
    assert main(["evaluate", str(out), str(file), "--notation", "smiles_atoms" if not chosen else "smiles_rings"]) == 0
    assert capsys.readouterr().out != as_trained, "another tree is read where it is named"


def test_each_fold_has_the_tree_that_its_training_examples_choose(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = molecules(tmp_path / "molecules.tsv"), tmp_path / "models"
    settings = ["--hidden-size", "4", "--epochs", "1", "--no-baseline", "--folds", "2", "--out", str(out)]
    assert main(["fit", str(file), "--notation", "smiles", *settings]) == 0
    said = capsys.readouterr().err.splitlines()
    chosen = [line for line in said if line.startswith("molecules are read as trees of")]
    assert len(set(chosen)) == 2, "the scores are of other training examples"
    for fold, line in zip(("fold-1", "fold-2"), chosen, strict=True):
        notation = "smiles_atoms" if "trees of atoms" in line else "smiles_rings"
        assert json.loads((out / fold / "reading.json").read_text())["notation"] == notation
    tested = [json.loads((out / fold / "card.json").read_text())["data"] for fold in ("fold-1", "fold-2")]
    count = len(TreeDataset.from_file(file, notation="smiles"))
    assert sum(data["examples"]["test"] for data in tested) == count


def test_the_scores_of_both_trees_are_those_of_scikit_learns_cross_validation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = molecules(tmp_path / "molecules.tsv")
    settings = ["--hidden-size", "4", "--epochs", "1", "--no-baseline", "--out", str(tmp_path / "model")]
    assert main(["fit", str(file), "--notation", "smiles", *settings]) == 0
    [line] = [line for line in capsys.readouterr().err.splitlines() if line.startswith("molecules are read")]
    found = {}
    for notation, name in (("smiles_rings", "rings and chains"), ("smiles_atoms", "atoms")):
        train = split(TreeDataset.from_file(file, notation=notation), 0)["train"]
        counts = Columns.of(train)(train)
        rows, labels = np.sign(counts.toarray()) * np.log1p(np.abs(counts.toarray())), np.array(train.labels, float)
        rows /= np.sqrt(np.square(rows).sum() / len(rows))
        folds = KFold(3, shuffle=True, random_state=0)
        ridges = [Ridge(alpha=alpha, solver="lsqr") for alpha in (1, 0.1, 0.01)]
        found[name] = max(cross_val_score(ridge, rows, labels, cv=folds, scoring="r2").mean() for ridge in ridges)
    best = max(found, key=lambda name: found[name])
    assert f"trees of {best}, which gave" in line
    said = dict(re.findall(r"(rings and chains|atoms) (-?\d\.\d{3})", line))
    assert {name: float(number) for name, number in said.items()} == pytest.approx(found, abs=2e-3)


def test_inspect_says_which_tree_it_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = molecules(tmp_path / "molecules.tsv")
    for notation in ("smiles", "smiles_rings", "smiles_atoms"):
        assert main(["inspect", str(file), "--notation", notation]) == 0
        said = "these are trees of rings and chains; fit chooses between these and trees of atoms "
        said += "(--notation smiles_atoms)"
        assert (said in capsys.readouterr().out.splitlines()) is (notation == "smiles")
