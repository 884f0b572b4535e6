"""``dgltree complete``."""

import argparse
from typing import Any

from dgltree.commands.asking import BLOCK, Asked, answer_all, count, parsed, parser
from dgltree.commands.main import COMMANDS
from dgltree.read.json_text import write_json

EXAMPLES = """\
examples:
  dgltree complete "sin(x)^2 + _ = 1"
  dgltree complete "x^2 - 5x + 6 = (x - 2)_" --top 3 --json
  dgltree complete "\\frac{1}{x} - \\frac{1}{x+1} = \\frac{1}{\\square}" --latex
  dgltree complete "x^2 - 5x + 6 = (x - _1)(x - _2)"
  dgltree complete "tan(x)*_ = sin(x)" --order score
  cat equations.txt | dgltree complete - --seconds 1

Equations as you type or paste them: 2x, sin^2 x, √x, |x|, LaTeX; the blank is _ or ?, several are _1, _2.

Fillers are searched for, and arithmetic says where each of them holds: everywhere (at complex points), on the
reals, or on positive reals. A network orders those that hold as a textbook would. --order score and --fillers
give the network's own ranking of a list instead, right and wrong ones.
"""


def run(name: str, arguments: list[str]) -> int:
    """Run the command; the exit code."""
    made = parser(name, COMMANDS[name][1], EXAMPLES)
    made.add_argument("--top", type=count, default=10, metavar="N", help="show this many fillers (default: 10)")
    made.add_argument("--latex", action="store_true", help="write equations and fillers in LaTeX")
    made.add_argument(
        "--seconds", type=_seconds, metavar="S", help="stop searching after this many seconds, and show what was found"
    )
    made.add_argument(
        "--budget", type=count, metavar="N", help="stop searching after this many values (default: 250000)"
    )
    made.add_argument(
        "--order",
        choices=("textbook", "score"),
        default="textbook",
        help="search and order what holds as a textbook would (default), or rank a list by the network's score",
    )
    made.add_argument(
        "--fillers",
        metavar="FILE",
        help="rank the fillers of a file by score; it has one infix expression on each line",
    )
    made.add_argument(
        "--any-variables",
        action="store_true",
        help="with --order score or --fillers: rank fillers with variables that the equation lacks, too",
    )
    options = parsed(made, arguments)
    if options.fillers or options.order == "score":
        return _rank(options)
    if options.any_variables:
        made.error("--any-variables is for --order score or --fillers: a search uses the equation's own variables")
    return _search(options)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError(f"{text.strip()!r} is no time in seconds above 0")
    return seconds


def _search(options: argparse.Namespace) -> int:
    from dgltree.equations.answers import completer
    from dgltree.equations.search.search import BUDGET

    made = completer(options.model, options.budget or BUDGET, options.seconds)

    def answer(block: list[Asked]) -> list[Any]:
        return [made.complete(asked.typed.equation, asked.typed.blanks, options.top) for asked in block]

    return answer_all(options.equations, options.json, answer, _shower(options), block=1)


def _rank(options: argparse.Namespace) -> int:
    from dgltree.equations.lists import FillerList
    from dgltree.equations.shipped import open_model, read_fillers, shipped_fillers

    fillers = read_fillers(options.fillers) if options.fillers else shipped_fillers()
    ranked = FillerList(open_model(options.model), fillers)

    def answer(block: list[Asked]) -> list[Any]:
        return ranked.complete([asked.typed.equation for asked in block], options.top, options.any_variables)

    return answer_all(options.equations, options.json, answer, _shower(options), BLOCK)


def _shower(options: argparse.Namespace) -> Any:
    from dgltree.equations.completion import Completion, Filler
    from dgltree.read.infix_writer import write_equation, write_infix
    from dgltree.read.latex_writer import write_latex, write_latex_equation

    write_one, write_whole = (write_latex, write_latex_equation) if options.latex else (write_infix, write_equation)

    def row(filler: Filler) -> dict[str, Any]:
        text = ", ".join(map(write_one, filler.trees))
        scored = {} if filler.score is None else {"score": filler.score}
        return {"filler": text, **scored, "verdict": str(filler.verdict), "source": filler.source}

    def show(asked: Asked, found: Completion) -> None:
        if options.json:
            understood = {"equation": asked.text, "understood": write_whole(found.equation), "blanks": found.blanks}
            effort = {"tried": found.tried, "seconds": round(found.seconds, 4), "stopped": found.stopped}
            print(write_json({**understood, "found": found.found, "fillers": list(map(row, found.fillers)), **effort}))
            return
        print(write_whole(found.equation))
        print("\n".join(found.lines(write_one)), flush=True)

    return show
