"""Factorials and binomial coefficients, of any numbers by the gamma function: n! is gamma(n + 1)."""

from typing import Any

import numpy as np
from flint import acb, fmpq, fmpz

Array = np.ndarray[Any, np.dtype[Any]]

MAX_FACTORIAL = 500
"""The largest factorial, and the largest number below, that are multiplied out."""


def factorial(n: Any) -> Any:
    """Of a ball or a rational. Exact for whole numbers up to ``MOST``; None for negative ones, which are poles."""
    if isinstance(n, fmpq) and n.q == 1:
        if n < 0:
            return None
        if n <= MAX_FACTORIAL:
            return fmpq(fmpz.fac_ui(n.p))
    return (acb(n) + 1).gamma()


def binomial(n: Any, k: Any) -> Any:
    """Of balls or rationals. n (n - 1) ... (n - k + 1) / k! for a whole k from 0, and 0 for one below.

    For other k it is n! / (k! (n - k)!), None if one of these has no value.
    """
    if isinstance(k, fmpq) and k.q == 1 and k <= MAX_FACTORIAL:
        return _falling(n, int(k.p))
    rest = n - k if isinstance(n, fmpq) and isinstance(k, fmpq) else acb(n) - acb(k)
    parts = [factorial(part) for part in (n, k, rest)]
    if None in parts:
        return None
    above, *below = map(acb, parts)
    return above / (below[0] * below[1])


def _falling(n: Any, k: int) -> Any:
    if k < 0:
        return fmpq(0)
    found = fmpq(1) if isinstance(n, fmpq) else acb(1)
    for step in range(k):
        found = found * (n - step) / (step + 1)
    return found


def float_factorial(n: Array) -> Array:
    """Of floating-point numbers (...)."""
    from scipy.special import gamma  # takes a moment, and few equations need it

    found: Array = gamma(n + 1)
    return found


def float_binomial(n: Array, k: Array) -> Array:
    """Of floating-point numbers (...)."""
    below: Array = float_factorial(k) * float_factorial(n - k)
    return np.where(np.isnan(below), np.nan, float_factorial(n) / below)


def growth(n: Array) -> Array:
    """How fast n! grows where n does, relative to n!: the digamma function of n + 1."""
    from scipy.special import psi

    found: Array = np.abs(psi(n + 1))
    return found
