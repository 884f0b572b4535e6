"""A process that is killed while others read for it leaves none of them."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.processes import below

READ = """
import sys
from dgltree.datasets import TreeDataset
TreeDataset.from_file(sys.argv[1], workers=2, cached=False)
"""
LOAD = """
import time
import torch
from dgltree.training.stepping.data import batch_loader
class Slow(torch.utils.data.Dataset):
    def __len__(self): return 1000
    def __getitem__(self, number):
        time.sleep(0.2)
        return torch.zeros(1)
for _ in batch_loader(Slow(), 2): pass
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("program", [READ, LOAD], ids=["a file", "batches"])
def test_reading_processes_end_when_the_one_they_read_for_is_killed(program: str, tmp_path: Path) -> None:
    file = tmp_path / "trees.tsv"
    tree = "(add (mul x y) (sin (add x (mul y z))))"
    nested = tree
    for _ in range(40):
        nested = f"(add {nested} {tree})"
    file.write_text("tree\tlabel\n" + "".join(f"{nested}\t{k % 2}\n" for k in range(30_000)), encoding="utf-8")
    killed = subprocess.Popen([sys.executable, "-c", program, str(file)])
    started = time.monotonic()
    while len(children := [number for number, _ in below(killed.pid) if number != killed.pid]) < 2:
        assert killed.poll() is None and time.monotonic() < started + 60, "no reading process began"
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    end = time.monotonic() + 5
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < end, "a reading process outlives the one that was killed"
        time.sleep(0.1)
