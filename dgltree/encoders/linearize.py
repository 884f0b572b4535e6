"""Trees to sequences of ids."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from dgltree.batch import NO_TOKEN, TreeBatch, check_vocabulary, place
from dgltree.encoders.unfold import unfold
from dgltree.vocabulary import Vocabulary

Order = Literal["leaves", "bracketed"]

PADDING, OPEN, CLOSE = range(3)
FIRST_FUNCTION = 3  # then the functions in the vocabulary's order, then its tokens


def symbol_count(vocabulary: Vocabulary) -> int:
    """How many ids sequences over a vocabulary may hold, padding included."""
    return FIRST_FUNCTION + len(vocabulary.functions) + len(vocabulary.tokens)


def symbols(batch: TreeBatch, vocabulary: Vocabulary) -> Tensor:
    """(N,) int64, the id of each node: that of its token, without one that of its function.

    Raises ``ValueError`` for a batch of another vocabulary, and for what a sequence of ids would lose: numbers, input
    vectors, and tokens of inner nodes.
    """
    check_vocabulary(batch, vocabulary, "encoder")
    if batch.x is not None:
        raise ValueError("the batch carries input vectors x, which a sequence of ids would lose")
    if batch.value is not None:
        _refuse(batch, ~batch.value.isnan(), "carries a number, which a sequence of ids would lose; give it a token")
    with_token = batch.token != NO_TOKEN
    _refuse(batch, with_token & (batch.arity > 0), "is an inner node with a token, which a sequence would lose")
    first_token = FIRST_FUNCTION + len(vocabulary.functions)
    return torch.where(with_token, first_token + batch.token, FIRST_FUNCTION + batch.function)


def linearize(batch: TreeBatch, order: Order, vocabulary: Vocabulary) -> tuple[Tensor, Tensor]:
    """The trees of a batch as sequences of ids, padded at the end.

    ``"leaves"``: the leaves from left to right. ``"bracketed"``: a leaf is one id; an inner node is ``(``, its
    function, its children in order, and ``)``, so ``Add(x, sin(y))`` becomes ``( Add x ( sin y ) )``. A leaf is its
    token, without one its function; the function of a leaf with a token is left out, as tree cells leave it out.

    Ids: 0 is padding, 1 ``(``, 2 ``)``; then the F functions, (name, arity), in the vocabulary's order from 3; then its
    tokens from 3 + F.

    Args:
        batch: B trees. A child with several parents is written once for each of them.
        order: ``"leaves"`` or ``"bracketed"``.
        vocabulary: that of the batch.

    Returns ids (B, T) int64 and lengths (B,) int64, on the batch's device; T is the largest length. Linear in the nodes
    written.

    Raises ``ValueError`` for another order, and as :func:`symbols` and :func:`dgltree.encoders.unfold.unfold` do.
    """
    check_order(order)
    flat = batch.to("cpu")
    trees = unfold(flat)
    symbol, inner = symbols(flat, vocabulary)[trees.node], flat.arity[trees.node] > 0
    flattened = symbol[~inner] if order == "leaves" else _bracketed(symbol, inner, trees.depth)
    inner_counts = torch.stack([part.sum() for part in inner.split(trees.sizes.tolist())])
    lengths = trees.sizes - inner_counts if order == "leaves" else trees.sizes + 2 * inner_counts
    ids = pad_sequence(flattened.split(lengths.tolist()), batch_first=True, padding_value=PADDING)
    return ids.to(batch.device), lengths.to(batch.device)


def check_order(order: str) -> None:
    """``ValueError`` for an order that is not there."""
    if order not in ("leaves", "bracketed"):
        raise ValueError(f"order is {order!r}; it is 'leaves' or 'bracketed'")


def _bracketed(symbol: Tensor, inner: Tensor, depth: Tensor) -> Tensor:
    """(L,) int64, the sequences of all trees one after another, from (M,) each, one a node in preorder.

    Before a node stand one id for each node before it and two more for each inner one, its brackets, less the closing
    brackets that are still to come: one for each node above. What is then left open is a closing bracket.
    """
    inner_before = inner.cumsum(0) - inner.long()
    position = torch.arange(len(symbol)) + 2 * inner_before - depth
    flattened = torch.full((len(symbol) + 2 * int(inner.sum()),), CLOSE)
    flattened[position] = OPEN
    flattened[position + inner] = symbol
    return flattened


def _refuse(batch: TreeBatch, wrong: Tensor, what: str) -> None:
    if wrong.any():
        raise ValueError(f"{place(batch, int(torch.nonzero(wrong)[0]))} {what}")
