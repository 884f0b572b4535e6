"""Numba: the memory cell that both Tree-LSTMs have, c = in * u + what the children's become, h = o tanh(c).

A row of gates begins ``[u; in; o]``.
"""

from dgltree.engine.kernels.numba_compile import compile_kernel, tanh


@compile_kernel
def begin(c, a, dropped):
    """Into c (n,): in * u, with what dropout multiplies u by, (n,), or (0,) without dropout."""
    n = len(c)
    u, i = a[:n], a[n : 2 * n]
    for j in range(n):
        c[j] = i[j] * u[j]
    if len(dropped):
        for j in range(n):
            c[j] *= dropped[j]


@compile_kernel
def add(c, f, child, memory):
    """Adds to c (n,) the child's memory through the gate f; a place under 0 has one of zeros."""
    n = len(c)
    if child < 0:
        zero = c.dtype.type(0)
        for j in range(n):
            c[j] += f[j] * zero  # NaN times 0 is NaN
        return
    c_k = memory[child, 0]
    for j in range(n):
        c[j] += f[j] * c_k[j]


@compile_kernel
def end(h, a, c):
    """Into h (n,): what is read."""
    n = len(c)
    o = a[2 * n : 3 * n]
    for j in range(n):
        h[j] = o[j] * tanh(c[j])


@compile_kernel
def undo(d_c, d_h, a, c, dropped):
    """Adds to d_c what comes by way of h; puts the gradients of the pre-activations of u, in and o in their place."""
    n = len(c)
    u, i, o, one = a[:n], a[n : 2 * n], a[2 * n : 3 * n], c.dtype.type(1)
    for j in range(n):
        t = tanh(c[j])
        d_c[j] += d_h[j] * o[j] * (one - t * t)
        o[j] = d_h[j] * t * o[j] * (one - o[j])
    for j in range(n):
        d_h[j] = d_c[j]  # of in * u, from here on
    if len(dropped):
        for j in range(n):
            d_h[j] *= dropped[j]
    for j in range(n):
        v, w = u[j], i[j]
        u[j] = d_h[j] * w * (one - v * v)
        i[j] = d_h[j] * v * w * (one - w)


@compile_kernel
def undo_add(d_f, f, d_c, child, memory):
    """Into d_f (n,): the gradient of the pre-activation of the gate f. It may lie where f does."""
    n = len(d_c)
    if child < 0:
        d_f[:] = 0
        return
    c_k, one = memory[child, 0], d_c.dtype.type(1)
    for j in range(n):
        d_f[j] = d_c[j] * c_k[j] * f[j] * (one - f[j])
