import re
from pathlib import Path

import pytest
from hypothesis import given
from test_infix import LEAVES, READINGS, trees

from dgltree.read.infix import read_equation
from dgltree.read.infix_writer import write_equation, write_infix
from dgltree.read.latex_writer import write_latex, write_latex_equation
from dgltree.read.typed import read_typed, read_typed_expression
from dgltree.trees.equation import BLANK, Equation, blank
from dgltree.trees.tree import Tree

PAGE = Path(__file__).parents[2] / "docs" / "reading.md"


SECTION = PAGE.read_text(encoding="utf-8").split("\n## What people type\n")[1].split("\n## ")[0]


def rows():
    """The tables of docs/reading.md: text, and what is read or (where the last is true) refused."""
    for line in SECTION.splitlines():
        if match := re.fullmatch(r"\| `(.+)` \| (refused: )?`(.+)` \|", line):
            yield *(cell.replace("\\|", "|") for cell in (match[1], match[3])), match[2] is not None


ROWS = list(rows())


def test_no_row_of_the_table_is_passed_over():
    lines = [line for line in SECTION.splitlines() if line.startswith("|")]
    heads = sum(line in ("| text | what is read |", "| --- | --- |") for line in lines)
    assert len({text for text, _, _ in ROWS}) == len(ROWS) == len(lines) - heads >= 150


@pytest.mark.parametrize(("text", "written"), [row[:2] for row in ROWS if not row[2]])
def test_the_table_is_what_is_read(text, written):
    found = read_typed(text).equation
    assert write_equation(found) == written
    assert read_equation(written) == found or "_" in written


@pytest.mark.parametrize(("text", "words"), [row[:2] for row in ROWS if row[2]])
def test_the_table_is_what_is_refused(text, words):
    with pytest.raises(ValueError, match=r"^line 1, column \d+: ") as error:
        read_typed(text)
    assert words in str(error.value)


EXP1 = Tree("Exp1", token="e")
NODES = [("Add", 2), ("Mul", 2), ("Pow", 2), ("log", 2), ("sin", 1), ("exp", 1), ("acsch", 1), ("abs", 1), ("Add", 3)]
NODES += [("Mul", 1), ("Pow", 1)]
NAMES = [Tree("Symbol", token=name) for name in ("x_1", "theta", "speed", "alpha_2", "x1", "v_max", "a_b_c", "i")]
EVERY = [*LEAVES, *NAMES, *map(blank, ("_1", "_2", "_"))]


def as_typed(tree):
    """The tree that a person means by what the writers make of ``tree``: e^x is exp(x), a lone blank has no name."""
    blanks = {node for node in tree.preorder() if node.function == "_"}

    def rebuild(node, children):
        if node.function == "Pow" and len(children) == 2 and children[0] == EXP1:
            return Tree("exp", children[1:])
        return BLANK if len(blanks) == 1 and node in blanks else node.replace(children=children)

    return tree.fold(rebuild)


def behind(tree):
    """``tree`` with something behind it: at the end of a text a float loses its last dot."""
    return Tree("Add", (tree, NAMES[-1]))


@given(trees(NODES, EVERY))
def test_what_infix_writes_is_read_as_what_was_written(tree):
    tree = behind(tree)
    text = write_infix(tree)
    try:
        assert as_typed(read_typed_expression(text)) == as_typed(tree)
    except ValueError as error:
        assert re.search(r"\^-?1/\d", text) and "can mean" in str(error)  # x^1/2 has two readings


@given(trees(NODES, EVERY))
def test_what_latex_writes_is_read_as_what_was_written(tree):
    tree = behind(tree)
    assert as_typed(read_typed_expression(write_latex(tree))) == as_typed(tree)


@given(trees(NODES, EVERY), trees(NODES, EVERY))
def test_what_was_understood_is_written_in_latex_and_read_again(left, right):
    equation = Equation(behind(left), behind(right))
    found = read_typed(write_latex_equation(equation))
    assert read_typed(write_latex_equation(found.equation)) == found


OTHERWISE = {"__": "a blank", "2.": "a sentence ends", "x^1/2": "two readings"}


@pytest.mark.parametrize("text", [text for text in READINGS if text not in OTHERWISE])
def test_strict_text_is_read_as_by_the_strict_reader(text):
    assert as_typed(read_typed_expression(text)) == as_typed(READINGS[text])
