"""Batches of edges and of nodes as message, reduce and apply functions see them: fields are gathered when read."""

from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dgltree.engine.message_graph import EdgeType
from dgltree.support.torch_internals import version_of


class MissingFieldError(KeyError):
    """A field that nobody gave or wrote."""

    __str__ = Exception.__str__  # KeyError's is a repr


class ChangedInPlaceError(Exception):
    """A function changed rows that others may read."""


class Frame(MutableMapping[str, Tensor]):
    """Fields of a batch of nodes or edges, each gathered when it is first read.

    Args:
        names: of the fields.
        gather: gives the rows of one.
        place: where in the pass they are, for messages.
        clone: whether a function may change what it reads in place, because it gets copies.
    """

    def __init__(self, names: Collection[str], gather: Callable[[str], Tensor], place: str, clone: bool) -> None:
        self._names = names
        self._gather = gather
        self.place = place
        self.clone = clone
        self._read: dict[str, Tensor] = {}
        self._lent: list[tuple[Tensor, int]] = []  # what others may read, whatever a function puts in its place

    def __getitem__(self, name: str) -> Tensor:
        rows = self._read.get(name)
        if rows is None:
            if name not in self._names:
                raise MissingFieldError(
                    f"{self.place}: there is no field {name!r}; the fields are {', '.join(self._names)}"
                )
            rows = self._gather(name)
            if self.clone or rows.is_inference():  # torch counts no changes of those
                rows = rows.clone()
            self._read[name] = rows
            if not self.clone:
                self._lent.append((rows, version_of(rows)))
        return rows

    def __setitem__(self, name: str, rows: Tensor) -> None:
        """For the rest of this call, as in DGL; what a function returns is what is written."""
        self._read[name] = rows
        if name not in self._names:
            self._names = [*self._names, name]

    def __delitem__(self, name: str) -> None:
        self._names = [other for other in self._names if other != name]
        self._read.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def check_unchanged(self) -> None:
        """``ChangedInPlaceError`` if a field that others may read was changed in place since it was read."""
        if any(version_of(rows) != version for rows, version in self._lent):
            raise ChangedInPlaceError


@dataclass
class EdgeBatch:
    """The edges that lead to a frontier, as a message function sees them; (E', *shape) a field."""

    src: Frame
    dst: Frame
    data: Frame
    count: int
    edges: Callable[[], tuple[Tensor, Tensor, Tensor]]
    """Gives their sources, targets and ids, (E',) each."""
    canonical_etype: EdgeType

    def batch_size(self) -> int:
        return self.count

    __len__ = batch_size


@dataclass
class NodeBatch:
    """Nodes of one frontier, and for a reduce function of one in-degree; (N', *shape) a field."""

    data: Frame
    mailbox: Frame | None
    """(N', degree, *shape) a message; an apply function has none."""
    count: int
    nodes: Callable[[], Tensor]
    """Gives their numbers, (N',)."""
    ends: Callable[[], tuple[Tensor, Tensor, Tensor]]
    """Gives the sources, targets and ids of the edges that lead to the frontier, (E',) each."""
    ntype: str

    def batch_size(self) -> int:
        return self.count

    __len__ = batch_size

    @property
    def _graph(self) -> "FrontierGraph":
        """DGL's programs ask it whether there are edges."""
        source, target, _ = self.ends()
        return FrontierGraph(source, target, self.nodes())


class FrontierGraph(NamedTuple):
    """The edges that lead to a frontier."""

    source: Tensor
    target: Tensor
    nodes: Tensor

    @property
    def device(self) -> torch.device:
        return self.nodes.device

    def srcnodes(self) -> Tensor:
        """The nodes that the edges lead from, each once."""
        return self.source.unique()

    def dstnodes(self) -> Tensor:
        """The nodes of the frontier."""
        return self.nodes

    def num_edges(self) -> int:
        return len(self.source)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"nodes._graph has no {name!r}, only srcnodes(), dstnodes(), num_edges() and device: read fields from "
            "nodes.data, and read constants from the graph before the pass"
        )


MessageFunction = Callable[[EdgeBatch], Mapping[str, Tensor]]
NodeFunction = Callable[[NodeBatch], Mapping[str, Tensor]]
