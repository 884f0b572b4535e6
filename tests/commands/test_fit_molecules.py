"""``dgltree fit`` chooses the tree of molecules on the training examples, and says so."""

from pathlib import Path

import pytest
from own_trees import QUIET

from dgltree import TreeDataset
from dgltree.commands.main import main
from dgltree.models import load

pytest.importorskip("rdkit", reason="the chem extra is not installed")
pytest.importorskip("lightning", reason="the train extra is not installed")
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
    assert ("molecules are read as trees of atoms, which a baseline predicts best from in" in said) is chosen
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


def test_inspect_says_which_tree_it_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = molecules(tmp_path / "molecules.tsv")
    for notation in ("smiles", "smiles_rings", "smiles_atoms"):
        assert main(["inspect", str(file), "--notation", notation]) == 0
        said = (
            "these are trees of rings and chains; fit chooses between them and trees of atoms (--notation smiles_atoms)"
        )
        assert (said in capsys.readouterr().out.splitlines()) is (notation == "smiles")
