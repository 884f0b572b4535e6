"""``dgltree embed``: vectors of trees and of their parts, learnt without labels."""

import argparse
import sys

from dgltree.commands.options import check_input, check_output_folder, option_parser
from dgltree.commands.reading_options import add_reading, read_given
from dgltree.datasets.settings import Reading

EXAMPLES = """\
examples:
  dgltree embed trees.tsv --out runs/vectors
  dgltree encode runs/vectors trees.tsv --out vectors.npy
  dgltree encode runs/vectors trees.tsv --out parts.parquet --nodes --context
  dgltree similar runs/vectors trees.tsv --query "(add x y)" --parts
  dgltree embed sentences.txt --notation words --out runs/sentences

Labels are ignored. The folder is a model for encode, similar and fit --from.
"""


NEEDS = ("dgltree.training.embedding",)


def prepare(_: str, arguments: list[str]) -> argparse.Namespace:
    """The options. Raises ``FileNotFoundError``, ``NotADirectoryError`` and ``ValueError``."""
    parser = option_parser(
        "embed", "Learn vectors of trees and subtrees without labels.", EXAMPLES, "FILE --out DIR [options]"
    )
    parser.add_argument("file", metavar="FILE", help="trees, in any format that fit reads")
    parser.add_argument("--out", required=True, metavar="DIR", help="write the model to this folder")
    parser.add_argument(
        "--encoder",
        metavar="NAME",
        help="a cell such as tree_lstm, or, for sentences, banyan or self_strae (default: banyan for sentences; for "
        "trees, the choice of fit)",
    )
    parser.add_argument(
        "--hidden-size", type=int, metavar="N", help="width of the vectors (default: the choice of fit)"
    )
    parser.add_argument(
        "--loss",
        choices=("contrastive", "cross_entropy", "both"),
        help="contrastive recognizes each node by its context, cross_entropy predicts leaves from their context, and "
        "both is the mean of the two losses (default: both; for banyan, cross_entropy)",
    )
    parser.add_argument("--epochs", type=int, default=15, metavar="N", help="passes over the trees (default: 15)")
    parser.add_argument("--lr", type=float, default=2e-3, metavar="RATE", help="learning rate (default: 0.002)")
    parser.add_argument(
        "--min-count",
        type=int,
        default=2,
        metavar="N",
        help="read tokens that occur fewer times than this as <unk> (default: 2)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="random seed of the initial weights and the order (default: 0)"
    )
    parser.add_argument("--strict", action="store_true", help="stop at a record that cannot be read")
    add_reading(parser, defaults=True)
    options = parser.parse_args(arguments)
    Reading(**read_given(options))
    check_input(options.file)
    check_output_folder(options.out)
    return options


def run(_: str, options: argparse.Namespace) -> int:
    """Run the command; the exit code."""
    from dgltree.commands.reports import report_bad
    from dgltree.datasets.tree_dataset import TreeDataset
    from dgltree.training.embedding import embed

    data = TreeDataset.from_file(options.file, strict=options.strict, progress=True, **read_given(options))
    report_bad(options.file, data.bad)
    read = data.reading.read_as
    print(f"{options.file}: {len(data):,} trees, {data.num_nodes:,} nodes{read}", file=sys.stderr)
    settings = {name: getattr(options, name) for name in ("encoder", "loss", "epochs", "lr", "min_count", "seed")}
    embed(data, out=options.out, hidden_size=options.hidden_size, **settings)
    print(f"the model is in {options.out}")
    return 0
