"""Python source as trees, by the standard library's ``ast``. The source is parsed, never run.

A node is named after its class: ``FunctionDef``, ``Call``. Its children are its fields in order: a list that is not
empty is a node named after the field (``body``, ``args``), a name is a leaf ``identifier``, a constant a leaf named
after its type, with the constant's text as its token. ``f(x, 1)`` is ::

    Call(Name(identifier f), args(Name(identifier x), int 1))

Fields that are not set are left out, a gap in a list is a leaf ``None``. ``ctx``, the kind of a constant and comments
about types are left out too. Which trees a source has depends on the version of Python.
"""

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from dgltree.read.text import Row, error_at, trees_of
from dgltree.support.unwarned import without_warnings
from dgltree.trees.tree import Tree

TOKEN_LIMIT = 200  # characters of a constant: a text of a megabyte is no better a token
_ACTING = (ast.Call, ast.Lambda, ast.comprehension, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
_CONSTANT_FIELDS = {"MatchSingleton": "value", "Interpolation": "str"}  # constants without a node of their own

Part: TypeAlias = Any
"""An AST, a name, a plain constant, None, or a :class:`_FieldList`."""


class _FieldList(NamedTuple):
    field: str
    items: list[Part]


class _Function(NamedTuple):
    name: str
    line: int
    row: int


def read_python(source: str) -> Tree:
    """The tree of a module.

    Raises ``ValueError``, with the line if it is known, for what is not Python, for NUL and surrogate characters,
    and for brackets or operators that nest too deeply for Python's own parser.
    """
    return _convert(_parse(source))[0][0]


def has_program(source: str) -> bool:
    """Whether a text is Python that does something: a statement, a call or a function, not literals and names alone."""
    try:
        statements = _parse(source).body
    except ValueError:
        return False
    return any(map(_acts, statements))


def _acts(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.AnnAssign):
        return statement.value is not None
    return not isinstance(statement, ast.Expr) or any(isinstance(node, _ACTING) for node in ast.walk(statement))


def from_ast(node: ast.AST) -> Tree:
    """The tree of a node of Python's own trees and all below it, as :func:`read_python` has it."""
    return _convert(node)[0][0]


def iter_functions(source: str) -> Iterator[tuple[str, int, Tree]]:
    """Every ``def`` and ``async def`` in the order of the text, nested ones and methods included.

    A function is (name, line, tree): the name as Python's ``__qualname__`` has it, ``Class.method`` or
    ``outer.<locals>.inner``. Errors as in :func:`read_python`, at once.
    """
    trees, functions = _convert(_parse(source))
    return iter([(name, line, trees[row]) for name, line, row in functions])


def _parse(source: str) -> ast.Module:
    if "\0" in source:
        raise error_at(source, source.index("\0"), "found a NUL character; expected Python source")
    try:
        with without_warnings():  # about the author's style, such as "\d" in a text
            return ast.parse(source)
    except SyntaxError as error:
        where = "" if error.lineno is None else f"line {error.lineno}, column {error.offset or 1}: "
        raise ValueError(f"{where}{error.msg}; expected Python source") from None
    except UnicodeEncodeError as error:
        raise error_at(
            source, error.start, f"found {source[error.start]!r}; expected text that UTF-8 can encode"
        ) from None
    except (RecursionError, MemoryError):
        raise ValueError("the source is nested too deeply for Python's parser; reduce the depth") from None


def _convert(module: ast.AST) -> tuple[list[Tree], list[_Function]]:
    """Every node's tree in preorder, and the functions among them."""
    rows: list[Row] = []
    functions: list[_Function] = []
    stack: list[tuple[Part, str]] = [(module, "")]
    while stack:
        part, scope = stack.pop()
        function, token, parts = _node(part)
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            functions.append(_Function(scope + part.name, part.lineno, len(rows)))
            scope += f"{part.name}.<locals>."
        elif isinstance(part, ast.ClassDef):
            scope += f"{part.name}."
        stack.extend([(child, scope) for child in reversed(parts)])
        rows.append((function, token, len(parts)))
    return trees_of(rows), functions


def _node(part: Part) -> tuple[str, str | None, list[Part]]:
    """The content of a node: its function, token and parts."""
    if isinstance(part, ast.Constant):
        return type(part.value).__name__, _text(part.value), []
    if isinstance(part, ast.AST):
        return type(part).__name__, None, _parts(part)
    if isinstance(part, _FieldList):
        return part.field, None, part.items
    if isinstance(part, str):
        return "identifier", part, []
    if part is None:
        return "None", None, []
    return type(part).__name__, _text(part), []


def _parts(node: ast.AST) -> list[Part]:
    parts: list[Part] = []
    constant = _CONSTANT_FIELDS.get(type(node).__name__)
    for field in node._fields:
        value = getattr(node, field, None)
        if field == constant:
            parts.append(ast.Constant(value))
        elif field != "ctx" and value is not None and value != []:
            parts.append(_FieldList(field, value) if isinstance(value, list) else value)
    return parts


def _text(constant: Any) -> str:
    try:
        return repr(constant)[:TOKEN_LIMIT]
    except ValueError:  # an integer written in hexadecimal, too long for Python to write as a decimal
        return hex(constant)[:TOKEN_LIMIT]
