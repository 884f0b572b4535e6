"""What notebooks show: pictures that need nothing from elsewhere, under 50 KB, with all texts escaped."""

import itertools
import re
from html.parser import HTMLParser
from typing import Any

import pytest
import torch

import dgltree
from dgltree import Tree
from dgltree.encoders import Attention, Beams, Distances, Merges, make_encoder
from dgltree.read.bracket import read_unlabelled

LARGEST = 50_000
EVIL = "<img src=//x onerror=alert(1)>"


class Read(HTMLParser):
    """The texts of SVG, its tags and their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "text":
            self.texts.append(data)


def chain(length: int) -> Tree:
    tree = Tree("x")
    for _ in range(length):
        tree = Tree("f", [tree])
    return tree


def balanced(depth: int) -> Tree:
    """One object a level: 2^depth leaves."""
    tree = Tree("word", token="w")
    for _ in range(depth):
        tree = Tree("phrase", [tree, tree])
    return tree


def shown() -> dict[str, Any]:
    formula = dgltree.read_infix("sin(x)^2 + 3*y")
    trees = [formula, chain(5000), balanced(60), Tree(EVIL, [Tree("word", token=EVIL)])]
    vocabulary = dgltree.Vocabulary.from_trees(trees[:2])
    orders = torch.tensor([[0, 2, 1]])
    return {
        **{f"tree {k}": tree for k, tree in enumerate(trees)},
        "wide": Tree("f", [Tree("word", token=f"{EVIL}{k}") for k in range(159)]),
        "batch": dgltree.batch(trees[:2] * 50, vocabulary),
        "completion": dgltree.complete("sin(x)^2 + _ = 1"),
        "attention": Attention(torch.rand(1, 5, 4).softmax(-1)),
        "distances": Distances(torch.rand(1, 5)),
        "merges": Merges(orders),
        "beams": Beams(orders[None], torch.ones(1, 1)),
    }


@pytest.mark.parametrize("name", shown())
def test_it_is_small_and_asks_for_nothing(name: str) -> None:
    text = shown()[name]._repr_html_()
    assert len(text.encode()) < LARGEST
    read = Read(text)
    allowed = {"div", "svg", "g", "path", "rect", "text", "p", "code", "table", "thead", "tbody", "tr", "th", "td"}
    assert {tag for tag, _ in read.tags} <= allowed | {"details", "summary", "ul", "li"}
    attributes = {key for _, found in read.tags for key in found}
    assert not attributes & {"src", "href", "onerror", "xlink:href"}
    assert "url(" not in text


def test_a_tree_is_drawn_with_its_names_and_edges() -> None:
    tree = dgltree.read_infix("sin(x)^2 + 3*y")
    read = Read(tree._repr_html_())
    names = [node.token or node.function for node in tree.preorder()]
    assert sorted(read.texts) == sorted(names)
    paths = [found["d"] for tag, found in read.tags if tag == "path"]
    assert len(paths) == tree.size - 1
    boxes = [float(str(found["x"])) for tag, found in read.tags if tag == "rect"]
    assert len(boxes) == tree.size
    rows: dict[str, list[tuple[float, float]]] = {}
    for tag, found in read.tags:
        if tag == "rect":
            left = float(str(found["x"]))
            rows.setdefault(str(found["y"]), []).append((left, left + float(str(found["width"]))))
    for row in rows.values():
        ends = sorted(row)
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(ends))  # no two of a row overlap


def test_a_large_tree_is_cut_near_the_root_and_says_its_size() -> None:
    text = balanced(60)._repr_html_()
    assert f"Tree of {2**61 - 1:,} nodes, depth 60" in text
    assert "…" in Read(text).texts


def test_a_batch_shows_its_first_trees() -> None:
    trees = [dgltree.read_infix(text) for text in ("x + y", "sin(x)", "x*y", "2", "y", "z")]
    text = dgltree.batch(trees, dgltree.Vocabulary.from_trees(trees))._repr_html_()
    assert re.search("6 trees as one graph of 11 nodes and 5 edges; the first 4<", text.replace(",", ""))
    assert Read(text).texts == ["Add", "x", "y", "sin", "x", "Mul", "x", "y", "2"]


def test_a_parse_of_one_sequence_is_its_tree_over_places() -> None:
    read = Read(Merges(torch.tensor([[0, 2, 1]]))._repr_html_())
    assert [text for text in read.texts if text] == ["1", "2", "3", "4"]
    assert len([tag for tag, _ in read.tags if tag == "path"]) == 6
    one = Distances(torch.tensor([[0.0, 3.0, 1.0]]))._repr_html_()
    assert "<div>the tree by distances over words 1 to 3</div>" in one


def test_a_parse_of_several_sequences_is_the_trees_of_the_first_each_over_its_own_words() -> None:
    orders = torch.tensor([[0, -1, -1], [2, 0, 1], [-1, -1, -1], [0, 1, -1], [0, 1, 2]])
    rows = {
        "merges": Merges(orders),
        "beams": Beams(orders[:, None], torch.ones(5, 1)),
        "distances": Distances(torch.rand(5, 4), torch.tensor([2, 4, 1, 3, 4])),
        "attention": Attention(torch.rand(5, 4, 3).softmax(-1), torch.tensor([2, 4, 1, 3, 4])),
    }
    for kind, parse in rows.items():
        text = parse._repr_html_()
        assert f"<div>the trees by {kind} over the words of 5 sequences; the first 4</div>" in text
        pictures = [sorted("".join(Read(picture).texts)) for picture in re.findall("<svg.*?</svg>", text)]
        assert pictures == [[*"12"], [*"1234"], [*"1"], [*"123"]]
    assert "over the words of 2 sequences</div>" in Merges(orders[:2])._repr_html_()
    long = Merges(torch.arange(99).expand(3, -1))._repr_html_()  # 199 nodes each, of which there is room for 53
    assert [50 <= picture.count("<text") <= 60 for picture in re.findall("<svg.*?</svg>", long)] == [True] * 3


@pytest.mark.parametrize("name", ["ordered_memory", "on_lstm", "beam_tree", "crvnn", "balanced_tree"])
def test_a_pass_knows_how_many_words_its_sequences_have(name: str) -> None:
    vocabulary = dgltree.Vocabulary([("phrase", 2), ("word", 0)], list("abcd"))
    trees = [read_unlabelled(text) for text in ("( a b )", "( a ( b c ) )", "a")]
    encoder = make_encoder(name, vocabulary, 8, order="leaves")
    parse = encoder.encoded(dgltree.batch(trees, vocabulary)).parse
    assert parse is not None and parse.sizes == [2, 3, 1]
