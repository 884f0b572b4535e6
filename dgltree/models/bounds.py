"""Limits on the header of a model file, checked before anything in it is built."""

import json
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells import CELLS

MAX_HEADER_LENGTH = 2**25
"""Characters of a header: a vocabulary of a million tokens is half as long."""
MAX_UNCHECKED = 1000
"""A number up to which options and arities are taken as they are."""
UNBOUND = ("max_length",)
"""Options that make nothing larger."""


def parse_header(text: str) -> dict[str, Any]:
    """The header's JSON. ``ValueError`` for what is longer, nested more deeply, or no object."""
    check_length(text)
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("its header is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("its header is not a JSON object")
    return found


def check_length(text: str) -> None:
    """``ValueError`` for a header that is too long to be read again."""
    if len(text) > MAX_HEADER_LENGTH:
        raise ValueError(f"its header has {len(text):,} characters; at most {MAX_HEADER_LENGTH:,} are read")


def check_sizes(header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """``ValueError`` if a header asks for more than the file has weights for.

    Every size is at most the number of weights, layers are at most as many as tensors, and a cell other than one that
    adds up its children has weights for each of them. Whether each tensor has its shape is seen later, without memory.
    """
    weights = max(MAX_UNCHECKED, sum(tensor.numel() for tensor in tensors.values()))
    for options in (header["options"], header.get("readout_options", {})):
        for name, value in options.items():
            most = len(tensors) if name == "num_layers" else weights
            if name not in UNBOUND and isinstance(value, int) and value > most:
                raise ValueError(
                    f"its header declares {name} {value:,}, and it has {len(tensors)} tensors of {weights:,}"
                )
    cell = CELLS.get(header.get("cell", ""))
    if cell is not None and not cell.any_arity:
        children = sum(Vocabulary.from_json(header["vocabulary"]).arities)
        if children > weights:
            raise ValueError(f"its functions have {children:,} children, and it has {weights:,} weights")
    classes, count = header.get("classes", ()), header.get("readout_options", {}).get("classes")
    if classes and len(classes) != count:
        raise ValueError(f"its header names {len(classes)} classes, and its readout has {count}")
