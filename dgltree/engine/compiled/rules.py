"""Rules of torch's operations: each one as operations on tensors of values."""

from collections.abc import Callable
from itertools import pairwise
from math import pi, prod
from typing import Any

import numpy as np
import torch

from dgltree.engine.compiled import values as v
from dgltree.engine.compiled.follows import plain
from dgltree.engine.compiled.programs import Held, Mask
from dgltree.engine.compiled.recording import Operation, kind_of
from dgltree.engine.compiled.tensors import COLUMNS, MAILBOX, NotAProgramError, ValueTensor, of_each
from dgltree.engine.compiled.translator import Rule, ValueTranslator
from dgltree.engine.compiled.values import Location, Space, Value, constant

RULES: dict[str, Rule] = {}
"""Name of an operation to its rule."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    def put(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return put


# ---------------------------------------------------------------------------------------------------------------------
# Arithmetic.


def _elementwise(function: Callable[..., Value]) -> Rule:
    def run(t: ValueTranslator, operation: Operation, *given: Any, **options: Any) -> ValueTensor:
        return t.elementwise(function, *(t.operand(each) for each in given))

    return run


@rule("add", "sub")
def _sum_of_two(t: ValueTranslator, operation: Operation, x: Any, y: Any, alpha: Any = 1) -> ValueTensor:
    if alpha != 1:
        y = t.elementwise(v.multiply, y, alpha)
    function = v.add if operation.name.startswith("add") else v.subtract
    return t.elementwise(function, x, y)


@rule("rsub")
def _turned_difference(t: ValueTranslator, operation: Operation, x: Any, y: Any, alpha: Any = 1) -> ValueTensor:
    scaled = t.elementwise(v.multiply, x, alpha)
    return t.elementwise(v.subtract, y, scaled)


@rule("div")
def _quotient(
    t: ValueTranslator, operation: Operation, x: Any, y: Any, rounding_mode: str | None = None
) -> ValueTensor:
    if rounding_mode is not None:
        raise NotAProgramError(f"a quotient rounded by {rounding_mode!r}")
    return t.elementwise(v.divide, x, y)


@rule("addcmul", "addcdiv")
def _add_scaled(t: ValueTranslator, operation: Operation, x: Any, y: Any, z: Any, value: Any = 1) -> ValueTensor:
    function = v.multiply if operation.name == "addcmul" else v.divide
    scaled = t.elementwise(function, y, z)
    return t.elementwise(v.add, x, t.elementwise(v.multiply, scaled, value))


@rule("lerp")
def _between(t: ValueTranslator, operation: Operation, x: Any, y: Any, weight: Any) -> ValueTensor:
    return t.elementwise(lambda a, b, w: v.add(a, v.multiply(w, v.subtract(b, a))), x, y, weight)


@rule("pow")
def _power(t: ValueTranslator, operation: Operation, x: Any, exponent: Any) -> ValueTensor:
    if not isinstance(exponent, int | float):
        raise NotAProgramError("a power whose exponent is computed")
    if exponent == 2:
        return t.elementwise(lambda a: v.multiply(a, a), x)
    return t.elementwise(lambda a: v.value("power", v.as_float(a), float(exponent)), x)


for _name in ("greater", "less", "greater_equal", "less_equal", "equal", "not_equal"):
    _short = {"greater": "gt", "less": "lt", "greater_equal": "ge", "less_equal": "le", "equal": "eq"}.get(_name, "ne")
    RULES[_short] = _elementwise(lambda a, b, name=_name: v.compare(name, a, b))

for _name in ("tanh", "sigmoid", "exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "erf"):
    RULES[_name] = _elementwise(lambda a, name=_name: v.unary(name, a))


def _zero_like(x: Value) -> Value:
    return constant(0) if x.kind == "whole" else v.ZERO


def _relu(x: Value) -> Value:
    return v.where(v.compare("less_equal", x, _zero_like(x)), _zero_like(x), x)


def _silu(x: Value) -> Value:
    return v.multiply(x, v.unary("sigmoid", x))


def _softplus(x: Value) -> Value:
    return v.where(v.compare("greater", x, constant(20.0)), x, v.unary("log1p", v.unary("exp", x)))


RULES |= {
    "mul": _elementwise(v.multiply),
    "maximum": _elementwise(v.maximum),
    "minimum": _elementwise(v.minimum),
    "neg": _elementwise(v.negative),
    "abs": _elementwise(lambda a: v.value("absolute", a, kind=a.kind)),
    "sign": _elementwise(lambda a: v.value("sign", a, kind=a.kind)),
    "square": _elementwise(lambda a: v.multiply(a, a)),
    "reciprocal": _elementwise(lambda a: v.divide(v.ONE, a)),
    "rsqrt": _elementwise(lambda a: v.divide(v.ONE, v.unary("sqrt", a))),
    "relu": _elementwise(_relu),
    "silu": _elementwise(_silu),
    "where": _elementwise(v.where),
    "masked_fill": _elementwise(lambda a, mask, number: v.where(mask, number, a)),
    "bitwise_and": _elementwise(lambda a, b: v.value("and", a, b, kind=_truth(a, b))),
    "logical_and": _elementwise(lambda a, b: v.value("and", a, b, kind=_truth(a, b))),
    "bitwise_or": _elementwise(lambda a, b: v.value("or", a, b, kind=_truth(a, b))),
    "logical_or": _elementwise(lambda a, b: v.value("or", a, b, kind=_truth(a, b))),
    "bitwise_not": _elementwise(lambda a: v.value("not", a, kind=_truth(a))),
    "logical_not": _elementwise(lambda a: v.value("not", a, kind=_truth(a))),
}


def _truth(*operands: Value) -> str:
    if any(each.kind != "truth" for each in operands):
        raise NotAProgramError("and, or, not applied to numbers")
    return "truth"


@rule("clamp", "clamp_min", "clamp_max", "hardtanh")
def _clamp(t: ValueTranslator, operation: Operation, x: Any, low: Any = None, high: Any = None, **options: Any) -> Any:
    low = options.get("min", low)
    high = options.get("max", high)
    if operation.name == "clamp_max":
        low, high = None, low
    if operation.name == "hardtanh":
        low = -1.0 if low is None else low
        high = 1.0 if high is None else high
    x = t.operand(x)
    if low is not None:
        x = t.elementwise(lambda a, b: v.where(v.compare("less", a, b), b, a), x, low)
    if high is not None:
        x = t.elementwise(lambda a, b: v.where(v.compare("greater", a, b), b, a), x, high)
    return x


@rule("softplus")
def _softplus_rule(t: ValueTranslator, operation: Operation, x: Any, beta: float = 1, threshold: float = 20) -> Any:
    if (beta, threshold) != (1, 20):
        raise NotAProgramError("softplus with options")
    return t.elementwise(_softplus, x)


@rule("log_sigmoid_forward")
def _log_sigmoid(t: ValueTranslator, operation: Operation, x: Any) -> Any:
    def of(a: Value) -> Value:
        below = v.minimum(a, v.ZERO)
        away = v.negative(v.value("absolute", a))
        return v.subtract(below, v.unary("log1p", v.unary("exp", away)))

    result = t.elementwise(of, x)
    return [result, result]  # the second one is for torch's own derivative


@rule("leaky_relu")
def _leaky_relu(t: ValueTranslator, operation: Operation, x: Any, slope: float = 0.01) -> ValueTensor:
    return t.elementwise(
        lambda a: v.where(v.compare("greater", a, v.ZERO), a, v.multiply(a, constant(float(slope)))), x
    )


@rule("elu")
def _elu(t: ValueTranslator, operation: Operation, x: Any, alpha: float = 1, scale: float = 1, more: float = 1) -> Any:
    def of(a: Value) -> Value:
        below = v.multiply(v.unary("expm1", v.multiply(a, constant(float(more)))), constant(float(alpha * scale)))
        above = v.multiply(a, constant(float(scale)))
        return v.where(v.compare("greater", a, v.ZERO), above, below)

    return t.elementwise(of, x)


@rule("gelu")
def _gelu(t: ValueTranslator, operation: Operation, x: Any, approximate: str = "none") -> ValueTensor:
    def by_erf(a: Value) -> Value:
        inner = v.unary("erf", v.multiply(a, constant(0.5**0.5)))
        return v.multiply(v.multiply(a, constant(0.5)), v.add(v.ONE, inner))

    def by_tanh(a: Value) -> Value:
        cube = v.multiply(v.multiply(a, a), a)
        inner = v.multiply(constant((2 / pi) ** 0.5), v.add(a, v.multiply(constant(0.044715), cube)))
        return v.multiply(v.multiply(a, constant(0.5)), v.add(v.ONE, v.unary("tanh", inner)))

    return t.elementwise(by_erf if approximate == "none" else by_tanh, x)


@rule("_to_copy")
def _converted(
    t: ValueTranslator, operation: Operation, x: Any, dtype: torch.dtype | None = None, **options: Any
) -> Any:
    kind = kind_of(operation.results[0].dtype)
    x = t.operand(x)

    def of(a: Value) -> Value:
        if a.kind == kind:
            return a
        if kind == "float":
            return v.as_float(a)
        if kind == "whole" and a.kind == "truth":
            return v.where(a, constant(1), constant(0))
        if kind == "truth":
            return v.compare("not_equal", a, _zero_like(a))
        raise NotAProgramError("a conversion of floats to whole numbers")

    return t.elementwise(of, x)


# ---------------------------------------------------------------------------------------------------------------------
# What moves numbers.


@rule("clone", "contiguous", "alias", "lift_fresh", "view_as_real", "positive")
def _same(t: ValueTranslator, operation: Operation, x: Any, **options: Any) -> ValueTensor:
    return t.operand(x)


@rule("detach")
def _detach(t: ValueTranslator, operation: Operation, x: Any) -> ValueTensor:
    return t.elementwise(lambda a: v.value("detach", a, kind=a.kind), x)


@rule("copy")
def _copied(t: ValueTranslator, operation: Operation, x: Any, y: Any, non_blocking: bool = False) -> ValueTensor:
    kinds = {each.kind for tensor in (x, y) for each in t.operand(tensor).entries.flat}
    if len(kinds) > 1 and kinds != {"float", "truth"} and kinds != {"float", "whole"}:
        raise NotAProgramError("writing numbers of one kind into a tensor of another kind")
    if kinds != {"float"} and any(each.kind == "float" for each in t.operand(y).entries.flat):
        raise NotAProgramError("a conversion of floats to whole numbers")
    return t.elementwise(lambda a, b: v.as_float(b) if a.kind == "float" else b, x, y)


@rule("view", "reshape", "_unsafe_view")
def _view(t: ValueTranslator, operation: Operation, x: ValueTensor, shape: list[Any]) -> ValueTensor:
    return t.algebra.reshape(x, [size if size == -1 else int(size) for size in plain(shape)])


@rule("expand")
def _expand(t: ValueTranslator, operation: Operation, x: Any, shape: list[Any], implicit: bool = False) -> ValueTensor:
    return t.algebra.expand(t.operand(x), plain(shape))


@rule("repeat")
def _repeat(t: ValueTranslator, operation: Operation, x: Any, times: list[Any]) -> ValueTensor:
    return t.algebra.expand(t.operand(x), plain(times), repeat=True)


@rule("permute")
def _permute(t: ValueTranslator, operation: Operation, x: ValueTensor, order: list[int]) -> ValueTensor:
    return t.algebra.permute(x, [axis % x.dim for axis in order])


@rule("transpose", "t")
def _transpose(t: ValueTranslator, operation: Operation, x: ValueTensor, a: int = 0, b: int = 1) -> ValueTensor:
    order = list(range(x.dim))
    if x.dim > 1:
        order[a % x.dim], order[b % x.dim] = order[b % x.dim], order[a % x.dim]
    return t.algebra.permute(x, order)


@rule("unsqueeze")
def _unsqueeze(t: ValueTranslator, operation: Operation, x: ValueTensor, axis: int) -> ValueTensor:
    return t.algebra.with_new_axis(x, axis % (x.dim + 1))


@rule("squeeze")
def _squeeze(t: ValueTranslator, operation: Operation, x: ValueTensor, axes: Any = None) -> ValueTensor:
    if axes is None:
        axes = range(x.dim)
    chosen = [axes] if isinstance(axes, int) else axes
    for axis in sorted({axis % x.dim for axis in chosen}, reverse=True):
        if t.algebra.size(x, axis) == 1:
            x = t.algebra.without_axis(x, axis)
    return x


@rule("slice")
def _slice(
    t: ValueTranslator,
    operation: Operation,
    x: ValueTensor,
    axis: int = 0,
    start: Any = None,
    stop: Any = None,
    step: int = 1,
) -> ValueTensor:
    axis = axis % x.dim
    size = t.algebra.size(x, axis)
    start, stop = plain([0 if start is None else start, size if stop is None else stop])
    return t.algebra.narrow(x, axis, start, min(stop, size), step)


@rule("select")
def _select(t: ValueTranslator, operation: Operation, x: ValueTensor, axis: int, index: Any) -> ValueTensor:
    axis = axis % x.dim
    index = plain([index])[0] % t.algebra.size(x, axis)
    return t.algebra.without_axis(t.algebra.narrow(x, axis, index, index + 1), axis)


@rule("unbind")
def _unbind(t: ValueTranslator, operation: Operation, x: ValueTensor, axis: int = 0) -> list[ValueTensor]:
    return [_select(t, operation, x, axis, index) for index in range(t.algebra.size(x, axis % x.dim))]


@rule("split", "split_with_sizes")
def _split(t: ValueTranslator, operation: Operation, x: ValueTensor, sizes: Any, axis: int = 0) -> list[ValueTensor]:
    axis = axis % x.dim
    size = t.algebra.size(x, axis)
    widths = plain(sizes) if isinstance(sizes, list) else []
    if not widths:
        each = plain([sizes])[0]
        widths = [min(each, size - start) for start in range(0, size, each)]
    ends = np.cumsum([0, *widths]).tolist()
    return [t.algebra.narrow(x, axis, start, stop) for start, stop in pairwise(ends)]


@rule("cat")
def _cat(t: ValueTranslator, operation: Operation, tensors: list[Any], axis: int = 0) -> ValueTensor:
    given = [t.operand(each) for each in tensors]
    return t.algebra.cat(given, axis % given[0].dim)


@rule("stack")
def _stack(t: ValueTranslator, operation: Operation, tensors: list[Any], axis: int = 0) -> ValueTensor:
    given = [t.operand(each) for each in tensors]
    axis = axis % (given[0].dim + 1)
    return t.algebra.cat([t.algebra.with_new_axis(each, axis) for each in given], axis)


@rule("slice_scatter")
def _slice_scatter(
    t: ValueTranslator,
    operation: Operation,
    x: Any,
    y: Any,
    axis: int = 0,
    start: Any = None,
    stop: Any = None,
    step: int = 1,
) -> ValueTensor:
    """x with a part replaced."""
    x = t.operand(x)
    axis = axis % x.dim
    size = t.algebra.size(x, axis)
    if step != 1:
        raise NotAProgramError("writing with a step other than 1")
    start, stop, _ = slice(*plain([0 if start is None else start, size if stop is None else stop])).indices(size)
    if (start, stop) == (0, size):
        return _copied(t, operation, x, y)
    part = t.algebra.narrow(x, axis, start, stop)
    parts = [_copied(t, operation, part, y)]
    if start:
        parts.insert(0, t.algebra.narrow(x, axis, 0, start))
    if stop < size:
        parts.append(t.algebra.narrow(x, axis, stop, size))
    return t.algebra.cat(parts, axis)


@rule("select_scatter")
def _select_scatter(t: ValueTranslator, operation: Operation, x: Any, y: Any, axis: int, index: Any) -> ValueTensor:
    x = t.operand(x)
    axis = axis % x.dim
    index = plain([index])[0] % t.algebra.size(x, axis)
    return _slice_scatter(t, operation, x, t.algebra.with_new_axis(t.operand(y), axis), axis, index, index + 1)


@rule("constant_pad_nd")
def _pad(t: ValueTranslator, operation: Operation, x: ValueTensor, sizes: list[Any], number: Any = 0) -> ValueTensor:
    """The last axis has the first two of the sizes, before and after it."""
    for k, (before, after) in enumerate(zip(plain(sizes)[::2], plain(sizes)[1::2], strict=True)):
        axis = x.dim - 1 - k
        for count, front in ((before, True), (after, False)):
            if count < 0:
                raise NotAProgramError("a padding below 0")
            if count:
                shape = t.algebra.shape(x)
                shape[axis] = count
                more = t.filled(shape, float(number))
                x = t.algebra.cat([more, x] if front else [x, more], axis)
    return x


@rule("index_put")
def _index_put(
    t: ValueTranslator, operation: Operation, x: Any, index: list[Any], y: Any, accumulate: bool = False
) -> Any:
    """One number where a mask holds."""
    if len(index) != 1 or not isinstance(index[0], ValueTensor) or accumulate:
        raise NotAProgramError("advanced indexing")
    mask = index[0]
    y = t.operand(y)
    if any(entry.kind != "truth" for entry in mask.entries.flat) or y.dim:
        raise NotAProgramError("advanced indexing")
    x = t.operand(x)
    for _ in range(x.dim - mask.dim):
        mask = t.algebra.with_new_axis(mask, mask.dim)
    return t.elementwise(lambda a, m, b: v.where(m, b, a), x, mask, y)


@rule("index", "index_select", "gather")
def _index(t: ValueTranslator, operation: Operation, *given: Any, **options: Any) -> Any:
    raise NotAProgramError("advanced indexing")


# ---------------------------------------------------------------------------------------------------------------------
# New tensors.


@rule(
    "zero", "zeros", "zeros_like", "new_zeros", "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided"
)
def _zeros(t: ValueTranslator, operation: Operation, *given: Any, **options: Any) -> ValueTensor:
    return t.filled(operation.results[0].shape, _number_as(0, operation))


@rule("ones", "ones_like", "new_ones")
def _ones(t: ValueTranslator, operation: Operation, *given: Any, **options: Any) -> ValueTensor:
    return t.filled(operation.results[0].shape, _number_as(1, operation))


@rule("full", "full_like", "new_full", "scalar_tensor", "fill")
def _full(t: ValueTranslator, operation: Operation, *given: Any, **options: Any) -> ValueTensor:
    number = given[{"new_full": 2, "scalar_tensor": 0}.get(operation.name, 1)]
    zeros = t.filled(operation.results[0].shape, _number_as(0, operation))
    if isinstance(number, int | float):
        return t.filled(operation.results[0].shape, _number_as(number, operation))
    as_float = operation.results[0].dtype.is_floating_point
    return t.elementwise(lambda a, b: v.as_float(b) if as_float else b, zeros, number)


@rule("arange")
def _arange(t: ValueTranslator, operation: Operation, *given: Any, **options: Any) -> ValueTensor:
    """The positions of a mailbox, or plain numbers."""
    (size,) = operation.results[0].shape
    axis = t.algebra.axis_of(size)
    as_float = operation.results[0].dtype.is_floating_point
    start = given[0] if len(given) > 1 else 0
    step = given[2] if len(given) > 2 else 1
    if axis == (MAILBOX,) and all(isinstance(number, int | float if as_float else int) for number in (start, step)):
        position = v.as_float(v.POSITION) if as_float else v.POSITION
        start, step = (constant(float(number) if as_float else number) for number in (start, step))
        entries = np.empty(1, object)
        entries[0] = v.add(v.multiply(position, step), start)
        return ValueTensor(entries, [axis])
    if any(isinstance(part, str) for part in axis):
        raise NotAProgramError("arange over nodes or messages")
    numbers = operation.results[0].tolist()
    entries = np.empty(size, object)
    entries[:] = [constant(number) for number in numbers]
    return ValueTensor(entries, [axis])


def _number_as(number: float | int | bool, operation: Operation) -> float | int | bool:
    kind = kind_of(operation.results[0].dtype)
    if kind == "truth":
        return bool(number)
    return int(number) if kind == "whole" else float(number)


# ---------------------------------------------------------------------------------------------------------------------
# Sums, means, extremes.


def _axes(given: Any) -> list[int] | None:
    """Axes as a list; None for all of them."""
    if given is None or given == []:
        return None
    return [given] if isinstance(given, int) else list(given)


@rule("sum")
def _sum(
    t: ValueTranslator, operation: Operation, x: ValueTensor, axes: Any = None, keep: bool = False, **_: Any
) -> Any:
    if any(entry.kind == "truth" for entry in x.entries.flat):
        x = t.elementwise(lambda a: v.where(a, constant(1), constant(0)), x)
    return t.algebra.folds(x, _axes(axes), keep, "sum")


@rule("mean")
def _mean(
    t: ValueTranslator, operation: Operation, x: ValueTensor, axes: Any = None, keep: bool = False, **_: Any
) -> Any:
    return _mean_along(t, x, _axes(axes), keep)


def _detached(t: ValueTranslator, x: ValueTensor) -> ValueTensor:
    """Numbers without a gradient: subtracted before ``exp``, they change no result and keep it finite."""
    return t.elementwise(lambda a: v.value("detach", a), x)


def _inverse_root(t: ValueTranslator, x: Any, eps: float) -> ValueTensor:
    """``1 / sqrt(x + eps)``"""

    def of(a: Value) -> Value:
        return v.divide(v.ONE, v.unary("sqrt", v.add(a, constant(float(eps)))))

    return t.elementwise(of, x)


def _deviations(t: ValueTranslator, x: ValueTensor, axes: list[int] | None) -> tuple[ValueTensor, Value]:
    """What is left of numbers without their mean, and how many the mean is of."""
    mean = _mean_along(t, x, axes, keep=True)
    return t.elementwise(v.subtract, x, mean), t.algebra.count_along(x, axes)


def _mean_along(t: ValueTranslator, x: ValueTensor, axes: list[int] | None, keep: bool) -> ValueTensor:
    count = t.algebra.count_along(x, axes)
    total = t.algebra.folds(x, axes, keep, "sum")
    return t.elementwise(lambda a: v.divide(a, count), total)


@rule("var", "std")
def _variance(
    t: ValueTranslator,
    operation: Operation,
    x: ValueTensor,
    axes: Any = None,
    correction: Any = 1,
    keepdim: bool = False,
) -> ValueTensor:
    rest, count = _deviations(t, x, _axes(axes))
    squares = t.elementwise(v.multiply, rest, rest)
    divisor = v.subtract(count, constant(1 if correction is None else correction))
    total = t.algebra.folds(squares, _axes(axes), keepdim, "sum")
    variance = t.elementwise(lambda a: v.divide(a, divisor), total)
    return variance if operation.name == "var" else t.elementwise(lambda a: v.unary("sqrt", a), variance)


@rule("linalg_vector_norm")
def _norm(
    t: ValueTranslator,
    operation: Operation,
    x: ValueTensor,
    order: Any = 2,
    axes: Any = None,
    keep: bool = False,
    **_: Any,
) -> ValueTensor:
    if order == 1:
        sizes = t.elementwise(lambda a: v.value("absolute", a), x)
        return t.algebra.folds(sizes, _axes(axes), keep, "sum")
    if order != 2:
        raise NotAProgramError(f"a norm of order {order}")
    squares = t.elementwise(v.multiply, x, x)
    total = t.algebra.folds(squares, _axes(axes), keep, "sum")
    return t.elementwise(lambda a: v.unary("norm", a), total)


@rule("max", "min")
def _first_extreme(
    t: ValueTranslator, operation: Operation, x: ValueTensor, axis: Any = None, keep: bool = False
) -> list[ValueTensor]:
    """Along one axis; the gradient goes to the first extreme."""
    if axis is None:
        raise NotAProgramError(f"{operation.name} over all numbers")
    name = "largest" if operation.name == "max" else "smallest"
    return [t.algebra.folds(x, [axis], keep, name)] * 2


@rule("amax", "amin")
def _shared_extreme(
    t: ValueTranslator, operation: Operation, x: ValueTensor, axes: Any = None, keep: bool = False
) -> Any:
    """Extremes that are equal share the gradient: a sum of those that are equal to the extreme, by their number."""
    name = "largest" if operation.name == "amax" else "smallest"
    extreme = _detached(t, t.algebra.folds(x, _axes(axes), True, name))
    at = t.elementwise(lambda a, b: v.compare("equal", a, b), x, extreme)
    kept = t.elementwise(lambda m, a: v.where(m, a, v.ZERO), at, x)
    ones = t.elementwise(lambda m: v.where(m, v.ONE, v.ZERO), at)
    total = t.algebra.folds(kept, _axes(axes), True, "sum")
    count = t.algebra.folds(ones, _axes(axes), True, "sum")
    # the sum has the gradient, the extreme the value: exactly, and where it is NaN or infinite
    shared = t.elementwise(lambda e, s, c: v.value("value_of", e, v.divide(s, c)), extreme, total, count)
    if keep:
        return shared
    chosen = {axis % x.dim for axis in _axes(axes) or range(x.dim)}
    for axis in sorted(chosen, reverse=True):
        shared = t.algebra.without_axis(shared, axis)
    return shared


@rule("_softmax", "_safe_softmax")
def _softmax(t: ValueTranslator, operation: Operation, x: ValueTensor, axis: int, half: bool = False) -> ValueTensor:
    largest = _detached(t, t.algebra.fold(x, axis % x.dim, "largest"))
    powers = t.elementwise(lambda a, m: v.unary("exp", v.subtract(a, m)), x, largest)
    return t.elementwise(v.divide, powers, t.algebra.fold(powers, axis % x.dim, "sum"))


@rule("logsumexp")
def _logsumexp(t: ValueTranslator, operation: Operation, x: ValueTensor, axes: Any, keep: bool = False) -> ValueTensor:
    [axis] = [axis % x.dim for axis in _axes(axes) or ()]
    largest = _detached(t, t.algebra.fold(x, axis, "largest"))
    powers = t.elementwise(lambda a, m: v.unary("exp", v.subtract(a, m)), x, largest)
    total = t.algebra.fold(powers, axis, "sum")
    found = t.elementwise(lambda s, m: v.add(v.unary("log", s), m), total, largest)
    return found if keep else t.algebra.without_axis(found, axis)


@rule("_log_softmax")
def _log_softmax(
    t: ValueTranslator, operation: Operation, x: ValueTensor, axis: int, half: bool = False
) -> ValueTensor:
    return t.elementwise(v.subtract, x, _logsumexp(t, operation, x, [axis], True))


# ---------------------------------------------------------------------------------------------------------------------
# Products.


@rule("mm", "matmul")
def _mm(t: ValueTranslator, operation: Operation, x: Any, y: Any) -> ValueTensor:
    if isinstance(x, ValueTensor) and isinstance(y, Held):
        return t.product(x, y)
    if isinstance(x, Held) and isinstance(y, ValueTensor):
        turned = t.product(t.algebra.permute(y, [1, 0]), t.hoist(torch.t, x))
        return t.algebra.permute(turned, [1, 0])
    raise NotAProgramError("a matrix product of two tensors of states")


@rule("addmm")
def _addmm(t: ValueTranslator, operation: Operation, bias: Any, x: Any, y: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    return _added(t, bias, _mm(t, operation, x, y), beta, alpha)


def _added(t: ValueTranslator, bias: Any, product: ValueTensor, beta: Any, alpha: Any) -> ValueTensor:
    if (beta, alpha) != (1, 1):
        raise NotAProgramError("a matrix product with alpha or beta other than 1")
    return t.elementwise(v.add, product, bias)


@rule("linear")
def _linear(t: ValueTranslator, operation: Operation, x: Any, weight: Any, bias: Any = None) -> ValueTensor:
    if not isinstance(x, ValueTensor) or not isinstance(weight, Held):
        raise NotAProgramError("a matrix product of two tensors of states")
    product = t.product(x, t.hoist(torch.t, weight))
    return product if bias is None else _added(t, bias, product, 1, 1)


@rule("mv", "dot")
def _mv(t: ValueTranslator, operation: Operation, x: Any, y: Any) -> ValueTensor:
    """A sum of products along the last axis."""
    products = t.elementwise(v.multiply, x, y)
    return t.algebra.folds(products, [products.dim - 1], False, "sum")


@rule("addmv")
def _addmv(t: ValueTranslator, operation: Operation, bias: Any, x: Any, y: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    return _added(t, bias, _mv(t, operation, x, y), beta, alpha)


@rule("bmm")
def _bmm(t: ValueTranslator, operation: Operation, x: Any, y: Any) -> ValueTensor:
    if isinstance(x, ValueTensor) and isinstance(y, Held):
        return _bmm_held(t, x, y)
    if isinstance(x, Held) and isinstance(y, ValueTensor):
        turned = _bmm_held(t, t.algebra.permute(y, [0, 2, 1]), t.hoist(torch.transpose, x, 1, 2))
        return t.algebra.permute(turned, [0, 2, 1])
    return _contract(t, x, y)


def _bmm_held(t: ValueTranslator, x: ValueTensor, y: Held) -> ValueTensor:
    """(B, i, j) by a held (B, j, k), a product for each of B."""
    count = y.tensor.shape[0]
    if any(isinstance(part, str) for part in x.axes[0]):
        if bool((y.tensor == y.tensor[:1]).all()) and y.tensor.stride(0) == 0:  # one matrix, expanded
            return t.product(x, t.hoist(torch.select, y, 0, 0))
        raise NotAProgramError("a different constant matrix for each node")
    products = []
    for index in range(count):
        part = t.algebra.without_axis(t.algebra.narrow(x, 0, index, index + 1), 0)
        product = t.product(part, t.hoist(torch.select, y, 0, index))
        products.append(t.algebra.with_new_axis(product, 0))
    return t.algebra.cat(products, 0)


def _contract(t: ValueTranslator, x: ValueTensor, y: ValueTensor) -> ValueTensor:
    """(B, i, j) by (B, j, k) of values."""
    left = t.algebra.with_new_axis(x, 3)
    right = t.algebra.with_new_axis(y, 1)
    products = t.elementwise(v.multiply, left, right)
    return t.algebra.folds(products, [2], False, "sum")


@rule("baddbmm")
def _baddbmm(t: ValueTranslator, operation: Operation, bias: Any, x: Any, y: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    return _added(t, bias, _bmm(t, operation, x, y), beta, alpha)


# ---------------------------------------------------------------------------------------------------------------------
# Layers.


@rule("native_layer_norm")
def _layer_norm(
    t: ValueTranslator, operation: Operation, x: ValueTensor, shape: list[int], weight: Any, bias: Any, eps: float
) -> list[ValueTensor]:
    axes = list(range(x.dim - len(shape), x.dim))
    rest, count = _deviations(t, x, axes)
    squares = t.elementwise(v.multiply, rest, rest)
    total = t.algebra.folds(squares, axes, True, "sum")
    variance = t.elementwise(lambda a: v.divide(a, count), total)
    scale = _inverse_root(t, variance, eps)
    normal = t.elementwise(v.multiply, rest, scale)
    return [_affine(t, normal, weight, bias), scale, scale]


def _affine(t: ValueTranslator, x: ValueTensor, weight: Any, bias: Any) -> ValueTensor:
    if weight is not None:
        x = t.elementwise(v.multiply, x, weight)
    if bias is not None:
        x = t.elementwise(v.add, x, bias)
    return x


@rule("_native_batch_norm_legit_no_training", "native_batch_norm", "_native_batch_norm_legit")
def _batch_norm(t: ValueTranslator, operation: Operation, x: ValueTensor, *given: Any) -> list[ValueTensor]:
    """In evaluation: (rows, columns, ...)."""
    weight, bias, mean, variance, *more, eps = given
    is_evaluation = operation.name == "_native_batch_norm_legit_no_training"
    if not is_evaluation and (operation.name != "native_batch_norm" or more[0]):
        raise NotAProgramError("BatchNorm in training takes a mean over the nodes of a frontier")
    if x.dim != 2:
        raise NotAProgramError("BatchNorm over more than one axis")
    rest = t.elementwise(v.subtract, x, mean)
    normal = t.elementwise(v.multiply, rest, _inverse_root(t, variance, eps))
    return [_affine(t, normal, weight, bias)] * 3


@rule("embedding")
def _embedding(
    t: ValueTranslator, operation: Operation, table: Any, index: Any, padding: int = -1, *_: Any
) -> ValueTensor:
    if not isinstance(table, Held) or not isinstance(index, ValueTensor):
        raise NotAProgramError("an embedding whose table is computed")
    if not len(table.tensor):
        raise NotAProgramError("an embedding without rows")
    number = t.hold(table)
    width = table.tensor.shape[1]
    if index.columns_at is not None:
        index = t.algebra.as_numbers(index)

    def row(at: Value) -> Value:
        found = v.look_up(at, number, 0, width)
        if padding < 0:
            return found
        return v.where(v.compare("equal", at, constant(padding)), v.value("detach", found), found)

    entries = of_each(row, index.entries)
    return ValueTensor(entries[..., None], [*index.axes, COLUMNS], (width,))


@rule("bernoulli")
def _bernoulli(
    t: ValueTranslator, operation: Operation, x: Any, probability: Any = None, **options: Any
) -> ValueTensor:
    probability = options.get("p", probability)
    if not isinstance(x, ValueTensor) or not isinstance(probability, float):
        raise NotAProgramError("random numbers whose probability is computed")
    if x.columns_at not in (None, x.dim - 1):
        raise NotAProgramError("random numbers along a dimension other than the last")
    parts = [part for axis in x.axes if axis is not COLUMNS for part in axis]
    space = Space.EDGE if MAILBOX in parts else Space.NODE
    widths = x.widths or (1,)
    width = sum(widths)
    count = prod(part for part in parts if isinstance(part, int))
    number = len(t.masks)
    t.masks.append(Mask(space, probability, count, width))
    begins = np.cumsum((0, *widths)).tolist()
    entries = np.empty((count, len(widths)), object)
    for part, segment in np.ndindex(entries.shape):
        place = Location("mask", number, part)
        entries[part, segment] = v.load(space, widths[segment], place, begins[segment])
    return ValueTensor(entries.reshape(x.entries.shape), x.axes, x.widths)


@rule("native_dropout", "rand_like", "randn_like", "rand", "randn", "uniform", "normal", "randint", "multinomial")
def _random(t: ValueTranslator, operation: Operation, *given: Any, **options: Any) -> Any:
    raise NotAProgramError(f"random numbers of {operation.name}")


@rule("sort", "topk", "argsort", "cumsum", "cumprod", "prod", "argmax", "argmin", "median", "kthvalue")
def _across(t: ValueTranslator, operation: Operation, *given: Any, **options: Any) -> Any:
    raise NotAProgramError(f"{operation.name} compares or accumulates along an axis")
