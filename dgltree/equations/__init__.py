"""Ranking, verification and numeric truth of equations, and the models for them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dgltree.equations.pretrained.fillers import shipped_fillers
    from dgltree.equations.pretrained.published import load_published
    from dgltree.equations.pretrained.shipped import listops_model, logic_model, open_model
    from dgltree.equations.ranking.ranker import Ranker, Ranking, rank
    from dgltree.equations.truth.evaluator import Evaluator, Truth, numeric_truth

_MODULES = {
    "Evaluator": "truth.evaluator",
    "Ranker": "ranking.ranker",
    "Ranking": "ranking.ranker",
    "Truth": "truth.evaluator",
    "listops_model": "pretrained.shipped",
    "load_published": "pretrained.published",
    "logic_model": "pretrained.shipped",
    "numeric_truth": "truth.evaluator",
    "open_model": "pretrained.shipped",
    "rank": "ranking.ranker",
    "shipped_fillers": "pretrained.fillers",
}
"""Where each name is from. It is imported when it is first asked for: a judge of equations needs no torch."""

__all__ = [
    "Evaluator",
    "Ranker",
    "Ranking",
    "Truth",
    "listops_model",
    "load_published",
    "logic_model",
    "numeric_truth",
    "open_model",
    "rank",
    "shipped_fillers",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
