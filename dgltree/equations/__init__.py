"""Equations: what people type, where they hold and why, what fills a blank, marks. No torch, no network."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dgltree.equations.truth.evaluator import Evaluator, Truth, numeric_truth

_MODULES = {
    "Evaluator": "truth.evaluator",
    "Truth": "truth.evaluator",
    "numeric_truth": "truth.evaluator",
}
"""Where each name is from. It is imported when it is first asked for."""

__all__ = ["Evaluator", "Truth", "numeric_truth"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
