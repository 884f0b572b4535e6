"""Hostile texts and trees for readers, searches and batches."""

import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec

from fuzzing import PIECES, Target, mutated, refuses
from hypothesis import strategies as st

from dgltree import Tree, Vocabulary, batch, unbatch
from dgltree.batching.subtrees import number_subtrees
from dgltree.equations.completion.completer import Completer
from dgltree.equations.typed import read_typed
from dgltree.equations.typed.latex_writer import write_latex_equation
from dgltree.read.bracket import write_sst, write_treebank, write_unlabelled
from dgltree.read.code import LANGUAGES
from dgltree.read.conllu import iter_conllu
from dgltree.read.infix import read_equation
from dgltree.read.infix_writer import write_equation, write_infix
from dgltree.read.notations import NOTATIONS, detect
from dgltree.read.sexpr import write_sexpr

CONLLU = "# sent_id = a-1\n1\tYes\tyes\tINTJ\t_\t_\t0\troot\t_\t_\n2\t.\t.\tPUNCT\t_\t_\t1\tpunct\t_\t_\n\n"
TEXTS = {
    "sst": "(3 (2 The) (4 (2 Rock) (3 .)))",
    "treebank": "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (-NONE- *))",
    "brackets": "( not ( e ( or ( not f ) ) ) )",
    "sexpr": '(+ x "a b" (sin y)) ; comment',
    "json": '{"label": "add", "children": [{"label": "x", "token": "t"}, {"label": "2"}]}',
    "node_list": '[{"type": "Module", "children": [1, 3]}, {"type": "Expr", "children": [2]}, '
    '{"type": "Num", "value": 7}, {"type": "Pass"}, 0]',
    "estree": '{"type": "Program", "body": [{"type": "ExpressionStatement", "expression": {"type": "BinaryExpression", '
    '"operator": "+", "left": {"type": "Identifier", "name": "x", "range": [0, 1]}, "right": {"type": "Literal", '
    '"value": 1, "raw": "1"}}}, null], "sourceType": "module", "async": false}',
    "xml": '<?xml version="1.0"?><a b="c">d &amp; e<f/><!-- g --><h:i xmlns:h="j">k</h:i></a>',
    "html": "<!DOCTYPE html><p class=a>one <b>two</b><ul><li>three<li>four</ul>&nbsp;<br>",
    "infix": "sin(x)^-2*(y - 3/4) + sqrt(x_1) - log(e, 10)*_ / 0.7e-3",
    "python": "def f(x, *y):\n    return [x + 1 for z in y if not z]\n",
}
NEEDS = {
    **dict.fromkeys(("smiles", "smiles_rings", "smiles_atoms"), "rdkit"),
    "html": "lxml",
    **{name: f"tree_sitter_{name}" for name in LANGUAGES},
}
"""Notation to the package without which it is not read."""
TYPED = r"2x(x + 1) - |y|½ + sin²2x^{10} √x + \frac{\sqrt[3]{x_1}}2 + xe^x sin^-1 y \cdot \log_2\left(_1\right) = ___"
WRITERS: Mapping[str, Callable[[Tree], str]] = {
    "sst": write_sst,
    "treebank": write_treebank,
    "brackets": write_unlabelled,
    "sexpr": write_sexpr,
    "infix": write_infix,
}


def notation(name: str) -> Target:
    def run(text: str) -> bool:
        if refuses(lambda: NOTATIONS[name].read(text)):
            return False
        tree = NOTATIONS[name].read(text)
        if name in WRITERS:
            written: list[str] = []
            if not refuses(lambda: written.append(WRITERS[name](tree))):
                assert NOTATIONS[name].read(written[0]) == tree, f"written as {written[0]!r}"
        return True

    return Target(mutated(TEXTS.get(name, NOTATIONS[name].example)), run)


def equation(text: str) -> bool:
    if refuses(lambda: read_equation(text)):
        return False
    found = read_equation(text)
    assert read_equation(write_equation(found)) == found
    return True


def typed(text: str) -> bool:
    if refuses(lambda: read_typed(text)):
        return False
    write_equation(read_typed(text).equation)
    write_latex_equation(read_typed(text).equation)
    return True


LEVELS = ("({})^6", "({})^2", "sqrt({})", "sin({})", "1/({})", "({} + 1)^3", "x*({})", "({})^({})^2")


@st.composite
def towers(draw: st.DrawFn) -> str:
    """An equation with a blank and many nested powers, of at most a million characters."""
    text = "x"
    for level in draw(st.lists(st.sampled_from(LEVELS), max_size=180)):
        if len(text) < 100_000:
            text = level.format(*[text] * level.count("{}"))
    return draw(st.sampled_from(["{} = x*_", "_ = {}", "{} + _ = x", "_^2 = {}"])).format(text)


def searched(text: str) -> bool:
    """A search keeps its seconds, whatever it is asked: 5 s of the processor are some hundred times as many."""
    if refuses(lambda: read_equation(text)):
        return False
    start, equation = time.process_time(), read_equation(text)
    refused = refuses(lambda: Completer(seconds=0.05).complete(equation))
    assert time.process_time() - start < 5, "a search goes on when its time is over"
    return not refused


def conllu(text: str) -> bool:
    found = [tree for _, _, tree in iter_conllu(text.splitlines())]
    return not any(isinstance(tree, ValueError) for tree in found)


NAMES = ["f", "g", "_", "<unk>", "\ud800", "a b"]
LABELS = [None, None, None, 0, 7, 2**40]


@st.composite
def forests(draw: st.DrawFn) -> tuple[list[Tree], bool]:
    """Some trees, which may share their parts, and whether the vocabulary is that of the first one alone."""
    nodes: list[Tree] = []
    for _ in range(draw(st.integers(1, 12))):
        children = draw(st.lists(st.sampled_from(nodes), max_size=3)) if nodes else []
        token = draw(st.none() | st.sampled_from([*NAMES, *PIECES, ""]))
        value = draw(st.none() | st.floats(allow_nan=False, allow_infinity=False))
        label = draw(st.sampled_from(LABELS) if draw(st.integers(0, 9)) else st.sampled_from([-1, "a", 1.5]))
        nodes.append(Tree(draw(st.sampled_from(NAMES)), children, token, value, label))
    return draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=3)), not draw(st.integers(0, 9))


def batched(example: tuple[list[Tree], bool]) -> bool:
    """What is batched comes back, also some of it, and by way of a graph."""
    trees, first = example
    vocabulary = Vocabulary.from_trees(trees[:1] if first else trees)
    if refuses(lambda: batch(trees, vocabulary)):
        return False
    flat = batch(trees, vocabulary)
    assert unbatch(flat) == trees
    assert unbatch(flat[[len(trees) - 1]]) == trees[-1:]
    assert unbatch(number_subtrees(flat)) == trees
    return True


def text_targets() -> dict[str, Target]:
    """By name."""
    return {
        **{f"read {name}": notation(name) for name in NOTATIONS if not NEEDS.get(name) or find_spec(NEEDS[name])},
        "read equation": Target(mutated("2*x - _ = sin(pi/2)^-1"), equation),
        "read typed": Target(mutated(TYPED), typed),
        "search nested powers": Target(towers(), searched),
        "read conllu": Target(mutated(CONLLU), conllu),
        "detect": Target(
            st.lists(st.sampled_from(list(TEXTS.values())).flatmap(mutated), max_size=5),
            lambda texts: not refuses(lambda: detect(texts)),
        ),
        "batch": Target(forests(), batched),
    }
