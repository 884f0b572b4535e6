"""The file of equations: each holds with its answer, by an evaluation of its own, and the counts are as promised."""

import cmath
import math
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.school.problems import FILE, Problem, part_of, read_problems
from dgltree import BLANK, Tree
from dgltree.equations.expressions.variables import count_blanks
from tasks.equations.canonical import canonical_key
from tasks.equations.generator.identities import TEXTBOOK, read_lines

PROBLEMS = read_problems()
CALLS = {name: getattr(cmath, name) for name in ("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asinh", "acosh")}
CALLS |= {name: getattr(cmath, name) for name in ("asin", "acos", "atan", "atanh")}
CALLS |= {"csc": lambda z: 1 / cmath.sin(z), "sec": lambda z: 1 / cmath.cos(z), "cot": lambda z: 1 / cmath.tan(z)}
CALLS |= {"coth": lambda z: 1 / cmath.tanh(z), "csch": lambda z: 1 / cmath.sinh(z), "asec": lambda z: cmath.acos(1 / z)}


def number(tree: Tree, at: dict[str, complex], real: bool) -> complex:
    """The value at a point; ``ValueError`` where a part of it is not real and should be."""
    children = [number(child, at, real) for child in tree.children]
    match tree.function:
        case "Symbol":
            result = at[tree.token]
        case "Pi" | "Exp1":
            result = {"Pi": math.pi, "Exp1": math.e}[tree.function]
        case "Add":
            result = sum(children)
        case "Mul":
            result = math.prod(children)
        case "Pow":
            result = children[0] ** children[1]
        case "log":
            result = cmath.log(children[0]) / cmath.log(children[1])
        case "abs":
            result = abs(children[0])
        case _ if children:
            result = CALLS[tree.function](*children)
        case _:
            top, _, bottom = tree.token.partition("/")
            result = float(top) / float(bottom or 1)
    if not real:
        return result
    if abs(complex(result).imag) > 1e-13 * abs(result):
        raise ValueError("not real")
    return complex(result).real


def points(names: list[str]) -> Iterator[tuple[str, dict[str, complex]]]:
    """Complex, real and positive points."""
    source = random.Random(5)
    for _ in range(60):
        size = {name: source.uniform(0.1, 3) for name in names}
        yield "complex", {name: cmath.rect(size[name], source.uniform(-math.pi, math.pi)) for name in names}
        yield "real", {name: size[name] * source.choice((-1, 1)) for name in names}
        yield "positive", size


def domains(problem: Problem) -> list[str]:
    """Where the equation with its answer holds at every point that has a value, five of them at least."""
    filled = problem.equation.fill(problem.answer)
    names = sorted({node.token for side in filled for node in side.preorder() if node.function == "Symbol"})
    agree: dict[str, list[bool]] = {}
    for domain, at in points(names):
        try:
            left, right = (number(side, at, domain != "complex") for side in filled)
        except (ValueError, ZeroDivisionError, OverflowError):
            continue
        agree.setdefault(domain, []).append(abs(left - right) < 1e-8 * (1 + abs(left) + abs(right)))
    return [domain for domain, points in agree.items() if len(points) >= 5 and all(points)]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.text)
def test_holds_with_its_answer(problem):
    assert count_blanks(problem.equation) == 1
    assert domains(problem), f"{problem.text} with {problem.answer} holds nowhere"


def subexpressions(problem: Problem) -> set[Tree]:
    return {node for side in problem.equation for node in side.preorder()}


def test_counts():
    assert len(PROBLEMS) >= 200
    kinds = Counter(problem.kind for problem in PROBLEMS)
    assert len(kinds) >= 8 and min(kinds.values()) >= 10
    composed = sum(problem.answer.size >= 5 and problem.answer not in subexpressions(problem) for problem in PROBLEMS)
    assert composed >= 0.4 * len(PROBLEMS)
    numbers = sum(all(node.function != "Symbol" for node in problem.answer.preorder()) for problem in PROBLEMS)
    assert numbers <= 0.12 * len(PROBLEMS)
    assert sum(BLANK in problem.equation for problem in PROBLEMS) <= 0.03 * len(PROBLEMS)  # copying the other side


def test_no_two_are_equal_up_to_names_and_none_is_a_textbook_identity_of_the_generator():
    keys = [canonical_key(problem.equation) for problem in PROBLEMS]
    assert len(set(keys)) == len(keys)
    assert not set(keys) & {canonical_key(equation) for equation in read_lines(TEXTBOOK)}


def test_parts():
    tuned, reported = read_problems("tuned"), read_problems("reported")
    assert sorted(tuned + reported, key=PROBLEMS.index) == PROBLEMS
    assert min(len(tuned), len(reported)) >= 100
    assert part_of("x + _ = 1") == "reported" and part_of("x + _ = 3") == "tuned"


def test_errors(tmp_path: Path):
    with pytest.raises(ValueError, match="no part 'other'; there is tuned, reported, all"):
        read_problems("other")
    file = tmp_path / "equations.tsv"
    header = FILE.read_text().splitlines()[3]
    for lines, message in {
        "x\ty\n": "the first line is not the header",
        f"{header}\nkind\tx = 1\n": "line 2: 2 columns, not the 3",
        f"{header}\nkind\tx + = 1\tx\n": "line 2: line 1, column 5: unexpected '='",
        f"{header}\nkind\tx = 1\tx\n": "line 2: x = 1 has 0 blanks, not one",
    }.items():
        file.write_text(lines)
        with pytest.raises(ValueError, match=message):
            read_problems(path=file)
