"""A client of the application, and a browser that looks at the page of the command."""

import shutil
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from explore_page import COOKIE, HOST, TOKEN, Running


@pytest.fixture(scope="session")
def opened() -> Any:
    """The shipped models; small ones with a stack, of lists and of sentences."""
    pytest.importorskip("starlette", reason="the explore extra is not installed")
    import torch

    from dgltree.batching.vocabulary import Vocabulary
    from dgltree.cells import TreeSMU
    from dgltree.encoders import TreeEncoder, make_encoder
    from dgltree.equations.pretrained.shipped import open_model
    from dgltree.explore.open_models import open_all
    from dgltree.models import ClassifierReadout, EquationModel, EquationReadout, TreeModel

    found = open_all([])
    torch.manual_seed(0)
    cell = TreeSMU(open_model().cell.vocabulary, 8, stack_size=3, no_op=True)
    found.equations["stack"] = EquationModel(TreeEncoder(cell), EquationReadout()).eval()
    for name, kind, order, words in (
        ("lists", "on_lstm", "unlabelled", "[MAX [MIN ] 1 2 3"),
        ("sentences", "ordered_memory", "leaves", "the cat sees a dog"),
        ("beams", "beam_tree", "leaves", "the cat sees a dog"),
        ("merges", "crvnn", "leaves", "the cat sees a dog"),
    ):
        vocabulary = Vocabulary([("phrase", 2), ("word", 0)], words.split())
        encoder = make_encoder(kind, vocabulary, 8, order=order)
        found.sequences[name] = TreeModel(encoder, ClassifierReadout(8, 3), ("a", "b", "<i>c</i>")).eval()
    return found


@pytest.fixture(scope="session")
def client(opened: Any) -> Iterator[Any]:
    """Asks the application in this process."""
    pytest.importorskip("httpx", reason="the test extra is not installed")
    with warnings.catch_warnings():  # Starlette wants a successor of httpx
        warnings.simplefilter("ignore")
        from starlette.testclient import TestClient

    from dgltree.explore.app import make_app

    with TestClient(make_app(opened, [HOST], TOKEN), base_url=f"http://{HOST}", cookies=COOKIE) as made:
        yield made


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Debian's browser."""
    api = pytest.importorskip("playwright.sync_api", reason="the test extra is not installed")
    pytest.importorskip("uvicorn", reason="the explore extra is not installed")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium is installed: apt-get install --no-install-recommends chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    made = Running()
    yield made
    made.end()


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    """A page whose console stays free of errors."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    made = context.new_page()
    made.set_default_timeout(20_000)
    wrong: list[str] = []
    made.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    made.on("pageerror", lambda error: wrong.append(str(error)))
    made.wrong = wrong
    yield made
    context.close()
    assert wrong == []
