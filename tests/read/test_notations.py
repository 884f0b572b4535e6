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
        assert detect([notation.example] * notation.least) == name, (
            "place it in NOTATIONS before those that read more, or give accepts"
        )
        assert name in DETECTED, f"add texts in {name!r} that are detected to DETECTED here"


GRAPH = '{"nodes": [{"id": 1, "label": "x"}], "links": [], "directed": true}'
DETECTED = {
    "json_object": [['{"user": {"name": "Ann"}}', '{"op": "add", "args": []}'], ["{}", '{"a": [1]}', "x"]],
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
    "node_list": [
        ['[{"type": "Module", "children": [1]}, {"type": "Expr", "children": [2]}, {"type": "Num", "value": "1"}]'],
        ['[{"type":"Program","children":[1]},{"type":"EmptyStatement"},0]'],
    ],
    "estree": [['{"type": "Program", "body": [], "sourceType": "module"}', '{"type": "ThisExpression", "start": 0}']],
    "ast_json": [['{"_type": "Module", "body": [{"_type": "Pass", "lineno": 1}]}']],
    "xml": [["<a/>", '<?xml version="1.0"?><a b="c">d<e/></a>'], ["<s><np>the cat</np></s>\n"]],
    "newick": [
        ["(A:0.1,B:0.2,(C:0.3,D:0.4):0.5);"] * 3,
        ["(A,(B,C));", "((raccoon, bear), (sea_lion, seal));"],
        ["(A,(B,C)D)F"],
        ["[&R] (A,(B,C));"],
    ],
    "infix": [
        ["sin(x)+y"],
        ["(a+b)*c"],
        ["( a + b )"],
        ["( x )"],
        ["x"],
        ["7", "(x)"],
        ["-x^2", "x**2"],
    ],
    "python": [["x = 1\ny = 2"], ["import a"], ["f(x)(y)", "def g(): pass", ""]],
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
    with pytest.raises(ValueError, match="a lone JSON object"):  # which may be records in a key
        detect(['{"kind": "and", "kids": []}'])
    assert detect(["x = 1", "y ="]) == "python"


TREE_LINE = "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        (["(w / want-01 :ARG0 (b / boy) :ARG1 (g / go-01 :ARG0 b))"], "AMR"),
        (["# ::id 1", "# ::snt The boy goes", "(g / go-01", "      :ARG0 (b / boy)", "      :ARG1 b)"] * 2, "AMR"),
        (["((((....))))", "..((...)).", "(((....))).. (-1.20)"], "dot-bracket"),
        ([">one", "GGGAAACCC", "(((...)))", ">two", "GGAAACCU", "((...)).."], "dot-bracket"),
        (["ID=wsj_0001.1 PARSER=GOLD NUMPARSE=1", "(<T S[dcl] 0 2> (<L NP NNP NNP Vinken NP>) )"] * 2, "CCGbank"),
        (["(defun |a b| (x))", "(f |c d e|)"], r"bars, \|a b\|"),
        (["( (S (NP (PRP I)) (VP (VBP am))) (. .) )"] * 3, "brackets without a label hold several"),
        (['["Add", 1, ["Power", "x", 2]]'] * 3, "MathJSON"),
        ([f'"{TREE_LINE}"'] * 3, "in quotation marks"),
        (['"(f ""a b"" (g x))"'] * 3, "in quotation marks"),
        (['\'{"label": "x"}\''] * 3, "in quotation marks"),
    ],
)
def test_other_notations_are_refused_by_name(texts, named):
    with pytest.raises(ValueError, match=f"^these are .*{named}"):
        detect(texts)


@pytest.mark.parametrize(
    "texts",
    [
        [f"# {TREE_LINE}"] * 3,
        ["# a comment", "# another"],
        ["[1, 2]", "('a', 'b')", '"""Doc."""'],
        ["ls -l", "rm -r -f", "wc --lines"],
        ["well-known", "state-of-the-art"],
        ["usr/bin/env", "etc/hosts"],
        ["2024-01-02", "1/2/2024"],
    ],
)
def test_what_only_parses_is_in_no_notation(texts):
    with pytest.raises(ValueError, match=r"^none of"):
        detect(texts)


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("infix", ["(max(a,b)+c)", "(f(a,b))^2", "(a/b)", "(a / b) - c"]),
        ("infix", ["x -y", "x-y", "a/b", "10-2", "sin(x)-cos(y)"]),
        ("sexpr", ["(or | a)", "(f a| |b)", "(|| x y)"]),
        ("sexpr", ["((x 1) (y 2))", "((a b) (S c))", "(a ,b)", '(f "a, b")']),
        ("treebank", ["( (S (NP (PRP I)) (VP (VBP am)) (. .)) )"]),
        ("treebank", ["(CD 1/2)", "(S (NP (CD 10,000)) (, ,) (: ...))"]),
        ("python", ["x = 1\n# why", "[f(x) for x in y]", "print('(a)')"]),
    ],
)
def test_what_only_resembles_them_is_read(name, texts):
    assert detect(texts) == name


def test_a_notation_that_reads_a_minority_is_refused_with_how_many_each_reads():
    texts = ["x+y", "2x", "3y"]
    with pytest.raises(ValueError, match="no detectable notation") as info:
        detect(texts)
    named = "html, smiles, smiles_rings, smiles_atoms, words, c, cpp, java and javascript"
    told = f"infix reads 1; {named} are read only with --notation"
    assert str(info.value) == f"no detectable notation can read half of 3 trees: {told}"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "found no text; choose one of these with --"),
        (["", " \n"], "found no text; choose one of these with --"),
        (["(", "$$"], "none of 2 strings is in a known notation; choose one of these with --"),
        (["(" * 100_000], "none of 1 strings is in a known notation; choose one of these with --"),
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
    assert sum(looked) <= len(NOTATIONS) * 100_000
