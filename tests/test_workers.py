"""Processes that work for another one, and end with it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dgltree.support.workers import module_command

ROOT = Path(__file__).parents[1]
SLOW = """
import time
from pathlib import Path

began = Path(__file__).with_name("began")
if began.exists():  # in the process that works: the other one has imported this before
    began.write_text("loading")
    time.sleep(3600)


def begin():
    pass
"""
KILLED = """
import os, signal, time
from slow_module import began, begin
from dgltree.support.workers import workers

began.touch()
with workers(1, begin) as pool:
    pool.submit(abs, -1)
    while began.read_text() != "loading":
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_that_still_loads_modules_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "slow_module.py").write_text(SLOW, "utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
    command = [sys.executable, "-c", KILLED]
    # The process has the output of its parent open while it lives, so that this waits for its end.
    done = subprocess.run(command, env=environment, capture_output=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (tmp_path / "began").read_text("utf-8") == "loading"


def test_a_process_that_still_loads_modules_ends_with_its_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_module.py").write_text(SLOW, "utf-8")
    began = tmp_path / "began"
    began.touch()
    monkeypatch.syspath_prepend(tmp_path)
    command, environment = module_command("slow_module")
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE)
    assert process.stdin is not None
    while not began.read_text("utf-8"):
        assert process.poll() is None
        time.sleep(0.05)
    process.stdin.close()
    try:
        assert process.wait(60) == 1
    finally:
        process.kill()
