"""Cells of your own: a class, or a file that has it."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from dgltree.cells import CELLS, Cell

PREFIX = "dgltree_own_cells_"
"""Prefix of the modules that files become; nothing but this process can import them."""


def register(cell: type[Cell] | str) -> str:
    """The name by which the encoder of a class is known from now on, that of the class.

    Args:
        cell: the class, or ``FILE.py:CLASS``, whose file is run: give files that you trust.

    Raises ``FileNotFoundError``, and ``ValueError`` for what is no such class and for a name that a cell of ours has.
    """
    found = _loaded(cell) if isinstance(cell, str) else cell
    if not (isinstance(found, type) and issubclass(found, Cell)):
        raise ValueError(f"{cell} is not a cell class; derive it from dgltree.cells.Cell or SumCell")
    name = found.__name__
    if name in CELLS and CELLS[name].__module__ != found.__module__:
        raise ValueError(f"another cell is already called {name!r}; give the class another name")
    CELLS[name] = found
    return name


def modules() -> list[ModuleType]:
    """The files that were run, as modules."""
    return [module for name, module in sys.modules.items() if name.startswith(PREFIX)]


def _loaded(text: str) -> object:
    path, colon, name = text.rpartition(":")
    if not colon or not path.endswith(".py"):
        raise ValueError(f"cell is {text!r}; expected FILE.py:CLASS, such as my_cells.py:TreeGRU")
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such file")
    module_name = f"{PREFIX}{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # dataclasses in it look themselves up there
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise ValueError(f"{path}: there is no class {name!r} in this file")
    return getattr(module, name)
