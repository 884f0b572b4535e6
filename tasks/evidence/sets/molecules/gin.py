"""A graph isomorphism network of atoms and bonds, as Open Graph Benchmark's programs read them."""

from collections.abc import Sequence
from typing import Any

from tasks.evidence.sets.gin import GraphTraining, RowGraphs
from tasks.evidence.sets.gin import gin as of_graphs
from tasks.evidence.sets.molecules.published import Molecule, MoleculeParts
from tasks.evidence.sets.peer_answers import Answered


def gin(parts: MoleculeParts, classes: bool, seed: int) -> Answered:
    """The one of several sizes that is best in validation, each at its best epoch."""
    from torch_geometric.utils.smiles import e_map, x_map

    atoms, bonds = ([len(values) for values in names.values()] for names in (x_map, e_map))
    return of_graphs(parts, RowGraphs(_graphs, atoms, bonds), GraphTraining(2 if classes else 0, seed))


def _graphs(rows: Sequence[Molecule]) -> list[Any]:
    from torch_geometric.utils import from_smiles

    return [from_smiles(row.smiles) for row in rows]
