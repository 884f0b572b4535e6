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
from typing import Any, NamedTuple

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
        return _equal(a, b, self.equal_labels)

    def same_word(self, a: str, b: str) -> bool:
        return _equal(a, b, self.equal_words)


def _equal(
    a: str,
    b: str,
    pairs: Pairs,
) -> bool:
    """Whether two texts are equal, or a pair of texts that are taken to be equal, in either order."""
    if a == b:
        return True
    return (a, b) in pairs or (b, a) in pairs


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
    options: dict[str, Any] = {"max_errors": 10}
    for number, line in enumerate(text.splitlines(), 1):
        name, *values = line.split() or ["#"]
        if name.startswith("#") or name == _UNUSED:
            continue
        if name not in _LISTS and name not in _NUMBERS:
            raise ValueError(f"line {number}: unknown parameter {name!r}; {nearest(name, (*_LISTS, *_NUMBERS))}")
        is_pair = name.startswith("EQ_")
        expected = 2 if is_pair else 1
        if len(values) != expected:
            given = " ".join(values)
            raise ValueError(f"line {number}: {name} has {len(values)} values, {given!r}; give {expected}")
        if name in _LISTS:
            entry = tuple(values) if is_pair else values[0]
            option = _LISTS[name]
            options[option] = (*options.get(option, ()), entry)
        else:
            option = _NUMBERS[name]
            options[option] = _natural(values[0], f"line {number}: {name}")
    options["labelled"] = bool(options.get("labelled", 1))
    return Parameters(**options)


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
    """A forest as EVALB reads it: words with their tags, and brackets, outer ones before what they hold."""

    words: list[str]
    tags: list[str]
    spans: list[Span]
    length: int

    @classmethod
    def of(cls, forest: Forest, parameters: Parameters) -> "Brackets":
        """The words and brackets of a forest that count by some parameters."""
        words: list[str] = []
        tags: list[str] = []
        length = 0
        spans: list[Span] = []
        # The stack has nodes, and, below what a bracket holds, its number: there it ends.
        trees = [forest] if isinstance(forest, Tree) else forest
        stack: list[Tree | int] = list(reversed(trees))
        while stack:
            node = stack.pop()
            if isinstance(node, int):
                spans[node] = spans[node]._replace(end=len(words))
            elif node.children:
                stack.append(len(spans))
                spans.append(
                    Span(
                        start=len(words),
                        end=-1,
                        label=_stem(node.function),
                    )
                )
                stack.extend(reversed(node.children))
            else:
                length += node.function not in parameters.delete_for_length
                if node.function not in parameters.delete:
                    word = node.function if node.token is None else node.token
                    words.append(word)
                    tags.append(node.function)
        counted = [span for span in spans if _counts(span, parameters)]
        return cls(
            words=words,
            tags=tags,
            spans=counted,
            length=length,
        )


def _stem(label: str) -> str:
    """``NP`` of ``NP-SBJ-1`` and of ``NP=2``."""
    return label.partition("-")[0].partition("=")[0]


def _counts(span: Span, parameters: Parameters) -> bool:
    """Whether a bracket is around some words and its label is not deleted."""
    if span.start == span.end:
        return False
    is_deleted = any(parameters.same_label(span.label, label) for label in parameters.delete)
    return not is_deleted


def mismatch(
    gold: list[str],
    test: list[str],
    parameters: Parameters,
) -> str:
    """The first difference of the words, as a text; empty if there is none."""
    for number, (gold_word, test_word) in enumerate(zip(gold, test, strict=False), 1):
        if not parameters.same_word(gold_word, test_word):
            return f"word {number} is {gold_word!r} in gold but {test_word!r} in test"
    if len(gold) != len(test):
        return f"gold has {len(gold)} words, but test has {len(test)}"
    return ""


def count_matches(
    gold: list[Span],
    test: list[Span],
    parameters: Parameters,
) -> int:
    """The number of gold brackets with a partner; each takes the first that is left."""
    unmatched = defaultdict(list)
    for start, end, label in test:
        unmatched[start, end].append(label)
    count = 0
    for start, end, label in gold:
        labels = unmatched[start, end]
        for i, other in enumerate(labels):
            if not parameters.labelled or parameters.same_label(label, other):
                del labels[i]
                count += 1
                break
    return count


def crossing(
    gold: list[Span],
    test: list[Span],
    words: int,
) -> int:
    """The number of brackets of ``test`` that cross one of ``gold``.

    The brackets of ``gold`` that hold both words next to a gap lie one in another. If the innermost does not cross a
    test bracket that begins or ends in this gap, none of the others does.
    """
    # For each gap, before word 0 to after the last, the innermost bracket; around none, a span that nothing crosses.
    innermost = []
    stack = [
        Span(
            start=-1,
            end=words + 1,
            label="",
        )
    ]
    following = 0
    for gap in range(words + 1):
        while stack[-1].end <= gap:
            stack.pop()
        innermost.append(stack[-1])
        while following < len(gold) and gold[following].start == gap:
            stack.append(gold[following])
            following += 1
    count = 0
    for start, end, _ in test:
        if innermost[start].end < end or innermost[end].start > start:
            count += 1
    return count


# ---------------------------------------------------------------------------------------------------------------------
# The counts of a sentence and the scores of a corpus.


class Status(IntEnum):
    """Whether a sentence is scored, or left out because its words do not match or because there are none."""

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
        cutoff = self.parameters.cutoff
        short = [sentence for sentence in self.sentences if sentence.length <= cutoff]
        return replace(self, sentences=tuple(short))

    def count(self, status: Status) -> int:
        return sum(sentence.status == status for sentence in self.sentences)

    @property
    def total(self) -> SentenceScore:
        """The sums over the valid sentences, with the scores of all their brackets together."""
        valid = self.valid
        sums = {}
        for name in ("length", "words", "matched", "gold", "test", "crossing", "tags"):
            sums[name] = sum(getattr(sentence, name) for sentence in valid)
        return SentenceScore(**sums)

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
        return self._share([sentence.matched == sentence.gold == sentence.test for sentence in self.valid])

    @property
    def average_crossing(self) -> float:
        """Crossing brackets per sentence; no percentage."""
        return self.total.crossing / max(1, len(self.valid))

    @property
    def no_crossing(self) -> float:
        return self._share([sentence.crossing == 0 for sentence in self.valid])

    @property
    def two_or_less_crossing(self) -> float:
        return self._share([sentence.crossing <= 2 for sentence in self.valid])

    def _share(self, flags: list[bool]) -> float:
        return _percent(sum(flags), len(flags))


def score(
    gold: Iterable[Forest],
    test: Iterable[Forest],
    parameters: Parameters | None = None,
) -> Corpus:
    """The scores of ``test`` against ``gold``, sentence by sentence.

    Raises ``ValueError`` if one of them has more sentences, and for the first sentence with other words than it
    should have after ``parameters.max_errors`` of them; sentences are numbered from 1.
    """
    parameters = parameters or Parameters()
    sentences = []
    errors = 0
    for number, (gold_forest, test_forest) in enumerate(zip_longest(gold, test), 1):
        if test_forest is None:
            raise ValueError(f"sentence {number} is in gold but not in test; both must have the same sentences")
        if gold_forest is None:
            raise ValueError(f"sentence {number} is in test but not in gold; both must have the same sentences")
        sentence = score_sentence(gold_forest, test_forest, parameters)
        sentences.append(sentence)
        errors += sentence.status == Status.ERROR
        if errors > parameters.max_errors:
            raise ValueError(
                f"sentence {number}: {sentence.problem}; trees are scored over the same words "
                f"({errors} such sentences, max_errors is {parameters.max_errors})"
            )
    return Corpus(sentences=tuple(sentences), parameters=parameters)


def score_sentence(
    gold: Forest,
    test: Forest,
    parameters: Parameters,
) -> SentenceScore:
    """The counts of one sentence. Linear in its nodes, except for chains of brackets around the same words."""
    right = Brackets.of(gold, parameters)
    tested = Brackets.of(test, parameters)
    row = SentenceScore(length=right.length, words=len(right.words))
    if not tested.words:
        return row._replace(status=Status.SKIPPED)
    problem = mismatch(right.words, tested.words, parameters)
    if problem:
        return row._replace(status=Status.ERROR, problem=problem)
    return row._replace(
        matched=count_matches(right.spans, tested.spans, parameters),
        gold=len(right.spans),
        test=len(tested.spans),
        crossing=crossing(right.spans, tested.spans, len(tested.words)),
        tags=sum(map(parameters.same_label, right.tags, tested.tags)),
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
            problem = str(error).removeprefix("line 1, ")
            raise ValueError(f"line {number}, {problem}") from None
    return forests


def _percent(part: int, whole: int) -> float:
    if not whole:
        return 0.0
    return 100 * part / whole


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
