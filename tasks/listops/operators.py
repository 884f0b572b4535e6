"""Tells expressions apart by the operator at their root, and the flat lists among them."""

import torch
from torch import Tensor

from dgltree import TreeBatch
from dgltree.encoders.sequence.linearization import linearize, symbol_names
from tasks.listops.language import OPERATORS, VOCABULARY

_IDS = {operator: symbol_names(VOCABULARY).index(operator) for operator in OPERATORS}
ROOTS = {f"root_{operator[1:].lower()}": operator for operator in OPERATORS}
FLAT = {f"flat_{operator[1:].lower()}": operator for operator in OPERATORS}


def by_operator(trees: TreeBatch) -> dict[str, Tensor]:
    """A name of :data:`ROOTS` or :data:`FLAT` to (E,) bool: which of E expressions have the operator at the root, and
    which of these are lists of digits alone.

    A single digit is in none of them.
    """
    ids, _ = linearize(trees, "leaves", VOCABULARY)
    flat = torch.isin(ids, torch.tensor([*_IDS.values()], device=ids.device)).sum(1) == 1
    roots = {name: ids[:, 0] == _IDS[operator] for name, operator in ROOTS.items()}
    return roots | {name: (ids[:, 0] == _IDS[operator]) & flat for name, operator in FLAT.items()}
