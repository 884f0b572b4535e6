"""Paths of a command line, looked at before what takes seconds is imported. Each raises an error of one line."""

import os
from pathlib import Path

from dgltree.files import check_exists

STDIN = "-"


def check_input(path: str | None, advice: str = "") -> None:
    """``FileNotFoundError`` for a file that does not exist; ``advice`` ends its message."""
    if path is None or path == STDIN:
        return
    try:
        check_exists(path)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{error}{advice}") from None


def check_cell(text: str | None) -> None:
    """``FileNotFoundError`` if the file of ``FILE.py:CLASS`` is not there."""
    if text and text.rpartition(":")[0]:
        check_exists(text.rpartition(":")[0])


def check_output_folder(path: str | Path | None) -> None:
    """``NotADirectoryError`` for the path of a file, or one below it: a missing folder is made."""
    if path is None:
        return
    for each in (Path(path), *Path(path).parents):
        if os.path.lexists(each):
            if not each.is_dir():
                raise NotADirectoryError(f"{each} is a file; the output goes to a folder")
            return


def check_output_file(path: str | Path | None) -> None:
    """``FileNotFoundError`` if the folder of the file is not there, ``IsADirectoryError`` if the path is a folder."""
    if path is None:
        return
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder; the output goes to a file")
    if not Path(path).parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {Path(path).parent}")
