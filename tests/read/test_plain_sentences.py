"""Plain sentences, as people type and export them."""

import pytest

from dgltree.read.words import read_sentence


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat sleeps.", "the cat sleeps ."),
        ("I don't know", "i don't know"),
        ("It\u2019s 3.5 km away, isn't it?", "it\u2019s 3.5 km away , isn't it ?"),
        ("a well-known 'fact'", "a well-known ' fact '"),
        ("1,000 people; 2-3 dogs", "1,000 people ; 2-3 dogs"),
        ("  tabs\tand   spaces ", "tabs and spaces"),
        ("(see e.g. Fig. 3)", "( see e.g . fig . 3 )"),
        ("\u00c4pfel und Birnen", "\u00e4pfel und birnen"),
        ("snake_case_name = 1", "snake_case_name = 1"),
        ("...", ". . ."),
        ("ok", "ok"),
    ],
)
def test_words_and_marks(text: str, words: str) -> None:
    tree = read_sentence(text)
    assert tree.function == "sentence" and [leaf.token for leaf in tree.children] == words.split()
    assert all(leaf.function == "word" and not leaf.children for leaf in tree.children)


@pytest.mark.parametrize("text", ["", "  \t "])
def test_a_text_without_words_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="found no word; expected a sentence"):
        read_sentence(text)
