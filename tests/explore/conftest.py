"""A client of the application, and a browser that looks at the page of the command."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from explore_page import COOKIE, HOST, TOKEN, Running
from own_trees import SMALL, graded_table

from dgltree.commands.main import main


@pytest.fixture(scope="session")
def opened() -> Any:
    """The shipped models; small ones with a stack, of lists and of sentences."""
    pytest.importorskip("starlette", reason="the explore extra is not installed")
    import torch

    from dgltree.batching.vocabulary import Vocabulary
    from dgltree.cells import TreeSMU
    from dgltree.encoders import TreeEncoder, make_encoder
    from dgltree.explore.open_models import open_all
    from dgltree.models import ClassifierReadout, EquationModel, EquationReadout, TreeModel
    from dgltree.ranking.pretrained import open_model

    found = open_all([])
    torch.manual_seed(0)
    cell = TreeSMU(open_model().cell.vocabulary, 8, stack_size=3, no_op=True)
    found.equations["stack"] = EquationModel(TreeEncoder(cell), EquationReadout()).eval()
    for name, kind, order, words in (
        ("lists", "on_lstm", "unlabelled", "[MAX [MIN ] 1 2 3"),
        ("sentences", "ordered_memory", "leaves", "the cat sees a dog"),
        ("beams", "beam_tree", "leaves", "the cat sees a dog"),
        ("merges", "crvnn", "leaves", "the cat sees a dog"),
        ("context", "efficient_beam_tree", "leaves", "the cat sees a dog"),
    ):
        vocabulary = Vocabulary([("phrase", 2), ("word", 0)], words.split())
        options = {"in_context": True} if name == "context" else {}
        encoder = make_encoder(kind, vocabulary, 8, order=order, **options)
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
def running() -> Iterator[Running]:
    pytest.importorskip("uvicorn", reason="the explore extra is not installed")
    made = Running()
    yield made
    made.end()


@pytest.fixture(scope="session")
def with_trees(fitted: Path) -> Iterator[Running]:
    made = Running(str(fitted / "model"), "--trees", str(fitted / "trees.tsv"))
    yield made
    made.end()


@pytest.fixture(scope="session")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The page of two models of one file, ``numbers`` and ``classes``: its labels are 0 to 85, its first test tree is
    large."""
    pytest.importorskip("lightning", reason="the train extra is not installed")
    folder = tmp_path_factory.mktemp("graded")
    (folder / "trees.tsv").write_text(graded_table(), encoding="utf-8")
    for name, task in (("numbers", "regress"), ("classes", "classify")):
        how = ["--task", task, "--no-baseline", *SMALL, "--epochs", "1"]
        assert main(["fit", str(folder / "trees.tsv"), "--out", str(folder / name), *how]) == 0
    made = Running(str(folder / "numbers"), str(folder / "classes"), "--trees", str(folder / "trees.tsv"))
    yield made
    made.end()


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    """A page whose console stays free of errors, but for those whose text ``page.expected`` is a part of."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    made = context.new_page()
    made.set_default_timeout(60_000)
    wrong: list[str] = []
    made.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    made.on("pageerror", lambda error: wrong.append(str(error)))
    made.wrong, made.expected = wrong, None
    yield made
    context.close()
    assert [text for text in wrong if made.expected is None or made.expected not in text] == []
