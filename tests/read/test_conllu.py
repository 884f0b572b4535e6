"""CoNLL-U: sentences read, one bad sentence among good ones, and every error."""

import re
from itertools import count, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltree.read.conllu import COLUMNS, iter_conllu
from dgltree.trees.tree import Tree


def row(id, form="w", head=0, deprel="dep"):
    return f"{id}\t{form}\t{form.lower()}\tNOUN\tNN\tCase=Nom\t{head}\t{deprel}\t_\tSpace=No"


def rows(*heads):
    return [row(i, f"w{i}", head) for i, head in enumerate(heads, 1)]


def only(lines, **columns):
    (sentence,) = iter_conllu(lines, **columns)
    return sentence


def message(*lines):
    error = only(lines).tree
    assert isinstance(error, ValueError)
    return str(error)


CATS = [
    "# sent_id = 1",
    "# text = The cat sleeps = rests",
    "#newdoc",
    row(1, "The", 2, "det"),
    row(2, "cat", 3, "nsubj"),
    row(3, "sleeps", 0, "root"),
    row(4, "here", 3, "advmod"),
]
TREE = Tree(
    "root",
    (
        Tree("nsubj", (Tree("det", token="The"),), token="cat"),
        Tree("advmod", token="here"),
    ),
    token="sleeps",
)


def test_a_sentence_is_one_node_a_word():
    assert only(CATS) == (1, {"sent_id": "1", "text": "The cat sleeps = rests"}, TREE)


def test_lines_may_end_as_in_a_file():
    for end in ("\n", "\r\n"):
        assert only([line + end for line in [*CATS, ""]]).tree == TREE


def test_columns_are_chosen_by_name():
    tree = only(rows(0, 1), function="upos", token="lemma").tree
    assert tree == Tree("NOUN", (Tree("NOUN", token="w2"),), token="w1")
    values = [only(rows(0), function=name, token=name).tree for name in COLUMNS]
    texts = ["1", "w1", "w1", "NOUN", "NN", "Case=Nom", "0", "dep", "_", "Space=No"]
    assert values == [Tree(text, token=text) for text in texts]


@pytest.mark.parametrize("columns", [{"function": "pos"}, {"token": "Form"}])
def test_an_unknown_column_is_refused_at_once(columns):
    with pytest.raises(ValueError, match=r"unknown column '(pos|Form)' \(.*(upos|form)"):
        iter_conllu([], **columns)


def test_multiword_ranges_and_empty_nodes_are_passed_over():
    lines = [row("1-2", "don't", "_"), *rows(0, 1)]
    lines[2:2] = [row("1.1", "empty", "_"), "# = between"]
    assert only(lines).tree == only(rows(0, 1)).tree


def test_sentences_come_with_the_line_they_begin_at():
    lines = ["", *CATS, "", " ", "", *rows(0), "", ""]
    assert [sentence.line for sentence in iter_conllu(lines)] == [2, 12]
    assert list(iter_conllu([])) == []


def test_sentences_are_handed_out_while_the_file_is_being_read():
    endless = (line for _ in count() for line in [*CATS, ""])
    assert [sentence.line for sentence in islice(iter_conllu(endless), 3)] == [1, 9, 17]


def test_reading_goes_on_after_a_bad_sentence():
    lines = [*rows(0), "", "# sent_id = bad", "1\tbroken", *rows(0), "", *rows(0)]
    good, bad, again = iter_conllu(lines)
    assert (good.tree, again.line) == (again.tree, 7)
    assert bad[:2] == (3, {"sent_id": "bad"})
    assert str(bad.tree) == "line 4: found 2 columns; expected 10, separated by tabs"


BAD = {
    "line 1: found 1 columns; expected 10": [row(1).replace("\t", " ")],
    "line 1: found 11 columns; expected 10": [row(1) + "\t"],
    "line 2: the id is '3'; expected 2": [row(1), row(3, head=1)],
    "line 1: the id is '0'; expected 1": [row(0)],
    "line 2: the id is '1'; expected 2": [row(1), row(1, head=1)],
    "line 1: the id is '01'; expected 1": [row("01")],
    "line 1: the id is ''; expected 1": [row("")],
    "line 2: the head is '_'; expected a number from 0 to 2": rows(0, "_"),
    "line 2: the head is '3'; expected a number from 0 to 2": rows(0, 3),
    "line 2: the head is '-1'; expected a number from 0 to 2": rows(0, -1),
    "line 2: the head is '²'; expected a number": rows(0, "²"),
    "line 1: the head is '7777": rows("7" * 5000),
    "line 1: found no root; expected one word with the head 0": rows(2, 1),
    "line 2: found the roots 1 'w1', 3 'w3'; expected one word with the head 0": ["# a = b", *rows(0, 1, 0)],
    "line 3: the heads of 3 'w3', 4 'w4' form a cycle; expected heads that lead to the root": rows(0, 3, 4, 3),
    "line 2: the heads of 2 'w2' form a cycle": rows(0, 2),
    "line 1: a node's function is empty": [row(1, deprel="")],
    "line 1: found a sentence without words; expected at least one": ["# sent_id = 1"],
}


@pytest.mark.parametrize(("expected", "lines"), BAD.items())
def test_a_bad_sentence_is_refused_with_its_line(expected, lines):
    assert message(*lines).startswith(expected)


def test_a_word_without_text_is_a_word():
    assert only([row(1, "")]).tree == Tree("dep", token="")


def test_a_long_message_is_cut():
    found = message(*rows(*[0] * 100))
    assert "40 'w40', ...;" in found
    assert "w41" not in found


def test_a_deep_chain_is_read_and_a_long_cycle_is_found():
    size = 20_000
    tree = only(rows(*range(size))).tree
    assert (tree.depth, tree.token) == (size - 1, "w1")
    assert only(rows(*range(2, size + 1), 0)).tree.depth == size - 1
    assert re.match(
        "line 2: the heads of 2 'w2', 3 'w3', .*, [.][.][.] form a cycle", message(*rows(0, size, *range(2, size)))
    )


@given(st.lists(st.integers(0, 10**6), max_size=20), st.randoms())
def test_random_trees_have_the_heads_they_are_read_from(numbers, random):
    # word i of some order hangs on one before it, so that all heads lead to the first
    order = list(range(1, len(numbers) + 2))
    random.shuffle(order)
    heads = {order[0]: 0} | {order[i]: order[number % i] for i, number in enumerate(numbers, 1)}
    tree = only([row(i, str(i), heads[i]) for i in sorted(heads)]).tree
    found = {tree.token: "0"}
    for node in tree.preorder():
        tokens = [int(child.token) for child in node.children]
        assert tokens == sorted(tokens)
        found |= {child.token: node.token for child in node.children}
    assert found == {str(i): str(head) for i, head in heads.items()}
