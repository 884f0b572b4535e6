"""The bridge: fillers ranked by a network, ``dgltree.complete``, and the models that come with the package."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dgltree.ranking.function_ranker import FunctionRanker
    from dgltree.ranking.pretrained import listops_model, load_published, logic_model, open_model
    from dgltree.ranking.pretrained_files import shipped_fillers
    from dgltree.ranking.ranker import Ranker, Ranking, rank

_MODULES = {
    "FunctionRanker": "function_ranker",
    "Ranker": "ranker",
    "Ranking": "ranker",
    "listops_model": "pretrained",
    "load_published": "pretrained",
    "logic_model": "pretrained",
    "open_model": "pretrained",
    "rank": "ranker",
    "shipped_fillers": "pretrained_files",
}
"""Where each name is from. It is imported when it is first asked for: most equations are answered without torch."""

__all__ = [
    "FunctionRanker",
    "Ranker",
    "Ranking",
    "listops_model",
    "load_published",
    "logic_model",
    "open_model",
    "rank",
    "shipped_fillers",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
