"""JSON lines: an object a line, with its columns by name. A tree is a text, or JSON itself."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from dgltree.datasets.formats.records import JSONRecords, LineRecords
from dgltree.datasets.formats.source import Source
from dgltree.datasets.settings import WHOLE_RECORD, Reading
from dgltree.read.json_tree import load_json


@dataclass(kw_only=True)
class JSONLines(JSONRecords, LineRecords):
    """``{"tree": "sin(x)", "label": "sine"}``."""

    suffixes = (".jsonl", ".ndjson")

    @classmethod
    def begins(cls, line: str, reading: Reading) -> bool:
        return line.startswith("{") and bool({reading.tree, reading.left} & {*_keys(line), WHOLE_RECORD})

    @classmethod
    def open(cls, source: Source, reading: Reading) -> Self:
        """The first record says whether all have pairs of trees."""
        found = cls(source, reading)
        found.pairs = found.has_pairs(_keys(source.title()))
        return found

    def fields_of(self, text: str) -> Mapping[str, Any]:
        try:
            record = load_json(text)
        except ValueError as error:
            raise ValueError(f"invalid JSON: {error}") from None
        if not isinstance(record, dict):
            kind = type(record).__name__
            raise ValueError(f'a JSON {kind}; expected an object such as {{"tree": ..., "label": ...}}')
        return self.with_tree(record)


def _keys(text: str) -> set[str]:
    """The keys of a JSON object; none for what is no such object."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return set()
    return set(record) if isinstance(record, dict) else set()
