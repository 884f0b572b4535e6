"""The blocks of pages, each with the reason on the page why it is not run, and the commands in them."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "tasks").rglob("*.md")),
    *sorted((ROOT / "benchmarks").rglob("*.md")),
]
REASON = re.compile(r"<!-- not run: (.+) -->\s*")

PROGRAM = re.compile(r"(?:[A-Z_]+=\S+ )*(?:\S*/)?[a-z]+ ")
"""The beginning of a command; lines of a script are none."""


class Block(NamedTuple):
    """A fenced block of a page, its first line, and why it is not run ("" if it is)."""

    page: Path
    kind: str
    text: str
    line: int
    reason: str

    @property
    def is_run(self) -> bool:
        return not self.reason and self.kind in ("python", "bash", "console")

    @property
    def commands(self) -> list[str]:
        """The commands of a terminal in it, without comments and what they print."""
        text = re.sub(r"\\\n\s*", "", self.text)
        if self.kind == "console":
            return [line[2:] for line in text.splitlines() if line.startswith("$ ")]
        lines = (re.sub(r"(?:^|\s+)# .*|\s+#[ -].*", "", line) for line in text.splitlines())
        return [line for line in lines if PROGRAM.match(line)] if self.kind == "bash" else []


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page in their order."""
    before = ""
    for token in MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8")):
        if token.type == "fence":
            reason = REASON.fullmatch(before)
            kind = token.info.split(" ")[0]
            yield Block(page, kind, token.content, token.map[0] + 1, reason[1] if reason else "")  # type: ignore[index]
        if token.content.strip():
            before = token.content


def words(command: str) -> list[str]:
    """A command's words, without the variables before it and the file that it is written to."""
    parts = shlex.split(command)
    while parts and re.match(r"[A-Z_]+=", parts[0]):
        parts = parts[1:]
    ends = [i for i, part in enumerate(parts) if part in (">", "|")]
    return parts[: ends[0]] if ends else parts
