"""``dgltree verify``."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dgltree.commands.equation_input import EquationCommand, EquationInput, add_assumptions, parse_arguments, parser
from dgltree.commands.main import COMMANDS
from dgltree.read.json_text import write_json

if TYPE_CHECKING:
    from dgltree.equations.completion.verification import Verification
    from dgltree.equations.typed import Typed

EXAMPLES = """\
examples:
  dgltree verify "sin(2x) = 2 sin x cos x" "-x = x"
  dgltree verify "sqrt(x^2) = x" --json
  dgltree verify "sqrt(x^2) = x" --assume "x > 0"
  dgltree verify "log(x^2) = 2 log(x)" --why
  dgltree verify "(x+1)^2 - 1 = x^2 + 2x = x(x+2)"    each step
  cat equations.txt | dgltree verify -

The command reports where an equation holds: everywhere (at complex points), on the reals, on the positive reals, or on
part of the real line. It reports whether this is proved or tested and, if the equation fails, a point at which the
sides differ.
"""


NO_PROOF = "(proofs are printed only for equations in one real variable whose functions have rules)"


class VerifyCommand(EquationCommand):
    """Reads equations, verifies them and prints the verdicts.

    Args:
        as_json, names: as of every command for equations.
        why: whether the proofs are printed.
        assume: of the variables.
    """

    def __init__(self, as_json: bool, names: Sequence[str] = (), why: bool = False, assume: Sequence[str] = ()) -> None:
        super().__init__(as_json, names)
        self.why = why
        self.assume = assume

    def read(self, text: str) -> "list[tuple[str, Typed]]":
        """The equation, or those of a calculation in steps."""
        from dgltree.equations.typed import read_steps

        return read_steps(text, self.names)

    def answer(self, block: list[EquationInput]) -> "list[Verification]":
        from dgltree.equations.completion.verification import verify

        return [verify(asked.typed.equation, assume=self.assume) for asked in block]

    def show(self, asked: EquationInput, found: "Verification") -> None:
        from dgltree.read.infix_writer import write_equation

        understood = write_equation(found.equation)
        notes = list(asked.typed.notes)
        if self.as_json:
            unit: dict[str, Any] = {"imaginary_unit": found.unit} if found.unit else {}
            if found.assumed:
                unit |= {"assumed": found.assumed, "holds_as_assumed": found.holds_as_assumed}
            notes += [f"{found.variable} is a variable here"] if found.variable else []
            row: dict[str, Any] = {"equation": asked.text, **asked.line, "understood": understood}
            why = {"why": [reason.described for reason in found.why]} if self.why else {}
            print(write_json({**row, **found.verdict.described, **unit, **why, "notes": notes}))
        else:
            lines = [asked.place + understood, str(found), *(f"({note})" for note in notes), *self._proof(found)]
            print("\n      ".join(lines))

    def _proof(self, found: "Verification") -> list[str]:
        if not self.why:
            return []
        lines = [line for reason in found.why for line in str(reason).splitlines()]
        return ["on the real line:", *lines] if lines else [NO_PROOF]


NEEDS = ()


def prepare(name: str, arguments: list[str]) -> argparse.Namespace:
    """The options."""
    made = parser(name, COMMANDS[name][1], EXAMPLES, ranks=False)
    made.add_argument(
        "--why", action="store_true", help="print the proof: which rule holds on which part of the real line"
    )
    add_assumptions(made)
    return parse_arguments(made, arguments)


def run(_: str, options: argparse.Namespace) -> int:
    """Run the command; the exit code."""
    return VerifyCommand(options.json, options.names, options.why, options.assume).run(options.equations)
