"""The folder of a training: whose it is, and whether it is done."""

import json
from pathlib import Path
from typing import Any

from dgltree.files import replacing
from dgltree.read.json_text import write_json
from dgltree.training.options import FitOptions
from dgltree.training.trained import CARD, SETTINGS_FILE


def finished(folder: Path, options: FitOptions, digest: str) -> bool:
    """Whether this training is done; else the folder is claimed for it, or it goes on.

    One that is done goes on where more epochs or more time are asked for: its card is removed until it is done again.
    Raises ``ValueError`` where the folder holds another training.
    """
    file, settings = folder / SETTINGS_FILE, {"options": options.identity(), "data": digest}
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write(file, write_json(settings, indent=1) + "\n")
        return False
    found = _read(file)
    if found != settings:
        raise ValueError(f"{folder} holds another training ({_other(found, settings)}); give another --out")
    if not (folder / CARD).exists():
        return False
    before = _read(folder / CARD).get("options", {})
    if options.epochs <= before.get("epochs", 0) and options.max_time == before.get("max_time"):
        return True
    (folder / CARD).unlink()
    return False


def write(path: Path, text: str) -> None:
    """The whole file, or what was there before."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def _read(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        raise ValueError(f"{file}: damaged; delete the folder to start again") from None
    return found


def _other(found: dict[str, Any], settings: dict[str, Any]) -> str:
    """What of a training is not as in the one that the folder holds."""
    before, now = found.get("options", {}), settings["options"]
    names = [f"{name} {before.get(name)}" for name in now if before.get(name) != now[name]]
    return ", ".join(names) or "other data"
