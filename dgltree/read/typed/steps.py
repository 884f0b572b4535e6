"""``read_steps``: a calculation in steps, ``2x + 4 = 2(x + 2) = 2x + 4``, as the equations of neighbours."""

import re
from collections.abc import Collection
from itertools import pairwise

from dgltree.read.typed.reader import Typed, read_typed
from dgltree.read.typed.sheets import without_layout
from dgltree.read.typed.tokens import tokens

_SOLVE = re.compile(r"\s*solve\b(?=\s*[^\s=])", re.IGNORECASE)


def read_steps(text: str, names: Collection[str] = ()) -> list[tuple[str, Typed]]:
    """The equation of each side and the next one, with its text; of an equation with one ``=`` itself.

    ``names`` are runs of letters that are one name. Raises ``ValueError`` as :func:`dgltree.read.typed.read_typed`
    does, also if a side is none by itself: a system of equations is refused.
    """
    if _SOLVE.match(text):
        raise ValueError("solve asks for solutions, which dgltree complete finds; verify takes an equation alone")
    text = without_layout(text)
    try:
        signs = [token for token in tokens(text) if token.kind == "="]
        starts, stops = [0, *(sign.stop for sign in signs)], [*(sign.start for sign in signs), len(text)]
        sides = [text[start:stop].strip() for start, stop in zip(starts, stops, strict=True)]
        if len(signs) > 1:
            pairs = [f"{left} = {right}" for left, right in pairwise(sides)]
            return [(pair, read_typed(pair, names)) for pair in pairs]
    except ValueError:
        pass  # said by the reader of the whole text
    return [(text.strip(), read_typed(text, names))]
