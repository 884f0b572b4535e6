"""Where a file of the checkout is in the site, and what becomes of a link to one.

docs/ is the site's root; the pages and pictures next to it keep their places (tasks/logic/README.md). A link to a file
of the library leads to its package in the reference, and one to any other file is its text, because the site names no
host at which the file could be seen.
"""

import os.path
import re
from functools import cache
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
PAGES = ("CHANGELOG.md", "CONTRIBUTING.md")
LINK = re.compile(
    r"(?P<code>^```.*?^```$|`[^`]+`)|!?\[(?P<text>(?:[^\[\]`]|`[^`]*`)*)\]\((?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)",
    re.DOTALL | re.MULTILINE,
)


def outside() -> list[Path]:
    """The files next to docs/ that the site shows."""
    folders = (ROOT / "tasks", ROOT / "benchmarks")
    tasks = [
        path
        for folder in folders
        for path in sorted(folder.rglob("README.md")) + sorted(folder.rglob("pictures/*.png"))
    ]
    return [*(ROOT / page for page in PAGES), *tasks]


def of_the_site(markdown: str, page: str) -> str:
    """The text of a page with its relative links made those of the site.

    Args:
        page: where it is in the site: ``trees.md``, ``tasks/logic/README.md``.
    """
    shown = {path.relative_to(ROOT).as_posix() for path in outside()}
    here = page if page in shown else f"docs/{page}"

    def replaced(link: re.Match[str]) -> str:
        if link["code"] or re.match(r"\w+:", link["target"]):
            return link[0]
        target = os.path.normpath(PurePosixPath(here).parent / link["target"])
        place = _place(target, shown)
        if place is None:
            return link["text"]
        relative = os.path.relpath(place, PurePosixPath(page).parent)
        text = _title(ROOT / target) if re.fullmatch(r"[\w/]+\.md", link["text"]) else link["text"]
        return link[0].replace(f"[{link['text']}]({link['target']}", f"[{text}]({relative}")

    return LINK.sub(replaced, markdown)


@cache
def _title(page: Path) -> str:
    """The title of a page, in place of the name of its file."""
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _place(target: str, shown: set[str]) -> str | None:
    """Where a path of the checkout is in the site; None: nowhere."""
    parts = PurePosixPath(target).parts
    if parts[0] == "docs":
        return "/".join(parts[1:])
    if parts[0] == "dgltree" and len(parts) > 2 and (ROOT / "docs" / "reference" / f"{parts[1]}.md").exists():
        return f"reference/{parts[1]}.md"
    return target if target in shown else None
