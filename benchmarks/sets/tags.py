"""``python -m benchmarks.sets.tags``: parts of speech of words in dependency trees, with and without context.

The trees are those of Universal Dependencies (English Web Treebank) without relations: a node is a word over its
dependents, and its label is the word's tag. An upward pass reads the word and its dependents; with ``context``, the
model also reads the head. The last line of each training is the share of test words whose tag is right.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import dgltree
from dgltree import Tree, TreeDataset


def main(arguments: Sequence[str]) -> None:
    """Run the program's command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sets.tags", description=__doc__, allow_abbrev=False)
    parser.add_argument("--sentences", type=int, default=2000, help="number of training sentences")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--hidden-size", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    folder = Path(os.environ.get("DGLTREE_DATA", "data")) / "ud"
    files = {name: _read(folder / f"ewt-{name}.conllu") for name in ("train", "dev", "test")}
    tags = sorted({str(node.label) for trees in files.values() for tree in trees for node in tree.preorder()})
    print(f"{len(tags)} tags, {sum(tree.size for tree in files['test']):,} words for the test", flush=True)
    data = {name: TreeDataset([_numbered(tree, tags) for tree in trees]) for name, trees in files.items()}
    train = data["train"].select(range(min(options.sentences, len(data["train"]))))
    settings: dict[str, Any] = {"nodes": True, "task": "classify", "encoder": "child_sum", "no_baseline": True}
    settings |= {"epochs": options.epochs, "hidden_size": options.hidden_size, "seed": options.seed}
    ways: dict[str, dict[str, Any]] = {"upwards alone": {}, "with context": {"options": {"context": "down"}}}
    for name, more in ways.items():
        print(f"{name}:", flush=True)
        with tempfile.TemporaryDirectory() as out:
            dgltree.fit(train, validation=data["dev"], test=data["test"], out=out, **settings, **more)


def _read(path: Path) -> list[Tree]:
    """The trees of words, each with its tag as label."""
    read = TreeDataset.from_file(path, cached=False, node="upos")
    trees = [read[i][0] for i in range(len(read))]
    return [tree.fold(_tagged) for tree in trees if isinstance(tree, Tree)]


def _tagged(node: Tree, children: list[Tree]) -> Tree:
    return Tree("word", children, token=node.token, label=node.function)


def _numbered(tree: Tree, tags: list[str]) -> Tree:
    return tree.fold(lambda node, children: node.replace(children=children, label=tags.index(str(node.label))))


if __name__ == "__main__":
    main(sys.argv[1:])
