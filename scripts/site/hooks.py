"""Additions to MkDocs: pages from outside docs/, and in pages what is in other files."""

import configparser
import posixpath
import re
import subprocess
from pathlib import Path
from typing import Any

import home
import links
import notebooks
import public
import redirects
import steps
from mkdocs.structure.files import File

DRAWN = re.compile(r"!\[[^\]]*\]\((pictures/(?:networks|charts)/\w+\.svg)\)")
STYLE = re.compile(r"<style>.*?</style>\n", re.DOTALL)
WIDE = {"index.md": ["navigation", "toc"], "networks.md": ["navigation"]}
"""Pages that replace what is next to others."""

SCREENSHOTS = re.compile(r"pictures/(?:batch|equation|sequence|trees)\.png")
"""Pictures of a page in a browser, which keep their colours in the dark; the others are charts on white."""
PICTURE = re.compile(r'<img [^>]*?src="([^":]+)"[^>]*>')

BOOSTS = {"reference/": 0.5, "tasks/": 0.6, "benchmarks/": 0.6, "CHANGELOG": 0.3}
"""How much the search weighs pages with these beginnings: a question finds the guide first, a name its entry."""

NOTEBOOKS = ("howto/loops.md", "howto/graphs.md", "howto/research.md", "howto/data.md")
"""Recipes with a link to their notebook."""

SEARCH_DIALOG = 'class="md-search" data-md-component="search" role="dialog" aria-label="Search"'


def on_config(config: Any) -> Any:
    """Add the version, and the repository where git knows its public address."""
    setup = configparser.ConfigParser()
    setup.read(links.ROOT / "setup.cfg", encoding="utf-8")
    config.extra["release"] = setup["metadata"]["version"]
    command = ["git", "-C", str(links.ROOT), "config", "--get", "remote.origin.url"]
    config.repo_url = config.repo_url or public_address(subprocess.run(command, capture_output=True, text=True).stdout)
    return config


def public_address(remote: str) -> str | None:
    """The address of a repository for readers, without a name and a password; None for a path or for SSH."""
    found = re.fullmatch(r"(https?://)(?:[^/@]*@)?([^/@]+/.+?)(?:\.git)?/?\s*", remote)
    return found and found[1] + found[2]


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the tasks, the changelog and the guide for contributors, KaTeX, and notebooks of recipes."""
    katex = links.ROOT / "dgltree/explore/static/vendor/katex"  # the page of `dgltree explore` brings it
    for path in filter(Path.is_file, katex.rglob("*")):
        where = f"assets/katex/{path.relative_to(katex).as_posix()}"
        files.append(File.generated(config, where, abs_src_path=str(path)))
    for path in links.outside():
        where = path.relative_to(links.ROOT).as_posix()
        files.append(File.generated(config, where, abs_src_path=str(path)))
    for page in NOTEBOOKS:
        text = notebooks.written((links.ROOT / "docs" / page).read_text(encoding="utf-8"))
        files.append(File.generated(config, page.replace(".md", ".ipynb"), content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The text of a page as the site shows it."""
    page.meta["hide"] = WIDE.get(page.file.src_uri, [])
    if page.file.src_uri == "index.md":
        markdown = home.page(markdown)
    if page.file.src_uri.startswith("reference/"):
        markdown = public.overview(markdown)
    markdown = links.of_the_site(markdown, page.file.src_uri)
    if page.file.src_uri in NOTEBOOKS:
        markdown = markdown.replace("\n", f"\n\n[Download this page as a notebook]({page.file.name}.ipynb)\n", 1)
    [boost] = [boost for start, boost in BOOSTS.items() if page.file.src_uri.startswith(start)] or [1.0]
    page.meta["search"] = {"boost": boost}
    return steps.marked(DRAWN.sub(_in_the_page, markdown), page.file.src_uri)


def _in_the_page(picture: re.Match[str]) -> str:
    """A drawing as part of its page, whose colours it takes."""
    return STYLE.sub("", (links.ROOT / "docs" / picture[1]).read_text(encoding="utf-8"))


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Every picture leads to itself, at its full size."""

    def enlarged(picture: re.Match[str]) -> str:
        place = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.dest_uri), picture[1]))
        kind = "screenshot" if SCREENSHOTS.fullmatch(place) else "chart"
        return f'<a class="enlarge {kind}" href="{picture[1]}">{picture[0]}</a>'

    return PICTURE.sub(enlarged, html.replace("<th></th>", "<td></td>"))  # an empty cell is no heading


def on_post_page(output: str, **_: Any) -> str:
    """Name the search dialog, and distinguish the sections of a page from those of the site."""
    output = output.replace('class="md-search" data-md-component="search" role="dialog"', SEARCH_DIALOG)
    return re.sub(
        r'(<nav class="md-nav" aria-label=")(?=[^"]*"[^>]*>\s*<ul class="md-nav__list">)', r"\1Section ", output
    )


def on_post_build(config: Any) -> None:
    """Put our rewriting of questions in front of the search of the theme, and a page at each old address."""
    rewriting = Path(__file__).with_name("search.js").read_text(encoding="utf-8")
    [worker] = Path(config.site_dir).glob("assets/javascripts/workers/search.*.min.js")
    worker.write_text(rewriting + worker.read_text(encoding="utf-8"), encoding="utf-8")
    redirects.write(Path(config.site_dir))
