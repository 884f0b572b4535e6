"""Which of several forms of one value a textbook would write: ``x - 3`` before ``-3 + x``.

Arithmetic finds the fillers of a blank that hold. They have one value, so an equation model, which learns values, gives
them all but the same score. What tells them apart is learnt by a small model of its own, from the
answers of textbooks beside other forms of their value.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch, batch
from dgltree.batching.vocabulary import UNKNOWN, Vocabulary
from dgltree.equations.expressions.names import model_variables, variables
from dgltree.equations.expressions.written_form import symbols
from dgltree.equations.ranking.equation_size import check_size
from dgltree.models.tree_model import PairModel, evaluating
from dgltree.trees.equation import BLANK, Equation, substitute
from dgltree.trees.tree import Tree

EQUALS = "="
"""The function of the root of an equation's tree."""
MOST = 4.0
"""Symbols that a form may count more, or less, for how it is written."""
_BLANK = Tree(BLANK.function, token=BLANK.function)


class FormScorer:
    """Scores forms by how likely a textbook is to write them.

    A score is minus the length in symbols (:func:`dgltree.equations.expressions.written_form.symbols`) and what the
    model adds, at most ``MOST`` either way: without the model it is the order from short to long.

    Args:
        model: a :class:`dgltree.models.PairModel` of one class, of a filler and the equation that has the blank, with a
            vocabulary of :func:`form_vocabulary`. It is run in evaluation mode.
    """

    def __init__(self, model: PairModel) -> None:
        self.model = model

    def scores(self, equation: Equation, fillers: Sequence[Tree]) -> Tensor:
        """(F,) of fillers for the blank of an equation, higher for what a textbook would rather write.

        Both may have any functions, numbers and names of variables. Of two names the one that stands first in the
        alphabet does so for the model, too: ``x*y`` is not ``y*x``. Raises ``ValueError`` for more variables than the
        model has, and for an equation that is too large (:func:`check_size`).
        """
        if not fillers:
            return torch.empty(0)
        check_size(equation)
        names = sorted(variables(*equation))
        flat = batch_with_names([context(equation), *fillers], self.model.encoder.vocabulary, names)
        flat = flat.to(next(self.model.parameters()).device)
        with evaluating(self.model):
            states = self.model.encoder(flat, share=True)
            added = self.model.readout(states[1:], states[:1].expand(len(fillers), -1))[:, 0]
        return total(added, torch.tensor([float(symbols(filler)) for filler in fillers], device=added.device))


def total(added: Tensor, length: Tensor) -> Tensor:
    """The scores of what the model adds and lengths in symbols, both (...)."""
    return MOST * torch.tanh(added / MOST) - length


def context(equation: Equation) -> Tree:
    """An equation with blanks as one tree that a model of forms can read."""
    sides = [
        substitute(side, {node: _BLANK for node in side.distinct() if node.function == BLANK.function})
        for side in equation
    ]
    return Tree(EQUALS, sides)


def batch_with_names(trees: Iterable[Tree], vocabulary: Vocabulary, names: Sequence[str]) -> TreeBatch:
    """The trees as a batch in the ids of a vocabulary, whose first variables stand for these names.

    Raises ``ValueError`` for more names than it has variables.
    """
    known = model_variables(vocabulary)
    if len(names) > len(known):
        raise ValueError(f"{len(names)} variables ({', '.join(names)}); this model knows {len(known)} at once")
    called = {token: names[i] if i < len(names) else f" {token}" for i, token in enumerate(known)}
    tokens = [called.get(token, token) for token in vocabulary.tokens]  # with a blank in front: no name of anything
    named = batch(trees, Vocabulary(vocabulary.functions, tokens, unk=True))
    return replace(named, vocabulary=vocabulary)


def form_vocabulary(functions: Iterable[tuple[str, int | None]], tokens: Iterable[str]) -> Vocabulary:
    """The vocabulary of a model of forms that knows these functions and tokens; all others are ``<unk>``."""
    further = [(EQUALS, 2), (BLANK.function, 0), *((UNKNOWN, arity) for arity in range(3))]
    return Vocabulary([*functions, *further], [*tokens, BLANK.function], unk=True)
