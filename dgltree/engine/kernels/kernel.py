"""The interface of a kernel: a step of one family of cells on one kind of device, without gathered copies."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from torch import Tensor


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
    """The gates of one step."""

    pre: Tensor
    """(slots, widths): pre-activations without bias; the forward kernel puts gates in their place, the backward kernel
    the gradients of the pre-activations."""
    bias: Tensor
    """(matrices, widths)"""
    mask: Tensor
    """(rows, n), what dropout multiplies u by; (0, n) without dropout."""
    arity: int
    run: int
    """The first of the step's runs in the table."""


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
    """Of a row of gates."""
    dropped: bool
    """Whether there is dropout."""


class PathTables(NamedTuple):
    """The nodes of paths from a blank up, each after its child there and all above it before the next; on a CPU."""

    paths: Tensor
    """(nodes, columns) int64; see ``numba_paths.py``."""
    siblings: Tensor
    """(nodes, largest arity) int64: the numbers of the trees in the other slots, each at its slot."""
    constants: Tensor
    """(nodes, largest width): bias, and what the other children and x add to the pre-activations."""


class Kernel(ABC):
    """The kernel of a pass.

    Args:
        options: what the cell says of its options, see :class:`dgltree.cells.kernel_options.Fused`.
        states: where it reads and writes.
        table: (runs, 6) int64, see :class:`dgltree.engine.kernels.layout.Layout`.
    """

    @abstractmethod
    def __init__(self, options: tuple[int, ...], states: States, table: Tensor) -> None: ...

    @abstractmethod
    def forward(self, start: int, stop: int, gates: Gates) -> None:
        """The memory and h of rows ``start:stop``."""

    @abstractmethod
    def start_backward(self, sent: Sent) -> None:
        """A backward pass begins, from the last step to the first."""

    @abstractmethod
    def backward(self, start: int, stop: int, gates: Gates) -> None:
        """The gradients of the pre-activations of rows ``start:stop``, whose parents are done."""

    @abstractmethod
    def leaves(self, d_h: Tensor, d_memory: Tensor) -> None:
        """The gradients of the leaves, (leaves, n) and (leaves, depth, n), or (0, depth, n) if there is none."""
