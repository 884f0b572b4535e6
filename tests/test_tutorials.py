"""The tutorials run as they stand, from data to answers, and do what they say."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from transcripts import differences, transcript

from dgltree.cells import CELLS
from dgltree.commands.main import main
from dgltree.encoders import SEQUENCE_ENCODERS
from dgltree.read.notations import NOTATIONS

pytest.importorskip("lightning", reason="the train extra is not installed")
pytest.importorskip("sklearn", reason="the plot extra is not installed")

FOLDER = Path(__file__).parents[1] / "docs" / "tutorials"
TRANSCRIPTS = ("check_equations", "new_cell", "new_latent", "table", "../howto/layers", "../users", "../../README")
HOW_TOS = ("dgl_model", "faq", "gpu", "growing", "notation", "processes", "programs", "publish", "serving", "task")
BLOCK = re.compile(r"```(python|console)\n(.*?)```", re.DOTALL)
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*LeafSpec.*", "ignore:.*multi-threaded.*fork.*", "ignore:.*valid edges.*"
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a tutorial in an empty folder; returns what it printed, and its names."""
    monkeypatch.chdir(tmp_path)

    def run(name: str) -> tuple[str, dict[str, Any]]:
        names: dict[str, Any] = {}
        for kind, block in BLOCK.findall((FOLDER / name).read_text(encoding="utf-8")):
            if kind == "python":
                exec(block, names)
                continue
            for command in re.findall(r"^\$ dgltree (.*)", block, re.MULTILINE):
                names["code"] = main(shlex.split(command))
        return capsys.readouterr().out, names

    return run


@pytest.fixture(autouse=True)
def kept_registries() -> Iterator[None]:
    """What a page registers is gone after its test."""
    registries: tuple[Any, ...] = (CELLS, SEQUENCE_ENCODERS, NOTATIONS)
    entries = [dict(registry) for registry in registries]
    yield
    for registry, before in zip(registries, entries, strict=True):
        registry.clear()
        registry.update(before)


def metrics(folder: str) -> Any:
    return json.loads((Path(folder) / "card.json").read_text())["metrics"]["test"]


@pytest.mark.slow
def test_python_functions_are_told_by_what_they_do(run: Any) -> None:
    out, names = run("functions.md")
    assert "600 trees" in out
    assert metrics("runs/functions")["accuracy"] > 0.9
    *_, first, second, third = out.splitlines()
    assert [line.split("\t")[:2] for line in (first, second, third)] == [
        ["1.py", "largest"],
        ["2.py", "reverse"],
        ["3.py", ""],
    ]
    assert names["code"] == 1


@pytest.mark.slow
def test_values_of_expressions_are_told(run: Any) -> None:
    out, names = run("arithmetic.md")
    assert metrics("runs/values")["r2"] > 0.9
    assert names["model"].objective.labels_are_numbers
    assert "depth 4: mean error" in out
    assert names["code"] == 0


@pytest.mark.slow
def test_the_nearest_formula_is_of_the_same_family(run: Any) -> None:
    out, names = run("similar.md")
    assert names["same"] > 0.7
    assert out.count("is like") == 3


@pytest.mark.filterwarnings("ignore:.*R2Score.*")
def test_the_page_on_own_trees_runs(run: Any) -> None:
    pytest.importorskip("dgl", reason="DGL is not installed")
    _, names = run("../own_trees.md")
    assert names["probabilities"].shape == (2, 2)
    assert names["roots"].shape == (3, 16)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of jsonargparse, for what Lightning calls
@pytest.mark.parametrize("page", HOW_TOS)
def test_the_how_tos_run(run: Any, page: str) -> None:
    if page in ("dgl_model", "programs"):
        pytest.importorskip("dgl", reason="DGL is not installed")
    run(f"../howto/{page}.md")


@pytest.mark.parametrize("page", TRANSCRIPTS)
def test_the_transcripts_are_what_the_commands_print(page: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    for command, shown, found in transcript(text):
        assert differences(shown, found) == [], command


def test_effects_may_differ_and_ranks_and_subtrees_may_not() -> None:
    shown = ["1\t+90.5\t+9.26\t2", "    +90.5  [1]     2"]
    assert differences(shown, ["1\t+99.7\t+13.28\t2", "    -99.7  [1]     2"]) == []
    assert differences(shown, ["1\t+90.5\t+9.26\t3", "    +90.5        2"]) != []


def test_the_peak_memory_of_reading_is_not_compared() -> None:
    found = "9 nodes in 0.1 s, 90 a second; peak memory 1,413 MB, 1,411 MB in each reading process"
    assert differences(["9 nodes in 1.1 s, 8 a second; peak memory 261 MB"], [found]) == []


def test_a_line_that_differs_in_words_or_numbers_is_found() -> None:
    found = ["3 trees in 1.5 s", "accuracy 0.91", "a", "b"]
    assert differences(["3 trees in 9.0 s", "accuracy ~0.93", "...", "b"], found) == []
    assert differences(["3 trees in 9.0 s", "accuracy ~0.95", "...", "b"], found) != []
    assert differences(["4 trees in 1.5 s", "accuracy 0.92", "a"], found) == [
        "'4 trees in 1.5 s', and printed is '3 trees in 1.5 s'",
        "'accuracy 0.92', and printed is 'accuracy 0.91'",
        "'b' is printed, too",
    ]


def test_there_are_eleven_programs_each_under_40_lines() -> None:
    text = (FOLDER.parent / "howto" / "programs.md").read_text(encoding="utf-8")
    blocks = [block for kind, block in BLOCK.findall(text) if kind == "python"]
    assert len(blocks) == 12  # the first is what all begin with
    assert text.count("\n## ") == 11
    assert max(len(block.splitlines()) for block in blocks) < 40


def test_every_how_to_is_run() -> None:
    assert {path.stem for path in (FOLDER.parent / "howto").iterdir()} == {
        *HOW_TOS,
        *(page.split("/")[-1] for page in TRANSCRIPTS if page.startswith("../howto/")),
        "inside",  # test_inside_page.py
        "own_ddp",  # test_process_pages.py, as slurm is
        "slurm",
        "serving_marks",  # test_serving_marks.py
    }


def test_every_tutorial_is_run() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {
        "functions.md",
        "arithmetic.md",
        "similar.md",
        *(f"{page}.md" for page in TRANSCRIPTS if "/" not in page),
    }


GALLERY = {path.stem for path in (FOLDER.parent / "gallery").glob("*.md")} - {"index", "package"}  # slow: as a notebook
NEEDED = {"dgl_model": "dgl", "molecules": "rdkit"}


@pytest.mark.parametrize("page", sorted(GALLERY))
def test_a_page_of_the_gallery_prints_what_it_shows(page: str, tmp_path: Path, monkeypatch: Any) -> None:
    if page in NEEDED:
        pytest.importorskip(NEEDED[page], reason=f"{NEEDED[page]} is not installed")
    monkeypatch.chdir(tmp_path)
    text = (FOLDER.parent / "gallery" / f"{page}.md").read_text(encoding="utf-8")
    blocks = list(transcript(text))
    assert any(shown for _, shown, _ in blocks)
    assert [differences(shown, found) for _, shown, found in blocks if shown and differences(shown, found)] == []
