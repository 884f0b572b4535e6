"""Many equations by several processes: the same answers in the same order, and nothing is left of what is stopped."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dgltree.commands import complete
from dgltree.commands.complete import ReadQuestion, answer_each
from dgltree.equations.typed import read_question
from dgltree.ranking.completion import BatchCompletion
from dgltree.support.workers import cores

EQUATIONS = [
    "2 + 3 = _",
    "x + _ = 2x",
    "2x + = 3",
    "x^2 = 4, x = _",
    "3*_ = 12",
    "5 - _ = 1",
    "_/2 = x",
    "sqrt(16) = _",
]
AT_ONCE = """
import sys
from dgltree.commands import complete
from dgltree.commands.main import main
if __name__ == "__main__":
    complete.SPENT = 0.0  # further processes answer from the first question on
    sys.exit(main(sys.argv[1:]))
"""
COMMAND = [sys.executable, "-c", AT_ONCE, "complete", "-", "--top", "1"]
ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


def without_times(text: str) -> list[str]:
    return [line for line in text.splitlines() if "expressions tried" not in line]


@pytest.mark.slow
def test_answers_are_the_same_and_in_order_for_any_number_of_processes() -> None:
    found = []
    for processes in ("1", "2"):
        done = subprocess.run(
            [*COMMAND, "--processes", processes],
            input="\n".join(EQUATIONS * 2),
            capture_output=True,
            text=True,
            env=ENVIRONMENT,
            timeout=300,
        )
        assert done.returncode == 1, done.stderr
        found.append((without_times(done.stdout), done.stderr))
    assert found[0] == found[1]
    numbers = [int(line.split(":")[0]) for line in found[0][0] if line[:1].isdigit()]
    assert numbers == [n for n in range(1, 2 * len(EQUATIONS) + 1) if n not in (3, 3 + len(EQUATIONS))]


def _begun(lines: int) -> subprocess.Popen[str]:
    """A run that has answered so many lines, waits for the next one, and leads a group of its own."""
    made = subprocess.Popen(
        [*COMMAND, "--processes", "2"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell that runs tests may have it ignored
    )
    assert made.stdin is not None and made.stdout is not None
    for number in range(1, lines + 1):
        made.stdin.write(f"{number} + _ = 10\n")
        made.stdin.flush()
        line = made.stdout.readline()
        while not line.startswith(f"{number}: "):
            assert line, made.communicate()[1]
            line = made.stdout.readline()
    return made


def _others(group: int) -> list[int]:
    """The processes of a group that live, but for its leader."""
    found = subprocess.run(["ps", "-eo", "pid=,pgid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in found.splitlines()]
    return [int(pid) for pid, of, state in rows if int(of) == group != int(pid) and not state.startswith("Z")]


def _gone(group: int) -> bool:
    for _ in range(200):
        if not _others(group):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.skipif(sys.platform == "win32", reason="groups of processes are those of POSIX")
@pytest.mark.skipif(cores() == 1, reason="one core answers alone")
@pytest.mark.parametrize("stop", ["interrupt", "kill"])
def test_each_line_is_answered_when_it_comes_and_no_process_outlives_the_run(stop: str) -> None:
    run = _begun(5)
    assert _others(run.pid), "further processes answered"
    if stop == "kill":
        run.kill()
    else:
        os.killpg(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=60)
    assert "Traceback" not in said and "Fatal" not in said, said
    assert run.returncode == (-signal.SIGKILL if stop == "kill" else 130)
    assert _gone(run.pid), _others(run.pid)


class _Ending:
    """A question that ends the process that unpacks it."""

    def __reduce__(self) -> Any:
        return os._exit, (3,)


def test_questions_are_answered_here_until_it_pays_to_begin_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [(number, ReadQuestion(read_question("2 + _ = 3"), 0.0)) for number in range(3)]
    monkeypatch.setattr(complete._Pool, "begin", lambda *_: pytest.fail("a process begins"))
    assert [number for number, _ in answer_each(BatchCompletion(top=1), iter(asked), 2)] == [0, 1, 2]


def test_a_process_that_ends_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(complete, "SPENT", 0.0)

    def asked() -> Iterator[tuple[int, Any]]:
        yield 0, ReadQuestion(_Ending(), 0.0)  # type: ignore[arg-type]

    found = answer_each(BatchCompletion(top=1), asked(), 2)
    with pytest.raises(
        MemoryError, match=r"a process that answers ended, .* try --processes 1, which needs less memory"
    ):
        next(found)


def test_what_reading_raises_is_raised() -> None:
    def asked() -> Iterator[tuple[int, Any]]:
        yield 0, ValueError("no equation")
        raise OSError("the disk is gone")

    found = answer_each(BatchCompletion(top=1), asked(), 2)
    with pytest.raises(OSError, match="the disk is gone"):
        list(found)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_form_is_not_ranked_wherever_it_stands(place: int) -> None:
    asked = [read_question("x + _ = 2x")] * 2
    asked.insert(place, read_question("factor x^2 - 9"))
    with pytest.raises(ValueError, match="the factored form is not ranked by score"):
        BatchCompletion(by_score=True).answer(asked)
