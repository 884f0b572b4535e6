"""Newick: drawn trees by a writer of their own, what is refused, and a file that is trained on."""

import random
from pathlib import Path
from typing import Any

import pytest
from own_trees import written

from dgltree import Tree, TreeDataset
from dgltree.read.newick import read_newick
from dgltree.read.notations import detect

NAMES = ["A", "Homo sapiens", "it's", "a,b", "(x)", "[y]", "95", "0.99", "", "É. coli", "x_y"]
PLAIN = {"A", "Homo sapiens", "95", "0.99", "É. coli"}


def drawn(rng: random.Random, depth: int) -> Any:
    """Nested lists: children (None for a leaf), name, length."""
    children = [drawn(rng, depth - 1) for _ in range(rng.randrange(1, 4))] if depth and rng.random() < 0.8 else None
    return [children, rng.choice(NAMES[:-1]), rng.choice(["", "0", "1.5", ".25", "-2e-3", "12."])]


def text_of(rng: random.Random, node: Any) -> str:
    """Written here and there with blanks and comments."""
    children, name, length = node
    gap = lambda: rng.choice(["", "", "", " ", "\n", "[a [nested] ' ( comment]"])  # noqa: E731
    inner = "" if children is None else f"({','.join(gap() + text_of(rng, child) + gap() for child in children)})"
    bare = (name in PLAIN and " " not in name) or (name in PLAIN and rng.random() < 0.5)
    quoted = name.replace(" ", "_") if bare else "'" + name.replace("'", "''") + "'"
    return inner + (gap() + quoted if name else "") + (f"{gap()}:{gap()}{length}" if length else "")


def tree_of(node: Any) -> Tree:
    children, name, length = node
    below = [tree_of(child) for child in children or []] + ([Tree("length", token=length)] if length else [])
    return Tree("taxon" if children is None else "clade", below, token=name or None)


@pytest.mark.parametrize("seed", range(60))
def test_what_another_writer_wrote_is_read(seed: int) -> None:
    rng = random.Random(seed)
    node = drawn(rng, 5)
    if node[0] is None and not node[1]:
        node[1] = "A"
    text = text_of(rng, node)
    assert read_newick(text + rng.choice(["", ";", ";\n", " ; [end]"])) == tree_of(node), text


def test_examples_of_the_definition() -> None:
    taxon = lambda name, *below: Tree("taxon", below, token=name)  # noqa: E731
    length = lambda text: Tree("length", token=text)  # noqa: E731
    assert read_newick("(B,(A,C,E),D);") == Tree(
        "clade", [taxon("B"), Tree("clade", [taxon("A"), taxon("C"), taxon("E")]), taxon("D")]
    )
    assert read_newick("(,(,,),);").size == 7
    assert read_newick("A;") == taxon("A")
    assert read_newick("(raccoon:19.2,bear_cub:6.8):0.5;") == Tree(
        "clade", [taxon("raccoon", length("19.2")), taxon("bear cub", length("6.8")), length("0.5")]
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(A,B", "line 1, column 1: this '(' is not closed"),
        ("(A,B));", "line 1, column 6: found ')' outside all brackets"),
        ("A,B;", "line 1, column 2: found ',' outside all brackets"),
        ("(A:x,B);", "line 1, column 4: the length 'x' is not a number"),
        ("(A:,B);", "line 1, column 4: found ','; expected a length"),
        ("(A:1:2,B);", "line 1, column 5: a second length"),
        ("(A b,B);", "line 1, column 4: found 'b'; expected ',' or ')'; put a name with spaces in quotes"),
        (
            "(A,B)C(D);",
            "line 1, column 7: found '('; expected ',' or ')'; write the name of a clade after its brackets",
        ),
        ("(A,B);\n(C,D);", "line 2, column 1: found '(' after the end; expected a single tree"),
        ("(A,'B);", "line 1, column 4: this quote is not closed"),
        ("(A[b,B);", "line 1, column 3: this comment is not closed"),
        ("(A],B);", "line 1, column 3: found ']' outside a comment"),
        ("(A,B):", "line 1, column 7: the text ends; expected a length"),
        ("", "line 1, column 1: the text ends; expected a tree"),
        (";", "line 1, column 2: the text ends; expected a tree"),
    ],
)
def test_other_texts_are_refused_with_their_place(text: str, message: str) -> None:
    with pytest.raises(ValueError) as error:
        read_newick(text)
    assert str(error.value) == message


def test_a_tree_of_a_hundred_thousand_levels_is_read() -> None:
    assert read_newick("(" * 100_000 + "A" + ")" * 100_000 + ";").depth == 100_000


def test_a_file_of_phylogenies_is_detected_and_its_lengths_are_numbers(tmp_path: Path) -> None:
    texts = [f"((A:{k}.5,B:{k}):0.1,'C d':1e-3)95;" for k in range(12)]
    assert detect(texts) == "newick"
    data = TreeDataset.from_file(written(tmp_path, "trees.nwk", "\n".join(texts)))
    assert (data.reading.notation, len(data), data.bad) == ("newick", 12, [])
    values = data.with_numbers().trees.value
    assert values is not None and sorted(values[values == values].tolist())[:2] == [0.0, 1e-3]


@pytest.mark.parametrize(
    "text", ["((A,B),C);((A,C),B);", "((A:0.1,B:nan),C);", "((A:0.1{0},B:0.2{1}):0.1{2},C:0.2{3});"]
)
def test_a_phylogeny_that_cannot_be_read_is_no_expression(text: str) -> None:
    with pytest.raises(ValueError, match="none of 1 strings is in a known notation"):
        detect([text])


def test_a_file_of_another_suffix_is_read_so_where_the_notation_is_named(tmp_path: Path) -> None:
    file = written(tmp_path, "species.tree", " 5  1\n\n(((Homo, Pan), Gorilla)$1,\n Pongo, Macaca);\n")
    data = TreeDataset.from_file(file, notation="newick", cached=False)
    assert (len(data), data.bad) == (1, [])
    assert sum(node.function == "taxon" for node in data[0][0].preorder()) == 5
    table = written(tmp_path, "table.txt", "tree\tlabel\n(a,b);\tx\n(a,(b,c));\ty\n")
    assert TreeDataset.from_file(table, notation="newick", cached=False).labels == ["x", "y"]


def test_trees_without_their_end_are_cut_where_the_next_one_begins(tmp_path: Path) -> None:
    """However many there are: the limit is that of a tree, not of the file."""
    file = written(tmp_path, "t.nwk", "(a,\n(b,c))\n(a,b)\n" * 200)
    data = TreeDataset.from_file(file, cached=False, max_line=100)
    assert (len(data), data.bad) == (400, [])
    long = written(tmp_path, "long.nwk", "(" + ",\n".join("abcdefgh" for _ in range(50)) + ");\n(a,b);\n")
    data = TreeDataset.from_file(long, cached=False, max_line=100)
    assert len(data) == 1 and "a tree of more than 100 bytes" in data.bad[0].message
