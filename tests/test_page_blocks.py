"""Every block of every page runs, or has the reason on the page why not; and every option of a command is there.

A page is run in an empty folder, its Python with common names, and prints what it shows. Its commands in blocks of bash
are run on small files with the names that the page gives.
"""

import io
import json
import os
import re
import runpy
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("markdown_it", reason="the test extra is not installed")
pytest.importorskip("lightning", reason="the train extra is not installed")
pytest.importorskip("sklearn", reason="the plot extra is not installed")

from own_trees import QUIET
from page_blocks import PAGES, ROOT, Block, blocks, name, words
from transcripts import differences, transcript

from dgltree.cells import CELLS
from dgltree.commands.main import COMMANDS, main
from dgltree.encoders import SEQUENCE_ENCODERS
from dgltree.read.notations import NOTATIONS

pytestmark = [*QUIET, pytest.mark.filterwarnings("ignore:.*valid edges.*", "ignore:.*LeafSpec.*")]

BLOCKS = [block for page in PAGES for block in blocks(page)]
ELSEWHERE = {
    "docs/howto/inside.md",  # test_inside_page.py
    "docs/howto/own_ddp.md",  # test_process_pages.py
    "docs/howto/serving_marks.md",  # equations/test_serving_marks.py
}
"""Pages whose Python and transcripts are run by tests of their own."""
TRAINS = re.compile(r"dgltree fit|\b(?:fit|embed)\(")
KINDS = {"python", "bash", "console", "text", "json", "yaml", "math", "mermaid"}
SMALL = ["--epochs", "1", "--hidden-size", "8", "--baseline", "fast"]
"""Options that a training is run with here in addition."""

SERVED = "it starts a server; tests/equations/test_serving_marks.py sends it requests"


def of_kind(*kinds: str) -> dict[str, list[Block]]:
    """The blocks that are run, by their pages."""
    chosen = [block for block in BLOCKS if block.is_run and block.kind in kinds]
    return {page: [block for block in chosen if name(block.page) == page] for page in {name(b.page) for b in chosen}}


PYTHON = {page: found for page, found in of_kind("python", "console").items() if page not in ELSEWHERE}
BASH = of_kind("bash")


def test_every_block_has_a_kind_that_says_whether_it_runs() -> None:
    assert [f"{name(block.page)}:{block.line} {block.kind!r}" for block in BLOCKS if block.kind not in KINDS] == []


def test_a_page_that_says_that_the_tests_run_it_is_run() -> None:
    claims = re.compile(r"[Tt]he tests run (?:them|it|every command)")
    claiming = {name(page) for page in PAGES if claims.search(page.read_text(encoding="utf-8"))}
    assert len(claiming) > 1
    left = {(name(block.page), block.reason) for block in BLOCKS if name(block.page) in claiming and block.reason}
    assert left == {("docs/howto/serving_marks.md", SERVED)}


def marked(page: str) -> Any:
    """A page with the marker of slow tests if it trains."""
    slow = any(TRAINS.search(block.text) for block in PYTHON[page])
    return pytest.param(page, marks=[pytest.mark.slow] * slow)


@pytest.fixture
def kept_registries() -> Iterator[None]:
    """What a page registers is gone after its test."""
    registries: tuple[Any, ...] = (CELLS, SEQUENCE_ENCODERS, NOTATIONS)
    entries = [dict(registry) for registry in registries]
    yield
    for registry, before in zip(registries, entries, strict=True):
        registry.clear()
        registry.update(before)


@pytest.mark.usefixtures("kept_registries")
@pytest.mark.parametrize("page", [marked(page) for page in sorted(PYTHON)])
def test_a_page_runs_and_prints_what_it_shows(page: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        for command, shown, found in transcript((ROOT / page).read_text(encoding="utf-8")):
            assert not shown or differences(shown, found) == [], command
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")


def write_small_files() -> None:
    """Small files with the names that pages give to a reader's own."""

    out = io.StringIO()
    with redirect_stdout(out):
        main(["sample"])
    head, *rows = out.getvalue().splitlines()[:121]
    for file in ("trees.tsv", "new.tsv"):
        Path(file).write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    for file in ("trees.csv", "new.csv"):
        lines = [",".join(line.split("\t")) for line in [head, *rows]]
        Path(file).write_text("\n".join(lines) + "\n", encoding="utf-8")
    Path("answers.csv").write_text('q,a,pupil\n"x^2 = 4, x = _",2,Ada\n"x^2 = 4, x = _",±2,Ben\n', encoding="utf-8")
    Path("sst").mkdir()
    for file in ("train", "dev", "test"):
        trees = [f"({i % 5} (2 It) ({i % 5} (2 is) ({i % 5} {'abcde'[i % 5]})))" for i in range(60)]
        Path(f"sst/{file}.txt").write_text("\n".join(trees) + "\n", encoding="utf-8")
    Path("ud").mkdir()
    for part, file in enumerate(("train", "dev", "test")):
        numbers = range(60 * part, 60 * part + 60)
        Path(f"ud/en-{file}.conllu").write_text("".join(map(sentence, numbers)), encoding="utf-8")
    orders = ({"order": {"user": {"age": i}, "items": ["a"] * (i % 3)}, "fraud": i % 3 == 0} for i in range(120))
    Path("orders.jsonl").write_text("".join(f"{json.dumps(order)}\n" for order in orders), encoding="utf-8")
    molecules = (f"{'C' * (i + 1)}O,{i % 9}.5" for i in range(120))
    Path("first_5k.tpsa.csv").write_text("\n".join(molecules) + "\n", encoding="utf-8")
    for package in ("first", "second"):
        Path("sources/all", package).mkdir(parents=True)
        functions = (f"def f{i}(x):\n    return x + {i}\n" for i in range(30))
        Path("sources/all", package, "a.py").write_text("\n".join(functions), encoding="utf-8")
    Path(".venv/lib").mkdir(parents=True)
    Path(".venv/lib/python3.11").symlink_to(Path(sys.executable).parents[1] / "lib" / "python3.11")


def sentence(number: int) -> str:
    """A sentence of a treebank, every other one a question."""
    mark = "?" if number % 2 else "."
    rows = [("They", "PRON", 2, "nsubj"), ("sleep", "VERB", 0, "root"), (mark, "PUNCT", 2, "punct")]
    table = [f"{i}\t{w}\t{w.lower()}\t{p}\t_\t_\t{h}\t{d}\t_\t_" for i, (w, p, h, d) in enumerate(rows, 1)]
    head = [f"# sent_id = {('weblog', 'email')[number % 2]}-{number}", f"# text = They sleep{mark}"]
    return "\n".join([*head, *table]) + "\n\n"


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(BASH))
def test_the_commands_of_a_page_run(page: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    write_small_files()
    for command in (command for block in BASH[page] for command in block.commands):
        given = words(command)
        if given[0] != "dgltree":
            subprocess.run(["bash", "-c", command], check=True, timeout=60)
            continue
        trained = given[1:2] == ["fit"]
        out, err = io.StringIO(), io.StringIO()
        try:
            with redirect_stdout(out), redirect_stderr(err):
                status = main(given[1:] + (SMALL if trained else []))
        except ModuleNotFoundError as error:
            pytest.skip(f"{error.name} is not installed")
        if "install it with" in err.getvalue():
            pytest.skip(err.getvalue())
        wrong_answers = given[1] in ("check", "complete", "verify")
        assert status == 0 or (wrong_answers and status == 1 and out.getvalue()), f"{command}: {err.getvalue()}"


@cache
def help_of(*command: str) -> str:
    """What a command says about its options; in this process, as each of fifty others would import torch."""
    out = io.StringIO()
    with redirect_stdout(out), pytest.raises(SystemExit) as ended, pytest.MonkeyPatch.context() as patched:
        if command[0] == "dgltree":
            main([*command[1:], "--help"])
        patched.setattr(sys, "argv", [*command, "--help"])
        patched.chdir(ROOT)
        warnings.filterwarnings("ignore", ".* found in sys.modules", RuntimeWarning)  # by another test
        runpy.run_module(command[0], run_name="__main__", alter_sys=True)
    assert not ended.value.code
    return out.getvalue()


def options(given: list[str]) -> set[str]:
    return {match[0] for word in given if (match := re.match(r"--?[A-Za-z][\w.-]*", word))}


def commands_of(program: str) -> list[str]:
    """All commands of a program in pages, run or not, the variables before them aside."""
    every = {command for block in BLOCKS for command in block.commands}
    return sorted(command for command in every if re.match(rf"(?:[A-Z_]+=\S+ )*(?:\S*/)?{program} ?", command))


DGLTREE = commands_of("dgltree")


@pytest.mark.parametrize("command", DGLTREE)
def test_the_options_of_a_command_are_there(command: str) -> None:
    given = words(command)
    assert given[1] in COMMANDS or given[1].startswith("-")
    if given[1] in COMMANDS:
        text = help_of("dgltree", given[1])
        assert [one for one in options(given[2:]) if not re.search(rf"(?<![\w-]){one}(?![\w-])", text)] == []


TASKS = commands_of("python -m tasks") + commands_of("python -m benchmarks")


@pytest.mark.slow
@pytest.mark.parametrize("command", TASKS)
def test_the_options_and_files_of_a_task_are_there(command: str) -> None:
    _, _, module, *rest = words(re.sub(r"[\[\]]|\[MORE ...\]", "", command))
    kind = [rest[0]] if rest and re.fullmatch(r"[a-z][a-z-]*", rest[0]) and module != "tasks.compare" else []
    if kind == ["verification"]:
        kind += rest[1:2]
    text = help_of(module, *kind)
    given = options(rest[: rest.index("--")] if "--" in rest else rest)
    assert [one for one in given if not re.search(rf"(?<![\w-]){re.escape(one)}(?![\w-])", text)] == []
    for file in (word for word in rest if word.endswith(".yaml")):
        assert (ROOT / file).is_file(), file


@pytest.mark.slow
def test_a_new_machine_prints_what_the_readme_shows(tmp_path: Path) -> None:
    """Warnings and the notes of a first import are output, too."""
    pytest.importorskip("dgl", reason="DGL is not installed")
    python, text = (next(b for b in blocks(ROOT / "README.md") if b.kind == kind) for kind in ("python", "text"))
    environment = {key: value for key, value in os.environ.items() if key != "DGLBACKEND"}
    environment |= {"HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    run = [sys.executable, "-c", python.text]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith(" ")]
    assert [re.sub(r"^\S+:\d+: ", "", line) for line in lines] == text.text.splitlines()
