"""Layout of LaTeX sheets around an equation: ``\\item``, ``\\tag{1}``, and rules to write on, which are blanks."""

import re

_RULE = re.compile(
    r"\\underline\s*\{(?:\s|~|\\hspace\*?\s*\{[^{}]*\}|\\q?quad(?![A-Za-z])|\\[ ,;:])+\}"
    r"|\\rule\s*(?:\[[^][]*\])?\s*\{[^{}]*\}\s*\{[^{}]*\}|\\hrulefill(?![A-Za-z])"
)
_ITEM = re.compile(r"\A\s*\\item(?![A-Za-z])\s*(?:\[[^][]*\])?")
_TAG = re.compile(r"\\(?:tag\*?|label)\s*\{[^{}]*\}(?=\s*(?:\\\\|\$|\\\]|\\end|\Z))")


def without_layout(text: str) -> str:
    """The text with ``_`` for a rule and spaces for an item or a tag, so that columns stay what they are."""
    text = _RULE.sub(lambda found: "_".ljust(len(found[0])), text)
    text = _TAG.sub(lambda found: " " * len(found[0]), text)
    return _ITEM.sub(lambda found: " " * len(found[0]), text)
