"""Trees over the tokens of a sentence: from what a sequence encoder did, and the baselines that ignore the words.

All have two children at every inner node and the form of :func:`dgltree.read.bracket.read_unlabelled`: ``phrase`` nodes
over ``word`` leaves. A sentence of one token is one leaf. Nothing recurses, and all take time linear in the tokens
(``random_tree`` and ``balanced`` too). An empty sentence is a ``ValueError``.
"""

from collections.abc import Callable, Collection, Sequence
from functools import reduce
from random import Random
from typing import NamedTuple

import torch
from torch import Tensor

from dgltree.trees.tree import Tree


def tree_from_attention(tokens: Sequence[str], attention: Tensor) -> Tree:
    """The tree that Ordered Memory built (Shen et al. 2019, arXiv 1910.13466, algorithm 2).

    A token that attends to a slot above the head of the step before closes phrases, one for each slot in between: with
    ``d_t = argmax_i p_t^i`` (of equal ones the lowest) and ``head = d_{t-1} - 1``, the two topmost subtrees become one
    ``max(0, d_t - head)`` times, as long as there are two, before token t is put on top. At the end all are joined from
    the right. The first token's attention has no effect.

    Args:
        tokens: T of them.
        attention: (T, N) floating, ``p``: one row a token, the lowest slot (i = 1) first.

    Raises ``ValueError`` for another shape, and for attention that is not finite, naming the token.
    """
    _check(
        tokens,
        attention,
        dims=2,
        what="attention",
        shape="(T, N), one row a token",
    )
    # The lowest of equal slots: argmax leaves open which of them it takes.
    slots = attention.shape[1]
    is_largest = attention == attention.amax(1, keepdim=True)
    slot_numbers = torch.arange(slots, device=attention.device)
    d = torch.where(is_largest, slot_numbers, slots).amin(1)
    stack: list[Tree] = []
    head = 0
    for word, slot in zip(_words(tokens), d.tolist(), strict=True):
        for _ in range(min(slot - head, len(stack) - 1)):
            right = stack.pop()
            left = stack.pop()
            stack.append(_phrase(left, right))
        stack.append(word)
        head = slot - 1
    return _right_branching(stack)


def tree_from_distances(tokens: Sequence[str], distances: Tensor) -> Tree:
    """The tree of ON-LSTM's split points (Shen et al. 2019, arXiv 1810.09536, section 5).

    A span is split at its largest distance d_i, the first of equal ones, into ``(x_<i, (x_i, x_>i))``, and so on in
    x_<i and x_>i; what is empty is left out. The distance of a span's first word counts.

    Args:
        tokens: T of them.
        distances: (T,) floating, one a token.

    Raises ``ValueError`` for another shape, and for a distance that is not finite, naming the token.
    """
    _check(
        tokens,
        distances,
        dims=1,
        what="distances",
        shape="(T,), one a token",
    )
    # As a Cartesian tree is built: the stack has the words whose part x_>i is not complete, from left to right, with
    # distances that do not rise. A larger distance completes those with smaller ones.
    stack: list[_OpenSpan] = []

    def close_below(distance: float) -> Tree | None:
        """The words after the last one that has at least ``distance``, as one tree; they leave the stack."""
        after = None
        while stack and stack[-1].distance < distance:
            span = stack.pop()
            tree = span.word
            if after is not None:
                tree = _phrase(tree, after)
            if span.before is not None:
                tree = _phrase(span.before, tree)
            after = tree
        return after

    for distance, word in zip(distances.tolist(), _words(tokens), strict=True):
        before = close_below(distance)
        stack.append(_OpenSpan(distance=distance, before=before, word=word))
    whole = close_below(float("inf"))
    assert whole is not None
    return whole


class _OpenSpan(NamedTuple):
    """A span that is split at a word x_i, while the words after x_i are still read."""

    distance: float
    """d_i"""
    before: Tree | None
    """x_<i; None if it is empty."""
    word: Tree
    """x_i"""


def balanced(tokens: Sequence[str]) -> Tree:
    """The tree in which every span is halved; the right half has the odd token."""
    return _split(tokens, lambda start, end: (start + end) // 2)


def left_branching(tokens: Sequence[str]) -> Tree:
    """``(((a b) c) d)``"""
    return reduce(_phrase, _words(tokens))


def right_branching(tokens: Sequence[str]) -> Tree:
    """``(a (b (c d)))``"""
    return _right_branching(_words(tokens))


def random_tree(tokens: Sequence[str], random: Random) -> Tree:
    """A tree in which every span is split before one of its tokens but the first, all of them equally likely."""
    return _split(tokens, lambda start, end: random.randrange(start + 1, end))


def without_tokens(tree: Tree, dropped: Collection[str]) -> Tree:
    """The tree without the leaves of these tokens, the nodes that this leaves empty, and nodes of a single child.

    On logic and ListOps the brackets are tokens to a sequence encoder; the tree it builds is compared with the given
    one after ``without_tokens(tree, "()")``. An only child takes its parent's place, also if nothing was dropped.

    Args:
        tree: any; a leaf without a token is kept.
        dropped: the tokens; a text is the tokens of one character each.

    Raises ``ValueError`` if no leaf is left.
    """
    # Of a text, ``in`` would ask for a part of it: the tokens "" and "()" are parts of "()".
    dropped = frozenset(dropped)

    def keep(node: Tree, children: list[Tree | None]) -> Tree | None:
        if not children:
            return None if node.token in dropped else node
        kept = [child for child in children if child is not None]
        if not kept:
            return None
        if len(kept) == 1:
            return kept[0]
        return node.replace(children=kept)

    rest = tree.fold(keep)
    if rest is None:
        tokens = ", ".join(map(repr, sorted(dropped)))
        raise ValueError(f"the tree has no token except {tokens}, so nothing is left")
    return rest


def _words(tokens: Sequence[str]) -> list[Tree]:
    """A leaf for each token. Raises ``ValueError`` for none."""
    if not len(tokens):
        raise ValueError("an empty sentence has no tree: give at least one token")
    return [Tree("word", token=token) for token in tokens]


def _phrase(left: Tree, right: Tree) -> Tree:
    return Tree("phrase", (left, right))


def _right_branching(trees: list[Tree]) -> Tree:
    return reduce(lambda rest, tree: _phrase(tree, rest), reversed(trees))


def _split(tokens: Sequence[str], split_point: Callable[[int, int], int]) -> Tree:
    """The tree in which a span, tokens start to end - 1, is split before token ``split_point(start, end)``."""
    words = _words(tokens)
    stack = [(0, len(words))]
    preorder = []
    while stack:
        start, end = stack.pop()
        preorder.append((start, end))
        if end - start > 1:
            middle = split_point(start, end)
            stack.append((middle, end))
            stack.append((start, middle))
    # Backwards every span comes after its two parts, which are the topmost trees, the left one on top.
    trees = []
    for start, end in reversed(preorder):
        if end - start == 1:
            trees.append(words[start])
        else:
            left = trees.pop()
            right = trees.pop()
            trees.append(_phrase(left, right))
    return trees[0]


def _check(
    tokens: Sequence[str],
    values: Tensor,
    dims: int,
    what: str,
    shape: str,
) -> None:
    """Raise ``ValueError`` unless values are finite, floating, one or a row of them per token."""
    is_one_per_token = values.dim() == dims and len(values) == len(tokens)
    is_empty = 0 in values.shape[1:]
    if is_empty or not is_one_per_token or not values.is_floating_point():
        raise ValueError(
            f"{what} is {tuple(values.shape)} {values.dtype} for {len(tokens)} tokens; it must be {shape}, "
            "floating-point"
        )
    wrong = torch.nonzero(~values.isfinite())
    if len(wrong):
        t = int(wrong[0, 0])
        raise ValueError(f"{what} at token {t} ({tokens[t]!r}) is not finite")
