"""A user's variables and literals in a model's vocabulary, and back."""

import pytest
from helpers import random_tree
from hypothesis import given
from hypothesis import strategies as st

from dgltree import Equation, Tree, Vocabulary, batch, read_equation, read_infix, write_equation
from dgltree.equations.expressions.variables import variables
from dgltree.ranking.ranker import Names, model_variables, spell
from dgltree.read.notation import MINUS_ONE

FUNCTIONS = [("Symbol", 0), ("Integer", 0), ("Half", 0), ("NegativeOne", 0), ("Add", 2), ("Mul", 2), ("Pow", 2)]
VOCABULARY = Vocabulary(FUNCTIONS, ["var_0", "var_1", "var_2", "-1", "1", "2", "3", "1/2"])


def encoded(text: str) -> str:
    equation = read_equation(text)
    return write_equation(Equation(*map(Names(equation, VOCABULARY).encode, equation)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y + x = x + z", "var_0 + var_1 = var_1 + var_2"),  # by first appearance, left side first
        ("x = x", "var_0 = var_0"),
        ("x + var_0 = y", "var_1 + var_0 = var_2"),  # the model's own name stands for itself
        ("var_2 + x = var_0", "var_2 + var_1 = var_0"),
        ("var_7 = var_1", "var_0 = var_1"),  # a name that only looks like the model's
        ("2 = 3", "2 = 3"),
    ],
)
def test_variables_get_the_free_names_by_first_appearance(text: str, expected: str) -> None:
    assert encoded(text) == expected


@pytest.mark.parametrize("text", ["y + x = x*y", "x + var_0 = y", "var_1 + y = var_7", "var_2 = var_0", "x + y = _"])
def test_decoding_gives_the_users_names_back(text: str) -> None:
    equation = read_equation(text)
    names = Names(equation, VOCABULARY)
    assert Equation(*(names.decode(names.encode(side)) for side in equation)) == equation


def test_a_variable_that_the_equation_lacks_keeps_the_models_name() -> None:
    names = Names(read_equation("x = x"), VOCABULARY)
    assert names.decode(read_infix("var_0 + var_1")) == read_infix("x + var_1")


def test_further_variables_are_named_after_the_equations_own() -> None:
    names = Names(read_equation("y = _"), VOCABULARY, further=["x", "y", "z", "x"])
    assert names.to_model == {"y": "var_0", "x": "var_1", "z": "var_2"}
    assert names.present == {"y", "var_0"}


def test_as_many_variables_as_the_model_has_are_taken_and_one_more_is_refused() -> None:
    assert len(Names(read_equation("a + b = c"), VOCABULARY).to_model) == 3
    with pytest.raises(ValueError, match=r"4 variables \(a, b, c, d\); this model reads at most 3"):
        Names(read_equation("a + b = c + d"), VOCABULARY)
    with pytest.raises(ValueError, match="4 variables"):
        Names(read_equation("a + b = c"), VOCABULARY, further=["d"])


def test_model_variables_are_the_numbered_tokens_or_else_all_names() -> None:
    assert model_variables(VOCABULARY) == ["var_0", "var_1", "var_2"]
    own = Vocabulary([("Add", 2), ("Symbol", 0), ("pi", 0)], ["<unk>", "y", "1", "-1", "0.5", "1/2", "pi", "x_1"])
    assert model_variables(own) == ["y", "x_1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-2", Tree("Mul", (MINUS_ONE, Tree("Integer", token="2")))),
        ("-1/2", Tree("Mul", (MINUS_ONE, Tree("Half", token="1/2")))),
        ("2/3", read_infix("2*3^-1")),
        ("-2/3", Tree("Mul", (MINUS_ONE, read_infix("2*3^-1")))),
        ("1/2", Tree("Half", token="1/2")),  # known, and so kept
        ("-1", MINUS_ONE),
    ],
)
def test_literals_that_the_model_lacks_are_written_by_those_it_has(text: str, expected: Tree) -> None:
    assert spell(read_infix(text), VOCABULARY) == expected
    assert spell(Tree("Pow", (read_infix("x"), read_infix(text))), VOCABULARY).children[1] == expected
    batch([expected], VOCABULARY)


def test_a_half_is_spelled_like_any_fraction_where_the_model_lacks_it() -> None:
    without_half = Vocabulary(VOCABULARY.functions, [token for token in VOCABULARY.tokens if token != "1/2"])
    assert spell(read_infix("1/2"), without_half) == read_infix("1*2^-1")
    assert spell(read_infix("-1/2"), without_half) == Tree("Mul", (MINUS_ONE, read_infix("1*2^-1")))


@pytest.mark.parametrize("token", ["7", "abc", "1/0", "0.5", "1e999999999", "-" + "7" * 5000, "", None])
def test_a_literal_that_cannot_be_spelled_is_left_for_batching_to_refuse(token: str | None) -> None:
    tree = Tree("Add", (Tree("Integer", token=token), Tree("Symbol", token="var_0")))
    assert spell(tree, VOCABULARY) == tree
    if token is not None:
        with pytest.raises(ValueError, match=f"tree 1, node 2 in preorder: unknown token '{token}'"):
            batch([spell(tree, VOCABULARY)], VOCABULARY)


def test_a_tree_that_needs_no_new_name_is_not_built_anew() -> None:
    equation = read_equation("var_0 + 2 = var_1")
    names = Names(equation, VOCABULARY)
    assert all(names.encode(side) is side and names.decode(side) is side for side in equation)


@given(st.tuples(st.integers(0, 12), st.integers(1, 3), st.integers(0, 10**6)))
def test_variables_come_by_first_appearance_in_preorder(drawn: tuple[int, int, int]) -> None:
    renamed = {"var": "Symbol"}
    tree = random_tree(*drawn).fold(
        lambda node, below: node.replace(function=renamed.get(node.function, node.function), children=below)
    )
    appearing = [node.token for node in tree.preorder() if node.function == "Symbol"]
    assert variables(tree) == sorted(set(appearing), key=appearing.index)


def test_names_are_given_in_the_distinct_objects_of_a_shared_tree() -> None:
    def unfolded_to_2_60(name: str) -> Tree:
        tree = Tree("Symbol", token=name)
        for _ in range(60):
            tree = Tree("Add", (tree, tree))
        return tree

    tree = unfolded_to_2_60("x")
    names = Names(Equation(tree, tree), VOCABULARY)
    assert names.encode(tree) == unfolded_to_2_60("var_0")
    assert names.decode(names.encode(tree)) == tree
