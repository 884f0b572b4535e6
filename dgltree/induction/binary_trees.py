"""Trees over the tokens of a sentence: from what a sequence encoder did, and the baselines that ignore the words.

All have two children at every inner node and the form of :func:`dgltree.read.bracket.read_unlabelled`: ``phrase`` nodes
over ``word`` leaves. A sentence of one token is one leaf. Nothing recurses, and all take time linear in the tokens
(``random_tree`` and ``balanced`` too). An empty sentence is a ``ValueError``.
"""

from collections.abc import Callable, Collection, Sequence
from functools import reduce
from random import Random

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
    _check(tokens, attention, dims=2, what="attention", shape="(T, N), one row a token")
    slots = attention.shape[1]
    at_most = attention == attention.amax(1, keepdim=True)  # argmax leaves open which of equal ones it takes
    d = torch.where(at_most, torch.arange(slots, device=attention.device), slots).amin(1).tolist()
    stack: list[Tree] = []
    head = 0
    for word, slot in zip(_words(tokens), d, strict=True):
        for _ in range(min(slot - head, len(stack) - 1)):
            right = stack.pop()
            stack.append(_phrase(stack.pop(), right))
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
    _check(tokens, distances, dims=1, what="distances", shape="(T,), one a token")
    open_: list[tuple[float, Tree | None, Tree]] = []  # from the left, falling: (d_i, x_<i, x_i); x_>i is to come

    def close_below(distance: float) -> Tree | None:
        """The part after the last place that has at least ``distance``, as one tree."""
        rest = None
        while open_ and open_[-1][0] < distance:
            _, before, word = open_.pop()
            tail = word if rest is None else _phrase(word, rest)
            rest = tail if before is None else _phrase(before, tail)
        return rest

    for distance, word in zip(distances.tolist(), _words(tokens), strict=True):
        open_.append((distance, close_below(distance), word))
    whole = close_below(float("inf"))
    assert whole is not None
    return whole


def balanced(tokens: Sequence[str]) -> Tree:
    """Every span is halved; the right half has the odd token."""
    return _split(tokens, lambda start, end: (start + end) // 2)


def left_branching(tokens: Sequence[str]) -> Tree:
    """``(((a b) c) d)``"""
    return reduce(_phrase, _words(tokens))


def right_branching(tokens: Sequence[str]) -> Tree:
    """``(a (b (c d)))``"""
    return _right_branching(_words(tokens))


def random_tree(tokens: Sequence[str], random: Random) -> Tree:
    """Every span is split at one of its places, all of them equally likely."""
    return _split(tokens, lambda start, end: random.randrange(start + 1, end))


def without_tokens(tree: Tree, dropped: Collection[str]) -> Tree:
    """The tree without the leaves of these tokens, the nodes that this leaves empty, and nodes of a single child.

    On logic and ListOps the brackets are tokens to a sequence encoder; the tree it builds is compared with the given
    one after ``without_tokens(tree, "()")``. An only child takes its parent's place, also if nothing was dropped.

    Raises ``ValueError`` if no leaf is left.
    """

    def keep(node: Tree, children: list[Tree | None]) -> Tree | None:
        if not node.children:
            return None if node.token in dropped else node
        kept = [child for child in children if child is not None]
        if len(kept) < 2:
            return kept[0] if kept else None
        return node.replace(children=kept)

    kept = tree.fold(keep)
    if kept is None:
        raise ValueError(f"no token but {', '.join(map(repr, sorted(dropped)))} in the tree; nothing is left of it")
    return kept


def _words(tokens: Sequence[str]) -> list[Tree]:
    if not len(tokens):
        raise ValueError("an empty sentence has no tree: give at least one token")
    return [Tree("word", token=token) for token in tokens]


def _phrase(left: Tree, right: Tree) -> Tree:
    return Tree("phrase", (left, right))


def _right_branching(trees: list[Tree]) -> Tree:
    return reduce(lambda rest, tree: _phrase(tree, rest), reversed(trees))


def _split(tokens: Sequence[str], place: Callable[[int, int], int]) -> Tree:
    """Top down: tokens start to end - 1 are split before token ``place(start, end)``."""
    words = _words(tokens)
    spans, preorder = [(0, len(words))], []
    while spans:
        start, end = spans.pop()
        preorder.append((start, end))
        if end - start > 1:
            middle = place(start, end)
            spans += [(middle, end), (start, middle)]
    built: list[Tree] = []
    for start, end in reversed(preorder):
        built.append(words[start] if end - start == 1 else _phrase(built.pop(), built.pop()))
    return built[0]


def _check(tokens: Sequence[str], values: Tensor, dims: int, what: str, shape: str) -> None:
    shaped = values.dim() == dims and len(values) == len(tokens) and 0 not in values.shape[1:]
    if not shaped or not values.is_floating_point():
        raise ValueError(
            f"{what} is {tuple(values.shape)} {values.dtype} for {len(tokens)} tokens; it must be {shape}, floating"
        )
    wrong = torch.nonzero(~values.isfinite())
    if len(wrong):
        t = int(wrong[0, 0])
        raise ValueError(f"{what} at token {t} ({tokens[t]!r}) is not finite")
