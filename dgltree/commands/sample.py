"""``dgltree sample``: a table of labelled trees to try the other commands on."""

import argparse
import sys

from dgltree.commands.main import COMMANDS
from dgltree.commands.options import option_parser
from dgltree.ranking.pretrained_files import FOLDER

EXAMPLES = """\
examples:
  dgltree sample > lists.tsv
  dgltree inspect lists.tsv
  dgltree fit lists.tsv --out runs/lists

The trees are nested lists of the digits 0 to 4 under max, min, first and last. The label of a tree is its value.
"""


NEEDS = ()


def prepare(name: str, arguments: list[str]) -> argparse.Namespace:
    """The options."""
    return option_parser(name, f"{COMMANDS[name][1].capitalize()}.", EXAMPLES).parse_args(arguments)


def run(*_: object) -> int:
    """Run the command; the exit code."""
    sys.stdout.write((FOLDER / "lists.tsv").read_text(encoding="utf-8"))
    return 0
