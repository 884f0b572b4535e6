"""Equations and code that pages show, read from the library's files."""

import ast
import inspect
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
MATH = re.compile(r"^( *)\.\. math::(.*)\n((?:\1 +.*\n|\n)*)", re.MULTILINE)

WORD = re.compile(r"\\text\{[^}]*\}|\\[A-Za-z]+|([A-Za-z]{2,})")


def equation(where: str) -> str:
    """``FILE NAME``: the first equation in the docstring of a class or function."""
    path, name = where.split()
    docstring = ast.get_docstring(_definition(path, name))  # type: ignore[arg-type]
    found = MATH.search(f"{docstring}\n")
    if found is None:
        raise ValueError(f"{name} in {path} has no equation in its docstring")
    return displayed(found)


def code(where: str) -> str:
    """``FILE NAME``: the source of a class, function or method, without its docstring."""
    path, name = where.split()
    text = (ROOT / path).read_text(encoding="utf-8").splitlines()
    found = _definition(path, name)
    first = found.body[1] if ast.get_docstring(found) is not None else found.body[0]
    lines = text[found.lineno - 1 : found.body[0].lineno - 1] + text[first.lineno - 1 : found.end_lineno]
    return f'```python title="{path}"\n{textwrap.dedent(chr(10).join(lines))}\n```\n'


def displayed(math: re.Match[str]) -> str:
    """A directive ``.. math::`` as a displayed equation of the site."""
    text = upright(inspect.cleandoc(f"{math[2].strip()}\n{math[3]}").strip())
    if "&" in text or "\\\\" in text:
        text = f"\\begin{{aligned}}\n{text}\n\\end{{aligned}}"
    indent = math[1]
    return textwrap.indent(f"\n\\[\n{text}\n\\]\n\n", indent, lambda line: bool(line.strip()))


def file(path: str) -> str:
    """A whole file of the checkout as a block."""
    return f"```yaml\n{(ROOT / path.strip()).read_text(encoding='utf-8')}```\n"


def upright(math: str) -> str:
    """An equation whose words, such as drop and softmax, are no products of letters."""
    return WORD.sub(lambda found: f"\\mathrm{{{found[1]}}}" if found[1] else found[0], math)


def _definition(path: str, name: str) -> ast.ClassDef | ast.FunctionDef:
    """A class or function by its dotted name in a file of the checkout; ``ValueError`` where there is none."""
    found: ast.AST = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    for part in name.split("."):
        inner = [node for node in ast.iter_child_nodes(found) if getattr(node, "name", None) == part]
        if not inner:
            raise ValueError(f"{path} has no {name}")
        found = inner[0]
    assert isinstance(found, ast.ClassDef | ast.FunctionDef)
    return found
