"""Values that kernels of all families and devices read and write, without gathered copies."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

# ---------------------------------------------------------------------------------------------------------------------
# The tensors that kernels read by their address: what they take, and how it is laid out.


DTYPES = (torch.float32, torch.float64)
TENSOR_TYPES = (Tensor, nn.Parameter)


def are_taken(tensors: Iterable[Tensor | None]) -> bool:
    """Whether kernels take these weights: dense float32 or float64 of torch's own classes, with all biases.

    Whatever is not listed here, torch's operations compute: a map whose bias was taken out, half precision, a quantized
    or distributed subclass of Tensor.
    """
    return all(
        tensor is not None
        and type(tensor) in TENSOR_TYPES
        and tensor.dtype in DTYPES
        and tensor.layout is torch.strided
        for tensor in tensors
    )


def operand(tensor: Tensor) -> Tensor:
    """A tensor's values as kernels read them: without gaps, and negative in memory, not by a bit of the tensor.

    What has to be copied is copied within the autograd graph: a copy that is made later gets no gradient.
    """
    return tensor.resolve_neg().contiguous()


class States(NamedTuple):
    """The states of a pass, which kernels read through the children's places and write in place."""

    h: Tensor
    """(R, n)"""
    memory: Tensor
    """(R - base, depth, n): a stack, or the one row of a Tree-LSTM's c."""
    base: int
    """Rows under it have a memory of zeros, which lies nowhere: the embedded leaves."""
    children: Tensor
    """(edges,) int64, rows of the children: step after step, row after row, in slot order."""


class Gates(NamedTuple):
    """The gates of one map."""

    pre: Tensor
    """(slots, widths): pre-activations without bias; the forward kernel puts gates in their place, the backward kernel
    the gradients of the pre-activations."""
    weight: Tensor
    """(matrices, widths, arity * n)"""
    bias: Tensor
    """(matrices, widths)"""
    arity: int
    read: bool
    """Whether there is something in ``pre``, to which the products are added: what x adds."""


class Sent(NamedTuple):
    """What a backward pass was given, and what parents leave for their children in it."""

    h: Tensor
    """(R, n), given."""
    memory: Tensor
    """(R - base, depth, n), given; (0, depth, n) for nothing."""
    parents: Tensor
    """(edges,) int64, the row that each edge leads to."""
    edge_h: Tensor
    """(edges, n): the gradients of the inputs of products, which the pass writes between steps."""
    edge_gates: Tensor
    """(edges, n): the gates that the children's memories went through."""
    row_memory: Tensor
    """(R - base, depth, n): the gradient of the children's memories put together. It may be the memory of the states,
    because a row is read for the last time before it is written."""
    pointer: Tensor
    """(R + 1,) int64: where in ``edges`` each row's edges to its parents begin."""
    edges: Tensor
    """(edges,) int64, sorted by child and number."""


class KernelShape(NamedTuple):
    """The sizes of the rows of a step, for which a kernel may have to be compiled."""

    arity: int
    n: int
    depth: int
    """Rows of a memory."""
    width: int
    """Columns of a row of gates."""
    dropped: bool
    """Whether there is dropout."""
    precision: str
    """Precision of products: see :func:`dgltree.engine.kernels.fused_pass.product_precision`."""


class PathTables(NamedTuple):
    """The nodes of paths from a blank up, each after its child there and all above it before the next; on a CPU."""

    paths: Tensor
    """(nodes, columns) int64; see ``numba_paths.py``."""
    siblings: Tensor
    """(nodes, largest arity) int64: the numbers of the trees in the other slots, each at its slot."""
    constants: Tensor
    """(nodes, largest width): bias, and what the other children and x add to the pre-activations."""


class LayerShape(NamedTuple):
    """The sizes of an ON-LSTM's layer, for which its kernel may have to be compiled."""

    n: int
    chunks: int
    """D_m."""


class MemoryShape(NamedTuple):
    """The sizes and options of an Ordered Memory, for which its kernels may have to be compiled."""

    n: int
    slots: int
    """The largest number of slots of a word."""
    gelu: bool
    """Whether the cell's non-linearity is GELU, and not relu."""
    paper: bool
    """Whether attention is as in the paper, and not as in the published program."""
    allowed_maximum: bool
    """Whether attention takes its maximum over the allowed slots alone."""
    eps: float
    """eps of the cell's LayerNorm."""
    key_eps: float
    """eps of the LayerNorm of the attention's keys."""
    precision: str
    """Precision of products: see :func:`dgltree.engine.kernels.fused_pass.product_precision`."""
    dropped: tuple[bool, bool, bool, bool, bool]
    """Whether there is dropout of each of ``MemoryMasks``."""


class MemoryMasks(NamedTuple):
    """What dropout multiplies by, rows as of ``MemoryWord``; (0, ...) without it."""

    key: Tensor
    """(P, n): M^ before the product with W_k."""
    score: Tensor
    """(P, n): the activations of the attention."""
    right: Tensor
    """(P, n): M before the cell's product."""
    below: Tensor
    """(P, n): M^ of the slot below, before the cell's product."""
    active: Tensor
    """(P, 4n): the cell's activations."""


class MemoryWord(NamedTuple):
    """Where one word of all sequences that have not ended is: rows are slots of sequences, slot after slot."""

    start: int
    """The first of its rows among the R packed words."""
    sequences: int
    """How many have not ended."""
    slots: int
    """Open at the word: one more than at the word before, up to the largest number."""
    base: int
    """The first of its slots * sequences rows among the P rows of slots."""


class MemoryWeights(NamedTuple):
    """The weights that kernels of an Ordered Memory read, as (fan_out, fan_in) and (fan_out,).

    An attention as in the paper has no ``key_bias``, ``key_norm`` and ``key_norm_bias``.
    """

    key: Tensor
    """(n, n): W_k."""
    key_bias: Tensor | None
    key_norm: Tensor | None
    key_norm_bias: Tensor | None
    w: Tensor
    """(1, n): of the attention's score."""
    vertical: Tensor
    """(4n, n): of the slot below, in the cell's first product."""
    horizontal: Tensor
    """(4n, n): of M, there."""
    horizontal_bias: Tensor
    second: Tensor
    """(4n, 4n): W_2."""
    second_bias: Tensor
    norm: Tensor
    norm_bias: Tensor


Shape = KernelShape | LayerShape | MemoryShape


class LayerRows(NamedTuple):
    """The rows of all steps of an ON-LSTM's layer, R words of B sequences, step after step."""

    gates: Tensor
    """(R, 2 D_m + 4 n): pre-activations of ``[f~; i~; f; i; o; c^]``, which a step may overwrite."""
    states: Tensor
    """(B + R, n): h, first those from which the layer continues, then those of the words."""
    cells: Tensor
    """(B + R, n): c, in the same rows."""
    masters: Tensor
    """(R, D_m): f~."""
    present: Tensor
    """(R,) bool: whether there is a word; if there is none, h and c stay what they were."""
    bounds: Sequence[tuple[int, int, int, int]]
    """For each step its first row of R and the one after its last, its first of B + R, and its earlier row there."""
    complete: Sequence[bool]
    """Whether, at each step, all words are there."""


class LayerGradients(NamedTuple):
    """The gradients of such rows, which a backward pass is given or adds to."""

    states: Tensor
    cells: Tensor
    masters: Tensor
    gates: Tensor
    """Gradient of the pre-activations, which the kernel writes."""
