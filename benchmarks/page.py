"""The page of ``dgltree explore``: its first paint, its answers, many clients at once, and its memory."""

import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.inputs import equations
from benchmarks.row import Row, Skipped
from dgltree import BLANK, Equation, write_equation

ROOT = Path(__file__).resolve().parents[1]
ASKED = 60
"""Equations whose answers are timed."""
CLIENTS = 10
REQUESTS = 1000
TYPE = """
() => new Promise((ready) => {
  const field = document.querySelector("#equation-text"), rows = document.querySelector(".guesses .rows-of-fillers");
  field.value = "tan(x) * _ = sin(x)";
  const start = performance.now();
  new MutationObserver((_, watch) => {
    if (!rows.querySelector('[data-filler="cos(x)"]') || rows.hasAttribute("aria-busy")) return;
    watch.disconnect();
    ready(performance.now() - start);
  }).observe(rows, { childList: true, subtree: true });
  field.dispatchEvent(new Event("input"));
})
"""
"""Milliseconds from a key to the list of the new text, of which 120 wait for the next key."""


def rows(device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The rows of the suite."""
    if device != "cpu":
        yield Skipped("the page", "its models run on the CPU")
        return
    asked = [write_equation(Equation(equation.left, BLANK)) for equation in equations(ASKED)]
    start = time.perf_counter()
    with _running() as (url, process):
        yield Row("from the command to the page's address", time.perf_counter() - start, "s", falling=True)
        yield from _paint(url, repeats)
        rank = _asking(url, "equation/rank", asked)
        rank(0), _spent(rank, len(asked))
        yield _answers("an answer from the list", _spent(rank, len(asked)), 300)
        yield _answers("what is understood of a text", _spent(_asking(url, "equation/read", asked), len(asked)), None)
        with ThreadPoolExecutor(1) as pool:
            searching = pool.submit(_spent, _asking(url, "equation/search", asked[:4] * 2), 8)
            yield _answers("an answer from the list next to a search", _spent(rank, len(asked)), None)
            searching.result()
        with ThreadPoolExecutor(CLIENTS) as pool:
            spent = list(pool.map(lambda _: _spent(_asking(url, "equation/rank", asked), 20), range(CLIENTS)))
        yield _answers(
            f"an answer from the list, {CLIENTS} clients at once", [one for many in spent for one in many], 300
        )
        yield from _memory(process.pid, _asking(url, "equation/rank", asked))


@contextmanager
def _running() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "dgltree", "explore", "--no-browser", "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split()[0], process
    finally:
        process.terminate()
        process.communicate()


def _paint(url: str, repeats: int) -> Iterator[Row | Skipped]:
    """The first paint with contents, and the first ranked filler, in Chromium with an empty cache."""
    chromium = shutil.which("chromium")
    if chromium is None:
        yield Skipped("first paint", "no chromium is installed")
        return
    from playwright.sync_api import sync_playwright

    paints, lists, typed, sizes = [], [], [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(repeats + 1):
            page = browser.new_page()
            received: list[int] = []
            network = page.context.new_cdp_session(page)
            network.send("Network.enable")
            network.on("Network.loadingFinished", lambda event, to=received: to.append(event["encodedDataLength"]))
            page.goto(url)
            page.locator(".guesses .list tbody tr").first.wait_for(state="attached")
            lists.append(page.evaluate("performance.now()"))
            paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
            page.wait_for_load_state("networkidle")
            sizes.append(sum(received) / 1024)
            typed.append(page.evaluate(TYPE))
            page.close()
        browser.close()
    yield Row("first paint", statistics.median(paints[1:]), "ms", 1000, 1000, falling=True)
    yield Row("the first ranked filler on the page", statistics.median(lists[1:]), "ms", falling=True)
    yield Row("from the last key to the new list", statistics.median(typed[1:]), "ms", falling=True)
    size = statistics.median(sizes[1:])
    yield Row("over the wire until nothing is loaded any more", size, "KB", 300, 300, falling=True)


def _asking(url: str, path: str, texts: list[str]) -> Callable[[int], None]:
    """Asks for the text of a number, over one connection."""
    address = urlsplit(url)
    assert address.hostname is not None
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    connection.request("GET", f"/?{address.query}")  # which opens the page
    opened = connection.getresponse()
    opened.read()
    headers = {"content-type": "application/json", "cookie": opened.headers["set-cookie"].partition(";")[0]}

    def ask(number: int) -> None:
        body = json.dumps({"text": texts[number % len(texts)], "model": "default"})
        connection.request("POST", f"/api/{path}", body, headers)
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != 200 or b'"error"' in said[:10]:
            raise RuntimeError(f"{path}: {answer.status} {said[:200]!r}")

    return ask


def _spent(ask: Callable[[int], None], count: int) -> list[float]:
    """Milliseconds of each question."""
    spent = []
    for number in range(count):
        start = time.perf_counter()
        ask(number)
        spent.append(1000 * (time.perf_counter() - start))
    return spent


def _answers(name: str, spent: list[float], aim: float | None) -> Row:
    median, slow = statistics.median(spent), sorted(spent)[int(0.95 * len(spent))]
    return Row(f"{name}, 95 of 100 within {slow:.0f} ms", median, "ms", aim, aim, falling=True)


def _memory(process: int, ask: Callable[[int], None]) -> Iterator[Row | Skipped]:
    status = Path(f"/proc/{process}/status")
    if not status.exists():
        yield Skipped("memory", "the system has no /proc")
        return
    before = _megabytes(status)
    _spent(ask, REQUESTS)
    after = _megabytes(status)
    yield Row(f"memory after {REQUESTS:,} answers more ({before:.0f} MB before)", after, "MB", falling=True)


def _megabytes(status: Path) -> float:
    [line] = [line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024
