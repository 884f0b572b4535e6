"""Molecules as trees of rings and chains."""

import csv
import random
from pathlib import Path

import pytest

from dgltree import Tree, TreeDataset

pytest.importorskip("rdkit", reason="the chem extra is not installed")

from dgltree.read.smiles import read_smiles, read_smiles_atoms


def test_chains_rings_bonds_and_charges() -> None:
    assert read_smiles("CCO") == Tree("C", (Tree("C", token="CH3"), Tree("O", token="OH1")), token="CH2")
    acid = read_smiles("c1ccccc1C(=O)[O-]")
    assert (acid.function, acid.token) == ("C", "CH0")
    assert {(child.function, child.token) for child in acid.children} == {
        ("ring", "c1ccccc1"),
        ("=O", "OH0"),
        ("O", "OH0-1"),
    }
    salt = read_smiles("[Na+].[Cl-]")
    assert (salt.function, {child.token for child in salt.children}) == ("mixture", {"NaH0+1", "ClH0-1"})
    assert read_smiles("C") == Tree("C", token="CH4")
    assert read_smiles("CO") == Tree("C", (Tree("O", token="OH1"),), token="CH3")  # of two middles the first


@pytest.mark.parametrize(
    "texts",
    [
        ("OCC", "C(O)C", "CCO"),
        ("c1ccccc1CCN", "NCCc1ccccc1", "C1=CC=CC=C1CCN"),
        ("C1CCC2CCCCC2C1CC#N", "N#CCC1CCCC2CCCCC12"),
        ("CC(C)(C)c1ccc(O)cc1", "Oc1ccc(cc1)C(C)(C)C"),
        ("CO", "[H]OC", "[H]OC([H])([H])[H]", "[CH3:1][OH:2]"),
        ("C", "[H]C([H])([H])[H]", "[CH4]"),
    ],
)
def test_a_molecule_has_one_tree_however_it_is_written(texts: tuple[str, ...]) -> None:
    assert len({read_smiles(text) for text in texts}) == 1
    assert len({read_smiles_atoms(text) for text in texts}) == 1


def test_a_ring_is_cut_open_and_both_ends_say_what_was_there() -> None:
    def closure(token: str) -> Tree:
        return Tree("closure", token=token)

    ring = read_smiles_atoms("C1CN1")
    assert ring == Tree("N", (Tree("C", (closure("CH2"),), "CH2"), Tree("C", (closure("CH2"),), "CH2")), "NH1")
    assert {node.function for node in read_smiles_atoms("c1ccccc1C#N").preorder()} == {"c", "C", "#N", "closure"}
    assert read_smiles_atoms("[Na+].[13CH4]") == Tree("mixture", (Tree("C", token="13CH4"), Tree("Na", token="NaH0+1")))
    for text, rings in (("N->1CCN->[Pt]1", 1), ("Cl[Pt](Cl)(Cl)(Cl)1[NH2][C@@H]2CCCC[C@H]2[NH2]1", 2)):
        names = [node.function for node in read_smiles_atoms(text).preorder()]
        assert sum("closure" in name for name in names) == 2 * rings


@pytest.mark.data
def test_atoms_and_bonds_are_as_many_as_rdkit_has(published: Path) -> None:
    from rdkit import Chem

    with (published / "molecules" / "bace.csv").open() as file:
        texts = [row["smiles"] for row in csv.DictReader(file)][::10]
    for text in texts:
        mol, tree = Chem.MolFromSmiles(text), read_smiles_atoms(text)
        closures = sum("closure" in node.function for node in tree.preorder())
        assert tree.size - closures == mol.GetNumAtoms()
        assert closures == 2 * (mol.GetNumBonds() - mol.GetNumAtoms() + 1)
        assert read_smiles_atoms(Chem.MolToSmiles(mol, rootedAtAtom=mol.GetNumAtoms() - 1, canonical=False)) == tree


def test_rings_that_share_an_atom_are_one_node() -> None:
    spiro = read_smiles("C1CCC2(CC1)CCCC2C")
    assert [node.function for node in spiro.preorder()].count("ring") == 1
    two = read_smiles("c1ccccc1-c1ccccc1")
    assert [node.function for node in two.preorder()] == ["ring", "ring"]


@pytest.mark.parametrize(
    ("text", "atoms"),
    [
        ("N->1CCN->[Pt]1", 5),
        ("Cl[Pt](Cl)(Cl)(Cl)1[NH2][C@@H]2CCCC[C@H]2[NH2]1", 13),
        ("N->1CCN->[Pt]1(<-NCCC)Cl", 10),
        ("C1CC2CC1C2CC3CC3C~C", 12),
    ],
)
def test_rings_that_dative_bonds_close_are_rings(text: str, atoms: int) -> None:
    from rdkit import Chem

    tree = read_smiles(text)
    in_rings = [Chem.MolFromSmiles(node.token, sanitize=False) for node in tree.preorder() if "ring" in node.function]
    others = [node for node in tree.preorder() if "ring" not in node.function]
    assert in_rings
    assert sum(ring.GetNumAtoms() for ring in in_rings) + len(others) == atoms


@pytest.mark.parametrize("pair", [("C", "[13CH4]"), ("C", "[2H]C"), ("c1ccccc1", "c1cccc[13cH]1"), ("O", "[2H]O[2H]")])
def test_isotopes_are_kept(pair: tuple[str, str]) -> None:
    assert read_smiles(pair[0]) != read_smiles(pair[1])


@pytest.mark.data
def test_molecules_of_a_table_have_one_tree_in_any_order_of_their_atoms(published: Path) -> None:
    from rdkit import Chem

    with (published / "molecules" / "freesolv.csv").open() as file:
        texts = [row["smiles"] for row in csv.DictReader(file)]
    generator = random.Random(0)
    for text in texts:
        tree = read_smiles(text)
        mol = Chem.MolFromSmiles(text)
        order = list(range(mol.GetNumAtoms()))
        generator.shuffle(order)
        again = Chem.MolToSmiles(Chem.RenumberAtoms(mol, order), canonical=False)
        if Chem.CanonSmiles(again) == Chem.CanonSmiles(text):  # RDKit itself gives two for a few
            assert read_smiles(again) == tree, text


@pytest.mark.parametrize("text", ["", "xyz", "C(", "C C", "c1cccc1", "C(C)(C)(C)(C)C"])
def test_what_is_no_molecule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not (SMILES|a molecule)"):
        read_smiles(text)


def test_a_message_is_no_longer_than_a_line() -> None:
    with pytest.raises(ValueError, match=r"is not a molecule: .* \.\.\. ") as info:
        read_smiles("c1" + "c" * 2000 + "1")
    assert len(str(info.value)) < 700


def test_files_of_molecules(tmp_path: Path) -> None:
    path = tmp_path / "some.smi"
    path.write_text("CCO ethanol\nc1ccccc1\nC(\n\u00a0\n")
    data = TreeDataset.from_file(path)
    assert (len(data), data.reading.notation) == (2, "smiles")
    assert [bad.line for bad in data.bad] == [3, 4]
    table = tmp_path / "some.csv"
    table.write_text("smiles,logp\nCCO,-0.3\nCCC,1.1\n")
    data = TreeDataset.from_file(table, tree="smiles", label="logp", notation="smiles")
    assert data.labels == ["-0.3", "1.1"]
