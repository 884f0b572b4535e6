"""``dgltree inspect``: what is in a file of trees."""

import argparse
from pathlib import Path

from dgltree.commands.options import check_input, check_output_file, option_parser
from dgltree.commands.reading_options import add_reading, read_given
from dgltree.datasets.settings import Reading
from dgltree.read.smiles import OPEN, TREES
from dgltree.support.files import replacing

RINGS, ATOMS = TREES
EXAMPLES = """\
examples:
  dgltree inspect trees.tsv
  dgltree inspect sources/ --unit function
  dgltree inspect treebank.conllu --node upos
  dgltree inspect orders.jsonl --schema-out schema.json   edit it, then give it to fit --schema
"""


NEEDS = ("dgltree.datasets.describe", "dgltree.datasets.unseen", "dgltree.training.input_sensitivity")


def prepare(_: str, arguments: list[str]) -> argparse.Namespace:
    """The options. Raises ``FileNotFoundError`` and ``ValueError``."""
    parser = option_parser(
        "inspect",
        "Describe a file of trees: sizes, names, tokens, labels, duplicates and unreadable records.",
        EXAMPLES,
        "FILE [options]",
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a file or folder of trees, as TSV, CSV, JSON, Parquet, CoNLL-U, Penn Treebank or one tree per line",
    )
    parser.add_argument(
        "--min-count",
        type=int,
        default=2,
        metavar="N",
        help="count the tokens that occur fewer times than this, which fit reads as <unk> (default: 2)",
    )
    parser.add_argument(
        "--no-cache", action="store_true", help="write no cache next to FILE; reading FILE again is then slower"
    )
    parser.add_argument("--strict", action="store_true", help="stop at a record that cannot be read")
    parser.add_argument(
        "--schema-out", metavar="SCHEMA", help="write the schema of JSON documents to this file, for fit --schema"
    )
    add_reading(parser, defaults=True)
    options = parser.parse_args(arguments)
    Reading(**read_given(options))
    check_input(options.file)
    check_output_file(options.schema_out)
    return options


def run(_: str, options: argparse.Namespace) -> int:
    """Run the command; the exit code."""
    from dgltree.commands.reports import stopwatch
    from dgltree.datasets.describe import describe
    from dgltree.datasets.tree_dataset import TreeDataset
    from dgltree.datasets.unseen import schema_of
    from dgltree.training.input_sensitivity import describe_default_parts

    say = stopwatch()
    data = TreeDataset.from_file(
        options.file, cached=not options.no_cache, strict=options.strict, progress=True, **read_given(options)
    )
    say(data.num_nodes, "nodes")
    schema = schema_of(data)
    if options.schema_out is not None:
        if schema is None:
            raise ValueError(f"{options.file}: only JSON documents have a schema; leave out --schema-out")
        with replacing(Path(options.schema_out)) as beside:
            beside.write_text(schema.to_text(), encoding="utf-8")
    if schema is not None:
        print(f"schema of {schema.documents:,} documents:\n{schema}\n")
    print(describe(data, options.min_count))
    if data.reading.notation == OPEN:
        of = f"trees of {TREES[RINGS]}; fit chooses between these and trees of {TREES[ATOMS]}"
        print(f"\nthese are {of} (--notation {ATOMS})")
    print(f"\n{describe_default_parts(data, options.min_count)}")
    return 0
