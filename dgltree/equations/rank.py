"""Rank the fillers of a blank."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from dgltree.batching.vocabulary import Vocabulary
from dgltree.equations.names import VARIABLE, Names, model_variables, spell, variables
from dgltree.equations.path_engine import score_blocks
from dgltree.models.readout import EquationModel
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree


@dataclass(frozen=True)
class Ranking:
    """Fillers of one blank, best first; equal scores in the order of the list that was given."""

    scores: Tensor
    """(k,) logits."""
    probabilities: Tensor
    """(k,) sigmoid of the scores: how likely the filled equation is correct."""
    index: Tensor
    """(k,) int64, positions in the list that was given."""
    given: Sequence[Tree] = field(repr=False)
    names: Names = field(repr=False)

    @property
    def fillers(self) -> tuple[Tree, ...]:
        """The k fillers, in the variable names of the equation."""
        return tuple(self.names.decode(self.given[i]) for i in self.index.tolist())


def rank(
    model: EquationModel,
    equations: Sequence[Equation],
    fillers: Sequence[Tree],
    k: int | None = None,
    memory_bytes: int = 2**28,
    any_variables: bool = True,
) -> list[Ranking]:
    """Rank ``fillers`` for the blank of each equation, by the model's logit for the filled equation.

    Only the path from the blank to the root is computed for each filler; the scores are those of filling the blank and
    running the whole tree, up to rounding.

    Args:
        model: on any device; it is run in evaluation mode and left in the mode it was in.
        equations: each with exactly one ``BLANK``, anywhere, a whole side included. Variables may have any names: they
            are mapped to the model's by first appearance, and back in the answer.
        fillers: trees of any shape. Names that the model knows (``var_0``) mean the equation's variables in order of
            appearance, other names mean themselves. Equal fillers are computed once and get the same score to the bit.
        k: keep the best k; all by default.
        memory_bytes: what intermediate states may take, besides the model, the fillers' own states and the results.
            Less memory means smaller blocks of equations and fillers, and the same scores.
        any_variables: whether to offer fillers with variables that the equation lacks.

    Returns one :class:`Ranking` an equation. Raises ``ValueError`` for no blank or several, no fillers, a blank in a
    filler, more variables than the model knows, or a function or literal that it does not know.
    """
    rankings = dict(rank_each(model, equations, fillers, k, memory_bytes, any_variables))
    return [rankings[number] for number in range(len(equations))]


def rank_each(
    model: EquationModel,
    equations: Sequence[Equation],
    fillers: Sequence[Tree],
    k: int | None = None,
    memory_bytes: int = 2**28,
    any_variables: bool = True,
) -> Iterator[tuple[int, Ranking]]:
    """As :func:`rank`, one (number of the equation, its ranking) at a time, in the order in which they are computed."""
    if k is not None and k < 1:
        raise ValueError(f"k is {k}; it is 1 or more, or None for all")
    if not fillers:
        raise ValueError("no fillers to rank")
    vocabulary = model.cell.vocabulary
    check_fillers(fillers, vocabulary)
    named = [frozenset(variables(filler)) for filler in fillers]
    foreign = sorted(frozenset[str]().union(*named) - set(model_variables(vocabulary)))
    for group in _same_names(vocabulary, equations, foreign):
        own = [group[0].names.encode(filler) for filler in fillers]
        for numbers, scores in score_blocks(model, [question.encoded for question in group], own, memory_bytes):
            for i, row in zip(numbers, scores, strict=True):
                names = group[i].names
                offered = None if any_variables else [f for f, v in enumerate(named) if v <= names.present]
                yield group[i].number, _best(fillers, row, k, names, offered)


def check_fillers(fillers: Sequence[Tree], vocabulary: Vocabulary) -> None:
    """``ValueError`` naming the first filler that has a blank, or a function or literal that a model does not know."""
    for i, filler in enumerate(fillers):
        for node in spell(filler, vocabulary).distinct():
            if node == BLANK:
                raise ValueError(f"filler {i + 1} has a blank itself")
            try:
                vocabulary.function_id(node.function, len(node.children))
                if node.token is not None and node.function != VARIABLE:
                    vocabulary.token_id(node.token)
            except ValueError as error:
                raise ValueError(f"filler {i + 1}: {error}") from None


class _Question(NamedTuple):
    number: int
    encoded: Equation
    names: Names


def _same_names(vocabulary: Vocabulary, equations: Sequence[Equation], foreign: list[str]) -> list[list[_Question]]:
    """Equations for which the fillers' own variable names mean the same, so that they share the fillers' states."""
    groups: dict[tuple[str, ...], list[_Question]] = {}
    for number, equation in enumerate(equations):
        try:
            names = Names(equation, vocabulary, foreign)
        except ValueError as error:
            raise ValueError(f"equation {number + 1}: {error}") from None
        question = _Question(number, Equation(*map(names.encode, equation)), names)
        groups.setdefault(tuple(names.to_model[name] for name in foreign), []).append(question)
    return list(groups.values())


def _best(fillers: Sequence[Tree], scores: Tensor, k: int | None, names: Names, offered: list[int] | None) -> Ranking:
    index = torch.sort(scores if offered is None else scores[offered], descending=True, stable=True).indices[:k]
    if offered is not None:
        index = torch.tensor(offered, device=index.device)[index]
    best = scores[index]
    return Ranking(best, torch.sigmoid(best), index, fillers, names)
