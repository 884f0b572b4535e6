"""``dgltree similar``: the trees of a file that are most like a given one."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dgltree.commands.explain import is_file, namer_of
from dgltree.commands.options import check_cell, check_input, option_parser
from dgltree.commands.reading_options import add_reading, read_given
from dgltree.datasets.settings import Reading
from dgltree.read.text import WIDTH, brief, one_line
from dgltree.training.model_files import check_model

if TYPE_CHECKING:
    from dgltree.datasets.tree_dataset import TreeDataset
    from dgltree.training.trained_model import TrainedModel
    from dgltree.trees.tree import Tree

EXAMPLES = """\
examples:
  dgltree similar runs/trees trees.tsv --query "(add x y)" --top 5
  dgltree similar runs/trees trees.tsv --queries new.tsv

Prints a table of the nearest trees in FILE for each query. The columns are the number of the query, the id or
line number of the tree, the cosine of the two vectors, the label and the tree. With --queries, the first column is the
id or line number of the query. Queries are printed on standard error.
"""
NO_SHARE = (
    "warning: the vectors come from the network, but all predictions of this model come from the baseline ({}): "
    "trees with the same prediction may be far apart"
)


NEEDS = ("dgltree.training.neighbours",)


def prepare(_: str, arguments: list[str]) -> argparse.Namespace:
    """The options. Raises ``FileNotFoundError`` and ``ValueError``."""
    options = _parse(arguments)
    Reading(**read_given(options))
    check_model(options.model)
    check_cell(options.cell)
    check_input(options.file)
    check_input(options.queries)
    for text in options.query or ():
        if is_file(text):
            raise ValueError(f"--query {text}: this is a file; compare with its trees by --queries {text}")
    return options


def run(_: str, options: argparse.Namespace) -> int:
    """Run the command; the exit code."""
    from dgltree.training import cpu_threads
    from dgltree.training.trained_model import MOST_NODES, TrainedModel

    model = TrainedModel.load(options.model, cell=options.cell)
    reading = replace(model.reading.but(**read_given(options)), features=None)  # which no vector has
    with cpu_threads.computing(model.model.encoder, None, MOST_NODES):
        data = _read(options.file, model, reading.to_json())
        queries = _read(options.queries, model, reading.to_json()) if options.queries else options.query
        found = _found(model, data, queries, options)
    if model.average is not None and model.average.weight == 0:
        print(NO_SHARE.format(model.average.baseline.what), file=sys.stderr)
    names = [_name(queries, i) for i in range(len(queries))] if options.queries else list(_numbered(options.query))
    shown = _shown_by(model)
    print("query\tid\tsimilarity\tlabel\ttree")
    for name, neighbours in zip(names, found, strict=True):
        for example, similarity, tree in neighbours:
            label = one_line(data.labels[example] or "")
            text = one_line(shown(tree), WIDTH)
            print(f"{one_line(name)}\t{_name(data, example)}\t{similarity:.4f}\t{label}\t{text}")
    return 0


def _shown_by(model: "TrainedModel") -> Callable[["Tree"], str]:
    """How a tree is shown: a document by its leaves, with their paths."""
    if not isinstance(model.reading.schema, dict):
        return brief
    namer = namer_of(model)
    return lambda tree: ", ".join(namer(node) for node in tree.preorder() if not node.children)


def _numbered(queries: Sequence[str]) -> Iterator[str]:
    """The number of each query, from 1; the query is printed once with its number."""
    for number, text in enumerate(queries, 1):
        print(f"query {number}: {one_line(text)}", file=sys.stderr)
        yield str(number)


def _found(
    model: "TrainedModel", data: "TreeDataset", queries: Any, options: argparse.Namespace
) -> "list[list[tuple[int, float, Tree]]]":
    """The example, the similarity and the tree, or subtree, of each neighbour of each query."""
    import torch

    from dgltree.batching.batch import unbatch
    from dgltree.training.neighbours import nearest, nearest_parts

    if not options.parts:
        near = nearest(model, data, queries, options.top)
        return [[(one.example, one.similarity, _tree(data, one.example)) for one in each] for each in near]
    trees = data.trees
    found = []
    for each in nearest_parts(model, data, queries, options.top):
        roots = torch.tensor([part.node for part in each])
        subtrees = unbatch(replace(trees, roots=roots))
        found.append([(part.example, part.similarity, tree) for part, tree in zip(each, subtrees, strict=True)])
    return found


def _tree(data: "TreeDataset", example: int) -> "Tree":
    from dgltree.batching.batch import unbatch

    [tree] = unbatch(data.select([example]).trees)
    return tree


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = option_parser(
        "similar",
        "Find the trees of a file that are most similar to given ones, by the vectors of a trained model.",
        EXAMPLES,
        "MODEL FILE (--query TREE [TREE ...] | --queries FILE) [options]",
    )
    parser.add_argument("model", metavar="MODEL", help="the folder that 'dgltree fit --out' wrote")
    parser.add_argument("file", metavar="FILE", help="the trees to search, in any format that fit reads")
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument(
        "--query", nargs="+", metavar="TREE", help="compare with these trees, written as in the training file"
    )
    asked.add_argument("--queries", metavar="FILE", help="compare with the trees in this file")
    parser.add_argument("--top", type=int, default=5, metavar="N", help="show this many trees per query (default: 5)")
    parser.add_argument(
        "--parts",
        action="store_true",
        help="search all subtrees of the file, not only whole trees",
    )
    parser.add_argument("--cell", metavar="FILE.py:CLASS", help="your own cell, if the model was trained with one")
    add_reading(parser)
    return parser.parse_args(arguments)


def _read(path: str, model: "TrainedModel", reading: dict[str, Any]) -> "TreeDataset":
    """The trees of a file that the model knows; the others are reported."""
    from dgltree.commands.reports import report_bad
    from dgltree.datasets.tree_dataset import TreeDataset

    known = model.dataset(TreeDataset.from_file(path, cached=False, progress=True, named=False, **reading))
    report_bad(path, known.bad)
    print(f"{path}: {len(known):,} trees", file=sys.stderr)
    return known


def _name(data: "TreeDataset", example: int) -> str:
    return data.ids[example] or data.bad_at(example, "").name
