"""Exact limits of what is read: as many characters as allowed, and one more."""

from importlib.util import find_spec

import pytest

from dgltree import read_infix, write_infix
from dgltree.read.code import TOKEN_LIMIT, read_code
from dgltree.read.notation import DIGITS, number
from dgltree.read.python import TOKEN_LIMIT as PYTHON_LIMIT
from dgltree.read.python import read_python

CODE = all(map(find_spec, ("tree_sitter", "tree_sitter_c", "tree_sitter_java", "tree_sitter_javascript")))


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize("form", ["{}", "1/{}", "{}/2"])
def test_numbers_of_as_many_digits_as_are_read_are_written_and_longer_ones_are_not(form: str, sign: str) -> None:
    digits = "9" * DIGITS
    leaf = number(sign + form.format(digits))
    text = write_infix(leaf)
    assert text == sign + form.format(digits)
    assert read_infix(text) == leaf
    longer = leaf.replace(token=sign + form.format(digits + "9"))
    with pytest.raises(ValueError, match="no text reads as the leaf"):
        write_infix(longer)


def tokens(tree: object) -> list[str]:
    return [node.token for node in tree.preorder() if node.token is not None]  # type: ignore[attr-defined]


@pytest.mark.skipif(not CODE, reason="the code extra is not installed")
@pytest.mark.parametrize(
    ("language", "source"),
    [("c", 'char *s = "{}";'), ("java", 'class A {{ String s = "{}"; }}'), ("javascript", "s = '{}';")],
)
@pytest.mark.parametrize("letter", ["a", "é"])
def test_a_token_of_code_ends_with_its_limit(letter: str, language: str, source: str) -> None:
    for length in (TOKEN_LIMIT - 1, TOKEN_LIMIT, TOKEN_LIMIT + 1, 5 * TOKEN_LIMIT):
        longest = max(tokens(read_code(source.format(letter * length), language)), key=len)
        assert longest == letter * min(length, TOKEN_LIMIT)


def test_a_constant_of_python_ends_with_its_limit() -> None:
    for length in (PYTHON_LIMIT - 2, PYTHON_LIMIT - 1, 5 * PYTHON_LIMIT):  # with its quotes
        longest = max(tokens(read_python(f"s = '{'a' * length}'")), key=len)
        assert longest == f"'{'a' * length}'"[:PYTHON_LIMIT]
