"""Commands that are told to stop: what is half written goes, and there is no traceback."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from own_trees import SMALL, table

pytest.importorskip("lightning", reason="the train extra is not installed")

RUN = """
import os, signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that runs tests in the background has it ignored
{}
from dgltree.commands.main import main
sys.exit(main(sys.argv[1:]))
"""
TERMINATED_IN_A_WRITE = """
write = Path.write_bytes
def in_two_halves(path, data):
    if path.name.startswith(".last.ckpt"):
        write(path, bytes(data[: len(data) // 2]))
        assert any(entry.name.endswith(".part") for entry in path.parent.iterdir())
        os.kill(os.getpid(), signal.SIGTERM)
    return write(path, data)
Path.write_bytes = in_two_halves
"""
INTERRUPTED_IN_AN_IMPORT = """
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
"""


CLEARING_AWAY_FOR_EVER = """
import time
from dgltree.commands import verify
def run(*_):
    try:
        os.kill(os.getpid(), signal.{0})
        time.sleep(5)
    finally:
        os.kill(os.getpid(), signal.{0})
        time.sleep(5)
verify.run = run
"""
SHUTTING_DOWN_FOR_EVER = """
import time
from lightning.pytorch import LightningModule, Trainer
def interrupt(*_):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
LightningModule.on_train_epoch_end = Trainer._teardown = interrupt
"""
THE_WHOLE_GROUP_IS_TOLD = """
from dgltree.training.stepping import data
from torch.utils.data import dataloader
def tell(self):
    os.killpg(0, signal.{})
    return following(self)
os.setsid()
data.loaders = lambda _: 2
following = dataloader._MultiProcessingDataLoaderIter._next_data
dataloader._MultiProcessingDataLoaderIter._next_data = tell
"""
WHILE_PYTHON_EXITS = """
import atexit, os, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
@atexit.register
def _():
    os.kill(os.getpid(), {})
    time.sleep(5)
from dgltree.commands.main import console
console()
"""
WITHOUT_A_LOOK_AT_THE_CLOCK = """
import time
from dgltree.commands import signals
from dgltree.equations.search.search import Search
signals.GRACE = 0.5
def steps(self):
    while True:
        try:
            time.sleep(5)
        except Exception:
            pass
Search.steps = steps
"""


def run(before: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = [sys.executable, "-c", RUN.format(before), *arguments]
    return subprocess.run(code, capture_output=True, text=True, timeout=900)


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    path = tmp_path / "trees.tsv"
    path.write_text(table(100), encoding="utf-8")
    return path


@pytest.mark.slow
def test_sigterm_leaves_no_half_written_file_and_says_so_by_the_exit_code(trees: Path, tmp_path: Path) -> None:
    done = run(TERMINATED_IN_A_WRITE, "fit", str(trees), "--out", str(tmp_path / "model"), *SMALL)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (128 + signal.SIGTERM, "dgltree: terminated")
    assert "Traceback" not in done.stderr
    left = {path.name for path in (tmp_path / "model").iterdir()}
    assert "best.ckpt" in left
    assert not [name for name in left if name.endswith(".part")]


@pytest.mark.parametrize("module", ["argparse", "torch", "lightning"])
def test_ctrl_c_during_the_imports_prints_no_traceback(module: str, trees: Path, tmp_path: Path) -> None:
    before = INTERRUPTED_IN_AN_IMPORT.format(module)
    done = run(before, "fit", str(trees), "--out", str(tmp_path / "model"), "--no-cache")
    assert (done.returncode, done.stderr) == (130, "dgltree: interrupted\n")


@pytest.mark.parametrize(
    ("number", "line", "code"),
    [(signal.SIGTERM, "dgltree: terminated\n", 143), (signal.SIGINT, "dgltree: interrupted\n", 130)],
)
def test_a_signal_after_the_work_has_its_line_too(number: int, line: str, code: int) -> None:
    before = WHILE_PYTHON_EXITS.format(int(number))
    done = subprocess.run(
        [sys.executable, "-c", before, "verify", "x = x"], capture_output=True, text=True, timeout=900
    )
    assert (done.returncode, done.stderr) == (code, line)
    assert "holds everywhere" in done.stdout


def test_sigterm_during_the_imports_prints_no_traceback(trees: Path, tmp_path: Path) -> None:
    before = INTERRUPTED_IN_AN_IMPORT.format("torch").replace("SIGINT", "SIGTERM")
    done = run(before, "fit", str(trees), "--out", str(tmp_path / "model"), "--no-cache")
    assert (done.returncode, done.stderr) == (143, "dgltree: terminated\n")


def test_a_library_that_finds_no_memory_is_said_in_one_line(trees: Path, tmp_path: Path) -> None:
    before = """
class NoRoom:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ImportError("libtorch_cpu.so: failed to map segment from shared object")
sys.meta_path.insert(0, NoRoom())
"""
    done = run(before, "fit", str(trees), "--out", str(tmp_path / "model"))
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("dgltree: out of memory while loading libraries (libtorch_cpu.so")


def test_a_process_that_ignores_a_signal_or_has_a_handler_keeps_that() -> None:
    from dgltree.commands.signals import leaving_at_once, unwinding

    before = signal.signal(signal.SIGTERM, signal.SIG_IGN), signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with unwinding(), leaving_at_once():
            assert signal.getsignal(signal.SIGTERM) == signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_the_second_signal_ends_a_command_that_is_still_clearing_away(name: str) -> None:
    done = run(CLEARING_AWAY_FOR_EVER.format(name), "verify", "x = x")
    assert (done.returncode, done.stderr) == (-signal.Signals[name], "")


@pytest.mark.slow
def test_the_second_ctrl_c_ends_a_training_that_is_still_shutting_down(trees: Path, tmp_path: Path) -> None:
    done = run(SHUTTING_DOWN_FOR_EVER, "fit", str(trees), "--out", str(tmp_path / "model"), *SMALL)
    assert done.returncode == -signal.SIGINT
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("name", "code", "word"), [("SIGTERM", 143, "terminated"), ("SIGINT", 130, "interrupted")])
def test_a_group_of_processes_that_is_told_to_stop_prints_no_traceback(
    name: str, code: int, word: str, trees: Path, tmp_path: Path
) -> None:
    done = run(THE_WHOLE_GROUP_IS_TOLD.format(name), "fit", str(trees), "--out", str(tmp_path / "model"), *SMALL)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (code, f"dgltree: {word}")
    assert "Traceback" not in done.stderr


def test_a_search_that_does_not_ask_the_clock_is_ended_from_outside() -> None:
    done = run(WITHOUT_A_LOOK_AT_THE_CLOCK, "complete", "x + _ = 1", "--seconds", "4")  # in which it is begun
    said = "no answer within 4 s and 0.5 s more; try a smaller equation"
    assert (done.returncode, done.stderr) == (1, f"dgltree: equation 1, 'x + _ = 1': {said}\n")
