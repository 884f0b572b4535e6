"""Answers without a network: how two formulas are related, and which digit a list is worth."""

from collections.abc import Sequence
from typing import Any

from dgltree.read.listops import DIGITS, OPERATORS, read_words
from dgltree.trees.logic import CONNECTIVES, MOST_VARIABLES, RELATIONS, TruthTables
from dgltree.trees.tree import Tree


def true_class(classes: Sequence[str], trees: Sequence[Tree]) -> dict[str, Any] | None:
    """By what the class of these trees is known, which one it is, and a note if it is none of them.

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
    except ValueError:  # no formula, or no list
        pass
    return None


def _related(left: Tree, right: Tree) -> dict[str, Any] | None:
    variables = sorted({*_words(left), *_words(right)} - {*CONNECTIVES})
    if len(variables) > MOST_VARIABLES:
        return None
    tables = TruthTables(variables)
    pair = tables.of(left), tables.of(right)
    for name, table in zip(("first", "second"), pair, strict=True):
        if table in (0, tables.always):
            note = f"the {name} formula {'always' if table else 'never'} holds; of such the network has learnt nothing"
            return {"by": "truth table", "answer": None, "note": note}
    return {"by": "truth table", "answer": tables.relation(*pair), "note": ""}


def _words(tree: Tree) -> list[str]:
    return tree.fold(lambda node, below: [node.token] if node.token else [word for words in below for word in words])
