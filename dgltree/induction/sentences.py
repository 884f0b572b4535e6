"""Induced trees against gold trees as papers on parsing without supervision count them: a mean over sentences.

That is another number than EVALB's, which counts the brackets of all sentences together, that of the whole sentence
included.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from dgltree.induction.binary_trees import without_tokens
from dgltree.induction.evalb import Brackets, Parameters, Span, score
from dgltree.trees.tree import Tree

Spans = frozenset[tuple[int, int]]
UNLABELLED = Parameters(labelled=False)


@dataclass(frozen=True, kw_only=True)
class Parsing:
    """How well induced trees match gold trees; all but the depth and the counts in percent."""

    f1: float
    """Mean over sentences, of sets of spans without that of the whole sentence (see :func:`sentence_f1`)."""
    evalb_f1: float
    """F1 of all brackets together, as EVALB counts them, without labels; nodes of one child count once."""
    depth: float
    """Brackets around a word: the mean over the words of an induced tree, and over sentences."""
    recall: dict[str, float]
    """Recall of the gold spans of two words or more with a label, the whole sentence among them, by label."""
    counts: dict[str, int]
    """The number of those spans by label, the most frequent first."""
    sentences: int


def score_sentences(given: Sequence[Tree], found: Sequence[Tree]) -> Parsing:
    """Score trees over the same words.

    Args:
        given: trees of the treebank, without punctuation (see :func:`dgltree.read.words.word_tree`).
        found: in the same order.

    Raises ``ValueError`` for no sentence, and as :func:`dgltree.induction.evalb.score` does for other words.
    """
    if not given:
        raise ValueError("no sentences to score; give at least one")
    corpus = score([without_tokens(tree, ()) for tree in given], found, UNLABELLED)
    scores = []
    counts: Counter[str] = Counter()
    matched: Counter[str] = Counter()
    for gold, induced in zip(given, found, strict=True):
        scores.append(sentence_f1(spans(gold), spans(induced)))
        induced_spans = {(span.start, span.end) for span in _brackets(induced)}
        for start, end, label in set(_brackets(gold)):
            counts[label] += 1
            matched[label] += (start, end) in induced_spans
    labels = [label for label, _ in counts.most_common()]
    return Parsing(
        f1=100 * fmean(scores),
        evalb_f1=corpus.f1,
        depth=fmean(map(mean_depth, found)),
        recall={label: 100 * matched[label] / counts[label] for label in labels},
        counts={label: counts[label] for label in labels},
        sentences=len(given),
    )


def spans(tree: Tree) -> Spans:
    """(start, end) of the brackets around two words or more, without that of the whole sentence."""
    words = len(Brackets.of(tree, UNLABELLED).words)
    bounds = set()
    for span in _brackets(tree):
        if span.end - span.start < words:
            bounds.add((span.start, span.end))
    return frozenset(bounds)


def sentence_f1(given: Spans, found: Spans) -> float:
    """F1 of two sets of spans, 0 to 1, as the published program counts it (Shen et al. 2019, arXiv 1810.09536).

    Where nothing is given, recall is 1, and where nothing is found either, precision is 1 too.
    """
    matched = len(given & found)
    recall = matched / len(given) if given else 1.0
    precision = matched / len(found) if found else float(not given)
    total = precision + recall
    if not total:
        return 0.0
    return 2 * precision * recall / total


def mean_depth(tree: Tree) -> float:
    """The mean over the words of how many brackets are around each."""
    depths = []
    stack = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        if node.children:
            stack.extend((child, depth + 1) for child in node.children)
        else:
            depths.append(depth)
    return fmean(depths)


def _brackets(tree: Tree) -> list[Span]:
    """The brackets around two words or more."""
    spans_of_tree = Brackets.of(tree, UNLABELLED).spans
    return [span for span in spans_of_tree if span.end - span.start > 1]
