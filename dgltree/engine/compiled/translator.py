"""A recording as it becomes values, operation after operation."""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import torch

from dgltree.engine.compiled import values as v
from dgltree.engine.compiled.follows import Following, Follows
from dgltree.engine.compiled.programs import (
    Held,
    Hoisted,
    Mask,
    NodeProgram,
    Operand,
    Product,
    Segment,
    product_column,
    segments_of,
)
from dgltree.engine.compiled.recording import Input, Operation, Recording, Ref, kind_of
from dgltree.engine.compiled.tensors import (
    COLUMNS,
    MAILBOX,
    ROWS,
    Axis,
    NotAProgramError,
    TensorAlgebra,
    ValueTensor,
    scalar,
)
from dgltree.engine.compiled.values import Location, Space, Value, constant

MOST_HELD = 16384
"""Numbers of a tensor from outside that goes into arithmetic, where each of its rows is loaded by itself."""


TURNS = (torch.t, torch.ops.aten.t.default, torch.ops.aten.t_copy.default)
"""Operations that turn a matrix."""
Rule = Callable[..., Any]
"""The values of an operation's results: a function of the translator, the operation, its arguments and its options that
returns a ``ValueTensor``, or a tuple of them for several results."""


class ValueTranslator:
    """A recording as it becomes values."""

    def __init__(
        self, recording: Recording, followed: dict[int, Follows], by_child: bool, rules: Mapping[str, Rule]
    ) -> None:
        self.recording = recording
        self.rules = rules
        self.by_child = by_child
        self.followed = followed
        self.algebra = TensorAlgebra(recording.rows, None if by_child else recording.degree)
        self.results: list[Any] = []
        """The result of each operation so far."""
        self.hoisted: list[Hoisted] = []
        self.held: list[Ref] = []
        self.products: list[Product] = []
        self.masks: list[Mask] = []
        self.lines: dict[Value, Any] = {}
        self.inputs = [self._load(each) for each in recording.inputs]
        read = recording.read()
        floats = [each.kind.dtype for each in read if each.kind.dtype.is_floating_point]
        floats += [each.dtype for each in recording.outside if each.is_floating_point()]
        floats += [each.dtype for each in recording.kinds.values() if each.dtype.is_floating_point]
        self.dtype = floats[0] if floats else torch.get_default_dtype()
        if self.dtype not in (torch.float32, torch.float64):
            raise NotAProgramError(f"numbers are {self.dtype}")
        self.seen = 0
        """How many numbers of the recording belong to operations before. An operation has, in this order, those among
        its arguments, those among its options, and the sizes of its results; ``followed`` counts them alike."""

    def _load(self, given: Input) -> ValueTensor:
        """The values of a field (rows, *shape): one load for each row of its last axis, all columns of which it has.

        Functions that see each child by itself have an entry for each child; others have one for all messages.
        """
        is_scalar = not given.kind.shape
        *lead, width = given.kind.shape or (1,)
        kind = kind_of(given.kind.dtype)
        array, space = self._source_of(given)
        first_axis, children = self._first_axis(given)
        columns = [] if is_scalar else [1]
        entries = np.empty((children, *lead, *columns), object)
        for index in np.ndindex(entries.shape):
            child = index[0] if array.startswith("child") else 0
            row = int(np.ravel_multi_index(index[1:-1], lead)) if lead else 0
            entries[index] = v.load(space, width, Location(array, given.name, child), row * width, kind)
        axes = [first_axis, *((size,) if size > 1 else () for size in lead)]
        if is_scalar:
            return ValueTensor(entries, axes)
        return ValueTensor(entries, [*axes, COLUMNS], (width,))

    def _source_of(self, given: Input) -> tuple[str, Space]:
        """The array that a field is read from, and whether a value of it is one of nodes or of messages."""
        if given.array in ("node", "target"):
            return "node", Space.NODE
        if self.by_child:
            return {"source": "child", "edge": "child_edge"}[given.array], Space.NODE
        return given.array, Space.EDGE

    def _first_axis(self, given: Input) -> tuple[Axis, int]:
        """What a field's first axis is, and how many entries it has."""
        if given.array == "node":
            return (ROWS,), 1
        if not self.by_child:
            return (ROWS, MAILBOX), 1
        degree = self.recording.degree
        return ((ROWS, degree) if degree > 1 else (ROWS,)), max(degree, 1)

    # -----------------------------------------------------------------------------------------------------------------
    # One operation.

    def run(self, operation: Operation, is_needed: bool) -> None:
        """Translates an operation, or hoists it if no field is among its arguments."""
        count = _count_numbers(operation.arguments) + _count_numbers(operation.options)
        place = self.seen
        self.seen += count + sum(result.dim() for result in operation.results)
        if not is_needed:
            self.results.append(None)
            return
        arguments, place = self._resolved(operation.arguments, place)
        options, _ = self._resolved(operation.options, place)
        name = operation.name
        if name.endswith("_copy") and name != "_to_copy":
            name = name[: -len("_copy")]
        if not _any(arguments, ValueTensor) and _any(arguments, Held):
            if not _any(arguments, Following):
                self.results.append(self._hoist(operation))
                return
            arguments = [self.operand(each) if isinstance(each, Held) else each for each in arguments]
        function = self.rules.get(name)
        if function is None:
            raise NotAProgramError(f"the operation {operation.name} has no rule")
        result = function(self, operation, *arguments, **options)
        results = [result] if isinstance(result, ValueTensor) else result
        for each, recorded in zip(results, operation.results, strict=False):  # some rules give the first alone
            self._check(each, recorded.dtype, operation.line)
        self.results.append(result)

    def _check(self, result: ValueTensor, dtype: torch.dtype, line: Any) -> None:
        """Keep the user's line for each value; raise for floats of another dtype than the fields'."""
        for entry in result.entries.flat:
            self.lines.setdefault(entry, line)
        is_exact = all(entry.operation in ("constant", "as_float") for entry in result.entries.flat)
        if dtype.is_floating_point and dtype != self.dtype and not is_exact:
            raise NotAProgramError(f"numbers are {dtype}, but the fields are {self.dtype}")

    def _resolved(self, argument: Any, place: int) -> tuple[Any, int]:
        """An argument with tensors in place of refs, and values in place of numbers that follow the degree."""
        if isinstance(argument, Ref):
            return self._tensor(argument), place
        if isinstance(argument, dict):
            found = {}
            for name, each in argument.items():
                found[name], place = self._resolved(each, place)
            return found, place
        if isinstance(argument, tuple | list):
            parts = []
            for each in argument:
                part, place = self._resolved(each, place)
                parts.append(part)
            return parts, place
        if isinstance(argument, int | float) and not isinstance(argument, bool):
            if place in self.followed:
                return Following(argument, self.followed[place]), place + 1
            return argument, place + 1
        return argument, place

    def _tensor(self, ref: Ref) -> Any:
        if ref.origin == "input":
            return self.inputs[ref.number]
        if ref.origin == "outside":
            return Held(ref, self.recording.outside[ref.number])
        result = self.results[ref.number]
        if result is None:  # its shape alone is asked for
            return None
        return result if isinstance(result, ValueTensor | Held) else result[ref.part]

    def _hoist(self, operation: Operation) -> Any:
        number = len(self.hoisted)
        arguments = self._hoisted_refs(operation.arguments)
        options = self._hoisted_refs(operation.options)
        self.hoisted.append(Hoisted(operation.function, arguments, options))
        held = [Held(Ref("result", number, part), tensor) for part, tensor in enumerate(operation.results)]
        return held[0] if len(held) == 1 else held

    def _hoisted_refs(self, argument: Any) -> Any:
        """Refs to what is hoisted instead of to operations."""
        if isinstance(argument, Ref):
            found = self._tensor(argument)
            assert isinstance(found, Held)
            return found.ref
        if isinstance(argument, dict):
            return {name: self._hoisted_refs(each) for name, each in argument.items()}
        if isinstance(argument, tuple | list):
            return type(argument)(self._hoisted_refs(each) for each in argument)
        return argument

    # -----------------------------------------------------------------------------------------------------------------
    # What rules need.

    def elementwise(self, function: Callable[..., Value], *given: Any) -> ValueTensor:
        """A function of the values of tensors, numbers and what is held, element by element, as torch broadcasts."""
        return self.algebra.elementwise(function, *(self.operand(each) for each in given))

    def operand(self, given: Any) -> ValueTensor:
        """A tensor of values: of a tensor, a number or what is held."""
        if isinstance(given, ValueTensor):
            return given
        if isinstance(given, Following):
            return scalar(given.value())
        if isinstance(given, bool | int | float):
            return scalar(constant(given))
        if not isinstance(given, Held):
            raise NotAProgramError(f"an argument is a {type(given).__name__}")
        tensor = given.tensor
        if tensor.numel() > MOST_HELD:
            raise NotAProgramError(f"the functions calculate with a constant tensor of shape {tuple(tensor.shape)}")
        number = self.hold(given)
        kind = kind_of(tensor.dtype)
        *lead, width = tensor.shape or (1,)
        entries = np.empty((*lead, *([1] if tensor.dim() else [])), object)
        for index in np.ndindex(entries.shape):
            row = int(np.ravel_multi_index(index[:-1], lead)) if lead else 0
            entries[index] = v.load(Space.CONSTANT, width, Location("held", number), row * width, kind)
        axes: list[Axis] = [(size,) if size > 1 else () for size in lead]
        return ValueTensor(entries, [*axes, COLUMNS], (width,)) if tensor.dim() else ValueTensor(entries, ())

    def hold(self, held: Held) -> int:
        """The number of a tensor among those that values load."""
        if held.ref not in self.held:
            self.held.append(held.ref)
        return self.held.index(held.ref)

    def hoist(self, function: Any, held: Held, *arguments: Any) -> Held:
        """An operation of our own on what is held."""
        number = len(self.hoisted)
        self.hoisted.append(Hoisted(function, (held.ref, *arguments), {}))
        return Held(Ref("result", number), function(held.tensor, *arguments))

    def product(self, x: ValueTensor, weight: Held) -> ValueTensor:
        """(..., fan_in) by a held matrix (fan_in, fan_out)."""
        fan_in, fan_out = weight.tensor.shape
        matrix = self._before_turning(weight)
        last = x.dim - 1
        if x.columns_at not in (None, last):
            x = self.algebra.as_numbers(x)
        if fan_in > 1:
            x = self.algebra.as_columns(x, last)
        parts = [part for axis in x.axes[:-1] for part in axis]
        if ROWS not in parts:
            raise NotAProgramError("a product without rows")
        space = Space.EDGE if MAILBOX in parts else Space.NODE
        count = prod(part for part in parts if isinstance(part, int))
        widths = list(x.widths or (1,))
        rows = [segments_of(widths, list(row)) for row in x.entries.reshape(count, len(widths))]
        number = len(self.products)
        product = Product(space, rows, self.hold(matrix), fan_in, fan_out, matrix is not weight)
        self.products.append(product)
        entries = np.empty((count, 1), object)
        for part in range(count):
            entries[part, 0] = product_column(product, number, part)
        return ValueTensor(entries.reshape(*x.entries.shape[:-1], 1), [*x.axes[:-1], COLUMNS], (fan_out,))

    def _before_turning(self, held: Held) -> Held:
        """The matrix that a held one is the transpose of, which need not be copied; otherwise itself."""
        hoisted = self.hoisted[held.ref.number] if held.ref.origin == "result" else None
        if hoisted is None or hoisted.function not in TURNS:
            return held
        [ref] = hoisted.arguments
        return Held(ref, held.tensor.t())

    def filled(self, shape: Sequence[int], number: float | int | bool) -> ValueTensor:
        """A tensor of one number."""
        axes = [self.algebra.axis_of(size) for size in shape]
        widths = None
        if len(shape) > 1 and all(isinstance(part, int) for part in axes[-1]) and shape[-1] > 1:
            axes[-1] = COLUMNS
            widths = (shape[-1],)
        sizes = []
        for axis in axes:
            parts = () if axis is COLUMNS else axis
            sizes.append(prod(part for part in parts if isinstance(part, int)))
        entries = np.empty(sizes, object)
        entries[...] = constant(number)
        return ValueTensor(entries, axes, widths)

    def program(self) -> NodeProgram:
        outputs = {name: self._segments(name, self._tensor(ref)) for name, ref in self.recording.outputs.items()}
        return NodeProgram(
            outputs=outputs,
            kinds=self.recording.kinds,
            products=self.products,
            masks=self.masks,
            hoisted=self.hoisted,
            held=self.held,
            dtype=self.dtype,
            by_child=self.by_child,
            lines=self.lines,
        )

    def _segments(self, name: str, given: Operand) -> list[Segment]:
        """The columns of a field that is returned: those of its axes of known sizes one after another."""
        tensor = self.operand(given)
        if tensor.axes[:1] != ((ROWS,),):
            raise NotAProgramError(f"{name!r} is not returned with one row per node")
        if any(isinstance(part, str) for axis in tensor.axes[1:] if axis is not COLUMNS for part in axis):
            raise NotAProgramError(f"{name!r} is returned with an axis of nodes or messages")
        if tensor.columns_at not in (None, tensor.dim - 1):
            tensor = self.algebra.as_numbers(tensor)
        kind = self.recording.kinds[name].dtype
        if kind.is_floating_point and kind != self.dtype:
            raise NotAProgramError(f"{name!r} is returned as {kind}, but the fields are {self.dtype}")
        widths = list(tensor.widths or (1,))
        repeats = tensor.entries.size // len(widths)
        return segments_of(widths * repeats, list(tensor.entries.flat))


def _count_numbers(argument: Any) -> int:
    if isinstance(argument, Ref | bool):
        return 0
    if isinstance(argument, dict):
        return sum(map(_count_numbers, argument.values()))
    if isinstance(argument, tuple | list):
        return sum(map(_count_numbers, argument))
    return int(isinstance(argument, int | float))


def _any(argument: Any, kind: Any) -> bool:
    if isinstance(argument, kind):
        return True
    return isinstance(argument, tuple | list) and any(_any(each, kind) for each in argument)
