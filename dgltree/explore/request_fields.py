"""The fields of a request are checked one by one, and a message names the one that is wrong."""

from collections.abc import Mapping
from typing import Any, TypeVar

Result = TypeVar("Result")


class RequestFields:
    """The fields of a request. Every method raises ``ValueError`` naming the field, and what would be right."""

    def __init__(self, fields: Any) -> None:
        if not isinstance(fields, dict):
            raise ValueError("the request is not a JSON object")
        self._fields: dict[str, Any] = fields

    def text(self, name: str, longest: int) -> str:
        """A text of at most so many characters."""
        found = self._fields.get(name)
        if not isinstance(found, str):
            raise ValueError(f"{name} is missing; it must be a string")
        if len(found) > longest:
            raise ValueError(f"found {len(found):,} characters; the page takes up to {longest:,}")
        return found

    def texts(self, name: str, most: int, longest: int) -> list[str]:
        """At most so many texts of at most so many characters each."""
        found = self._fields.get(name)
        if not isinstance(found, list) or len(found) > most or not all(isinstance(one, str) for one in found):
            raise ValueError(f"{name} is not a list of up to {most} strings")
        return [RequestFields({name: one}).text(name, longest) for one in found]

    def flag(self, name: str) -> bool:
        """Yes or no; no if the field is missing."""
        found = self._fields.get(name, False)
        if not isinstance(found, bool):
            raise ValueError(f"{name} must be true or false")
        return found

    def whole(self, name: str, lowest: int, highest: int) -> int:
        """A whole number between two."""
        found = self._fields.get(name)
        if not isinstance(found, int) or isinstance(found, bool) or not lowest <= found <= highest:
            raise ValueError(f"{name} is not a whole number from {lowest} to {highest}")
        return found

    def one_of(self, name: str, there: Mapping[str, Result]) -> Result:
        """The model or file of a name that was given at the start."""
        found = self._fields.get(name)
        if not isinstance(found, str) or found not in there:
            raise ValueError(f"{name} is none of {', '.join(there) or 'those that were opened: there is none'}")
        return there[found]
