"""``dgltree verify``."""

from dgltree.commands.equation_input import EquationInput, answer_all, parsed, parser
from dgltree.commands.main import COMMANDS
from dgltree.read.json_text import write_json

EXAMPLES = """\
examples:
  dgltree verify "sin(2x) = 2 sin x cos x" "-x = x"
  dgltree verify "sqrt(x^2) = x" --json
  cat equations.txt | dgltree verify -

It says where an equation holds: everywhere (at complex points), on the reals, on positive reals, on a part of the
line; whether that is proved or tested; and where it does not hold, a point at which its sides differ.
"""


def run(name: str, arguments: list[str]) -> int:
    """Run the command; the exit code."""
    made = parser(name, COMMANDS[name][1], EXAMPLES, ranks=False)
    options = parsed(made, arguments)

    from dgltree.equations.completion.answers import Verification, verify
    from dgltree.read.infix_writer import write_equation
    from dgltree.read.typed import read_typed

    def show(asked: EquationInput, found: Verification) -> None:
        if options.json:
            unit = {"imaginary_unit": found.unit} if found.unit else {}
            row = {"equation": asked.text, "understood": write_equation(found.equation)}
            print(write_json({**row, **found.verdict.described, **unit, "notes": list(asked.typed.notes)}))
        else:
            notes = (f"({note})" for note in asked.typed.notes)
            print("\n      ".join([write_equation(found.equation), str(found), *notes]))

    def answer(block: list[EquationInput]) -> list[Verification]:
        return [verify(asked.typed.equation) for asked in block]

    return answer_all(options.equations, options.json, read_typed, answer, show)
