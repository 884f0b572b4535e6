"""``dgltree fit``: train a model on own trees."""

import argparse
import shlex
import sys
from collections.abc import Collection
from dataclasses import asdict, fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dgltree.commands.options import STDIN, check_cell, check_input, check_output_folder, config_first, options_of
from dgltree.commands.reading_options import read_given
from dgltree.datasets.settings import Reading
from dgltree.read.smiles import OPEN, TREES
from dgltree.training.model_files import check_model
from dgltree.training.options import FitOptions

if TYPE_CHECKING:
    from dgltree.datasets.tree_dataset import TreeDataset

RINGS, ATOMS = TREES
EXAMPLES = """\
examples:
  dgltree fit trees.tsv                                 columns tree, label and perhaps split
  dgltree fit pairs.jsonl --encoder ordered_memory      columns left, right and label
  dgltree fit train.txt --validation dev.txt --test test.txt --nodes --input-size 100
  dgltree fit sources/ --unit function --label-from "file:^[^/]+" --group-by file --folds 5
  dgltree fit trees.parquet --devices 4                 in four processes, or on four GPUs

A YAML file for --config holds the same settings (hidden_size: 150); the command line overrides the file.
"""


NEEDS = ("dgltree.training.repeats",)
SHAPING = ("notation", "schema", "keys", "node", "word", "unit", "drop", "binarize")
"""Settings of reading by which the same text becomes another tree."""


def prepare(_: str, arguments: list[str]) -> argparse.Namespace:
    """The options. Raises ``FileNotFoundError``, ``NotADirectoryError`` and ``ValueError``."""
    options = _parse(arguments)
    options.command = shlex.join(["dgltree", "fit", *arguments])
    if options.folds and (options.seeds or options.validation or options.test):
        raise ValueError("--folds makes its own test sets: leave out --seeds, --validation and --test")
    if options.processes is not None and not (options.folds or options.seeds):
        raise ValueError(
            "--processes is for --folds or --seeds; for a single training run, use --threads and --devices"
        )
    reading = Reading(**read_given(options))
    FitOptions(**_settings(options))
    for path in (options.file, options.validation, options.test, options.split_of, options.vectors):
        check_input(path)
    if getattr(options, "from") is not None:
        check_model(getattr(options, "from"), "embed")
    check_cell(options.cell)
    check_output_folder(options.out)
    for path in (options.file, options.validation, options.test):
        check_header(path, reading)
    if options.encoder and not options.cell:
        from dgltree.encoders.make import check_encoder

        check_encoder(options.encoder, options.options or ())
    return options


def check_header(path: str | None, reading: Reading) -> None:
    """``ValueError`` for a table without a column that an option names: before what takes seconds is imported."""
    if path is None or path == STDIN:  # which is read once
        return
    from dgltree.datasets.formats import open_format
    from dgltree.datasets.formats.records import check_named

    file = open_format(path, reading)
    if file.column_names is not None:
        check_named(file.source.path, file.column_names, reading)


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    return {field.name: getattr(options, field.name.strip("_")) for field in fields(FitOptions)}


def run(_: str, options: argparse.Namespace) -> int:
    """Run the command; the exit code."""
    from dgltree.training.fitting import fit
    from dgltree.training.processes import first
    from dgltree.training.repeats import fit_folds, fit_seeds

    reading = read_given(options)
    settings = _settings(options)
    if settings["from_"] is not None:
        reading |= _as_before(Path(settings["from_"]), reading)
    named = {"train": options.file, "validation": options.validation, "test": options.test}
    paths = {name: path for name, path in named.items() if path is not None}
    splits: dict[str, Any] = {}
    for name, path in paths.items():
        splits[name] = _read(path, reading, options)
        if name == "train" and splits[name].reading.schema is not None:
            reading["schema"] = splits[name].reading.schema
    trees = _molecules(splits, paths, reading, options) if splits["train"].reading.notation == OPEN else {}
    if trees and not options.folds:
        from dgltree.training.deciding import choose_notation

        splits = trees[choose_notation(trees, FitOptions(**settings))]
    data = splits.pop("train")
    settings["cell"] = options.cell
    command = options.command
    if options.folds or options.seeds:
        repeated = {"out": options.out, "command": command, "processes": options.processes, **splits, **settings}
        if options.folds:
            same = {name: files["train"] for name, files in trees.items()}
            found = fit_folds(data, options.folds, trees=same, **repeated)
        else:
            found = fit_seeds(data, options.seeds, **repeated)
        if first():
            print(f"{found}\nthe models are in the folders of {options.out}")
        return 0
    fit(data, **splits, out=options.out, command=command, **settings)
    if first():
        print(f"the model is in {options.out}; its card: {Path(options.out) / 'card.md'}")
    return 0


def _as_before(folder: Path, given: dict[str, Any]) -> dict[str, Any]:
    """How the encoder of a folder had its trees read, where the command line does not say otherwise."""
    from dgltree.training.model_files import read_reading

    before = read_reading(folder)
    usual = asdict(Reading())
    taken = {name: before[name] for name in SHAPING if given[name] == usual[name]}
    if given["notation"] not in (None, before["notation"]):
        taken.pop("schema", None)  # of documents, which these are not
    return taken


def _molecules(
    rings: dict[str, "TreeDataset"], paths: dict[str, str], reading: dict[str, Any], options: argparse.Namespace
) -> dict[str, dict[str, "TreeDataset"]]:
    """The files of molecules, of which the trees of rings were read, by the notations to choose from."""
    if find_spec("sklearn") is None:  # without which there is no baseline to choose by
        return {}
    for data in rings.values():
        data.reading = replace(data.reading, notation=RINGS)  # a suffix names it
        data.detected_in = None
    atoms = {name: _read(path, {**reading, "notation": ATOMS}, options) for name, path in paths.items()}
    return {RINGS: dict(rings), ATOMS: atoms}


def _read(path: str, reading: dict[str, Any], options: argparse.Namespace) -> "TreeDataset":
    from dgltree.datasets.tree_dataset import TreeDataset
    from dgltree.training.processes import first

    cached = not options.no_cache
    strict = options.strict
    data = TreeDataset.from_file(path, cached=cached, strict=strict, progress=first(), **reading)
    notation = data.reading.read_as
    if first():
        print(f"{path}: {len(data)} examples, {data.num_nodes:,} nodes{notation}", file=sys.stderr)
    return data


def _parse(arguments: list[str]) -> argparse.Namespace:
    from jsonargparse import ActionConfigFile

    from dgltree.commands.settings_parser import make_parser

    description = "Train a model on your own trees, and write it to a folder with its metrics and its card."
    parser = make_parser("fit", "FILE [options]", description, EXAMPLES)
    parser.add_argument(
        "file",
        metavar="FILE",
        help="labeled trees: a file or folder of TSV, CSV, JSON, Parquet, CoNLL-U, Penn Treebank or one tree per line",
    )
    parser.add_argument("--validation", type=str | None, help="choose the best epoch by the trees in this file")
    parser.add_argument("--test", type=str | None, help="compute the final metrics on the trees in this file")
    parser.add_argument(
        "--out",
        default="runs/fit",
        help="write the model to this folder; an interrupted training resumes there (default: runs/fit)",
    )
    parser.add_argument(
        "--folds",
        type=int | None,
        help="train this many times, each time with a different part of FILE as the test set; print the means",
    )
    parser.add_argument(
        "--seeds",
        type=int | None,
        help="train this many times on the same splits, with different seeds; print the means",
    )
    parser.add_argument(
        "--processes",
        type=int | None,
        help="with --folds or --seeds: train in this many processes at a time (default: as many as cores and memory "
        "allow, but 1 on a GPU and for short training runs)",
    )
    parser.add_argument(
        "--cell", type=str | None, help="use your own cell instead of --encoder, given as FILE.py:CLASS"
    )
    parser.add_argument("--strict", action="store_true", help="stop at a record that cannot be read")
    parser.add_argument(
        "--no-cache", action="store_true", help="write no cache next to FILE; reading FILE again is then slower"
    )
    parser.add_argument("--config", action=ActionConfigFile, help="read settings from this YAML file")
    add_settings(parser, names=bool({"-h", "--help"} & {*arguments}))
    return parser.options(config_first(arguments))


def add_settings(parser: Any, names: bool, without: Collection[str] = ()) -> None:
    """The options of reading and of a training, in groups; ``names`` says whether those of all encoders are listed."""
    listed = f" There are {', '.join(_encoders())}." if names else ""
    for title, settings in (("how the trees are read", Reading), ("the model and its training", FitOptions)):
        group = parser.add_argument_group(title)
        for option in options_of(settings):
            if option.name in without:
                continue
            how: dict[str, Any] = {"action": "store_true"} if option.type is bool else {"type": option.type}
            if option.type == bool | None or option.default is True:
                how = {"action": argparse.BooleanOptionalAction}
            there_are = listed if option.name == "encoder" else ""
            group.add_argument(option.flag, default=option.default, help=option.description + there_are, **how)


def _encoders() -> list[str]:
    """The names of all encoders; they come with torch."""
    from dgltree.cells import CELLS
    from dgltree.encoders import SEQUENCE_ENCODERS

    return [*CELLS, *SEQUENCE_ENCODERS]
