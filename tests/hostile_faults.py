"""Commands in trouble: each runs under each fault, and is done, is refused with a line, or shows a defect.

A disk fills up, a folder cannot be written to, the same command runs at the same time, an input changes while it is
read, names have 200 kB, a clock goes back, standard streams are closed, and Python runs with other settings.
``scripts/fuzz --only faults`` draws a fault and tries every command under it. Disks of some sizes are mounted (tmpfs),
which needs Linux and root.
"""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from fuzzing import SlowTarget
from pyarrow.parquet import read_table

DGLTREE = (sys.executable, "-m", "dgltree")
LONGEST = 300  # seconds of a run
QUICK = ("--epochs", "1", "--hidden-size", "8")
BACK = """
import random, runpy, sys, time
real, draw = time.time, random.Random(0)
time.time = lambda: real() - draw.random() * 86400
sys.argv[0] = "dgltree"
runpy.run_module("dgltree", run_name="__main__")
"""
"""A clock of the day that goes back and forth by up to a day."""


class Place:
    """A folder with ``trees.tsv`` and a trained ``model`` and ``vectors``, in which commands run."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out = folder, folder / "out"
        folder.mkdir(parents=True, exist_ok=True)
        self.trees, self.model, self.vectors = folder / "trees.tsv", folder / "model", folder / "vectors"
        if not self.trees.exists():
            self.trees.write_bytes(subprocess.run([*DGLTREE, "sample"], stdout=subprocess.PIPE, check=True).stdout)
        for name, made in (("fit", self.model), ("embed", self.vectors)):
            subprocess.run([*DGLTREE, name, self.trees, "--out", made, *QUICK], check=True, capture_output=True)

    def commands(self, out: Path, trees: Path | None = None) -> dict[str, list[str]]:
        """By name, each command as it writes to a folder."""
        file, model, vectors = str(trees or self.trees), str(self.model), str(self.vectors)
        return {
            "fit": ["fit", file, "--out", str(out / "fit"), *QUICK],
            "embed": ["embed", file, "--out", str(out / "embed"), *QUICK],
            "encode": ["encode", model, file, "--out", str(out / "vectors.npy")],
            "encode --nodes": ["encode", vectors, file, "--nodes", "--context", "--out", str(out / "nodes.parquet")],
            "predict": ["predict", model, file],
            "evaluate": ["evaluate", model, file],
            "similar": ["similar", model, file, "--query", "(max 1 2)"],
            "explain": ["explain", model, "(max 1 2)"],
            "inspect": ["inspect", file],
            "complete": ["complete", "x + _ = 2*x"],
            "check": ["check", "x + _ = 2*x", "x", "y"],
        }


class Ended:
    """How a run ended, and what it left."""

    def __init__(self, run: "subprocess.CompletedProcess[str]", out: Path) -> None:
        self.code, self.err, self.half = run.returncode, run.stderr or "", half_file(out)

    @property
    def wrong(self) -> str | None:
        """What is wrong with it, if anything is."""
        if "Traceback" in self.err or "Exception ignored" in self.err:
            return "a traceback"
        if self.half:
            return f"{self.half} is not whole"
        if self.code == 0:
            return None
        last = self.err.strip().splitlines()[-1:] or [""]
        if self.code < 0:
            return f"ended by signal {-self.code}"
        return None if last[0] else "no word on what was wrong"


def half_file(out: Path) -> str | None:
    """The name of a file of vectors that cannot be read, if there is one."""
    for name, read in (("vectors.npy", np.load), ("nodes.parquet", read_table)):
        try:
            if (out / name).exists():
                read(out / name)
        except (OSError, ValueError):
            return name
    return None


def run(place: Place, arguments: list[str], python: list[str] | None = None, **options: object) -> Ended:
    """Run ``dgltree`` with these arguments."""
    command = [*(python or DGLTREE), *arguments]
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **options}
    return Ended(subprocess.run(command, text=True, timeout=LONGEST, errors="replace", **given), place.out)  # type: ignore[call-overload]


@contextmanager
def disk(folder: Path, options: str) -> Iterator[Path]:
    """A file system of its own."""
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def full(place: Place) -> Iterator[tuple[str, Ended]]:
    for size in (4, 16, 64, 256):
        for name, command in place.commands(place.out).items():
            if str(place.out) in " ".join(command):
                with disk(place.out, f"size={size}k"):
                    yield f"{name}, {size} kB", run(place, command)


def read_only(place: Place) -> Iterator[tuple[str, Ended]]:
    with disk(place.out, "size=1m"):
        subprocess.run(["mount", "-o", "remount,ro", place.out], check=True)
        for name, command in place.commands(place.out).items():
            if str(place.out) in " ".join(command):
                yield name, run(place, command)


def two_at_once(place: Place) -> Iterator[tuple[str, Ended]]:
    for name, command in place.commands(place.out).items():
        shutil.rmtree(place.out, ignore_errors=True)
        place.out.mkdir()
        ended: list[Ended] = []
        both = [threading.Thread(target=lambda: ended.append(run(place, command))) for _ in range(2)]  # noqa: B023
        for each in both:
            each.start()
        for each in both:
            each.join()
        yield from ((name, each) for each in ended)
        if all(each.code for each in ended):
            ended[0].err += "\nTraceback: neither of two runs was done"


def changing(place: Place) -> Iterator[tuple[str, Ended]]:
    text, file = place.trees.read_bytes(), place.folder / "changing.tsv"
    for name, command in place.commands(place.out, file).items():
        if str(file) not in command:
            continue
        shutil.rmtree(place.out, ignore_errors=True)
        place.out.mkdir()
        file.write_bytes(text)
        stop = threading.Event()

        def change(stop: threading.Event = stop) -> None:
            while not stop.wait(0.05):
                file.write_bytes(text[: int(time.time() * 1000) % len(text)])

        thread = threading.Thread(target=change)
        thread.start()
        yield name, run(place, command)
        stop.set()
        thread.join()


def long_names(place: Place) -> Iterator[tuple[str, Ended]]:
    file, long = place.folder / "long.tsv", "a" * 200_000
    rows = place.trees.read_text("utf-8").splitlines()
    for what, row in (
        ("function", f"({long} 1 2)\tone"),
        ("token", f"(max {long} 2)\tone"),
        ("label", f"(max 1 2)\t{long}"),
    ):
        file.write_text("\n".join([*rows[:300], row, row]) + "\n", "utf-8")
        for name, command in place.commands(place.out, file).items():
            if str(file) in command:
                shutil.rmtree(place.out, ignore_errors=True)
                place.out.mkdir()
                yield f"{name}, {what}", run(place, command)


def _everywhere(place: Place, **options: object) -> Iterator[tuple[str, Ended]]:
    for name, command in place.commands(place.out).items():
        shutil.rmtree(place.out, ignore_errors=True)
        place.out.mkdir()
        yield name, run(place, command, **options)  # type: ignore[arg-type]


def closed_output(place: Place) -> Iterator[tuple[str, Ended]]:
    for sign in (">&-", "<&-", "2>&-", "> /dev/full"):
        for name, command in place.commands(place.out).items():
            shutil.rmtree(place.out, ignore_errors=True)
            place.out.mkdir()
            ended = run(
                place, ["-c", f'exec "$@" {sign}', "sh", *DGLTREE, *command], ["/bin/sh"], stdout=subprocess.PIPE
            )
            if sign == "2>&-" and ended.code:
                ended.err = "nowhere to say it"
            yield f"{name} {sign}", ended


FAULTS: dict[str, Callable[[Place], Iterator[tuple[str, Ended]]]] = {
    "a disk that is full after 4, 16, 64, 256 kB": full,
    "a folder that cannot be written to": read_only,
    "two of the same command at once": two_at_once,
    "an input that changes while it is read": changing,
    "a function, a token, a label of 200 kB": long_names,
    "a clock that goes back": lambda place: _everywhere(place, python=[sys.executable, "-c", BACK]),
    "a standard stream that is closed or full": closed_output,
    "`python -O`": lambda place: _everywhere(place, python=[sys.executable, "-O", "-m", "dgltree"]),
    "`PYTHONWARNINGS=error`": lambda place: _everywhere(place, env={**os.environ, "PYTHONWARNINGS": "error"}),
    "`LANG=C`, no UTF-8": lambda place: _everywhere(
        place, env={**os.environ, "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ),
}


MOUNTED = {full, read_only}
_opened: "list[tuple[Place, TemporaryDirectory[str]]]" = []


def tried(fault: str) -> bool:
    """Whether all commands are done under a fault; none is a refusal, and any other end a defect."""
    if not _opened:
        folder = TemporaryDirectory()
        _opened.append((Place(Path(folder.name).resolve()), folder))
    ended = list(FAULTS[fault](_opened[0][0]))
    for name, one in ended:
        why, said = one.wrong, (one.err.strip().splitlines() or [""])[-1][:200]
        assert not why, f"{fault}: {name}: {why}: {said}"
    return not any(one.code for _, one in ended)


def fault_targets() -> dict[str, SlowTarget]:
    """By name."""
    can_mount = sys.platform == "linux" and os.geteuid() == 0
    known = [fault for fault in FAULTS if can_mount or not MOUNTED.intersection([FAULTS[fault]])]
    return {f"faults: {fault}": SlowTarget(lambda _, fault=fault: fault, tried) for fault in known}
