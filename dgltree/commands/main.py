"""The ``dgltree`` command.

Exit codes: 0 all answered; 1 an equation, a file, a setting, or a record for predict or encode was bad; 2 the command
line was; 130 interrupted. What fit, evaluate and inspect leave out they say, and go on.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

EXAMPLES = """\
examples:
  dgltree complete "sin(x)^2 + _ = 1"
  dgltree verify "sin(2*x) = 2*sin(x)*cos(x)" "-x = x"
  dgltree inspect trees.tsv
  dgltree fit trees.tsv --encoder tree_lstm --out runs/trees
  dgltree predict runs/trees new.tsv > answers.tsv
  dgltree encode runs/trees new.tsv --out vectors.npy

dgltree COMMAND --help says more.
"""
COMMANDS = {
    "complete": ("equations", "rank the expressions that may fill the blank _"),
    "verify": ("equations", "say how likely an equation is correct"),
    "inspect": ("inspect", "say what is in a file of trees"),
    "fit": ("fit", "train a model on your own trees"),
    "predict": ("apply", "answer for each tree of a file"),
    "encode": ("apply", "write a vector for each tree of a file, or for each node"),
    "evaluate": ("apply", "say how right a model is on labelled trees"),
}
"""The module of each command in :mod:`dgltree.commands`, and what it does."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    name = _command(given)
    warnings.formatwarning = lambda message, *_, **__: f"dgltree: {message}\n"
    try:
        code: int = import_module(f"dgltree.commands.{COMMANDS[name][0]}").run(name, given[1:])
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader, head perhaps, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ModuleNotFoundError as error:
        print(f"dgltree {name}: {error}; install it with: pip install 'dgltree[train,plot]'", file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        print(f"dgltree: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("dgltree: interrupted", file=sys.stderr)
        return 130


def _command(given: list[str]) -> str:
    parser = argparse.ArgumentParser(
        prog="dgltree",
        description="Recursive neural networks: equations, and your own trees.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    for name, (_, what) in COMMANDS.items():
        commands.add_parser(name, help=what, add_help=False)
    return str(parser.parse_args(given[:1]).command)


if __name__ == "__main__":
    sys.exit(main())
