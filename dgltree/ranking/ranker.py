"""A ranker orders the fillers of a blank by a network's score, in the equation's own names.

The variables and literals of a user are written in the model's vocabulary first, and back in the answer.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from typing import NamedTuple

import torch
from torch import Tensor

from dgltree.batching.batch import batch
from dgltree.batching.vocabulary import Vocabulary
from dgltree.equations.expressions.variables import VARIABLE, variables
from dgltree.models.tree_model import EquationModel, evaluating
from dgltree.ranking.path_engine import FillerStates, score_blocks
from dgltree.read.notation import DIGITS, FRACTION, MINUS_ONE, number
from dgltree.support.refusal import Refusal
from dgltree.support.torch_internals import hooks_of, version_of
from dgltree.trees.equation import BLANK, Equation, substitute
from dgltree.trees.tree import Tree

KEPT = 8
"""Ways to name the fillers' own variables for which a ranker keeps their states."""
EXACT = ("Integer", "Rational", "Half")
_EXACT_TEXT = re.compile(f"-?[0-9]+|{FRACTION.pattern}")


class Names:
    """The variables of one equation as a model names them: by first appearance, left side first.

    A name that the model knows ("var_3", or "x" if it was trained on x) stands for itself; any other gets the
    first name of the model that is free.

    Args:
        equation: in the user's names.
        vocabulary: of the model; see :func:`model_variables`.
        further: names of variables that the equation may lack, named after its own.

    Raises ``ValueError`` for more variables than the model has.
    """

    def __init__(self, equation: Equation, vocabulary: Vocabulary, further: Iterable[str] = ()) -> None:
        known = model_variables(vocabulary)
        own = variables(*equation)
        names = list(dict.fromkeys([*own, *further]))
        free = [token for token in known if token not in names]
        new = [name for name in names if name not in known]
        if len(new) > len(free):
            raise Refusal(f"{len(names)} variables ({', '.join(names)}); this model knows {len(known)} at once")
        self.vocabulary = vocabulary
        self.to_model = {name: name for name in names if name in known} | dict(zip(new, free, strict=False))
        renamed = [(_variable(user), _variable(model)) for user, model in self.to_model.items() if user != model]
        self._to_model = dict(renamed)
        self._from_model = {model: user for user, model in renamed}
        self.present = {*own, *(self.to_model[name] for name in own)}
        """Names of the equation's variables, its own and the model's."""

    def encode(self, tree: Tree) -> Tree:
        """``tree`` in the model's names and literals."""
        tree = spell(tree, self.vocabulary)
        return substitute(tree, self._to_model) if self._to_model else tree

    def decode(self, tree: Tree) -> Tree:
        """``tree`` in the equation's names; a variable that the equation lacks keeps the name it has."""
        return substitute(tree, self._from_model) if self._from_model else tree


def model_variables(vocabulary: Vocabulary) -> list[str]:
    """The variables that a model knows: ``var_0``, ``var_1``, ..., or, if it has none of these, all names.

    A function's name is none: constants such as ``pi`` are leaves with their own name as token in a data set.
    """
    numbered = [token for token in vocabulary.tokens if token.startswith("var_")]
    functions = {name for name, _ in vocabulary.functions}
    return numbered or [token for token in vocabulary.tokens if token.isidentifier() and token not in functions]


def _variable(name: str) -> Tree:
    return Tree(VARIABLE, token=name)


def spell(tree: Tree, vocabulary: Vocabulary) -> Tree:
    """``tree`` with the literals that a vocabulary lacks written by those it has.

    -n becomes Mul(-1, n), and p/q becomes Mul(p, Pow(q, -1)). Batching refuses what stays unknown, and a token that is
    not a number, by name.
    """
    unknown = {
        node: _spelled(node, vocabulary)
        for node in tree.distinct()
        if node.function in EXACT and not node.children and not vocabulary.knows_token(node.token or "")
    }
    return substitute(tree, unknown) if unknown else tree


def _spelled(leaf: Tree, vocabulary: Vocabulary) -> Tree:
    text = leaf.token or ""
    if len(text) > DIGITS or not _EXACT_TEXT.fullmatch(text):  # Fraction would compute 1e999999999
        return leaf
    value = Fraction(text)
    if value < 0:
        return Tree("Mul", (MINUS_ONE, spell(number(str(-value)), vocabulary)))
    if value.denominator > 1:
        p, q = (number(str(part)) for part in (value.numerator, value.denominator))
        return Tree("Mul", (p, Tree("Pow", (q, MINUS_ONE))))
    return leaf


@dataclass(frozen=True)
class Ranking:
    """Fillers of one blank, best first; equal scores in the order of the list that was given."""

    scores: Tensor
    """(top,) logits."""
    probabilities: Tensor
    """(top,) sigmoid of the scores: how likely the filled equation is correct."""
    index: Tensor
    """(top,) int64, positions in the list that was given."""
    given: Sequence[Tree] = field(repr=False)
    names: Names = field(repr=False)

    @property
    def fillers(self) -> tuple[Tree, ...]:
        """The fillers, in the variable names of the equation."""
        return tuple(self.names.decode(self.given[i]) for i in self.index.tolist())


class FillerRanker(ABC):
    """Ranks a list of fillers by scores that a subclass computes."""

    def __init__(self, fillers: Iterable[Tree], vocabulary: Vocabulary) -> None:
        fillers = list(fillers)
        if not fillers:
            raise Refusal("no fillers to rank")
        check_fillers(fillers, vocabulary)
        self.fillers, self.vocabulary = fillers, vocabulary
        self._variables = [frozenset(variables(filler)) for filler in fillers]
        self._foreign = sorted(frozenset[str]().union(*self._variables) - set(model_variables(vocabulary)))

    @abstractmethod
    def _scores(self, names: Names, equations: Sequence[Equation]) -> Iterator[tuple[list[int], Tensor]]:
        """Blocks of equations in the model's vocabulary: their numbers, and (block, F) logits of all fillers."""

    def rank(self, equations: Sequence[Equation], top: int | None = None, any_variables: bool = True) -> list[Ranking]:
        """Rank the fillers for the blank of each equation, by the model's logit for the filled equation.

        Args:
            equations: each with exactly one ``BLANK``, anywhere, a whole side included. Variables may have any names:
                they are mapped to the model's by first appearance, and back in the answer.
            top: keep so many of the best; all by default.
            any_variables: whether to offer fillers with variables that the equation lacks.

        Returns one :class:`Ranking` an equation. Raises ``ValueError`` for no blank or several, more variables than the
        model knows, a function or literal that it does not know, or hooks on its cell.
        """
        rankings = dict(self.rank_each(equations, top, any_variables))
        return [rankings[number] for number in range(len(equations))]

    def rank_each(
        self, equations: Sequence[Equation], top: int | None = None, any_variables: bool = True
    ) -> Iterator[tuple[int, Ranking]]:
        """Rank one equation at a time as :meth:`rank`: its number and ranking, in the order of their computation."""
        if top is not None and top < 1:
            raise Refusal(f"top is {top}; it must be 1 or more, or None for all")
        for group in _same_names(self.vocabulary, equations, self._foreign):
            for numbers, scores in self._scores(group[0].names, [question.encoded for question in group]):
                for i, row in zip(numbers, scores, strict=True):
                    names = group[i].names
                    offered = None
                    if not any_variables:
                        offered = [i for i, own in enumerate(self._variables) if own <= names.present]
                    yield group[i].number, _best(self.fillers, row, top, names, offered)


class Ranker(FillerRanker):
    """Ranks fillers for the blanks of any number of equations; what does not depend on these is computed once.

    Only the path from the blank to the root is computed for each filler; the scores are those of filling the blank and
    running the whole tree, up to rounding.

    Examples:
        >>> import dgltree
        >>> fillers = [dgltree.read_infix(text) for text in ("1", "cos(var_0)^2")]
        >>> ranker = dgltree.Ranker(dgltree.open_model(), fillers)
        >>> [ranking] = ranker.rank([dgltree.read_equation("sin(x)^2 + _ = 1")])
        >>> [dgltree.write_infix(filler) for filler in ranking.fillers]
        ['cos(x)^2', '1']

    Args:
        model: on any device; it is run in evaluation mode and left in the mode it was in. When its weights change, the
            states of the fillers are computed again.
        fillers: trees of any shape. Names that the model knows (``var_0``; ``x`` if it was trained on x) mean the
            equation's variables in order of appearance, other names mean themselves. Equal fillers are computed once
            and get one score.
        memory_bytes: for intermediate states, in addition to the model, the fillers' own states and the results.
            Less memory means smaller blocks of equations and fillers, and the same scores up to rounding, as a BLAS
            adds up in another order in products of other sizes.

    Raises ``ValueError`` for no fillers, a blank in a filler, or a function or literal that the model does not know.

    See also: :class:`dgltree.ranking.FunctionRanker` for a model of message functions; :func:`dgltree.complete`, which
    searches and proves.
    """

    def __init__(self, model: EquationModel, fillers: Iterable[Tree], memory_bytes: int = 2**28) -> None:
        super().__init__(fillers, model.cell.vocabulary)
        self.model, self.memory_bytes = model, memory_bytes
        self._states: dict[tuple[object, ...], FillerStates] = {}

    def _scores(self, names: Names, equations: Sequence[Equation]) -> Iterator[tuple[list[int], Tensor]]:
        if hooks_of(self.model.cell):
            raise Refusal("the cell has hooks, which ranking would not run, because it computes only paths")
        return score_blocks(self.model, equations, self._states_for(names), self.memory_bytes)

    def _states_for(self, names: Names) -> FillerStates:
        """The fillers' states if their own variables have these names, by the model's weights as they are."""
        tensors = chain(self.model.parameters(), self.model.buffers())  # a buffer: the mask of weights that were pruned
        weights = *((tensor.data_ptr(), version_of(tensor)) for tensor in tensors), *self.model.cell.patches()
        key = (weights, *(names.to_model[name] for name in self._foreign))
        states = self._states.get(key)
        if states is None:
            states = FillerStates(self.model, [names.encode(filler) for filler in self.fillers])
            kept = [(known, found) for known, found in self._states.items() if known[0] == weights]
            self._states = dict([*kept[-KEPT + 1 :], (key, states)])  # a new one: another thread may read the old
        return states


def rank(
    model: EquationModel,
    equations: Sequence[Equation],
    fillers: Iterable[Tree],
    top: int | None = None,
    memory_bytes: int = 2**28,
    any_variables: bool = True,
) -> list[Ranking]:
    """:meth:`Ranker.rank` for fillers that are used once; see there and :class:`Ranker` for arguments and errors."""
    return Ranker(model, fillers, memory_bytes).rank(equations, top, any_variables)


def check_fillers(fillers: Sequence[Tree], vocabulary: Vocabulary) -> None:
    """``ValueError`` naming the first filler that has a blank, or a function or literal that a model does not know."""
    for i, filler in enumerate(fillers):
        for node in spell(filler, vocabulary).distinct():
            if node == BLANK:
                raise Refusal(f"filler {i + 1} has a blank itself")
            try:
                vocabulary.function_id(node.function, len(node.children))
                if node.token is not None and node.function != VARIABLE:
                    vocabulary.token_id(node.token)
            except ValueError as error:
                raise Refusal(f"filler {i + 1}: {error}") from None


class _Question(NamedTuple):
    number: int
    encoded: Equation
    names: Names


def _same_names(vocabulary: Vocabulary, equations: Sequence[Equation], foreign: list[str]) -> list[list[_Question]]:
    """Equations for which the fillers' own variable names mean the same, so that they share the fillers' states."""
    groups: dict[tuple[str, ...], list[_Question]] = {}
    for index, equation in enumerate(equations):
        try:
            names = Names(equation, vocabulary, foreign)
        except ValueError as error:
            raise Refusal(f"equation {index + 1}: {error}") from None
        question = _Question(index, Equation(*map(names.encode, equation)), names)
        groups.setdefault(tuple(names.to_model[name] for name in foreign), []).append(question)
    return list(groups.values())


def _best(fillers: Sequence[Tree], scores: Tensor, top: int | None, names: Names, offered: list[int] | None) -> Ranking:
    index = torch.sort(scores if offered is None else scores[offered], descending=True, stable=True).indices[:top]
    if offered is not None:
        index = torch.tensor(offered, dtype=torch.int64, device=index.device)[index]
    best = scores[index]
    return Ranking(best, torch.sigmoid(best), index, fillers, names)


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
                    raise Refusal(f"equation {number} has a blank: complete it, or fill it in")
                names = Names(equation, vocabulary)
                encoded.append(Equation(*map(names.encode, equation)))
            logits.append(model(batch(encoded, vocabulary).to(device), share=True))
    return torch.cat(logits).sigmoid()
