"""Work on the rows of a table: in three steps, so that each runs where it is best run."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dgltree.datasets.formats import Bad
from dgltree.datasets.formats.records import SAMPLE
from dgltree.datasets.settings import Reading
from dgltree.scale.tables import Rows

if TYPE_CHECKING:
    import pyarrow

Sample = Callable[[list[str]], list[Any]]
"""The first rows, with these columns alone."""


class PreparedRows(NamedTuple):
    """A block of rows, prepared for the model."""

    beside: "pyarrow.Table"
    """The columns of the output next to the answers."""
    inputs: list[Any]
    """The model's input."""
    bad: list[Bad]
    places: list[int | None] | None = None
    """The place of the answer of each row, None for a row without one; None: all have theirs, in order."""


class Answers(NamedTuple):
    """A model's answers to the inputs of a plan."""

    columns: "pyarrow.Table"
    bad: list[Bad]


class TableJob(ABC):
    """``plan`` runs on any CPU, ``answer`` where the model is, and :func:`join_rows` where there is room.

    A job travels to the processes that work, with its model. It also is a callable for ``map_batches`` of a Ray data
    set, in batches of the format "pyarrow": one table to another.
    """

    rows = 20_000
    """Rows of a block, at most."""
    size = 1 << 22
    """Bytes of a block's rows, about."""
    max_line = Reading.max_line
    """Bytes of a row; longer ones are left out."""

    def settings(self) -> dict[str, Any]:
        """The settings that distinguish the output from that of a different run, as JSON."""
        return {"command": type(self).__name__.lower()}

    @abstractmethod
    def opened(self, path: str, columns: Sequence[str], sample: Sample) -> None:
        """Take the columns that are read. Raises ``ValueError`` if a column is missing."""

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """The columns that are read."""

    @abstractmethod
    def plan(self, rows: Rows) -> PreparedRows:
        """Read the rows, and prepare them for the model."""

    @abstractmethod
    def answer(self, inputs: list[Any]) -> Answers:
        """The model's answers to them."""

    @abstractmethod
    def to(self, device: str) -> None:
        """Move the model."""

    def __call__(self, batch: "pyarrow.Table") -> "pyarrow.Table":
        """The rows of a batch, all with the columns of the first one, answered."""
        records = batch.to_pylist()
        if not self._is_open:
            self.opened("the batch", batch.column_names, lambda _: records[:SAMPLE])
            self._is_open = True
        plan = self.plan(Rows("", "", 1, records))
        return join_rows(plan, self.answer(plan.inputs))[0]

    _is_open = False


def join_rows(plan: PreparedRows, answers: Answers) -> tuple["pyarrow.Table", list[Bad]]:
    """The rows of the output, and the records that could not be answered."""
    import pyarrow

    said = answers.columns
    if plan.places is not None:
        said = said.take(pyarrow.array(plan.places, pyarrow.int64()))
    columns = {name: table[name] for table in (plan.beside, said) for name in table.column_names}
    return pyarrow.table(columns), [*plan.bad, *answers.bad]


def digest_of(path: str | Path) -> str:
    """sha256 of a file."""
    import hashlib

    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
