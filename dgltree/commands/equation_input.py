"""Equations of a command line or of standard input, answered one block after another; bad ones are told and counted."""

import argparse
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from dgltree.commands.options import option_parser
from dgltree.read.json_text import write_json

BLOCK = 64  # equations answered between two updates of the progress bar
MANY = 32  # equations for which it pays to load Numba, if what it compiled is at hand


class EquationInput(NamedTuple):
    """An equation as it was given, and what was understood."""

    number: int
    text: str
    typed: Any


Answer = Callable[[list[EquationInput]], list[Any]]
Show = Callable[[EquationInput, Any], None]


def parser(name: str, what: str, examples: str, ranks: bool = True) -> argparse.ArgumentParser:
    """The options that all commands for equations have, and the model of those that rank."""
    made = option_parser(name, f"{what[0].upper()}{what[1:]}.", examples)
    made.add_argument(
        "equations",
        nargs="+",
        metavar="EQUATION",
        help="an equation as you would type it; - reads the standard input, one on each line",
    )
    if ranks:
        made.add_argument(
            "--model",
            default="default",
            metavar="NAME_OR_FILE",
            help="rank with the model of this file (default: the shipped model)",
        )
    made.add_argument(
        "--json",
        action="store_true",
        help="print a JSON object for each equation, with an error for one that is refused",
    )
    return made


def parsed(made: argparse.ArgumentParser, arguments: list[str]) -> argparse.Namespace:
    """The options; what begins with - and is no option is an equation."""
    known = set(made._option_string_actions)
    options, equations = made.parse_known_args([_shielded(argument, known) for argument in arguments])
    options.equations += equations  # what argparse does not place because it stands behind an option
    return options


def count(text: str) -> int:
    """A whole number from 1, for argparse."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text.strip()!r} is not a whole number from 1")
    return int(text)


def answer_all(texts: list[str], as_json: bool, answer: Answer, show: Show, block: int = BLOCK) -> int:
    """Answer block after block, in order; the exit code."""
    from dgltree.engine.kernels.choice import kernels

    many = len(texts) >= MANY or "-" in texts
    with kernels("cached" if many else "off"):
        return _answer_all(texts, as_json, answer, show, block)


def _answer_all(texts: list[str], as_json: bool, answer: Answer, show: Show, block: int) -> int:
    from tqdm import tqdm

    report = _Report(as_json)
    asked = _asked(texts, report)
    found = False
    with tqdm(unit="equation", delay=2, disable=None) as bar:
        while some := list(islice(asked, block)):
            found = True
            for one, result in _each(some, answer, report):
                with bar.external_write_mode(file=sys.stdout):
                    show(one, result)
            bar.update(len(some))
    if not found and not report.bad:
        print("dgltree: no equations were given", file=sys.stderr)
        return 1
    return 1 if report.bad else 0


class _Report:
    """Bad equations are reported and counted; the rest is answered."""

    def __init__(self, as_json: bool) -> None:
        self.bad, self.as_json = 0, as_json

    def __call__(self, number: int, text: str, error: ValueError) -> None:
        self.bad += 1
        if self.as_json:
            print(write_json({"equation": text, "error": str(error)}))
        print(f"dgltree: equation {number}, {_cut(text)!r}: {error}", file=sys.stderr)


def _cut(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:100]} ..."


def _shielded(argument: str, options: set[str]) -> str:
    """An argument that begins with - and is no option is an equation; a space before it tells argparse so."""
    name = argument.split("=")[0] if argument.startswith("--") else argument
    is_option = argument in ("-", "--") or name in options
    return f" {argument}" if argument.startswith("-") and not is_option else argument


def _asked(texts: list[str], report: _Report) -> Iterator[EquationInput]:
    from dgltree.read.text import decode
    from dgltree.read.typed import read_typed

    number = 0
    for text in texts:
        for line in sys.stdin.buffer if text == "-" else [text]:
            number += 1
            try:
                line = decode(line, "standard input") if isinstance(line, bytes) else line
                line = line.strip()
                if line:
                    yield EquationInput(number, line, read_typed(line))
            except ValueError as error:
                report(number, line if isinstance(line, str) else line.decode("utf-8", "replace").strip(), error)


def _each(block: list[EquationInput], answer: Answer, report: _Report) -> Iterator[tuple[EquationInput, Any]]:
    """The answers to a block; a bad equation is reported."""
    from dgltree.equations.completion.batch_completion import each

    for asked, result in zip(block, each(answer, block), strict=True):
        if isinstance(result, ValueError):
            report(asked.number, asked.text, result)
        else:
            yield asked, result
