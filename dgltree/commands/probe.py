"""``dgltree probe``: abilities of an encoder, by generated sets of one rule each."""

import argparse
import json
from typing import Any

from dgltree.commands.main import COMMANDS
from dgltree.commands.options import describe_no_json, option_parser

EXAMPLES = """\
examples:
  dgltree probe tree_lstm
  dgltree probe child_sum tree_lstm lstm --seconds 10
  dgltree probe child_sum --options '{"rounds": 2, "aggregation": "max", "typed": true}'

Each generated set tests one rule:
  select:   the color of the pair that the first child names
  count:    how many letters are a
  maximum:  the largest of numbers below 20
  sort:     the middle letter of five
  depth:    a sum modulo 3; test trees are deeper than training trees
  width:    the more frequent letter; test trees have more children than training trees
  order:    the values of nested lists, each of which is its first or last item
  changed:  whether one leaf of twelve differs

The table shows the accuracy on test examples. "chance" predicts the most frequent class; "counts" and "forest" are
models of what occurs in a tree. If an encoder cannot read the trees of a set, its row has a dash, with the reason
below.
"""
NEEDS = ("dgltree.training.probing", "dgltree.training.fitting")
WIDTH = 8
"""Characters of a column."""


def prepare(name: str, arguments: list[str]) -> argparse.Namespace:
    """The options. Raises ``ValueError`` for an encoder, an option or a time that there is not."""
    parser = option_parser(name, f"{COMMANDS[name][1].capitalize()}.", EXAMPLES, "ENCODER ... [options]")
    parser.add_argument("encoders", nargs="+", metavar="ENCODER", help="the encoders, as for dgltree fit --encoder")
    parser.add_argument("--options", help="options for every encoder, as JSON")
    parser.add_argument(
        "--seconds", type=int, default=60, help="train for this many seconds on each of the eight sets (default: 60)"
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed of the sets and of training (default: 0)")
    options = parser.parse_args(arguments)
    options.options = _read_options(options.options)
    if options.seconds < 1:
        raise ValueError(f"--seconds is {options.seconds}; it must be 1 or more")
    if not 0 <= options.seed < 2**31:
        raise ValueError(f"--seed is {options.seed}; it must be from 0 to {2**31 - 1}")
    from dgltree.encoders.make import check_encoder

    for encoder in options.encoders:
        check_encoder(encoder, options.options)
    return options


def run(_: str, options: argparse.Namespace) -> int:
    """Run the command; the exit code, 1 if an encoder read no set."""
    from dgltree.training.probing import PROBES, probe

    names = [each.name for each in PROBES]
    first = max(WIDTH, *(len(encoder) for encoder in options.encoders))
    print(f"{'':{first}}" + "".join(f"{name:>{WIDTH}}" for name in [*names, "seconds"]), flush=True)
    refused: dict[tuple[str, str], list[str]] = {}
    code = 0
    rows = probe(options.encoders, options=options.options, seconds=options.seconds, seed=options.seed)
    for row in rows:
        cells = []
        for name in names:
            accuracy = row.accuracies[name]
            cells.append(f"{'-':>{WIDTH}}" if accuracy is None else f"{accuracy:{WIDTH}.2f}")
        seconds = "" if row.seconds is None else f"{row.seconds:{WIDTH}.0f}"
        print(f"{row.name:{first}}" + "".join(cells) + seconds, flush=True)
        for name, reason in row.refusals.items():
            refused.setdefault((row.name, reason), []).append(name)
        if len(row.refusals) == len(names):
            code = 1
    for (encoder, reason), sets in refused.items():
        print(f"{encoder}, {', '.join(sets)}: {reason}")
    return code


def _read_options(text: str | None) -> dict[str, Any]:
    """Return the options of a text. ``ValueError`` for a text that is not a JSON object."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError(describe_no_json(str(text)))
    return found
