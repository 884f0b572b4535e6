"""The numeric decision: true, false or undecided, and why."""

import mpmath
import numpy as np
import pytest

from dgltree.equations.truth.evaluator import POINTS, Evaluator, Truth, apply, numeric_truth, variable_values
from dgltree.read.infix import read_equation, read_infix
from dgltree.read.infix_writer import write_equation
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree
from tasks.equations.fillers import BINARY, LITERALS, TRIGONOMETRIC, VARIABLES, fillers
from tasks.equations.generator.chunk import ChunkGenerator
from tasks.equations.generator.identities import TEXTBOOK, identities, read_lines
from tasks.equations.generator.presets import PAPER_TRAIN
from tasks.equations.generator.rewrite import LETTERS
from tasks.equations.leaves import with_leaves
from tasks.equations.words import NAMES

FIRST = dict(zip(LETTERS, VARIABLES, strict=False))


def truth(text: str) -> Truth:
    return Evaluator().truth(read_equation(text))


@pytest.mark.parametrize("identity", identities("paper"), ids=write_equation)
def test_every_identity_is_true_and_uses_published_literals_only(identity):
    assert Evaluator().truth(identity) is Truth.TRUE
    leaves = [node for side in identity for node in side.preorder() if not node.children]
    assert set(leaves) <= {*LITERALS, *LETTERS}


@pytest.mark.parametrize("line", read_lines(TEXTBOOK), ids=write_equation)
def test_every_textbook_line_has_one_blank_and_a_right_filler_in_the_list(line):
    assert sum(node == BLANK for side in line for node in side.preorder()) == 1
    evaluator = Evaluator()
    line = Equation(*(with_leaves(side, FIRST) for side in line))
    right = [filler for filler in fillers() if evaluator.truth(line.fill(filler)) is Truth.TRUE]
    assert right
    assert len(right) < 80


def test_there_are_twenty_textbook_lines():
    assert len(read_lines(TEXTBOOK)) == 20


@pytest.mark.parametrize(
    "text",
    [
        "sin(x)^2 + cos(x)^2 = 2",
        "sin(x)^2 - cos(x)^2 = 1",
        "sin(x)^2 + cos(y)^2 = 1",
        "sin(x)^3 + cos(x)^2 = 1",
        "sin(-x) = sin(x)",
        "cos(-x) = -cos(x)",
        "tan(x)*cot(y) = 1",
        "sin(2*x) = sin(x)*cos(x)",
        "(x + y)^2 = x^2 + y^2",
        "x - y = y - x",
        "x^y = y^x",
        "x/y = y/x",
        "1 + 1 = 3",
        "sin(pi) = 1",
        "x = y",
    ],
)
def test_wrong_variations_are_false(text):
    assert truth(text) is Truth.FALSE


@pytest.mark.parametrize("text", ["sqrt(x^2) = x", "sqrt(x*y) = sqrt(x)*sqrt(y)", "(x^y)^z = x^(y*z)"])
def test_what_holds_on_a_part_of_the_plane_only_is_false(text):
    assert truth(text) is Truth.FALSE


@pytest.mark.parametrize(
    "text", ["(x + y) - x - y = 0", "sin(pi)^2 = 0", "(x + 1)^3 - x^3 - 3*x^2 - 3*x - 1 = 0", "2^sin(pi) = 1"]
)
def test_cancellation_does_not_hide_that_an_equation_is_true(text):
    assert truth(text) is Truth.TRUE


@pytest.mark.parametrize("text", ["x + 0.000001*y = x", "x + y/10^5 = x", "(1 + 0.000001)^2 = 1"])
def test_a_small_term_is_not_taken_for_rounding(text):
    assert truth(text) is Truth.FALSE


@pytest.mark.parametrize(
    "text",
    [
        "tan(pi/2) = tan(pi/2)",
        "cot(0) = 1",
        "0^-1 = 0^-1",
        "0^0 = 1",
        "x/0 = x/0",
        "10^10*10^10 + x = 10^10*10^10",
        "1 + x*0.000001^2*0.000001 = 1",
        "10^10^10 = 10^10^10",
        "sqrt(cos(pi)) = sqrt(-1)",
        "1/(x - x) = 1/(x - x)",
        "0^x = 0^x",
    ],
)
def test_poles_overflow_and_branch_cuts_are_undecided(text):
    assert truth(text) is Truth.UNDECIDED


def test_the_values_of_a_variable_depend_on_its_name_only_and_lie_in_all_quadrants():
    assert (variable_values("x") == variable_values("x")).all()
    for name in "xyzw":
        quadrants = {(value.real > 0, value.imag > 0) for value in variable_values(name)}
        assert len(quadrants) == 4
    assert len({complex(value) for name in "xyzw" for value in variable_values(name)}) == 4 * POINTS


@pytest.mark.parametrize(
    "text", ["Mul(x, y, z) = x", "_ = x", "oo = x", "nan = x", "10^999 = 1e999", "Add(x, y, z) = x"]
)
def test_what_has_no_value_is_refused_by_name(text):
    with pytest.raises(ValueError, match=r"no (numeric )?value"):
        truth(text)


@pytest.mark.parametrize(
    ("true", "false"),
    [
        ("cosh(x)^2 - sinh(x)^2 = 1", "cosh(x)^2 + sinh(x)^2 = 1"),
        ("tanh(x)*cosh(x) = sinh(x)", "tanh(x)*sinh(x) = cosh(x)"),
        ("coth(x)*tanh(x) = 1", "coth(x) = tanh(x)"),
        ("sech(x) = cosh(x)^-1", "sech(x) = csch(x)"),
        ("csch(-x) = -csch(x)", "csch(-x) = csch(x)"),
        ("exp(x + y) = exp(x)*exp(y)", "exp(x*y) = exp(x)*exp(y)"),
        ("exp(x) = e^x", "exp(x) = 2^x"),
        ("exp(log(x)) = x", "log(exp(3*x)) = 3*x"),  # the second for small imaginary parts only
        ("log(x, y)*log(y) = log(x)", "log(x*y) = log(x) + log(y)"),
        ("sinh(x) + cosh(x) = exp(x)", "sinh(2*x) = sinh(x)*cosh(x)"),
    ],
)
def test_hyperbolic_functions_exponentials_and_logarithms(true: str, false: str):
    assert (truth(true), truth(false)) == (Truth.TRUE, Truth.FALSE)


def test_what_cannot_be_evaluated_is_undecided_to_those_who_ask_for_words():
    assert str(numeric_truth(read_equation("oo = x"))) == "undecided"
    assert str(numeric_truth(read_equation("sin(-x) = -sin(x)"))) == "holds"
    assert str(numeric_truth(read_equation("sin(-x) = sin(x)"))) == "does not hold"


def test_a_deep_chain_is_evaluated_without_recursion():
    tree = read_infix("x")
    for _ in range(20_000):
        tree = Tree("Mul", (Tree("NegativeOne", token="-1"), tree))
    assert Evaluator().truth(Equation(tree, read_infix("x"))) is Truth.TRUE


@pytest.mark.parametrize("function", [*TRIGONOMETRIC, *BINARY])
def test_values_of_many_nodes_are_those_of_each_alone(function: str):
    """Whatever stands in the other rows: a vanishing value, one that is out of range, or an error nearly as large."""
    texts = ["x", "0", "10^10*x", "x/10^10", "sin(pi)", "tan(pi/2)", "x + 10^5 - x", "sin(pi)*10^5*10^5", "y^x"]
    evaluator = Evaluator()
    second = [read_infix("-2")] if function in BINARY else []
    with np.errstate(all="ignore"):
        values = [evaluator.value(read_infix(text)) for text in texts]
        values.append((values[0][0] * 1e-3, values[0][1] * 1e-3, np.full(POINTS, 1e-2)))
        others = [evaluator.value(tree) for tree in second]
        alone = [apply(function, [value, *others]) for value in values]
        together = apply(function, [tuple(map(np.stack, zip(*values, strict=True))), *others])
    for row, expected in enumerate(alone):
        for found, part in zip(together, expected, strict=True):
            np.testing.assert_array_equal(found[row], part)


def test_decisions_agree_with_fifty_digits_at_other_points():
    made = ChunkGenerator(PAPER_TRAIN.scaled(120).quotas(), "train", "fifty digits").run()
    with mpmath.workdps(50):
        for one in made:
            assert exact_truth(one.equation) == bool(one.label), one.text


def exact_truth(equation: Equation) -> bool:
    """Whether both sides agree to 25 digits of 50 at ten random complex points."""
    random = mpmath.mpf(2) ** mpmath.mpf("0.5")
    for _ in range(10):
        point = {}
        for letter in NAMES:
            random = (random * mpmath.mpf("997.77")) % 1
            size = mpmath.mpf("0.5") + random
            random = (random * mpmath.mpf("997.77")) % 1
            point[letter] = size * mpmath.expjpi(2 * random)
        left, right = (
            side.fold(lambda node, children, point=point: high_precision(node, children, point)) for side in equation
        )
        if abs(left - right) > mpmath.mpf(10) ** -25 * (1 + abs(left) + abs(right)):
            return False
    return True


def high_precision(node: Tree, children: list[mpmath.mpc], point: dict[Tree, mpmath.mpc]) -> mpmath.mpc:
    if not children:
        if node.function == "Pi":
            return mpmath.mpc(mpmath.pi)
        top, _, bottom = (node.token or "").partition("/")
        return point[node] if node in point else mpmath.mpc(mpmath.mpf(top) / mpmath.mpf(bottom or 1))
    if node.function == "Add":
        return children[0] + children[1]
    if node.function == "Mul":
        return children[0] * children[1]
    if node.function == "Pow":
        base, exponent = children
        whole = mpmath.nint(exponent.real)
        close = abs(exponent - whole) < mpmath.mpf(10) ** -40
        return mpmath.power(base, int(whole)) if close else mpmath.exp(exponent * mpmath.log(base))
    return getattr(mpmath, node.function)(children[0])


def test_an_exact_negative_number_has_a_logarithm() -> None:
    """Its sign is sure; that of the imaginary part of what is rounded is not."""
    assert numeric_truth(read_equation("exp(log(-2)) = -2")) is Truth.TRUE
    assert numeric_truth(read_equation("sqrt(-4)^2 = -4")) is Truth.TRUE
    assert numeric_truth(read_equation("log(-pi*1) = log(-pi)")) is Truth.UNDECIDED
