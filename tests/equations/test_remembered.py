"""What is remembered is computed once, and forgotten when there is too much of it."""

import pytest

from dgltree import Tree, read_equation, read_infix
from dgltree.equations.expressions.written_form import Memo
from dgltree.equations.truth import evaluator
from dgltree.equations.truth.evaluator import Evaluator, Truth

MOST = 5


def sizes() -> tuple[Memo[Tree, int], list[Tree]]:
    """The sizes of trees, and those that were computed."""
    computed: list[Tree] = []

    def combine(node: Tree, below: list[int]) -> int:
        computed.append(node)
        return 1 + sum(below)

    return Memo(lambda node: node.children, combine, MOST), computed


def test_a_part_is_computed_once_whatever_tree_it_is_in() -> None:
    size, computed = sizes()
    inner = read_infix("sin(x)")
    assert [size(tree) for tree in (inner, inner, read_infix("sin(x) + sin(x)"), read_infix("sin(x)"))] == [2, 2, 5, 2]
    assert computed == [Tree("Symbol", token="x"), inner, read_infix("sin(x) + sin(x)")]


def test_all_is_forgotten_when_there_is_more_than_the_limit_and_then_remembered_again() -> None:
    size, computed = sizes()
    leaves = [Tree("Symbol", token=f"x{number}") for number in range(3 * MOST)]
    for number, leaf in enumerate(leaves, 1):
        size(leaf)
        assert (len(computed), len(size._known)) == (number, (number - 1) % (MOST + 1) + 1)
    size(leaves[-1])
    assert computed == leaves
    size(leaves[0])
    assert computed == [*leaves, leaves[0]]


def test_a_tree_of_more_parts_than_the_limit_has_its_answer() -> None:
    size, _ = sizes()
    deep = Tree("Symbol", token="x")
    for _ in range(10 * MOST):
        deep = Tree("sin", (deep,))
    assert size(deep) == deep.size
    assert size(deep.children[0]) == deep.size - 1
    assert len(size._known) == deep.size - 1


def test_values_of_subtrees_are_forgotten_when_there_are_more_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluator, "CACHED", 8)
    judge = Evaluator()
    for number in range(2, 12):
        right = read_equation(f"{number}*x + {number}*x = {2 * number}*x")
        assert judge.truth(right) is Truth.TRUE
        assert judge.truth(read_equation(f"{number}*x = {number + 1}*x")) is Truth.FALSE
        assert len(judge._by_id) <= 8 + 2 * sum(side.size for side in right)
        assert len(judge._values) <= len(judge._by_id)
