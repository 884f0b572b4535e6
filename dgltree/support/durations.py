"""Durations as people read them."""

from decimal import Decimal


def in_seconds(duration: float) -> str:
    """A duration in seconds as text, with two or three digits that mean something, without an exponent.

    Whole seconds from 100 on, tenths from 1 on, and below that two true digits, however short: ``4322``, ``12.3``,
    ``1.6``, ``0.14``, ``0.0042``. More digits differ from one run to the next.
    """
    if duration >= 1:
        return f"{duration:.0f}" if duration >= 100 else f"{duration:.1f}"
    return f"{duration:.2f}" if duration >= 0.1 else f"{Decimal(f'{duration:.2g}'):f}"
