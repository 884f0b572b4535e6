"""``dgltree fit`` with its defaults, on a file of the molecules with their splits and scaffolds."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import dgltree
from benchmarks.sets.molecules.published import Molecule, MoleculeParts
from benchmarks.sets.peer_answers import Answered
from dgltree.commands.main import main as dgltree_command
from dgltree.training.folder import CARD

TREE, LABEL, SPLIT, GROUP = "smiles", "label", "split", "scaffold"


def fit(parts: MoleculeParts, classes: bool, seed: int, folder: Path) -> Answered:
    """Train, or go on, in a folder; raises ``RuntimeError`` if the command fails."""
    folder.mkdir(parents=True, exist_ok=True)
    file, out = folder / "molecules.tsv", folder / "model"
    _write(file, parts, classes)
    status = dgltree_command(["fit", str(file), *_reading(), "--seed", str(seed), "--out", str(out)])
    if status:
        raise RuntimeError(f"dgltree fit of {file} ended with {status}")
    model, card = dgltree.TrainedModel.load(out), json.loads((out / CARD).read_text(encoding="utf-8"))
    answers = model.answers_to([row.smiles for row in parts.test])
    numbers = answers[:, model.classes.index("1")] if classes else answers
    metric = "accuracy" if classes else "r2"
    weights = sum(weight.numel() for weight in model.model.parameters())
    what = f"{model.summary}; {model.reading.notation}"
    return Answered(what, card["metrics"]["validation"][metric], numbers.tolist(), weights)


def _reading() -> Sequence[str]:
    return (
        *("--notation", "smiles", "--tree", TREE, "--label", LABEL),
        *("--split", SPLIT, "--group-by", GROUP, "--no-cache"),
    )


def _write(file: Path, parts: MoleculeParts, classes: bool) -> None:
    with file.open("w", encoding="utf-8", newline="") as opened:
        table = csv.writer(opened, delimiter="\t")
        table.writerow([TREE, LABEL, SPLIT, GROUP])
        for name, rows in parts._asdict().items():
            table.writerows([row.smiles, _text(row, classes), name, row.scaffold] for row in rows)


def _text(row: Molecule, classes: bool) -> str:
    return str(int(row.label) if classes else row.label)
