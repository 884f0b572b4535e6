"""The public names of the library, and where the reference tells of them."""

import os
import re
from functools import cache
from pathlib import Path

import griffe
import roles

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
ENTRY = re.compile(r"^- \[`(dgltree[\w.]+)`\]\(\S*\)$", re.MULTILINE)
"""A name of the reference in the list of its page, with a link to its file; the site puts its docstring there."""


@cache
def library() -> griffe.Module:
    """dgltree as Griffe reads it, without importing it; docstrings as the site writes them."""
    loaded = griffe.load("dgltree", search_paths=[str(ROOT)], extensions=griffe.load_extensions(roles.Roles))
    assert isinstance(loaded, griffe.Module)
    return loaded


def exported() -> list[str]:
    """The names that ``dgltree`` and its packages export, the commands' apart: ``dgltree.cells.TreeLSTM``."""
    return [f"{module.path}.{name}" for module in _packages(library()) for name in module.exports or ()]


def entries() -> dict[str, str]:
    """The names that the reference has an entry for, and their pages."""
    pages = sorted(REFERENCE.glob("*.md"))
    return {name: page.name for page in pages for name in ENTRY.findall(page.read_text(encoding="utf-8"))}


def found(name: str) -> griffe.Object:
    """The object of a name; ``KeyError`` if it is not there."""
    thing = library().modules_collection[name]
    return thing.final_target if isinstance(thing, griffe.Alias) else thing


def overview(markdown: str) -> str:
    """A page of the reference with a table of its entries after its first paragraph, and their docstrings.

    A page without entries gets one of all that ``dgltree`` itself exports.
    """
    names = ENTRY.findall(markdown) or [name for name in exported() if name.count(".") == 1]
    rows = "".join(f"| [`{name.split('.')[-1]}`][{name}] | {_first_line(name)} |\n" for name in names)
    title, introduction, rest = (markdown.rstrip("\n") + "\n\n").split("\n\n", 2)
    entries = ENTRY.sub(r"\n::: \1\n", rest)
    return f"{title}\n\n{introduction}\n\n| name | |\n| --- | --- |\n{rows}\n{entries}"


def linked(markdown: str, folder: Path) -> str:
    """A page of the reference whose entries lead to their files; ``folder`` is the page's."""
    return ENTRY.sub(
        lambda entry: f"- [`{entry[1]}`]({os.path.relpath(str(found(entry[1]).filepath), folder)})", markdown
    )


def _packages(package: griffe.Module) -> list[griffe.Module]:
    inner = [member for member in package.modules.values() if member.is_init_module and member.name != "commands"]
    return [package, *(below for member in inner for below in _packages(member))]


def _first_line(name: str) -> str:
    docstring = found(name).docstring
    text = docstring.value.split("\n\n")[0] if docstring else ""
    return " ".join(text.split()).replace("|", "\\|")
