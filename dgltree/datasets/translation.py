"""Flat trees are translated from one vocabulary to another: a data set is read once, in the names that are in it.

Trees with other numbers of children than a model knows become trees with those that it knows.
"""

from collections.abc import Collection, Iterable, Sequence
from copy import copy
from dataclasses import replace

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch, shares_numbers, unbatch
from dgltree.batching.batch import batch as make_batch
from dgltree.batching.vocabulary import ANY_ARITY, NO_LABEL, NO_TOKEN, UNKNOWN, Vocabulary, parts_of
from dgltree.trees.tree import Tree

UNKNOWN_FUNCTION = " (it was trained with --no-unk, so it reads no unknown functions)"
UNKNOWN_ARITY = " (fit with --encoder child_sum or --binarize right to allow any number of children)"
MAX_MESSAGE_LENGTH = 400
"""Characters of a message: a name may be as long as its file."""
MAX_LOOKED_UP = 10
"""Unknown functions for which the known ones most like them are looked up, which takes a while."""


def vocabulary_of(
    batches: Iterable[TreeBatch],
    own: Vocabulary,
    any_arity: bool,
    min_count: int,
    unk: bool,
    always: bool = False,
    parts: bool = False,
) -> Vocabulary:
    """The functions and tokens of flat trees, sorted; tokens that occur at fewer than ``min_count`` nodes are left out.

    Args:
        batches: the trees to learn from.
        own: their vocabulary.
        any_arity: give functions ``ANY_ARITY``, for encoders of any number of children.
        min_count: of a token, and with ``unk`` of a function.
        unk: let ``<unk>`` stand for rare and for unknown functions too, at each arity that there is.
        parts: let the words that tokens are made of stand for rare and unknown ones; see
            :func:`dgltree.batching.vocabulary.parts_of`.
        always: let every function occur at every arity that there is, for encoders without weights of each function.
    """
    at_functions, at_tokens = stands_at(batches, own)
    functions: dict[tuple[str, int | None], int] = {}
    for (name, arity), count in zip(own.functions, at_functions.tolist(), strict=True):
        key = (name, ANY_ARITY if any_arity else arity)
        functions[key] = functions.get(key, 0) + count
    kept = {f for f, count in functions.items() if count >= (min_count if unk else 1)}
    arities = {arity for (_, arity), count in functions.items() if count}
    if unk:
        kept |= {(UNKNOWN, arity) for arity in arities}
    if always:
        kept = {(name, arity) for name, _ in kept for arity in arities}
    tokens = [token for token, count in zip(own.tokens, at_tokens.tolist(), strict=True) if count >= min_count]
    if parts:
        there = [token for token, count in zip(own.tokens, at_tokens.tolist(), strict=True) if count]
        tokens = sorted({*tokens, *parts_of(there)})
    return Vocabulary(sorted(kept, key=lambda f: (f[0], f[1] or 0)), sorted(tokens), unk=True, parts=parts)


def stands_at(batches: Iterable[TreeBatch], own: Vocabulary) -> tuple[Tensor, Tensor]:
    """(F,) and (T,) int64, at how many nodes each function and each token of their vocabulary occurs."""
    functions = torch.zeros(len(own.functions), dtype=torch.int64)
    tokens = torch.zeros(len(own.tokens) + 1, dtype=torch.int64)
    for batch in batches:
        functions += torch.bincount(batch.function, minlength=len(functions))
        tokens += torch.bincount(batch.token + 1, minlength=len(tokens))  # the first is that of nodes without one
    return functions, tokens[1:]


class Translation:
    """The ids of one vocabulary as those of another.

    Where ``<unk>`` has every arity of the other vocabulary, trees with other numbers of children are read as
    :func:`dgltree.datasets.translation.fit_arity` makes them.

    Args:
        own: the vocabulary of the trees.
        vocabulary: that of a model.
    """

    def __init__(self, own: Vocabulary, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        functions = [self.vocabulary.find_function(*f) for f in own.functions]
        unknown = [i for i, known in enumerate(functions) if known is None]
        self._arities = _open_arities(vocabulary)
        self._misfits = torch.tensor(unknown if self._arities else [], dtype=torch.int64)
        unknown = [] if self._arities else unknown
        self._functions = torch.tensor([known or 0 for known in functions])
        self._why = {
            i: _why(self.vocabulary, *own.functions[i], brief=k >= MAX_LOOKED_UP) for k, i in enumerate(unknown)
        }
        tokens, self._strange = _token_ids(own.tokens, self.vocabulary)
        self._tokens = torch.tensor([*tokens, NO_TOKEN])  # the last by its number, -1

    def __call__(self, batch: TreeBatch) -> TreeBatch:
        """Return the trees in the other vocabulary; the ids of what it does not know are wrong."""
        if len(self._misfits) and bool(torch.isin(batch.function, self._misfits).any()):
            return make_batch([fit_arity(tree, self._arities) for tree in unbatch(batch)], self.vocabulary)
        if self.vocabulary.scales is not None and shares_numbers(batch):
            return make_batch(unbatch(batch), self.vocabulary)
        function = self._functions[batch.function]
        token = self._tokens[batch.token]
        return replace(batch, function=function, token=token, vocabulary=self.vocabulary)

    def after(self, first: "Translation") -> "Translation":
        """Both in one, for trees that ``first`` did not translate yet."""
        both = copy(self)
        both._functions = self._functions[first._functions]
        both._tokens = self._tokens[first._tokens]
        later = torch.nonzero(torch.isin(first._functions, self._misfits)).flatten()
        both._misfits = torch.cat([first._misfits, later]).unique()
        both._arities = self._arities or first._arities
        return both

    @property
    def can_fail(self) -> bool:
        """Whether the other vocabulary lacks something."""
        return bool(self._why or self._strange)

    def unknown(self, batch: TreeBatch) -> dict[int, str]:
        """The parts of trees in the first vocabulary that the other does not know: tree number to message."""
        bad: dict[int, str] = {}
        ends = torch.cumsum(batch.sizes, 0)
        for ids, messages in ((batch.function, self._why), (batch.token, self._strange)):
            if messages:
                nodes = torch.nonzero(torch.isin(ids, torch.tensor(list(messages)))).flatten()
                trees = torch.searchsorted(ends, nodes, right=True).tolist()
                for tree, number in zip(trees, ids[nodes].tolist(), strict=True):
                    bad.setdefault(tree, messages[number])
        return bad


def _open_arities(vocabulary: Vocabulary) -> list[int]:
    """The arities of a vocabulary that has ``<unk>`` at each of them, 0 and one above 1 among them; of others none."""
    arities = vocabulary.arities
    has_all = all((UNKNOWN, arity) in vocabulary.functions for arity in arities)
    return arities if has_all and 0 in arities and max(arities) > 1 and vocabulary.unk else []


def _why(vocabulary: Vocabulary, name: str, arity: int | None, brief: bool) -> str:
    """A message about a function that a model does not know, with a remedy, and in full with similar functions."""
    names = {known for known, _ in vocabulary.functions}
    if brief and name not in names:
        return f"unknown function {name[:MAX_MESSAGE_LENGTH]!r}"
    try:
        vocabulary.function_id(name, arity)
    except ValueError as error:
        message = str(error)[:MAX_MESSAGE_LENGTH]
        if name in names:
            return message + UNKNOWN_ARITY
        return message if UNKNOWN in names else message + UNKNOWN_FUNCTION
    raise AssertionError(f"{name!r} is known")


def _token_ids(tokens: Sequence[str], vocabulary: Vocabulary) -> tuple[list[int], dict[int, str]]:
    """The ids that a vocabulary gives, 0 if it gives none, and why."""
    found = []
    why = {}
    for i, token in enumerate(tokens):
        try:
            found.append(vocabulary.token_id(token))
        except ValueError as error:
            found.append(0)
            why[i] = str(error)[:MAX_MESSAGE_LENGTH]
    return found, why


def fit_arity(tree: Tree, arities: Collection[int]) -> Tree:
    """The tree, whose nodes have numbers of children that are among ``arities``, of which one is 0 and one above 1.

    A node with fewer children than such a number gets unknown leaves after them, the fewest that it needs. One with
    more children than any has the last ones below an unknown node: with 0 and 2, ``f(a, b, c)`` becomes
    ``f(a, <unk>(b, c))``.
    """
    most = max(arities)

    def shaped(children: list[Tree]) -> list[Tree]:
        nested = range(0, len(children) - most, most - 1)  # where the children of each node but the innermost begin
        inner = children[len(nested) * (most - 1) :]
        wanted = min(arity for arity in arities if arity >= len(inner))
        inner = inner + [Tree(UNKNOWN)] * (wanted - len(inner))
        for start in reversed(nested):
            inner = [*children[start : start + most - 1], Tree(UNKNOWN, inner)]
        return inner

    return tree.fold(lambda node, children: node.replace(children=shaped(children)))


def with_classes(batch: TreeBatch, classes: Sequence[str], names: Sequence[str] | None = None) -> TreeBatch:
    """Labels of nodes as numbers of classes; ``NO_LABEL`` for others. ``names`` are those of the labels as they are."""
    if bool((batch.label == NO_LABEL).all()):
        return batch
    highest = int(batch.label.max())
    known = {name: i for i, name in enumerate(classes)}
    names = list(map(str, range(highest + 1))) if names is None else names
    table = torch.tensor([*(known.get(name, NO_LABEL) for name in names), NO_LABEL])
    return replace(batch, label=table[batch.label.clamp(min=-1)])
