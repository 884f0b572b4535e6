"""Brackets are scored as EVALB scores them: every row and sum of its sample, and its program's corner cases.

Counts by the stack equal those of all pairs of brackets. Bad sentences, brackets and parameters are named by line.
"""

import random
from pathlib import Path

import pytest

from dgltree import Tree
from dgltree.induction.binary_trees import left_branching, random_tree, right_branching
from dgltree.induction.evalb import Corpus, Parameters, Status, read_forests, read_parameters, score, score_sentence

GOLD = "(S (A (P this)) (B (Q is) (A (R a) (T test))))"


@pytest.fixture(scope="module")
def folder(published: Path) -> Path:
    return published / "evalb"


@pytest.fixture(scope="module")
def sample(folder: Path) -> Corpus:
    gold, test = (read_forests((folder / f"sample.{kind}").read_text()) for kind in ("gld", "tst"))
    return score(gold, test, read_parameters((folder / "sample.prm").read_text()))


@pytest.mark.data
def test_every_row_of_the_sample_is_reproduced(folder: Path, sample: Corpus) -> None:
    rows = [line.split() for line in (folder / "sample.rsl").read_text().splitlines()]
    rows = [row for row in rows if len(row) == 12 and row[0].isdigit()]
    assert len(rows) == len(sample.sentences) == 24
    for number, (row, s) in enumerate(zip(rows, sample.sentences, strict=True), 1):
        counts = [s.matched, s.gold, s.test, s.crossing, s.words, s.tags]
        shares = [f"{share:.2f}" for share in (s.recall, s.precision, s.tagging_accuracy)]
        found = [number, s.length, int(s.status), *shares[:2], *counts, shares[2]]
        assert [str(value) for value in found] == row


@pytest.mark.data
def test_the_summary_of_the_sample_is_reproduced(folder: Path, sample: Corpus) -> None:
    _, of_all, short = (folder / "sample.rsl").read_text().split("\n-- ")
    for text, corpus in ((of_all, sample), (short, sample.up_to_cutoff())):
        expected = [line.split("=")[1].strip() for line in text.splitlines() if " = " in line or "= 1" in line]
        counts = [len(corpus.sentences), corpus.count(Status.ERROR), corpus.count(Status.SKIPPED), len(corpus.valid)]
        shares = [corpus.recall, corpus.precision, corpus.complete_match, corpus.average_crossing]
        shares += [corpus.no_crossing, corpus.two_or_less_crossing, corpus.tagging_accuracy]
        assert [*map(str, counts), *(f"{share:.2f}" for share in shares)] == expected
    assert f"{sample.recall:.2f} {sample.precision:.2f} {sample.complete_match:.2f}" == "87.76 90.53 52.94"


def rows(gold: str, test: str, **options) -> tuple[int, int, int, int]:
    """(matched, gold, test, crossing) of one sentence."""
    [[right], [found]] = ([forest] for forest in (read_forests(gold)[0], read_forests(test)[0]))
    s = score_sentence(right, found, Parameters(**options))
    assert s.status == Status.VALID, s.problem
    return s.matched, s.gold, s.test, s.crossing


@pytest.mark.parametrize(
    ("gold", "test", "options", "expected"),
    [
        ("(S (NP-SBJ-1 (D a)) (VP=2 (V b)))", "(S (NP (D a)) (VP (V b)))", {}, (3, 3, 3, 0)),
        ("(S (A (D a)) (B (V b)))", "(S (B (D a)) (A (V b)))", {}, (1, 3, 3, 0)),
        ("(S (A (D a)) (B (V b)))", "(S (B (D a)) (A (V b)))", {"labelled": False}, (3, 3, 3, 0)),
        ("(A (A (A (D a))))", "(A (A (D a)))", {}, (2, 3, 2, 0)),
        ("(A (B (C (D a))))", "(C (B (X (A (D a)))))", {}, (3, 3, 4, 0)),
        ("(TOP (S (D a)))", "(S (D a))", {"delete": ("TOP",)}, (1, 1, 1, 0)),
        ("(S (A (D a)) (N (-NONE- t)))", "(S (A (D a)))", {"delete": ("-NONE-",)}, (2, 2, 2, 0)),
        ("(S (N (D a)))", "(S (M (D a)))", {"equal_labels": (("M", "N"),)}, (2, 2, 2, 0)),
        ("(S (N (D a)))", "(S (D a))", {"delete": ("M",), "equal_labels": (("M", "N"),)}, (1, 1, 1, 0)),
        ("(S (X (D a) (D b)) (D c))", "(S (D a) (X (D b) (D c)))", {}, (1, 2, 2, 1)),
        ("(S (X (X (D a) (D b))) (D c))", "(S (D a) (X (Y (D b) (D c))))", {}, (1, 3, 3, 2)),
    ],
)
def test_brackets_are_counted_as_evalb_counts_them(gold: str, test: str, options, expected) -> None:
    assert rows(gold, test, **options) == expected


def test_lengths_and_words_leave_out_different_tags() -> None:
    [gold] = read_forests("(S (A (D a)) (: *) (-NONE- t))")
    options = {"delete": (":", "-NONE-"), "delete_for_length": ("-NONE-",)}
    row = score_sentence(gold, gold, Parameters(**options))
    assert (row.length, row.words, row.tags) == (2, 1, 1)


def test_crossing_and_matching_are_those_of_all_pairs() -> None:
    def spans(tree: Tree) -> list[tuple[int, int]]:
        found, at = [], 0
        for node in tree.preorder():
            leaves = sum(not part.children for part in node.preorder())
            found += [(at, at + leaves)] if node.children else []
            at += not node.children
        return found

    generator = random.Random(0)
    for _ in range(200):
        tokens = [str(i) for i in range(generator.randrange(2, 12))]
        gold, test = random_tree(tokens, generator), random_tree(tokens, generator)
        crossing = sum(any(a < s < b < e or s < a < e < b for a, b in spans(gold)) for s, e in spans(test))
        row = score_sentence(gold, test, Parameters(labelled=False))
        assert (row.crossing, row.matched) == (crossing, len({*spans(gold)} & {*spans(test)}))


def test_sentences_of_twenty_thousand_words_are_scored() -> None:
    tokens = ["a"] * 20_000
    row = score_sentence(left_branching(tokens), right_branching(tokens), Parameters(labelled=False))
    assert (row.matched, row.gold, row.crossing) == (1, 19_999, 19_998)


def test_the_scores_of_a_corpus_are_those_of_all_its_brackets() -> None:
    gold = read_forests("(S (A (D a)) (B (D b)))\n(S (D a))")
    test = read_forests("(S (A (D a)) (C (C (D b))))\n(S (D a))")
    corpus = score(gold, test)
    assert [round(s.f1, 2) for s in corpus.sentences] == [57.14, 100.0]
    assert (corpus.recall, corpus.precision, round(corpus.f1, 2)) == (75.0, 60.0, 66.67)


def test_sentences_as_long_as_the_cutoff_are_among_the_short_ones() -> None:
    forests = read_forests("(S (D a))\n(S (D a) (D b))\n(S (D a) (D b) (D c))")
    corpus = score(forests, forests, Parameters(cutoff=2))
    assert [s.length for s in corpus.up_to_cutoff().sentences] == [1, 2]


def test_sentences_are_counted_by_their_crossing_brackets_none_two_or_fewer_and_more() -> None:
    gold = ["(S (X (D a) (D b)) (D c))"] * 3 + ["(S (X (X (X (D a) (D b)))) (D c))"]
    test = ["(S (X (D a) (D b)) (D c))", "(S (D a) (X (D b) (D c)))", "(S (D a) (X (Y (D b) (D c))))"]
    test += ["(S (D a) (X (Y (Z (D b) (D c)))))"]
    corpus = score(read_forests("\n".join(gold)), read_forests("\n".join(test)))
    assert [sentence.crossing for sentence in corpus.sentences] == [0, 1, 2, 3]
    assert (corpus.no_crossing, corpus.two_or_less_crossing, corpus.average_crossing) == (25.0, 75.0, 1.5)


def test_nothing_to_score_is_no_error() -> None:
    corpus = score([], [])
    assert (corpus.f1, corpus.complete_match, corpus.average_crossing) == (0, 0, 0)
    [row] = score([[]], [[]]).sentences
    assert (row.status, row.recall, row.f1) == (Status.SKIPPED, 0, 0)


@pytest.mark.parametrize(
    ("test", "problem"),
    [
        (GOLD.replace(" is", " was"), r"sentence 2: word 2 is 'is' in gold but 'was' in test; .* max_errors is 0"),
        (f"(S {GOLD} (P more))", r"sentence 2: gold has 4 words, but test has 5"),
        ("(S (P this))", r"sentence 2: gold has 4 words, but test has 1; trees are scored over the same words"),
    ],
)
def test_trees_over_other_words_are_refused_by_sentence(test: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        score(read_forests(f"{GOLD}\n{GOLD}"), read_forests(f"{GOLD}\n{test}"))
    assert score(read_forests(GOLD), read_forests(test), Parameters(max_errors=1)).count(Status.ERROR) == 1


def test_other_numbers_of_sentences_are_refused() -> None:
    with pytest.raises(ValueError, match="sentence 2 is in gold but not in test; both must have the same sentences"):
        score(read_forests(f"{GOLD}\n{GOLD}"), read_forests(GOLD))
    with pytest.raises(ValueError, match="sentence 1 is in test but not in gold; both must have the same sentences"):
        score([], read_forests(GOLD))


def test_a_bracket_that_does_not_close_is_named_by_its_line() -> None:
    with pytest.raises(ValueError, match=r"^line 2, column 1: found no end of the bracket that opens here"):
        read_forests(f"{GOLD}\n{GOLD[:-1]}")


def test_parameters_have_evalbs_defaults() -> None:
    assert read_parameters("# nothing\n\nDEBUG 1\n") == Parameters(max_errors=10)
    text = "LABELED 0\nCUTOFF_LEN 15\nDELETE_LABEL , \nDELETE_LABEL TOP\nEQ_LABEL ADVP PRT\n"
    assert read_parameters(text + "MAX_ERROR 3") == Parameters(
        labelled=False, cutoff=15, delete=(",", "TOP"), equal_labels=(("ADVP", "PRT"),), max_errors=3
    )


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("LABELED 1\nDELETE_LABLE X", r"line 2: unknown parameter 'DELETE_LABLE'; known: CUTOFF_LEN, DELETE_LABEL, "),
        ("EQ_WORD a", r"line 1: EQ_WORD has 1 values, 'a'; give 2"),
        ("CUTOFF_LEN many", r"line 1: CUTOFF_LEN is 'many'; it must be a whole number from 0"),
    ],
)
def test_bad_parameters_are_refused_by_line(text: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        read_parameters(text)
