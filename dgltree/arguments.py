"""Checks of arguments, and the known names that are most like an unknown one."""

import difflib
from collections.abc import Iterable

FEW = 40  # names that a message may list


def check_size(name: str, size: int) -> None:
    """``ValueError`` for what is no whole number from 1."""
    if not isinstance(size, int) or size < 1:
        raise ValueError(f"{name} is {size!r}; it is a whole number, 1 or more")


def check_dropout(dropout: float) -> None:
    """``ValueError`` for what is no probability below 1."""
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout is {dropout}; it is a probability from 0 to below 1")


def nearest(name: str, known: Iterable[str]) -> str:
    """``nearest known: sin, sinh``: part of a message about an unknown ``name``; all of a few, if none is like it."""
    names = sorted(set(known))
    near = difflib.get_close_matches(name.lower(), names)
    if not near and len(names) <= FEW:
        return f"known: {', '.join(names) or 'none'}"
    return f"nearest known: {', '.join(near or difflib.get_close_matches(name, names, cutoff=0.0))}"
