"""Fixtures that all tests share."""

import asyncio
import gc
import importlib.metadata
import importlib.util
import os
import shutil
import sys
import time
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
if importlib.util.find_spec("numba") is None:
    os.environ["DGLTREE_KERNELS"] = "off"  # which is to be told, and a warning fails a test
else:  # compiled code of these very files: Numba itself looks at one file a kernel, not at those that it calls
    sources = b"".join(file.read_bytes() for file in sorted((ROOT / "dgltree" / "engine" / "kernels").glob("*.py")))
    sources += importlib.metadata.version("numba").encode()  # scripts/lowest tests with another one
    os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / "build" / "kernels" / f"{zlib.crc32(sources):08x}"))

os.environ.setdefault("DGLTREE_CACHE", str(ROOT / "build"))  # no test writes into the home of whoever runs it

try:
    from hypothesis import HealthCheck, settings
except ModuleNotFoundError:  # the tests of a GPU need torch, numpy and pytest alone
    pass
else:
    # An example may import Lark or SymPy: no deadline. The same examples every time: no surprise on another machine.
    settings.register_profile("steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("steady")
    settings.register_profile("fast", settings.get_profile("steady"), max_examples=10)


TRAINING = (b"lightning", b"fitted")  # what a file of tests names that trains
MANY, EVERY = 6, 6  # --fast runs one of so many cases of a test that has many


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--clock", type=float, help="let time go by this many times as fast for what is tested")
    parser.addoption("--fast", action="store_true", help="leave out tasks, what trains and most cases")


def _speed_up(name: str, factor: float) -> None:
    """Replace a clock of ``time``; what was imported before, as pytest itself, keeps the true one."""
    clock, start = getattr(time, name), getattr(time, name)()
    setattr(time, name, lambda: start + factor * (clock() - start))


def pytest_configure(config: pytest.Config) -> None:
    if (factor := config.getoption("--clock")) is not None:
        monotonic = time.monotonic
        asyncio.BaseEventLoop.time = lambda self: monotonic()  # type: ignore[method-assign]  # it waits true seconds
        for name in ("perf_counter", "monotonic"):
            _speed_up(name, factor)
    if config.getoption("--fast"):
        from hypothesis import settings

        settings.load_profile("fast")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Whether ``--fast`` leaves a file out; None leaves that to others."""
    if not config.getoption("--fast"):
        return None
    if collection_path.is_dir():
        return True if collection_path in (ROOT / "tests" / "tasks", ROOT / "tests" / "benchmarks") else None
    text = collection_path.read_bytes()
    return True if any(name in text for name in TRAINING) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """While all is imported and collected, which stays, nothing is looked through for garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """What was imported and collected, a million objects, is not looked through for garbage again."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test of many cases, ``--fast`` runs every sixth."""
    if not config.getoption("--fast"):
        return
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.split("[")[0], []).append(item)
    items[:] = [case for of in cases.values() for case in (of[::EVERY] if len(of) > MANY else of)]


@pytest.fixture(autouse=True)
def pictures(request: pytest.FixtureRequest) -> Iterator[None]:
    """A training within a test leaves empty files for its pictures.

    They are painted in fixtures of sessions and modules, in tests with the marker ``painted``, and in the first
    training of a process, which imports what makes them.
    """
    needed = {"dgltree.training.finishing", "dgltree.plotting.charts"}
    if request.node.get_closest_marker("painted") or not needed <= sys.modules.keys():
        yield
        return
    from pictures import unpainted

    with unpainted():
        yield


@pytest.fixture(scope="session")
def published() -> Path:
    """The folder of published data."""
    folder = os.environ.get("DGLTREE_DATA")
    if not folder:
        pytest.skip("DGLTREE_DATA does not name the folder of published data")
    return Path(folder)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Debian's browser, one for all tests: Playwright refuses a second one while the first is open."""
    api = pytest.importorskip("playwright.sync_api", reason="the test extra is not installed")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium is installed: apt-get install --no-install-recommends chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def start_page(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The start page of a freshly built documentation site."""
    from test_site import build, copy_project

    folder = tmp_path_factory.mktemp("search") / "site"
    copy_project(folder)
    built = build(folder)
    assert built.returncode == 0, built.stderr
    page = chromium.new_page()
    page.goto((folder / "build" / "site" / "index.html").as_uri())
    yield page
    page.close()


@pytest.fixture
def cells_as_before() -> Iterator[None]:
    """The cells that a test registers are forgotten after it."""
    from dgltree.cells import CELLS

    before = dict(CELLS)
    yield
    CELLS.clear()
    CELLS.update(before)


@pytest.fixture(scope="session")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``trees.tsv`` and in ``model`` what ``dgltree fit`` made of it."""
    pytest.importorskip("lightning", reason="the train extra is not installed")
    from own_trees import SMALL, table

    from dgltree.commands.main import main

    folder = tmp_path_factory.mktemp("own")
    (folder / "trees.tsv").write_text(table(400), encoding="utf-8")
    arguments = ["fit", str(folder / "trees.tsv"), "--out", str(folder / "model"), *SMALL, "--epochs", "6", "--no-unk"]
    assert main(arguments) == 0
    return folder


@pytest.fixture(scope="session")
def fitted_numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the model returns numbers of shape numbers."""
    pytest.importorskip("lightning", reason="the train extra is not installed")
    from own_trees import SMALL, table

    from dgltree.commands.main import main

    folder = tmp_path_factory.mktemp("numbers")
    (folder / "trees.tsv").write_text(table(100, "value"), encoding="utf-8")
    arguments = ["fit", str(folder / "trees.tsv"), "--out", str(folder / "model"), *SMALL, "--epochs", "1", "--no-unk"]
    assert main(arguments) == 0
    return folder / "model"
