"""Labelled trees of files: settings, formats, loading, splits, batches.

Names are imported when they are used: the settings of a reader are checked before torch is imported.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dgltree.datasets.batches import UNSEEN, Collate, Graphs, NodeBatches, label_numbers
    from dgltree.datasets.formats import Bad
    from dgltree.datasets.settings import Reading
    from dgltree.datasets.splitting import split
    from dgltree.datasets.tree_dataset import TreeDataset

__all__ = ["UNSEEN", "Bad", "Collate", "Graphs", "NodeBatches", "Reading", "TreeDataset", "label_numbers", "split"]
_MODULES = {
    **dict.fromkeys(("UNSEEN", "Collate", "Graphs", "NodeBatches", "label_numbers"), "batches"),
    "Bad": "formats",
    "Reading": "settings",
    "split": "splitting",
    "TreeDataset": "tree_dataset",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"dgltree.datasets.{_MODULES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"Any", "TYPE_CHECKING", "import_module"})
