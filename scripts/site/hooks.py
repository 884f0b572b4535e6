"""Additions to MkDocs: pages from outside docs/, and in pages what is in other files."""

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
"""Pages that replace what is next to others."""

BOOSTS = {"reference/": 0.5, "tasks/": 0.6, "notes/": 0.5, "CHANGELOG": 0.3}
"""How much the search weighs pages with these beginnings: a question finds the guide first, a name its entry."""


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
    [boost] = [boost for start, boost in BOOSTS.items() if page.file.src_uri.startswith(start)] or [1.0]
    page.meta["search"] = {"boost": boost}
    markdown = FENCED.sub(lambda fenced: FENCES.get(fenced[1], lambda _: fenced[0])(fenced[2]), markdown)
    return steps.marked(markdown, page.file.src_uri)


def on_post_build(config: Any) -> None:
    """Put our rewriting of questions in front of the search of the theme, which has no place for one."""
    rewriting = Path(__file__).with_name("search.js").read_text(encoding="utf-8")
    [worker] = Path(config.site_dir).glob("assets/javascripts/workers/search.*.min.js")
    worker.write_text(rewriting + worker.read_text(encoding="utf-8"), encoding="utf-8")
