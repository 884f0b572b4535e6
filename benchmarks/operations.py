"""Torch's operations that would launch something on a GPU, counted without one; this needs no Triton either."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

from torch.utils._python_dispatch import TorchDispatchMode

from dgltree.engine import runner

FREE = ("aten::empty", "aten::new_empty", "aten::detach", "profiler::")
"""The beginnings of the names of operations that launch nothing, in addition to views."""


class Operations(TorchDispatchMode):
    """Counts torch's operations that would launch something, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.launches: Counter[str] = Counter()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not function.is_view and not function.name().startswith(FREE):
            self.launches[function.name()] += 1
        return function(*args, **(kwargs or {}))


@dataclass(frozen=True, kw_only=True)
class PassOperations:
    """The operations of a pass of message functions, by name."""

    frontiers: list[Counter[str]]
    """Forward, of each frontier that is computed: gathers, the functions, and what puts their rows together."""
    rest: Counter[str]
    """All others: what joins the written fields at the end, and a backward pass."""

    @property
    def per_frontier(self) -> float:
        """The mean over frontiers."""
        return sum(each.total() for each in self.frontiers) / len(self.frontiers)


def operations_of(run: Callable[[], object]) -> PassOperations:
    """Count the operations of what runs one pass of :func:`dgltree.prop_nodes_topo`, with a backward pass or without.

    ``run`` is called once. Operations are counted wherever its tensors are, on the CPU as on "meta". A pass that starts
    again, since a function changes what it reads, has the frontiers of both runs.

    Raises ``ValueError`` if it runs no frontier.
    """
    frontiers: list[Counter[str]] = []
    operations = Operations()
    compute = runner._Pass._compute

    def counted(self: Any, number: int) -> None:
        before = operations.launches.copy()
        try:
            compute(self, number)
        finally:
            frontiers.append(operations.launches - before)

    with mock.patch.object(runner._Pass, "_compute", counted), operations:
        run()
    if not frontiers:
        raise ValueError("nothing was computed: give what calls dgltree.prop_nodes_topo or prop_nodes")
    return PassOperations(frontiers=frontiers, rest=operations.launches - sum(frontiers, Counter()))
