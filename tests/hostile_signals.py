"""Signals at drawn moments, for every command that reads or writes: what it leaves, and what it does when run again.

A run ends within some seconds with all its processes; a file is whole or not there; the same command, run until it
is done, leaves the bytes of a run without a signal. ``scripts/fuzz --only signals`` draws the moments.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import torch
from fuzzing import SlowTarget
from own_trees import table

from dgltree.support.lazy import cached_property

SIGNALS = {signal.SIGTERM: "terminated", signal.SIGINT: "interrupted", signal.SIGKILL: ""}
"""The last word of a run that one of them ended."""
LONGEST = 900
"""Seconds of a run without a signal, on a busy machine."""
GRACE = 5.0
"""Seconds in which all processes of a run are gone."""
STARTED = 0.25
"""The share of the shortest run in which Python itself begins, which prints what it likes."""
MARK = "DGLTREE_FUZZ"
"""A variable of the environment by which the processes of a run are told apart."""
START = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
START += "from dgltree.commands.main import console; console()"
"""A shell that runs this in the background has SIGINT ignored."""
QUESTIONS = "x + _ = 2x\nsin(x)^2 + _ = 1\nx^2 = 4, x = _\n_ + y = 3\n(x + 1)^2 = _\n"
ANSWERS = "question,answer\n" + '"x^2 = 4, x = _","2; -2"\n"x + _ = 2x",x\n"(x + 1)^2 = _",x^2+2x+1\n' * 20
SMALL = ("--folds", "2", "--epochs", "1", "--hidden-size", "8")


class Interrupted(NamedTuple):
    """What is tried."""

    command: str
    number: signal.Signals
    share: float
    """When it comes, as a part of the time of a run without a signal."""


class Commands:
    """Commands in a folder of their own, with what each leaves without a signal.

    Args:
        folder: that is there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.trees, self.answers, self.questions = folder / "trees.tsv", folder / "answers.csv", folder / "questions"
        self.trees.write_text(table(300), encoding="utf-8")
        self.answers.write_text(ANSWERS, encoding="utf-8")
        self.questions.write_text(QUESTIONS, encoding="utf-8")

    @cached_property
    def model(self) -> Path:
        """A model of the trees."""
        made = self.folder / "model"
        command = ["fit", str(self.trees), "--out", str(made), *SMALL[2:]]
        assert self.begin(command, self.folder).wait(LONGEST) == 0
        return made

    def arguments(self, name: str, out: Path) -> list[str]:
        """A command that writes below ``out``."""
        trees = str(self.trees)
        if name == "fit --folds":
            return ["fit", trees, "--out", str(out / "fit"), *SMALL]
        if name == "predict":
            return ["predict", str(self.model), trees]
        if name == "encode":
            return ["encode", str(self.model), trees, "--out", str(out / "vectors.npy")]
        if name == "check --table":
            return ["check", "--table", str(self.answers), "--to", str(out / "marked.csv")]
        if name == "complete -":
            return ["complete", "-", "--processes", "2"]
        assert name == "inspect"
        return ["inspect", trees]

    def begin(self, arguments: list[str], out: Path, mark: str = "") -> "subprocess.Popen[bytes]":
        """Run a command, which writes what it says beside its files."""
        with (out / ".said").open("ab") as said, (out / ".errors").open("ab") as errors:
            return subprocess.Popen(
                [sys.executable, "-c", START, *arguments],
                stdout=said,
                stderr=errors,
                stdin=self.questions.open("rb"),
                env={**os.environ, MARK: mark},
            )

    def whole(self, name: str) -> tuple[float, Mapping[str, bytes]]:
        """The seconds of a command without a signal, and what it leaves."""
        if name not in self._whole:
            with self.place() as out:
                self.model  # noqa: B018 (made before the time is taken)
                since = time.monotonic()
                assert self.begin(self.arguments(name, out), out).wait(LONGEST) == 0, (out / ".errors").read_text()
                self._whole[name] = time.monotonic() - since, left_in(out)
        return self._whole[name]

    @cached_property
    def _whole(self) -> dict[str, tuple[float, Mapping[str, bytes]]]:
        return {}

    @contextmanager
    def place(self) -> Iterator[Path]:
        """An empty folder."""
        out = self.folder / uuid.uuid4().hex
        out.mkdir()
        try:
            yield out
        finally:
            shutil.rmtree(out)

    def attack(self, example: Interrupted) -> bool:
        """Whether the signal came before the command was done."""
        seconds, wanted = self.whole(example.command)
        with self.place() as out:
            mark = uuid.uuid4().hex
            run = self.begin(self.arguments(example.command, out), out, mark)
            time.sleep(example.share * seconds)
            run.send_signal(example.number)
            try:
                code = run.wait(GRACE + 15)  # of them ten for a machine that others use, too
            except subprocess.TimeoutExpired:
                run.kill()
                raise AssertionError(f"{example}: it goes on") from None
            check_end(code, (out / ".errors").read_text(encoding="utf-8"), example, seconds)
            check_gone(mark)
            for name, content in left_in(out).items():
                if name in WRITTEN_AT_ONCE:
                    assert content == wanted[name], f"{example}: {name} is not whole"
            if code == 0:
                return False
            for name in (".said", ".errors"):
                (out / name).unlink()
            again = self.begin(self.arguments(example.command, out), out)
            assert again.wait(LONGEST) == 0, (out / ".errors").read_text(encoding="utf-8")
            found = left_in(out)
            assert found.keys() == wanted.keys(), f"{example}: {found.keys() ^ wanted.keys()}"
            differing = [name for name in found if found[name] != wanted[name]]
            assert not differing, f"{example}: {differing} are others than without a signal"
            return True


WRITTEN_AT_ONCE = ("vectors.npy", "marked.csv")


def check_end(code: int, errors: str, example: Interrupted, seconds: float) -> None:
    """Whether a run ended by the signal as it should: with its line, or done."""
    if code in (0, -signal.SIGKILL):
        assert "Traceback" not in errors, f"{example}: {errors}"
        return
    if example.share < STARTED and code in (-example.number, 1, 130):  # Python itself began
        return
    line = f"dgltree: {SIGNALS[example.number]}"
    assert code == 128 + example.number, f"{example}: ended with {code}: {errors}"
    assert "Traceback" not in errors and errors.splitlines()[-1] == line, f"{example}: {errors}"


def check_gone(mark: str) -> None:
    """Whether no process of a run is left after some seconds."""
    end = time.monotonic() + GRACE
    while found := marked(mark):
        assert time.monotonic() < end, f"processes that are left: {found}"
        time.sleep(0.1)


def marked(mark: str) -> list[str]:
    """The command lines of the processes with a mark in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and f"{MARK}={mark}".encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:  # it is gone, or another user's
            continue
    return found


TIMED = (".owner", ".errors", "card.json", "card.md", "epochs.jsonl", "summary.json", "summary.md", "fit.json")
"""Files with times or places in them; pictures have a date."""


def left_in(out: Path) -> dict[str, bytes]:
    """Name to bytes of what a command left: of checkpoints the tensors, of what it said all but times and places."""
    found = {}
    for path in out.rglob("*"):
        name = str(path.relative_to(out))
        if not path.is_file() or path.name in TIMED or path.suffix in (".png", ".svg"):
            continue
        data = path.read_bytes()
        if path.suffix == ".ckpt":  # a zip file, whose order and padding are no promise
            tensors = torch.load(path, weights_only=True)["state_dict"]
            data = b"".join(name.encode() + tensors[name].numpy().tobytes() for name in sorted(tensors))
        if name == ".said":
            lines = TIMES.sub(b"", data).splitlines()
            kept = [line for line in lines if str(out).encode() not in line]
            tables = [line for line in kept if line.startswith(b"|")]  # of training, whose finished folds say no more
            data = b"\n".join(tables if (out / "fit").exists() else kept)
        found[name] = data
    return found


TIMES = re.compile(rb"[0-9.,]+ (s|a second|MB)\b")
NAMES = ("fit --folds", "predict", "encode", "check --table", "complete -", "inspect")
_opened: list[tuple[Commands, "TemporaryDirectory[str]"]] = []


def attacked(example: Interrupted) -> bool:
    """Whether a signal came before the command was done; any other end is a defect."""
    if not _opened:
        folder = TemporaryDirectory()
        _opened.append((Commands(Path(folder.name)), folder))
    return _opened[0][0].attack(example)


def signal_targets() -> dict[str, SlowTarget]:
    """By name; on Linux, whose /proc tells what is left."""
    if sys.platform != "linux":
        return {}
    return {f"signals {name}": SlowTarget(partial(_drawn, name), attacked) for name in NAMES}


def _drawn(name: str, draw: random.Random) -> Interrupted:
    return Interrupted(name, draw.choice(list(SIGNALS)), draw.uniform(0.02, 1.0))
