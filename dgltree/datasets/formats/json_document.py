"""A JSON file that is one value: an array of records or of trees, or a single tree."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from dgltree.datasets.formats.records import SAMPLE, JSONRecords, PlacedRecord, keys_of
from dgltree.datasets.formats.source import Chunk, Source, cut_into_chunks, decode
from dgltree.datasets.settings import WHOLE_RECORD, Reading
from dgltree.read.json_tree import NODE_LIST, Keys, is_node_list, load_json

_SPACE = re.compile(r"[\s,]*")


@dataclass(kw_only=True)
class JSONDocument(JSONRecords):
    """``[{"tree": "sin(x)", "label": "sine"}, ...]``. It is held as a whole; a record's line is its first."""

    text: str

    @classmethod
    def fits(cls, source: Source, reading: Reading) -> bool:
        """Whether it opens an array, or an object that continues after the first line or is all there is."""
        title = source.title().strip()
        if not title.startswith(("[", "{")):
            return False
        try:
            load_json(title)
        except ValueError:
            return title in ("[", "{") or title.startswith(("[{", "[ {", '["', '[ "', '{"', '{ "'))
        return not any(line.strip() for line in source.first(2)[1:]) and title.startswith("[")

    @classmethod
    def open(cls, source: Source, reading: Reading) -> Self:
        """Raises ``ValueError`` for what is not JSON, and for an object that is not a tree."""
        found = cls(source, reading, text="\n".join(decode(line, reading.max_line) for line in source.lines()))
        first = next(found._items(), None)
        if first is None:
            raise ValueError(f"{source.path}: an empty array; expected an array of records or trees")
        record = first.raw
        found.pairs = found.has_pairs(set(record) if isinstance(record, dict) else set())
        return found

    def fields(self, raw: Any) -> Mapping[str, Any]:
        if isinstance(raw, dict) and {self.reading.tree, self.reading.left} & {*raw, WHOLE_RECORD}:
            return self.with_tree(raw)
        return {self.reading.tree: raw}

    def sample(self) -> list[Any]:
        return [item.raw for item, _ in zip(self._items(), range(SAMPLE), strict=False)]

    def chunks(self) -> Iterator[Chunk]:
        return cut_into_chunks(self._items(), lambda item: len(str(item.raw)))

    def items(self, chunk: Chunk) -> Iterator[PlacedRecord]:
        return iter(chunk.raw)

    def _items(self) -> Iterator[PlacedRecord]:
        """The elements of the array, or the one object. Raises ``ValueError`` with the line of what is not JSON."""
        text = self.text
        start = len(text) - len(text.lstrip())
        if text[start : start + 1] == "{":
            yield PlacedRecord(1, self._value(text))
            return
        if is_node_list(self._value(text), self._list_keys):
            yield PlacedRecord(1, json.loads(text))
            return
        decoder = json.JSONDecoder()
        line = 1
        seen = 0
        at = start + 1
        while True:
            at = _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches everywhere
            if text[at] == "]":
                return
            line += text.count("\n", seen, at)
            seen = at
            value, at = decoder.raw_decode(text, at)
            yield PlacedRecord(line, value)

    @property
    def _list_keys(self) -> Keys:
        return keys_of(self.reading) if self.reading.keys != Reading.keys else NODE_LIST

    def _value(self, text: str) -> Any:
        try:
            return load_json(text)
        except ValueError as error:
            raise ValueError(f"{self.source.path}: invalid JSON: {error}") from None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"text": ""}  # which stays with the process that reads
