"""Operations of web services, as botocore describes them."""

import gzip
import importlib.util
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.sets.records import LabelledRecord

VERBS = ["Get", "List", "Create", "Delete", "Update", "Describe", "Put", "Start", "Stop", "Tag", "Add", "Associate"]
SHAPE_LEVELS = 3
"""Levels of shapes below an operation's input and output."""
NODES = 100

Shapes = Mapping[str, Mapping[str, Any]]


def operations() -> Iterator[LabelledRecord]:
    """The verb that the name of an operation begins with, by what it takes and gives; a service is a group.

    A tree is an S-expression: a member of a structure is a node of its kind whose first child is its name.
    """
    found = importlib.util.find_spec("botocore")
    if found is None or found.origin is None:
        raise ValueError("the package botocore is not installed; the extra sets brings it")
    for service in sorted((Path(found.origin).parent / "data").iterdir()):
        if not (files := sorted(service.glob("*/service-2.json.gz"))):
            continue
        with gzip.open(files[-1]) as file:
            described = json.load(file)
        for name, operation in described["operations"].items():
            verb = re.match("[A-Z][a-z]+", name)
            if verb and verb[0] in VERBS:
                tree = _operation(operation, described["shapes"])
                if tree.count("(") <= NODES:
                    yield LabelledRecord(verb[0], (tree,), service.name)


def _operation(operation: Mapping[str, Any], shapes: Shapes) -> str:
    sides = [
        f"({side} {_shape(operation[side]['shape'], shapes, SHAPE_LEVELS)})"
        if side in operation
        else f"({side} nothing)"
        for side in ("input", "output")
    ]
    return f"(operation {' '.join(sides)})"


def _shape(name: str, shapes: Shapes, deep: int) -> str:
    shape = shapes[name]
    if shape["type"] == "structure" and deep and shape.get("members"):
        members = [f"(member {key} {_shape(of['shape'], shapes, deep - 1)})" for key, of in shape["members"].items()]
        return f"(structure {' '.join(members)})"
    if shape["type"] == "list" and deep:
        return f"(list {_shape(shape['member']['shape'], shapes, deep - 1)})"
    return str(shape["type"])
