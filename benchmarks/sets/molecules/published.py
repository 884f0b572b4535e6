"""The molecules with their labels, and splits that keep what has one scaffold together."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.sets.splits import split_groups

SEEDS = (0, 1, 2)


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
    """Parts that keep what has one scaffold together."""
    return MoleculeParts(*split_groups(rows, lambda row: row.scaffold, seed))
