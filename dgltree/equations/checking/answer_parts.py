"""The expressions of an answer to several blanks: ``2, 3``."""

import re


def parts(text: str, count: int) -> list[str]:
    """The expressions between semicolons or commas outside of brackets; ``1,5`` is one if one is asked for."""
    found = _split(_BETWEEN_EXPRESSIONS, text)
    return found if len(found) == count else _split(_ANY_SEPARATOR, text)


_BETWEEN_EXPRESSIONS = re.compile(r"(?<!\\)(?:;|,(?!\d)|(?<!\d),)")
_ANY_SEPARATOR = re.compile(r"(?<!\\)[;,]")


def _split(separator: re.Pattern[str], text: str) -> list[str]:
    """The parts between separators outside of brackets."""
    places, found, depth = {match.start() for match in separator.finditer(text)}, [""], 0
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if place in places and not depth:
            found.append("")
        else:
            found[-1] += character
    return found
