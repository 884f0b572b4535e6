"""Sentences as language models read them."""

from pathlib import Path

import pytest

from dgltree.read.bracket import read_treebank
from dgltree.read.words import normalize_word, plain_words, read_word_trees, word_tree, words_of

TREE = (
    "( (S (NP-SBJ (NP (NNP Mr.) (NNP Vinken)) (, ,) (ADJP (CD 61.5))) (VP (VBD paid) (NP (-NONE- *T*-1)) "
    "(NP ($ $) (CD 1\\/2)) (PRT (RP off))) (. .)))"
)


def test_a_tree_keeps_its_words_alone_normalized() -> None:
    tree = word_tree(read_treebank(TREE))
    assert tree is not None
    assert words_of(tree) == ["mr.", "vinken", "N.N", "paid", r"N\/N", "off"]
    inner = [node.function for node in tree.preorder() if node.children]
    assert " ".join(inner) == "S NP-SBJ NP ADJP VP NP PRT"
    assert word_tree(read_treebank("(S (NP (-NONE- *)) (. .))")) is None


def test_a_prepared_file_has_its_numbers_in_lower_case() -> None:
    tree = word_tree(read_treebank("(<unk> (<word> n) (<unk> (<word> n't) (<word> n.n)))"))
    assert tree is not None
    assert words_of(tree) == ["N", "n't", "n.n"]


def test_an_n_is_a_number_in_a_prepared_file_alone() -> None:
    for tag, words in (("NN", ["n", "N", "n"]), ("<word>", ["N", "N", "N"])):
        tree = word_tree(read_treebank(f"(S ({tag} n) ({tag} 7) ({tag} N))"))
        assert tree is not None
        assert words_of(tree) == words


def test_words_of_a_plain_sentence() -> None:
    assert plain_words('Mr. Smith (45) said: "He did n\'t go -- ever."') == [
        "Mr.",
        "Smith",
        "45",
        "said",
        "He",
        "did",
        "n't",
        "go",
        "ever",
    ]
    assert plain_words("It 's $ 3 % off , U.S. stocks ...") == ["It", "'s", "3", "%", "off", "U.S.", "stocks"]
    assert plain_words(" . -- !") == []
    assert normalize_word("1990s/A*") == r"Ns\/a\*"


def test_a_folder_is_read_in_order_and_trees_without_words_are_counted(tmp_path: Path) -> None:
    (tmp_path / "b.mrg").write_text("(S (DT b))")
    (tmp_path / "a.mrg").write_text("( (S (DT A)) ) ( (S (. .)) )")
    trees, empty = read_word_trees(tmp_path)
    assert ([words_of(tree) for tree in trees], empty) == ([["a"], ["b"]], 1)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("( (S (NP (-NONE- *T*-1)) (. .)) ) ( (X (-NONE- 0)) )", "2 trees without a word: every leaf is punct"),
        ("mr. <unk> is chairman", "a.mrg: line 1, column 1: found 'mr.' outside of brackets"),
        ("", "0 trees without a word"),
        ("(S (DT a)", "a.mrg: line 1, column 1: found no end of the bracket that opens here"),
    ],
)
def test_what_is_no_treebank_is_refused(tmp_path: Path, content: str, error: str) -> None:
    file = tmp_path / "a.mrg"
    file.write_text(content)
    for path in (file, tmp_path):
        with pytest.raises(ValueError, match=error):
            read_word_trees(path)
    file.unlink()
    with pytest.raises(FileNotFoundError, match=r"no \*.mrg file in this folder"):
        read_word_trees(tmp_path)
