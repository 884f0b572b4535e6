"""``dgltree complete`` and ``dgltree verify``."""

import argparse
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from dgltree.commands.main import COMMANDS
from dgltree.read.json_text import write_json

EXAMPLES = """\
examples:
  dgltree complete "sin(x)^2 + _ = 1"
  dgltree complete "tan(x)*_ = sin(x)" --top 3 --json
  dgltree complete "x + _ = y" --any-variables --fillers my_fillers.txt
  dgltree verify "sin(2*x) = 2*sin(x)*cos(x)" "-x = x"
  cat equations.txt | dgltree verify -

Equations are infix: + - * / ^ (or **), brackets, names, numbers, pi, functions such as sin(x) and sqrt(x);
2*x, not 2x.

Beside the model's probability stands what numerical evaluation at random complex points says: the equation
holds, does not hold, or is undecided.
"""
BLOCK = 64  # equations answered between two updates of the progress bar
MANY = 32  # equations for which it pays to load Numba, if what it compiled is at hand


def run(name: str, arguments: list[str]) -> int:
    """Run ``complete`` or ``verify``; the exit code."""
    answer, what = {"complete": _complete, "verify": _verify}[name], COMMANDS[name][1]
    parser = argparse.ArgumentParser(
        prog=f"dgltree {name}",
        description=f"{what[0].upper()}{what[1:]}.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("equations", nargs="+", metavar="EQUATION", help="infix; - reads one a line from stdin")
    parser.add_argument("--model", default="default", metavar="NAME_OR_FILE", help="model (default: the shipped one)")
    parser.add_argument("--json", action="store_true", help="one JSON object an equation")
    parser.add_argument(
        "--no-check", action="store_true", help="leave out what numerical evaluation says of the answers"
    )
    if name == "complete":
        parser.add_argument("--top", type=_count, default=10, metavar="N", help="fillers to show (default: 10)")
        parser.add_argument("--fillers", metavar="FILE", help="your own fillers, one infix expression a line")
        parser.add_argument(
            "--any-variables", action="store_true", help="also offer fillers with variables that the equation lacks"
        )
    known = set(parser._option_string_actions)
    options, equations = parser.parse_known_args([_shielded(argument, known) for argument in arguments])
    options.equations += equations  # what argparse does not place because it stands behind an option
    from dgltree.engine.kernels.choice import kernels

    many = len(options.equations) >= MANY or "-" in options.equations
    with kernels("cached" if many else "off"):
        return answer(options)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text.strip()!r} is not a whole number from 1")
    return int(text)


def _shielded(argument: str, options: set[str]) -> str:
    """An argument that begins with - and is no option is an equation; a space before it tells argparse so."""
    name = argument.split("=")[0] if argument.startswith("--") else argument
    is_option = argument in ("-", "--") or name in options
    return f" {argument}" if argument.startswith("-") and not is_option else argument


class _Asked(NamedTuple):
    number: int
    text: str
    equation: Any


class _Report:
    """Bad equations are reported and counted; the rest is answered."""

    def __init__(self) -> None:
        self.bad = 0

    def __call__(self, number: int, text: str, error: ValueError) -> None:
        self.bad += 1
        print(f"dgltree: equation {number}, {text!r}: {error}", file=sys.stderr)


def _complete(options: argparse.Namespace) -> int:
    from dgltree.equations.ranker import Ranking, check_fillers, rank
    from dgltree.equations.shipped import open_model, read_fillers, shipped_fillers
    from dgltree.equations.truth import numeric_truth
    from dgltree.read.infix_writer import write_infix

    model = open_model(options.model)
    fillers = read_fillers(options.fillers) if options.fillers else shipped_fillers()
    check_fillers(fillers, model.cell.vocabulary)

    def answer(block: list[_Asked]) -> list[Ranking]:
        equations = [asked.equation for asked in block]
        return rank(model, equations, fillers, top=options.top, any_variables=options.any_variables)

    def show(asked: _Asked, ranking: Ranking) -> None:
        columns = map(write_infix, ranking.fillers), ranking.scores.tolist(), ranking.probabilities.tolist()
        names = ("filler", "score", "probability")
        rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        if not options.no_check:
            for row, filler in zip(rows, ranking.fillers, strict=True):
                row["check"] = str(numeric_truth(asked.equation.fill(filler)))
        if options.json:
            print(write_json({"equation": asked.text, "fillers": rows}))
            return
        width = max((len(row["filler"]) for row in rows), default=0)
        print(asked.text)
        for place, row in enumerate(rows, start=1):
            numbers = f"probability {row['probability']:.4f}  score {row['score']:+.3f}"
            print(f"{place:4}  {row['filler']:{width}}  {numbers}  {row.get('check', '')}".rstrip())

    return _answer_all(options.equations, answer, show)


def _verify(options: argparse.Namespace) -> int:
    from dgltree.equations.shipped import open_model
    from dgltree.equations.truth import numeric_truth
    from dgltree.equations.verify import verify

    model = open_model(options.model)

    def show(asked: _Asked, probability: float) -> None:
        check = {} if options.no_check else {"check": str(numeric_truth(asked.equation))}
        if options.json:
            print(write_json({"equation": asked.text, "probability": probability, **check}))
        else:
            print("  ".join([f"{probability:.4f}", *(f"{word:13}" for word in check.values()), asked.text]))

    return _answer_all(
        options.equations, lambda block: verify(model, [asked.equation for asked in block]).tolist(), show
    )


def _answer_all(
    texts: list[str], answer: Callable[[list[_Asked]], list[Any]], show: Callable[[_Asked, Any], None]
) -> int:
    """Answer block after block, in order; the exit code."""
    from tqdm import tqdm

    report = _Report()
    asked = _asked(texts, report)
    found = False
    with tqdm(unit="equation", delay=2, disable=None) as bar:
        while block := list(islice(asked, BLOCK)):
            found = True
            for one, result in _each(block, answer, report):
                with bar.external_write_mode(file=sys.stdout):
                    show(one, result)
            bar.update(len(block))
    if not found and not report.bad:
        print("dgltree: no equations were given", file=sys.stderr)
        return 1
    return 1 if report.bad else 0


def _asked(texts: list[str], report: _Report) -> Iterator[_Asked]:
    from dgltree.read.infix import read_equation
    from dgltree.read.text import decode

    number = 0
    for text in texts:
        for line in sys.stdin.buffer if text == "-" else [text]:
            number += 1
            try:
                line = decode(line, "standard input") if isinstance(line, bytes) else line
                line = line.strip()
                if line:
                    yield _Asked(number, line, read_equation(line))
            except ValueError as error:
                report(number, line if isinstance(line, str) else line.decode("utf-8", "replace").strip(), error)


def _each(
    block: list[_Asked], answer: Callable[[list[_Asked]], list[Any]], report: _Report
) -> Iterator[tuple[_Asked, Any]]:
    """The answers to a block; where one equation in it is bad, each is answered alone."""
    try:
        yield from zip(block, answer(block), strict=True)
    except ValueError as error:
        if len(block) == 1:
            report(block[0].number, block[0].text, error)
            return
        for asked in block:
            yield from _each([asked], answer, report)
