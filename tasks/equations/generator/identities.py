"""The files of equations that a person wrote: what equations grow from, and what no set may hold."""

from pathlib import Path

from dgltree import Equation, read_equation
from dgltree.read.text import read_text

IDENTITIES = Path(__file__).with_name("identities.txt")
TEXTBOOK = Path(__file__).with_name("textbook.txt")


def read_lines(path: Path) -> list[Equation]:
    """The equations of a file, one a line; empty lines and lines that begin with # say nothing."""
    lines = (line.strip() for line in read_text(path).splitlines())
    return [read_equation(line) for line in lines if line and not line.startswith("#")]
