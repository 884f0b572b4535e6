"""Tensors of values: what a message, reduce or apply function computes with, one number of it for many.

A tensor of the functions has axes of rows (nodes), of the mailbox, of whole numbers, and of columns, in any order:
``(rows, mailbox, 4, 16)``. Here it is an array of values with an entry for each index along the whole numbers, each
entry a value of as many columns. What moves numbers around, such as view, cat, split, permute and expand, moves
entries; only the columns may be cut into segments, of which each is an entry of its own.
"""

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from dgltree.engine.compiled.values import (
    DEGREE,
    ZERO,
    Value,
    add,
    columns,
    constant,
    extreme_of_columns,
    extreme_of_edges,
    multiply,
    sum_columns,
    sum_edges,
    value,
)

ROWS = "rows"
MAILBOX = "mailbox"
Axis = tuple[Any, ...]
"""The parts of an axis, the first one outermost: ROWS, MAILBOX or a whole number. An axis of size 1 has none."""
COLUMNS: Axis = ("columns",)
"""The one axis of a tensor, if any, whose numbers are the columns of its entries."""
FEW = 16
"""Columns that may become entries of their own, where a tensor would need two axes of columns."""


class NotAProgramError(ValueError):
    """What functions compute cannot be said by values; the message says what it is.

    Args:
        why: the message.
        field: of nodes, whose number decides what is computed, if it is that.
    """

    def __init__(self, why: str, field: str | None = None) -> None:
        super().__init__(why)
        self.field = field


class ValueTensor:
    """A tensor whose numbers are those of values.

    Args:
        entries: objects, an axis for each of the tensor's: its whole numbers along it, or its segments of columns.
        axes: of the tensor.
        widths: how many columns each segment has, if one axis is COLUMNS.
    """

    def __init__(self, entries: np.ndarray, axes: Iterable[Axis], widths: Sequence[int] | None = None) -> None:
        self.entries = entries
        self.axes = tuple(axes)
        self.widths = None if widths is None else tuple(widths)
        if self.widths == (1,):  # an axis of size 1
            self.axes = tuple(() if axis is COLUMNS else axis for axis in self.axes)
            self.widths = None
        for part, what in ((ROWS, "node"), (MAILBOX, "message")):
            if sum(axis.count(part) for axis in self.axes) > 1:
                raise NotAProgramError(f"each {what} is combined with every other {what}")

    @property
    def dim(self) -> int:
        return len(self.axes)

    @property
    def columns_at(self) -> int | None:
        """The number of the axis of columns."""
        return self.axes.index(COLUMNS) if COLUMNS in self.axes else None

    def with_axis(self, axis: int, new: Axis, widths: Sequence[int] | None) -> "ValueTensor":
        return ValueTensor(self.entries, [*self.axes[:axis], new, *self.axes[axis + 1 :]], widths)


def of_each(function: Callable[..., Value], *tensors: np.ndarray) -> np.ndarray:
    """A function of the entries at each index."""
    found = np.frompyfunc(function, len(tensors), 1)(*tensors)
    return found if isinstance(found, np.ndarray) else _array(found)


def _array(entry: Value) -> np.ndarray:
    found = np.empty((), object)
    found[()] = entry
    return found


def scalar(entry: Value) -> ValueTensor:
    """A tensor without axes."""
    return ValueTensor(_array(entry), ())


class TensorAlgebra:
    """Operations that move entries, for one number of rows and one degree.

    Args:
        rows: how many nodes there are in the trace.
        degree: the size of the mailbox; None if each of its messages is an entry of its own.
    """

    def __init__(self, rows: int, degree: int | None) -> None:
        self.sizes = {ROWS: rows} if degree is None else {ROWS: rows, MAILBOX: degree}

    def count(self, axis: Axis) -> int:
        return prod(self.part(part) for part in axis)

    def part(self, part: str | int) -> int:
        """The size of a part of an axis."""
        return self.sizes[part] if isinstance(part, str) else part

    def size(self, x: ValueTensor, axis: int) -> int:
        if x.axes[axis] is COLUMNS:
            assert x.widths is not None
            return sum(x.widths)
        return self.count(x.axes[axis])

    def shape(self, x: ValueTensor) -> list[int]:
        return [self.size(x, axis) for axis in range(x.dim)]

    def axis_of(self, size: int) -> Axis:
        """The axis that a size stands for: the sizes of a trace are primes that nothing else has."""
        rows = self.sizes[ROWS]
        degree = self.sizes.get(MAILBOX)
        if size == 1:
            return ()
        if degree and size == rows * degree:
            return (ROWS, MAILBOX)
        if degree and size == degree:
            return (MAILBOX,)
        if size and size % rows == 0:
            return (ROWS,) if size == rows else (ROWS, size // rows)
        return (size,)

    # -----------------------------------------------------------------------------------------------------------------
    # Columns, segments and whole numbers.

    def as_columns(self, x: ValueTensor, axis: int) -> ValueTensor:
        """An axis of whole numbers, or of size 1, as segments of one column each."""
        if x.axes[axis] is COLUMNS:
            return x
        if any(isinstance(part, str) for part in x.axes[axis]):
            raise NotAProgramError(
                f"an axis of {' and '.join(map(str, x.axes[axis]))} is combined with an axis of columns"
            )
        if x.columns_at is not None:
            x = self.as_numbers(x)
        return x.with_axis(axis, COLUMNS, (1,) * x.entries.shape[axis])

    def as_numbers(self, x: ValueTensor) -> ValueTensor:
        """The columns as entries of their own."""
        axis = x.columns_at
        if axis is None:
            return x
        size = self.size(x, axis)
        if size > FEW:
            raise NotAProgramError(
                f"two axes of more than {FEW} numbers are combined, as in an outer product of two states"
            )
        apart = self.cut(x, (1,) * size)
        return apart.with_axis(axis, (size,) if size > 1 else (), None)

    def cut(self, x: ValueTensor, widths: Sequence[int]) -> ValueTensor:
        """A tensor with segments of other widths, which begin wherever one of its own does."""
        axis = x.columns_at
        if axis is None or x.widths == tuple(widths):
            return x
        assert x.widths is not None
        begins = np.concatenate([[0], np.cumsum(x.widths)])
        pieces = []
        at = 0
        for width in widths:
            segment = int(np.searchsorted(begins, at, side="right")) - 1
            first = at - int(begins[segment])
            part = np.take(x.entries, [segment], axis)
            pieces.append(of_each(lambda entry, first=first, width=width: columns(entry, first, width), part))
            at += width
        return ValueTensor(np.concatenate(pieces, axis), x.axes, widths)

    def align(self, *tensors: ValueTensor) -> tuple[list[ValueTensor], list[Axis], tuple[int, ...] | None]:
        """Tensors whose entries broadcast, and the axes and widths of what an operation on them gives."""
        dim = max(x.dim for x in tensors)
        tensors = tuple(self._with_dim(x, dim) for x in tensors)
        at = {x.columns_at for x in tensors} - {None}
        if len(at) > 1:  # those whose columns meet numbers of another axis
            last = max(axis for axis in at if axis is not None)
            tensors = tuple(x if x.columns_at in (None, last) else self.as_numbers(x) for x in tensors)
        axes: list[Axis] = []
        for axis in range(dim):
            kinds = {x.axes[axis] for x in tensors} - {()}
            if len(kinds) > 1 and COLUMNS in kinds:
                tensors = tuple(x if x.axes[axis] in ((), COLUMNS) else self.as_columns(x, axis) for x in tensors)
                kinds = {COLUMNS}
            if len(kinds) > 1:
                raise NotAProgramError(f"axes of {' and '.join(sorted(map(str, kinds)))} meet")
            axes.append(kinds.pop() if kinds else ())
        if COLUMNS not in axes:
            return list(tensors), axes, None
        ends = {end for x in tensors if x.widths is not None for end in np.cumsum(x.widths).tolist()}
        widths = tuple(np.diff([0, *sorted(ends)]).tolist())
        aligned = [self.cut(x, widths) for x in tensors]
        return aligned, [COLUMNS if axis == COLUMNS else axis for axis in axes], widths

    def _with_dim(self, x: ValueTensor, dim: int) -> ValueTensor:
        """A tensor with axes of size 1 in front."""
        more = dim - x.dim
        return ValueTensor(x.entries.reshape((1,) * more + x.entries.shape), ((),) * more + x.axes, x.widths)

    def elementwise(self, function: Callable[..., Value], *tensors: ValueTensor) -> ValueTensor:
        aligned, axes, widths = self.align(*tensors)
        return ValueTensor(of_each(function, *(x.entries for x in aligned)), axes, widths)

    # -----------------------------------------------------------------------------------------------------------------
    # Parts of a tensor, and tensors put together.

    def narrow(self, x: ValueTensor, axis: int, start: int, stop: int, step: int = 1) -> ValueTensor:
        """``x[..., start:stop:step, ...]``; the ends may be negative or too large."""
        size = self.size(x, axis)
        start, stop, step = slice(start, stop, step).indices(size)
        if (start, stop, step) == (0, size, 1):
            return x
        taken = range(start, stop, step)
        if x.axes[axis] is COLUMNS:
            return self._narrow_columns(x, axis, taken)
        if x.axes[axis] != () and any(isinstance(part, str) for part in x.axes[axis]):
            raise NotAProgramError(f"a part of the {'mailbox' if MAILBOX in x.axes[axis] else 'nodes'}")
        entries = np.take(x.entries, list(taken), axis)
        return ValueTensor(
            entries, [*x.axes[:axis], (len(taken),) if len(taken) != 1 else (), *x.axes[axis + 1 :]], x.widths
        )

    def _narrow_columns(self, x: ValueTensor, axis: int, taken: range) -> ValueTensor:
        assert x.widths is not None
        if taken.step != 1:
            apart = self.as_numbers(x)
            return self.as_columns(self.narrow(apart, axis, taken.start, taken.stop, taken.step), axis)
        ends = sorted({taken.start, taken.stop, *np.cumsum(x.widths).tolist()} - {0})
        fine = self.cut(x, np.diff([0, *ends]).tolist())
        assert fine.widths is not None
        begins = np.cumsum((0, *fine.widths[:-1]))
        kept = [k for k, begin in enumerate(begins) if taken.start <= begin < taken.stop]
        return ValueTensor(np.take(fine.entries, kept, axis), x.axes, [fine.widths[k] for k in kept])

    def without_axis(self, x: ValueTensor, axis: int) -> ValueTensor:
        """Without an axis of size 1."""
        if self.size(x, axis) != 1:
            raise NotAProgramError("squeezing an axis larger than 1")
        shape = x.entries.shape
        widths = None if x.axes[axis] is COLUMNS else x.widths
        return ValueTensor(
            x.entries.reshape(shape[:axis] + shape[axis + 1 :]), x.axes[:axis] + x.axes[axis + 1 :], widths
        )

    def with_new_axis(self, x: ValueTensor, axis: int) -> ValueTensor:
        """A tensor with a further axis of size 1."""
        return ValueTensor(np.expand_dims(x.entries, axis), (*x.axes[:axis], (), *x.axes[axis:]), x.widths)

    def permute(self, x: ValueTensor, order: Sequence[int]) -> ValueTensor:
        return ValueTensor(x.entries.transpose(order), [x.axes[axis] for axis in order], x.widths)

    def cat(self, tensors: Sequence[ValueTensor], axis: int) -> ValueTensor:
        tensors = [x for x in tensors if 0 not in self.shape(x)] or tensors[:1]
        if any(x.axes[axis] is COLUMNS for x in tensors):
            tensors = [self.as_columns(x, axis) for x in tensors]
            lead = self._same_but(tensors, axis)
            lead[axis] = COLUMNS
            widths = [width for x in tensors for width in x.widths or (1,)]
            return ValueTensor(np.concatenate([x.entries for x in tensors], axis), lead, widths)
        if any(isinstance(part, str) for x in tensors for part in x.axes[axis]):
            raise NotAProgramError("cat along nodes or messages")
        if len({x.widths for x in tensors}) > 1:
            tensors, _, _ = self._with_same_columns(tensors)
        lead = self._same_but(tensors, axis)
        entries = np.concatenate([x.entries for x in tensors], axis)
        count = entries.shape[axis]
        return ValueTensor(entries, [*lead[:axis], (count,) if count > 1 else (), *lead[axis + 1 :]], tensors[0].widths)

    def _with_same_columns(self, tensors: Sequence[ValueTensor]) -> tuple[list[ValueTensor], int, tuple[int, ...]]:
        """Tensors with the same segments of the same axis of columns."""
        axis = max(x.columns_at for x in tensors if x.columns_at is not None)
        tensors = [self.as_columns(x, axis) for x in tensors]
        ends = {end for x in tensors for end in np.cumsum(x.widths or ()).tolist()}
        widths = tuple(np.diff([0, *sorted(ends)]).tolist())
        return [self.cut(x, widths) for x in tensors], axis, widths

    def _same_but(self, tensors: Sequence[ValueTensor], axis: int) -> list[Axis]:
        """The axes that tensors have in common, except one."""
        for other in range(tensors[0].dim):
            if other != axis and len({x.axes[other] for x in tensors}) > 1:
                raise NotAProgramError("cat of tensors whose other axes differ")
        return list(tensors[0].axes)

    def expand(self, x: ValueTensor, shape: Sequence[int], repeat: bool = False) -> ValueTensor:
        """torch's ``expand``; with ``repeat`` the numbers say how often, as in torch's ``repeat``."""
        x = self._with_dim(x, len(shape))
        entries = x.entries
        axes = list(x.axes)
        widths = x.widths
        for axis, given in enumerate(shape):
            old = self.size(x, axis)
            if given == -1:
                given = old
            new = given * old if repeat else given
            if new == old:
                continue
            times = new // old if old else 0
            if axes[axis] is COLUMNS:
                assert widths is not None
                widths = widths * times
                entries = np.concatenate([entries] * times, axis)
            elif old == 1 and axis == len(shape) - 1 and COLUMNS not in axes and self.axis_of(new) == (new,):
                axes[axis] = COLUMNS  # one value for all columns
                widths = (new,)
            elif old == 1:
                axes[axis] = self.axis_of(new)
                entries = np.repeat(entries, prod(part for part in axes[axis] if isinstance(part, int)), axis)
            elif all(isinstance(part, int) for part in axes[axis]):
                axes[axis] = (new,)
                entries = np.concatenate([entries] * times, axis)
            else:
                raise NotAProgramError("nodes or messages are repeated")
        return ValueTensor(entries, axes, widths)

    def reshape(self, x: ValueTensor, shape: Sequence[int]) -> ValueTensor:
        """torch's ``reshape``: parts of axes go into the new axes in their order, and are split where needed."""
        sizes = self.shape(x)
        shape = list(shape)
        if -1 in shape:
            rest = -prod(shape)
            shape[shape.index(-1)] = prod(sizes) // rest if rest else 0
        if sizes == shape:
            return x
        if 0 in sizes:
            raise NotAProgramError("a tensor without numbers")
        for axis in reversed(range(x.dim)):
            if sizes[axis] == 1:
                x = self.without_axis(x, axis)
        if x.columns_at not in (None, x.dim - 1):
            x = self.as_numbers(x)
        try:
            x = self._split(x, shape)
        except NotAProgramError:
            if x.columns_at is None:
                raise
            x = self._split(self.as_numbers(x), shape)
        for axis, size in enumerate(shape):
            if size == 1:
                x = self.with_new_axis(x, axis)
        return x

    def _split(self, x: ValueTensor, shape: Sequence[int]) -> ValueTensor:
        """Split the axes of a tensor whose columns are last: the axes of a shape that are more than 1."""
        parts: list[Any] = []
        for part in (part for axis in x.axes if axis is not COLUMNS for part in axis):
            if parts and isinstance(part, int) and isinstance(parts[-1], int):
                parts[-1] *= part  # which are split again as the shape needs it
            else:
                parts.append(part)
        segments = [] if x.widths is None else [len(x.widths)]
        entries = x.entries.reshape([part for part in parts if isinstance(part, int)] + segments)
        found = _Split(self, parts, entries, x.widths)
        for size in shape:
            if size != 1:
                found.take(size)
        return found.tensor()

    # -----------------------------------------------------------------------------------------------------------------
    # Sums and extremes along axes.

    def fold(self, x: ValueTensor, axis: int, operation: str) -> ValueTensor:
        """``sum``, ``largest`` or ``smallest`` along an axis, which stays with size 1."""
        if ROWS in x.axes[axis]:
            raise NotAProgramError(f"{'a sum' if operation == 'sum' else 'an extreme'} over the nodes of a frontier")
        if MAILBOX in x.axes[axis]:
            if operation == "sum":
                x = ValueTensor(of_each(sum_edges, x.entries), x.axes, x.widths)
            else:
                x = ValueTensor(of_each(lambda entry: _extreme(operation, entry), x.entries), x.axes, x.widths)
        if not x.entries.shape[axis]:  # a sum of nothing, as of the messages after the first of one
            if operation != "sum":
                raise NotAProgramError("a maximum or minimum of no numbers")
            shape = [*x.entries.shape[:axis], 1, *x.entries.shape[axis + 1 :]]
            return ValueTensor(np.full(shape, ZERO), [*x.axes[:axis], (), *x.axes[axis + 1 :]], x.widths)
        parts = np.split(x.entries, x.entries.shape[axis], axis)
        widths = x.widths
        if x.axes[axis] is COLUMNS:
            assert x.widths is not None
            parts = [
                of_each(lambda entry, width=width: _fold_columns(operation, entry, width), part)
                for part, width in zip(parts, x.widths, strict=True)
            ]
            widths = None
        total = parts[0]
        for part in parts[1:]:
            total = of_each(
                add if operation == "sum" else lambda a, b: value(operation, a, b, kind=a.kind), total, part
            )
        return ValueTensor(total, [*x.axes[:axis], (), *x.axes[axis + 1 :]], widths)

    def folds(self, x: ValueTensor, axes: Sequence[int] | None, keep: bool, operation: str) -> ValueTensor:
        """Along several axes, all of them by default."""
        chosen = sorted({axis % x.dim for axis in (axes or range(x.dim))}, reverse=True)
        for axis in chosen:
            x = self.fold(x, axis, operation)
        for axis in () if keep else chosen:
            x = self.without_axis(x, axis)
        return x

    def count_along(self, x: ValueTensor, axes: Sequence[int] | None) -> Value:
        """How many numbers a sum along axes has."""
        total = constant(1)
        for axis in axes or range(x.dim):
            parts = x.axes[axis % x.dim]
            if parts is COLUMNS:
                total = multiply(total, constant(self.size(x, axis % x.dim)))
                continue
            for part in parts:
                total = multiply(total, DEGREE if part == MAILBOX else constant(self.part(part)))
        return total


def _extreme(operation: str, entry: Value) -> Value:
    return extreme_of_edges(f"{operation}_edge", entry)


def _fold_columns(operation: str, entry: Value, width: int) -> Value:
    if operation == "sum":
        return sum_columns(entry, width)
    return entry if entry.width == 1 else extreme_of_columns(f"{operation}_column", entry)


class _Split:
    """A reshape in progress: parts of axes that are left, and the axes that were made of others.

    Args:
        algebra: of the sizes.
        parts: of all axes but the columns, the outermost first.
        entries: an axis for each whole number among the parts, and one for the segments if there are columns.
        widths: of the segments.
    """

    def __init__(
        self, algebra: TensorAlgebra, parts: list[Any], entries: np.ndarray, widths: Sequence[int] | None
    ) -> None:
        self.algebra = algebra
        self.left = parts
        self.entries = entries
        self.widths = None if widths is None else tuple(widths)
        self.axes: list[Axis] = []
        self.numbers: list[int] = []
        """Numbers of entries along what was taken."""

    def take(self, size: int) -> None:
        """An axis of a size, of the next parts."""
        taken: list[Any] = []
        while (count := self.algebra.count(tuple(taken))) < size:
            if self.left:
                self._take_part(taken, size, count)
            elif self.widths is None or COLUMNS in self.axes:
                raise NotAProgramError("a view that splits rows")
            elif size == count * sum(self.widths):
                self._take_columns(taken)
                return
            else:
                self._split_columns(taken, size // count)
        if count != size:
            raise NotAProgramError("a view that splits rows")
        self.axes.append(tuple(taken))
        self.numbers.append(prod(part for part in taken if isinstance(part, int)))

    def _take_part(self, taken: list[Any], size: int, count: int) -> None:
        part = self.left[0]
        whole = self.algebra.count((part,))
        if size % (count * whole) == 0:
            taken.append(self.left.pop(0))
            return
        factor = size // count
        if not isinstance(part, int) or factor * count != size or part % factor:
            raise NotAProgramError("a view that splits rows")
        taken.append(factor)
        self.left[0] = part // factor

    def _take_columns(self, taken: list[Any]) -> None:
        """What is taken becomes columns, too: entry after entry."""
        assert self.widths is not None
        if any(isinstance(part, str) for part in taken):
            raise NotAProgramError(
                "a view that puts the messages of a node side by side"
                if MAILBOX in taken
                else "a view that puts nodes side by side"
            )
        times = prod(taken)
        self.axes.append(COLUMNS)
        self.numbers.append(times * len(self.widths))
        self.widths = self.widths * times

    def _split_columns(self, taken: list[Any], count: int) -> None:
        """The columns become blocks of equal width, each with the same segments."""
        assert self.widths is not None
        total = sum(self.widths)
        if total % count:
            raise NotAProgramError("a view that splits rows")
        width = total // count
        cuts = sorted({end % width for end in np.cumsum((0, *self.widths)).tolist()} | {0})
        pattern = np.diff([*cuts, width]).tolist()
        lead = self.entries.shape[:-1]
        fine = self.algebra.cut(
            ValueTensor(self.entries, [*((size,) for size in lead), COLUMNS], self.widths), pattern * count
        )
        self.entries = fine.entries.reshape(*lead, count, len(pattern))
        self.widths = tuple(pattern)
        taken.append(count)

    def tensor(self) -> ValueTensor:
        if self.left:
            raise NotAProgramError("a view that splits rows")
        widths = self.widths
        numbers = self.numbers
        axes = self.axes
        if widths is not None and COLUMNS not in axes:  # one column is left, and no axis for it
            if sum(widths) != 1:
                raise NotAProgramError("a view that splits rows")
            widths = None
        return ValueTensor(self.entries.reshape(numbers), axes, widths)
