"""The files of a model belong together: their names, and the digests by which a folder that mixes them is refused.

They are known without what takes seconds to import.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dgltree.support.files import replacing

WEIGHTS, READING = "model.safetensors", "reading.json"
BASELINE = "baseline.skops"
"""Next to the weights if the answers are averages with those of a baseline."""
THRESHOLD = "threshold.json"
"""Next to them if a class is predicted from a probability of its own on."""
LARGEST_CLASS = "largest_class.json"
"""Next to them, of a model of classes: the class that most training examples have, and whether one has few."""
FEATURES = "features.json"
"""Next to them, of a model that reads columns next to the trees: their scales and categories."""
CONTEXT = "context.safetensors"
"""Next to them, of a model that learnt no labels: the weights of the way down."""
FURTHER = (BASELINE, THRESHOLD, LARGEST_CLASS, FEATURES, CONTEXT)
"""The files that a model may have next to its weights."""
DIGESTS = "files"
"""In ``READING``: the digest of each other file of the model."""
SETTINGS_FILE = "fit.json"
"""Which a training writes when it begins."""


UNLABELLED = "embedding.json"
"""File in the folder of ``dgltree embed`` that says what its training is of."""


def check_model(folder: str | Path, command: str = "fit") -> None:
    """``FileNotFoundError`` for a folder without a model; the message names the command that writes such a folder."""
    folder = Path(folder)
    begun = (folder / SETTINGS_FILE).exists()
    for name in (WEIGHTS, READING):
        if begun and not (folder / name).exists():
            raise FileNotFoundError(
                f"{folder}: this folder contains no model yet; its training is in the first epoch, or was stopped "
                "there. The same 'dgltree fit' command continues the training"
            )
        if not (folder / name).exists():
            raise FileNotFoundError(
                f"{folder}: there is no {name} in this folder; give the folder that 'dgltree {command} --out' wrote"
            )


def write_reading(folder: Path, reading: Mapping[str, Any]) -> None:
    """Write how trees are read, with the digests of the model's other files, which are written before."""
    with replacing(folder / READING) as beside:
        beside.write_text(json.dumps({**reading, DIGESTS: _digests(folder)}, indent=1) + "\n", encoding="utf-8")


def read_reading(folder: Path) -> dict[str, Any]:
    """The way of reading that :func:`write_reading` wrote.

    Raises ``ValueError`` for a damaged file, and if the folder lacks one of the model's other files, has one of another
    model, or one that was changed: its answers would be different without a word.
    """
    file = folder / READING
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: {error}") from None
    saved = found.pop(DIGESTS, None) if isinstance(found, dict) else None
    if not isinstance(saved, dict):
        raise ValueError(
            f"{file}: the digests of the model's other files are missing; copy this file again, or train again"
        )
    digests = _digests(folder)
    for name in (WEIGHTS, *FURTHER):
        if saved.get(name) != digests.get(name):
            what = "was not saved with the other files of the model" if name in digests else "is missing"
            raise ValueError(f"{folder / name}: {what}; copy all files of one model together, or train again")
    return found


def _digests(folder: Path) -> dict[str, str]:
    digests = {}
    for name in (WEIGHTS, *FURTHER):
        if (folder / name).exists():
            with (folder / name).open("rb") as file:
                digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def check_answers(folder: str | Path) -> None:
    """:func:`check_model`, and ``ValueError`` for the folder of a model that learnt no labels."""
    check_model(folder)
    if (Path(folder) / UNLABELLED).exists():
        raise ValueError(
            f"{folder}: a model of 'dgltree embed' has no labels to predict; use encode or similar, or fit a model"
        )
