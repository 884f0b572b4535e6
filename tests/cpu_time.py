"""CPU time of the tests: a pytest plugin that prints what is expensive and holds the whole to a budget.

    .venv/bin/python -m pytest -p cpu_time [--cpu-budget 480] [--cpu-times FILE]

Each test is charged with the CPU time of its own process and of the processes that it started and waited for, in
seconds of the machine on which ``REFERENCE`` was measured: a fixed loop of NumPy and Python tells how fast this one is.
Each process times it every ``EVERY`` seconds, because a machine that others share has had from 0.8 to 3 times the speed
of the reference within one run of the tests.
"""

import os
import time
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest

REFERENCE = 0.049
"""Seconds of CPU of the loop on an idle core of an Intel Xeon (Sapphire Rapids, 2026-11-28)."""
EVERY = 5.0
"""Seconds of CPU after which a process times the loop again."""
SLACK = 1.5
"""The same tests took from 712 to 1,178 seconds of the reference on three machines (caches and memory differ)."""
EXPENSIVE = 2.0
"""Seconds of CPU in its call phase from which on a test is named."""
TOO_LONG = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cpu-budget", type=float, help="fail if the tests take more CPU time, as of the reference machine"
    )
    parser.addoption("--cpu-times", type=Path, help="write the CPU time of each test to this file")


def spent() -> float:
    """CPU time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def loop() -> float:
    """The CPU time of a loop of NumPy and Python, the least of three."""

    def once() -> float:
        start = time.process_time()
        rows = np.random.default_rng(0).standard_normal((300, 300))
        for _ in range(15):
            rows = np.tanh(rows @ rows.T / 300)
        found = {}
        for i in range(375_000):
            found[i % 1000] = found.get(i % 1000, 0) + i
        return time.process_time() - start

    return min(once() for _ in range(3))


class Meter:
    """What the tests of one process have spent, in seconds of the reference."""

    def __init__(self) -> None:
        self.speed = loop() / REFERENCE
        self.before = self.timed = spent()

    def charge(self) -> float:
        """The seconds since the charge before."""
        seconds = (spent() - self.before) / self.speed
        self.before = spent()
        if self.before - self.timed > EVERY:
            self.speed = loop() / REFERENCE
            self.before = self.timed = spent()
        return seconds


METER = pytest.StashKey[Meter]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin with the first test: collection belongs to none."""
    if METER not in item.config.stash:
        item.config.stash[METER] = Meter()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Charge each phase of a test with what was spent since the one before."""
    report = yield
    report.cpu = item.config.stash[METER].charge()  # type: ignore[attr-defined]
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the expensive tests, the sum and the budget; a sum above the budget fails the run."""
    phases = [
        (report.nodeid, report.when, report.cpu)
        for reports in terminalreporter.stats.values()
        for report in reports
        if hasattr(report, "cpu")
    ]
    if (file := config.getoption("--cpu-times")) is not None:
        file.write_text("".join(f"{cpu:.3f}\t{when}\t{test}\n" for test, when, cpu in phases), encoding="utf-8")
    terminalreporter.section("CPU time, in seconds of the reference machine")
    expensive = sorted(((cpu, test) for test, when, cpu in phases if when == "call" and cpu > EXPENSIVE), reverse=True)
    for cpu, test in expensive:
        terminalreporter.line(f"{cpu:6.1f} s  {test}")
    total = sum(cpu for _, _, cpu in phases)
    terminalreporter.line(f"{total:,.0f} s in all; {len(expensive)} tests above {EXPENSIVE:g} s")
    if (budget := config.getoption("--cpu-budget")) is not None:
        terminalreporter.line(f"budget: {budget:g} s, times {SLACK:g} for slack: {budget * SLACK:,.0f} s")
        if total > budget * SLACK:
            terminalreporter.line(
                "The tests take too long: make some cheaper, or mark what is slow by nature.", red=True
            )
            config.stash[TOO_LONG] = True


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None]:
    """Fail a run that is above its budget; the summary was printed within."""
    yield
    if session.config.stash.get(TOO_LONG, False) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
