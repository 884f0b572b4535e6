"""Ranking, verification and numeric truth of equations, and the models for them."""

from dgltree.equations.pretrained.published import load_published
from dgltree.equations.pretrained.shipped import logic_model, open_model, shipped_fillers
from dgltree.equations.ranking.ranker import Ranker, Ranking, rank
from dgltree.equations.truth.evaluator import Evaluator, Truth, numeric_truth

__all__ = [
    "Evaluator",
    "Ranker",
    "Ranking",
    "Truth",
    "load_published",
    "logic_model",
    "numeric_truth",
    "open_model",
    "rank",
    "shipped_fillers",
]
