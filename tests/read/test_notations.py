"""The notations by name, and telling them apart."""

import re

import pytest

from dgltree.read import notations
from dgltree.read.notations import NOTATIONS, detect
from dgltree.trees.tree import Tree


def test_every_notation_reads_its_example_and_is_detected_by_it():
    for name, notation in NOTATIONS.items():
        if notation.detectable == "never":
            continue
        assert isinstance(notation.read(notation.example), Tree), f"the example of {name!r} in NOTATIONS is not a tree"
        assert detect([notation.example]) == name, "place it in NOTATIONS before those that read more, or give accepts"
        assert name in DETECTED, f"add texts in {name!r} that are detected to DETECTED here"


GRAPH = '{"nodes": [{"id": 1, "label": "x"}], "links": [], "directed": true}'
DETECTED = {
    "sst": [["(2 Rock)"], ["(3 (2 a) (4 b))", " (0 (1 -LRB-) (2 c))\n"]],
    "treebank": [
        ["(S (NP (DT the)))"],
        ["( (S (NP (DT the) (NN cat))) )"],
        ["(2 Rock)", "(NP (DT the) (NN cat))"],
        ["(3 (5 a) (4 b))"],
    ],
    "brackets": [
        ["( not ( e ( or f ) ) )"],
        ["d", "( not d )", "( d ( and e ) )"],
        ["( ( ( [SM 6 ) 5 ) ] )"],
        ["( not ( e ) )", "( a b c )"],
    ],
    "sexpr": [
        ["(+ x (sin y))"],
        ["(f a (g b c))", "x", "()"],
        ["(sin x)", "(+ x y)"],
        ['; one\n(f "a b")'],
        ["((a b) c)"],
    ],
    "json": [['{"label": "x"}'], ['{"label": "f", "children": ["x", 2]}', '{"label": "x", "nodes": []}']],
    "node_link": [[GRAPH], [GRAPH, '{"directed": true, "nodes": [{"id": 0, "function": "f"}], "edges": []}']],
    "infix": [
        ["sin(x)+y"],
        ["(a+b)*c"],
        ["( a + b )"],
        ["( x )"],
        ["x"],
        ["7", "(x)"],
        ["-x^2", "x**2"],
    ],
    "python": [["x = 1\ny = 2"], ["import a"], ["f(x)(y)", "def g(): pass", ""], ['"""Doc."""']],
}


@pytest.mark.parametrize(("name", "texts"), [(name, texts) for name in DETECTED for texts in DETECTED[name]])
def test_the_notation_that_reads_all_texts_is_detected(name, texts):
    assert detect(texts) == name
    assert detect(["", *texts, "\n"]) == name
    if name != "python":
        assert detect(texts * 3 + ["$ ("]) == name


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("sst", ["(3 (2 a) (4 b))", "(2 a)", "(3 (2 a)"]),
        ("treebank", ["(NP (DT the) (NN cat))", "(NP (DT the)"]),
        ("infix", ["x + y", "2x", "x*y"]),
        ("infix", ["foo(x)", "x^2", "y"]),
        ("json", ['{"label": "x"}', "{}"]),
        ("node_link", [GRAPH, GRAPH, "{}"]),
        ("sexpr", ["(+ x y)", "(* x y)", "(sin x)", "(+ x"]),
    ],
)
def test_the_notation_that_reads_most_texts_is_detected_where_none_reads_all(name, texts):
    assert detect(texts) == name


def test_python_is_taken_only_where_nothing_else_reads_half_of_the_texts():
    assert detect(["x = 1", "x"]) == "infix"
    assert detect(["x = 1", "x", "y = 2"]) == "python"
    with pytest.raises(ValueError, match="none of 1 texts"):
        detect(['{"kind": "and", "kids": []}'])
    assert detect(["x = 1", "y ="]) == "python"


def test_a_notation_that_reads_a_minority_is_refused_with_how_many_each_reads():
    texts = ["x+y", "2x", "3y"]
    with pytest.raises(ValueError, match="no notation") as info:
        detect(texts)
    told = "infix reads 1, python reads 1; smiles, c, java and javascript are read where --notation names them"
    assert str(info.value) == f"no notation that is detected reads half of 3 trees: {told}"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "found no text; expected one of\n"),
        (["", " \n"], "found no text; expected one of\n"),
        (["(", "$$"], "none of 2 texts is in a known notation; expected one of\n"),
        (["(" * 100_000], "none of 1 texts is in a known notation; expected one of\n"),
    ],
)
def test_texts_in_no_notation_are_refused_with_the_known_ones(texts, message):
    with pytest.raises(ValueError, match=re.escape(message)) as info:
        detect(texts)
    for name, notation in NOTATIONS.items():
        assert f"\n  {name}: {notation.example}" in str(info.value)


def test_long_texts_are_looked_at_only_where_there_are_no_others(monkeypatch):
    looked: list[int] = []
    reads = notations._reads
    monkeypatch.setattr(notations, "_reads", lambda name, text: looked.append(len(text)) or reads(name, text))
    long = "+".join(["x"] * 60_000)
    assert detect([long, "x+y", long, "x*y"]) == "infix"
    assert set(looked) == {3}
    looked.clear()
    assert detect(["(" * 1_000_000 + "x", "(3 " + "(2 a) " * 20_000 + ")"]) == "sst"
    assert set(looked) == {120_004}
    looked.clear()
    detect(["(f x)" + " " * 995] * 1000)
    assert sum(looked) <= 8 * 100_000
