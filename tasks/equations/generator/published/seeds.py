"""The identities that the published equations grew from, and the faults of their process, to be left out one by one."""

from collections.abc import Collection
from pathlib import Path
from typing import Literal

from dgltree import read_equation
from dgltree.read.text import read_text
from tasks.equations.generator.rewrite import in_growing
from tasks.equations.words import Word

Fault = Literal["root", "misprint", "matching", "sympy"]
FAULTS: tuple[Fault, ...] = ("root", "misprint", "matching", "sympy")
"""Seeds that hold up to the sign of a root; the seed with two variables for one; rules whose repeated variables are not
compared; changed equations that count as wrong unless SymPy evaluates them to ``True``, instead of by numbers."""
FILE = Path(__file__).with_name("seeds.txt")


def seeds(faults: Collection[Fault] = FAULTS) -> list[Word]:
    """The seeds in the variables of growing equations, without those of faults that are left out."""
    found = []
    heading = ""
    for line in read_text(FILE).splitlines():
        if line.startswith("["):
            heading = line.strip("[]")
        elif line and not line.startswith("#") and (not heading or heading in faults):
            found.append(in_growing(read_equation(line)))
    return found
