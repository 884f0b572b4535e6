"""Equations that pages show, as they are in the library's files.

A page has them itself, so that any viewer shows them; ``scripts/docs update`` renews them. In a page, the block
below a line such as one of these is a quotation::

    <!-- dgltree/cells/tree_rnn.py TreeRNN -->               the first equation of a docstring
    [CITATION.cff](../CITATION.cff):                         a whole file
"""

import ast
import inspect
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
MATH = re.compile(r"^( *)\.\. math::(.*)\n((?:\1 +.*\n|\n)*)", re.MULTILINE)

WORD = re.compile(r"\\text\{[^}]*\}|\\[A-Za-z]+|([A-Za-z]{2,})")

QUOTATION = re.compile(
    r"^(?P<head><!-- (?P<file>\S+) (?P<owner>\S+) -->|"
    r"\[[\w.]+\]\((?P<whole>[\w./]+)\):)\n\n```(?P<kind>\w+)\n.*?^```$",
    re.DOTALL | re.MULTILINE,
)


def quoted(markdown: str, folder: Path) -> str:
    """The text of a page with its quotations as the files have them; ``folder`` is the page's."""

    def written(block: re.Match[str]) -> str:
        if block["owner"]:
            text = equation(ROOT / block["file"], block["owner"])
        else:
            text = (folder / block["whole"]).read_text(encoding="utf-8").rstrip("\n")
        return f"{block['head']}\n\n```{block['kind']}\n{text}\n```"

    return QUOTATION.sub(written, markdown)


def equation(path: Path, name: str) -> str:
    """The first equation in the docstring of a class or function."""
    docstring = ast.get_docstring(_definition(path, name))  # type: ignore[arg-type]
    found = MATH.search(f"{docstring}\n")
    if found is None:
        raise ValueError(f"{name} in {path} has no equation in its docstring")
    return aligned(found)


def aligned(math: re.Match[str]) -> str:
    """The equation of a directive ``.. math::``, without signs around it."""
    text = upright(inspect.cleandoc(f"{math[2].strip()}\n{math[3]}").strip())
    return f"\\begin{{aligned}}\n{text}\n\\end{{aligned}}" if "&" in text or "\\\\" in text else text


def displayed(math: re.Match[str]) -> str:
    """A directive ``.. math::`` as a displayed equation of the site."""
    return textwrap.indent(f"\n\\[\n{aligned(math)}\n\\]\n\n", math[1], lambda line: bool(line.strip()))


def upright(math: str) -> str:
    """An equation whose words, such as drop and softmax, are no products of letters."""
    return WORD.sub(lambda found: f"\\mathrm{{{found[1]}}}" if found[1] else found[0], math)


def _definition(path: Path, name: str) -> ast.ClassDef | ast.FunctionDef:
    """A class or function by its dotted name in a file; ``ValueError`` where there is none."""
    found: ast.AST = ast.parse(path.read_text(encoding="utf-8"))
    for part in name.split("."):
        inner = [node for node in ast.iter_child_nodes(found) if getattr(node, "name", None) == part]
        if not inner:
            raise ValueError(f"{path.name} has no {name}")
        found = inner[0]
    assert isinstance(found, ast.ClassDef | ast.FunctionDef)
    return found
