"""The molecules with their labels, and splits that keep what has one scaffold together."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

SEEDS = (0, 1, 2)
TEST, VALIDATION, MOST = 0.2, 0.1, 0.05
"""Shares of the molecules: tested on, validated on, and of the largest scaffold that is not trained on."""


class Molecule(NamedTuple):
    """A row of a set."""

    smiles: str
    label: float
    scaffold: str
    """Murcko's, in SMILES; of a molecule without rings the molecule itself."""


@dataclass(frozen=True)
class MoleculeSet:
    """A file of MoleculeNet (Wu et al. 2018), and the column that is predicted."""

    label: str
    classes: bool = False


SETS = {
    "freesolv": MoleculeSet("expt"),
    "esol": MoleculeSet("measured log solubility in mols per litre"),
    "bace": MoleculeSet("class", classes=True),
}


class MoleculeParts(NamedTuple):
    """The molecules of a split."""

    train: list[Molecule]
    validation: list[Molecule]
    test: list[Molecule]


@cache
def molecules(data: Path, name: str) -> tuple[Molecule, ...]:
    """All molecules of a set that RDKit reads, in the order of the file."""
    from rdkit import Chem, rdBase
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

    rdBase.DisableLog("rdApp.*")
    found = []
    with (data / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            read = Chem.MolFromSmiles(row["smiles"])
            if read is not None:
                scaffold = MurckoScaffoldSmiles(mol=read) or Chem.MolToSmiles(read)
                found.append(Molecule(row["smiles"], float(row[SETS[name].label]), scaffold))
    return tuple(found)


def split(rows: Sequence[Molecule], seed: int) -> MoleculeParts:
    """The molecules of scaffolds in an order by chance: the first ones to test on, the next to validate on.

    A scaffold of many molecules is trained on: as a test set it would be a set of one kind.
    """
    groups: dict[str, list[Molecule]] = {}
    for row in rows:
        groups.setdefault(row.scaffold, []).append(row)
    order = sorted(groups)
    Random(seed).shuffle(order)
    found = MoleculeParts([], [], [])
    for scaffold in order:
        group = groups[scaffold]
        if len(group) > MOST * len(rows):
            part = found.train
        elif len(found.test) < TEST * len(rows):
            part = found.test
        elif len(found.validation) < VALIDATION * len(rows):
            part = found.validation
        else:
            part = found.train
        part.extend(group)
    return found
