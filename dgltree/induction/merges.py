"""The trees of merges: neighbours that are joined one pair after the other, until there is one tree.

A merge is named by its *gap*: gap g lies between the words g and g + 1, and closing it joins what ends at word g with
what begins at word g + 1. So a sentence of T words has gaps 0 to T - 2, each of which is closed once, and any order in
which they are closed is an order of merges.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from dgltree.batching.batch import NO_TOKEN, TreeBatch
from dgltree.batching.vocabulary import NO_LABEL, Vocabulary
from dgltree.trees.tree import Tree

CLOSED = -1
"""In place of a gap, after the last merge of a sentence."""


class Joined(NamedTuple):
    """The trees over B sentences of up to T words: the nodes 0 to T - 1 are words, node T + s is made by merge s."""

    left: Tensor
    """(B, T - 1) int64, the node that merge s joins; of no meaning after the last merge of a sentence."""
    right: Tensor
    words: Tensor
    """(B, 2 T - 1) int64, how many words each node has."""
    level: Tensor
    """(B, 2 T - 1) int64, 0 of words, else one more than the higher child's."""


def build_nodes(order: Tensor, lengths: Tensor) -> Joined:
    """The nodes that merges make; T - 1 steps, each for all sentences.

    Args:
        order: (B, T - 1) int64, the gaps in the order in which they are closed, then ``CLOSED``.
        lengths: (B,) int64, words of each sentence, 1 to T.

    Raises ``ValueError`` for other shapes and what is not an order of the gaps of a sentence.
    """
    _check(order, lengths)
    rows, steps = order.shape
    count = steps + 1
    first = torch.arange(count, device=order.device).repeat(rows, 1)  # of what ends at a word, its first word
    last, node = first.clone(), first.clone()  # of what begins at a word, its last word, and the node
    words = torch.ones(rows, 2 * count - 1, dtype=torch.int64, device=order.device)
    level = torch.zeros_like(words)
    children: list[tuple[Tensor, Tensor]] = []
    for s in range(steps):
        going = order[:, s : s + 1] != CLOSED
        gap = order[:, s : s + 1].clamp(min=0)
        start, end = first.gather(1, gap), last.gather(1, gap + 1)
        left, right = node.gather(1, start), node.gather(1, gap + 1)
        children.append((left, right))
        words[:, count + s] = (words.gather(1, left) + words.gather(1, right)).squeeze(1)
        level[:, count + s] = torch.maximum(level.gather(1, left), level.gather(1, right)).squeeze(1) + 1
        first.scatter_(1, end, start.where(going, first.gather(1, end)))
        last.scatter_(1, start, end.where(going, last.gather(1, start)))
        node.scatter_(1, start, torch.full_like(start, count + s).where(going, node.gather(1, start)))
    if not children:
        return Joined(order, order, words, level)
    left, right = (torch.cat(list(side), 1) for side in zip(*children, strict=True))
    return Joined(left, right, words, level)


def merged_trees(words: Sequence[Sequence[str]], order: Tensor) -> list[Tree]:
    """The tree of each sentence: ``phrase`` nodes over ``word`` leaves.

    Args:
        words: B sentences.
        order: (B, T - 1) as in :func:`joined`.

    Raises ``ValueError`` as :func:`joined` does.
    """
    lengths = torch.tensor([len(sentence) for sentence in words])
    made = build_nodes(order.cpu(), lengths)
    trees = []
    for sentence, left, right in zip(words, made.left.tolist(), made.right.tolist(), strict=True):
        nodes: dict[int, Tree] = {t: Tree("word", token=word) for t, word in enumerate(sentence)}
        for s in range(len(sentence) - 1):
            nodes[order.shape[1] + 1 + s] = Tree("phrase", (nodes[left[s]], nodes[right[s]]))
        trees.append(nodes[order.shape[1] - 1 + len(sentence) if len(sentence) > 1 else 0])
    return trees


def merged_batch(token: Tensor, order: Tensor, lengths: Tensor, vocabulary: Vocabulary) -> TreeBatch:
    """The same as one :class:`TreeBatch`, without a :class:`Tree` in between: what a tree encoder can run on.

    Args:
        token: (B, T) int64, the words as ids of the vocabulary's tokens.
        order, lengths: as in :func:`joined`.
        vocabulary: with the functions ``phrase`` of two children and ``word`` of none.

    Raises ``ValueError`` as :func:`joined` does, and for a vocabulary without these functions.
    """
    phrase, word = vocabulary.function_id("phrase", 2), vocabulary.function_id("word", 0)
    made, count = build_nodes(order, lengths), order.shape[1] + 1
    place = _preorder(made, lengths)
    sizes = 2 * lengths - 1
    start = sizes.cumsum(0) - sizes
    row, node = (place >= 0).nonzero(as_tuple=True)
    number = (start.unsqueeze(1) + place)[row, node]
    inner = node >= count
    total = int(sizes.sum())
    level, arity = number.new_empty(total), number.new_empty(total)
    tokens = number.new_full((total,), NO_TOKEN)
    level[number], arity[number] = made.level[row, node], 2 * inner.long()
    tokens[number[~inner]] = token[row[~inner], node[~inner]]
    child_ptr = torch.nn.functional.pad(arity.cumsum(0), (1, 0))
    child_index = number.new_empty(total - len(lengths))
    at, of = row[inner], node[inner] - count
    for slot, side in enumerate((made.left, made.right)):
        child_index[child_ptr[number[inner]] + slot] = start[at] + place[at, side[at, of]]
    return TreeBatch(
        function=torch.where(arity > 0, phrase, word),
        token=tokens,
        child_ptr=child_ptr,
        child_index=child_index,
        level=level,
        roots=start,
        sizes=sizes,
        label=torch.full_like(tokens, NO_LABEL),
        vocabulary=vocabulary,
    )


def _preorder(made: Joined, lengths: Tensor) -> Tensor:
    """(B, 2 T - 1) int64, the place of each node in its tree's preorder; -1 for places without a node."""
    steps = made.left.shape[1]
    place = torch.full_like(made.words, -1)
    place.scatter_(1, torch.where(lengths > 1, steps - 1 + lengths, 0).unsqueeze(1), 0)
    for s in reversed(range(steps)):
        going = (lengths - 1 > s).unsqueeze(1)
        left, right = made.left[:, s : s + 1], made.right[:, s : s + 1]
        parent = place[:, steps + 1 + s].unsqueeze(1)
        after = parent + 2 * made.words.gather(1, left)
        place.scatter_(1, left, torch.where(going, parent + 1, place.gather(1, left)))
        place.scatter_(1, right, torch.where(going, after, place.gather(1, right)))
    return place


def _check(order: Tensor, lengths: Tensor) -> None:
    if order.dim() != 2 or lengths.shape != order.shape[:1] or order.is_floating_point() or not len(order):
        raise ValueError(
            f"merges are {tuple(order.shape)} {order.dtype} for lengths {tuple(lengths.shape)}; "
            "they are (B, T - 1) and (B,), whole numbers"
        )
    gaps = torch.arange(order.shape[1], device=order.device)
    expected = gaps.where(gaps < lengths.unsqueeze(1) - 1, order.shape[1])
    found = order.where((order != CLOSED) | (gaps < lengths.unsqueeze(1) - 1), order.shape[1]).sort(1).values
    wrong = torch.nonzero((expected != found).any(1) | (lengths < 1) | (lengths > order.shape[1] + 1))
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(
            f"sequence {row} has {int(lengths[row])} words, and the merges {order[row].tolist()}; they close each of "
            f"the gaps 0 to {int(lengths[row]) - 2} once, then {CLOSED}"
        )
