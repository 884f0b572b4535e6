"""The files without which a folder has no model, known without what takes seconds to import."""

from pathlib import Path

WEIGHTS, READING = "model.safetensors", "reading.json"
SETTINGS_FILE = "fit.json"
"""Which a training writes when it begins."""


def check_model(folder: str | Path) -> None:
    """``FileNotFoundError`` for a folder without a model."""
    folder = Path(folder)
    begun = (folder / SETTINGS_FILE).exists()
    for name in (WEIGHTS, READING):
        if begun and not (folder / name).exists():
            raise FileNotFoundError(
                f"{folder}: no model in it yet; its training was stopped early, and the same 'dgltree fit' command "
                "continues it"
            )
        if not (folder / name).exists():
            raise FileNotFoundError(f"{folder}: no {name} in it; give the folder that 'dgltree fit --out' wrote")
