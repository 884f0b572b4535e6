"""What is kept of the equations of all runs: so many of each kind, in the order of the runs."""

from collections import Counter

import pyarrow
import pytest

from tasks.equations.generator import chains
from tasks.equations.generator.identities import World
from tasks.equations.generator.presets import Shape
from tasks.equations.generator.published.process import Process, Union

KINDS = [(label, depth) for _ in range(9) for depth in (1, 2, 3) for label in (1, 0) if (label, depth) != (0, 3)]
MADE = pyarrow.table(
    {"label": [kind[0] for kind in KINDS], "depth": [kind[1] for kind in KINDS], "place": list(range(len(KINDS)))}
)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("kept", "expected", "missing"),
    [
        (4, {(1, 1): 4, (0, 1): 4, (1, 2): 4, (0, 2): 4}, {}),
        (20, {(1, 1): 9, (0, 1): 9, (1, 2): 9, (0, 2): 9}, {}),
        (
            Shape({1: 6, 3: 12}, {1: 0.5, 3: 0.75}),
            {(1, 1): 3, (0, 1): 3, (1, 3): 9},
            {(0, 3): 3},
        ),
    ],
)
def test_kinds_are_thinned_and_what_is_left_keeps_its_order(
    kept: Shape | int, expected: dict[tuple[int, int], int], missing: dict[tuple[int, int], int], seed: int
) -> None:
    union = Union(Process(1, 10, 3, kept), "train", seed)
    found = union._thinned(MADE).to_pydict()
    assert found["place"] == sorted(set(found["place"]))
    kinds = list(zip(found["label"], found["depth"], strict=True))
    assert kinds == [KINDS[place] for place in found["place"]]
    assert Counter(kinds) == expected
    assert union.missing == missing
    assert union.counts["more than wanted"] == len(KINDS) - len(kinds)


@pytest.mark.parametrize("count", [1, 7, 30])
@pytest.mark.parametrize("world", ["paper", "elementary"])
def test_chains_make_as_many_equations_as_are_asked_for_each_once(world: World, count: int) -> None:
    made = chains.correct((count, "train", "a test", world))
    assert len(made) == count == len({one.digest for one in made})
    assert made == chains.correct((40, "train", "a test", world))[:count]
