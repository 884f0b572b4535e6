"""Sets of functions of Python: of the standard library and of packages that the extra ``sets`` or ``test`` bring."""

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.sets.records import LabelledRecord

VERBS = ["get", "set", "add", "read", "write", "is", "to", "parse", "make", "from", "find", "check"]
PACKAGES = ["asyncio", "email", "unittest", "json", "xml", "multiprocessing", "http", "logging", "importlib", "tkinter"]
LEFT_OUT = {"site-packages", "test", "tests", "idlelib", "lib2to3"}
NODES = range(20, 151)
"""Of the tree of a function that Python itself makes."""
TYPED = [
    "anyio",
    "click",
    "httpx",
    "jinja2",
    "jsonargparse",
    "lark",
    "lightning",
    "packaging",
    "rich",
    "sqlglot",
    "starlette",
    "torchmetrics",
]
RETURNS = ["None", "bool", "str", "int", "float", "Tensor"]
"""Annotations that are told apart."""
COMPUTING = ["networkx", "scipy", "sklearn", "sympy"]
SWAPPED: dict[type[ast.AST], Any] = {}
for _one, _other in (
    (ast.Add, ast.Sub),
    (ast.Mult, ast.Div),
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
):
    SWAPPED |= {_one: _other, _other: _one}


def packages() -> Iterator[LabelledRecord]:
    """The package of the standard library that a function is of."""
    for file, node in _standard_library():
        if (package := file.split("/")[0]) in PACKAGES:
            yield LabelledRecord(package, (_nameless(node),), file)


def verbs() -> Iterator[LabelledRecord]:
    """The verb that the name of a function of the standard library begins with."""
    for file, node in _standard_library():
        verb = re.match(r"_*([a-z]+)(_|$)", node.name)
        if verb and verb[1] in VERBS:
            yield LabelledRecord(verb[1], (_nameless(node),), file)


def returns() -> Iterator[LabelledRecord]:
    """The annotated return type of a function of a typed package; a package is a group."""
    for package in TYPED:
        for _, node in _functions(_folder(package)):
            if node.returns is not None and (kind := ast.unparse(node.returns).split(".")[-1]) in RETURNS:
                node.returns = None
                yield LabelledRecord(kind, (ast.unparse(node),), package)


def swapped() -> Iterator[LabelledRecord]:
    """Whether an operator of a function was put in place of its opposite; every second function's was."""
    random = Random(11)
    for package in COMPUTING:
        for file, node in _functions(_folder(package)):
            places = [(at, i) for at in ast.walk(node) for i in _operators(at)]
            if not places:
                continue
            bad = random.random() < 0.5
            if bad:
                _swap(*random.choice(places))
            yield LabelledRecord("swapped" if bad else "as written", (ast.unparse(node),), f"{package}/{file}")


def _operators(node: ast.AST) -> list[int]:
    """Which operators of a node have an opposite; a node that is not a comparison has one at most."""
    ops = node.ops if isinstance(node, ast.Compare) else [getattr(node, "op", None)]
    return [i for i, op in enumerate(ops) if type(op) in SWAPPED]


def _swap(node: Any, i: int) -> None:
    if isinstance(node, ast.Compare):
        node.ops[i] = SWAPPED[type(node.ops[i])]()
    else:
        node.op = SWAPPED[type(node.op)]()


def _nameless(node: ast.FunctionDef) -> str:
    node.name = "f"
    return ast.unparse(node)


def _standard_library() -> Iterator[tuple[str, ast.FunctionDef]]:
    return _functions(Path(ast.__file__).parent)


def _folder(package: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise ValueError(f"the package {package} is not installed; the extras test and sets bring it")
    return Path(found.origin).parent


def _functions(folder: Path) -> Iterator[tuple[str, ast.FunctionDef]]:
    """File and tree, without its docstring, of each function below a folder."""
    for file in sorted(folder.rglob("*.py")):
        name = file.relative_to(folder)
        if LEFT_OUT & set(name.parts):
            continue
        try:
            tree = ast.parse(file.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and sum(1 for _ in ast.walk(node)) in NODES:
                if ast.get_docstring(node) and len(node.body) > 1:
                    node.body = node.body[1:]
                yield str(name), node
