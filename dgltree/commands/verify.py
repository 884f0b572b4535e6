"""``dgltree verify``."""

from dgltree.commands.equation_input import EquationInput, answer_all, parsed, parser
from dgltree.commands.main import COMMANDS
from dgltree.read.json_text import write_json

EXAMPLES = """\
examples:
  dgltree verify "sin(2x) = 2 sin x cos x" "-x = x"
  dgltree verify "sqrt(x^2) = x" --json
  cat equations.txt | dgltree verify -

Arithmetic says where an equation holds: everywhere (at complex points), on the reals, on positive reals, or that
it does not, with a point at which its sides differ. Beside it stands how likely the network calls it correct.
"""


def run(name: str, arguments: list[str]) -> int:
    """Run the command; the exit code."""
    made = parser(name, COMMANDS[name][1], EXAMPLES)
    options = parsed(made, arguments)

    from dgltree.equations.completion.answers import Verification, verify
    from dgltree.equations.pretrained.shipped import open_model
    from dgltree.read.infix_writer import write_equation

    model = open_model(options.model)

    def show(asked: EquationInput, found: Verification) -> None:
        if options.json:
            row = {"equation": asked.text, "understood": write_equation(found.equation), "verdict": str(found.verdict)}
            against = {"counterexample": str(found.counterexample)} if found.counterexample else {}
            print(write_json({**row, "probability": found.probability, **against}))
        else:
            print(f"{write_equation(found.equation)}\n      {found}")

    return answer_all(
        options.equations, options.json, lambda block: [verify(asked.typed.equation, model) for asked in block], show
    )
