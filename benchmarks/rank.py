"""Ranking fillers for the blanks of equations."""

from collections.abc import Iterator
from pathlib import Path

import torch

from benchmarks.inputs import blanked, data_folder
from benchmarks.row import Row, Skipped, in_turn
from dgltree import Tree, Vocabulary, rank, shipped_fillers
from dgltree.cells import TreeSMU
from dgltree.encoders import TreeEncoder
from dgltree.read.preorder import read_candidates
from dgltree.readout import EquationModel, EquationReadout

FILLERS = 1_470  # as many as the published candidates
COUNT = 32


def rows(device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The rows of the suite."""
    fillers = _fillers()
    questions = blanked(COUNT)
    sides = [side for equation in questions for side in equation.fill(fillers[0])]
    vocabulary = Vocabulary.from_trees([*sides, *fillers])
    torch.manual_seed(0)
    cell = TreeSMU(vocabulary, 50, stack_size=5, no_op=True)
    model = EquationModel(TreeEncoder(cell), EquationReadout()).to(device).eval()
    [time] = in_turn({"ours": lambda: rank(model, questions, fillers, k=5)}, min(repeats, 3), device).values()
    each = 1000 * time.median / len(questions)
    work = {"filled equations": len(questions) * len(fillers) / time.median}
    name = f"ranking {len(fillers):,} fillers, Tree-SMU n=50 p=5"
    yield Row(name, each, "ms an equation", 5, 10, falling=True, ours_s=time.median, work=work)


def _fillers() -> list[Tree]:
    folder = data_folder()
    file = None if folder is None else folder / "equations" / "candidate_classes.json"
    if file is not None and Path(file).is_file():
        return [candidate.filler for candidate in read_candidates(file)]
    return shipped_fillers()[:FILLERS]
