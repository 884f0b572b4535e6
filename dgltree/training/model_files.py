"""The files without which a folder has no model, known without what takes seconds to import."""

from pathlib import Path

WEIGHTS, READING = "model.safetensors", "reading.json"
SETTINGS_FILE = "fit.json"
"""Which a training writes when it begins."""


UNLABELLED = "embedding.json"
"""Of the folder of ``dgltree embed``: what its training is of."""


def check_model(folder: str | Path, command: str = "fit") -> None:
    """``FileNotFoundError`` for a folder without a model; the message names the command that writes such a folder."""
    folder = Path(folder)
    begun = (folder / SETTINGS_FILE).exists()
    for name in (WEIGHTS, READING):
        if begun and not (folder / name).exists():
            raise FileNotFoundError(
                f"{folder}: no model in it yet; its training is in its first epoch or was stopped there, and the same "
                f"'dgltree fit' "
                "command continues it"
            )
        if not (folder / name).exists():
            raise FileNotFoundError(f"{folder}: no {name} in it; give the folder that 'dgltree {command} --out' wrote")


def check_answers(folder: str | Path) -> None:
    """:func:`check_model`, and ``ValueError`` for the folder of a model that learnt no labels."""
    check_model(folder)
    if (Path(folder) / UNLABELLED).exists():
        raise ValueError(f"{folder}: 'dgltree embed' made it without labels; use encode or similar, or fit a model")
