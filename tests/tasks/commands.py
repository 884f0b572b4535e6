"""The command lines of the tasks, run in this process."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest


def run(
    main: Callable[[], None], command: str, configs: Sequence[Path], given: Mapping[str, Any], **options: Any
) -> None:
    """``fit``, ``test`` or another command; ``options``, whose names have __ for a point, replace those ``given``."""
    every = {**given, **{name.replace("__", "."): value for name, value in options.items()}}
    arguments = [f"--config={file}" for file in configs] + [f"--{name}={value}" for name, value in every.items()]
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore", DeprecationWarning)  # Lightning itself calls what jsonargparse and torch
        warnings.simplefilter("ignore", FutureWarning)  # deprecate
        warnings.filterwarnings("ignore", message=".*does not have many workers.*")
        warnings.filterwarnings("ignore", message="Checkpoint directory .* exists and is not empty")  # of resuming
        patch.setattr("sys.argv", ["program", command, *arguments, "--trainer.enable_progress_bar=false"])
        main()
