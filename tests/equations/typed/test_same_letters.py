"""One name for one letter, whatever its spelling."""

import unicodedata

import pytest

from dgltree import check, verify
from dgltree.equations.typed import read_question, read_typed, read_typed_expression
from dgltree.equations.typed.spelling import GREEK
from dgltree.trees.tree import Tree


def names(*trees: Tree) -> set[str]:
    return {leaf.token or "" for tree in trees for leaf in tree.distinct() if leaf.function == "Symbol"}


@pytest.mark.parametrize("letter", [name for name in GREEK if name not in ("pi", "omicron")])
def test_every_spelling_of_a_greek_letter_is_the_one_that_came_first(letter: str) -> None:
    sign = unicodedata.lookup(f"GREEK SMALL LETTER {'LAMDA' if letter == 'lambda' else letter.upper()}")
    spellings = [sign, f"\\{letter}", letter]
    for first in spellings:
        typed = read_typed(f"{first} + 2 {spellings[0]} + 3 {spellings[1]} = {spellings[2]}")
        assert names(*typed.equation) == {first.lstrip("\\")}
        for spelling in spellings:
            tree = read_typed_expression(f"3{spelling}", {first.lstrip("\\")})
            assert names(tree) == {first.lstrip("\\")}


def test_two_shapes_of_a_letter_in_one_question_are_two_letters() -> None:
    assert names(*read_typed(r"\phi + \varphi = 0").equation) == {"phi", "varphi"}
    assert names(read_typed_expression("φ + 1", {"phi"})) == names(read_typed_expression("ϕ + 1", {"phi"})) == {"phi"}


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (r"sin(2\theta) = _", "2sin(θ)cos(θ)"),
        (r"sin(2\theta) = _", "2 sin theta cos theta"),
        (r"\sigma^2 + σ^2 = _", "2sigma^2"),
        ("v_0 t + v_1 = _", "t v₀ + v1"),
        ("v₀ t = _", "v_{0}t"),
        (r"\omega r = _", "rω"),
        ("rω = _", r"\omega r"),
        ("sen(x)/cos(x) = _", "tg(x)"),
        ("asin(1) = _", "arcsen(1)"),
        ("sqrt(72) = _", "6 Wurzel(2)"),
        ("2 = _", "sqrt[3]{8}"),
    ],
)
def test_an_answer_may_spell_a_letter_or_a_function_in_another_way(question: str, answer: str) -> None:
    assert check(question, answer).mark.value == "right"


def test_an_unknown_may_be_spelled_in_another_way_than_in_its_equation() -> None:
    assert read_question(r"2\theta = 4, θ = _").unknown == "theta"
    assert str(verify(r"sin(\theta)^2 + cos(θ)^2 = 1")) == "holds everywhere (proved)"


@pytest.mark.parametrize(
    ("question", "answer"), [("x_1 + x = _", "x + x_2"), ("x1 + y = _", "x2 + y"), ("a b = _", "ab_1")]
)
def test_other_subscripts_are_other_variables(question: str, answer: str) -> None:
    assert check(question, answer).mark.value != "right"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Re(1+i) = 1", "the real part"),
        ("ln xy/z = 1", r"can mean ln\(xy\)/z or ln\(xy/z\)"),
        (r"x^\prime = 1", "a derivative is not part"),
    ],
)
def test_a_spelling_that_is_not_read_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_typed(text)
    assert read_typed("ln xy / z = 1").equation == read_typed("ln(xy)/z = 1").equation
