"""``dgltree check``."""

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from dgltree.commands.main import COMMANDS
from dgltree.commands.options import check_input, check_output_file, option_parser
from dgltree.read.json_text import write_json

EXAMPLES = """\
examples:
  dgltree check "(x + 1)^2 = _" "x^2 + 2x + 1" "x^2 + 1"
  dgltree check "2x^2 - 18 = _" "2(x^2 - 9)" --form factored
  dgltree check "x^2 = 16, x = _" "x = 4 or x = -4" "±4" -4 5 "no solution"
  dgltree check "x^2 - 5x + 6 = (x - _1)(x - _2)" "2, 3"
  dgltree check "2/3 = _" 0,667 "66,7%" --decimal comma --significant 3
  dgltree check "5 m + 20 cm = _" "5.2 m" "520 cm" 5.2 --units
  dgltree check "5/2 = _" "2 1/2" --mixed
  cat answers.txt | dgltree check "sqrt(x^2) = _" - --json
  dgltree check --table answers.csv --question-column q --answer-column a --id-column pupil
  dgltree check "x^2 = 4, x = _" --table answers.csv --points right=2,incomplete=share --to marks.csv

An answer is right if it makes the equation true wherever the rest of the equation has a real value. For a wrong answer,
the command prints a point that refutes it. If the question asks for an unknown, the answer must list all real
solutions.

The marks are:
  right
  form:        the answer is right, but not in the required form
  part:        the equation holds only on a part of the real line
  positive:    the equation holds only for positive letters
  incomplete:  solutions are missing
  wrong
  undecided
  unreadable:  the answer cannot be read; the reason is printed
  empty:       there is no answer
  not-asked:   the question cannot be read
  out-of-time

With --table, the command adds a mark, points and a sentence to each row, and writes the table to --to or to standard
output.
"""


ANY_PLACES = "any"
"""The value of ``--rounded`` without one."""


NEEDS = ()


def prepare(name: str, arguments: list[str]) -> argparse.Namespace:
    """The options. Raises ``FileNotFoundError`` and ``ValueError``."""
    from dgltree.commands.equation_input import shield_equations

    parser = _parser(name)
    options = parser.parse_intermixed_args(shield_equations(parser, _with_places(arguments)))
    check = _check_answer_options if options.table is None else _check_table_options
    check(parser, options)
    for path in (options.table, options.sentences):
        check_input(path)
    check_output_file(options.to)
    return options


def _check_answer_options(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.equation is None or not options.answers:
        parser.error("give an equation and answers, or --table")
    for option, value in (("--to", options.to), ("--id-column", options.id_column)):
        if value is not None:
            parser.error(f"{option} is for --table")


def _check_table_options(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.answers:
        parser.error("--table contains the answers; give at most one question for all answers")
    if options.to is not None:
        if options.json:
            parser.error("--json prints to the standard output; redirect it to a file with >")
        if not options.to.lower().endswith((".csv", ".tsv", ".parquet")):
            parser.error(f"--to {options.to}: a table is written as .csv, .tsv or .parquet")


def run(_: str, options: argparse.Namespace) -> int:
    """Run the command; the exit code."""
    from dgltree.equations.marking.marks import POINTS, read_points

    table_of_points = POINTS if options.points is None else read_points(options.points)
    options.sentences = _read_sentences(options.sentences)
    settings = {
        "form": options.form,
        "names": tuple(options.names),
        "rounded": options.rounded,
        "mixed": options.mixed,
        "units": options.units,
        "significant": options.significant,
        "decimal": options.decimal,
        "assume": tuple(options.assume),
    }
    if options.table is not None:
        from dgltree.commands.check_table import mark_table

        return mark_table(options, settings, table_of_points)
    return _mark_answers(options, settings, table_of_points if options.points is not None else None)


def _parser(name: str) -> argparse.ArgumentParser:
    from dgltree.commands.equation_input import add_assumptions, add_names, count
    from dgltree.equations.marking.forms import FORMS
    from dgltree.equations.marking.numerals import DECIMALS

    made = option_parser(name, f"{COMMANDS[name][1].capitalize()}.", EXAMPLES)
    made.add_argument("equation", nargs="?", metavar="EQUATION", help="an equation with a blank, as you would type it")
    made.add_argument(
        "answers",
        nargs="*",
        metavar="ANSWER",
        help="answers for the blank; - reads one answer per line from standard input",
    )
    made.add_argument("--form", choices=list(FORMS), help="the form that an answer must have")
    add_names(made)
    made.add_argument(
        "--decimal",
        choices=DECIMALS,
        help="the decimal mark of the question and the answers (default: that of the decimals in the question)",
    )
    made.add_argument(
        "--rounded",
        nargs="?",
        const=True,
        default=False,
        type=_places,
        metavar="PLACES",
        help="accept a correctly rounded decimal, and add that it is rounded; --rounded=3 requires three decimal "
        "places",
    )
    made.add_argument(
        "--significant",
        type=count,
        metavar="N",
        help="accept a decimal that is rounded to N significant digits",
    )
    add_assumptions(made)
    made.add_argument("--mixed", action="store_true", help="read 2 1/2 as 2 + 1/2, and with --units also 1 h 30 min")
    made.add_argument(
        "--units",
        action="store_true",
        help="read names after numbers as units and compare quantities (needs the extra units)",
    )
    made.add_argument(
        "--points",
        metavar="MARK=N,...",
        help="points for each mark, such as right=2,form=1,incomplete=share (default: right=1). 'share' multiplies the "
        "points for 'right' by the fraction of right solutions minus the fraction of wrong ones",
    )
    made.add_argument("--seconds", type=positive, metavar="N", help="stop marking an answer after N seconds")
    made.add_argument(
        "--sentences",
        metavar="FILE",
        help="read your own wording from this JSON file of codes and sentence templates (docs/check_sentences.json "
        "lists all)",
    )
    made.add_argument("--json", action="store_true", help="print a JSON object for each answer")
    table = made.add_argument_group("tables")
    table.add_argument("--table", metavar="FILE", help="mark a CSV, TSV or Parquet file of answers; - reads CSV")
    table.add_argument("--question-column", default="question", metavar="NAME", help="default: question")
    table.add_argument("--answer-column", default="answer", metavar="NAME", help="default: answer")
    table.add_argument("--id-column", metavar="NAME", help="the column with the pupils' names, which messages quote")
    table.add_argument("--to", metavar="FILE", help="write the table to this .csv, .tsv or .parquet file")
    table.add_argument("--encoding", default="utf-8", metavar="NAME", help="encoding of the table (default: utf-8)")
    table.add_argument("--processes", type=count, metavar="N", help="mark in this many processes (default: up to 4)")
    return made


def _places(text: str) -> int | bool:
    """A whole number from 0, or True, for argparse."""
    if text == ANY_PLACES:
        return True
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text.strip()!r} is not a whole number of decimal places")
    return int(text)


def positive(text: str) -> float:
    """A number above 0, for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text.strip()!r} is not a number of seconds")
    return value


def _with_places(arguments: list[str]) -> list[str]:
    """Keep ``--rounded`` from taking the answer behind it: a number of places comes after ``=``.

    Raises ``ValueError`` for ``--rounded 3``, which could be both.
    """
    made: list[str] = []
    for place, argument in enumerate(arguments):
        following = arguments[place + 1] if place + 1 < len(arguments) else ""
        if argument == "--rounded" and following.isdigit() and len(following) <= 2:
            raise ValueError(
                f"'--rounded {following}' can mean {following} decimal places or the answer {following}; write "
                f"--rounded={following}, or the answer before --rounded"
            )
        made.append(f"{argument}={ANY_PLACES}" if argument == "--rounded" else argument)
    return made


def _read_sentences(path: str | None) -> dict[str, str]:
    """The sentences of a person's own. Raises ``ValueError`` for a file that has none."""
    from dgltree.equations.marking.sentences import check_sentences
    from dgltree.read.text import read_text

    if path is None:
        return {}
    try:
        table = json.loads(read_text(path).removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: line {error.lineno}, column {error.colno}: {error.msg}; expected JSON") from None
    if not isinstance(table, dict):
        raise ValueError(f'{path}: expected a JSON object, {{"right": "richtig"}}')
    return check_sentences(table)


def _mark_answers(options: argparse.Namespace, settings: dict[str, Any], table_of_points: Any) -> int:
    from dgltree.equations.marking.checker import Checker
    from dgltree.equations.marking.marks import Checked, Mark, points, unjudged

    equation = options.equation.strip()
    checker = Checker(equation, **settings)

    def mark(text: str) -> Checked:
        if options.seconds is None or not text:
            return checker.mark(text)
        from dgltree.equations.marking.check import MarkingTask, mark_within

        return mark_within(MarkingTask(equation, text, tuple(settings.items())), options.seconds)

    if not options.json:
        for note in checker.asked.notes:
            print(f"({note})")
    bad = 0
    for number, (line, text) in enumerate(_answers(options.answers), 1):
        checked = mark(text) if isinstance(text, str) else unjudged(Mark.UNREADABLE, "", error=str(text))
        text = text if isinstance(text, str) else ""
        given: dict[str, Any] = {"given": text} | ({} if line is None else {"line": line})
        earned = {} if table_of_points is None else {"points": points(checked, table_of_points)}
        if not checked.is_judged:
            bad += 1
            print(f"dgltree: answer {number}, {text!r}: {checked.error or checked}", file=sys.stderr)
        if options.json:
            notes = [*checker.asked.notes, *checked.notes]
            record = checked._replace(notes=tuple(notes)).record
            print(write_json({**given, **earned, **record, "sentence": checked.sentence(options.sentences)}))
        elif checked.mark is not Mark.UNREADABLE:
            _print_mark("" if line is None else f"{line}: ", checked, options.sentences, earned)
    return 1 if bad else 0


def _print_mark(before: str, checked: Any, sentences: dict[str, str], earned: dict[str, float]) -> None:
    sentence = checked.sentence(sentences) + "".join(f" [{value:g}]" for value in earned.values())
    if not checked.answer:
        print(f"{before}{sentence}")
        return
    lines = [before + checked.answer, sentence, *(f"({note})" for note in checked.noted(sentences))]
    print("\n      ".join(lines))


def _answers(texts: list[str]) -> Iterator[tuple[int | None, str | ValueError]]:
    """Yield the answers of the command line, and each line of standard input with its number.

    An empty line is an answer too: who left it empty has a mark of their own, and all below keep theirs. A line that is
    not UTF-8 text is an error.
    """
    from dgltree.read.text import decode

    for text in texts:
        if text != "-":
            yield None, text.strip()
            continue
        for number, line in enumerate(sys.stdin.buffer, 1):
            try:
                yield number, decode(line, f"line {number}").strip()
            except ValueError as error:
                yield number, error
