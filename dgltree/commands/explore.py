"""``dgltree explore``."""

import argparse
import os
import sys
from pathlib import Path

from dgltree.commands.main import COMMANDS
from dgltree.commands.options import check_input, option_parser
from dgltree.ranking.pretrained_files import model_file
from dgltree.training.model_files import check_model

EXAMPLES = """\
examples:
  dgltree explore
  dgltree explore tree_smu.checkpoint          # next to the shipped model
  dgltree explore runs/trees --trees trees.tsv

The explore app has four views: equations and their candidates, sequences and their induced trees, your own trees, and
how a batch is computed. The app is served to this machine only, and opens no files except those named here.
"""


NEEDS = ("dgltree.explore.open_models", "dgltree.explore.app")


def prepare(name: str, arguments: list[str]) -> argparse.Namespace:
    """The options. Raises ``FileNotFoundError`` and ``ValueError``."""
    parser = option_parser(name, f"{COMMANDS[name][1].capitalize()}.", EXAMPLES)
    parser.add_argument(
        "models", nargs="*", metavar="MODEL", help="files of weights, and folders that 'dgltree fit --out' wrote"
    )
    parser.add_argument("--trees", metavar="FILE", help="show the trees in this file with the models in the folders")
    parser.add_argument(
        "--port", type=_port, metavar="P", help="serve on this port; 0 means any free one (default: 8723 if it is free)"
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    options = parser.parse_args(arguments)
    for model in options.models:
        if Path(model).is_dir():
            check_model(model)
        else:
            model_file(model)
    check_input(options.trees)
    if options.trees is not None and not any(Path(model).is_dir() for model in options.models):
        raise ValueError(
            f"{options.trees}: also name the folder that 'dgltree fit' wrote, because its model reads the trees"
        )
    return options


def run(_: str, options: argparse.Namespace) -> int:
    """Run the command; the exit code."""
    from dgltree.commands.signals import TERMINATED, Interrupted, Terminated
    from dgltree.explore.app import serve
    from dgltree.explore.open_models import open_all

    code = 0
    try:
        serve(open_all(options.models, options.trees), options.port, not options.no_browser)
    except Interrupted:  # which is how it ends
        print(flush=True)
    except Terminated:
        code = TERMINATED
        print("dgltree: terminated", file=sys.stderr, flush=True)
    os._exit(code)  # Python would wait for threads that are within a network


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 2**16):
        raise argparse.ArgumentTypeError(f"{text.strip()!r} is not a port; a port is a number from 0 to 65535")
    return int(text)
