"""Trees are shown as their file has them: in its notation, and with the names that it has for nodes."""

import json
from pathlib import Path
from typing import Any

import pytest
from own_trees import written

import dgltree
from dgltree.datasets import Reading

pytest.importorskip("starlette", reason="the explore extra is not installed")

from dgltree.explore.tree_drawing import WRITERS, node_names, read_texts, write_tree
from dgltree.read.notations import NOTATIONS

SENTENCE = """\
# sent_id = a
{text}1\tThe\tthe\tDET\t_\t_\t2\tdet\t_\t_
2\tcat\tcat\tNOUN\t_\t_\t3\tnsubj\t_\t_
3\tsleeps\tsleep\tVERB\t_\t_\t0\troot\t_\t_

"""
CODE = "import os\n\n\ndef f(x):\n    return  x + 1\n\n\ndef g():\n    pass\n"
JSON = {"label": "add", "children": [{"label": "x"}, {"label": "2"}]}
FILES = {
    "formulas.tsv": ("tree\tlabel\nx-(y - 1)\ta\nx +y\tb\nbad(\ta\nsin( x)\tb\n", ["x-(y - 1)", "x +y", "sin( x)"]),
    "lists.csv": ('label,tree\na,"(f ""s t"" b)"\n', ['(f "s t" b)']),
    "objects.jsonl": (f'{{"label": "a", "tree": {json.dumps(JSON)}}}\n', [json.dumps(JSON)]),
    "code.jsonl": (json.dumps({"label": "a", "tree": CODE}) + "\n", [" ".join(CODE.split())]),
    "pairs.tsv": ("left\tright\tlabel\nx\ty +z\ta\n", ["x · y +z"]),
    "bare.mrg": ("( (S (NP (DT the)\n  (NN cat))))\n", ["( (S (NP (DT the) (NN cat))))"]),
    "said.conllu": (SENTENCE.format(text="# text = The cat sleeps.\n"), ["The cat sleeps."]),
    "words.conllu": (SENTENCE.format(text=""), ["The cat sleeps"]),
    "long.txt": ("(f " + "x " * 200 + ")\n", ["(f " + "x " * 78 + "x ..."]),
}


@pytest.mark.parametrize("name", FILES)
def test_a_list_has_the_texts_of_the_file(name: str, tmp_path: Path) -> None:
    content, texts = FILES[name]
    file = str(written(tmp_path, name, content))
    data = dgltree.TreeDataset.from_file(file, cached=False)
    assert read_texts(file, data) == texts
    assert read_texts(file, data.select([len(data) - 1])) == texts[-1:]


def test_a_function_is_shown_from_its_first_line_on(tmp_path: Path) -> None:
    (tmp_path / "sources").mkdir()
    written(tmp_path / "sources", "a.py", CODE)
    data = dgltree.TreeDataset.from_file(tmp_path / "sources", unit="function", cached=False)
    assert read_texts(str(tmp_path / "sources"), data) == ["def f(x): return x + 1 def g(): pass", "def g(): pass"]
    whole = dgltree.TreeDataset.from_file(tmp_path / "sources" / "a.py", cached=False)
    assert read_texts(str(tmp_path / "sources" / "a.py"), whole) == [" ".join(CODE.split())]


@pytest.mark.parametrize("notation", WRITERS)
def test_a_subtree_is_written_in_its_notation(notation: str) -> None:
    text = NOTATIONS[notation].example
    assert write_tree(NOTATIONS[notation].read(text), Reading(notation=notation)) == text
    odd = dgltree.Tree("f", [dgltree.Tree("number", value=2.5), dgltree.Tree("atom", token="<unk>")], token="t")
    assert write_tree(odd, Reading(notation="treebank")) == "(f:t 2.5 <unk>)"


NAMES: list[tuple[str | None, Any, list[str]]] = [
    ("infix", "x*y + 2", ["+", "×", "x", "y", "2"]),
    ("sexpr", "(Add x (Mul y 2))", ["Add", "x", "Mul", "y", "2"]),
    ("treebank", "(S (NP (DT the) (NN cat)))", ["S", "NP", "DT the", "NN cat"]),
    ("sst", "(3 (2 The) (4 Rock))", ["3", "2 The", "4 Rock"]),
    ("brackets", "( not ( e f ) )", ["·", "not", "·", "e", "f"]),
    ("python", "x", ["Module", "body", "Expr", "Name", "x"]),
]


@pytest.mark.parametrize(("notation", "text", "names"), NAMES)
def test_nodes_are_named_as_the_notation_names_them(notation: str, text: str, names: list[str]) -> None:
    tree = NOTATIONS[notation].read(text)
    name = node_names([tree], Reading(notation=notation))
    assert [name(node) for node in tree.preorder()] == names


def test_words_of_a_dependency_tree_are_named_with_their_relations(tmp_path: Path) -> None:
    file = written(tmp_path, "a.conllu", SENTENCE.format(text=""))
    tree, _ = dgltree.TreeDataset.from_file(file, cached=False)[0]
    assert isinstance(tree, dgltree.Tree)
    name = node_names([tree], Reading())
    assert [name(node) for node in tree.preorder()] == ["root sleeps", "nsubj cat", "det The"]
