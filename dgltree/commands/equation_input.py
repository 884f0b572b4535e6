"""Commands for equations: those of a command line or of standard input, answered block by block.

Bad ones are reported and counted. A command reads, answers and prints; :meth:`EquationCommand.run` does all three.
"""

import argparse
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from dgltree.commands.options import describe_unknown, option_parser
from dgltree.read.json_text import write_json
from dgltree.support.refusal import attempt

_LONG_OPTION = re.compile("--[a-z][a-z-]{2,}")


class EquationInput(NamedTuple):
    """An equation as it was given, and what was understood, or why nothing was."""

    number: int
    text: str
    typed: Any
    """The result of the command's reader, or a ``ValueError``; a command gets only results."""
    from_input: bool = False
    """Whether it is a line of standard input, of which ``number`` is the number."""

    @property
    def place(self) -> str:
        """``3: `` of a line of standard input."""
        return f"{self.number}: " if self.from_input else ""

    @property
    def line(self) -> dict[str, int]:
        """Return the number of the line for JSON."""
        return {"line": self.number} if self.from_input else {}


def parser(name: str, what: str, examples: str, ranks: bool = True) -> argparse.ArgumentParser:
    """The options that all commands for equations have, and the model of those that rank."""
    made = option_parser(name, f"{what[0].upper()}{what[1:]}.", examples)
    made.add_argument(
        "equations",
        nargs="+",
        metavar="EQUATION",
        help="an equation as you would type it; - reads one equation per line from standard input",
    )
    if ranks:
        made.add_argument(
            "--model",
            default="default",
            metavar="NAME_OR_FILE",
            help="rank with the model in this file (default: the shipped model)",
        )
    add_names(made)
    made.add_argument(
        "--json",
        action="store_true",
        help="print a JSON object for each equation; if an equation is rejected, the object holds the error",
    )
    return made


def add_names(made: argparse.ArgumentParser) -> None:
    """The option on letters side by side."""
    made.add_argument(
        "--names",
        type=_names,
        default=(),
        metavar="NAME,NAME",
        help="read these letters side by side as one name, not as a product",
    )


def add_assumptions(made: argparse.ArgumentParser) -> None:
    """The option on what is assumed of variables."""
    made.add_argument(
        "--assume",
        action="append",
        default=[],
        metavar="TEXT",
        help='assume "T > 0", "x in [0, 2π)" or "n integer"; repeat the option for further variables',
    )


def _names(text: str) -> tuple[str, ...]:
    from dgltree.read.notation import is_name

    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if not is_name(name):
            raise argparse.ArgumentTypeError(f"{name!r} is not a name; write --names KE,PE")
    return names


def parse_arguments(made: argparse.ArgumentParser, arguments: list[str]) -> argparse.Namespace:
    """The options; what begins with - and is not an option is an equation."""
    options, equations = made.parse_known_args(shield_equations(made, arguments))
    options.equations += equations  # what argparse does not place because it comes after an option
    return options


def shield_equations(made: argparse.ArgumentParser, arguments: list[str]) -> list[str]:
    """An argument that begins with - and is not an option is an equation; a space before it tells argparse so.

    One such as --wieghts is a mistyped option, which ends the command; -x and --x (minus minus x) are equations.
    """
    options = set(made._option_string_actions)

    def shield(argument: str) -> str:
        if _LONG_OPTION.fullmatch(argument) and argument not in options:
            made.error(describe_unknown(argument, options))
        name = argument.split("=")[0] if argument.startswith("--") else argument
        is_option = argument in ("-", "--") or name in options
        return f" {argument}" if argument.startswith("-") and not is_option else argument

    return [shield(argument) for argument in arguments]


def count(text: str) -> int:
    """A whole number from 1, for argparse."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text.strip()!r} is not a whole number above 0")
    return int(text)


class EquationCommand(ABC):
    """One run of a command for equations.

    Args:
        as_json: whether answers are printed as JSON.
        names: runs of letters that are one name.
        block: equations that are answered together, between two updates of the progress bar.
    """

    def __init__(self, as_json: bool, names: Sequence[str] = (), block: int = 64) -> None:
        self.as_json = as_json
        self.names = names
        self.block = block

    @abstractmethod
    def read(self, text: str) -> "list[tuple[str, Any]]":
        """The equations of a line, each with its text. Raises ``ValueError`` for a text that cannot be read."""

    @abstractmethod
    def answer(self, block: list[EquationInput]) -> Sequence[Any]:
        """The answers in order. Raises ``ValueError`` if one cannot be given."""

    @abstractmethod
    def show(self, asked: EquationInput, found: Any) -> None:
        """Print one answer."""

    def answers(self, asked: Iterator[EquationInput]) -> Iterator[tuple[EquationInput, Any]]:
        """Each equation with its answer, or with the ``ValueError`` that says what is wrong with it, in order."""
        while some := list(islice(asked, self.block)):
            yield from self._answered(some)

    def run(self, texts: list[str]) -> int:
        """Answer block after block, in the order of the input, refused equations in their place; the exit code."""
        from tqdm import tqdm

        count = bad = 0
        with tqdm(unit="equation", delay=2, disable=None) as bar:
            for one, result in self.answers(self._asked(texts)):
                with bar.external_write_mode(file=sys.stdout):
                    fault = result if isinstance(result, ValueError) else attempt(self.show, one, result)
                    if fault is not None:
                        bad += 1
                        self._refuse(one, fault)
                count += 1
                bar.update()
        if not count:
            print("dgltree: no equations were given", file=sys.stderr)
        return 1 if bad or not count else 0

    def _asked(self, texts: list[str]) -> Iterator[EquationInput]:
        """All equations; blank lines count and are left out."""
        lines = ((line, text == "-") for text in texts for line in (_standard_input() if text == "-" else [text]))
        for number, (line, from_input) in enumerate(lines, 1):
            text = (line if isinstance(line, str) else line.decode("utf-8", "replace")).strip()
            if text:
                for one, typed in self._read(line, text):
                    yield EquationInput(number, one, typed, from_input)

    def _read(self, line: str | bytes, text: str) -> "list[tuple[str, Any]]":
        from dgltree.read.text import decode

        def read() -> "list[tuple[str, Any]]":
            return self.read((decode(line, "standard input") if isinstance(line, bytes) else line).strip())

        found = attempt(read)
        return [(text, found)] if isinstance(found, ValueError) else found

    def _answered(self, block: list[EquationInput]) -> Iterator[tuple[EquationInput, Any]]:
        """Each equation of a block, with its answer or with what is wrong with it."""
        from dgltree.ranking.completion import each

        answers = each(self.answer, [one for one in block if not isinstance(one.typed, ValueError)])
        for one in block:
            yield one, one.typed if isinstance(one.typed, ValueError) else next(answers)

    def _refuse(self, asked: EquationInput, error: ValueError) -> None:
        """Say what is wrong with an equation."""
        if self.as_json:
            print(write_json({"equation": asked.text, **asked.line, "error": str(error)}))
        shown = asked.text if len(asked.text) <= 120 else f"{asked.text[:100]} ..."
        print(f"dgltree: equation {asked.number}, {shown!r}: {error}", file=sys.stderr)


def _standard_input() -> Iterator[bytes]:
    """Yield the lines as they come; a thread that waits for one holds no lock that the program's end would need."""
    raw = getattr(sys.stdin.buffer, "raw", None)
    yield from sys.stdin.buffer if raw is None else iter(raw.readline, b"")
