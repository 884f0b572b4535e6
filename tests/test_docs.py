"""Pages name only what is there: links, files, modules, names and commands."""

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import dgltree

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "tasks").rglob("*.md")),
    *sorted((ROOT / "benchmarks").rglob("*.md")),
]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
FOLDERS = "dgltree|tasks|tests|docs|scripts|benchmarks"
FILE = re.compile(rf"(?<![\w/.])(?:(?:{FOLDERS})/|\.ci/)[\w./]*\w")
NAME = re.compile(r"(?<![\w/.-])dgltree(?:\.\w+)+")
MODULE = re.compile(r"python -m ((?:tasks|benchmarks)[\w.]*)((?:\s+[a-z][\w|-]*)?)")

pages = pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def code(page: Path) -> list[str]:
    """What stands in backticks and in blocks of code, but for commands of an old commit."""
    text = page.read_text(encoding="utf-8")
    spans = re.findall(r"(?<!`)`([^`]+)`(?!`)", FENCED.sub("", text))
    blocks = [line for block in FENCED.findall(text) for line in block.splitlines()]
    return [part for part in [*spans, *blocks] if "git checkout" not in part]


def is_there(name: str) -> bool:
    """Whether a dotted name is a module, or what is found in one by its attributes."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        try:
            found: Any = import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                return find_spec(module) is not None and length == len(parts)  # it needs what is not installed
            continue
        for part in parts[length:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pages
def test_every_link_leads_to_a_page_and_a_heading(page: Path) -> None:
    for link in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pages
def test_every_file_that_is_named_is_there(page: Path) -> None:
    for part in code(page):
        for name in FILE.findall(part):
            if "NAME" in name:  # of a file to be written
                continue
            assert (ROOT / name).exists() or (page.parent / name).exists(), name


@pages
def test_every_file_that_is_named_without_its_folder_is_there(page: Path) -> None:
    """Below the page of a task, elsewhere anywhere in the project."""
    below = page.parent if page.name == "README.md" and page.parent != ROOT else ROOT
    there = [path.relative_to(ROOT) for top in FOLDERS.split("|") for path in (ROOT / top).rglob("*.py")]
    for part in code(page):
        if re.fullmatch(r"[\w/]+\.py", part) and not FILE.match(part):
            assert any(f"/{path}".endswith(f"/{part}") and (ROOT / path).is_relative_to(below) for path in there), part


@pages
def test_every_name_of_the_package_is_there(page: Path) -> None:
    for part in code(page):
        for name in NAME.findall(part):
            assert is_there(name), name


@pages
def test_every_command_of_a_task_is_there(page: Path) -> None:
    equations = import_module("tasks.equations.__main__")
    for part in code(page):
        for module, command in MODULE.findall(" ".join(part.split())):
            spec = find_spec(module)
            assert spec is not None, module
            assert not spec.submodule_search_locations or find_spec(f"{module}.__main__") is not None, module
            if module == "tasks.equations" and command:
                assert set(command.strip().split("|")) <= set(equations.COMMANDS), command


def test_every_public_name_stands_in_a_page() -> None:
    text = " ".join(part for page in PAGES for part in code(page))
    assert [name for name in dgltree.__all__ if not re.search(rf"\b{name}\b", text)] == []


def test_the_navigation_and_the_list_of_recipes_have_every_page() -> None:
    docs = ROOT / "docs"
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    assert {str(path.relative_to(docs)) for path in docs.rglob("*.md")} <= set(re.findall(r"[\w/]+\.md", navigation))
    recipes = {*LINK.findall((docs / "howto" / "index.md").read_text(encoding="utf-8")), "index.md", "faq.md"}
    assert {path.name for path in (docs / "howto").glob("*.md")} <= recipes


MOST_WORDS = {"README.md": 450, "CONTRIBUTING.md": 750}
MOST_WORDS_OF_ALL = 53_000


def test_pages_have_no_more_words_than_somebody_reads() -> None:
    """Replace words rather than add some."""
    every = [*PAGES, ROOT / "CHANGELOG.md"]
    words = {str(page.relative_to(ROOT)): len(page.read_text(encoding="utf-8").split()) for page in every}
    assert {page: words[page] for page, most in MOST_WORDS.items() if words[page] > most} == {}
    assert sum(words.values()) <= MOST_WORDS_OF_ALL


DAY = re.compile(r"20\d\d-\d\d-\d\d")
GUIDES = [page for page in (ROOT / "docs").glob("*.md") if page.name != "defaults.md"]


@pytest.mark.parametrize("page", GUIDES, ids=[page.name for page in GUIDES])
def test_a_guide_has_days_in_tables_only(page: Path) -> None:
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    assert [line for line in text.splitlines() if DAY.search(line) and not line.startswith("|")] == []


def test_nothing_is_to_be_installed_from_an_index_that_lacks_it() -> None:
    """dgltree is on no index: its extras come from a checkout, a wheel or a repository."""
    hint = re.compile(r"install[^\n`]*\bdgltree\[[\w,]*\](?! @ (?:file|git\+https)://)")
    files = [*PAGES, *(path for folder in ("dgltree", "tasks", "benchmarks") for path in (ROOT / folder).rglob("*.py"))]
    assert not [str(path) for path in files if hint.search(path.read_text(encoding="utf-8"))]
