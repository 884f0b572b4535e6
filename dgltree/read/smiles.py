"""SMILES, the notation of molecules, as trees of ring systems and chain atoms. Needs RDKit (the extra ``chem``).

==================== ===================================================================
``CCO``              ``Tree("C", (Tree("C", token="CH3"), Tree("O", token="OH1")), token="CH2")``
``c1ccccc1C(=O)O``   ``Tree("C", (Tree("ring", token="c1ccccc1"), Tree("=O", ...), Tree("O", ...)), ...)``
``[Na+].[Cl-]``      ``Tree("mixture", (Tree("Cl", token="ClH0-1"), Tree("Na", token="NaH0+1")))``
==================== ===================================================================

Rings that share an atom are one system, a node whose token is the canonical SMILES of its atoms; which of its atoms a
child is bound to is not kept, nor are stereochemistry and the numbers of a reaction's atoms (``[CH3:1]``). Every other
heavy atom is a node: its function is the element, its token the element with its isotope, hydrogens and charge:
``13CH4`` for ``[13CH4]``. Hydrogens that are written as atoms are counted with their neighbour, except for isotopes of
them (``[2H]``) and those without a heavy neighbour. A double, triple or other bond to the parent comes before the
function (``=``, ``#``, ``~``); a dative bond (``->``) is as a single one. What is left has no cycles. The root is the
middle of that tree, and children are in RDKit's canonical order. The tree is made of RDKit's canonical SMILES, so that
texts with the same one have the same tree.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from dgltree.read.text import one_line
from dgltree.trees.tree import Tree

BONDS = {1.0: "", 1.5: "", 2.0: "=", 3.0: "#"}
"""Bond orders as they are written; an aromatic bond between two units is a single one for our purpose."""
MIXTURE, RING = "mixture", "ring"
OPEN = "smiles"
"""The notation of molecules that leaves their tree to a training, or to its model; elsewhere it is that of rings."""
TREES = {"smiles_rings": "rings and chains", "smiles_atoms": "atoms"}
"""The notations of one tree each, the one that is taken in doubt first."""


def read_smiles(text: str) -> Tree:
    """The tree of a molecule, of ring systems and chain atoms. Raises as :func:`molecule` does."""
    return _Units(molecule(text)).tree()


def molecule(text: str) -> Any:
    """RDKit's molecule, with its atoms in the order of its canonical SMILES.

    Raises ``ValueError`` for what is not SMILES of at least one atom, with what RDKit says of it, and
    ``ModuleNotFoundError`` if RDKit is not installed.
    """
    chem = rdkit()
    words = text.split()
    mol = chem.MolFromSmiles(words[0], sanitize=False) if len(words) == 1 else None
    if mol is None or not mol.GetNumAtoms():
        raise ValueError(f"{text!r:.80} is not SMILES; expected a molecule, as in c1ccccc1C(=O)O")
    try:
        chem.SanitizeMol(mol)
        mol = chem.RemoveHs(mol)
    except ValueError as error:  # what RDKit raises is derived from it: an impossible valence, or aromatic ring
        raise ValueError(f"{text!r:.80} is not a molecule: {one_line(str(error).strip())}") from None
    return _canonical(chem, mol)


def atom_name(atom: Any) -> str:
    """The element of an atom with its isotope, hydrogens and charge, such as ``13CH4``."""
    charge = atom.GetFormalCharge()
    found = f"{atom.GetIsotope() or ''}{atom.GetSymbol()}H{atom.GetTotalNumHs()}"
    return found + (f"{charge:+d}" if charge else "")


def fragments(near: Sequence[Iterable[int]]) -> list[list[int]]:
    """The numbers that are connected, in the order of breadth-first search from the lowest of each."""
    found = []
    left = set(range(len(near)))
    while left:
        seen = dict.fromkeys([min(left)])
        for number in (order := list(seen)):  # it grows on the way
            new = [other for other in sorted(near[number]) if other not in seen]
            seen |= dict.fromkeys(new)
            order += new
        found.append(order)
        left -= seen.keys()
    return found


def _canonical(chem: Any, mol: Any) -> Any:
    """The molecule with its atoms in the order of its canonical SMILES; ties would be broken by the text's order."""
    chem.RemoveStereochemistry(mol)
    for atom in mol.GetAtoms():
        atom.SetAtomMapNum(0)
    written = chem.MolToSmiles(mol)
    read = chem.MolFromSmiles(written)
    if read is None:
        raise ValueError(f"RDKit writes the molecule as {written!r:.80}, but cannot read this SMILES string")
    return read


@cache
def rdkit() -> Any:
    """The package."""
    from rdkit import Chem, rdBase

    rdBase.DisableLog("rdApp.*")  # our errors say what is wrong
    return Chem


def _ring_systems(count: int, bonds: list[tuple[int, int]]) -> list[set[int]]:
    """The atoms in sets: those that are still connected when each bond outside of rings is cut.

    RDKit's own list of rings lacks those that a dative bond closes, and what is left of them would not be a tree.
    """
    near: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for number, (a, b) in enumerate(bonds):
        near[a].append((b, number))
        near[b].append((a, number))
    seen: dict[int, int] = {}  # atom to when it was seen
    lowest: dict[int, int] = {}  # the first atom that it is in a ring with, as far as is known
    systems: list[set[int]] = []
    waiting: list[int] = []  # atoms whose system is not complete
    place: dict[int, int] = {}  # of an atom there
    for start in range(count):
        path = [] if start in seen else [(start, -1, iter(near[start]))]
        while path:
            atom, came, rest = path[-1]
            if atom not in seen:
                seen[atom] = lowest[atom] = len(seen)
                place[atom] = len(waiting)
                waiting.append(atom)
            for other, bond in rest:
                if other not in seen:
                    path.append((other, bond, iter(near[other])))
                    break
                if bond != came:
                    lowest[atom] = min(lowest[atom], seen[other])
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[atom])
                if lowest[atom] == seen[atom]:
                    systems.append(set(waiting[place[atom] :]))
                    del waiting[place[atom] :]
    return systems


class _Units:
    """Ring systems and other atoms of a molecule, and the bonds between them."""

    def __init__(self, mol: Any) -> None:
        self.mol = mol
        self.rank = list(rdkit().CanonicalRankAtoms(mol))
        bonds = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in mol.GetBonds()]
        self.atoms = _ring_systems(mol.GetNumAtoms(), bonds)
        self.atoms.sort(key=lambda atoms: min(self.rank[i] for i in atoms))
        unit_of = {atom: unit for unit, atoms in enumerate(self.atoms) for atom in atoms}
        self.near: list[dict[int, str]] = [{} for _ in self.atoms]
        for bond in mol.GetBonds():
            ends = unit_of[bond.GetBeginAtomIdx()], unit_of[bond.GetEndAtomIdx()]
            if ends[0] != ends[1]:
                mark = BONDS.get(bond.GetBondTypeAsDouble(), "~")
                self.near[ends[0]][ends[1]] = self.near[ends[1]][ends[0]] = mark

    def tree(self) -> Tree:
        """All fragments; one alone, or several below a common root."""
        found = [self._rooted(self._middle(fragment)) for fragment in fragments(self.near)]
        return found[0] if len(found) == 1 else Tree(MIXTURE, found)

    def _middle(self, fragment: list[int]) -> int:
        """The unit that is left when the outermost ones are taken off again and again; of two the first."""
        degree = {unit: len(self.near[unit]) for unit in fragment}
        outer = [unit for unit in fragment if degree[unit] <= 1]
        left = len(fragment)
        while left > 2:
            left -= len(outer)
            inner = []
            for unit in outer:
                for other in self.near[unit]:
                    degree[other] -= 1
                    if degree[other] == 1:
                        inner.append(other)
            outer = inner
        return min(outer)

    def _rooted(self, root: int) -> Tree:
        parent: dict[int, int | None] = {root: None}
        for unit in (order := [root]):  # it grows on the way
            for other in sorted(self.near[unit]):
                if other != parent[unit]:
                    parent[other] = unit
                    order.append(other)
        made: dict[int, Tree] = {}
        for unit in reversed(order):
            above = parent[unit]
            children = [made.pop(other) for other in sorted(self.near[unit]) if other != above]
            made[unit] = self._node(unit, "" if above is None else self.near[unit][above], children)
        return made[root]

    def _node(self, unit: int, bond: str, children: list[Tree]) -> Tree:
        atoms = sorted(self.atoms[unit])
        if len(atoms) > 1:
            return Tree(bond + RING, children, rdkit().MolFragmentToSmiles(self.mol, atoms))
        atom = self.mol.GetAtomWithIdx(atoms[0])
        return Tree(bond + atom.GetSymbol(), children, atom_name(atom))


# ---------------------------------------------------------------------------------------------------------------------
# SMILES as trees of atoms, whose rings are cut open. Needs RDKit (the extra ``chem``).
#
# =========== ============================================================================================
# ``CCO``     ``Tree("C", (Tree("C", token="CH3"), Tree("O", token="OH1")), token="CH2")``
# ``C1CC1``   ``Tree("C", (Tree("C", (closure,), "CH2"), Tree("C", (closure,), "CH2")), token="CH2")``,
# where ``closure`` is ``Tree("closure", token="CH2")``
# =========== ============================================================================================
#
# Every heavy atom is a node, as in :mod:`dgltree.read.smiles`: its function is the element, in small letters if it is
# aromatic, with the bond to its parent before it; its token the element with its isotope, hydrogens and charge. The
# root
# is in the middle of a long way through the molecule, the tree that of breadth-first search, by RDKit's canonical
# ranks.
# Both ends of a bond that it leaves out, one in each ring, have a leaf ``closure`` with the token of the other end.


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
            a = rank[bond.GetBeginAtomIdx()]
            b = rank[bond.GetEndAtomIdx()]
            self.near[a][b] = self.near[b][a] = BONDS.get(bond.GetBondTypeAsDouble(), "~")

    def tree(self, fragment: list[int]) -> Tree:
        """Return the tree of a connected part."""
        parent = self._search(self._middle(fragment[0]))
        made: dict[int, Tree] = {}
        for atom in reversed(parent):
            above = parent[atom]
            children = []
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
