"""JSON that every program reads: Python's own writes ``NaN``, which JSON does not have."""

import json
from math import isfinite
from typing import Any


def write_json(value: Any, indent: int | None = None) -> str:
    """A value as JSON text, with null for numbers that are not finite."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
