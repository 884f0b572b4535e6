"""The notations that hold one tree a text, by name, and which of them some texts are in."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dgltree.read.bracket import read_sst, read_treebank, read_unlabelled
from dgltree.read.infix import read_infix
from dgltree.read.json_tree import read_json_tree
from dgltree.read.networkx import read_node_link
from dgltree.read.python import read_python
from dgltree.read.sexpr import read_sexpr
from dgltree.read.smiles import read_smiles
from dgltree.trees.tree import Tree


class Notation(NamedTuple):
    """How a tree is written."""

    read: Callable[[str], Tree]
    """The tree of a text; ``ValueError`` for a text that has none."""
    example: str


NOTATIONS: dict[str, Notation] = {
    "node_link": Notation(
        read_node_link,
        '{"directed": true, "nodes": [{"id": 0, "function": "sin"}, {"id": 1, "function": "x"}], '
        '"edges": [{"source": 0, "target": 1}]}',
    ),
    "json": Notation(read_json_tree, '{"label": "add", "children": [{"label": "x"}, {"label": "2"}]}'),
    "sst": Notation(read_sst, "(3 (2 The) (4 Rock))"),
    "infix": Notation(read_infix, "sin(x)^2 + y"),
    "brackets": Notation(read_unlabelled, "( not ( e ( or f ) ) )"),
    "treebank": Notation(read_treebank, "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"),
    "sexpr": Notation(read_sexpr, "(+ x (sin y))"),
    "python": Notation(read_python, "def f(x): return x + 1"),
    "smiles": Notation(read_smiles, "c1ccccc1C(=O)O"),
}
"""In the order in which they are tried: what reads less comes first, because an S-expression could be nearly anything
with brackets around it. Python comes late, because it reads much that is meant otherwise: x^2 is its "xor". SMILES are
never detected: nearly every word of capital letters is one."""

MOST = 100_000
"""Characters that are looked at: a megabyte takes infix ten seconds."""
_ORDER = tuple(name for name in NOTATIONS if name not in ("python", "smiles"))
_OPENING = re.compile(r"(?:\s|;[^\n]*\n)*\(")
_TIGHT = re.compile(r"[()](?=\S)")


def detect(texts: Sequence[str]) -> str:
    """The name of the notation that the sample ``texts`` are in: the strictest that reads all but a few.

    Brackets without labels are told from labelled ones by the white space behind every bracket. A lone word is taken
    for such a tree or an S-expression only beside a text with brackets. ``python`` is taken where no other
    notation reads half of the texts. Blank texts say nothing. Texts beyond some 100,000 characters
    altogether are not looked at, so that it takes a second or two; of longer ones alone the shortest is.

    Raises ``ValueError`` where no notation reads any text, listing all with an example.
    """
    texts = _few_long([text for text in texts if text.strip()])
    counts: dict[str, int] = {}
    for name in _ORDER:
        counts[name] = _count(name, texts)
        if counts[name] and _few(len(texts) - counts[name], len(texts)):
            return name
    best = max(_ORDER, key=lambda name: counts[name])
    if texts and 2 * counts[best] >= len(texts):
        return best
    if texts and _count("python", texts) > counts[best]:
        return "python"
    if counts[best]:
        return best
    known = "".join(f"\n  {name}: {notation.example}" for name, notation in NOTATIONS.items())
    found = f"none of {len(texts)} texts is in a known notation" if texts else "found no text"
    raise ValueError(f"{found}; expected one of{known}")


def _few_long(texts: list[str]) -> list[str]:
    """The texts that the time suffices for; the shortest where it does for none."""
    kept, room = [], MOST
    for text in texts:
        if len(text) <= room:
            kept.append(text)
            room -= len(text)
    return kept or sorted(texts, key=len)[:1]


def _few(bad: int, texts: int) -> bool:
    """So few that a notation is taken although it does not read them: what reads less is seldom there by chance."""
    return 10 * bad <= texts or (bad == 1 and texts > 3)


def _count(name: str, texts: Sequence[str]) -> int:
    """How many of ``texts`` the notation reads."""
    read = [text for text in texts if _reads(name, text)]
    if name in ("brackets", "sexpr") and not any(_OPENING.match(text) for text in read):
        return 0  # they read every lone word
    return len(read)


def _reads(name: str, text: str) -> bool:
    if name == "brackets" and _TIGHT.search(text):
        return False
    if name == "python" and text.lstrip().startswith("{"):
        return False  # an object of JSON reads as a dictionary of Python
    try:
        NOTATIONS[name].read(text)
    except ValueError:
        return False
    return True
