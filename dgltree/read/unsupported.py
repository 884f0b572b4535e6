"""Notations that are not read, and the marks by which they are known. Others would read them, but not as meant."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

_PHRASE = re.compile(r"\(\s*\((?:S|SBAR|SBARQ|SINV|SQ|FRAG|NP|VP|PP|ADJP|ADVP|INTJ|UCP|X|TOP|ROOT)(?:[-=|]\S*)?\s*\(")
_BRACKET = re.compile(r"[()]")


class UnsupportedNotation(NamedTuple):
    """A notation that is refused by name."""

    name: str
    """A name of such texts, and what would be right."""
    mark: Callable[[str], object]
    """Whether a text is in it."""
    around: Callable[[str], object] = lambda text: False
    """Whether a line is another one of its files, such as a header; it counts only next to one with the mark."""


def _several(text: str) -> bool:
    """Whether brackets without a label hold several trees of a treebank."""
    if not _PHRASE.match(text):
        return False
    depth = trees = 0
    for match in _BRACKET.finditer(text):
        depth += 1 if match[0] == "(" else -1
        trees += depth == 1 and match[0] == ")"
    return trees > 1


FOREIGN = (
    UnsupportedNotation(
        "AMR graphs; write each as a tree, an S-expression or JSON, without variables",
        re.compile(r"\s*\(\s*[^\s()]{1,40}\s*/\s*[^\s()]{1,200}[\s)]+:[A-Za-z]|\s+:ARG\d|# ::snt ").match,
        re.compile(r"# ::\w|\s*\(\s*[^\s()]{1,40} / |\s+:[A-Za-z][\w-]*\s").match,
    ),
    UnsupportedNotation(
        "dot-bracket structures of RNA; write each as a tree, for example as an S-expression",
        re.compile(r"(?=[^(]*\()[().\[\]{}<>]*\.[().\[\]{}<>]*(?:\s+\(?\s*-?[\d.]+\)?)?\s*$").match,
        re.compile(r">|[ACGUTN]{4,}\s*$", re.IGNORECASE).match,
    ),
    UnsupportedNotation(
        "trees of CCGbank; write each as a treebank's tree, (S (NP (N word)) ...)",
        re.compile(r"\s*\(<[TL] ").match,
        re.compile(r"ID=\S+ PARSER=").match,
    ),
    UnsupportedNotation(
        "S-expressions with Lisp's symbols in bars, |a b|, which are not supported; write such a symbol as "
        'a text, "a b", or as one word',
        re.compile(r"\s*\((?s:.*[\s(])?\|[^|()\s]+[ \t][^|()\"\n]*\|[\s)]").match,
    ),
    UnsupportedNotation(
        "treebank trees in which brackets without a label hold several trees; give these brackets a label, "
        "(ROOT (S ...) (. .)), or name the notation: --notation sexpr reads them, and finds no labels",
        _several,
    ),
    UnsupportedNotation(
        "MathJSON, lists that begin with a function's name; write each as an S-expression, (Add x 1), or as infix",
        re.compile(r'\s*\[\s*"[A-Z]\w*"\s*,').match,
    ),
    UnsupportedNotation(
        "trees in quotation marks, as in a CSV file; call the file .csv (without a header: with --columns tree), or "
        "remove the quotation marks",
        re.compile(r"\s*([\"'])[^\"']*[({].*\1\s*$", re.DOTALL).match,
    ),
)


def find_unsupported(text: str) -> UnsupportedNotation | None:
    """The notation that is not read, but that a text has the marks of."""
    return next((each for each in FOREIGN if each.mark(text)), None)


def check_supported(texts: Sequence[str]) -> None:
    """``ValueError`` if half of some texts or more are in one notation that is not read."""
    for each in FOREIGN:
        marked = [text for text in texts if each.mark(text)]
        others = [text for text in texts if each.around(text)] if marked else []
        if marked and 2 * len({*marked, *others}) >= len({*texts}):
            raise ValueError(f"these are {each.name}")
