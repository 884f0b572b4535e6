"""Bracketed trees: every form read, written and refused."""

import re
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltree.read import bracket
from dgltree.read.text import read_text
from dgltree.trees.tree import Tree

the = Tree("DT", token="the")
cat = Tree("NN", token="cat")


def word(token, label=None):
    return Tree("word", token=token, label=label)


def phrase(*children, label=None):
    return Tree("phrase", children, label=label)


TREEBANK = {
    "(DT the)": the,
    "(NP (DT the) (NN cat))": Tree("NP", (the, cat)),
    "(S (NP-SBJ-1 (DT the)) (VP (-NONE- *T*-1)))": Tree(
        "S", (Tree("NP-SBJ-1", (the,)), Tree("VP", (Tree("-NONE-", token="*T*-1"),)))
    ),
    "(-LRB- -LRB-)": Tree("-LRB-", token="("),
    r"(CD 1\/2)": Tree("CD", token="1/2"),
    r"(: \*\*)": Tree(":", token="**"),
    "(X -RRB-)": Tree("X", token=")"),
    "(X -LCB-x-RCB-)": Tree("X", token="{x}"),
    "(X :-RSB--LSB-)": Tree("X", token=":]["),
    "(-NONE- -LRB-)": Tree("-NONE-", token="-LRB-"),
    "(X a\xa0b\u2028c\x1cd)": Tree("X", token="a\xa0b\u2028c\x1cd"),
    r"(X \\)": Tree("X", token=r"\\"),
}
SST = {
    "(2 Rock)": word("Rock", 2),
    r"(3 (2 The) (4 (0 -LRB-) (1 and\/or)))": phrase(
        word("The", 2), phrase(word("(", 0), word("and/or", 1), label=4), label=3
    ),
}
UNLABELLED = {
    "d": word("d"),
    "( not d )": phrase(word("not"), word("d")),
    "( not ( e ( or f ) ) )": phrase(word("not"), phrase(word("e"), phrase(word("or"), word("f")))),
    "( ( ( [SM 6 ) 5 ) ] )": phrase(phrase(phrase(word("[SM"), word("6")), word("5")), word("]")),
    "( a )": phrase(word("a")),
    r"( -LRB- \/ )": phrase(word("-LRB-"), word(r"\/")),
}


@pytest.mark.parametrize(("text", "tree"), TREEBANK.items())
def test_treebank_text_and_tree_say_the_same(text, tree):
    assert bracket.read_treebank(text) == tree
    assert bracket.write_treebank(tree) == text


@pytest.mark.parametrize(("text", "tree"), SST.items())
def test_sst_text_and_tree_say_the_same(text, tree):
    assert bracket.read_sst(text) == tree
    assert bracket.write_sst(tree) == text


@pytest.mark.parametrize(("text", "tree"), UNLABELLED.items())
def test_unlabelled_text_and_tree_say_the_same(text, tree):
    assert bracket.read_unlabelled(text) == tree
    assert bracket.write_unlabelled(tree) == text


@pytest.mark.parametrize(
    ("text", "tree"),
    {
        "( (NP (DT the) (NN cat)) )": Tree("NP", (the, cat)),
        "((DT the))": the,
        "\n( NP(DT\tthe )\n(NN\r\ncat))\n": Tree("NP", (the, cat)),
        "(CD 1/2)": Tree("CD", token="1/2"),
    }.items(),
)
def test_treebank_text_may_be_spaced_wrapped_and_unescaped(text, tree):
    assert bracket.read_treebank(text) == tree


def test_unlabelled_text_needs_no_spaces_around_brackets():
    assert bracket.read_unlabelled("(not(e(or f)))") == bracket.read_unlabelled("( not ( e ( or f ) ) )")


def test_many_trees_are_read_wherever_the_lines_break():
    assert list(bracket.iter_treebank("(DT the) (NN\ncat)\n\n( (DT the) )")) == [the, cat, the]
    assert list(bracket.iter_sst("(2 a)(3\nb)")) == [word("a", 2), word("b", 3)]
    assert list(bracket.iter_treebank(" \n")) == []


def test_trees_before_an_error_are_still_handed_out():
    trees = bracket.iter_treebank("(DT the)\n)")
    assert next(trees) == the
    with pytest.raises(ValueError, match=r"line 2, column 1: found '\)'"):
        next(trees)


BAD_TREEBANK = {
    "(S (NP (DT the)": "line 1, column 4: found no end of the bracket that opens here; expected ')'",
    "(S\n (NP (DT the))": "line 1, column 1: found no end",
    "(DT the))": "line 1, column 9: found ')' where no bracket is open; expected '('",
    "()": "line 1, column 1: found empty brackets; expected a word or more brackets inside",
    "(S\n ())": "line 2, column 2: found brackets without a label inside a tree; expected a label after '('",
    "(NP)": "line 1, column 1: found nothing after the label 'NP'; expected a word or more brackets",
    "(S (NP (DT the)) (VP))": "line 1, column 18: found nothing after the label 'VP'",
    "(NP the (NN cat))": "line 1, column 9: found '(' after the word 'the'; expected ')'",
    "(NP (DT the) cat)": "line 1, column 14: found the word 'cat' next to brackets; expected '(' or ')'",
    "( (DT the) cat)": "line 1, column 12: found the word 'cat' next to brackets",
    "(DT the a)": "line 1, column 9: found a second word, 'a', after 'the'; expected ')'",
    "the": "line 1, column 1: found 'the' outside of brackets; expected '('",
    "(DT the)\n cat": "line 2, column 2: found 'cat' outside of brackets",
    "": "line 1, column 1: found no tree; expected one",
    " \n ": "line 1, column 1: found no tree; expected one",
    "(DT the)\n(NN cat)": "line 2, column 1: found a second tree; expected only one",
    "( (DT the) (NN cat) )": "line 1, column 1: found brackets without a label around 2 trees; expected a label",
    "(S ( (DT the)))": "line 1, column 4: found brackets without a label inside a tree",
    "( ( (DT the)))": "line 1, column 3: found brackets without a label inside a tree",
}
BAD_SST = {
    "(5 a)": "line 1, column 1: found the label '5'; expected one of 0, 1, 2, 3, 4",
    "(2 (01 a) (2 b))": "line 1, column 4: found the label '01'",
    "(NP a)": "line 1, column 1: found the label 'NP'",
    "( (2 a) )": "line 1, column 1: found the label ''",
    "(2 a": "line 1, column 1: found no end of the bracket that opens here; expected ')', as in (3 (2 The)",
    "": "line 1, column 1: found no tree",
}
BAD_UNLABELLED = {
    "( not ( a )": "line 1, column 1: found no end of the bracket that opens here",
    "( not a ) )": "line 1, column 11: found ')' where no bracket is open",
    "( not ( ) )": "line 1, column 7: found empty brackets",
    "": "line 1, column 1: found no tree",
    "a b": "line 1, column 3: found a second tree",
    "( a b ) ( c d )": "line 1, column 9: found a second tree",
}


@pytest.mark.parametrize(("text", "message"), BAD_TREEBANK.items())
def test_bad_treebank_text_is_refused_where_it_goes_wrong(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        bracket.read_treebank(text)


@pytest.mark.parametrize(("text", "message"), BAD_SST.items())
def test_bad_sst_text_is_refused_where_it_goes_wrong(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        bracket.read_sst(text)


@pytest.mark.parametrize(("text", "message"), BAD_UNLABELLED.items())
def test_bad_unlabelled_text_is_refused_where_it_goes_wrong(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        bracket.read_unlabelled(text)


UNSAYABLE = [
    *(
        (bracket.write_treebank, node)
        for node in (
            Tree("NP"),
            Tree("N P", token="a"),
            Tree("N(P", (the,)),
            Tree("NP", (the,), token="a"),
            Tree("NN", token=""),
            Tree("NN", token="a b"),
            Tree("NN", token="-LRB-"),
            Tree("NN", token="a-RSB-"),
            Tree("-NONE-", token="("),
            Tree("NN", value=2.0),
            Tree("NN", token="a", value=2.0),
            Tree("NN", token="a", label=2),
        )
    ),
    *(
        (bracket.write_sst, node)
        for node in (
            word("a"),
            word("a", 5),
            word("a", "2"),
            word("a b", 2),
            word("-LRB-", 2),
            Tree("DT", token="the", label=2),
            phrase(word("a", 2)),
            phrase(label=2),
            Tree("phrase", (word("a", 2),), token="a", label=2),
            Tree("S", (word("a", 2),), label=2),
            Tree("word", (word("a", 2),), label=2),
        )
    ),
    *(
        (bracket.write_unlabelled, node)
        for node in (
            phrase(),
            word("("),
            word("a\tb"),
            word(""),
            word("a", 2),
            the,
            phrase(word("a"), label=1),
            Tree("S", (word("a"),)),
            Tree("word", value=1.0),
            Tree("phrase", (word("a"),), token="b"),
        )
    ),
]


@pytest.mark.parametrize(("write", "node"), UNSAYABLE)
def test_a_tree_that_the_form_cannot_say_is_refused_with_the_node(write, node):
    with pytest.raises(ValueError, match=re.escape(f"{node.replace(children=())} with {len(node.children)} children")):
        write(node)


def test_an_unsayable_node_is_found_inside_of_a_tree():
    with pytest.raises(ValueError, match=r"Tree\('NN', token='a b'\) with 0 children cannot be written"):
        bracket.write_treebank(Tree("NP", (the, Tree("NN", token="a b"))))


words = st.text(st.characters(codec="utf-8", exclude_characters="() \t\n\r\f\v-"), min_size=1)
tokens = st.text(
    st.characters(codec="utf-8", exclude_characters=" \t\n\r\f\v-") | st.sampled_from("(){}[]/*\\"), min_size=1
)
labels = st.integers(0, 4)


def trees(leaves, inner):
    return st.recursive(leaves, lambda below: inner(st.lists(below, min_size=1, max_size=4)), max_leaves=20)


@given(
    trees(
        st.builds(lambda function, token: Tree(function, token=token), words | st.just("-LRB-"), tokens)
        | st.builds(lambda token: Tree("-NONE-", token=token), words),
        lambda children: st.builds(Tree, words, children),
    )
)
def test_treebank_trees_survive_writing_and_reading(tree):
    text = bracket.write_treebank(tree)
    assert bracket.read_treebank(text) == tree
    assert list(bracket.iter_treebank(f"( {text} )\n{text}")) == [tree, tree]


@given(
    trees(
        st.builds(word, tokens, labels),
        lambda children: st.builds(lambda below, label: phrase(*below, label=label), children, labels),
    )
)
def test_sst_trees_survive_writing_and_reading(tree):
    assert bracket.read_sst(bracket.write_sst(tree)) == tree


@given(trees(st.builds(word, words), lambda children: st.builds(lambda below: phrase(*below), children)))
def test_unlabelled_trees_survive_writing_and_reading(tree):
    assert bracket.read_unlabelled(bracket.write_unlabelled(tree)) == tree


@given(
    st.lists(st.sampled_from(["(", ")", " ", "\n", "a", "2", "/", "\\", "*", "-LRB-", "(2 ", "-NONE- "])).map("".join)
)
def test_any_text_is_read_or_refused_and_what_is_read_survives_writing(text):
    for read, write in (
        (bracket.read_treebank, bracket.write_treebank),
        (bracket.read_sst, bracket.write_sst),
        (bracket.read_unlabelled, bracket.write_unlabelled),
    ):
        try:
            tree = read(text)
        except ValueError as error:
            assert str(error).startswith("line ")
        else:
            assert read(write(tree)) == tree


@pytest.mark.parametrize(
    ("read", "write", "size", "opening", "leaf", "closing"),
    [
        pytest.param(
            *(bracket.read_treebank, bracket.write_treebank, 1_000_000, "(S ", "(X y)", ")"), marks=pytest.mark.slow
        ),
        (bracket.read_treebank, bracket.write_treebank, 20_000, "(S ", "(X y)", ")"),
        (bracket.read_sst, bracket.write_sst, 20_000, "(2 ", "(4 y)", ")"),
        (bracket.read_unlabelled, bracket.write_unlabelled, 20_000, "( ", "y", " )"),
    ],
)
def test_a_deep_chain_is_read_and_written(read, write, size, opening, leaf, closing):
    text = opening * (size - 1) + leaf + closing * (size - 1)
    tree = read(text)
    assert tree.size == size
    assert write(tree) == text


def test_deep_open_brackets_are_refused():
    with pytest.raises(ValueError, match="line 1, column 299998: found no end"):
        bracket.read_treebank("(S " * 100_000)


@pytest.mark.slow
@pytest.mark.data
def test_the_published_sentiment_trees_are_written_back_to_the_letter(published):
    lines = read_text(published / "sst" / "train.txt").split("\n")[:-1]
    trees = list(bracket.iter_sst("\n".join(lines)))
    assert len(trees) == 8544
    assert [bracket.write_sst(tree) for tree in trees] == lines


@pytest.mark.data
def test_the_published_logic_sentences_are_written_back_to_the_letter(published):
    lines = read_text(published / "logic" / "train3").split("\n")[:-1:4]
    sentences = [sentence for line in lines for sentence in line.split("\t")[1:]]
    assert len(sentences) == 2 * len(lines) > 0
    assert [bracket.write_unlabelled(bracket.read_unlabelled(sentence)) for sentence in sentences] == sentences


@pytest.mark.data
def test_the_published_listops_are_written_back_to_the_letter(published):
    with (published / "listops" / "test_d20s.tsv").open(encoding="utf-8") as lines:
        texts = [line.rstrip("\n").split("\t")[1] for line in islice(lines, 1000)]
    assert len(texts) == 1000
    assert [bracket.write_unlabelled(bracket.read_unlabelled(text)) for text in texts] == texts


@pytest.mark.data
def test_the_evalb_sample_is_written_back_but_for_its_unescaped_asterisk(published):
    text = read_text(published / "evalb" / "sample.gld")
    trees = list(bracket.iter_treebank(text))
    assert [bracket.write_treebank(tree) for tree in trees] == text.replace("(: *)", r"(: \*)").split("\n")[:-1]
