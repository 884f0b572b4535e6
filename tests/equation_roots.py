"""Solutions of drawn equations against roots by a grid and bisection: for ``scripts/fuzz --only solutions``."""

from fuzzing import Target
from hypothesis import strategies as st

from benchmarks.solutions.drawn import FAMILIES, draw
from benchmarks.solutions.faults import FALSE, LOST, row
from benchmarks.solutions.kept import KEPT


def has_all_roots_and_no_others(number: int) -> bool:
    """Whether all are known to be all; a root that is lost without a word, or false, is a defect."""
    found = row(draw(number, 0, {**FAMILIES, **KEPT}))
    assert not found["fault"] or found["fault"]["kind"] not in (LOST, FALSE), found
    return not found["more"]


def solution_targets() -> dict[str, Target]:
    return {"solutions": Target(st.integers(0, 10**9), has_all_roots_and_no_others, together=4)}
