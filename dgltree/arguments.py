"""Checks of arguments, and the known names that are most like an unknown one."""

import difflib
from collections.abc import Iterable
from typing import Any, Literal, get_args, get_origin, get_type_hints

MAX_LISTED_NAMES = 40  # names that a message may list
SYNONYMS = {
    "learning_rate": "lr",
    "max_epochs": "epochs",
    "num_epochs": "epochs",
    "n_epochs": "epochs",
    "random_state": "seed",
    "n_jobs": "threads",
    "early_stopping": "patience",
    "hidden_dim": "hidden_size",
    "embedding_dim": "input_size",
    "gradient_clip_val": "clip",
    "fp16": "precision",
}
"""Names of options in other libraries, which share no letters with ours."""
KINDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", dict: "a mapping"}


def check_size(name: str, size: int) -> None:
    """``ValueError`` for what is not a whole number from 1."""
    if not isinstance(size, int) or size < 1:
        raise ValueError(f"{name} is {size!r}; it must be a whole number, 1 or more")


def check_dropout(dropout: float, name: str = "dropout") -> None:
    """``ValueError`` for what is not a probability below 1."""
    if not 0 <= dropout < 1:
        raise ValueError(f"{name} is {dropout}; it must be a probability from 0 to below 1")


def check_types(settings: Any) -> None:
    """``ValueError`` for a field of a dataclass that is not of its type: from Python or JSON it may be."""
    for name, hint in get_type_hints(type(settings)).items():
        value = getattr(settings, name)
        kinds = _alternatives(hint)
        if not any(_is_a(value, kind) for kind in kinds):
            raise ValueError(f"{name} is {value!r}; it must be {describe_kind(hint)}")


def describe_kind(hint: Any) -> str:
    """``a whole number``: the values that a type has, in words."""
    return " or ".join(word for kind in _alternatives(hint) if kind is not type(None) for word in _words(kind))


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return (hint,) if get_origin(hint) in (None, Literal, dict) else get_args(hint)


def _is_a(value: Any, kind: Any) -> bool:
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else get_origin(kind) or kind)


def _words(kind: Any) -> list[str]:
    return [repr(each) for each in get_args(kind)] if get_origin(kind) is Literal else [KINDS[get_origin(kind) or kind]]


def nearest(name: str, known: Iterable[str]) -> str:
    """``nearest known: sin, sinh``: part of a message about an unknown ``name``; all of a few, if none is like it."""
    names = sorted(set(known))
    if SYNONYMS.get(name.lower()) in names:
        return f"nearest known: {SYNONYMS[name.lower()]}"
    near = difflib.get_close_matches(name.lower(), names)
    if not near and len(names) <= MAX_LISTED_NAMES:
        return f"known: {', '.join(names) or 'none'}"
    return f"nearest known: {', '.join(near or difflib.get_close_matches(name, names, cutoff=0.0))}"


def near(name: str, known: Iterable[str]) -> str:
    """``; nearest known: sin``: the end of a message that lists all known names, if one is like it; else nothing."""
    names = sorted(set(known))
    synonym = SYNONYMS.get(name.lower())
    found = [synonym] if synonym in names else difflib.get_close_matches(name.lower(), names)
    return f"; nearest known: {', '.join(map(str, found))}" if found else ""
