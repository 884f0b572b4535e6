"""Annotations that are written as texts name things that exist: nobody evaluates them otherwise."""

import ast
import importlib
import pkgutil
import typing
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import dgltree

MODULES = sorted(each.name for each in pkgutil.walk_packages(dgltree.__path__, "dgltree."))


def texts(tree: ast.AST) -> Iterator[ast.Constant]:
    """The texts within annotations; those of a ``Literal`` are values."""
    for node in ast.walk(tree):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.AST):
                literals = [each for each in ast.walk(annotation) if isinstance(each, ast.Subscript)]
                values = {
                    id(value)
                    for each in literals
                    if ast.unparse(each.value).endswith("Literal")
                    for value in ast.walk(each.slice)
                }
                for each in ast.walk(annotation):
                    if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in values:
                        yield each


def names_of(module: ModuleType, tree: ast.Module) -> dict[str, Any]:
    """The names of a module, with those that it imports for a type checker alone."""
    names = dict(vars(module))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            exec(compile(ast.Module(node.body, []), module.__name__, "exec"), names)
    return names


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODULES)
def test_texts_of_annotations_name_what_exists(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    try:
        names = names_of(module, tree)
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    wrong = []
    for text in texts(tree):
        holder = type("Holder", (), {"__annotations__": {"it": text.value}})
        try:
            typing.get_type_hints(holder, names, dict(names))
        except (NameError, AttributeError, SyntaxError) as error:
            wrong.append(f"line {text.lineno}: {text.value}: {error}")
        except TypeError as error:
            assert "not subscriptable" in str(error), "a class that is generic for type checkers alone"
    assert wrong == []
