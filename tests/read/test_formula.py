"""Formulas and lists as one writes them."""

import pytest

from dgltree.read.bracket import write_unlabelled
from dgltree.read.formula import read_formula
from dgltree.read.listops import bracketed


@pytest.mark.parametrize(
    ("text", "published"),
    [
        ("a", "a"),
        ("a and not b", "( a ( and ( not b ) ) )"),
        ("not a and b", "( ( not a ) ( and b ) )"),
        ("not (a and b)", "( not ( a ( and b ) ) )"),
        ("a or b and c", "( a ( or ( b ( and c ) ) ) )"),
        ("(a or b) and c", "( ( a ( or b ) ) ( and c ) )"),
        ("a or b or not not c", "( ( a ( or b ) ) ( or ( not ( not c ) ) ) )"),
        ("¬a∧(b|~c)", "( ( not a ) ( and ( b ( or ( not c ) ) ) ) )"),
    ],
)
def test_a_formula_is_the_published_one(text: str, published: str) -> None:
    assert write_unlabelled(read_formula(text)) == published


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "column 1: found the end; expected a formula"),
        ("a b", "column 3: found 'b'; expected and, or, or the end"),
        ("a and", "column 6: found the end"),
        ("and a", "column 1: found 'and'; expected a formula"),
        ("(a or b", "column 1: the '\\(' is never closed"),
        ("a or b)", "column 7: found '\\)' where no bracket is open"),
        ("()", "column 2: found '\\)'; expected a formula"),
        ("a not b", "column 3: found 'not'"),
    ],
)
def test_what_is_no_formula_is_told(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"line 1, {message}"):
        read_formula(text)


def test_a_formula_may_be_nested_deep() -> None:
    assert read_formula("(" * 20_000 + "a" + ")" * 20_000).token == "a"
    assert read_formula("not " * 20_000 + "a").depth == 20_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found no words"),
        ("[MAX 2", "no end of the list"),
        ("2 3", "word 2: found '3'"),
        ("]", "word 1: found ']'"),
    ],
)
def test_what_is_no_list_is_told(text: str, message: str) -> None:
    assert bracketed(["[MAX", "2", "9", "]"]) == "( ( ( [MAX 2 ) 9 ) ] )"
    with pytest.raises(ValueError, match=message):
        bracketed(text.split())
