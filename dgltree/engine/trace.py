"""Traces of a pass: gates, actions and stacks, node by node."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.engine.contract import CellBase, Computed, State
from dgltree.engine.schedule import Schedule

EVERYTHING = "*"
"""The name that stands for all that a cell computes."""


class Trace:
    """Collects, step by step, what a cell computes under some names, in addition to its state."""

    def __init__(self, cell: CellBase, names: Sequence[str]) -> None:
        if isinstance(names, str):
            raise TypeError(f"trace must be a sequence of names, not the string {names!r}; write [{names!r}]")
        self.cell = cell
        self.names = [name for name in dict.fromkeys(names) if name not in cell.state]
        self.every = EVERYTHING in self.names
        # By the first row that they are of, in the order of the pass: a segment may run again.
        self._nodes: dict[str, dict[int, Tensor]] = {}
        self._edges: dict[str, dict[int, Tensor]] = {}
        self._closed = False

    def keep(self, rows: slice, computed: Computed, sent: Mapping[str, Tensor] | None = None) -> None:
        """Remember what is asked for of these rows of the schedule, and of the edges to their children.

        Raises ``ValueError`` for a name under which an inner node computes nothing.
        """
        if self._closed:
            return
        names: Sequence[str] = self.names
        if self.every:
            computed_here = dict.fromkeys([*computed, *(sent or ())])
            names = [name for name in computed_here if name not in self.cell.state]
        for name in names:
            if sent is not None and name in sent:
                self._edges.setdefault(name, {})[rows.start] = sent[name].detach()
            elif isinstance(value := computed.get(name), Tensor):
                self._nodes.setdefault(name, {})[rows.start] = value.detach()
            elif value is not None:
                self._edges.setdefault(name, {})[rows.start] = torch.stack(list(value), 1).flatten(0, 1).detach()
            elif rows.start:
                known = sorted({*computed, *(sent or ())})
                raise ValueError(f"trace {name!r}: {type(self.cell).__name__} computes {', '.join(known)}")

    def results(self, schedule: Schedule, batch: TreeBatch) -> State:
        """Name to (N, *shape), or (E, *shape) for what belongs to a child, in public numbering."""
        self._closed = True
        traced: State = {}
        for name in [*self._nodes, *self._edges] if self.every else self.names:
            if name in self._nodes:
                traced[name] = self._of_nodes(name, schedule)
            elif name in self._edges:
                edges = torch.cat([*self._edges[name].values()])
                traced[name] = edges[schedule.edge_rows(batch)]
            else:
                raise ValueError(
                    f"no node of this batch computes the trace {name!r}, because the batch contains only leaves"
                )
        return traced

    def _of_nodes(self, name: str, schedule: Schedule) -> Tensor:
        """(N, *shape), NaN at nodes that do not compute it."""
        kept = self._nodes[name]
        shapes = {tuple(value.shape[1:]) for value in kept.values()}
        if len(shapes) > 1:
            widths = " and ".join(map(str, sorted(shapes)))
            raise ValueError(
                f"trace {name!r} has shapes {widths}, which depend on the number of children; return a list with a "
                "tensor for each child, as for forget gates"
            )
        first = next(iter(kept.values()))
        rows = first.new_full((len(schedule), *first.shape[1:]), torch.nan)
        for start, value in kept.items():
            rows[start : start + len(value)] = value
        return rows[schedule.row]
