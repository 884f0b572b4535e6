"""Batches of expressions, each labelled at its root with the digit that it is worth."""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from dgltree import batch
from dgltree.batching.subtrees import number_subtrees
from dgltree.datasets.labelled import Labelled
from tasks.buckets import buckets
from tasks.data import BucketedData
from tasks.listops import generate, presets
from tasks.listops.files import Expression, read_expressions
from tasks.listops.language import DIGITS, VOCABULARY, tree

CLASSES = len(DIGITS)
LENGTHS = (20, 40, 60, 80, 100, 200, 1000)
"""Results are told apart by the lowest of these that is not below the number of words; the last has all the rest."""
TRAIN, VALIDATION = 0.9, 0.95  # where the shares of the expressions end; the rest is the own test set
VALIDATION_SEED = 1  # of the sets that are validated on; those that are tested have seed 0


class ListOps(BucketedData):
    """Expressions in batches of similar lengths; the order of training depends on (seed, epoch) alone.

    What is in the test file is taken out of the other expressions, of which 90 % are trained on and 5 % validated.
    The test is on the test file, or without it on the last 5 %.

    With ``sets`` these are tested, too, each by itself; with ``depth`` it is all ListOps-DG.

    Args:
        test: the published test set, ``test_d20s.tsv``.
        expressions: a file that tasks.listops.generate wrote; without it expressions are made.
        count: how many are made, before those of the test file are taken out.
        longest: the most words, brackets left out, of an expression to train and validate on; any by default.
            Expressions are made until there are ``count`` of them; of a file the longer ones are left out.
        train_share: share of the training expressions to train on; a larger share holds every smaller one.
        batch_size: expressions a step, at most.
        most_words: words a step, padding included, at most: long expressions come in smaller batches.
        sets: names of :data:`tasks.listops.presets.SETS`, or "all".
        validate_on: names of such sets to validate on as well, drawn with another seed than those that are tested: the
            epoch that is best up to the length of training may be a bad one beyond it.
        set_size: expressions of each of these sets, and of the other sets of ListOps-DG.
        depth: whether to train on expressions of depth up to 6, validate on depth 7 and test on depth 8 or more.
        seed: of the order, and of the expressions that are made; not of the sets.

    Raises ``ValueError`` for a set that is not there, for a share outside of above 0 to 1, for a batch size or number
    of words below 1, and as :func:`tasks.listops.generate.expressions` and
    :func:`tasks.listops.files.read_expressions` do.
    """

    def __init__(
        self,
        test: Path | None = None,
        expressions: Path | None = None,
        count: int = generate.COUNT,
        longest: int | None = None,
        train_share: float = 1.0,
        batch_size: int = 128,
        most_words: int = 12_800,
        sets: list[str] | None = None,
        validate_on: list[str] | None = None,
        set_size: int = presets.COUNT,
        depth: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.sets, self.validate_on = _names(sets), _names(validate_on)
        self.set_size, self.depth = set_size, depth
        if not 0 < train_share <= 1:
            raise ValueError(f"train_share is {train_share}; it must be above 0 and at most 1")
        buckets([], batch_size, most_words)  # refuses what is no size
        self.files = {"test": test, "expressions": expressions}
        self.count, self.longest, self.train_share = count, longest, train_share
        self.batch_size, self.most_words, self.seed = batch_size, most_words, seed
        self.vocabulary = VOCABULARY

    @cached_property
    def _published(self) -> tuple[Expression, ...]:
        file = self.files["test"]
        return () if file is None else read_expressions(file)

    @cached_property
    def _own(self) -> list[Expression]:
        """All but the test file's."""
        published, file = set(self._published), self.files["expressions"]
        if file is None:
            known: Sequence[Expression] = generate.expressions(self.count, self.seed, self.longest)
        else:
            known = [e for e in read_expressions(file) if self.longest is None or e.length <= self.longest]
        own = [expression for expression in known if expression not in published]
        if len(own) < 20:
            raise ValueError(f"{len(own)} expressions are left to train, validate and test on; expected 20 or more")
        return own

    def setup(self, stage: str) -> None:
        super().setup(stage)
        for name in self.sets:
            setattr(self, name, list(presets.preset(name, self.set_size)))

    def test_dataloader(self) -> Any:
        """Of the test set, and where there are ``sets``, a list with theirs after it."""
        tested = super().test_dataloader()
        return [tested, *(self._loader(name, self._batches(name)) for name in self.sets)] if self.sets else tested

    @cached_property
    def train(self) -> list[Expression]:
        if self.depth:
            own = presets.preset("depth_6", self.count, self.seed)
            return list(own[: max(1, round(self.train_share * self.count))])
        return self._own[: max(1, round(self.train_share * int(TRAIN * len(self._own))))]

    @cached_property
    def validation(self) -> list[Expression]:
        if self.depth:
            own = list(presets.preset("depth_7", self.set_size))
        else:
            own = self._own[int(TRAIN * len(self._own)) : int(VALIDATION * len(self._own))]
        longer = [e for name in self.validate_on for e in presets.preset(name, self.set_size, VALIDATION_SEED)]
        return own + longer

    @cached_property
    def test(self) -> list[Expression]:
        if self.depth:
            return list(presets.preset("depth_8", self.set_size))
        return list(self._published) or self._own[int(VALIDATION * len(self._own)) :]

    def length(self, expression: Expression) -> int:
        return expression.length

    def labelled(self, expressions: Sequence[Expression]) -> Labelled:
        """Expressions as trees, with their values and classes of length."""
        trees = batch((tree(expression.text.split()) for expression in expressions), VOCABULARY)
        values = torch.tensor([expression.value for expression in expressions])
        return Labelled(
            number_subtrees(trees), values, torch.tensor([_up_to(expression.length) for expression in expressions])
        )


def _names(sets: list[str] | None) -> tuple[str, ...]:
    """Of sets that are there."""
    names = tuple(presets.SETS) if sets == ["all"] else tuple(sets or ())
    if unknown := [name for name in names if name not in presets.SETS]:
        raise ValueError(f"no set {', '.join(unknown)}; there are {', '.join(presets.SETS)}, or all")
    return names


def _up_to(length: int) -> int:
    return LENGTHS[min(bisect_left(LENGTHS, length), len(LENGTHS) - 1)]
