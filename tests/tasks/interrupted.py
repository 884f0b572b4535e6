"""Runs that send themselves a signal while they write; started by test_saving.py.

``python interrupted.py SETS OUT`` makes the folders ``OUT/fit-SIGNAL``, of trainings hit when half of the second
epoch's ``last.ckpt`` is on the disk, and ``OUT/generate-SIGNAL``, of generations hit when half of the third file is.
"""

import multiprocessing
import os
import sys
import warnings
from itertools import count
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGTERM, Signals, default_int_handler, signal

from pyarrow import parquet

from tasks.equations.generator.generate import write_sets
from tasks.equations.generator.presets import Shape
from tasks.equations.verification import cli

CONFIG = Path(__file__).parents[2] / "tasks" / "equations" / "verification" / "configs" / "tree_rnn.yaml"


def fitted(sets: Path, out: Path, *more: str) -> None:
    """Three epochs of verification at a small setting."""
    options = {
        "config": CONFIG,
        "data.train": sets / "train.parquet",
        "data.batch_size": 32,
        "model.hidden_size": 5,
        "trainer.default_root_dir": out,
        "trainer.enable_progress_bar": "false",
        "trainer.max_epochs": 3,
    }
    cli.main(["fit", *(f"--{name}={value}" for name, value in options.items()), *more])


def generated(out: Path) -> None:
    """Four chunks of equations."""
    write_sets("small", {"train": Shape({3: 40, 4: 40}, {3: 0.5, 4: 0.5})}, out, seed=1, chunk=20)


def fit_and_be_hit(number: Signals, sets: Path, out: Path) -> None:
    write, times = Path.write_bytes, count(1)

    def in_two_halves(path, data):
        if path.name.startswith(".last.ckpt") and next(times) == 2:
            write(path, bytes(data[: len(data) // 2]))
            print("half written", flush=True)
            os.kill(os.getpid(), number)
        return write(path, data)

    Path.write_bytes = in_two_halves  # type: ignore[method-assign]
    fitted(sets, out)


def generate_and_be_hit(number: Signals, out: Path) -> None:
    write, times = parquet.write_table, count(1)

    def in_two_halves(table, path):
        write(table, path)
        if next(times) == 3:
            whole = path.read_bytes()
            path.write_bytes(whole[: len(whole) // 2])
            print("half written", flush=True)
            os.kill(os.getpid(), number)
            path.write_bytes(whole)

    parquet.write_table = in_two_halves
    generated(out)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    signal(SIGINT, default_int_handler)  # a shell that runs the tests in the background has it ignored
    sets, out = map(Path, sys.argv[1:])
    context = multiprocessing.get_context("fork")  # importing takes longer than the runs
    runs = [
        *(
            context.Process(target=fit_and_be_hit, args=(s, sets, out / f"fit-{s.name}"))
            for s in (SIGTERM, SIGINT, SIGKILL)
        ),
        *(
            context.Process(target=generate_and_be_hit, args=(s, out / f"generate-{s.name}"))
            for s in (SIGTERM, SIGKILL)
        ),
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
