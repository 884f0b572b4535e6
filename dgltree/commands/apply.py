"""``dgltree predict``, ``encode`` and ``evaluate``: their command lines, and what these alone show to be wrong."""

import argparse
import re
import shlex

from dgltree.commands.main import COMMANDS
from dgltree.commands.on_ray import add_ray
from dgltree.commands.options import check_cell, check_input, option_parser
from dgltree.commands.reading_options import add_reading, read_given
from dgltree.datasets.settings import Reading
from dgltree.datasets.vector_files import check_vector_file
from dgltree.training.model_files import check_answers, check_model

EXAMPLES = {
    "predict": """\
examples:
  dgltree predict runs/trees new.tsv > answers.tsv
  dgltree predict runs/trees new.tsv --csv > answers.csv
  cat trees.txt | dgltree predict runs/trees -
  dgltree predict runs/trees s3://bucket/trees --out s3://bucket/answers --ray 10.0.0.1:6379

Prints a table with one line per record, in order: its id, the prediction, and the probability of each class. If a
record has no id, or its id occurred before, the line begins with the line number. For a record that cannot be read,
the command prints a line without a prediction, and a message on standard error.
""",
    "encode": """\
examples:
  dgltree encode runs/trees new.tsv --out vectors.npy
  dgltree encode runs/trees new.tsv --out vectors.parquet --nodes
  dgltree encode runs/trees trees.parquet --out vectors --ray

A .npy file holds one row per tree (two per pair), filled with NaN if the tree cannot be read. A .parquet file
also holds the line and the id of each vector; --nodes writes one row per node.
""",
    "evaluate": """\
examples:
  dgltree evaluate runs/trees test.tsv --label class
  dgltree evaluate runs/trees trees.tsv --split test
  dgltree evaluate runs/trees test.parquet --out answers --ray
  dgltree evaluate runs/june june.tsv --against runs/may
  dgltree evaluate runs/may june.jsonl --by "created:^[0-9]{4}-[0-9]{2}"
""",
}


NEEDS = ("dgltree.commands.answering",)


def prepare(name: str, arguments: list[str]) -> argparse.Namespace:
    """The options. Raises ``FileNotFoundError`` and ``ValueError``."""
    options = _parse(name, arguments)
    Reading(**read_given(options))
    if not options.ray:
        _check_paths(name, options)
    return options


def run(name: str, options: argparse.Namespace) -> int:
    """Run one of the commands; the exit code."""
    from dgltree.commands.answering import answer

    return answer(name, options)


def _check_paths(name: str, options: argparse.Namespace) -> None:
    if name == "encode":
        check_model(options.model)
    else:
        check_answers(options.model)
    if name == "evaluate" and options.against:
        check_answers(options.against)
    check_cell(options.cell)
    check_input(options.file, _of_a_tree(name, options))
    if name == "encode":
        check_vector_file(options.out, options.nodes)


def _of_a_tree(name: str, options: argparse.Namespace) -> str:
    """Advice on a tree that is given in place of a file; nothing for a path."""
    if not re.search(r"[(\[{\s]", options.file):
        return ""
    command = f"echo {shlex.quote(options.file)} | dgltree {name} {options.model} -"
    return f"; pass a single tree on the standard input: {command}"


def _parse(name: str, arguments: list[str]) -> argparse.Namespace:
    parser = option_parser(name, f"{COMMANDS[name][1].capitalize()}.", EXAMPLES[name], "MODEL FILE [options]")
    parser.add_argument("model", metavar="MODEL", help="the folder that 'dgltree fit --out' wrote")
    parser.add_argument("file", metavar="FILE", help="the trees, in any format that fit reads; - reads standard input")
    parser.add_argument(
        "--device",
        choices=("cpu", "cuda"),
        help="compute on the CPU or on a GPU (default: cpu; with --ray, the cluster's GPUs if there are any)",
    )
    parser.add_argument("--cell", metavar="FILE.py:CLASS", help="your own cell, if the model was trained with one")
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="use this many CPU threads (default: all cores for cells and large encoders, otherwise one)",
    )
    parser.add_argument("--strict", action="store_true", help="stop at a record that cannot be read")
    add_ray(parser, "the trees")
    if name == "encode":
        parser.add_argument(
            "--out", required=True, metavar="OUT", help="write the vectors to this .npy or .parquet file; see --ray"
        )
        parser.add_argument("--nodes", action="store_true", help="write a vector for each node (only to .parquet)")
        parser.add_argument(
            "--context",
            action="store_true",
            help="with --nodes, for a model of 'dgltree embed': append the vector of its context to each node's vector",
        )
    else:
        parser.add_argument(
            "--out", metavar="DIR", help="with --ray: write the predictions to Parquet files in this folder"
        )
    if name != "encode":
        parser.add_argument(
            "--threshold",
            metavar="CLASS=P",
            help="predict this class if its probability is at least P (default: as in training)",
        )
    if name == "predict":
        parser.add_argument("--csv", action="store_true", help="separate columns by commas instead of tabs")
    if name == "evaluate":
        parser.add_argument("--json", action="store_true", help="print the metrics as a JSON object")
        parser.add_argument(
            "--against",
            metavar="OLD_MODEL",
            help="compare with an earlier model on the examples that neither was trained on or selected with",
        )
        parser.add_argument(
            "--by",
            metavar="COLUMN",
            help="print the metrics and the number of new examples for each value of this column, given as COLUMN or "
            "COLUMN:REGEX",
        )
        parser.add_argument(
            "--split",
            dest="of_split",
            metavar="NAME",
            help="use only the rows that training put in this split (train, validation or test); FILE must be the "
            "training table",
        )
    # the split of a row is that of the training, or none: an evaluation reads no column for it
    add_reading(parser, without=("split", "split_from") if name == "evaluate" else ())
    options = parser.parse_args(arguments)
    if name == "evaluate" and (options.against or options.by) and (options.ray or (options.against and options.by)):
        parser.error("--against and --by cannot be combined with each other or with --ray")
    if name == "evaluate" and options.of_split and (options.ray or options.against):
        parser.error("--split cannot be combined with --against or --ray")
    if name == "encode" and options.context and (options.ray or not options.nodes):
        parser.error("--context needs --nodes, and cannot be combined with --ray")
    if options.ray and name != "encode" and options.threshold is not None:
        parser.error("--threshold is for one process; a cluster uses the threshold saved with the model")
    if options.ray and not options.out:
        parser.error("--ray writes Parquet files: give the folder for them as --out DIR")
    if options.ray and options.threads:
        parser.error("--threads is for one process; each process of a cluster computes with one thread")
    if options.ray and name == "predict" and options.csv:
        parser.error("--csv is for one process; a cluster writes Parquet files")
    if options.out and not options.ray and name != "encode":
        parser.error("--out is for --ray; without --ray, predictions are printed")
    return options
