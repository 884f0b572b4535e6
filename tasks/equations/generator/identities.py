"""The files of equations that a person wrote: what equations grow from, and what no set may hold."""

from pathlib import Path
from typing import Literal

from dgltree import Equation, read_equation
from dgltree.read.text import read_text

World = Literal["paper", "elementary", "positive"]
"""Which identities equations grow from: the papers', which all presets of ``generate`` mean; those and the ones of all
elementary functions; those, and identities for positive real variables."""
WORLDS: tuple[World, ...] = ("paper", "elementary", "positive")
FOLDER = Path(__file__).with_name("identities")
TEXTBOOK = Path(__file__).with_name("textbook.txt")


def read_lines(path: Path) -> list[Equation]:
    """The equations of a file, one per line; empty lines and lines that begin with # say nothing."""
    lines = (line.strip() for line in read_text(path).splitlines())
    return [read_equation(line) for line in lines if line and not line.startswith("#")]


def identities(world: World) -> list[Equation]:
    """The identities of one file, those that a world has beyond the worlds before it."""
    return read_lines(FOLDER / f"{world}.txt")
