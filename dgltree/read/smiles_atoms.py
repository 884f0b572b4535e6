"""SMILES as trees of atoms, whose rings are cut open. Needs RDKit (the extra ``chem``).

=========== ============================================================================================
``CCO``     ``Tree("C", (Tree("C", token="CH3"), Tree("O", token="OH1")), token="CH2")``
``C1CC1``   ``Tree("C", (Tree("C", (closure,), "CH2"), Tree("C", (closure,), "CH2")), token="CH2")``,
            where ``closure`` is ``Tree("closure", token="CH2")``
=========== ============================================================================================

Every heavy atom is a node, as in :mod:`dgltree.read.smiles`: its function is the element, in small letters if it is
aromatic, with the bond to its parent before it; its token the element with its isotope, hydrogens and charge. The root
is in the middle of a long way through the molecule, the tree that of breadth-first search, by RDKit's canonical ranks.
Both ends of a bond that it leaves out, one in each ring, have a leaf ``closure`` with the token of the other end.
"""

from typing import Any

from dgltree.read.smiles import BONDS, MIXTURE, atom_name, fragments, molecule, rdkit
from dgltree.trees.tree import Tree

CLOSURE = "closure"


def read_smiles_atoms(text: str) -> Tree:
    """The tree of a molecule, of all its atoms. Raises as :func:`dgltree.read.smiles.molecule` does."""
    atoms = _Atoms(molecule(text))
    found = [atoms.tree(fragment) for fragment in fragments(atoms.near)]
    return found[0] if len(found) == 1 else Tree(MIXTURE, found)


class _Atoms:
    """The atoms of a molecule by their canonical rank, and the bonds between them."""

    def __init__(self, mol: Any) -> None:
        rank = list(rdkit().CanonicalRankAtoms(mol))
        self.atoms: list[Any] = [None] * len(rank)
        for atom in mol.GetAtoms():
            self.atoms[rank[atom.GetIdx()]] = atom
        self.near: list[dict[int, str]] = [{} for _ in rank]
        for bond in mol.GetBonds():
            a, b = rank[bond.GetBeginAtomIdx()], rank[bond.GetEndAtomIdx()]
            self.near[a][b] = self.near[b][a] = BONDS.get(bond.GetBondTypeAsDouble(), "~")

    def tree(self, fragment: list[int]) -> Tree:
        """That of a connected part."""
        parent = self._search(self._middle(fragment[0]))
        made: dict[int, Tree] = {}
        for atom in reversed(parent):
            above, children = parent[atom], []
            for other in sorted(self.near[atom]):
                if parent[other] == atom:
                    children.append(made.pop(other))
                elif other != above:
                    children.append(Tree(self.near[atom][other] + CLOSURE, token=atom_name(self.atoms[other])))
            bond = "" if above is None else self.near[above][atom]
            made[atom] = Tree(bond + self._symbol(atom), children, atom_name(self.atoms[atom]))
        return made[next(iter(parent))]

    def _symbol(self, atom: int) -> str:
        symbol = str(self.atoms[atom].GetSymbol())
        return symbol.lower() if self.atoms[atom].GetIsAromatic() else symbol

    def _middle(self, start: int) -> int:
        """The atom in the middle of the way from the last atom that a search finds to the last one from there."""
        *_, end = self._search(start)
        parent = self._search(end)
        *_, atom = parent
        way: list[int] = []
        at: int | None = atom
        while at is not None:
            way.append(at)
            at = parent[at]
        return way[len(way) // 2]

    def _search(self, root: int) -> dict[int, int | None]:
        """The parent of each atom, in the order of breadth-first search."""
        parent: dict[int, int | None] = {root: None}
        for atom in (order := [root]):  # it grows on the way
            new = [other for other in sorted(self.near[atom]) if other not in parent]
            parent |= dict.fromkeys(new, atom)
            order += new
        return parent
