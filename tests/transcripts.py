"""Transcripts in pages: their commands and Python are run, and what they print is compared with the page."""

import io
import re
import shlex
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dgltree.commands.main import main

BLOCK = re.compile(
    r"(^<!-- not run: [^\n]+ -->\n\n)?^```(python|console|text|bash)\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
MEASURED = re.compile(r"(?<=; peak memory ).*|\d[\d,.]*(?= (?:s\b|MB\b|a second))")
EFFECT = re.compile(r"[-+]\d+\.\d+(?=\t|  )")
"""Of a subtree: it depends on the last bits of a training, and these on the processor."""
ABOUT = re.compile(r"~(\d+\.\d+)")
SPREAD = 0.03
"""In a page ``~0.96`` is a number that differs between machines, by this much at most."""
ONCE = "dgltree: compiling kernels"
"""Begins the line that the first training on a machine prints."""
ELIDED = "..."


def commands(block: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a block of a terminal, each with the lines that it prints."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *lines = part.splitlines()
        while command.endswith("\\"):
            command = command[:-1] + lines.pop(0)
        yield command, lines


def printed(command: str) -> list[str]:
    """The lines that ``dgltree ... [> FILE] [| head -N]`` prints, those on the standard error among them."""
    text, _, count = command.partition(" | head -")
    text, _, file = text.partition(" > ")
    name, *arguments = shlex.split(text)
    assert name == "dgltree", command
    out = io.StringIO()
    err = io.StringIO() if file else out
    with redirect_stdout(out), redirect_stderr(err):
        main(arguments)
    if file:
        Path(file.strip()).write_text(out.getvalue(), encoding="utf-8")
        out = err
    return [line for line in out.getvalue().splitlines() if not line.startswith(ONCE)][: int(count) if count else None]


def transcript(page: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Run a page in the working folder: commands and Python with what the page shows, and what they print.

    A block of Python whose first line is a comment with a file's name is written to that file. The output of
    another one, with its warnings, is the text after it. Blocks that are not run, by the page, are left out.
    """
    names: dict[str, Any] = {}
    blocks = [(kind, block) for left_out, kind, block in BLOCK.findall(page) if not left_out]
    for number, (kind, block) in enumerate(blocks):
        if kind == "console":
            for command, lines in commands(block):
                yield command, lines, printed(command)
        elif kind == "python" and (file := re.match(r"# (\w+\.py)\n", block)):
            Path(file[1]).write_text(block, encoding="utf-8")
        elif kind == "python":
            if re.search(r"^import dgl\b", block, re.MULTILINE) and find_spec("dgl") is None:
                continue
            out = io.StringIO()
            with redirect_stdout(out), redirect_stderr(io.StringIO()), warnings.catch_warnings(record=True) as warned:
                as_python_starts()
                exec(block, names)
            for line in dict.fromkeys(f"{one.category.__name__}: {one.message}" for one in warned):
                print(line, file=out)
            shown = blocks[number + 1][1] if blocks[number + 1 : number + 2] and blocks[number + 1][0] == "text" else ""
            yield block, shown.splitlines(), out.getvalue().splitlines()


def as_python_starts() -> None:
    """Show the warnings that a reader of the page sees: what Python shows by itself."""
    warnings.resetwarnings()
    warnings.simplefilter("default")
    for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", category)


def differences(shown: list[str], found: list[str]) -> list[str]:
    """The shown lines that were not printed, as :func:`alike` compares them, and printed lines that are not shown."""
    wrong, at = [], 0
    for number, line in enumerate(shown):
        if line == ELIDED:
            rest = shown[number + 1 :]
            at = len(found) - (rest.index(ELIDED) if ELIDED in rest else len(rest))
            continue
        if at >= len(found) or not alike(line, found[at]):
            wrong.append(f"{line!r}, and printed is {found[at]!r}" if at < len(found) else f"{line!r} is not printed")
        at += 1
    return wrong + [f"{line!r} is printed, too" for line in found[at:]]


def alike(shown: str, found: str) -> bool:
    """Whether two lines are the same, except for seconds, memory, effects, and what the page gives as ``~0.96``."""
    page, text = (re.sub(r" +", " ", EFFECT.sub("#", MEASURED.sub("#", line)).rstrip()) for line in (shown, found))
    parts = ABOUT.split(page)
    match = re.fullmatch(r"(\d+\.\d+)".join(map(re.escape, parts[::2])), text)
    return match is not None and all(
        abs(float(a) - float(b)) <= SPREAD for a, b in zip(parts[1::2], match.groups(), strict=True)
    )
