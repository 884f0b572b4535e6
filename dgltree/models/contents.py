"""Whether the parts of a model file are of the kinds that a model is made of; a right hash does not say so."""

from collections.abc import Mapping
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from dgltree.read.text import one_line

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""Of weights."""
PARTS: dict[str, tuple[type, str]] = {
    "part": (str, "a text"),
    "cell": (str, "a text"),
    "encoder": (str, "a text"),
    "options": (dict, "an object"),
    "readout": (str, "a text"),
    "readout_options": (dict, "an object"),
    "classes": (list, "a list"),
    "vocabulary": (dict, "an object"),
    "language_model": (dict, "an object"),
}
"""Of a header: the type of each, and what JSON calls it."""
MAX_VALUE_LENGTH = 80
"""Characters of a value in a message."""


def check_parts(header: Mapping[str, Any]) -> None:
    """``ValueError`` for a part of a header of another kind, and for classes that are not all different texts."""
    for name, (kind, called) in PARTS.items():
        if name in header and not isinstance(header[name], kind):
            raise ValueError(f"its header has {_brief(header[name])} as {name}; it must be {called}")
    check_classes(header.get("classes", []))


def check_classes(classes: Any) -> None:
    """``ValueError`` for names of classes that are not texts, or that occur twice."""
    seen = set()
    for name in classes:
        if not isinstance(name, str):
            raise ValueError(f"a class is named {_brief(name)}; a name must be a text")
        if name in seen:
            raise ValueError(f"two classes are named {_brief(name)}; each must have a name of its own")
        seen.add(name)


def check_switches(made: type, options: Mapping[str, Any]) -> None:
    """``ValueError`` for an option of a class that is true or false, and has another value: a network takes any."""
    for cls in made.__mro__:
        for name, parameter in signature(cls.__init__).parameters.items():  # type: ignore[misc]
            if parameter.annotation is bool and not isinstance(options.get(name, False), bool):
                raise ValueError(f"its option {name} is {_brief(options[name])}; it must be true or false")


def check_weights(tensors: Mapping[str, Tensor]) -> None:
    """``ValueError`` for weights that are not real floating-point numbers, of more than one dtype, or not there."""
    if not tensors:
        raise ValueError("it has no weights")
    first = min(tensors)
    for name, tensor in sorted(tensors.items()):
        if tensor.dtype not in DTYPES:
            known = ", ".join(_name(dtype) for dtype in DTYPES)
            raise ValueError(f"the weights {one_line(name)!r} are {_name(tensor.dtype)}; they must be one of {known}")
        if tensor.dtype != tensors[first].dtype:
            both = (
                f"{one_line(first)!r} are {_name(tensors[first].dtype)}, {one_line(name)!r} are {_name(tensor.dtype)}"
            )
            raise ValueError(f"the weights {both}; all must have one dtype")


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _brief(value: Any) -> str:
    return one_line(repr(value), MAX_VALUE_LENGTH)
