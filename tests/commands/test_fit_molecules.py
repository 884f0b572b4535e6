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
    assert main(["predict", str(out), str(file)]) == 0, "it reads them as in training"
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(TreeDataset.from_file(file, notation=notation))
