"""The command lines of the tasks, run in this process."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tasks.fit_cli import read_results


def run(
    main: Callable[[list[str]], None], command: str, configs: Sequence[Path], given: Mapping[str, Any], **options: Any
) -> None:
    """``fit``, ``test`` or another command; ``options``, whose names have __ for a point, replace those ``given``."""
    every = {**given, **{name.replace("__", "."): value for name, value in options.items()}}
    arguments = [f"--config={file}" for file in configs] + [f"--{name}={value}" for name, value in every.items()]
    with quiet():
        main([command, *arguments, "--trainer.enable_progress_bar=false"])


def fit(
    main: Callable[[list[str]], None], configs: Sequence[Path], out: Path, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Train by the options ``given`` and the configurations, which do not win although they come later; the metrics of
    the test data."""
    arguments = [f"--{name}={value}" for name, value in given.items()] + [f"--config={file}" for file in configs]
    with quiet():
        main(["fit", *arguments, f"--out={out}"])
    return read_results(out)


@contextmanager
def quiet() -> Iterator[None]:
    """Without Lightning's warnings of itself and of what a small training is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Lightning itself calls what jsonargparse and torch
        warnings.simplefilter("ignore", FutureWarning)  # deprecate
        yield


@contextmanager
def stopped(module: type, epoch: int, step: int = 0) -> Iterator[None]:
    """A block in which a training of ``module`` is interrupted at a step, as by Ctrl-C, and ends with that."""
    train: Callable[..., Any] = module.training_step

    def interrupted(self: Any, batch: Any, index: int) -> Any:
        if (self.current_epoch, index) == (epoch, step):
            raise KeyboardInterrupt
        return train(self, batch, index)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "training_step", interrupted)
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            yield
