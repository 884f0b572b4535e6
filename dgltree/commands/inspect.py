"""``dgltree inspect``: what is in a file of trees."""

import argparse
import sys
import time

from dgltree.commands.reading import add_reading, given_reading
from dgltree.dataset.describe import describe
from dgltree.dataset.tree_dataset import TreeDataset

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
        description="Say what is in a file of trees, and what a model would make of it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="trees: TSV, JSON lines, Parquet, one a line, CoNLL-U, sources")
    parser.add_argument("--min-count", type=int, default=2, metavar="N", help="as in fit (default: 2)")
    parser.add_argument("--no-cache", action="store_true", help="leave no hidden file with the flat trees beside FILE")
    parser.add_argument("--strict", action="store_true", help="stop at a record that cannot be read")
    add_reading(parser)
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    data = TreeDataset.from_file(
        options.file, cached=not options.no_cache, strict=options.strict, progress=True, **given_reading(options)
    )
    seconds = time.perf_counter() - start
    print(f"{data.trees.num_nodes / seconds:,.0f} nodes a second, {seconds:.1f} s{_memory()}", file=sys.stderr)
    print(describe(data, options.min_count))
    return 0


def _memory() -> str:
    """The most memory that this process and its readers had, where the system tells."""
    try:
        import resource
    except ImportError:  # on Windows
        return ""
    unit = 1 if sys.platform == "darwin" else 1024
    own, readers = (
        resource.getrusage(who).ru_maxrss * unit for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return f", at most {own / 1e6:,.0f} MB of memory" + (f", {readers / 1e6:,.0f} MB a reader" if readers else "")
