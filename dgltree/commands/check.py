"""``dgltree check``."""

import sys
from collections.abc import Iterator
from typing import Any

from dgltree.commands.main import COMMANDS
from dgltree.commands.options import option_parser
from dgltree.read.json_text import write_json

EXAMPLES = """\
examples:
  dgltree check "(x + 1)^2 = _" "x^2 + 2x + 1" "x^2 + 1"
  dgltree check "2x^2 - 18 = _" "2(x^2 - 9)" --form factored
  dgltree check "x^2 = 16, x = _" "x = 4 or x = -4" "±4" -4 5 "no solution"
  dgltree check "x^2 - 5x + 6 = (x - _1)(x - _2)" "2, 3"
  dgltree check "5 m + 20 cm = _" "5.2 m" "520 cm" 5.2 --units
  dgltree check "5/2 = _" "2 1/2" --mixed
  cat answers.txt | dgltree check "sqrt(x^2) = _" - --json

An answer is right if it makes the equation true wherever the rest of the equation has a real value. If it is wrong,
a point shows it. If an unknown is asked for, an answer lists all real solutions.
"""


def run(name: str, arguments: list[str]) -> int:
    """Run the command; the exit code."""
    from dgltree.commands.equation_input import add_names, shield_equations
    from dgltree.equations.checking.check import Checker
    from dgltree.equations.checking.forms import FORMS

    made = option_parser(name, f"{COMMANDS[name][1].capitalize()}.", EXAMPLES)
    made.add_argument("equation", metavar="EQUATION", help="an equation with a blank, as you would type it")
    made.add_argument(
        "answers",
        nargs="+",
        metavar="ANSWER",
        help="what goes into the blank; - reads the standard input, one per line",
    )
    made.add_argument("--form", choices=list(FORMS), help="the form that an answer has to have")
    add_names(made)
    made.add_argument(
        "--rounded", action="store_true", help="take a decimal that is the value rounded to its digits, and say so"
    )
    made.add_argument("--mixed", action="store_true", help="read 2 1/2 as 2 + 1/2")
    made.add_argument(
        "--units", action="store_true", help="read names after numbers as units, and compare them (the extra units)"
    )
    made.add_argument("--json", action="store_true", help="print a JSON object for each answer")
    options = made.parse_intermixed_args(shield_equations(made, arguments))
    checker = Checker(
        options.equation.strip(), options.form, options.names, options.rounded, options.mixed, options.units
    )
    if not options.json:
        for note in checker.asked.notes:
            print(f"({note})")
    bad = 0
    for number, (line, text) in enumerate(_answers(options.answers), 1):
        given: dict[str, Any] = {"given": text} | ({} if line is None else {"line": line})
        before = "" if line is None else f"{line}: "
        if not text:
            print(write_json({**given, "mark": "empty"}) if options.json else f"{before}no answer")
            continue
        try:
            checked = checker.check(text)
        except ValueError as error:
            bad += 1
            if options.json:
                print(write_json({**given, "error": str(error)}))
            print(f"dgltree: answer {number}, {text!r}: {error}", file=sys.stderr)
            continue
        if options.json:
            notes = [*checker.asked.notes, *checked.notes]
            print(write_json({**given, **checked.described, "notes": notes}))
        else:
            lines = [before + checked.answer, str(checked), *(f"({note})" for note in checked.notes)]
            print("\n      ".join(lines))
    return 1 if bad else 0


def _answers(texts: list[str]) -> Iterator[tuple[int | None, str]]:
    """Those of the command line; and of standard input each line with its number, an empty one too: who left it empty
    has a mark of their own, and all below keep theirs.
    """
    from dgltree.read.text import decode

    for text in texts:
        if text != "-":
            yield None, text.strip()
            continue
        for number, line in enumerate(sys.stdin.buffer, 1):
            yield number, decode(line, "standard input").strip()
