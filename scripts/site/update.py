"""Renew what pages have from other files: quoted code and equations, pictures of networks and charts, the names
of the reference, the list of packages. ``scripts/docs update`` does; ``tests/test_pages.py`` fails while a page is
behind its files."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import bars
import diagrams
import public
import quotes

PICTURE = re.compile(r"\]\((pictures/(networks|charts)/\w+)\.svg\)")

PACKAGES = re.compile(r"(?<=<!-- packages -->\n).*?(?=<!-- end -->)", re.DOTALL)


def package_list() -> str:
    """The packages in the order of the layers that ``pyproject.toml`` demands, with the first line of each."""
    setup = tomllib.loads((quotes.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = setup["tool"]["importlinter"]["contracts"][0]["layers"]
    lines = []
    for name in " | ".join(layers).replace("dgltree.", "").split(" | "):
        source = (quotes.ROOT / "dgltree" / name / "__init__.py").read_text(encoding="utf-8")
        summary = (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]
        lines.append(f"{name:13} {summary.replace('``', '')}")
    return "\n".join(["```text", *lines, "```", ""])


def updated() -> Iterator[tuple[Path, str]]:
    """The pages and pictures that are made from other files, each with the text that it should have."""
    for page in sorted((quotes.ROOT / "docs").rglob("*.md")):
        text = quotes.quoted(page.read_text(encoding="utf-8"), page.parent)
        text = PACKAGES.sub(lambda _: package_list(), text)
        yield page, public.linked(text, page.parent) if page.parent.name == "reference" else text
        for name, kind in PICTURE.findall(text):
            drawing = (page.parent / f"{name}.txt").read_text(encoding="utf-8")
            drawn = diagrams.diagram(drawing) if kind == "networks" else bars.chart(drawing, text)
            yield page.parent / f"{name}.svg", drawn


if __name__ == "__main__":
    for path, text in updated():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"{path.relative_to(quotes.ROOT)} is updated")
