"""Real values by mpmath at 60 digits, of expressions as texts: an oracle that shares no code with the judge."""

import re
from collections.abc import Mapping
from typing import Any

import mpmath

mp = mpmath.mp.clone()
mp.dps = 60


class NotReal(Exception):  # noqa: N818 - no error: an outcome
    """A part that has no real value."""


def _real(function: Any) -> Any:
    def real(*arguments: Any) -> Any:
        try:
            value = function(*arguments)
        except (ZeroDivisionError, ValueError):
            raise NotReal from None
        if isinstance(value, mp.mpc):
            if abs(value.imag) > mp.mpf(10) ** -50 * (1 + abs(value)):
                raise NotReal
            value = value.real
        if not mp.isfinite(value):
            raise NotReal
        return value

    return real


def _log(x: Any, base: Any = None) -> Any:
    if x <= 0:
        raise NotReal
    return mp.log(x) if base is None else mp.log(x) / mp.log(base)


class Real:
    """A real number whose operations have real values, or raise ``NotReal``."""

    def __init__(self, value: Any) -> None:
        self.value = mp.mpf(value)

    def _other(self, other: Any) -> Any:
        return other.value if isinstance(other, Real) else mp.mpf(other)

    def __add__(self, other: Any) -> "Real":
        return Real(self.value + self._other(other))

    def __radd__(self, other: Any) -> "Real":
        return Real(self._other(other) + self.value)

    def __sub__(self, other: Any) -> "Real":
        return Real(self.value - self._other(other))

    def __rsub__(self, other: Any) -> "Real":
        return Real(self._other(other) - self.value)

    def __mul__(self, other: Any) -> "Real":
        return Real(self.value * self._other(other))

    def __rmul__(self, other: Any) -> "Real":
        return Real(self._other(other) * self.value)

    def __neg__(self) -> "Real":
        return Real(-self.value)

    def __truediv__(self, other: Any) -> "Real":
        below = self._other(other)
        if below == 0:
            raise NotReal
        return Real(self.value / below)

    def __rtruediv__(self, other: Any) -> "Real":
        return Real(other) / self

    def __pow__(self, other: Any) -> "Real":
        """The one domain: a positive base, 0 with a positive exponent, or a whole exponent."""
        base, exponent = self.value, self._other(other)
        if base == 0:
            if exponent > 0:
                return Real(0)
            raise NotReal
        if exponent == mp.floor(exponent) and abs(exponent) < 10**6:
            return Real(base ** int(exponent))
        if base < 0:
            raise NotReal
        return Real(_real(lambda a, b: mp.exp(b * mp.log(a)))(base, exponent))

    def __rpow__(self, other: Any) -> "Real":
        return Real(other) ** self


def _of_reals(function: Any) -> Any:
    def apply(*arguments: Any) -> Real:
        return Real(_real(function)(*(x.value if isinstance(x, Real) else mp.mpf(x) for x in arguments)))

    return apply


def _sqrt(x: Any) -> Any:
    if x < 0:
        raise NotReal
    return mp.sqrt(x)


def _within_one(function: Any) -> Any:
    def inverse(x: Any) -> Any:
        if abs(x) > 1 + mp.mpf(10) ** -50:
            raise NotReal
        return function(max(min(x, mp.mpf(1)), mp.mpf(-1)))

    return inverse


NAMES = {
    name: _of_reals(function)
    for name, function in {
        "sqrt": _sqrt,
        "log": _log,
        "abs": abs,
        "asin": _within_one(mp.asin),
        "acos": _within_one(mp.acos),
        **{name: getattr(mp, name) for name in ("exp", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh")},
    }.items()
}


def real_value(text: str, values: Mapping[str, Any]) -> Any:
    """The value of strict infix text as an ``mpf``; None where a part is not real."""
    if re.fullmatch(r"-?[0-9.]+e[-+]?[0-9]+", text):
        return mp.mpf(text)
    python = re.sub(r"(?<![\w.])(\d+)(?![\w.])", r"R(\1)", text.replace("^", "**"))
    scope = {**NAMES, "R": Real, "pi": Real(mp.pi), "e": Real(mp.e), **{name: Real(x) for name, x in values.items()}}
    try:
        found = eval(python, {"__builtins__": {}}, scope)
    except NotReal:
        return None
    return found.value if isinstance(found, Real) else mp.mpf(text)


def agree(left: Any, right: Any) -> bool:
    """Whether two values are both missing, or the same to 40 digits."""
    if left is None or right is None:
        return left is right
    return bool(abs(left - right) <= mp.mpf(10) ** -40 * (1 + abs(left) + abs(right)))
