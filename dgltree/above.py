"""Calls of lower packages into higher ones, by names that the package's root registers."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

_ABOVE: dict[str, str] = {}


def register(modules: Mapping[str, str]) -> None:
    """Names, and the modules that define them."""
    _ABOVE.update(modules)


def from_above(name: str) -> Any:
    """The object of a registered name; its module is imported now."""
    return getattr(import_module(_ABOVE[name]), name)
