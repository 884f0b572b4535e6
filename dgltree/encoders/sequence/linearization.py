"""Trees to sequences of ids."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from dgltree.batching.batch import NO_TOKEN, TreeBatch, check_vocabulary, place
from dgltree.batching.moving import Movable
from dgltree.batching.vocabulary import Vocabulary
from dgltree.support.arguments import check_choice

# ---------------------------------------------------------------------------------------------------------------------
# A batch as plain trees in preorder, whatever its numbering and its shared children.


MOST_NODES = 10_000_000  # of one tree: shared children may unfold to 2^60


@dataclass
class Unfolded:
    """M nodes of B trees, tree after tree, each in preorder; a shared child comes once for each parent. On the CPU."""

    node: Tensor
    """(M,) int64, the node of the batch."""
    parent: Tensor
    """(M,) int64, the parent's place among the M; -1 for a root."""
    slot: Tensor
    """(M,) int64, the position among the siblings, from 0; -1 for a root."""
    depth: Tensor
    """(M,) int64, edges from the root."""
    sizes: Tensor
    """(B,) int64, nodes of each tree."""


def unfold(batch: TreeBatch) -> Unfolded:
    """The trees below the roots of a batch. Raises ``ValueError`` for one that unfolds to more than ten million nodes.

    A loop over the nodes, not over levels: a chain may have as many levels as nodes.
    """
    pointer = batch.child_ptr.tolist()
    child = batch.child_index.tolist()
    node: list[int] = []
    parent: list[int] = []
    slot: list[int] = []
    depth: list[int] = []
    ends: list[int] = []
    for tree, root in enumerate(batch.roots.tolist(), 1):
        most = len(node) + MOST_NODES
        stack = [(root, -1, -1, 0)]
        while stack:
            j, above, position, d = stack.pop()
            here = len(node)
            if here == most:
                raise ValueError(
                    f"tree {tree} unfolds to more than {MOST_NODES:,} nodes, because it shares too many children"
                )
            node.append(j)
            parent.append(above)
            slot.append(position)
            depth.append(d)
            first = pointer[j]
            stop = pointer[j + 1]
            for e in range(stop - 1, first - 1, -1):
                stack.append((child[e], here, e - first, d + 1))
        ends.append(len(node))
    sizes = torch.tensor([0, *ends]).diff()
    return Unfolded(
        node=torch.tensor(node),
        parent=torch.tensor(parent),
        slot=torch.tensor(slot),
        depth=torch.tensor(depth),
        sizes=sizes,
    )


Order = Literal["leaves", "bracketed", "unlabelled", "preorder"]
ORDERS = get_args(Order)

PADDING, OPEN, CLOSE = range(3)
FIRST_FUNCTION = 3  # then the functions in the vocabulary's order, then its tokens
EXTRA_IDS: dict[Order, int] = {"leaves": -1, "preorder": 0, "unlabelled": 1, "bracketed": 2}  # of an inner node


def symbol_count(vocabulary: Vocabulary) -> int:
    """How many ids sequences over a vocabulary may hold, padding included."""
    return FIRST_FUNCTION + len(vocabulary.functions) + len(vocabulary.tokens)


def symbol_names(vocabulary: Vocabulary) -> list[str]:
    """The meaning of each id."""
    return ["", "(", ")", *(function for function, _ in vocabulary.functions), *vocabulary.tokens]


def symbols(batch: TreeBatch, vocabulary: Vocabulary) -> Tensor:
    """(N,) int64, the id of each node: that of its token, without one that of its function.

    Raises ``ValueError`` for a batch of another vocabulary, and for what a sequence of ids would lose: numbers, input
    vectors, and tokens of inner nodes.
    """
    check_vocabulary(batch, vocabulary, "encoder")
    if batch.x is not None:
        raise ValueError("the batch carries input vectors x, which a sequence of ids cannot represent")
    if batch.value is not None:
        _refuse(
            batch,
            ~batch.value.isnan(),
            "carries a number, which a sequence of ids cannot represent; give a token instead",
        )
    with_token = batch.token != NO_TOKEN
    _refuse(batch, with_token & (batch.arity > 0), "is an inner node with a token, which a sequence cannot represent")
    first_token = FIRST_FUNCTION + len(vocabulary.functions)
    return torch.where(with_token, first_token + batch.token, FIRST_FUNCTION + batch.function)


def linearize(batch: TreeBatch, order: Order, vocabulary: Vocabulary) -> tuple[Tensor, Tensor]:
    """The trees of a batch as sequences of ids, padded at the end.

    ``"leaves"``: the leaves from left to right. ``"bracketed"``: a leaf is one id; an inner node is ``(``, its
    function, its children in order, and ``)``, so ``Add(x, sin(y))`` becomes ``( Add x ( sin y ) )``.
    ``"unlabelled"``: the same without the functions of inner nodes, for trees that have but one: ``( x ( y ) )``.
    ``"preorder"``: every node is one id, its function before its children: ``Add x sin y``. A leaf is its token,
    without one its function; the function of a leaf with a token is left out, as tree cells leave it out.

    Ids: 0 is padding, 1 ``(``, 2 ``)``; then the F functions, (name, arity), in the vocabulary's order from 3; then its
    tokens from 3 + F.

    Args:
        batch: B trees. A child with several parents is written once for each of them.
        order: ``"leaves"``, ``"bracketed"``, ``"unlabelled"`` or ``"preorder"``.
        vocabulary: that of the batch.

    Returns ids (B, T) int64 and lengths (B,) int64, on the batch's device; T is the largest length. Linear in the nodes
    written.

    Raises ``ValueError`` for another order, and as :func:`symbols` and :func:`unfold` do.
    """
    check_order(order)
    flat = batch.to("cpu")
    ids, lengths = sequences_of(flat, unfold(flat), order, vocabulary)
    return ids.to(batch.device), lengths.to(batch.device)


def sequences_of(flat: TreeBatch, trees: Unfolded, order: Order, vocabulary: Vocabulary) -> tuple[Tensor, Tensor]:
    """:func:`linearize` of a batch on the CPU, and of what it unfolds to."""
    symbol = symbols(flat, vocabulary)[trees.node]
    is_inner = flat.arity[trees.node] > 0
    inner_before = torch.nn.functional.pad(is_inner.cumsum(0), (1, 0))
    ends = trees.sizes.cumsum(0)
    inner_counts = inner_before[ends] - inner_before[ends - trees.sizes]
    lengths = trees.sizes + EXTRA_IDS[order] * inner_counts
    row = torch.repeat_interleave(lengths)
    start = lengths.cumsum(0) - lengths
    column = torch.arange(len(row)) - start[row]
    ids = torch.full((len(lengths), int(lengths.max())), PADDING)
    ids[row, column] = _flattened(symbol, is_inner, trees.depth, order)
    return ids, lengths


def _flattened(symbol: Tensor, inner: Tensor, depth: Tensor, order: Order) -> Tensor:
    """(L,) int64, the sequences of all trees one after another, from (M,) each, one per node in preorder."""
    if order == "preorder":
        return symbol
    if order == "leaves":
        return symbol[~inner]
    return _bracketed(symbol, inner, depth, order == "bracketed")


def check_order(order: str) -> None:
    """``ValueError`` for an order that is not there."""
    check_choice("order", order, ORDERS)


def _bracketed(symbol: Tensor, inner: Tensor, depth: Tensor, functions: bool) -> Tensor:
    """``_flattened``, with brackets around inner nodes.

    Before a node comes what the nodes before it begin with, and of every inner one the closing bracket, unless it is
    still to come: that of each node above. What is then left open is a closing bracket.
    """
    opening = 2 if functions else 1  # ids that an inner node begins with
    inner_before = inner.cumsum(0) - inner.long()
    position = torch.arange(len(symbol)) + opening * inner_before - depth
    flattened = torch.full((len(symbol) + opening * int(inner.sum()),), CLOSE)
    if functions:
        flattened[position + inner] = symbol
    else:
        flattened[position[~inner]] = symbol[~inner]
    flattened[position[inner]] = OPEN
    return flattened


def _refuse(batch: TreeBatch, wrong: Tensor, what: str) -> None:
    if wrong.any():
        raise ValueError(f"{place(batch, int(torch.nonzero(wrong)[0]))} {what}")


# ---------------------------------------------------------------------------------------------------------------------
# The plan of a sequence encoder: sequences of ids.


ROOT = -1
"""The place of the word of a root that is not a word."""
NO_WORD = -2
"""The place of the word of any other node that is not a word."""


@dataclass(frozen=True, eq=False)
class Sequences(Movable):
    """Sequences of ids, padded at the end, and for which encoders they were made."""

    ids: Tensor
    """(B, T) int64"""
    lengths: Tensor
    """(B,) int64, 1 to T."""
    places: Tensor | None = None
    """(B, T, k) int64, where in its tree the node of each id is, for a core that reads it."""
    form: str = ""
    """How trees became these sequences, and by which vocabulary."""
    nodes: Tensor | None = None
    """(N, 2) int64, of each node of the trees the sequence and the place of its word; for an encoder that gives vectors
    of nodes. The place is ``ROOT`` of roots that are not words, ``NO_WORD`` of other inner nodes and of nodes with
    several parents."""

    @property
    def device(self) -> torch.device:
        return self.ids.device

    def map(self, function: Callable[[Tensor], Tensor]) -> "Sequences":
        places = None if self.places is None else function(self.places)
        nodes = None if self.nodes is None else function(self.nodes)
        return Sequences(function(self.ids), function(self.lengths), places, self.form, nodes)


def nodes_of(batch: TreeBatch) -> Tensor:
    """:attr:`Sequences.nodes` of a batch that is read by its leaves."""
    flat = batch.to("cpu")
    trees = unfold(flat)
    is_leaf = flat.arity[trees.node] == 0
    is_root = trees.parent < 0
    tree = torch.arange(len(trees.sizes)).repeat_interleave(trees.sizes)
    leaves_before = is_leaf.cumsum(0) - is_leaf.long()
    of_leaf = leaves_before - leaves_before[is_root][tree]
    of_other = torch.where(is_root, ROOT, NO_WORD)
    nodes = torch.full((flat.num_nodes, 2), NO_WORD)
    nodes[trees.node] = torch.stack([tree, of_leaf.where(is_leaf, of_other)], 1)
    has_several_parents = trees.node.bincount(minlength=flat.num_nodes) > 1
    nodes[has_several_parents, 1] = NO_WORD
    return nodes.to(batch.device)


def join_pairs(items: Tensor, lengths: Tensor, separator: int | Tensor) -> tuple[Tensor, Tensor]:
    """Sequences 2i and 2i + 1 as one, with ``separator`` between them: items (B / 2, T', ...) and lengths (B / 2,).

    Args:
        items: (B, T, ...), ids or vectors.
        lengths: (B,) int64.
        separator: an id that no sequence has, or a vector (...).

    Raises ``ValueError`` for an odd number of sequences.
    """
    if len(lengths) % 2:
        raise ValueError(f"a batch of {len(lengths)} trees cannot be divided into pairs; give an even number of trees")
    first = lengths[::2]
    second = lengths[1::2]
    joined = first + 1 + second
    place = torch.arange(items.shape[1], device=items.device)
    row, t = (place < lengths.unsqueeze(1)).nonzero(as_tuple=True)
    start = torch.stack([torch.zeros_like(first), first + 1], 1).flatten()
    pairs = items.new_full((len(first), int(joined.max()), *items.shape[2:]), PADDING)
    pairs[row // 2, start[row] + t] = items[row, t]
    every = torch.arange(len(first), device=items.device)
    pairs[every, first] = separator
    return pairs, joined
