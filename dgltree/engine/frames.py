"""Batches of edges and of nodes as message, reduce and apply functions see them: fields are gathered when read."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from torch import Tensor

from dgltree.torch_internals import version_of


class MissingFieldError(KeyError):
    """A field that nobody gave or wrote."""

    __str__ = Exception.__str__  # KeyError's is a repr


class Frame(Mapping[str, Tensor]):
    """Fields of a batch of nodes or edges, each gathered when it is first read."""

    def __init__(self, names: Collection[str], gather: Callable[[str], Tensor], place: str) -> None:
        self._names, self._gather, self.place = names, gather, place
        self._read: dict[str, Tensor] = {}
        self._versions: dict[str, int] = {}

    def __getitem__(self, name: str) -> Tensor:
        rows = self._read.get(name)
        if rows is None:
            if name not in self._names:
                raise MissingFieldError(
                    f"{self.place}: there is no field {name!r}; the fields are {', '.join(self._names)}"
                )
            rows = self._gather(name)
            rows = self._read[name] = rows.clone() if rows.is_inference() else rows  # torch counts no changes of those
            self._versions[name] = version_of(rows)
        return rows

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def check_unchanged(self, function: str) -> None:
        """``ValueError`` if a field was changed in place since it was read: others may read the same memory."""
        for name, rows in self._read.items():
            if version_of(rows) != self._versions[name]:
                raise ValueError(
                    f"{self.place}: the {function} function changed {name!r} in place; return a new tensor"
                )


@dataclass
class EdgeBatch:
    """The edges that lead to a frontier, as a message function sees them; (E', *shape) a field."""

    src: Frame
    dst: Frame
    data: Frame
    count: int
    edges: Callable[[], tuple[Tensor, Tensor, Tensor]]
    """Gives their sources, targets and ids, (E',) each."""

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

    def batch_size(self) -> int:
        return self.count

    __len__ = batch_size
