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
from dgltree.equations.expressions.variables import VARIABLE, count_blanks, variables
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

    def __init__(
        self,
        equation: Equation,
        vocabulary: Vocabulary,
        further: Iterable[str] = (),
    ) -> None:
        model_names = model_variables(vocabulary)
        equation_names = variables(*equation)
        names = list(dict.fromkeys([*equation_names, *further]))
        free = [name for name in model_names if name not in names]
        to_model = {name: name for name in names if name in model_names}
        new = [name for name in names if name not in to_model]
        if len(new) > len(free):
            raise Refusal(
                f"the equation has {len(names)} variables ({', '.join(names)}); this model reads at most "
                f"{len(model_names)}"
            )
        to_model.update(zip(new, free, strict=False))
        self.vocabulary = vocabulary
        self.to_model = to_model
        """Each name to the model's; first those that the model knows."""
        self._to_model: dict[Tree, Tree] = {}
        self._from_model: dict[Tree, Tree] = {}
        for name in new:
            user = Tree(VARIABLE, token=name)
            model = Tree(VARIABLE, token=to_model[name])
            self._to_model[user] = model
            self._from_model[model] = user
        self.present = {*equation_names, *(to_model[name] for name in equation_names)}
        """Names of the equation's variables, its own and the model's."""

    def encode(self, tree: Tree) -> Tree:
        """``tree`` in the model's names and literals."""
        tree = spell(tree, self.vocabulary)
        if not self._to_model:
            return tree
        return substitute(tree, self._to_model)

    def decode(self, tree: Tree) -> Tree:
        """``tree`` in the equation's names; a variable that the equation lacks keeps the name it has."""
        if not self._from_model:
            return tree
        return substitute(tree, self._from_model)


def model_variables(vocabulary: Vocabulary) -> list[str]:
    """The variables that a model knows: ``var_0``, ``var_1``, ..., or, if it has none of these, all names.

    A function's name is none: constants such as ``pi`` are leaves with their own name as token in a data set.
    """
    numbered = [token for token in vocabulary.tokens if token.startswith("var_")]
    if numbered:
        return numbered
    functions = {name for name, _ in vocabulary.functions}
    return [token for token in vocabulary.tokens if token.isidentifier() and token not in functions]


def spell(tree: Tree, vocabulary: Vocabulary) -> Tree:
    """``tree`` with the literals that a vocabulary lacks written by those it has.

    -n becomes Mul(-1, n), and p/q becomes Mul(p, Pow(q, -1)). Batching refuses what stays unknown, and a token that is
    not a number, by name.
    """
    unknown = {}
    for node in tree.distinct():
        if node.function in EXACT and not node.children and not vocabulary.knows_token(node.token or ""):
            unknown[node] = _spell_literal(node, vocabulary)
    if not unknown:
        return tree
    return substitute(tree, unknown)


def _spell_literal(leaf: Tree, vocabulary: Vocabulary) -> Tree:
    """A literal that a vocabulary lacks in other terms; itself if there are none."""
    text = leaf.token or ""
    if len(text) > DIGITS or not _EXACT_TEXT.fullmatch(text):  # Fraction would compute 1e999999999
        return leaf
    value = Fraction(text)
    if value < 0:
        positive = spell(number(str(-value)), vocabulary)
        return Tree("Mul", (MINUS_ONE, positive))
    if value.denominator > 1:
        numerator = number(str(value.numerator))
        denominator = number(str(value.denominator))
        return Tree("Mul", (numerator, Tree("Pow", (denominator, MINUS_ONE))))
    return leaf


@dataclass(frozen=True, kw_only=True)
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
        self.fillers = fillers
        self.vocabulary = vocabulary
        self._variables = [frozenset(variables(filler)) for filler in fillers]
        # Names in the fillers that are none of the model's. An equation decides what the model calls them.
        all_variables = frozenset[str]().union(*self._variables)
        self._foreign = sorted(all_variables - set(model_variables(vocabulary)))

    @abstractmethod
    def _scores(self, names: Names, equations: Sequence[Equation]) -> Iterator[tuple[list[int], Tensor]]:
        """Blocks of equations in the model's vocabulary: their numbers, and (block, F) logits of all fillers."""

    def rank(
        self,
        equations: Sequence[Equation],
        top: int | None = None,
        any_variables: bool = True,
    ) -> list[Ranking]:
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
        self,
        equations: Sequence[Equation],
        top: int | None = None,
        any_variables: bool = True,
    ) -> Iterator[tuple[int, Ranking]]:
        """Rank one equation at a time as :meth:`rank`: its number and ranking, in the order of their computation."""
        if top is not None and top < 1:
            raise Refusal(f"top is {top}; it must be 1 or more, or None for all")
        for group in _same_names(self.vocabulary, equations, self._foreign):
            encoded = [question.encoded for question in group]
            for numbers, scores in self._scores(group[0].names, encoded):
                for i, row in zip(numbers, scores, strict=True):
                    question = group[i]
                    offered = None
                    if not any_variables:
                        offered = self._with_variables_among(question.names.present)
                    yield question.number, self._best(row, question.names, top, offered)

    def _with_variables_among(self, names: set[str]) -> list[int]:
        """The indices of the fillers that have no variable but these."""
        return [i for i, filler_names in enumerate(self._variables) if filler_names <= names]

    def _best(
        self,
        scores: Tensor,
        names: Names,
        top: int | None,
        offered: list[int] | None,
    ) -> Ranking:
        """The best fillers by their scores (F,), of those that are offered; None: of all."""
        offered_scores = scores if offered is None else scores[offered]
        index = torch.sort(offered_scores, descending=True, stable=True).indices[:top]
        if offered is not None:
            index = torch.tensor(offered, dtype=torch.int64, device=index.device)[index]
        best = scores[index]
        return Ranking(
            scores=best,
            probabilities=torch.sigmoid(best),
            index=index,
            given=self.fillers,
            names=names,
        )


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

    def __init__(
        self,
        model: EquationModel,
        fillers: Iterable[Tree],
        memory_bytes: int = 2**28,
    ) -> None:
        super().__init__(fillers, model.cell.vocabulary)
        self.model = model
        self.memory_bytes = memory_bytes
        self._states: dict[tuple[object, ...], FillerStates] = {}

    def _scores(self, names: Names, equations: Sequence[Equation]) -> Iterator[tuple[list[int], Tensor]]:
        if hooks_of(self.model.cell):
            raise Refusal("the cell has hooks, which ranking cannot run; remove these hooks")
        return score_blocks(self.model, equations, self._states_for(names), self.memory_bytes)

    def _states_for(self, names: Names) -> FillerStates:
        """The fillers' states if their own variables have these names, by the model's weights as they are."""
        tensors = chain(self.model.parameters(), self.model.buffers())  # a buffer: the mask of weights that were pruned
        weights = *((tensor.data_ptr(), version_of(tensor)) for tensor in tensors), *self.model.cell.patches()
        key = (weights, *(names.to_model[name] for name in self._foreign))
        states = self._states.get(key)
        if states is None:
            states = FillerStates(self.model, [names.encode(filler) for filler in self.fillers])
            # A new dictionary, because another thread may read the old one; states of other weights are left out.
            valid = [item for item in self._states.items() if item[0][0] == weights]
            self._states = dict(valid[-KEPT + 1 :])
            self._states[key] = states
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
    """Raise ``ValueError`` for a filler that has a blank, or a function or literal that a model does not know."""
    for i, filler in enumerate(fillers):
        for node in spell(filler, vocabulary).distinct():
            if node == BLANK:
                raise Refusal(f"filler {i + 1} contains a blank")
            try:
                vocabulary.function_id(node.function, len(node.children))
                if node.token is not None and node.function != VARIABLE:
                    vocabulary.token_id(node.token)
            except ValueError as error:
                raise Refusal(f"filler {i + 1}: {error}") from None


class _Question(NamedTuple):
    """An equation that fillers are ranked for."""

    number: int
    encoded: Equation
    """The equation in the model's names."""
    names: Names


def _same_names(
    vocabulary: Vocabulary,
    equations: Sequence[Equation],
    foreign: list[str],
) -> list[list[_Question]]:
    """Equations for which the fillers' own variable names mean the same, so that they share the fillers' states."""
    groups: dict[tuple[str, ...], list[_Question]] = {}
    for index, equation in enumerate(equations):
        try:
            names = Names(equation, vocabulary, foreign)
        except ValueError as error:
            raise Refusal(f"equation {index + 1}: {error}") from None
        question = _Question(
            number=index,
            encoded=_encode(equation, names),
            names=names,
        )
        key = tuple(names.to_model[name] for name in foreign)
        groups.setdefault(key, []).append(question)
    return list(groups.values())


def _encode(equation: Equation, names: Names) -> Equation:
    return Equation(names.encode(equation.left), names.encode(equation.right))


def probabilities(
    model: EquationModel,
    equations: Sequence[Equation],
    batch_size: int = 1024,
) -> Tensor:
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
                if count_blanks(equation):
                    raise Refusal(f"equation {number} has a blank: complete the equation, or fill in the blank")
                encoded.append(_encode(equation, Names(equation, vocabulary)))
            flat = batch(encoded, vocabulary).to(device)
            block_logits = model(flat, share=True)
            logits.append(block_logits)
    return torch.cat(logits).sigmoid()
