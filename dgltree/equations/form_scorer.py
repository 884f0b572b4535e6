"""Which of several forms of one value a textbook would write: ``x - 3`` before ``-3 + x``.

Arithmetic finds the fillers of a blank that hold. They have one value, so an equation model, which learns values, gives
them all but the same score. What tells them apart is learnt by a small model of its own, from the
answers of textbooks beside other forms of their value.
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from dgltree.batching.batch import batch
from dgltree.batching.vocabulary import UNKNOWN, Vocabulary
from dgltree.equations.names import VARIABLE, model_variables, spell, variables
from dgltree.equations.written_form import symbols
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

    A score is minus the length in symbols (:func:`dgltree.equations.written_form.symbols`) and what the model adds, at
    most ``MOST`` either way: without the model it is the order from short to long.

    Args:
        model: a :class:`dgltree.models.PairModel` of one class, of a filler and the equation that has the blank, with a
            vocabulary of :func:`form_vocabulary`. It is run in evaluation mode.
    """

    def __init__(self, model: PairModel) -> None:
        self.model = model

    def scores(self, equation: Equation, fillers: Sequence[Tree]) -> Tensor:
        """(F,) of fillers for the blank of an equation, higher for what a textbook would rather write.

        Both may have any functions, numbers and names of variables. Two names of which one stands before the other in
        the alphabet stay in this order: ``x*y`` is not ``y*x``.
        """
        if not fillers:
            return torch.empty(0)
        vocabulary = self.model.encoder.vocabulary
        encoded = encode([Tree(EQUALS, equation), *fillers], vocabulary)
        with evaluating(self.model):
            states = self.model.encoder(batch(encoded, vocabulary), share=True)
            added = self.model.readout(states[1:], states[:1].expand(len(fillers), -1))[:, 0]
        return total(added, torch.tensor([float(symbols(filler)) for filler in fillers], device=added.device))


def total(added: Tensor, length: Tensor) -> Tensor:
    """The scores of what the model adds and lengths in symbols, both (...)."""
    return MOST * torch.tanh(added / MOST) - length


def encode(trees: Sequence[Tree], vocabulary: Vocabulary) -> list[Tree]:
    """The trees in a vocabulary's names of variables, in the alphabet's order, its literals and its blank.

    Raises ``ValueError`` for more variables than the vocabulary has.
    """
    known = model_variables(vocabulary)
    names = sorted({name for tree in trees for name in variables(tree)})
    if len(names) > len(known):
        raise ValueError(f"{len(names)} variables ({', '.join(names)}); this model knows {len(known)} at once")
    leaves = {Tree(VARIABLE, token=name): Tree(VARIABLE, token=new) for name, new in zip(names, known, strict=False)}
    leaves |= dict.fromkeys(_blanks(trees[0]), _BLANK)
    return [substitute(spell(tree, vocabulary), leaves) for tree in trees]


def form_vocabulary(functions: Iterable[tuple[str, int]], tokens: Iterable[str]) -> Vocabulary:
    """The vocabulary of a model of forms that knows these functions and tokens; all others are ``<unk>``."""
    further = [(EQUALS, 2), (BLANK.function, 0), *((UNKNOWN, arity) for arity in range(3))]
    return Vocabulary([*functions, *further], [*tokens, BLANK.function], unk=True)


def _blanks(tree: Tree) -> list[Tree]:
    return [node for node in tree.distinct() if node.function == BLANK.function]
