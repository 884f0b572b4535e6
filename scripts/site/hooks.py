"""What the site adds to MkDocs: pages from beside docs/, and in pages what stands in other files."""

import re
from pathlib import Path
from typing import Any

import diagrams
import links
import public
import quotes
import steps
from mkdocs.structure.files import File

FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FENCES = {"equation": quotes.equation, "code": quotes.code, "diagram": diagrams.diagram}
"""Blocks with these names are written by us: what they name is put in their place."""
WIDE = {"index.md": ["navigation", "toc"], "networks.md": ["navigation"]}
"""Pages that take the place of what stands beside others."""


def on_files(files: Any, config: Any) -> Any:
    """With the pages of the tasks, the changelog and the guide for contributors at their own places, and KaTeX."""
    katex = links.ROOT / "dgltree/explore/static/vendor/katex"  # the page of `dgltree explore` brings it
    for path in filter(Path.is_file, katex.rglob("*")):
        where = f"assets/katex/{path.relative_to(katex).as_posix()}"
        files.append(File.generated(config, where, abs_src_path=str(path)))
    for path in links.outside():
        where = path.relative_to(links.ROOT).as_posix()
        files.append(File.generated(config, where, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The text of a page as the site shows it."""
    page.meta["hide"] = WIDE.get(page.file.src_uri, [])
    markdown = links.of_the_site(markdown, page.file.src_uri)
    if page.file.src_uri.startswith("reference/"):
        markdown = public.overview(markdown)
        page.meta["search"] = {"boost": 0.5}  # a question finds the guide first, a name its entry
    markdown = FENCED.sub(lambda fenced: FENCES.get(fenced[1], lambda _: fenced[0])(fenced[2]), markdown)
    return steps.marked(markdown, page.file.src_uri)
