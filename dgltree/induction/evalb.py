"""Brackets of a tree against those of the right tree, counted as the EVALB scorer counts them (Sekine and Collins).

A sentence is a forest, a sequence of trees in the form of :func:`dgltree.read.bracket.read_treebank`: usually one
tree, several if a parser found no common root, none if it found nothing. Inner nodes are brackets, leaves are
words, and a leaf's function is its tag. The trees that :mod:`dgltree.induction` makes are of this form; score those
with ``Parameters(labelled=False)``.

What EVALB's manual leaves open, as its program does it: the label of a bracket ends before its first ``-`` or ``=``; a
bracket around nothing is dropped; a bracket of the one tree matches at most one of the other, outer ones first; a
bracket of the test tree that crosses any of the gold tree counts once; and a sentence without a word in the test tree
is skipped.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import zip_longest
from typing import NamedTuple

from dgltree.read.bracket import iter_treebank
from dgltree.support.arguments import nearest
from dgltree.trees.tree import Tree

# ---------------------------------------------------------------------------------------------------------------------
# Parameters of EVALB: which brackets count, and which are equal.


Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Parameters:
    """The options of EVALB's parameter file, which :func:`read_parameters` reads."""

    labelled: bool = True
    """LABELED: a bracket matches one of the same label only."""
    delete: tuple[str, ...] = ()
    """DELETE_LABEL: words with these tags are left out, and brackets with these labels, but not what they hold."""
    delete_for_length: tuple[str, ...] = ()
    """DELETE_LABEL_FOR_LENGTH: words with these tags, and no others, do not count for a sentence's length."""
    equal_labels: Pairs = ()
    """EQ_LABEL: pairs of labels, or tags, that are taken to be equal."""
    equal_words: Pairs = ()
    """EQ_WORD: pairs of words that are taken to be equal."""
    cutoff: int = 40
    """CUTOFF_LEN: the length up to which sentences are reported once more."""
    max_errors: int = 0
    """MAX_ERROR: how many sentences may have trees over different words; one more is an error."""

    def same_label(self, a: str, b: str) -> bool:
        return a == b or (a, b) in self.equal_labels or (b, a) in self.equal_labels

    def same_word(self, a: str, b: str) -> bool:
        return a == b or (a, b) in self.equal_words or (b, a) in self.equal_words


_LISTS = {
    "DELETE_LABEL": "delete",
    "DELETE_LABEL_FOR_LENGTH": "delete_for_length",
    "EQ_LABEL": "equal_labels",
    "EQ_WORD": "equal_words",
}
_NUMBERS = {"LABELED": "labelled", "CUTOFF_LEN": "cutoff", "MAX_ERROR": "max_errors"}
_UNUSED = "DEBUG"  # what EVALB prints as well


def read_parameters(text: str) -> Parameters:
    """EVALB's parameter file: lines ``NAME value`` or ``NAME value value``, and comments with ``#``.

    What it does not say has EVALB's defaults: labels count, ``CUTOFF_LEN 40``, ``MAX_ERROR 10``. ``DEBUG`` is
    skipped.

    Raises ``ValueError`` with the line for a name that is not known, a missing or surplus value, and one that is no
    number where one is needed.
    """
    lists: dict[str, list] = {name: [] for name in _LISTS.values()}
    numbers: dict[str, int] = {"max_errors": 10}
    for number, line in enumerate(text.splitlines(), 1):
        name, *values = line.split() or ["#"]
        if name.startswith("#") or name == _UNUSED:
            continue
        if name not in _LISTS and name not in _NUMBERS:
            raise ValueError(f"line {number}: unknown parameter {name!r}; {nearest(name, (*_LISTS, *_NUMBERS))}")
        wanted = 2 if name.startswith("EQ_") else 1
        if len(values) != wanted:
            raise ValueError(f"line {number}: {name} has {len(values)} values, {' '.join(values)!r}; it takes {wanted}")
        if name in _LISTS:
            lists[_LISTS[name]].append(values[0] if wanted == 1 else tuple(values))
        else:
            numbers[_NUMBERS[name]] = _natural(values[0], f"line {number}: {name}")
    labelled = bool(numbers.pop("labelled", 1))
    return Parameters(labelled=labelled, **{k: tuple(v) for k, v in lists.items()}, **numbers)  # type: ignore[arg-type]


def _natural(text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{what} is {text!r}; it must be a whole number from 0")
    return int(text)


# ---------------------------------------------------------------------------------------------------------------------
# Words and brackets of a forest, and what the brackets of two forests have to do with each other.


Forest = Tree | Sequence[Tree]


class Span(NamedTuple):
    """A bracket around words ``start`` to ``end - 1``."""

    start: int
    end: int
    label: str


@dataclass(frozen=True)
class Brackets:
    """The rest of a forest: words with their tags, and brackets, outer ones before what they hold."""

    words: list[str]
    tags: list[str]
    spans: list[Span]
    length: int

    @classmethod
    def of(cls, forest: Forest, parameters: Parameters) -> "Brackets":
        words: list[str] = []
        tags: list[str] = []
        length = 0
        starts: list[tuple[int, str]] = []
        ends: list[int] = []
        stack: list[Tree | int] = [forest] if isinstance(forest, Tree) else list(reversed(forest))
        while stack:
            node = stack.pop()
            if isinstance(node, int):  # the bracket of this number ends
                ends[node] = len(words)
            elif node.children:
                stack.append(len(starts))
                starts.append((len(words), node.function))
                ends.append(0)
                stack.extend(reversed(node.children))
            else:
                length += node.function not in parameters.delete_for_length
                if node.function not in parameters.delete:
                    words.append(node.function if node.token is None else node.token)
                    tags.append(node.function)
        spans = [Span(start, end, _stem(label)) for (start, label), end in zip(starts, ends, strict=True)]
        return cls(words, tags, [span for span in spans if _counts(span, parameters)], length)


def _stem(label: str) -> str:
    """``NP`` of ``NP-SBJ-1`` and of ``NP=2``."""
    return label.partition("-")[0].partition("=")[0]


def _counts(span: Span, parameters: Parameters) -> bool:
    return span.start < span.end and not any(parameters.same_label(span.label, label) for label in parameters.delete)


def mismatch(gold: list[str], test: list[str], parameters: Parameters) -> str:
    """The fault of the words, if there is one."""
    for number, (a, b) in enumerate(zip(gold, test, strict=False), 1):
        if not parameters.same_word(a, b):
            return f"word {number} is {a!r} in gold and {b!r} in test"
    return "" if len(gold) == len(test) else f"gold has {len(gold)} words and test has {len(test)}"


def count_matches(gold: list[Span], test: list[Span], parameters: Parameters) -> int:
    """How many brackets have a partner; each takes the first that is left."""
    left: dict[tuple[int, int], list[str]] = defaultdict(list)
    for start, end, label in test:
        left[start, end].append(label)
    count = 0
    for start, end, label in gold:
        labels = left[start, end]
        for i, other in enumerate(labels):
            if not parameters.labelled or parameters.same_label(label, other):
                del labels[i]
                count += 1
                break
    return count


def crossing(gold: list[Span], test: list[Span], words: int) -> int:
    """How many of ``test`` cross one of ``gold``.

    The brackets of ``gold`` that hold both words next to a place between two words lie one in another. If the innermost
    does not cross a test bracket that begins or ends there, none of the others does.
    """
    around: list[Span] = []  # for each place, 0 to words, the innermost; around none, a span that nothing crosses
    nothing = Span(-1, words + 1, "")
    open_, following = [nothing], 0
    for place in range(words + 1):
        while open_[-1].end <= place:
            open_.pop()
        around.append(open_[-1])
        while following < len(gold) and gold[following].start == place:
            open_.append(gold[following])
            following += 1
    return sum(around[start].end < end or around[end].start > start for start, end, _ in test)


# ---------------------------------------------------------------------------------------------------------------------
# The counts of a sentence and the scores of a corpus.


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


__all__ = [
    "Corpus",
    "Parameters",
    "SentenceScore",
    "Status",
    "read_forests",
    "read_parameters",
    "score",
    "score_sentence",
]
