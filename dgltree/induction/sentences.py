"""Found trees against given ones as papers on parsing without supervision count them: a mean over sentences.

That is another number than EVALB's, which counts the brackets of all sentences together, that of the whole sentence
included.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from dgltree.induction.binary_trees import without_tokens
from dgltree.induction.evalb import Brackets, Parameters, score
from dgltree.trees.tree import Tree

Spans = frozenset[tuple[int, int]]
UNLABELLED = Parameters(labelled=False)


@dataclass(frozen=True)
class Parsing:
    """How well found trees match given ones; all but the depth and the counts in percent."""

    f1: float
    """Mean over sentences, of sets of spans without that of the whole sentence (see :func:`sentence_f1`)."""
    evalb_f1: float
    """Of all brackets together, as EVALB counts them, without labels; nodes of one child count once."""
    depth: float
    """Brackets around a word: the mean over the words of a found tree, and over sentences."""
    recall: dict[str, float]
    """Of the given spans of two words or more with a label, the whole sentence among them, by label."""
    counts: dict[str, int]
    """How many of those there are, most first."""
    sentences: int


def score_sentences(given: Sequence[Tree], found: Sequence[Tree]) -> Parsing:
    """Score trees over the same words.

    Args:
        given: trees of the treebank, without punctuation (see :func:`dgltree.read.words.word_tree`).
        found: in the same order.

    Raises ``ValueError`` for no sentence, and as :func:`dgltree.induction.evalb.score` does for other words.
    """
    if not given:
        raise ValueError("no sentence to score; give at least one")
    corpus = score([without_tokens(tree, ()) for tree in given], found, UNLABELLED)
    counts: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for tree, other in zip(given, found, strict=True):
        known = {(span.start, span.end) for span in _brackets(other)}
        for start, end, label in set(_brackets(tree)):
            counts[label] += 1
            right[label] += (start, end) in known
    return Parsing(
        100 * fmean(sentence_f1(spans(a), spans(b)) for a, b in zip(given, found, strict=True)),
        corpus.f1,
        fmean(map(mean_depth, found)),
        {label: 100 * right[label] / count for label, count in counts.most_common()},
        dict(counts.most_common()),
        len(given),
    )


def spans(tree: Tree) -> Spans:
    """(start, end) of the brackets around two words or more, without that of the whole sentence."""
    whole = len(Brackets.of(tree, UNLABELLED).words)
    return frozenset((span.start, span.end) for span in _brackets(tree) if span.end - span.start < whole)


def sentence_f1(given: Spans, found: Spans) -> float:
    """F1 of two sets of spans, 0 to 1, as the published program counts it (Shen et al. 2019, arXiv 1810.09536).

    Where nothing is given, recall is 1, and where nothing is found either, precision is 1 too.
    """
    right = len(given & found)
    recall = right / len(given) if given else 1.0
    precision = right / len(found) if found else float(not given)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def mean_depth(tree: Tree) -> float:
    """The mean over the words of how many brackets are around each."""
    depths, stack = [], [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        if node.children:
            stack.extend((child, depth + 1) for child in node.children)
        else:
            depths.append(depth)
    return fmean(depths)


def _brackets(tree: Tree) -> list:
    return [span for span in Brackets.of(tree, UNLABELLED).spans if span.end - span.start > 1]
