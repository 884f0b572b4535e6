"""Ranking fillers for the blanks of equations."""

from collections.abc import Iterator

import torch

from benchmarks.inputs import blanked, fillers
from benchmarks.row import Row, Skipped, in_turn
from dgltree import Vocabulary, rank
from dgltree.cells import TreeSMU
from dgltree.encoders import TreeEncoder
from dgltree.models import EquationModel, EquationReadout

FILLERS = 1_470  # as many as the published candidates
COUNT = 32


def rows(device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The rows of the suite."""
    known = fillers(FILLERS)
    questions = blanked(COUNT)
    sides = [side for equation in questions for side in equation.fill(known[0])]
    vocabulary = Vocabulary.from_trees([*sides, *known])
    torch.manual_seed(0)
    cell = TreeSMU(vocabulary, 50, stack_size=5, no_op=True)
    model = EquationModel(TreeEncoder(cell), EquationReadout()).to(device).eval()
    [time] = in_turn({"ours": lambda: rank(model, questions, known, top=5)}, min(repeats, 3), device).values()
    each = 1000 * time.median / len(questions)
    work = {"filled equations": len(questions) * len(known) / time.median}
    name = f"ranking {len(known):,} fillers, Tree-SMU n=50 p=5"
    yield Row(name, each, "ms per equation", 5, 10, falling=True, ours_s=time.median, work=work)
