"""Place of a label, a split or a group that no column has alone: ``sent_id:^[a-z]+``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dgltree.datasets.settings.field_texts import text_of


@dataclass(frozen=True)
class ColumnPattern:
    """A column, and what of its text is meant."""

    column: str
    """Of a table, a comment of a CoNLL-U sentence, or ``file``, ``folder``, ``id``."""
    pattern: re.Pattern[str] | None = None
    """Its value is its first group, or all that it matches; of named groups, the name of the one that matched."""
    booleans: bool = False
    """Whether its value may be true or false, which are texts then."""

    @classmethod
    def of(cls, option: str, text: str, booleans: bool = False) -> "ColumnPattern":
        """Read ``COLUMN`` or ``COLUMN:REGEX``. Raises ``ValueError`` for what is not a regular expression."""
        column, colon, pattern = text.partition(":")
        try:
            return cls(column, re.compile(pattern) if colon else None, booleans)
        except re.error as error:
            raise ValueError(f"{option} is {text!r}: {pattern!r} is not a regular expression ({error})") from None

    def __call__(self, fields: Mapping[str, Any]) -> str | None:
        """The value in a record, None if there is none. ``ValueError`` for a value that is not a text or number."""
        value = fields.get(self.column)
        text = str(value).lower() if self.booleans and isinstance(value, bool) else text_of(fields, self.column)
        if text is None or self.pattern is None:
            return text
        match = self.pattern.search(text)
        if match is None:
            return None
        if self.pattern.groupindex:
            return match.lastgroup
        return match[1 if self.pattern.groups else 0] or None
