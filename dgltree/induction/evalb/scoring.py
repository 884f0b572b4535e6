"""The counts of a sentence and the scores of a corpus."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import zip_longest
from typing import NamedTuple

from dgltree.induction.evalb.brackets import Brackets, Forest, count_matches, crossing, mismatch
from dgltree.induction.evalb.parameters import Parameters
from dgltree.read.bracket import iter_treebank
from dgltree.trees.tree import Tree


class Status(IntEnum):
    """Of a sentence: scored, left out because its words do not match, or left out because there are none."""

    VALID = 0
    ERROR = 1
    SKIPPED = 2


class SentenceScore(NamedTuple):
    """The counts of one sentence, a row of EVALB's table; shares are in percent, and 0 if there is nothing."""

    length: int
    words: int
    status: Status = Status.VALID
    matched: int = 0
    gold: int = 0
    test: int = 0
    crossing: int = 0
    tags: int = 0
    problem: str = ""
    """The fault, for ``Status.ERROR``."""

    @property
    def recall(self) -> float:
        return _percent(self.matched, self.gold)

    @property
    def precision(self) -> float:
        return _percent(self.matched, self.test)

    @property
    def f1(self) -> float:
        return _percent(2 * self.matched, self.gold + self.test)

    @property
    def tagging_accuracy(self) -> float:
        return _percent(self.tags, self.words)


@dataclass(frozen=True)
class Corpus:
    """The sentences of a corpus, and its scores: of all brackets together, over the valid sentences, in percent."""

    sentences: tuple[SentenceScore, ...]
    parameters: Parameters = field(repr=False)

    @property
    def valid(self) -> list[SentenceScore]:
        return [sentence for sentence in self.sentences if sentence.status == Status.VALID]

    def up_to_cutoff(self) -> "Corpus":
        """The sentences of a length up to ``parameters.cutoff``."""
        return replace(self, sentences=tuple(s for s in self.sentences if s.length <= self.parameters.cutoff))

    def count(self, status: Status) -> int:
        return sum(sentence.status == status for sentence in self.sentences)

    @property
    def total(self) -> SentenceScore:
        """The sums over the valid sentences, with the scores of all their brackets together."""
        names = ("length", "words", "matched", "gold", "test", "crossing", "tags")
        return SentenceScore(**{name: sum(getattr(sentence, name) for sentence in self.valid) for name in names})

    @property
    def recall(self) -> float:
        return self.total.recall

    @property
    def precision(self) -> float:
        return self.total.precision

    @property
    def f1(self) -> float:
        return self.total.f1

    @property
    def tagging_accuracy(self) -> float:
        return self.total.tagging_accuracy

    @property
    def complete_match(self) -> float:
        """Share of sentences in which all brackets match."""
        return self._share([s.matched == s.gold == s.test for s in self.valid])

    @property
    def average_crossing(self) -> float:
        """Crossing brackets a sentence; no percentage."""
        return self.total.crossing / max(1, len(self.valid))

    @property
    def no_crossing(self) -> float:
        return self._share([s.crossing == 0 for s in self.valid])

    @property
    def two_or_less_crossing(self) -> float:
        return self._share([s.crossing <= 2 for s in self.valid])

    def _share(self, true: list[bool]) -> float:
        return _percent(sum(true), len(true))


def score(gold: Iterable[Forest], test: Iterable[Forest], parameters: Parameters | None = None) -> Corpus:
    """The scores of ``test`` against ``gold``, sentence by sentence.

    Raises ``ValueError`` if one of them has more sentences, and for the first sentence with other words than it
    should have after ``parameters.max_errors`` of them; sentences are numbered from 1.
    """
    parameters = parameters or Parameters()
    sentences: list[SentenceScore] = []
    errors = 0
    for number, (right, found) in enumerate(zip_longest(gold, test), 1):
        if right is None or found is None:
            more, fewer = ("gold", "test") if found is None else ("test", "gold")
            raise ValueError(f"sentence {number} is in {more} and not in {fewer}; both must have the same sentences")
        sentences.append(score_sentence(right, found, parameters))
        errors += sentences[-1].status == Status.ERROR
        if errors > parameters.max_errors:
            raise ValueError(
                f"sentence {number}: {sentences[-1].problem}; trees are scored over the same words "
                f"({errors} such sentences, max_errors is {parameters.max_errors})"
            )
    return Corpus(tuple(sentences), parameters)


def score_sentence(gold: Forest, test: Forest, parameters: Parameters) -> SentenceScore:
    """The counts of one sentence. Linear in its nodes, except for chains of brackets around the same words."""
    right, found = Brackets.of(gold, parameters), Brackets.of(test, parameters)
    row = SentenceScore(right.length, len(right.words))
    if not found.words:
        return row._replace(status=Status.SKIPPED)
    problem = mismatch(right.words, found.words, parameters)
    if problem:
        return row._replace(status=Status.ERROR, problem=problem)
    tags = zip(right.tags, found.tags, strict=True)
    return row._replace(
        matched=count_matches(right.spans, found.spans, parameters),
        gold=len(right.spans),
        test=len(found.spans),
        crossing=crossing(right.spans, found.spans, len(found.words)),
        tags=sum(parameters.same_label(a, b) for a, b in tags),
    )


def read_forests(text: str) -> list[list[Tree]]:
    """One sentence a line, as in the files that EVALB compares; an empty line is an empty forest.

    Brackets without a label around a tree are taken off, where EVALB counts them as one more. Raises ``ValueError``
    with line and column, as :func:`dgltree.read.bracket.iter_treebank` does.
    """
    forests = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            forests.append(list(iter_treebank(line)))
        except ValueError as error:
            raise ValueError(f"line {number}, {str(error).removeprefix('line 1, ')}") from None
    return forests


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
