"""Numba: the paths from a blank to the roots for all fillers, as one compiled call, without a backward pass.

Fillers go up in blocks, one block up all paths before the next: what a step reads is then still in the caches.
"""

import numpy as np
import torch
from numba import carray
from torch import Tensor

from dgltree.engine.kernels.kernel import PathTables, States
from dgltree.engine.kernels.numba_compile import Arguments, Nothing, compile_kernel, copy, is_compiled
from dgltree.engine.kernels.numba_path_rows import forward_rows
from dgltree.engine.kernels.numba_product import multiply_back, pointer
from dgltree.engine.kernels.threads import over_blocks

BLOCK = 128
"""Fillers that go up the paths together. The last bits of scores depend on it."""
PATH_ARITY, PATH_SLOT, HEIGHT, BELOW, WEIGHT_AT, WIDTH_OF, READ_ROWS, KEPT_ROWS, ROOT = range(COLUMNS_OF_PATHS := 9)
"""Columns of a table of path nodes: the slot towards the blank; the heights of the node and of its child there, -1 for
the filler; the address of that child's part of the weights, (n, width); rows of memory read and kept; the place
among the roots, -1 for none."""


@compile_kernel
def matrix(address, rows, columns, like):
    """(rows, columns) at an address; no rows at 0."""
    return carray(pointer(address), (rows if address else 0, columns), like.dtype)


@compile_kernel
def forward_paths(
    lo, hi, paths, siblings, constants, blas, trees_h, trees_memory, fillers_h, fillers_memory, roots, options
):  # fmt: skip
    """Blocks ``lo:hi`` of fillers up all paths."""
    h, memory = room_for_states(trees_h, trees_memory, paths)
    room = np.empty(BLOCK * constants.shape[1], h.dtype)
    children = np.empty(BLOCK * siblings.shape[1], np.int64)
    trees = len(trees_h)
    for first in range(lo * BLOCK, min(hi * BLOCK, len(fillers_h)), BLOCK):
        rows = min(BLOCK, len(fillers_h) - first)
        put_states(h, memory, trees, fillers_h, fillers_memory, first, rows)
        for node in range(len(paths)):
            gates = path_gates(node, paths, blas, h, trees, rows, room)
            path_children(node, children, paths, siblings, trees, rows)
            forward_rows(
                gates, constants[node], trees + BLOCK * (1 + paths[node, HEIGHT]), children, memory, h,
                paths[node, PATH_ARITY], paths[node, READ_ROWS], paths[node, KEPT_ROWS], options
            )  # fmt: skip
            leave_root(node, roots, paths, h, trees, first, rows)


@compile_kernel
def room_for_states(trees_h, trees_memory, paths):
    """h (R, n) and memory (R, depth, n): the trees off the paths, the fillers of a block, and each height."""
    trees, n = trees_h.shape
    heights = 1
    for node in range(len(paths)):
        heights = max(heights, paths[node, HEIGHT] + 1)
    rows = trees + BLOCK * (1 + heights)
    depth = trees_memory.shape[1]
    h = np.empty((rows, n), trees_h.dtype)
    memory = np.empty((rows, depth, n), trees_h.dtype)
    put_states(h, memory, 0, trees_h, trees_memory, 0, trees)
    return h, memory


@compile_kernel
def put_states(h, memory, place, from_h, from_memory, first, rows):
    """Some states, from a place on."""
    for k in range(rows):
        copy(h[place + k], from_h[first + k])
        for r in range(memory.shape[1]):
            copy(memory[place + k, r], from_memory[first + k, r])


@compile_kernel
def path_gates(node, paths, blas, h, trees, rows, room):
    """(rows, width), the products of a path node's child towards the blank."""
    n = h.shape[1]
    below = trees + BLOCK * (1 + paths[node, BELOW])
    width = paths[node, WIDTH_OF]
    gates = room[: rows * width].reshape(rows, width)
    multiply_back(blas, h[below : below + rows], matrix(paths[node, WEIGHT_AT], n, width, h), gates, 0)
    return gates


@compile_kernel
def path_children(node, children, paths, siblings, trees, rows):
    """Into (rows * arity or more,): the places of all children of a path node."""
    arity = paths[node, PATH_ARITY]
    slot = paths[node, PATH_SLOT]
    below = trees + BLOCK * (1 + paths[node, BELOW])
    for k in range(rows):
        for place in range(arity):
            children[k * arity + place] = siblings[node, place]
        children[k * arity + slot] = below + k


@compile_kernel
def leave_root(node, roots, paths, h, trees, first, rows):
    """Into (roots, fillers, n): the h of a path node that is a root."""
    start = trees + BLOCK * (1 + paths[node, HEIGHT])
    if paths[node, ROOT] >= 0:
        for k in range(rows):
            copy(roots[paths[node, ROOT], first + k], h[start + k])


class NumbaPaths:
    """Paths through cells that read their children one by one."""

    @classmethod
    def compile(cls, options: tuple[int, ...], dtype: torch.dtype, backward: bool, compile_it: bool) -> bool:
        """Whether the kernel is there: see :meth:`dgltree.engine.kernels.numba_slots.SlotKernel.compile`."""
        nothing = Nothing(dtype)
        rows = torch.empty(0, 0, dtype=torch.int64)
        tables = PathTables(rows, rows, nothing.matrix)
        roots = torch.empty(0, 0, 0, dtype=dtype)
        given = cls._arguments(options, tables, 0, nothing.states, nothing.states, roots)
        return is_compiled(forward_paths, (0, 0, *given), compile_it)

    @classmethod
    def run(
        cls, options: tuple[int, ...], tables: PathTables, blas: int, trees: States, fillers: States, roots: Tensor
    ) -> None:
        """The h of all roots for all fillers, into (roots, fillers, n)."""
        blocks = -(-len(fillers.h) // BLOCK)
        given = cls._arguments(options, tables, blas, trees, fillers, roots)
        over_blocks(forward_paths, blocks, BLOCK * len(tables.paths), *given)

    @staticmethod
    def _arguments(
        options: tuple[int, ...], tables: PathTables, blas: int, trees: States, fillers: States, roots: Tensor
    ) -> Arguments:
        states = (t.numpy() for t in (trees.h, trees.memory, fillers.h, fillers.memory))
        return *(table.numpy() for table in tables), blas, *states, roots.numpy(), options
