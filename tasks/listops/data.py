"""Expressions as data sets, each labelled with the digit that it is worth."""

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

from dgltree import TreeDataset
from dgltree.datasets import Reading
from dgltree.read.listops import DIGITS, OPERATORS
from dgltree.support.lazy import cached_property
from tasks.fit_cli import Sets
from tasks.listops import generate, presets
from tasks.listops.files import Expression, read_expressions
from tasks.listops.language import VOCABULARY, tree

LENGTHS = (20, 40, 60, 80, 100, 200, 1000)
"""Results are told apart by the lowest of these that is not below the number of words; the last has all the rest."""
ROOTS = {f"root_{operator[1:].lower()}": operator for operator in OPERATORS}
FLAT = {f"flat_{operator[1:].lower()}": operator for operator in OPERATORS}
"""Sets of the expressions with an operator at the root, and of the lists of digits alone among them."""
TRAIN, VALIDATION = 0.9, 0.95  # where the shares of the expressions end; the rest is the own test set
VALIDATION_SEED = 1  # of the sets that are validated on; those that are tested have seed 0


class ListOps:
    """Expressions to train, validate and test on.

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
        sets: names of :data:`tasks.listops.presets.ASKED`, or "all", which are those of ``SETS``.
        validate_on: names of such sets to validate on as well, drawn with another seed than those that are tested: the
            epoch that is best up to the length of training may be a bad one beyond it.
        validate_any: whether the expressions to validate on have any number of words, as published, in place of
            at most ``longest``; they are as many, and made.
        set_size: expressions of each of these sets, and of the other sets of ListOps-DG.
        depth: whether to train on expressions of depth up to 5, validate on depth 7 and test on depth 8 or more.
        seed: of the expressions that are made; not of the sets.

    Raises ``ValueError`` for a set that is not there, for a share outside of above 0 to 1, and as
    :func:`tasks.listops.generate.expressions` and :func:`tasks.listops.files.read_expressions` do.
    """

    def __init__(
        self,
        test: Path | None = None,
        expressions: Path | None = None,
        count: int = generate.PUBLISHED_COUNT,
        longest: int | None = None,
        train_share: float = 1.0,
        sets: list[str] | None = None,
        validate_on: list[str] | None = None,
        validate_any: bool = False,
        set_size: int = presets.DEFAULT_COUNT,
        depth: bool = False,
        seed: int = 0,
    ) -> None:
        self.more = _names(sets)
        self.validate_on = _names(validate_on)
        self.set_size = set_size
        self.depth = depth
        self.validate_any = validate_any
        if depth and validate_any:
            raise ValueError(
                "validate_any is of expressions that are validated on by length; depth has a set of its own"
            )
        if not 0 < train_share <= 1:
            raise ValueError(f"train_share is {train_share}; it must be above 0 and at most 1")
        self.files = {"test": test, "expressions": expressions}
        self.count = count
        self.longest = longest
        self.train_share = train_share
        self.seed = seed

    @cached_property
    def _published(self) -> tuple[Expression, ...]:
        file = self.files["test"]
        return () if file is None else read_expressions(file)

    @cached_property
    def _own(self) -> list[Expression]:
        """All but the test file's."""
        published = set(self._published)
        file = self.files["expressions"]
        if file is None:
            known: Sequence[Expression] = generate.expressions(self.count, self.seed, self.longest)
        else:
            known = [e for e in read_expressions(file) if self.longest is None or e.length <= self.longest]
        own = [expression for expression in known if expression not in published]
        if len(own) < 20:
            raise ValueError(f"{len(own)} expressions are left to train, validate and test on; expected 20 or more")
        return own

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
            own = self._of_any_length(len(own)) if self.validate_any else own
        longer = [e for name in self.validate_on for e in presets.preset(name, self.set_size, VALIDATION_SEED)]
        return own + longer

    def _of_any_length(self, count: int) -> list[Expression]:
        """Made from a seed of their own, without those that are trained or tested on."""
        others = {*self._own, *self._published}
        made = generate.expressions(2 * count + 100, -1 - self.seed)
        return [expression for expression in made if expression not in others][:count]

    @cached_property
    def test(self) -> list[Expression]:
        if self.depth:
            return list(presets.preset("depth_8", self.set_size))
        return list(self._published) or self._own[int(VALIDATION * len(self._own)) :]

    def sets(self) -> Sets:
        """All of them as data sets."""
        rising = sorted(self.test, key=lambda expression: expression.length)  # so that batches hold similar lengths
        words = [expression.text.split() for expression in rising]
        lengths = [_up_to(len(each)) for each in words]
        parts = {f"length_{most:03}": [i for i, length in enumerate(lengths) if length == most] for most in LENGTHS}
        parts |= {name: [i for i, each in enumerate(words) if each[0] == operator] for name, operator in ROOTS.items()}
        flat = {i for i, each in enumerate(words) if sum(word in OPERATORS for word in each) == 1}
        parts |= {name: [i for i in sorted(flat) if words[i][0] == operator] for name, operator in FLAT.items()}
        tests = {"test": rising} | {f"{name}_set": presets.preset(name, self.set_size) for name in self.more}
        every = {name: data_of(expressions) for name, expressions in tests.items()}
        parts = {name: rows for name, rows in parts.items() if rows}
        return Sets(data_of(self.train), data_of(self.validation), every, VOCABULARY, DIGITS, parts)


def data_of(expressions: Sequence[Expression]) -> TreeDataset:
    """Expressions as trees, with their values."""
    trees = [tree(expression.text.split()) for expression in expressions]
    values = [str(expression.value) for expression in expressions]
    return TreeDataset(trees, values, reading=Reading(notation="brackets", numbers=False))


def _names(sets: list[str] | None) -> tuple[str, ...]:
    """Return the names of sets that there are."""
    names = tuple(presets.SETS) if sets == ["all"] else tuple(sets or ())
    if unknown := [name for name in names if name not in presets.ASKED]:
        raise ValueError(f"no set {', '.join(unknown)}; there are {', '.join(presets.ASKED)}, or all")
    return names


def _up_to(length: int) -> int:
    return LENGTHS[min(bisect_left(LENGTHS, length), len(LENGTHS) - 1)]
