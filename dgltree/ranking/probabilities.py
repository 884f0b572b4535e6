"""How likely equations are correct."""

from collections.abc import Sequence

import torch
from torch import Tensor

from dgltree.batching.batch import batch
from dgltree.models.tree_model import EquationModel, evaluating
from dgltree.ranking.model_names import Names
from dgltree.trees.equation import BLANK, Equation


def probabilities(model: EquationModel, equations: Sequence[Equation], batch_size: int = 1024) -> Tensor:
    """(E,) probabilities that the equations are correct.

    Variables may have any names; they are mapped to the model's by first appearance. Raises ``ValueError`` for a
    blank, a function or literal that the model does not know, or more variables than it knows.
    """
    vocabulary = model.encoder.vocabulary
    device = next(model.parameters()).device
    logits = [torch.empty(0, device=device)]
    with evaluating(model):
        for start in range(0, len(equations), batch_size):
            encoded = []
            for number, equation in enumerate(equations[start : start + batch_size], start=start + 1):
                if any(node == BLANK for side in equation for node in side.distinct()):
                    raise ValueError(f"equation {number} has a blank: complete it, or fill it in")
                names = Names(equation, vocabulary)
                encoded.append(Equation(*map(names.encode, equation)))
            logits.append(model(batch(encoded, vocabulary).to(device), share=True))
    return torch.cat(logits).sigmoid()
