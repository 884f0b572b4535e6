"""Checkpoints that are whole or not there, and that carry a digest: what was changed since is refused."""

import hashlib
import io
import pickle
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins.io import TorchCheckpointIO
from lightning.fabric.utilities.types import _PATH
from lightning.pytorch.callbacks import ModelCheckpoint

from dgltree.files import replacing

BEST, LAST = "best.ckpt", "last.ckpt"
MARK = b"\ndgltree sha256 "
"""The digest comes after it, at the end of the file: ``torch.load`` reads the archive before it and no further."""
TAIL = len(MARK) + 64


class WholeCheckpoints(TorchCheckpointIO):
    """Writes a checkpoint next to its place and renames it: a run that is killed meanwhile leaves the one before it.

    Lightning writes to the system's temporary folder and moves, which is a copy where that folder is on another disk:
    there, a run that is killed or finds the disk full leaves half a checkpoint in place of the last one.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: _PATH, storage_options: Any = None) -> None:
        """Write ``checkpoint``, or raise ``OSError`` and leave what is at ``path`` as it was."""
        if storage_options is not None:
            raise TypeError(f"a checkpoint in a local folder takes no storage_options, but got {storage_options!r}")
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        serialized = io.BytesIO()  # torch's own writing to a file reports a full disk as an internal error
        torch.save(checkpoint, serialized)
        serialized.write(MARK + hashlib.sha256(serialized.getvalue()).hexdigest().encode())
        with replacing(path) as beside:
            beside.write_bytes(serialized.getvalue())  # no view of it, which would outlive it if this fails

    def load_checkpoint(self, path: _PATH, *_: Any, **__: Any) -> dict[str, Any]:
        """As :func:`check_checkpoint`."""
        return check_checkpoint(Path(path))


def check_checkpoint(path: Path) -> dict[str, Any]:
    """The content of a checkpoint, which may hold tensors and plain values alone.

    Raises ``ValueError`` naming the file if it is damaged or no checkpoint; nothing in it is ever executed.
    """
    try:
        content = path.read_bytes()
        _check_digest(content)
        found = torch.load(io.BytesIO(content[:-TAIL]), map_location="cpu", weights_only=True)
        if not isinstance(found, dict) or "state_dict" not in found:
            raise ValueError("no state_dict in it")
    except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError, KeyError) as error:
        kind = str(error) if type(error) is ValueError else type(error).__name__
        raise ValueError(
            f"{path}: not a checkpoint of a training, or damaged ({kind}); delete it to start again"
        ) from None
    return found


def _check_digest(content: bytes) -> None:
    if content[-TAIL:-64] != MARK:
        raise ValueError("it has no digest, as in earlier releases")
    if content[-64:] != hashlib.sha256(memoryview(content)[:-TAIL]).hexdigest().encode():
        raise ValueError("it does not match its digest")


def checkpoints(
    monitor: str | None, folder: Path | None = None, lower_is_better: bool = False
) -> list[ModelCheckpoint]:
    """``best.ckpt``, of the epoch with the highest ``monitor``, or the lowest, and ``last.ckpt``, which knows the best.

    Both in ``folder``, by default ``checkpoints`` in the trainer's; without a metric to monitor there is no best one.
    """
    mode = "min" if lower_is_better else "max"
    best = [] if monitor is None else [_checkpoint(BEST, folder, monitor=monitor, mode=mode)]
    return [*best, _checkpoint(LAST, folder)]


class _EpochCheckpoint(ModelCheckpoint):
    """A class of our own has a state of its own, next to a ``ModelCheckpoint`` that a user gives."""


def _checkpoint(name: str, folder: Path | None, **options: Any) -> ModelCheckpoint:
    """Once an epoch; a second run in the same folder replaces the first one's file."""
    where = None if folder is None else str(folder.resolve())
    return _EpochCheckpoint(where, Path(name).stem, enable_version_counter=False, **options)
