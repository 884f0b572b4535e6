"""Triton: what the kernels of all families share. A program computes one row, all n elements side by side.

``c`` are the columns, up to the next power of two of n, of which ``inside`` are there.

A number may be held by several threads: one of a row by all of them, a column by those of several children. What they
read in a place that is written must be read by all before any of them writes there, for which they wait at a barrier
(``tl.debug_barrier``, which is no more than that).
"""

import triton
import triton.language as tl

SERIES_BOUND, SERIES_TERMS = tl.constexpr(0.35), tl.constexpr(14)
"""Where tanh is a series, and of how many terms: what float64 needs."""
VARYING = ["start", "first", "base", "keep", "read", "chunk", "slots", "matrix"]
"""Numbers of a step or batch, not to be compiled for where they are 1 or a multiple of 16."""
TABLES = ["rows", "tiles", "chunks", "firsts", "children", "pointer", "edges", "parents"]
"""Tables of the plan, not to be compiled for where they begin at a multiple of 16 bytes: plans are moved in one piece,
so that differs between them."""


@triton.jit
def sigmoid(x):
    return 1 / (1 + tl.exp(-x))


@triton.jit
def tanh(x):
    """To a few units in the last place at every x: near 0, where 1 - e^-2|x| loses them, by a series of e^x - 1."""
    size = tl.abs(x)
    small = size < SERIES_BOUND
    e = _grown(tl.where(small, size, 0.0))
    near = e * (e + 2)
    s = tl.exp(-2 * size)
    t = tl.where(small, near / (near + 2), (1 - s) / (1 + s))
    return tl.where(x < 0, -t, t)


@triton.jit
def _grown(x):
    """e^x - 1 for 0 <= x < 0.35, by Horner's rule."""
    p = x * 0 + 1
    for k in tl.static_range(SERIES_TERMS - 1):
        p = 1 + p * x * (1 / (SERIES_TERMS - k))
    return p * x


@triton.jit
def find(row, base, rows):
    """Where a row's gates lie, its matrix, and its first edge; ``rows`` (R - base, 3) begins with row ``base``."""
    m = rows + (row - base) * 3
    return tl.load(m), tl.load(m + 1), tl.load(m + 2)


@triton.jit
def apply_sigmoid(a, bias, gate, n, c, inside):
    """Sigmoids of a vector of pre-activations with its bias; ``gate`` counts vectors, one or (A, 1)."""
    return sigmoid(tl.load(a + gate * n + c, inside, 0.0) + tl.load(bias + gate * n + c, inside, 0.0))


@triton.jit
def child_memories(children, edge, k, some, base, memory, depth, n):
    """(A, 1) pointers to the memories of a row's children, and which have one; those under base are zeros."""
    place = tl.load(children + edge + k, some, -1) - base
    return memory + place * depth * n, some & (place >= 0)


@triton.jit
def pull_h(row, given, pointer, edges, sent, n, c, inside):
    """(n,), what was given for the row, and what its parents sent along their edges, in the order of these."""
    d = tl.load(given + row * n + c, inside, 0.0)
    for i in range(tl.load(pointer + row), tl.load(pointer + row + 1)):
        d += tl.load(sent + tl.load(edges + i) * n + c, inside, 0.0)
    return d


@triton.jit
def pull_memory(
    row, r, given, pointer, edges, parents, base, gates, sent, depth, n, c, inside, GIVEN: tl.constexpr
):  # fmt: skip
    """(n,), the same of row r of its memory: what stands for all children of a parent, times the gate of this one."""
    d = tl.zeros_like(c).to(sent.dtype.element_ty)
    if GIVEN:
        d += tl.load(given + ((row - base) * depth + r) * n + c, inside, 0.0)
    for i in range(tl.load(pointer + row), tl.load(pointer + row + 1)):
        edge = tl.load(edges + i)
        other = sent + ((tl.load(parents + edge) - base) * depth + r) * n
        d += tl.load(gates + edge * n + c, inside, 0.0) * tl.load(other + c, inside, 0.0)
    return d


@triton.jit(do_not_specialize=VARYING, do_not_specialize_on_alignment=TABLES)
def leaves(
    d_h, d_memory, given_h, given, pointer, edges, parents, gates, sent_h, sent, base, depth, n,
    MEMORY: tl.constexpr, GIVEN: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """The gradients of a leaf: of h, (leaves, n), and of memory, (leaves, depth, n), if they have any."""
    row, c = tl.program_id(0).to(tl.int64), tl.arange(0, B)
    inside = c < n
    tl.store(d_h + row * n + c, pull_h(row, given_h, pointer, edges, sent_h, n, c, inside), inside)
    if MEMORY:
        for r in range(depth):
            d = pull_memory(row, r, given, pointer, edges, parents, base, gates, sent, depth, n, c, inside, GIVEN)
            tl.store(d_memory + (row * depth + r) * n + c, d, inside)
