"""``dgltree compare``: several encoders on the same splits of own trees."""

import argparse
import json
import sys
from contextlib import redirect_stdout
from dataclasses import fields
from typing import Any

from dgltree.commands.fit import add_settings, check_header
from dgltree.commands.options import check_cell, check_input, check_output_folder
from dgltree.commands.reading_options import read_given
from dgltree.datasets.settings import Reading
from dgltree.training.options import FitOptions

WITHOUT = {"encoder", "options", "nodes", "baseline", "no_baseline", "threshold", "split_of", "devices", "machines"}
"""Settings of a single training."""
EXAMPLES = """\
examples:
  dgltree compare trees.tsv --encoders tree_lstm,child_sum,tree_smu --seeds 3
  dgltree compare trees.tsv --encoders tree_lstm,tree_smu --options '{"tree_smu": {"stack_size": [3, 5]}}'
  dgltree compare trees.tsv --encoders tree_smu --options '{"tree_smu": {"stack_size": [1, 3]}}' --ablation
  dgltree compare trees.tsv --encoders tree_lstm,lstm --hidden-size 64 --epochs 20
  dgltree compare trees.tsv --encoders tree_lstm --cell my_cells.py:TreeGRU

The command trains every encoder with every seed on the same splits, without a baseline. It tries lists of options in
every combination; validation chooses one, and only then is the test set used. Run the same command to resume an
interrupted comparison. If an encoder cannot read the trees, its row shows the reason. The folder holds the table as
summary.md and summary.json, as summary.csv with a line for each seed, and as summary.tex with rows for LaTeX.
"""


NEEDS = ("dgltree.training.contest",)


def prepare(_: str, arguments: list[str]) -> argparse.Namespace:
    """The options. Raises ``FileNotFoundError``, ``NotADirectoryError`` and ``ValueError``."""
    options = _parse(arguments)
    reading = Reading(**read_given(options))
    FitOptions(**_settings(options))
    grids = _grids(options.options)
    for path in (options.file, options.validation, options.test):
        check_input(path)
    encoders = [name.strip() for name in options.encoders.split(",")]
    for name in (*encoders, options.cell or ""):
        check_cell(name if ".py:" in name else None)
    check_output_folder(options.out)
    for path in (options.file, options.validation, options.test):
        check_header(path, reading)
    from dgltree.training.contest import check_contest, register_own
    from dgltree.training.own_cells import register

    own = [register(options.cell)] if options.cell else []
    names = register_own(encoders)
    options.names = [*names, *(name for name in own if name not in names)]
    check_contest(options.names, options.seeds, grids, options.ablation)
    return options


def run(_: str, options: argparse.Namespace) -> int:
    """Run the command; the exit code, 1 if an encoder failed."""
    from dgltree.datasets.tree_dataset import TreeDataset
    from dgltree.training.contest import compare_encoders

    paths = {"data": options.file, "validation": options.validation, "test": options.test}
    how = {"cached": not options.no_cache, "strict": options.strict, "progress": True, **read_given(options)}
    files = {name: TreeDataset.from_file(path, **how) for name, path in paths.items() if path}
    with redirect_stdout(sys.stderr):  # each training prints its own metrics
        found = compare_encoders(
            files.pop("data"),
            options.names,
            options.seeds,
            options.out,
            grids=_grids(options.options),
            ablation=options.ablation,
            **files,
            **_settings(options),
        )
    print(f"{found}\nthe models are in the folders of {options.out}")
    return 1 if any(each.failure is not None for each in found.entries) else 0


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    names = [field.name for field in fields(FitOptions) if field.name not in WITHOUT]
    return {name: getattr(options, name.strip("_")) for name in names}


def _grids(text: str | None) -> dict[str, Any]:
    """The options by encoder. ``ValueError`` for other text."""
    try:
        found = json.loads(text or "{}")
    except ValueError as error:
        raise ValueError(f"--options is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(
            f'--options is {text!r:.60}; give options by encoder: {{"tree_smu": {{"stack_size": [3, 5]}}}}'
        )
    return found


def _parse(arguments: list[str]) -> argparse.Namespace:
    from dgltree.commands.settings_parser import make_parser

    description = "Compare several encoders on your own trees, on the same splits and seeds."
    parser = make_parser("compare", "FILE --encoders NAME,NAME [options]", description, EXAMPLES)
    parser.add_argument("file", metavar="FILE", help="labeled trees, as for dgltree fit")
    parser.add_argument(
        "--encoders",
        type=str,
        required=True,
        help="compare these encoders, two or more separated by commas; FILE.py:CLASS is your own cell",
    )
    parser.add_argument(
        "--cell",
        type=str | None,
        help="also compare your own cell, given as FILE.py:CLASS; in --options, its name is CLASS",
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=3,
        help="train each encoder this many times, with --seed and the seeds that follow (default: 3)",
    )
    parser.add_argument(
        "--options",
        type=str | None,
        help="options or settings for each encoder, in JSON; from a list of values, validation chooses one",
    )
    parser.add_argument(
        "--ablation",
        action="store_true",
        help="test every setting, even of a single encoder, instead of the one that validation chooses",
    )
    parser.add_argument("--validation", type=str | None, help="choose epochs and options by the trees in this file")
    parser.add_argument("--test", type=str | None, help="compute the metrics on the trees in this file")
    parser.add_argument("--out", default="runs/compare", help="write the models to this folder (default: runs/compare)")
    parser.add_argument("--strict", action="store_true", help="stop at a record that cannot be read")
    parser.add_argument(
        "--no-cache", action="store_true", help="write no cache next to FILE; reading FILE again is then slower"
    )
    add_settings(parser, names=bool({"-h", "--help"} & {*arguments}), without=WITHOUT)
    return parser.options(arguments)
