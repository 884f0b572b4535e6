"""Sets of source code: what a Python function raises, and the verb that the name of one of JavaScript begins with."""

import ast
import re
from collections.abc import Iterator

from benchmarks.sets.code import _folder, _functions
from benchmarks.sets.records import LabelledRecord
from benchmarks.sets.twelve.as_json import as_json
from dgltree.read.code import iter_functions
from dgltree.trees.tree import Tree

RAISING = ["pandas", "matplotlib", "nltk", "numba", "fontTools", "aiohttp", "hypothesis", "pyarrow"]
EXCEPTIONS = ["ValueError", "TypeError", "NotImplementedError", "KeyError", "RuntimeError", "AttributeError"]
VERBS = ["get", "set", "on", "create", "is", "parse", "add", "to", "remove", "update"]
MOST_NODES, FEWEST_NODES = 90, 12


def exceptions() -> Iterator[LabelledRecord]:
    """The exception that a function raises, if it raises one of six kinds alone; what is raised is masked."""
    for package in RAISING:
        for file, node in _functions(_folder(package)):
            raised = [at for at in ast.walk(node) if isinstance(at, ast.Raise) and at.exc is not None]
            kinds = {_name(at.exc) for at in raised}
            size = sum(1 for _ in ast.walk(node))
            if len(kinds) == 1 and (kind := kinds.pop()) in EXCEPTIONS and size <= MOST_NODES:
                for at in raised:
                    at.exc, at.cause = ast.Name("Masked", ast.Load()), None
                yield LabelledRecord(kind, (ast.unparse(node),), f"{package}/{file}")


def _name(raised: ast.expr | None) -> str:
    called = raised.func if isinstance(raised, ast.Call) else raised
    return called.id if isinstance(called, ast.Name) else ""


def javascript() -> Iterator[LabelledRecord]:
    """The verb that the name of a function of playwright's bundle begins with; what has one name is a group."""
    file = _folder("playwright") / "driver" / "package" / "lib" / "coreBundle.js"
    for called, _, tree in iter_functions(file.read_text(encoding="utf-8"), "javascript"):
        name = called.split(".")[-1]
        verb = re.match("_*([a-z]+)([A-Z]|$)", name)
        if verb and verb[1] in VERBS and FEWEST_NODES <= tree.size <= MOST_NODES:
            yield LabelledRecord(verb[1], (as_json(_without(tree, name)),), name)


def _without(tree: Tree, name: str) -> Tree:
    return tree.fold(
        lambda node, below: node.replace(children=tuple(below), token="f" if node.token == name else node.token)
    )
