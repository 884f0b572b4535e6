"""A truth table is that of the formula, and what is not a formula is refused."""

from itertools import product

import pytest

from dgltree import Tree
from dgltree.read.bracket import read_unlabelled
from dgltree.trees.logic import TruthTables


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("a", lambda a, b: a),
        ("( not a )", lambda a, b: not a),
        ("( a ( and b ) )", lambda a, b: a and b),
        ("( a ( or b ) )", lambda a, b: a or b),
        ("( ( not a ) ( and ( b ( or a ) ) ) )", lambda a, b: not a and (b or a)),
    ],
)
def test_bit_r_says_whether_a_formula_holds_in_assignment_r(text: str, holds) -> None:
    table = TruthTables("ab").of(read_unlabelled(text))
    assert [bool(table >> r & 1) for r in range(4)] == [bool(holds(r & 1, r >> 1)) for r in range(4)]


def test_only_the_forms_of_the_grammar_are_formulas() -> None:
    """Every bracket of two or three of these parts."""
    parts = ["a", "not", "and", "or", "( and b )", "( or b )", "( not b )"]
    formulas = ["( a ( and b ) )", "( a ( or b ) )", "( not a )"]
    formulas += ["( not ( not b ) )", "( ( not b ) ( and b ) )", "( ( not b ) ( or b ) )"]
    taken = []
    for count in (2, 3):
        for inside in product(parts, repeat=count):
            text = f"( {' '.join(inside)} )"
            try:
                TruthTables("ab").of(read_unlabelled(text))
            except ValueError:
                continue
            taken.append(text)
    assert sorted(taken) == sorted(formulas)


@pytest.mark.parametrize("leaf", [Tree("word"), Tree("word", token="c"), Tree("word", token="a b")])
def test_a_leaf_that_is_not_a_word_of_formulas_is_named(leaf: Tree) -> None:
    with pytest.raises(ValueError, match=r"found the word .*; expected a, b, and, not, or"):
        TruthTables("ab").of(leaf)


def test_a_word_above_other_words_is_refused() -> None:
    with pytest.raises(ValueError, match="found the word 'a' above other words"):
        TruthTables("ab").of(Tree("phrase", read_unlabelled("( not b )").children, token="a"))


@pytest.mark.parametrize("variables", [["a", "and"], ["not"], ["or", "b"], ["a", "b", "a"]])
def test_variables_are_different_words_and_not_connectives(variables: list[str]) -> None:
    with pytest.raises(ValueError, match="variables must be different words, and no connectives"):
        TruthTables(variables)


def test_tables_of_thirty_variables_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="30 variables; a truth table takes at most 12"):
        TruthTables([f"x{i}" for i in range(30)])
