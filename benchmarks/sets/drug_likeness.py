"""Molecules of the National Cancer Institute, which come with RDKit, and how much like a drug each is."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.sets.records import LabelledRecord


def molecules() -> Iterator[LabelledRecord]:
    """A molecule's quantitative estimate of drug-likeness (QED, Bickerton et al. 2012); its scaffold is a group."""
    from rdkit import Chem, RDConfig, rdBase
    from rdkit.Chem.QED import qed
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

    rdBase.DisableLog("rdApp.*")
    lines = (Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi").read_text(encoding="utf-8").splitlines()
    for line in lines:
        molecule = Chem.MolFromSmiles(line.split()[0])
        if molecule is not None and molecule.GetNumAtoms() > 1:
            scaffold = MurckoScaffoldSmiles(mol=molecule)
            yield LabelledRecord(f"{qed(molecule):.4f}", (line.split()[0],), scaffold or f"alone {line.split()[1]}")
