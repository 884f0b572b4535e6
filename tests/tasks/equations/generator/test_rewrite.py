"""Words, their places, and rules that rewrite them."""

from random import Random

import pytest

pytest.importorskip("pyarrow", reason="the train extra is not installed")

from dgltree.read.infix import read_equation, read_infix
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree
from tasks.equations.generator.places import Places
from tasks.equations.generator.rewrite import LETTERS, Rules, in_growing, match
from tasks.equations.leaves import with_leaves
from tasks.equations.words import NAMES, equation_word, tree, word


def in_words(text: str) -> Places:
    return Places(in_growing(read_equation(text)))


def in_letters(word_: bytes) -> Equation:
    places = Places(word_)
    names = dict(zip(NAMES, LETTERS, strict=False))
    return Equation(*(with_leaves(tree(side), names) for side in places.sides()))


def test_words_say_where_their_subtrees_end():
    equation = read_equation("sin(var_3)*(var_1 + 2) = var_0^-1 + var_1")
    places = Places(equation_word(equation))
    nodes = list(Tree("=", equation).preorder())
    assert [tree(places.at(place)) for place in range(1, len(nodes))] == nodes[1:]
    assert [places.children(place) for place in (0, 2, 3)] == [[1, 7], [3], []]
    assert Equation(*map(tree, places.sides())) == equation
    assert (places.depth, places.variables) == (equation.depth, [3, 1, 0])
    assert Places(equation_word(Equation(NAMES[0], NAMES[1]))).depth == 1


def test_a_replaced_place_leaves_the_rest():
    places = in_words("sin(x)*(x + 2) = y")
    for place in range(1, len(places.word)):
        assert places.replaced(place, places.at(place)) == places.word
    changed = places.replaced(places.word.index(word(read_infix("2"))), word(read_infix("sin(3)")))
    assert in_letters(changed) == read_equation("sin(x)*(x + sin(3)) = y")


def test_a_pattern_binds_a_variable_to_one_subtree_only():
    pattern = in_words("x*y + x = 0").sides()[0]
    bound = match(pattern, in_words("sin(z)*2 + sin(z) = z"), 1)
    assert bound == {0: word(read_infix("sin(var_2)")), 1: word(read_infix("2"))}
    assert match(pattern, in_words("sin(z)*2 + cos(z) = z"), 1) is None


def test_rules_rewrite_in_both_directions():
    rules = Rules([in_growing(read_equation("sin(x + pi) = -sin(x)"))])
    random = Random(1)

    def reached(text):
        words = [rules.rewrite(in_words(text), random, widening=0.1, literal=0.3) for _ in range(200)]
        return {in_letters(word) for word in words if word is not None}

    assert reached("sin(y^2 + pi) = z") == {read_equation("-sin(y^2) = z")}
    assert reached("-sin(y^2) = z") == {read_equation("sin(y^2 + pi) = z")}
