"""Numba: gradients that parents left for their children.

A parent writes at its own place, and its children read there, in the order of their edges: no two threads write to one
place, and every sum has one order, whatever the number of threads.
"""

from dgltree.engine.kernels.numba_compile import compile_kernel, copy


@compile_kernel
def pull_h(d_h, row, given, pointer, edges, sent):
    """Into d_h (n,): what was given for the row, and what its parents sent along their edges, (edges, n)."""
    n = len(d_h)
    copy(d_h, given[row])
    for i in range(pointer[row], pointer[row + 1]):
        other = sent[edges[i]]
        for j in range(n):
            d_h[j] += other[j]


@compile_kernel
def pull_memory(d_S, row, given, pointer, edges, parents, base, gates, sent):
    """Into d_S (depth, n): what was given for the row (nothing, if there are no rows of it), and of each parent what
    stands for all its children, (rows, depth, n), times the gate (edges, n) of this one."""
    depth, n = d_S.shape
    if len(given):
        for r in range(depth):
            copy(d_S[r], given[row - base, r])
    else:
        d_S[:] = 0
    for i in range(pointer[row], pointer[row + 1]):
        g, other = gates[edges[i]], sent[parents[edges[i]] - base]
        for r in range(depth):
            into, of = d_S[r], other[r]
            for j in range(n):
                into[j] += g[j] * of[j]


@compile_kernel
def leaves(lo, hi, d_h, d_S, given_h, given_S, pointer, edges, parents, base, gates, sent_h, sent_S):
    """The gradients of leaves ``lo:hi``: of h, (leaves, n), and of memory, (leaves, depth, n), if they have any."""
    for row in range(lo, hi):
        pull_h(d_h[row], row, given_h, pointer, edges, sent_h)
        if len(d_S):
            pull_memory(d_S[row], row, given_S, pointer, edges, parents, base, gates, sent_S)
