"""Equations of a table, completed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dgltree.datasets.formats import Bad
from dgltree.datasets.formats.source import TOO_LONG, check_length
from dgltree.engine.kernels.dispatch import kernels
from dgltree.equations.completion.result import Completion, describe_completion
from dgltree.equations.typed import Question, read_question
from dgltree.ranking.completion import BatchCompletion, each
from dgltree.ranking.pretrained import open_model
from dgltree.ranking.pretrained_files import model_file
from dgltree.read.infix_writer import write_infix
from dgltree.scale.job import Answers, PreparedRows, Sample, TableJob, digest_of
from dgltree.scale.tables import Rows

if TYPE_CHECKING:
    import pyarrow

ID = "id"


class EquationRecord(NamedTuple):
    """An equation of a table, or what is there in its place."""

    place: Bad
    record: Any
    """A mapping from columns to values; ``TOO_LONG`` for a row over the limit."""

    def said(self, column: str) -> Any:
        return None if self.record == TOO_LONG else self.record.get(column)


class Complete(TableJob):
    """Fillers for the blanks of equations: the output of ``dgltree complete --json``, as columns, and ``error``.

    Used as :class:`dgltree.scale.Encode` is.

    Args:
        column: with the equations as a person types them; a column ``id`` next to it is taken over.
        model: what guesses or ranks: a shipped model, or a file.
        completing: settings of :class:`dgltree.ranking.completion.BatchCompletion`.

    Raises ``FileNotFoundError`` and ``ValueError`` as :func:`dgltree.complete` does for a model.
    """

    def __init__(self, column: str = "equation", model: str = "default", **completing: Any) -> None:
        self.column = column
        self.digest = digest_of(model_file(model))
        self.completing = BatchCompletion(model=open_model(model), **completing)
        self.rows = 2000 if self.completing.by_score else 100  # a search takes as long as many rankings
        self._columns = [column]

    def settings(self) -> dict[str, Any]:
        options = {name: value for name, value in vars(self.completing).items() if name not in ("model", "fillers")}
        fillers = self.completing.fillers
        written = None if fillers is None else [write_infix(tree) for tree in fillers]
        options |= {"fillers": written, "column": self.column}
        return {**super().settings(), "model": self.digest, "options": options}

    def opened(self, path: str, columns: Sequence[str], sample: Sample) -> None:
        if self.column not in columns:
            names = ", ".join(map(repr, columns))
            raise ValueError(f"{path}: no column {self.column!r}; there are {names}. Name yours with --column")
        self._columns = [name for name in dict.fromkeys((self.column, ID)) if name in columns]

    @property
    def columns(self) -> list[str]:
        return self._columns

    def plan(self, rows: Rows) -> PreparedRows:
        import pyarrow

        asked = [
            EquationRecord(Bad(line, "", rows.file), record) for line, record in enumerate(rows.records, rows.first)
        ]
        columns = {
            "line": [one.place.line for one in asked],
            ID: [str(one.said(ID) or one.place.name) for one in asked],
            "equation": [_text(one.said(self.column)) for one in asked],
        }
        kinds = {"line": pyarrow.int64(), ID: pyarrow.string(), "equation": pyarrow.string()}
        return PreparedRows(pyarrow.table(columns, schema=pyarrow.schema(kinds)), asked, [])

    def answer(self, inputs: list[EquationRecord]) -> Answers:
        import pyarrow

        found: list[dict[str, Any] | ValueError] = []
        with kernels("cached"):
            for start in range(0, len(inputs), self.completing.together):
                found += self._answers(inputs[start : start + self.completing.together])
        rows = [{"error": str(one)} if isinstance(one, ValueError) else one for one in found]
        bad = [
            asked.place._replace(message=str(one))
            for asked, one in zip(inputs, found, strict=True)
            if isinstance(one, ValueError)
        ]
        return Answers(pyarrow.Table.from_pylist(rows, schema()), bad)

    def _answers(self, some: list[EquationRecord]) -> list[dict[str, Any] | ValueError]:
        """The rows of some equations, in their order."""
        read = [self._typed(one) for one in some]
        good = [one for one in read if isinstance(one, Question)]
        answered = each(self.completing.answer, good) if good else iter(())
        return [_row(next(answered), one) if isinstance(one, Question) else one for one in read]

    def _typed(self, asked: EquationRecord) -> Question | ValueError:
        value = asked.said(self.column)
        try:
            check_length(asked.record, self.max_line)
            if not isinstance(value, str) or not value.strip():
                raise ValueError(f"nothing in the column {self.column!r}; expected an equation")
            return read_question(value.strip())
        except ValueError as error:
            return error

    def to(self, device: str) -> None:
        """Nothing moves: a search is work for a CPU, and so are the few small trees that a network orders."""


def _row(found: Completion | ValueError, asked: Question) -> dict[str, Any] | ValueError:
    return found if isinstance(found, ValueError) else describe_completion(found, asked.notes)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def schema() -> "pyarrow.Schema":
    """The columns of the answers."""
    import pyarrow

    text = pyarrow.string()
    written = {"infix": text, "latex": text}
    filler = {
        "blanks": pyarrow.list_(pyarrow.struct({"name": text, **written})),
        "forms": pyarrow.list_(pyarrow.struct(written)),
        "score": pyarrow.float64(),
        "verdict": text,
        "grade": text,
        "domain": text,
        "source": text,
    }
    return pyarrow.schema(
        {
            "understood": text,
            "understood_latex": text,
            "blanks": pyarrow.list_(text),
            "unknown": text,
            "imaginary_unit": text,
            "notes": pyarrow.list_(text),
            "found": pyarrow.bool_(),
            "fillers": pyarrow.list_(pyarrow.struct(filler)),
            "tried": pyarrow.int64(),
            "seconds": pyarrow.float64(),
            "stopped": pyarrow.bool_(),
            "error": text,
        }
    )
