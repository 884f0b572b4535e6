"""How a cell says by which kernel its options are covered."""

from typing import NamedTuple


class Fused(NamedTuple):
    """A kernel that computes what ``combine`` does, from pre-activations and places of children; see
    ``dgltree/engine/kernels``.
    """

    family: str
    """"stack", "lstm" or "sum": a file of that name for each backend."""
    options: tuple[int, ...] = ()
    """The cell's options for the kernel, as its family expects them."""
