"""Trees to sequences of ids."""

from typing import Literal, get_args

import torch
from torch import Tensor

from dgltree.batching.batch import NO_TOKEN, TreeBatch, check_vocabulary, place
from dgltree.batching.unfold import Unfolded, unfold
from dgltree.batching.vocabulary import Vocabulary

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
            batch, ~batch.value.isnan(), "carries a number, which a sequence of ids cannot represent; give it a token"
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

    Raises ``ValueError`` for another order, and as :func:`symbols` and :func:`dgltree.batching.unfold.unfold` do.
    """
    check_order(order)
    flat = batch.to("cpu")
    ids, lengths = sequences_of(flat, unfold(flat), order, vocabulary)
    return ids.to(batch.device), lengths.to(batch.device)


def sequences_of(flat: TreeBatch, trees: Unfolded, order: Order, vocabulary: Vocabulary) -> tuple[Tensor, Tensor]:
    """:func:`linearize` of a batch on the CPU, and of what it unfolds to."""
    symbol, inner = symbols(flat, vocabulary)[trees.node], flat.arity[trees.node] > 0
    before = torch.nn.functional.pad(inner.cumsum(0), (1, 0))  # inner nodes before each node
    ends = trees.sizes.cumsum(0)
    inner_counts = before[ends] - before[ends - trees.sizes]
    lengths = trees.sizes + EXTRA_IDS[order] * inner_counts
    row = torch.repeat_interleave(lengths)
    ids = torch.full((len(lengths), int(lengths.max())), PADDING)
    column = torch.arange(len(row)) - (lengths.cumsum(0) - lengths)[row]
    ids[row, column] = _flattened(symbol, inner, trees.depth, order)
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
    if order not in ORDERS:
        raise ValueError(f"order is {order!r}; it must be one of {', '.join(ORDERS)}")


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
