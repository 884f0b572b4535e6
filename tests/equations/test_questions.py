"""Solving, rearranging and rewriting: lines that were written before they were answered."""

import csv
import re
from pathlib import Path
from typing import Any

import mpmath
import pytest

from benchmarks.verdicts.mpmath_values import value
from dgltree import Tree, complete
from dgltree.equations.completion.result import Completion
from dgltree.equations.expressions.canonical_form import canonical
from dgltree.equations.expressions.variables import variables
from dgltree.equations.search.textbook_cost import textbook_cost
from dgltree.equations.typed import read_question, read_typed_expression


def lines(name: str) -> list[Any]:
    """A fourth of the lines of a file in every run, the others with ``-m slow``."""
    with (Path(__file__).parent / name).open(encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened, delimiter="\t", quoting=csv.QUOTE_NONE))
    marks = [() if place % 4 == 0 else (pytest.mark.slow,) for place in range(len(rows))]
    return [pytest.param(row, marks=mark, id=row["line"]) for row, mark in zip(rows, marks, strict=True)]


def same(a: Tree, b: Tree) -> bool:
    """Whether two expressions have one value at three points; the variable i is the imaginary unit."""
    names = sorted({*variables(a), *variables(b)})
    with mpmath.workdps(90):
        for k in range(3):
            point = {name: mpmath.mpf(k + 2) / (place + 7) for place, name in enumerate(names)}
            point["i"] = mpmath.mpc(0, 1)
            left, right = (value(tree, point, school=True) for tree in (a, b))
            if left is None or right is None or abs(left - right) > mpmath.mpf(10) ** -60:
                return False
    return True


@pytest.mark.parametrize("row", lines("solving.tsv"))
def test_all_solutions_are_the_first_lines(row: dict[str, str]) -> None:
    wanted = [read_typed_expression(text) for text in row["answers"].split(" ; ")]
    found = [filler.trees[0] for filler in complete(row["line"], top=5).fillers][: len(wanted)]
    assert len(found) == len(wanted)
    assert all(any(same(solution, tree) for tree in found) for solution in wanted)


OTHERWISE = {"12/18 = _": "2/3"}  # a fraction that the reader takes for a number


@pytest.mark.parametrize("row", lines("one_sided.tsv"))
def test_the_textbooks_form_is_in_three_and_no_restatement_before_it(row: dict[str, str]) -> None:
    found: Completion = complete(row["line"], top=3)
    asked, first = read_question(row["line"]).equation.left, found.fillers[0].trees[0]
    if row["line"] in OTHERWISE:
        assert str(found.fillers[0]) == OTHERWISE[row["line"]]
        return
    assert canonical(first) != canonical(asked) or textbook_cost(first) < textbook_cost(asked)
    forms = [canonical(filler.trees[0]) for filler in found.fillers]
    assert canonical(read_typed_expression(row["textbook"])) in forms


def test_a_form_that_is_asked_for_comes_alone_and_has_its_name() -> None:
    [filler] = complete("factor x^2 - 4").fillers
    assert (str(filler), filler.source) == ("(x - 2)*(x + 2)", "factored")
    [prime] = complete("factor x^2 + 1").fillers
    assert (str(prime), prime.source) == ("x^2 + 1", "factored")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x + 1 = 2, y = _", "there is no y in the equation; its variables are x"),
        ("3 = 2 => y = _", "there is no y in the equation; it has no variables"),
        ("x + _ = 2, x = _", "the blank of the equation is not x"),
        ("expand x = 2", "expand takes an expression, and this is an equation"),
        ("Factor _ + 2", "factor takes an expression with no blank"),
        ("simplify (x + ", "line 1, column 10: the '(' is never closed"),
        ("2x = , x = _", "line 1, column "),
        ("solve 2x + = 11", "line 1, column 12: unexpected '='"),
    ],
)
def test_what_is_no_question_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError) as refused:
        read_question(text)
    assert message in str(refused.value)


@pytest.mark.parametrize("between", [",", ";", " =>", " ⇒", r" \Rightarrow", r" \implies"])
def test_the_unknown_is_the_blank_in_all_its_places(between: str) -> None:
    found = read_question(f"x^2 = x + 2{between} x = ?")
    assert found.unknown == "x"
    assert found.equation == read_question("_^2 = _ + 2").equation


@pytest.mark.parametrize(
    "text", ["x + _ = 2", "2x + 3 = 11, x = _", "solve 2x + 3 = 11", "solve y = x h for h", "expand (x + 1)^3"]
)
def test_a_name_of_several_letters_is_one_in_each_kind_of_question(text: str) -> None:
    def renamed(tree: Tree, children: list[Tree]) -> Tree:
        return tree.replace(children=children, token="ab" if tree.token == "x" else tree.token)

    plain, named = read_question(text), read_question(re.sub(r"x(?!p)", "ab ", text), names=["ab"])
    assert list(named.equation) == [side.fold(renamed) for side in plain.equation]
    assert (named.form, named.unknown) == (plain.form, "ab" if plain.unknown == "x" else plain.unknown)


def test_a_variable_may_be_called_as_a_command() -> None:
    assert read_question("factor = 2*_").form == ""
