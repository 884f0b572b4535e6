"""Run a command, and regularly print the memory that it and its child processes use (Linux only).

.venv/bin/python -m benchmarks.processes [--every 20] -- COMMAND ARGUMENTS...
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path


def below(process: int) -> Iterator[tuple[int, bytes]]:
    """The process and all that it started, with their command lines."""
    parents, lines = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                stat, line = (entry / "stat").read_text(), (entry / "cmdline").read_bytes()
            except OSError:  # it is gone
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
            lines[int(entry.name)] = line
    for number, line in lines.items():
        ancestor = number
        while ancestor in parents and ancestor != process:
            ancestor = parents[ancestor]
        if ancestor == process:
            yield number, line


def held(process: int) -> float:
    """MB of memory, of what is shared a part; 0 for a process that is gone."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1e3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=float, default=20.0, metavar="SECONDS")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    start = time.monotonic()
    run = subprocess.Popen(arguments.command)
    while run.poll() is None:
        each = {number: held(number) for number, _ in below(run.pid)}
        others = sum(each.values()) - each.get(run.pid, 0.0)
        print(
            f"{time.monotonic() - start:6.0f} s: the command {each.get(run.pid, 0.0):6,.0f} MB, "
            f"{len(each) - 1} others {others:6,.0f} MB",
            flush=True,
        )
        try:
            run.wait(arguments.every)
        except subprocess.TimeoutExpired:
            continue
    print(f"{time.monotonic() - start:6.0f} s: done")
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
