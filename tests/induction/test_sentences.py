"""Sentence-level scores: hand-made trees, and the published figures of trees that look at nothing."""

from pathlib import Path

import pytest

from dgltree import Tree
from dgltree.induction import balanced, left_branching, right_branching
from dgltree.induction.sentences import mean_depth, score_sentences, sentence_f1, spans
from dgltree.read.bracket import read_treebank, read_unlabelled
from dgltree.read.words import read_word_trees, words_of

GIVEN = "(S (NP-SBJ (DT a) (NN b)) (VP (VB c) (NP=2 (NP (DT d) (NN e)) (PP (IN f)))))"


def found(text: str) -> Tree:
    return read_unlabelled(text)


def test_spans_are_a_set_without_the_whole_sentence_and_single_words() -> None:
    assert spans(read_treebank(GIVEN)) == {(0, 2), (2, 6), (3, 6), (3, 5)}
    assert spans(read_treebank("(S (VP (VP (VB a) (NN b)) ) (. c))")) == {(0, 2)}
    assert spans(read_treebank("(S (S (VB a) (NN b)))")) == frozenset()


@pytest.mark.parametrize(
    ("given", "other", "expected"),
    [
        ({(0, 2), (2, 4)}, {(0, 2), (1, 3), (1, 4)}, 2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2)),
        ({(0, 2)}, {(1, 3)}, 0),
        (set(), set(), 1),
        (set(), {(0, 2)}, 0),
        ({(0, 2)}, set(), 0),
    ],
)
def test_f1_of_a_sentence(given: set, other: set, expected: float) -> None:
    assert sentence_f1(frozenset(given), frozenset(other)) == pytest.approx(expected)


def test_figures_of_two_sentences() -> None:
    trees = [read_treebank(GIVEN), read_treebank("(NP (NN x))")]
    scores = score_sentences(trees, [found("( ( a b ) ( ( c d ) ( e f ) ) )"), found("x")])
    assert scores.f1 == pytest.approx(100 * ((2 * (2 / 4) * (2 / 4)) / (2 / 4 + 2 / 4) + 1) / 2)
    assert scores.evalb_f1 == pytest.approx(100 * 2 * 3 / (5 + 5)), "the whole sentence counts, single words do not"
    assert scores.recall == {"NP": pytest.approx(100 / 3), "S": 100, "VP": 100}
    assert scores.counts == {"NP": 3, "S": 1, "VP": 1}
    assert scores.depth == pytest.approx((2 * 2 / 6 + 4 * 3 / 6 + 0) / 2)
    assert scores.sentences == 2


def test_depth_counts_open_brackets() -> None:
    assert mean_depth(found("( a ( b ( c d ) ) )")) == (1 + 2 + 3 + 3) / 4
    assert mean_depth(found("a")) == 0


def test_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match="sentence 1: word 1 is 'a' in gold but 'x' in test"):
        score_sentences([read_treebank("(S (A a) (B b))")], [found("( x b )")])
    with pytest.raises(ValueError, match="no sentences to score; give at least one"):
        score_sentences([], [])


@pytest.mark.slow
def test_the_published_figures_of_section_23(published: Path) -> None:
    given, empty = read_word_trees(published / "language" / "wsj23_gold.txt")
    assert (len(given), empty, sum(len(words_of(tree)) for tree in given)) == (2416, 0, 49_368)
    figures = []
    for make in (balanced, left_branching, right_branching):
        other = [make(words_of(tree)) for tree in given]
        pairs = zip(map(spans, given), map(spans, other), strict=True)
        figures.append(round(100 * sum(sentence_f1(*pair) for pair in pairs) / len(given), 2))
    assert figures == [24.50, 9.03, 39.77]


def test_a_bracket_around_the_words_of_another_of_its_label_counts_once() -> None:
    given = read_treebank("(S (NP (NP (D a) (N b))) (VP (V c) (S (VP (V d) (N e)))))")
    found = read_unlabelled("( ( a b ) ( ( c d ) e ) )")
    figures = score_sentences([given], [found])
    assert figures.counts == {"S": 2, "VP": 2, "NP": 1}
    assert figures.recall == {"S": 50.0, "VP": 50.0, "NP": 100.0}  # of words 3 and 4 there is none
