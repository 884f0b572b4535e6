"""``python -m tasks.equations COMMAND``: equations to learn from, models that verify and complete them, and reports."""

import sys
from importlib import import_module
from typing import NamedTuple


class Command(NamedTuple):
    """The module whose ``main`` it runs, and what that does."""

    module: str
    does: str


COMMANDS = {
    "generate": Command("tasks.equations.generator.generate", "make data sets of labelled equations to a preset"),
    "verification": Command(
        "tasks.equations.verification.cli", "train an encoder to tell correct equations from wrong ones"
    ),
    "accuracy": Command("tasks.equations.verification.accuracy", "how well a model tells them, by depth"),
    "compositionality": Command(
        "tasks.equations.compositionality.command", "train and report the papers' tests of compositionality"
    ),
    "train": Command("tasks.equations.completion.train", "train a model to complete equations"),
    "shipped": Command("tasks.equations.shipped", "make the shipped model of equations from nothing"),
    "completion": Command("tasks.equations.completion.ranks", "rank fillers for the published blanks, or for our own"),
    "own-blanks": Command("tasks.equations.completion.own_blanks", "make blanks of our own in the published form"),
    "benchmark": Command("benchmarks.school.command", "how well solvers complete equations of school and first year"),
    "verdicts": Command("benchmarks.verdicts.command", "how many verdicts of the judge values of 60 digits contradict"),
    "solutions": Command("benchmarks.solutions.command", "solutions that are lost or false, against roots by a grid"),
    "textbook": Command("tasks.equations.completion.textbook", "the rank of a right filler for each textbook identity"),
    "fillers": Command("tasks.equations.fillers", "write the list of fillers that the shipped model ranks"),
    "held-out": Command("tasks.equations.generator.held_out", "write the digests of equations that no set may hold"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run a command; the exit status is its own."""
    name, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if name in ("-h", "--help"):
        print(usage())
        return 0
    if name not in COMMANDS:
        print(f"{usage()}\n\nno command {name!r}", file=sys.stderr)
        return 2
    return import_module(COMMANDS[name].module).main(rest) or 0


def usage() -> str:
    """The commands, one per line."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {command.does}" for name, command in COMMANDS.items()]
    return "\n".join(["usage: python -m tasks.equations COMMAND ...", "", *lines, "", "COMMAND --help says more"])


if __name__ == "__main__":
    raise SystemExit(main())
