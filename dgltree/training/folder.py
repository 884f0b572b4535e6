"""The folder of a training: its files, whose it is, and whether it is done."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.read.json_text import write_json
from dgltree.support.arguments import LabelScaleName
from dgltree.support.files import differences, replacing
from dgltree.training.model_files import SETTINGS_FILE, UNLABELLED, WEIGHTS
from dgltree.training.options import MOST_EPOCHS, FitOptions

EPOCHS, CARD = "epochs.jsonl", "card.json"
"""A training writes a row of the first after each epoch, and the second when it is done."""
SPLIT_FILE, SPLIT = "split.tsv", "split"
"""Which example is in which split; and in the settings of a training by which rule and seed."""
TRAINED_ON = "trained_on.npy"
"""Digests of the trees of the training set."""
CHOSEN_AT_THE_END = ("threshold", "baseline", "no_baseline")
"""Settings that change no epoch."""
GIVEN_UP = "given_up"
"""In the first: the training cannot continue, because its loss was no finite number."""


def is_finished(folder: Path, options: FitOptions, digest: str, split: Mapping[str, Any] | None = None) -> bool:
    """Whether this training is done; else the folder is claimed for it, or it continues.

    ``split`` says how the splits were made, for those who continue it; what they are the digest says.

    A finished training continues if more epochs or more time are asked for, or another threshold or baseline, which are
    chosen at its end: its card is removed until it is done again.
    Raises ``ValueError`` if the folder holds another training, unless that had learnt nothing yet or was given up.
    """
    check_labelled(folder)
    file = folder / SETTINGS_FILE
    settings = {"options": options.identity(), "data": digest}
    found = _read(file) if file.exists() else None
    how = found.pop(SPLIT, None) if found is not None else None
    given_up = found is not None and found.pop(GIVEN_UP, False)
    if given_up and found != settings:
        for left in (*folder.glob("*.ckpt"), folder / EPOCHS, folder / WEIGHTS):
            left.unlink(missing_ok=True)  # another process of the training may have been faster
    if found is None or given_up or (found != settings and not _learnt(folder)):  # what continues is no longer given up
        folder.mkdir(parents=True, exist_ok=True)  # the process that owns it may be slower
        if how and found == settings:
            split = how
        with_split = settings if split is None and how is None else {**settings, SPLIT: split}
        write(file, write_json(with_split, indent=1) + "\n")
        return False
    if found != settings:
        raise ValueError(f"{folder} holds another training run ({_other(found, settings)}); give another --out")
    if not (folder / CARD).exists():
        return False
    before = _read(folder / CARD).get("options", {})
    most = before.get("epochs", 0) or MOST_EPOCHS
    same_end = all(getattr(options, name) == before.get(name) for name in CHOSEN_AT_THE_END)
    if same_end and options.most_epochs <= most and options.max_time == before.get("max_time"):
        return True
    (folder / CARD).unlink(missing_ok=True)  # another process of the training may have been faster
    return False


def check_labelled(folder: Path) -> None:
    """``ValueError`` for a folder with vectors that were learnt without labels."""
    if (folder / UNLABELLED).exists():
        raise ValueError(f"{folder} holds vectors of 'dgltree embed'; give another --out")


def scale_of(folder: Path, options: FitOptions, digest: str) -> LabelScaleName | None:
    """The scale of the labels that this training, which has begun in the folder, has chosen; None elsewhere."""
    file = folder / SETTINGS_FILE
    found = _read(file) if file.exists() else {}
    before = found.get("options", {})
    scale: LabelScaleName | None = before.get("label_scale")
    same = found.get("data") == digest and {**options.identity(), "label_scale": scale} == before
    return scale if same else None


def split_seed(folder: Path) -> int:
    """The seed of the split of a training."""
    found = _read(folder / SETTINGS_FILE) if (folder / SETTINGS_FILE).exists() else {}
    return int(found.get(SPLIT, found.get("options", {})).get("seed", 0))


def digest_of(splits: Mapping[str, TreeDataset]) -> str:
    """sha256 of all trees, labels, ids and groups, by their splits and in their order."""
    digest = hashlib.sha256()
    for name, data in splits.items():
        digest.update(f"{name} {data.own_vocabulary.to_json()} ".encode())
        digest.update(b"" if data.weights is None else data.weights.tobytes())
        if data.reading.features is not None:
            digest.update(f"{data.reading.features} {list(data.features)}".encode())
        if any(group is not None for group in data.groups):
            digest.update(f"groups {list(data.groups)} ".encode())
        for block in data.blocks():
            digest.update(f"{list(block.labels)} {list(block.ids)}".encode())
            trees = block.trees
            for tensor in (trees.function, trees.token, trees.child_ptr, trees.child_index, trees.label, trees.value):
                digest.update(b"none" if tensor is None else tensor.numpy().data)
    return digest.hexdigest()


def give_up(folder: Path) -> str:
    """Leave the folder of a training that cannot continue to the next command, and say what is in it."""
    file = folder / SETTINGS_FILE
    write(file, write_json(_read(file) | {GIVEN_UP: True}, indent=1) + "\n")
    has = "the best model of the earlier epochs" if (folder / EPOCHS).exists() else "no model"
    return f"stopped: {folder} contains {has}; a command with other settings starts over in this folder"


def read_interrupted_state(folder: Path) -> str:
    """The state that an interrupted training leaves, and how it continues."""
    if (folder / EPOCHS).exists():
        return f"stopped: {folder} contains the best model so far, and the same command continues the training"
    if (folder / WEIGHTS).exists():
        return (
            f"stopped in the first epoch: the model in {folder} is unfinished and was not validated; "
            "the same command starts over"
        )
    return f"stopped before the first training step: there is no model in {folder}; the same command starts over"


def read_epochs(folder: Path) -> list[dict[str, Any]]:
    """The reports of a training's epochs. Raises ``FileNotFoundError`` before the end of the first."""
    return [json.loads(line) for line in (folder / EPOCHS).read_text(encoding="utf-8").splitlines()]


def write(path: Path, text: str) -> None:
    """The whole file, or what was there before."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def _learnt(folder: Path) -> bool:
    return (folder / WEIGHTS).exists() or any(folder.glob("*.ckpt"))


def _read(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        raise ValueError(f"{file}: damaged; delete the folder to start again") from None
    return found


def _other(found: dict[str, Any], settings: dict[str, Any]) -> str:
    """The differences between a training and the one in the folder."""
    differ = differences(found.get("options", {}), settings["options"])
    names = [f"{name} {there}" for name, (there, _) in differ.items()]
    return ", ".join(names) or "other data"
