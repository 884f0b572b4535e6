"""``dgltree inspect``: what is in a file of trees."""

import argparse

from dgltree.commands.reading import add_reading, given_reading
from dgltree.commands.usage import stopwatch
from dgltree.datasets.describe import describe
from dgltree.datasets.tree_dataset import TreeDataset

EXAMPLES = """\
examples:
  dgltree inspect trees.tsv
  dgltree inspect sources/ --unit function
  dgltree inspect treebank.conllu --node upos
"""


def run(_: str, arguments: list[str]) -> int:
    """Run the command; the exit code."""
    parser = argparse.ArgumentParser(
        prog="dgltree inspect",
        description="Describe a file of trees, and what a model would read of it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "file", metavar="FILE", help="trees: TSV, CSV, JSON, Parquet, CoNLL-U, Penn Treebank, one tree a line, a folder"
    )
    parser.add_argument(
        "--min-count", type=int, default=2, metavar="N", help="tokens that occur fewer times become <unk> (default: 2)"
    )
    parser.add_argument("--no-cache", action="store_true", help="leave no hidden file with the flat trees beside FILE")
    parser.add_argument("--strict", action="store_true", help="stop at a record that cannot be read")
    add_reading(parser)
    options = parser.parse_args(arguments)
    say = stopwatch()
    data = TreeDataset.from_file(
        options.file, cached=not options.no_cache, strict=options.strict, progress=True, **given_reading(options)
    )
    say(data.trees.num_nodes, "nodes")
    print(describe(data, options.min_count))
    return 0
