"""This checkout and an earlier one in turn, in CPU seconds: ``scripts/bench --suite earlier --earlier CHECKOUT``."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks import epoch, fit
from benchmarks.row import Row, Skipped, Timing, against

ROOT = Path(__file__).resolve().parents[1]
EARLIER = "the earlier checkout"
STEPS = [
    (("training", "32"), 40),
    (("training", "64"), 20),
    (("training", "256"), 8),
    (("training", "512"), 4),
    (("training", "1024"), 2),
    (("inference", "32"), 80),
    (("inference", "64"), 40),
    (("inference", "256"), 16),
    (("inference", "512"), 8),
    (("inference", "1024"), 4),
    (("ranking",), 1),
]
"""What ``benchmarks/probe.py`` measures: its arguments, and how many steps at a time."""
LEAST = 0.98
"""Times as fast as the earlier checkout: nothing may become slower."""


def rows(checkout: Path | None, device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The rows of the suite."""
    name = "against an earlier checkout"
    if checkout is None or device != "cpu":
        yield Skipped(name, "give --earlier a checkout of it, and run on a CPU")
        return
    places = {"ours": ROOT, EARLIER: checkout}
    for arguments, count in STEPS:
        times = probed(places, arguments, count, repeats)
        yield against(f"Tree-SMU, {' '.join(arguments)}, CPU time", EARLIER, times, aim=LEAST, least=LEAST)
    with tempfile.TemporaryDirectory() as folder:
        yield _per_epoch("paper-train, batch 32", _epoch_command(Path(folder)), places, min(repeats, 3), (1, 2))
        yield _per_epoch(
            "dgltree fit, 1,500 S-expressions", _fit_command(Path(folder)), places, min(repeats, 3), (2, 7)
        )


def _environment(place: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(place), "OMP_NUM_THREADS": "1"}


def probed(places: dict[str, Path], arguments: tuple[str, ...], count: int, repeats: int) -> dict[str, Timing]:
    """CPU seconds of so many steps, each checkout in a process of its own, both waiting for their turn."""
    times: dict[str, list[float]] = {name: [] for name in places}
    command = [sys.executable, str(ROOT / "benchmarks" / "probe.py"), *arguments]
    with ExitStack() as running:
        probes = {}
        for name, place in places.items():
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            made = subprocess.Popen(command, cwd=place, env=_environment(place), **pipes)  # type: ignore[call-overload]
            probes[name] = running.enter_context(made)
            if made.stdout.readline() != "ready\n":
                raise RuntimeError(f"{' '.join(command)} failed in {place}")
        for _ in range(repeats):
            for name, probe in probes.items():
                probe.stdin.write(f"{count}\n")
                probe.stdin.flush()
                times[name].append(float(probe.stdout.readline()) / count)
    return {name: Timing(statistics.median(of), min(of), max(of)) for name, of in times.items()}


def _per_epoch(
    name: str, command: Callable[[str, int], list[str]], places: dict[str, Path], repeats: int, epochs: tuple[int, int]
) -> Row:
    """CPU seconds of an epoch of training, those of its loader included: what more epochs take longer than few."""
    times: dict[str, list[float]] = {name: [] for name in places}
    for number in range(repeats):
        for where, place in places.items():
            few, many = (spent(command(f"{number}-{count}-{place.name}", count), place) for count in epochs)
            times[where].append((many - few) / (epochs[1] - epochs[0]))
    found = {where: Timing(statistics.median(of), min(of), max(of)) for where, of in times.items()}
    return against(f"epoch of {name}, CPU time", EARLIER, found, aim=LEAST, least=LEAST)


def spent(command: list[str], place: Path, code: int = 0) -> float:
    """CPU seconds of a command that ends with this exit code, and of the processes that it started."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=place, env=_environment(place), capture_output=True, text=True, check=False)
    if done.returncode != code:
        raise RuntimeError(f"{' '.join(command)} failed in {place}:\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _epoch_command(folder: Path) -> Callable[[str, int], list[str]]:
    epoch.run("generate", "--preset", "paper-train", "--out", str(folder), "--seed", "0")

    def command(name: str, epochs: int) -> list[str]:
        return [sys.executable, "-m", "tasks.equations", "verification", *epoch.fit(folder, folder / name, epochs)]

    return command


def _fit_command(folder: Path) -> Callable[[str, int], list[str]]:
    file = fit.written(folder)

    def command(name: str, epochs: int) -> list[str]:
        more = ["--out", str(folder / f"fit-{name}"), "--epochs", str(epochs), "--threads", "1"]
        return [sys.executable, "-m", "dgltree", "fit", str(file), *more]

    return command
