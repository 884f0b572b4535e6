"""``dgltree verify``."""

from typing import TYPE_CHECKING, Any

from dgltree.commands.equation_input import EquationCommand, EquationInput, parsed, parser
from dgltree.commands.main import COMMANDS
from dgltree.read.json_text import write_json

if TYPE_CHECKING:
    from dgltree.equations.completion.answers import Verification
    from dgltree.read.typed import Typed

EXAMPLES = """\
examples:
  dgltree verify "sin(2x) = 2 sin x cos x" "-x = x"
  dgltree verify "sqrt(x^2) = x" --json
  dgltree verify "(x+1)^2 - 1 = x^2 + 2x = x(x+2)"    each step
  cat equations.txt | dgltree verify -

It says where an equation holds: everywhere (at complex points), on the reals, on positive reals, on a part of the
line; whether that is proved or tested; and where it does not hold, a point at which its sides differ.
"""


class VerifyCommand(EquationCommand):
    """Reads equations, verifies them and prints the verdicts."""

    def read(self, text: str) -> "list[tuple[str, Typed]]":
        """The equation, or those of a calculation in steps."""
        from dgltree.read.typed import read_steps

        return read_steps(text, self.names)

    def answer(self, block: list[EquationInput]) -> "list[Verification]":
        from dgltree.equations.completion.answers import verify

        return [verify(asked.typed.equation) for asked in block]

    def show(self, asked: EquationInput, found: "Verification") -> None:
        from dgltree.read.infix_writer import write_equation

        understood, notes = write_equation(found.equation), list(asked.typed.notes)
        if self.as_json:
            unit = {"imaginary_unit": found.unit} if found.unit else {}
            notes += [f"{found.variable} is a variable here"] if found.variable else []
            row: dict[str, Any] = {"equation": asked.text, **asked.line, "understood": understood}
            print(write_json({**row, **found.verdict.described, **unit, "notes": notes}))
        else:
            print("\n      ".join([asked.place + understood, str(found), *(f"({note})" for note in notes)]))


def run(name: str, arguments: list[str]) -> int:
    """Run the command; the exit code."""
    options = parsed(parser(name, COMMANDS[name][1], EXAMPLES, ranks=False), arguments)
    return VerifyCommand(options.json, options.names).run(options.equations)
