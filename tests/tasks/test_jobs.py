"""Jobs in folders: each once, some at a time, and none left alone."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import counting
import pytest
from counting import Counting

from tasks.jobs import CLAIM, LOG, answering_signals, run

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("at_a_time", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_failing_job_is_named_and_the_rest_goes_on(tmp_path: Path, at_a_time: int) -> None:
    kinds = ["writes", "fails", "refuses", "writes", "writes"]
    jobs = [Counting(number, tmp_path / str(number), how) for number, how in enumerate(kinds)]
    assert run(jobs, at_a_time) == {"fails 1": "ValueError: 1 is not a number", "refuses 2": "error: no such file"}
    assert [job.done for job in jobs] == [True, False, False, True, True]
    assert (tmp_path / "0" / LOG).read_text() == "number 0\n"
    assert "Traceback" in (tmp_path / "1" / LOG).read_text()


@pytest.mark.slow
def test_a_process_that_ends_is_one_failure_and_another_takes_its_place(tmp_path: Path) -> None:
    kinds = ["dies", "writes", "dies", "writes"]
    jobs = [Counting(number, tmp_path / str(number), how) for number, how in enumerate(kinds)]
    reason = f"its process ended with -{signal.SIGKILL.value}"
    assert run(jobs, 2) == {"dies 0": reason, "dies 2": reason}
    assert jobs[1].done
    assert jobs[3].done


def test_each_job_that_ends_has_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run([Counting(0, tmp_path / "0"), Counting(1, tmp_path / "1", "fails")], 1)
    lines = [line for line in capsys.readouterr().err.splitlines() if " of 2 after " in line]
    assert lines[0].startswith("1 of 2 after ") and lines[0].endswith(" s: writes 0: done")
    assert lines[1].startswith("2 of 2 after ") and lines[1].endswith(": failed (ValueError: 1 is not a number)")


@pytest.mark.parametrize(
    ("number", "status", "word"), [(signal.SIGTERM, 143, "terminated"), (signal.SIGINT, 130, "interrupted")]
)
def test_a_signal_ends_a_command_with_one_line(
    number: signal.Signals, status: int, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = {signal.SIGTERM: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    before = {each: signal.signal(each, how) for each, how in usual.items()}
    try:
        assert answering_signals("tasks.compare", lambda: signal.raise_signal(number) or 0) == status
    finally:
        for each, how in before.items():
            signal.signal(each, how)
    assert capsys.readouterr().err == f"tasks.compare: {word}; the same command continues\n"


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    jobs = [Counting(0, tmp_path / "0"), Counting(1, tmp_path / "1", "fails")]
    assert len(run(jobs, 1)) == 1
    (tmp_path / "0" / "number").write_text("mine")
    assert run([jobs[0], Counting(1, tmp_path / "1")], 1) == {}
    assert (tmp_path / "0" / "number").read_text() == "mine"
    assert (tmp_path / "1" / LOG).read_text().count("number 1\n") == 2


def test_the_folder_of_another_job_is_refused_before_any_begins(tmp_path: Path) -> None:
    run([Counting(1, tmp_path / "a")], 1)
    with pytest.raises(ValueError, match=r"a.job.json belongs to another run: number: 1 there, 2 now\. Give another"):
        run([Counting(3, tmp_path / "b"), Counting(2, tmp_path / "a")], 1)
    assert [file.name for file in (tmp_path / "b").iterdir()] == [CLAIM]
    with pytest.raises(ValueError, match="jobs is 0; it must be 1 or more"):
        run([], 0)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_who_is_stopped_or_killed_stops_its_jobs(how: signal.Signals, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, counting.__file__, str(tmp_path)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        files = [tmp_path / str(number) / "pid" for number in range(2)]
        until(lambda: all(file.exists() and file.read_text() for file in files))
        process.send_signal(how)
        process.wait(timeout=900)
    pids = [int(file.read_text()) for file in files]
    until(lambda: not any(map(lives, pids)))


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"  # a zombie whose new parent has not looked yet
    except FileNotFoundError:
        return False


def until(true) -> None:
    for _ in range(1200):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come true within a minute")
