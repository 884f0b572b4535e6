"""What encoders tell apart, as ``fit`` makes and trains them, and what it says of what they read."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from own_trees import QUIET

import dgltree
from dgltree import TrainedModel, Tree, TreeDataset
from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells import CELLS, Cell
from dgltree.encoders import SEQUENCE_ENCODERS, TreeEncoder, make_encoder
from dgltree.read.conllu import iter_conllu
from dgltree.read.notations import NOTATIONS

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree.training.deciding import decide
from dgltree.training.input_sensitivity import MAX_TREE_NODES, _small_part, all_equal, measure_sensitivity
from dgltree.training.options import FitOptions
from dgltree.training.short_trainings import build

pytestmark = QUIET


def graph(text: str) -> str:
    """The tree of an S-expression as a graph of networkx."""
    nodes = list(NOTATIONS["sexpr"].read(text).preorder())
    numbers = {id(node): i for i, node in enumerate(nodes)}
    edges = [
        {"source": numbers[id(node)], "target": numbers[id(child)], "slot": k}
        for node in nodes
        for k, child in enumerate(node.children)
    ]
    named = [{"id": i, "function": node.token or node.function} for i, node in enumerate(nodes)]
    return json.dumps({"directed": True, "nodes": named, "edges": edges})


def sentence(words: str) -> Tree:
    """The tree of ``word/relation ...`` under ``sleeps``."""
    rows = [word.split("/") for word in words.split()]
    lines = [f"{i}\t{form}\t_\t_\t_\t_\t1\t{relation}\t_\t_" for i, (form, relation) in enumerate(rows, 2)]
    [found] = iter_conllu(["1\tsleeps\t_\t_\t_\t_\t0\troot\t_\t_", *lines, ""])
    assert isinstance(found.tree, Tree)
    return found.tree


DIFFERENT: dict[str, dict[str, str]] = {
    "sexpr": {
        "as it is": "(f (g a b c d) (h x))",
        "an inner function": "(f (k a b c d) (h x))",
        "a token": "(f (g a b c e) (h x))",
        "the nesting": "(f (g a b c) (h d x))",
        "the order": "(f (g d b a c) (h x))",
    },
    "xml": {
        "as it is": "<f><g><a/><b/><c/><d/></g><h><x/></h></f>",
        "an inner function": "<f><k><a/><b/><c/><d/></k><h><x/></h></f>",
        "a leaf": "<f><g><a/><b/><c/><e/></g><h><x/></h></f>",
        "the nesting": "<f><g><a/><b/><c/></g><h><d/><x/></h></f>",
        "the order": "<f><g><d/><b/><a/><c/></g><h><x/></h></f>",
    },
    "infix": {
        "as it is": "Add(sin(x), y, z, w)",
        "an inner function": "Add(cos(x), y, z, w)",
        "a token": "Add(sin(y), y, z, w)",
        "the nesting": "Add(sin(x), y, Add(z, w))",
        "the order": "Add(w, y, sin(x), z)",
    },
    "json": {
        "as it is": '{"label": "f", "children": [{"label": "g", "children": ["a", "b", "c", "d"]}]}',
        "an inner function": '{"label": "f", "children": [{"label": "h", "children": ["a", "b", "c", "d"]}]}',
        "a token": '{"label": "f", "children": [{"label": "g", "children": ["a", "b", "c", "e"]}]}',
        "the nesting": '{"label": "f", "children": [{"label": "g", "children": ["a", "b", "c"]}, "d"]}',
        "the order": '{"label": "f", "children": [{"label": "g", "children": ["d", "b", "a", "c"]}]}',
    },
    "newick": {
        "as it is": "(A,(B,C,D,E)F);",
        "the name of a clade": "(A,(B,C,D,E)G);",
        "a token": "(A,(B,C,D,F)F);",
        "a length": "(A,(B:1,C,D,E)F);",
        "the nesting": "(A,(B,C,(D,E))F);",
        "the order": "(A,(E,C,B,D)F);",
    },
    "brackets": {
        "as it is": "( a ( b c d e ) )",
        "a token": "( a ( b c d f ) )",
        "the nesting": "( a ( b c ( d e ) ) )",
        "the order": "( a ( e c b d ) )",
    },
    "treebank": {
        "as it is": "(S (NP (DT the) (NN cat) (RB now) (IN on)) (VP (VBZ is)))",
        "an inner function": "(S (PP (DT the) (NN cat) (RB now) (IN on)) (VP (VBZ is)))",
        "a token": "(S (NP (DT the) (NN dog) (RB now) (IN on)) (VP (VBZ is)))",
        "the nesting": "(S (NP (DT the) (NN cat) (RB now)) (VP (IN on) (VBZ is)))",
        "the order": "(S (NP (IN on) (NN cat) (DT the) (RB now)) (VP (VBZ is)))",
    },
    "sst": {
        "as it is": "(3 (2 the) (1 (2 cat) (2 is) (2 not) (2 on)))",
        "a token": "(3 (2 the) (1 (2 dog) (2 is) (2 not) (2 on)))",
        "the nesting": "(3 (1 (2 the) (2 cat)) (1 (2 is) (2 not) (2 on)))",
        "the order": "(3 (2 the) (1 (2 on) (2 is) (2 cat) (2 not)))",
    },
    "python": {
        "as it is": "if a:\n    f(b, c, d)",
        "an inner function": "while a:\n    f(b, c, d)",
        "a token": "if a:\n    f(b, c, e)",
        "the nesting": "if a:\n    f(b, c(d))",
        "the order": "if a:\n    f(d, b, c)",
    },
    "words": {
        "as it is": "the cat now here",
        "a token": "the dog now here",
        "the order": "here cat the now",
    },
    "conllu": {
        "as it is": "the/det cat/nsubj now/advmod here/obl",
        "an inner function": "the/det cat/nsubj now/obl here/obl",
        "a token": "the/det dog/nsubj now/advmod here/obl",
        "the order": "here/obl cat/nsubj the/det now/advmod",
    },
}
DIFFERENT["node_link"] = {what: graph(text) for what, text in DIFFERENT["sexpr"].items()}


def trees_of(notation: str) -> dict[str, Tree]:
    read = sentence if notation == "conllu" else NOTATIONS[notation].read
    return {what: read(text) for what, text in DIFFERENT[notation].items()}


def test_every_notation_that_keeps_an_order_has_trees_that_differ() -> None:
    assert set(NOTATIONS) - set(DIFFERENT) == {
        *("smiles", "smiles_rings", "smiles_atoms", "c", "cpp", "java", "javascript", "html"),
        *("ast_json", "estree", "node_list", "json_object"),  # of keys, whose order is a part of the format
    }, "add texts here"


@pytest.mark.parametrize("encoder", [None, *CELLS, *SEQUENCE_ENCODERS])
def test_trees_that_differ_have_different_vectors(encoder: str | None, tmp_path: Path) -> None:
    """As ``fit`` makes each encoder, and of the one that it takes by itself after two epochs."""
    inner = ("conllu", "newick")  # tokens at inner nodes, which a sequence would lose
    notations = [name for name in DIFFERENT if name not in inner or encoder not in SEQUENCE_ENCODERS]
    named = {(name, what): tree for name in notations for what, tree in trees_of(name).items()}
    trees = list(named.values())
    data = TreeDataset(trees * 2, [str(i % 3) for i in range(2 * len(trees))])
    how: dict[str, Any] = {"encoder": encoder, "hidden_size": 16, "epochs": 2, "no_baseline": True}
    if encoder is None:
        model = dgltree.fit(data, validation=data, out=tmp_path / "model", **how)
    else:
        decision = decide({"train": data, "validation": data}, FitOptions(**how))
        model = TrainedModel.of(decision, build(decision).model)
    assert not all_equal(model.encode(trees)), "its vectors collapsed"
    model.model.double()  # what is deep inside a tree changes the state of a plain network little
    vectors = dict(zip(named, model.encode(trees), strict=True))
    for (notation, what), vector in vectors.items():
        first = vectors[notation, "as it is"]
        difference = float((vector - first).abs().max() / first.abs().max())
        assert what == "as it is" or difference > 1e-13, f"{encoder}: {notation} does not differ by {what}"


BLIND = [
    "the encoder reads tokens",
    "warning: the encoder ignores the function of an inner node (one of 4): trees that differ only in this have "
    "equal vectors",
    "warning: the encoder ignores the order of children: trees that differ only in this have equal vectors",
]


def test_the_published_child_sum_cell_stays_blind_and_fit_warns_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trees = trees_of("sexpr")
    data = TreeDataset(list(trees.values()) * 4, list("abcab") * 4)
    options = {"functions": False, "positions": False}
    how: dict[str, Any] = {"encoder": "child_sum", "hidden_size": 8, "epochs": 1, "no_baseline": True}
    model = dgltree.fit(data, validation=data, out=tmp_path / "model", options=options, **how)
    assert capsys.readouterr().err.splitlines()[:3] == BLIND
    vectors = dict(zip(trees, model.encode(list(trees.values())), strict=True))
    assert torch.equal(vectors["as it is"], vectors["an inner function"])
    torch.testing.assert_close(vectors["as it is"], vectors["the order"])
    assert not torch.allclose(vectors["as it is"], vectors["the nesting"])


@pytest.mark.parametrize(
    ("name", "options", "reads", "unseen"),
    [
        ("tree_lstm", {}, "functions, tokens and the order of children", ["the function of a leaf (one of 2)"]),
        (
            "tree_lstm",
            {"typed": False, "input_size": 3, "leaf": "gates"},
            "tokens and the order of children",
            ["the function of an inner node (one of 2)", "the function of a leaf (one of 2)"],
        ),
        (
            "child_sum",
            {"input_size": 3, "leaf": "gates", "functions": True},
            "functions and tokens",
            ["the order of children"],
        ),
        ("lstm", {}, "functions, tokens and the order of children", ["the function of a leaf (one of 2)"]),
        (
            "lstm",
            {"order": "leaves"},
            "tokens and the order of children",
            ["the function of an inner node (one of 2)", "the function of a leaf (one of 2)", "the inner nodes"],
        ),
    ],
)
def test_what_an_encoder_does_not_see_is_told_by_its_options(
    name: str, options: dict[str, Any], reads: str, unseen: list[str]
) -> None:
    data = TreeDataset([dgltree.read_infix("x*2+2"), dgltree.read_infix("x*2")])
    found = measure_sensitivity(make_encoder(name, data.vocabulary(any_arity=name == "child_sum"), 4, **options), data)
    assert (str(found), found.unseen) == (reads, unseen)
    cut = data.vocabulary(any_arity=name == "child_sum", min_count=3)
    rare = TreeDataset([*(tree for tree, _ in map(data.__getitem__, range(2))), Tree("Symbol", token="z")])
    assert str(measure_sensitivity(make_encoder(name, cut, 4, **options), rare)) == reads
    blind = data.vocabulary(any_arity=name == "child_sum", min_count=9)
    assert "tokens" in measure_sensitivity(make_encoder(name, blind, 4, **options), data).unseen


class Mixed(Cell):
    """Adds its children up, whatever their order, and reads no function: a user's cell that no class of ours is."""

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, **{"typed": False, **options})
        self.build()

    @property
    def state(self) -> dict[str, tuple[int, ...]]:
        return {"h": (self.hidden_size,)}

    def gates(self, arity: int | None) -> dict[str, int]:
        return {"u": self.hidden_size}

    def combine(self, pre: Any, children: Any, linear: Any) -> dict[str, torch.Tensor]:
        return {"h": torch.tanh(sum(children["h"]) + 0.1)}


def test_a_cell_of_a_user_is_asked_what_it_reads_and_not_what_it_is_derived_from() -> None:
    data = TreeDataset([dgltree.read_infix("sin(x*2)+y"), dgltree.read_infix("x*2")])
    found = measure_sensitivity(TreeEncoder(Mixed(data.vocabulary(), 4)), data)
    assert found.reads == ["tokens"]
    assert "the order of children" in found.unseen
    assert "the function of an inner node (one of 3)" in found.unseen


def test_what_trees_do_not_differ_in_is_neither_read_nor_unseen() -> None:
    data = TreeDataset([Tree("f", (Tree("x", token="a"),)), Tree("f", (Tree("x", token="b"),))])
    found = measure_sensitivity(make_encoder("tree_lstm", data.vocabulary(), 4), data)
    assert found == (["tokens"], [])


def test_equal_vectors_are_told_by_their_rows() -> None:
    assert all_equal(torch.ones(3, 4) + 1e-7 * torch.rand(3, 4))
    assert not all_equal(torch.tensor([[1.0, 2.0], [1.0, 2.1]]))
    assert not all_equal(torch.ones(1, 2))


def test_fit_says_that_all_vectors_are_equal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TrainedModel, "encode", lambda self, trees: torch.ones(len(trees), 3))
    trees = list(trees_of("sexpr").values())
    data = TreeDataset(trees * 2, list("abcab") * 2)
    dgltree.fit(data, validation=data, out=tmp_path / "model", hidden_size=4, epochs=1, no_baseline=True)
    assert (
        "warning: all vectors of the validation set are equal, so all trees get the same prediction; try a lower --lr "
        "or another --encoder"
    ) in capsys.readouterr().err.splitlines()


def test_of_a_tree_of_many_nodes_a_part_is_read() -> None:
    deep = Tree("g", (Tree("a", token="x"), Tree("b", token="y")))
    for _ in range(MAX_TREE_NODES):
        deep = Tree("f", (deep, Tree("a", token="x")))
    part = _small_part(deep)
    assert MAX_TREE_NODES - 2 <= part.size <= MAX_TREE_NODES
    assert _small_part(part) is part
