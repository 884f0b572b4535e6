"""CPU time of the tests: a pytest plugin that prints what is expensive and holds the whole to a budget.

    .venv/bin/python -m pytest -p cpu_time [--cpu-budget 480] [--cpu-times FILE]

Each test is charged with the CPU time of its own process and of the processes that it started and waited for. Other
programs on the machine hardly change it, unlike the time on the clock. The budget is in seconds of the machine on which
``REFERENCE`` was measured: a fixed loop of NumPy and Python tells how fast this one is.
"""

import os
import time
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest

REFERENCE = 0.195
"""Seconds of CPU of the loop on an idle core of an Intel Xeon (Sapphire Rapids, 2026-11-28)."""
SLACK = 1.2
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
        for _ in range(60):
            rows = np.tanh(rows @ rows.T / 300)
        found = {}
        for i in range(1_500_000):
            found[i % 1000] = found.get(i % 1000, 0) + i
        return time.process_time() - start

    return min(once() for _ in range(3))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Charge each phase of a test with what was spent since the one before; collection belongs to no test."""
    report = yield
    now = spent()
    report.cpu = now - getattr(item.session, "cpu_before", now)  # type: ignore[attr-defined]
    item.session.cpu_before = now  # type: ignore[attr-defined]
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if not hasattr(item.session, "cpu_before"):
        item.session.cpu_before = spent()  # type: ignore[attr-defined]


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
    terminalreporter.section("CPU time")
    expensive = sorted(((cpu, test) for test, when, cpu in phases if when == "call" and cpu > EXPENSIVE), reverse=True)
    for cpu, test in expensive:
        terminalreporter.line(f"{cpu:6.1f} s  {test}")
    total = sum(cpu for _, _, cpu in phases)
    terminalreporter.line(f"{total:,.0f} s in all; {len(expensive)} tests above {EXPENSIVE:g} s")
    if (budget := config.getoption("--cpu-budget")) is not None:
        speed = loop() / REFERENCE
        most = budget * speed * SLACK
        terminalreporter.line(
            f"budget: {budget:g} s, times {speed:.2f} for this machine and {SLACK:g} for slack: {most:,.0f} s"
        )
        if total > most:
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
