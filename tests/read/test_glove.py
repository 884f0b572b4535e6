"""Word vectors from GloVe's text files."""

import re
import tracemalloc
from pathlib import Path

import pytest
import torch

from dgltree.datasets.glove import read_glove


@pytest.fixture
def file(tmp_path: Path):
    def write(text: str | bytes) -> Path:
        path = tmp_path / "vectors.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_the_vectors_of_the_wanted_words_stand_at_their_positions(file) -> None:
    path = file("the 1 2.5\ncat -3e-1 4\ndog 5 6\n")
    found = read_glove(path, ["dog", "bird", "the"], 2)
    assert found.index.tolist() == [0, 2]
    assert found.vectors.dtype == torch.float32
    assert found.vectors.tolist() == [[5, 6], [1, 2.5]]
    assert found.lowered == 0


def test_a_word_may_hold_spaces_and_breaks_that_are_no_line_feed(file) -> None:
    path = file(". . . 1 2\nat name@domain.com 3 4\nno\xa0break 5 6\nnext\x85line 7 8\r\n1 9 10 \n")
    words = [". . .", "at name@domain.com", "no\xa0break", "next\x85line", "1"]
    found = read_glove(path, words, 2)
    assert found.vectors.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]]


def test_the_first_of_two_equal_words_counts(file) -> None:
    assert read_glove(file("a 1\nb 2\na 3\n"), ["a"], 1).vectors.tolist() == [[1]]


def test_a_word_in_lower_case_stands_in_for_one_that_the_file_lacks(file) -> None:
    path = file("rock 1\nThe 2\nthe 3\n")
    words = ["Rock", "The", "THE", "the"]
    found = read_glove(path, words, 1)
    assert (found.vectors.flatten().tolist(), found.lowered) == ([1, 2, 3, 3], 2)
    exact = read_glove(path, words, 1, lowercase=False)
    assert (exact.index.tolist(), exact.vectors.flatten().tolist(), exact.lowered) == ([1, 3], [2, 3], 0)


def test_the_coverage_is_told_in_words_and_in_occurrences(file) -> None:
    path = file("the 1\ncat 2\n")
    found = read_glove(path, ["The", "cat", "dog"], 1)
    assert found.coverage() == "2 of 3 words have a vector (66.7%), 1 of these words by their lower-case form"
    assert found.coverage({"The": 5, "cat": 4, "dog": 1}).endswith("; 90.0% of all occurrences")


def test_a_file_without_a_wanted_word_gives_no_vectors(file) -> None:
    found = read_glove(file("a 1 2\n"), ["b"], 2)
    assert (found.index.shape, found.vectors.shape) == ((0,), (0, 2))
    assert found.coverage({}) == "0 of 1 words have a vector (0.0%); 0.0% of all occurrences"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "vectors.txt is empty; expected a word and 2 numbers per line"),
        ("a 1 2\nb 1\n", "line 2: found 1 numbers after the word 'b'; expected 2"),
        ("a 1 2 3 4\n", "line 1: found 4 numbers after the word 'a'; expected 2"),
        ("a b 1 2 3\n", "line 1: found 3 numbers after the word 'a'; expected 2"),
        ("400000 2\n", "line 1: found 1 numbers after the word '400000'; expected 2"),
        ("a 1 2\n\nb 1 2\n", "line 2: found 0 numbers after the word ''; expected 2"),
        ("other 1\n", "line 1: found 1 numbers after the word 'other'; expected 2"),
        ("a 1 2\nb 1 x\n", "line 2: found 'x' in the vector of 'b'; expected a number"),
        ("b nan 2\n", "line 1: found 'nan' in the vector of 'b'; expected a finite float32"),
        ("b 1 -inf\n", "line 1: found '-inf' in the vector of 'b'; expected a finite float32"),
        ("b 1 1e39\n", "line 1: found '1e39' in the vector of 'b'; expected a finite float32"),
        (b"a 1 2\n\xff 1 2\n", "line 2: 'utf-8' codec can't decode byte 0xff"),
    ],
)
def test_bad_files_are_refused_with_their_line(file, text: str | bytes, error: str) -> None:
    with pytest.raises(ValueError, match=re.escape(error)):
        read_glove(file(text), ["a", "b"], 2)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_glove(tmp_path / "nowhere.txt", ["a"], 2)


def test_no_more_than_the_wanted_vectors_are_held(file) -> None:
    path = file("".join(f"w{i} " + " ".join(["0.123456"] * 50) + "\n" for i in range(5_000)))
    tracemalloc.start()
    try:
        assert len(read_glove(path, ["w7", "w4999"], 50).index) == 2
        assert tracemalloc.get_traced_memory()[1] < path.stat().st_size / 4
    finally:
        tracemalloc.stop()
