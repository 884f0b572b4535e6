"""The sets that the papers on latent trees test on, made by their processes with seeds of our own.

No published program sets a seed, so that the distributions can be made again and the sets cannot. Each has 2,000
expressions: an accuracy of 50 % is known to ± 2.2 points, one of 95 % to ± 1.0 (at 95 %).
"""

from collections.abc import Callable
from functools import cache
from random import Random
from typing import NamedTuple

from tasks.listops.files import Expression
from tasks.listops.sampler import draw_lists, process

DEFAULT_COUNT = 2_000


class Preset(NamedTuple):
    """The content of a set, and how it is drawn."""

    about: str
    shortest: int
    longest: int
    deepest: int = 20
    most: int = 5
    """Places of a list."""
    lists: float = 0.25
    depths: Callable[[int], bool] = lambda depth: True
    """Which depths are kept, in lists within each other: a digit has depth 0."""


SETS: dict[str, Preset] = {
    "length_200": Preset("200 to 300 words", 200, 300),
    "length_500": Preset("500 to 600 words", 500, 600),
    "length_900": Preset("900 to 1,000 words", 900, 1000),
    "arguments_5": Preset("up to 5 arguments, 100 to 1,000 words", 100, 1000, deepest=9),
    "arguments_10": Preset("up to 10 arguments, 100 to 1,000 words", 100, 1000, deepest=9, most=10),
    "arguments_15": Preset("up to 15 arguments, 100 to 1,000 words", 100, 1000, deepest=9, most=15),
    "lra": Preset("up to 10 arguments, 501 to 1,999 words, as in LRA", 501, 1999, deepest=10, most=10),
    "depth_8": Preset("ListOps-DG: depth 8 or more", 20, 100, deepest=10, lists=0.3, depths=lambda depth: depth >= 8),
}
"""Sets by name: all that "all" asks for."""
BETWEEN = {
    f"between_{least}": Preset(f"{least + 1} to {least + 99} words, both ends left out", least + 1, least + 99)
    for least in (200, 500, 900)
}
"""The sets of long expressions with the published bounds."""
ASKED = {**SETS, **BETWEEN}
"""Sets that can be asked for."""
TRAINING = {
    "depth_6": Preset("ListOps-DG, to train on: depth up to 5", 20, 100, deepest=6),
    "depth_7": Preset("ListOps-DG, to validate on: depth 7", 20, 500, deepest=10, lists=0.3, depths=(7).__eq__),
}
"""Sets of ListOps-DG."""
PRESETS = {**ASKED, **TRAINING}


@cache
def preset(name: str, count: int = DEFAULT_COUNT, seed: int = 0) -> tuple[Expression, ...]:
    """Different expressions of a set, in an order that depends on the seed alone.

    Raises ``ValueError`` for another name or a count below 1.
    """
    if name not in PRESETS:
        raise ValueError(f"no set {name!r}; there are {', '.join(PRESETS)}")
    if count < 1:
        raise ValueError(f"count is {count}; it must be 1 or more")
    wanted = PRESETS[name]
    random = Random(f"listops {name} {seed}")
    made = process(wanted.deepest, wanted.most, wanted.lists, wanted.longest)
    found: dict[Expression, None] = {}
    for words, value, depth in draw_lists(made, wanted.shortest, random):
        if wanted.depths(depth):
            found[Expression(" ".join(words), value)] = None
        if len(found) == count:
            break
    return tuple(found)
