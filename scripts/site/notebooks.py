"""Notebooks of recipes, made while the site is built."""

import re

import nbformat
from nbformat import v4

BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?", re.DOTALL | re.MULTILINE)
PICTURE = re.compile(r"^!\[[^\]]*\]\([^)]*\)(?:\{[^}]*\})?\n", re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\((?!\w+:)[^)]*\)")
"""A link to another page, which is not next to the notebook."""
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def notebook(page: str) -> nbformat.NotebookNode:
    """The page's text and code as cells; what the page shows below a block is the output of its cell."""
    cells, end = [], 0
    for block in BLOCK.finditer(page):
        cells.append(v4.new_markdown_cell(_text(page[end : block.start()])))
        shown = [v4.new_output("stream", text=block["output"])] if block["output"] else []
        cells.append(v4.new_code_cell(block["code"].rstrip(), outputs=shown))
        end = block.end()
    cells.append(v4.new_markdown_cell(_text(page[end:])))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"  # the same in every build
    return v4.new_notebook(cells=[cell for cell in cells if cell["source"]], metadata={"kernelspec": KERNEL})


def written(page: str) -> str:
    """The file of the notebook of a page."""
    return nbformat.writes(notebook(page)) + "\n"


def _text(markdown: str) -> str:
    return LINK.sub(r"\1", PICTURE.sub("", markdown)).strip()
