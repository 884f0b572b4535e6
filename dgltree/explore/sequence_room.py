"""The room of sequences: by what a network found a tree (attention, distances, merges, beams), and that tree."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from dgltree.batching.batch import batch
from dgltree.encoders import Attention, Beams, Distances, Merges, Parse, SequenceEncoder
from dgltree.explore.endpoint import Endpoint
from dgltree.explore.open_models import Opened, title
from dgltree.explore.request_fields import RequestFields
from dgltree.explore.tree_drawing import HUNDREDTH, unfold_tree
from dgltree.induction import right_branching, without_tokens
from dgltree.induction.evalb import Brackets, Parameters, Status, score_sentence
from dgltree.models.tree_model import PairModel, TreeModel, evaluating
from dgltree.read.bracket import read_unlabelled
from dgltree.read.formula import read_formula
from dgltree.read.listops import DIGITS, OPERATORS, bracketed, read_words
from dgltree.read.notations import NOTATIONS, detect
from dgltree.read.words import SENTENCE, read_sentence
from dgltree.trees.logic import CONNECTIVES, RELATIONS, TruthTables
from dgltree.trees.tree import Tree


# Answers without a network: how two formulas are related, and which digit a list is worth.
def true_class(classes: Sequence[str], trees: Sequence[Tree]) -> dict[str, Any] | None:
    """Return which class these trees have, what knows it, and a note if it is none of the model's.

    Args:
        classes: of a model, by which it is known that formulas are related or lists are worth a digit.
        trees: those that the model read.

    Returns None if nothing but the network answers.
    """
    try:
        if {*classes} == {*RELATIONS} and len(trees) == 2:
            return _related(*trees)
        words = _words(trees[0])
        listed = words and words[0] in OPERATORS  # a digit alone may be any model's word
        if listed and {*classes} == {*DIGITS} and len(trees) == 1:
            _, value = read_words(" ".join(words))
            return {"by": "arithmetic", "answer": str(value), "note": ""}
    except ValueError:  # no formula, one of too many variables, or no list
        pass
    return None


def _related(left: Tree, right: Tree) -> dict[str, Any] | None:
    variables = sorted({*_words(left), *_words(right)} - {*CONNECTIVES})
    tables = TruthTables(variables)
    pair = tables.of(left), tables.of(right)
    for name, table in zip(("first", "second"), pair, strict=True):
        if table in (0, tables.always):
            note = (
                f"the {name} formula {'always' if table else 'never'} holds; the network was not trained on such "
                "formulas"
            )
            return {"by": "truth table", "answer": None, "note": note}
    return {"by": "truth table", "answer": tables.relation(*pair), "note": ""}


def _words(tree: Tree) -> list[str]:
    return tree.fold(lambda node, below: [node.token] if node.token else [word for words in below for word in words])


MAX_SEQUENCE_LENGTH = 2000
"""Characters of a sequence."""
MOST_WORDS = 400
START, END = "⊢", "⊣"
UNLABELLED = Parameters(labelled=False)
EXAMPLES = {
    "and": [
        ("not not (a and b and (b or d))", "b or c"),
        ("a and not b", "not (b or c)"),
        ("(a or b) and not (c and d)", "a"),
        ("not (a and b)", "not a or not b"),
    ],
    "[MAX": [("[MAX 2 9 [MIN 4 7 ] 0 ]", ""), ("[SM 1 [MED 3 5 8 ] [MAX 2 2 ] ]", "")],
}
"""Inputs to try, by a word of the language that they are in."""


class SequencesRoom:
    """Answers for the models that read sequences and show how: by the trees that they find, or step by step."""

    def __init__(self, opened: Opened) -> None:
        self.models = opened.sequences

    def about(self) -> list[dict[str, Any]]:
        """The facts about each model that the page needs before it asks."""
        return [
            {
                "name": name,
                "title": title(name, model),
                "pairs": isinstance(model, PairModel),
                "examples": [pair for word, pairs in EXAMPLES.items() if _knows(model, word) for pair in pairs],
            }
            for name, model in self.models.items()
        ]

    def endpoints(self) -> list[Endpoint]:
        return [Endpoint("sequence/look", "look", answer=self.look)]

    def look(self, asked: RequestFields) -> dict[str, Any]:
        """The trees of one sequence, or of a pair, and the classes that the model sees in it."""
        model = asked.one_of("model", self.models)
        texts = [asked.text("text", MAX_SEQUENCE_LENGTH), asked.text("other", MAX_SEQUENCE_LENGTH)]
        given = [_read(text, model) for text in texts if text.strip()]
        if not given:
            raise ValueError("no sequence: type one")
        encoder = model.encoder
        assert isinstance(encoder, SequenceEncoder)
        flat = batch([tree for tree, _ in given], encoder.vocabulary)
        traced = encoder.gives_nodes or not encoder.induces_trees
        with evaluating(model):
            encoded = encoder.encoded(flat, trace=traced)
            words = encoder.words(flat)
            classes = _classes(model, encoded.root) if model.classes and len(given) == _each(model) else []
        if encoded.parse is None:
            found = [_steps(of_row, encoded.trace, row) for row, of_row in enumerate(words)]
        else:
            trees = encoded.parse.trees(words)
            found = [_looked_at(*given[row], words[row], encoded.parse, row, tree) for row, tree in enumerate(trees)]
        if encoder.gives_nodes and encoded.trace:
            for one, shares in zip(found, encoded.trace["ancestors"][:, 0], strict=True):
                size = len(one["words"])
                one["ancestors"] = _hundredths(shares[:size, : size - 1])
        known = true_class(model.classes, [tree for tree, _ in given]) if classes else None
        return {"sequences": found, "classes": classes, "checked": known, "each": _each(model)}


def _each(model: TreeModel) -> int:
    return 2 if isinstance(model, PairModel) else 1


def _knows(model: TreeModel, word: str) -> bool:
    return model.encoder.vocabulary.knows_token(word)


def _read(text: str, model: TreeModel) -> tuple[Tree, bool]:
    """A text as the tree that the model is given, and whether it has no tree of its own.

    Formulas and lists as one writes them where the model knows their words; brackets; a bare sentence for a model that
    reads the leaves alone, as a tree that says nothing.
    """
    encoder = model.encoder
    assert isinstance(encoder, SequenceEncoder)
    tree, bare = _tree(text, model, encoder.order == "leaves")
    if tree.size > MOST_WORDS:
        raise ValueError(f"found {tree.size} words and brackets; the page shows up to {MOST_WORDS}")
    return unfold_tree(tree), bare


def _tree(text: str, model: TreeModel, leaves: bool) -> tuple[Tree, bool]:
    if any(function == SENTENCE for function, _ in model.encoder.vocabulary.functions):
        return read_sentence(text), True
    if ("phrase", 2) not in model.encoder.vocabulary.functions:  # a model of own trees
        return NOTATIONS[detect([text])].read(text), False
    spaced = re.sub(r"([()])", r" \1 ", text)
    if _knows(model, "and"):
        published = re.search(r"\(\s*(?:and|or|not)\b", text)
        return (read_unlabelled(spaced) if published else read_formula(text)), False
    if "(" in text:
        return read_unlabelled(spaced), False
    words = re.sub(r"\]", " ] ", text).split()
    if _knows(model, "[MAX"):
        return read_unlabelled(bracketed(words)), False
    if leaves:
        return right_branching(words), True
    raise ValueError("this model also reads brackets: write them, as in ( a ( b c ) )")


def _looked_at(given: Tree, bare: bool, words: list[str], parse: Parse, row: int, whole: Tree) -> dict[str, Any]:
    found = without_tokens(whole, "()")
    counts = score_sentence(given, found, UNLABELLED)
    compared = not bare and counts.status is Status.VALID
    return {
        "words": words,
        **_drawn(parse, row, len(words)),
        "found": _brackets(found, given if compared else found),
        "given": _brackets(given, found) if compared else None,
        "matched": counts.matched,
        "brackets": counts.gold,
    }


def _steps(words: list[str], trace: Mapping[str, Tensor] | None, row: int) -> dict[str, Any]:
    """The steps of a Neural Data Router, which finds no tree: gates (steps, T), and attention as the mean of the heads
    (steps, T, T), in hundredths; the first and the last place are the start and the end that it adds.
    """
    assert trace is not None
    size = len(words) + 2
    gates = trace["gates"][row, :, :size]
    attention = trace["attention"][row, :, :, :size, :size].mean(1)
    return {
        "kind": "steps",
        "words": [START, *words, END],
        "gates": _hundredths(gates),
        "attention": _hundredths(attention),
    }


def _drawn(parse: Parse, row: int, words: int) -> dict[str, Any]:
    """The drawing of a sequence, with its kind."""
    match parse:
        case Attention() | Distances():
            drawn: Any = {"scores": _hundredths(parse.scores[row, :words])}
        case Merges():
            drawn = {"beams": [{"order": parse.order[row, : words - 1].tolist(), "weight": 100}]}
        case Beams():
            there = parse.weights[row] > 0
            orders = parse.orders[row, there, : words - 1].tolist()
            pairs = zip(orders, _hundredths(parse.weights[row, there]), strict=True)
            drawn = {"beams": [{"order": order, "weight": weight} for order, weight in pairs]}
        case _:
            raise TypeError(f"the page cannot draw {type(parse).__name__}")
    return {"kind": parse.kind, **drawn}


def _brackets(tree: Tree, other: Tree) -> list[dict[str, Any]]:
    """The nodes in postorder: words, and brackets with their children and whether the other tree has them, too."""
    known = {(span.start, span.end) for span in Brackets.of(other, UNLABELLED).spans}
    nodes: list[dict[str, Any]] = []
    words = 0

    def place(node: Tree, children: list[tuple[int, int, int]]) -> tuple[int, int, int]:
        """The node's number, and its words from start to end - 1."""
        nonlocal words
        if not node.children:
            nodes.append({"word": node.token or node.function})
            words += 1
            return len(nodes) - 1, words - 1, words
        start = children[0][1]
        end = children[-1][2]
        nodes.append({"children": [number for number, _, _ in children], "shared": (start, end) in known})
        return len(nodes) - 1, start, end

    unfold_tree(tree).fold(place)
    return nodes


def _classes(model: TreeModel, states: Tensor) -> list[dict[str, Any]]:
    """The classes of a model, the most probable first, from the states of what it read."""
    probabilities = model.read_out(states).softmax(-1)[0].tolist()
    ranked = sorted(zip(probabilities, model.classes, strict=True), key=lambda pair: -pair[0])
    return [{"name": name, "probability": round(probability, 4)} for probability, name in ranked[:10]]


def _hundredths(scores: Tensor) -> Any:
    return (scores.float() * HUNDREDTH).round().int().tolist()
