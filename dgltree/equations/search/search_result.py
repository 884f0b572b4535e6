"""The result of a search."""

from typing import NamedTuple

from dgltree.trees.tree import Tree


class SearchResult(NamedTuple):
    """The result of a search."""

    fillers: dict[Tree, str]
    """Filler to where it comes from."""
    tried: int
    """Expressions whose values were looked at."""
    stopped: bool
    """Whether the clock ended it."""
    memory: int
    """Bytes of the largest table."""
    reason: str = ""
    """Why there are none, or that no real number is one."""
    period: Tree | None = None
    """Of which each whole multiple may be added to a solution."""
    more: bool = False
    """Whether there may be other real solutions than those that were found."""
    extraneous: tuple[str, ...] = ()
    """Real numbers that solve the equation by its rules, but at which a part is not real, with the part."""
