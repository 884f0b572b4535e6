"""Trees with other numbers of children than a model knows."""

import pytest

from dgltree import Tree
from dgltree.batching.vocabulary import UNKNOWN
from dgltree.datasets.translation import fit_arity

LEAVES = [Tree(name) for name in "abcdef"]
STRANGE = Tree(UNKNOWN)


@pytest.mark.parametrize(
    ("count", "arities", "wanted"),
    [
        (1, [0, 2], [LEAVES[0], STRANGE]),
        (2, [0, 2], LEAVES[:2]),
        (3, [0, 2], [LEAVES[0], Tree(UNKNOWN, LEAVES[1:3])]),
        (4, [0, 2], [LEAVES[0], Tree(UNKNOWN, [LEAVES[1], Tree(UNKNOWN, LEAVES[2:4])])]),
        (2, [0, 1, 3], [*LEAVES[:2], STRANGE]),
        (6, [0, 3], [*LEAVES[:2], Tree(UNKNOWN, [*LEAVES[2:4], Tree(UNKNOWN, [*LEAVES[4:], STRANGE])])]),
    ],
)
def test_children_are_padded_or_nested(count: int, arities: list[int], wanted: list[Tree]) -> None:
    assert fit_arity(Tree("f", LEAVES[:count]), arities) == Tree("f", wanted)


def test_any_number_of_children_is_nested() -> None:
    found = fit_arity(Tree("f", [Tree("x")] * 5000), [0, 2])
    assert (found.size, found.depth) == (1 + 5000 + 4998, 4999)
