"""Sets of botocore's descriptions: what a structure is called, and the type of what a documentation in HTML is of."""

import gzip
import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.sets.records import LabelledRecord
from benchmarks.sets.services import _shape
from dgltree.read.markup import read_html
from dgltree.read.sexpr import write_sexpr
from dgltree.trees.tree import Tree

KINDS = ["Summary", "Configuration", "Settings", "Filter", "Details", "Status", "Options", "Exception"]
TYPES = ["string", "integer", "boolean", "list", "structure", "timestamp"]
MAX_SCHEMA_DEPTH, MOST_NODES = 2, 60


def shapes() -> Iterator[LabelledRecord]:
    """The last word of a structure's name, by its members; a service is a group."""
    for service, described in _services():
        for name, shape in described["shapes"].items():
            word = re.findall("[A-Z][a-z]+", name)
            if shape["type"] == "structure" and shape.get("members") and word and word[-1] in KINDS:
                tree = _shape(name, described["shapes"], MAX_SCHEMA_DEPTH)
                if tree.count("(") <= MOST_NODES // 2:
                    yield LabelledRecord(word[-1], (tree,), service)


def documented() -> Iterator[LabelledRecord]:
    """The type of a structure's member, by its documentation in HTML, word by word; a service is a group."""
    seen = set()
    for service, described in _services():
        for shape in described["shapes"].values():
            for member in shape.get("members", {}).values():
                kind, text = described["shapes"][member["shape"]]["type"], member.get("documentation", "")
                if kind in TYPES and text.startswith("<") and len(text) < 500 and text not in seen:
                    seen.add(text)
                    tree = _by_words(read_html(text))
                    if 8 <= tree.size <= MOST_NODES:
                        yield LabelledRecord(kind, (write_sexpr(tree),), service)


def _by_words(tree: Tree) -> Tree:
    """Texts as leaves of a word each; without attributes."""

    def by_words(node: Tree, below: list[list[Tree]]) -> list[Tree]:
        words = [Tree("atom", token=word) for word in re.findall(r"\w+", (node.token or "").lower())]
        if node.function == "#text":
            return words
        if node.function.startswith("@"):
            return []
        return [Tree(node.function, (*words, *(child for children in below for child in children)))]

    return tree.fold(by_words)[0]


def _services() -> Iterator[tuple[str, Any]]:
    found = importlib.util.find_spec("botocore")
    if found is None or found.origin is None:
        raise ValueError("the package botocore is not installed; the extra sets brings it")
    for service in sorted((Path(found.origin).parent / "data").iterdir()):
        if files := sorted(service.glob("*/service-2.json.gz")):
            with gzip.open(files[-1]) as file:
                yield service.name, json.load(file)
