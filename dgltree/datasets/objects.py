"""Examples in Python's own objects: texts, dicts, nodes of ``ast``, graphs, and columns of pandas or polars."""

import ast
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from dgltree.datasets.formats.records import reader_of
from dgltree.datasets.settings import DOCUMENTS, Reading, amounts_in
from dgltree.read.graphs import from_graph, read_node_link
from dgltree.read.json_schema import infer_schema
from dgltree.read.json_tree import load_json
from dgltree.read.nltk import from_nltk, is_nltk
from dgltree.read.notations import NOTATIONS, detect
from dgltree.read.python import from_ast
from dgltree.trees.tree import Tree

SAMPLE = 100
"""Texts by which the notation is detected."""
EXPECTED = "a Tree, a string, a dict, an ast node, an NLTK tree, a networkx, PyG or DGL graph, or a pair of these"


def read_objects(
    examples: Any, reading: Reading, of_text: Callable[[Tree], Tree] = lambda tree: tree, first: int = 1
) -> list[Tree | tuple[Tree, Tree]]:
    """The trees of a list, an array, a column, or a table of pandas or polars, whose columns ``reading`` names.

    Texts are in the notation of ``reading``; ``of_text`` changes their trees. Raises ``ValueError`` for an example that
    cannot be read, by its number, from ``first`` on.
    """
    reader = cache(lambda: reader_of(reading))  # there may be no texts

    def tree_of(example: Any) -> Tree:
        if isinstance(example, str):
            return of_text(_read(reader(), example, reading))
        if isinstance(example, dict) and reading.notation == DOCUMENTS:
            return reader()(_json_of(example))
        return _converted(example, reading)

    found: list[Tree | tuple[Tree, Tree]] = []
    for i, example in enumerate(list_examples(examples, reading), first):
        try:
            if _is_pair(example):
                if len(example) != 2:
                    raise ValueError(f"found {len(example)} trees; expected one tree or a pair of trees per example")
                found.append((tree_of(example[0]), tree_of(example[1])))
            else:
                found.append(tree_of(example))
        except ValueError as error:
            raise ValueError(f"tree {i}: {error}") from None
    return found


def list_examples(examples: Any, reading: Reading) -> Sequence[Any]:
    """The examples one by one. Raises ``ValueError`` for a tree alone, and for a table without a column of trees."""
    if isinstance(examples, str | Tree | dict | ast.AST) or is_nltk(examples):
        raise ValueError("found a single tree; give a list of trees or of strings")
    if is_table(examples):
        if reading.tree in examples.columns:
            return values_of(examples[reading.tree])
        if reading.left in examples.columns and reading.right in examples.columns:
            sides = (values_of(examples[name]) for name in (reading.left, reading.right))
            return list(zip(*sides, strict=True))
        raise ValueError(
            f"the table has no column {reading.tree!r}, and no columns {reading.left!r} and {reading.right!r}; its "
            f"columns are {', '.join(map(str, examples.columns))}"
        )
    try:
        return values_of(examples)
    except TypeError:
        raise ValueError(f"examples are {_kind(examples)}; expected a list of trees, each {EXPECTED}") from None


def is_table(examples: Any) -> bool:
    """Whether it is a table of pandas or polars."""
    return hasattr(examples, "columns") and (hasattr(examples, "iloc") or hasattr(examples, "get_columns"))


def values_of(column: Any) -> list[Any]:
    """The values of a column; of polars as Python's own, because a list in it would be a column again.

    Raises ``TypeError`` for what has no values.
    """
    of_polars = hasattr(column, "to_list") and not hasattr(column, "iloc")
    return list(column.to_list() if of_polars else column)


def columns_of(table: Any, names: Sequence[str]) -> dict[str, list[Any]]:
    """Columns of a table of pandas or polars that are read next to its trees. ``ValueError`` for one that it lacks."""
    if missing := [name for name in names if name not in table.columns]:
        there_are = ", ".join(map(str, table.columns))
        raise ValueError(
            f"the table lacks the column {missing[0]!r}, which is read next to the trees; its columns are {there_are}"
        )
    return {name: values_of(table[name]) for name in names}


def with_notation(examples: Any, reading: Reading) -> Reading:
    """``reading`` with the notation of the texts and dicts among the examples, if it has none.

    That of JSON documents comes with their schema. Raises ``ValueError`` if no notation reads the texts.
    """
    if reading.notation not in (None, DOCUMENTS) or reading.schema is not None:
        return reading
    listed = list_examples(examples, reading) if is_table(examples) else examples
    parts = [part for one in listed for part in (one if _is_pair(one) else [one])]
    if reading.notation is None:
        texts = [part for part in parts if isinstance(part, str)][:SAMPLE]
        dicts = [part for part in parts if isinstance(part, dict)][:SAMPLE]
        if texts:
            reading = replace(reading, notation=detect(texts))
        elif dicts and reading.keys == Reading.keys and all(map(_is_document, dicts)):
            reading = replace(reading, notation=DOCUMENTS)
    if reading.notation != DOCUMENTS:
        return reading
    documents = [_json_of(part) for part in parts if isinstance(part, str | dict)]
    schema = infer_schema(lambda: (load_json(text, numbers_as_text=True) for text in documents), **amounts_in(reading))
    return replace(reading, schema=schema.to_json())


def _is_document(example: Any) -> bool:
    """Whether a dict is neither a graph nor a tree: not the JSON of a node with a label, nor of a syntax tree."""
    if "label" in example or ("nodes" in example and ("edges" in example or "links" in example)):
        return False
    return _notation(_json_of(example), Reading()) == "json"


def _json_of(example: Any) -> str:
    """The JSON of a dict, with dates and the numbers and arrays of numpy in it; a text is some itself.

    Raises ``ValueError`` for values that JSON does not have.
    """
    return example if isinstance(example, str) else json.dumps(example, default=_plain)


def _plain(value: Any) -> Any:
    """A value that JSON does not have, as one that it has."""
    for name in ("isoformat", "tolist"):
        if hasattr(value, name):
            return getattr(value, name)()
    raise ValueError(f"found {_kind(value)}; expected a JSON value, a date or a NumPy number")


def _is_pair(example: Any) -> bool:
    """Whether an example is one of several trees."""
    return isinstance(example, tuple | list) and not is_nltk(example)


def _read(read: Callable[[str], Tree], text: str, reading: Reading) -> Tree:
    try:
        return read(text)
    except ValueError as error:
        raise ValueError(f"not a valid {reading.notation} tree: {error}") from None


def _converted(example: Any, reading: Reading) -> Tree:
    if isinstance(example, Tree):
        return example
    if isinstance(example, dict):
        text = _json_of(example)
        if "nodes" in example and ("edges" in example or "links" in example):
            return read_node_link(text)
        return reader_of(replace(reading, notation=_notation(text, reading)))(text)
    if isinstance(example, ast.AST):
        return from_ast(example)
    if is_nltk(example):
        return from_nltk(example)
    found = from_graph(example)
    if found is None:
        raise ValueError(f"found {_kind(example)}; expected {EXPECTED}")
    return found


def _notation(text: str, reading: Reading) -> str:
    """The notation of a dict: that of a syntax tree if it is one, unless keys are named."""
    if reading.keys != Reading.keys:
        return "json"
    return next((name for name in ("estree", "ast_json") if NOTATIONS[name].accepts(text)), "json")


def _kind(value: Any) -> str:
    return f"{value!r:.40} of type {type(value).__name__}"
