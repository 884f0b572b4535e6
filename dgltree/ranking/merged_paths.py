"""The pieces that the paths of several equations share, from their blanks upwards."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dgltree.batching.vocabulary import NO_TOKEN, Vocabulary
from dgltree.equations.expressions.paths import Path
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree


@dataclass
class Context:
    """One node of a path, above a blank that may still be anything: the same for all equations that share it."""

    function: int
    token: int
    arity: int
    slot: int
    siblings: tuple[int, ...]
    """Numbers of the trees in the other slots, in order."""
    below: int | None
    """The context of the child on the path; None if that is the blank itself."""
    height: int
    """Cells between the blank and this node, from 0."""
    above: int = 0
    """The most cells between this node and a root."""


@dataclass
class Paths:
    """The contexts of several equations, children before parents, and the trees that are off their paths."""

    contexts: list[Context] = field(default_factory=list)
    off_path: dict[Tree, int] = field(default_factory=dict)
    """Tree to number: siblings of path nodes, and whole other sides."""
    ends: list[tuple[int | None, int, int]] = field(default_factory=list)
    """For each equation: its root's context (None for a bare blank), the number of its other side, the blank's side."""


def merge_paths(equations: Sequence[Equation], paths: Sequence[Path], vocabulary: Vocabulary) -> Paths:
    """Equal pieces of path, from the blank upwards, become one context."""
    merged = Paths()
    known: dict[tuple[int, int, int, tuple[int, ...], int | None], int] = {}
    number = merged.off_path
    for equation, (side, steps) in zip(equations, paths, strict=True):
        below = None
        for height, (node, slot) in enumerate(steps):
            siblings = tuple(
                number.setdefault(child, len(number)) for k, child in enumerate(node.children) if k != slot
            )
            function = vocabulary.function_id(node.function, len(node.children))
            token = NO_TOKEN if node.token is None else vocabulary.token_id(node.token)
            key = (function, token, slot, siblings, below)
            if key not in known:
                known[key] = len(merged.contexts)
                merged.contexts.append(Context(function, token, len(node.children), slot, siblings, below, height))
            below = known[key]
            context = merged.contexts[below]
            context.above = max(context.above, len(steps) - 1 - height)
        other = equation[1 - side]
        merged.ends.append((below, number.setdefault(other, len(number)), side))
    return merged


def path_order(paths: Sequence[Path]) -> list[int]:
    """Equations sorted so that those with a common piece of path are together."""
    shapes: dict[tuple[Tree | None, int], int] = {}

    def key(path: Path) -> list[int]:
        """Equal path nodes, the child towards the blank aside, get equal numbers."""
        numbers = []
        for node, slot in path.steps:
            aside = node.replace(children=[BLANK if k == slot else child for k, child in enumerate(node.children)])
            numbers.append(shapes.setdefault((aside, slot), len(shapes)))
        return numbers

    keys = [key(path) for path in paths]
    return sorted(range(len(paths)), key=keys.__getitem__)
