"""Pages read in any viewer: CommonMark with tables, and equations as GitHub writes them, leaves nothing raw in them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

markdown_it = pytest.importorskip("markdown_it", reason="the test extra is not installed")
from page_blocks import PAGES, ROOT  # noqa: E402

BLOCKS = {"", "python", "console", "text", "bash", "json", "yaml", "math", "toml", "mermaid"}
"""Kinds of blocks that viewers know."""
RAW = {
    r":::": "a directive of one site's builder",
    r"\{ ?[.:#]\w|\{ ?width=": "an attribute of one site's builder",
    r"^(?:!!!|\?\?\?|===)": "an admonition or a tab of one site's builder",
    r"\*\*|~~|``": "an emphasis that is not closed",
    r"\]\(|\]\[": "a link that is none",
    r"^\s*\|.*\|\s*$": "a table that is none; it needs a line before it and as many cells as its head",
}
MATH = re.compile(r"\$[^$\s](?:[^$\n]*[^$\s])?\$")
BRACKETS = re.compile(r"\\\(.*?\\\)|\\\[.*?\\\]", re.DOTALL)
CHANGED = re.compile(r"\\[^A-Za-z]")
"""A backslash that Markdown takes away, before an equation is read."""


def raw(markdown: str) -> Iterator[str]:
    """What a plain viewer shows as it is written, and what that is."""
    for token in markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown):
        line = token.map[0] + 1 if token.map else 0
        kind = token.info.split(" ")[0]
        if token.type == "fence" and kind not in BLOCKS:
            yield f"line {line}: a block of {kind!r}, which viewers do not know"
        if token.type == "inline":
            texts = [part.content for part in token.children if part.type == "text"]
            for pattern, meaning in RAW.items():
                yield from (f"line {line}: {text[:80]!r} is {meaning}" for text in texts if re.search(pattern, text))
            plain = re.sub(r"`+[^`]*`+", "", token.content)
            if BRACKETS.search(plain):
                yield f"line {line}: an equation between \\( and \\); write it between dollars, or in a block of math"
            for math in MATH.findall(plain):
                if CHANGED.search(math) or not any(math in text for text in texts):
                    yield f"line {line}: the equation {math} has what Markdown changes"


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_a_plain_viewer_shows_nothing_raw(page: Path) -> None:
    assert list(raw(page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "text",
    [
        "of \\(x\\)",
        "```diagram\na\n```",
        "::: dgltree.fit",
        "![a](b.png){ width=300 }",
        "!!! note\n    a",
        "**a",
        "$a*b*c$",
        "of $\\{x\\}$",
        "a\n| b | c |\n| - |\n",
        "=== a",
        "[a][b]",
    ],
)
def test_what_would_be_raw_is_found(text: str) -> None:
    assert len(list(raw(text))) >= 1


@pytest.mark.parametrize(
    "text", ["of $x_1 + h_{c_1}$ and $y_2$", "```math\n\\(a\\)\n```", "`\\(x\\)` costs 5 $", "**a** ~~b~~"]
)
def test_what_viewers_show_is_let_through(text: str) -> None:
    assert list(raw(text)) == []
