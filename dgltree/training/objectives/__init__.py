"""The kinds of what is predicted of an example: classes or numbers."""

from typing import Any

from dgltree.training.objectives.classes import Classes
from dgltree.training.objectives.numbers import Numbers
from dgltree.training.objectives.objective import Objective

OBJECTIVES: dict[str, type[Any]] = {"classes": Classes, "numbers": Numbers}
"""The objective for what a readout gives (``dgltree.models.readouts.Readout.gives``)."""

__all__ = ["OBJECTIVES", "Classes", "Numbers", "Objective"]
