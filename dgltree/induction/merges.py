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
WHOLE = (torch.int64, torch.int32)
"""Types of the numbers of gaps and words that gather takes."""


class Joined(NamedTuple):
    """The trees over B sentences of up to T words: the nodes 0 to T - 1 are words, node T + s is made by merge s."""

    left: Tensor
    """(B, T - 1) int64, the left child of each merge; of no meaning after the last merge of a sentence."""
    right: Tensor
    """(B, T - 1) int64, the right child."""
    word_count: Tensor
    """(B, 2 T - 1) int64, how many words each node has."""
    level: Tensor
    """(B, 2 T - 1) int64, 0 for words, else one more than the higher child's."""


def build_nodes(order: Tensor, lengths: Tensor) -> Joined:
    """The nodes that merges make; T - 1 steps, each for all sentences.

    Args:
        order: (B, T - 1) int64, the gaps in the order in which they are closed, then ``CLOSED``.
        lengths: (B,) int64, words of each sentence, 1 to T.

    Raises ``ValueError`` for other shapes, for no sentence, and for what is not an order of the gaps of a sentence.
    """
    _check(order, lengths)
    rows, steps = order.shape
    most_words = steps + 1
    # Three tables say what the subtrees are so far: of one that ends at a word its first word, and of one that begins
    # at a word its last word and its node. They are right at the ends of subtrees, which is where they are read.
    first = torch.arange(most_words, device=order.device).repeat(rows, 1)
    last = first.clone()
    node = first.clone()
    word_count = torch.ones(rows, most_words + steps, dtype=torch.int64, device=order.device)
    level = torch.zeros_like(word_count)
    left = torch.empty_like(order, dtype=torch.int64)
    right = torch.empty_like(order, dtype=torch.int64)
    for step in range(steps):
        is_merge = order[:, step : step + 1] != CLOSED
        gap = order[:, step : step + 1].clamp(min=0)
        start = first.gather(1, gap)
        end = last.gather(1, gap + 1)
        left_node = node.gather(1, start)
        right_node = node.gather(1, gap + 1)
        new_node = most_words + step
        left[:, step] = left_node.squeeze(1)
        right[:, step] = right_node.squeeze(1)
        new_count = word_count.gather(1, left_node) + word_count.gather(1, right_node)
        height = torch.maximum(level.gather(1, left_node), level.gather(1, right_node))
        word_count[:, new_node] = new_count.squeeze(1)
        level[:, new_node] = height.squeeze(1) + 1
        _write(first, end, start, is_merge)
        _write(last, start, end, is_merge)
        new_nodes = torch.full_like(start, new_node)
        _write(node, start, new_nodes, is_merge)
    return Joined(
        left=left,
        right=right,
        word_count=word_count,
        level=level,
    )


def _write(
    table: Tensor,
    index: Tensor,
    value: Tensor,
    where: Tensor,
) -> None:
    """Write a value into each row of a table (B, T) at an index (B, 1), where a mask (B, 1) says so."""
    table.scatter_(1, index, value.where(where, table.gather(1, index)))


def merged_trees(words: Sequence[Sequence[str]], order: Tensor) -> list[Tree]:
    """The tree of each sentence: ``phrase`` nodes over ``word`` leaves.

    Args:
        words: B sentences.
        order: (B, T - 1) as in :func:`build_nodes`.

    Raises ``ValueError`` as :func:`build_nodes` does.
    """
    lengths = torch.tensor([len(sentence) for sentence in words], dtype=torch.int64)
    joined = build_nodes(order.cpu(), lengths)
    first_merged = order.shape[1] + 1
    trees = []
    for sentence, left, right in zip(words, joined.left.tolist(), joined.right.tolist(), strict=True):
        nodes = {t: Tree("word", token=word) for t, word in enumerate(sentence)}
        root = 0
        for step in range(len(sentence) - 1):
            root = first_merged + step
            children = (nodes[left[step]], nodes[right[step]])
            nodes[root] = Tree("phrase", children)
        trees.append(nodes[root])
    return trees


def merged_batch(
    token: Tensor,
    order: Tensor,
    lengths: Tensor,
    vocabulary: Vocabulary,
) -> TreeBatch:
    """The trees of all sentences as one :class:`TreeBatch`, without a :class:`Tree` in between.

    Args:
        token: (B, T) int64, the words as ids of the vocabulary's tokens.
        order, lengths: as in :func:`build_nodes`.
        vocabulary: with the functions ``phrase`` of two children and ``word`` of none.

    Raises ``ValueError`` as :func:`build_nodes` does, and for a vocabulary without these functions.
    """
    phrase = vocabulary.function_id("phrase", 2)
    word = vocabulary.function_id("word", 0)
    joined = build_nodes(order, lengths)
    first_merged = order.shape[1] + 1
    position = _preorder(joined, lengths)
    sizes = 2 * lengths - 1
    start = sizes.cumsum(0) - sizes

    # Every node of every sentence: its sentence, its node there, and its node in the batch.
    sentence, node = (position >= 0).nonzero(as_tuple=True)
    new_node = (start.unsqueeze(1) + position)[sentence, node]
    total = int(sizes.sum())
    level = new_node.new_empty(total)
    level[new_node] = joined.level[sentence, node]
    is_merged = node >= first_merged
    is_word = ~is_merged
    arity = new_node.new_empty(total)
    arity[new_node] = 2 * is_merged.long()
    tokens = new_node.new_full((total,), NO_TOKEN)
    tokens[new_node[is_word]] = token[sentence[is_word], node[is_word]]

    child_ptr = torch.nn.functional.pad(arity.cumsum(0), (1, 0))
    child_index = new_node.new_empty(total - len(lengths))
    parent_sentence = sentence[is_merged]
    merge = node[is_merged] - first_merged
    first_edge = child_ptr[new_node[is_merged]]
    for slot, side in enumerate((joined.left, joined.right)):
        child = side[parent_sentence, merge]
        child_position = position[parent_sentence, child]
        child_index[first_edge + slot] = start[parent_sentence] + child_position
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


def _preorder(joined: Joined, lengths: Tensor) -> Tensor:
    """(B, 2 T - 1) int64, the position of each node in its tree's preorder; -1 for nodes that a sentence lacks."""
    steps = joined.left.shape[1]
    position = torch.full_like(joined.word_count, -1)
    last_merged = steps - 1 + lengths
    root = torch.where(lengths > 1, last_merged, 0)
    position.scatter_(1, root.unsqueeze(1), 0)
    # A node is made after its children, so from the last merge to the first a parent has its position before them.
    for step in reversed(range(steps)):
        is_merge = (lengths - 1 > step).unsqueeze(1)
        left = joined.left[:, step : step + 1]
        right = joined.right[:, step : step + 1]
        parent = position[:, steps + 1 + step].unsqueeze(1)
        _write(position, left, parent + 1, is_merge)
        left_size = 2 * joined.word_count.gather(1, left) - 1
        _write(position, right, parent + 1 + left_size, is_merge)
    return position


def _check(order: Tensor, lengths: Tensor) -> None:
    """Raise the errors of :func:`build_nodes`."""
    has_shapes = order.dim() == 2 and lengths.shape == order.shape[:1]
    has_whole_numbers = order.dtype in WHOLE and lengths.dtype in WHOLE
    if not has_shapes or not has_whole_numbers:
        raise ValueError(
            f"merges are {tuple(order.shape)} {order.dtype} and lengths are {tuple(lengths.shape)} {lengths.dtype}; "
            "the shapes must be (B, T - 1) and (B,), int64"
        )
    if not len(order):
        raise ValueError("a batch without sentences has no trees: give at least one sentence")
    # Sorted, with a number above all gaps in the rest of the row, a right row is 0, 1, ... and then that number. What
    # the rest has is looked at apart, because a row may have that number itself.
    steps = order.shape[1]
    gaps = torch.arange(steps, device=order.device)
    is_merge = gaps < lengths.unsqueeze(1) - 1
    expected = gaps.where(is_merge, steps)
    closed_gaps = order.where(is_merge, steps).sort(1).values
    wrong_rest = ~is_merge & (order != CLOSED)
    wrong_order = ((expected != closed_gaps) | wrong_rest).any(1)
    wrong_length = (lengths < 1) | (lengths > steps + 1)
    wrong = torch.nonzero(wrong_order | wrong_length)
    if len(wrong):
        row = int(wrong[0])
        length = int(lengths[row])
        raise ValueError(
            f"sequence {row} has {length} words, but the merges {order[row].tolist()}; merges must close each of the "
            f"gaps 0 to {length - 2} once, then repeat {CLOSED}"
        )
