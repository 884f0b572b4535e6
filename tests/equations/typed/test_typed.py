import csv
import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from infix_cases import LEAVES, READINGS, trees

from dgltree.equations.typed import read_question, read_steps, read_typed, read_typed_expression
from dgltree.equations.typed.latex_writer import write_latex, write_latex_equation
from dgltree.equations.typed.reader import LOGARITHM
from dgltree.read.infix import read_equation
from dgltree.read.infix_writer import write_equation, write_infix
from dgltree.support.refusal import Refusal
from dgltree.trees.equation import BLANK, Equation, blank
from dgltree.trees.tree import Tree

LINES = Path(__file__).parent / "typed.tsv"
"""Lines that were written before they were read."""
READINGS_TABLE = Path(__file__).parent / "typed_readings.tsv"


def table(path):
    """The rows of a table of equations as somebody types them, and what is read or (after "refused: ") why not."""
    with path.open(encoding="utf-8", newline="") as opened:
        return [row[:2] for row in csv.reader(opened, delimiter="\t", quoting=csv.QUOTE_NONE)][1:]


REFUSED = "refused: "
ROWS = table(READINGS_TABLE)


def test_the_table_has_each_text_once():
    assert len({text for text, _ in ROWS}) == len(ROWS) >= 150


@pytest.mark.parametrize(("text", "written"), [row for row in ROWS if not row[1].startswith(REFUSED)])
def test_the_table_is_what_is_read(text, written):
    found = read_typed(text).equation
    assert write_equation(found) == written
    assert read_equation(written) == found or "_" in written


@pytest.mark.parametrize(("text", "words"), [row for row in ROWS if row[1].startswith(REFUSED)])
def test_the_table_is_what_is_refused(text, words):
    with pytest.raises(ValueError, match=r"^line 1, column \d+: ") as error:
        read_typed(text)
    assert words.removeprefix(REFUSED) in str(error.value)


@pytest.mark.parametrize(("line", "expected"), table(LINES))
def test_what_people_type_is_read_or_refused_by_its_name(line, expected):
    if expected.startswith(REFUSED):
        with pytest.raises(ValueError, match=re.escape(expected.removeprefix(REFUSED))):
            read_question(line)
    else:
        assert write_equation(read_question(line).equation) == write_equation(read_equation(expected))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("log(100) = _", True),
        (r"\log x = 2, x = _", True),
        ("LOG(x) = 1", True),
        ("logx = 1", True),
        ("ln(x) = 1", False),
        ("lg(x) = 1", False),
        ("log(8, 2) = 3", False),
        ("log_2 8 = ln x", False),
    ],
)
def test_a_bare_log_is_told_to_be_the_natural_one(text, told):
    assert read_question(text).notes == ((LOGARITHM,) if told else ())


EXP1 = Tree("Exp1", token="e")
NODES = [("Add", 2), ("Mul", 2), ("Pow", 2), ("log", 2), ("sin", 1), ("exp", 1), ("acsch", 1), ("abs", 1), ("Add", 3)]
NODES += [("Mul", 1), ("Pow", 1), ("factorial", 1), ("binomial", 2)]
NAMES = [Tree("Symbol", token=name) for name in ("x_1", "theta", "speed", "alpha_2", "x1", "v_max", "a_b_c", "i")]
PIECES = [
    "sin",
    "log_2",
    "\\frac",
    "\\sqrt",
    "{",
    "}",
    "(",
    ")",
    "|",
    "x",
    "2",
    "^",
    "_1",
    "=",
    "\\left(",
    "\\right)",
    " ",
]
EVERY = [*LEAVES, *NAMES, *map(blank, ("_1", "_2", "_"))]


def as_typed(tree):
    """The tree that a person means by what the writers make of ``tree``: e^x is exp(x), a lone blank has no name."""
    blanks = {node for node in tree.preorder() if node.function == "_"}

    def rebuild(node, children):
        if node.function == "Pow" and len(children) == 2 and children[0] == EXP1:
            return Tree("exp", children[1:])
        return BLANK if len(blanks) == 1 and node in blanks else node.replace(children=children)

    return tree.fold(rebuild)


def behind(tree):
    """``tree`` with something after it: at the end of a text a float loses its last dot."""
    return Tree("Add", (tree, NAMES[-1]))


@given(trees(NODES, EVERY))
def test_what_infix_writes_is_read_as_what_was_written(tree):
    tree = behind(tree)
    text = write_infix(tree)
    try:
        assert as_typed(read_typed_expression(text)) == as_typed(tree)
    except ValueError as error:
        assert re.search(r"\^-?1/\d", text) and "can mean" in str(error)  # x^1/2 has two readings


@given(trees(NODES, EVERY))
def test_what_latex_writes_is_read_as_what_was_written(tree):
    tree = behind(tree)
    assert as_typed(read_typed_expression(write_latex(tree))) == as_typed(tree)


@given(trees(NODES, EVERY), trees(NODES, EVERY))
def test_what_was_understood_is_written_in_latex_and_read_again(left, right):
    equation = Equation(behind(left), behind(right))
    found = read_typed(write_latex_equation(equation))
    assert read_typed(write_latex_equation(found.equation)) == found


OTHERWISE = {"__": "a blank", "_x": "two readings", "2.": "a sentence ends", "x^1/2": "two readings"}


@pytest.mark.parametrize("text", [text for text in READINGS if text not in OTHERWISE])
def test_strict_text_is_read_as_by_the_strict_reader(text):
    assert as_typed(read_typed_expression(text)) == as_typed(READINGS[text])


@given(st.text("xyabe0123.,+-*/^_?=()[]{}|\\$ '²½√π□\n") | st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_text_is_read_or_refused_with_its_place(text):
    for read in (read_typed, read_typed_expression):
        try:
            read(text)
        except ValueError as error:
            assert type(error) is Refusal
            assert re.match(r"line \d+, column \d+: [^\n]+\Z", str(error))


@pytest.mark.parametrize(
    ("text", "names", "written"),
    [
        ("x = 3", (), "x = 3"),
        ("x + ? = ___", ("_",), "x + _ = _"),
        ("_2 + x = _2", ("_",), "_ + x = _"),
        ("_2*x = _1 + _2", ("_2", "_1"), "_2*x = _1 + _2"),
        (r"\square_1 + \square_{2} = \_3", ("_1", "_2", "_3"), "_1 + _2 = _3"),
        ("□₁ + _ = 3", ("_1", "_"), "_1 + _ = 3"),
    ],
)
def test_blanks_have_names(text, names, written):
    found = read_typed(text)
    assert found.blanks == names
    assert write_equation(found.equation) == written
    leaves = [node for side in found.equation for node in side.preorder() if node.function == "_"]
    assert set(leaves) == set(map(blank, names))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: there is no '='; an equation is left = right"),
        ("x +\n ) = 2", "line 2, column 2: the ')' closes nothing"),
        ("2x =\n 3 *", "line 2, column 5: unexpected end of the text; expected a number, a name, '(' or '-'"),
        ("√(2 ×) = 3", "line 1, column 6: unexpected ')'; expected a number, a name, '(' or '-'"),
        ("3x = \\sin(x, 2)", "line 1, column 6: 'sin' takes 1 argument, not 2"),
        ("x^² = 3", "line 1, column 3: unexpected '^'; expected a number, a name, '(' or '-'"),
        ("x = (1, 2)", "line 1, column 7: unexpected ','; write a comma only between the arguments of a function"),
        ("x = g(1, 2)", "line 1, column 5: unknown function 'g' (nearest known: tg, lg)"),
        ("x = 3 | 2", "line 1, column 7: the '|' has no matching bracket"),
        ("x = \\left. 2", "line 1, column 5: '\\left.' is a bracket without a match"),
        ("log2x = 3", "line 1, column 1: 'log2x' can mean log(2*...) or log_2(...); write the one you mean"),
        ("sint = 3", "line 1, column 1: 'sint' can mean sin(t) or one name; write the one you mean"),
        ("f[x + 1] = 1", "line 1, column 1: 'f[x + 1]' can mean f*(x + 1) or the function f of x + 1; write the one"),
        ("y = |a|b + |c|d|e|", "line 1, column 5: '|a|b + |c|d|e|' can mean |a|*b + |c|d*|e| or |a*|b + |c|d|*e|;"),
        ("x＠2 = 1", "line 1, column 2: '＠' is not read; an equation is made of numbers, names, functions and"),
        ("ｘ＝1；y＝2", "line 1, column 4: ';' separates a system of equations, which is not supported"),
        ("x = \x00", "line 1, column 5: '\\x00' is not read; an equation is made of numbers, names, functions and"),
    ],
)
def test_a_refusal_says_where_what_and_what_instead(text, message):
    with pytest.raises(ValueError) as error:
        read_typed(text)
    assert str(error.value).startswith(message)


def test_an_expression_has_no_equals_sign():
    assert write_infix(read_typed_expression("2sin²x")) == "2*sin(x)^2"
    with pytest.raises(ValueError, match=r"^line 1, column 3: unexpected '='; write an expression without '='$"):
        read_typed_expression("x = 2")


@pytest.mark.parametrize(
    ("before", "middle", "behind", "depth"),
    [
        ("(", "x", ")", 0),
        ("{", "x", "}", 0),
        ("|", "x", "|", 1),
        ("\\left(", "x", "\\right)", 0),
        ("sin ", "x", "", 1),
        ("√", "x", "", 1),
        ("\\frac{1}{", "x", "}", 2),
        ("\\sqrt{1 + ", "x", "}", 2),
        ("x^{", "x", "}", 1),
        ("{1 \\over ", "x", "}", 2),
    ],
)
def test_deep_nesting_is_read(before, middle, behind, depth):
    n = 1500
    assert read_typed_expression(before * n + middle + behind * n).depth == n * depth


def test_very_many_brackets_are_read():
    n = 20_000
    assert read_typed_expression("(" * n + "x" + ")" * n) == Tree("Symbol", token="x")
    with pytest.raises(ValueError, match="the '\\(' is never closed"):
        read_typed_expression("(" * n + "x")


@pytest.mark.parametrize("text", ["x y" * 4000, "sin" * 5000, "tanh" * 5000 + "_", "ab" * 5000, "_" * 10**4 + "x"])
def test_long_texts_are_read_or_refused(text):
    with suppress(ValueError):
        read_typed(f"{text} = a + b")


PRETTY = [
    "2x + 3 = 7",
    "2(x + 1)^{2} = (x + 1)(x - 1)",
    "x \\cdot (x + 1) = x^{2} + \\square",
    "\\sin(2x) = 2 \\sin(x) \\cos(x)",
    "\\sin^{2}(x) + \\cos^{2}(x) = 1",
    "x = \\frac{-b + \\sqrt{b^{2} - 4a}}{2a}",
    "-\\frac{1}{2} x = -(-2)",
    "(\\frac{1}{2})^{x} = 2^{-x}",
    "e^{-x^{2}} = (e^{x})^{2}",
    "\\log_{2}(x) = \\frac{\\ln(x)}{\\ln(2)}",
    "\\sqrt[3]{x} = \\left|x\\right|",
    "\\operatorname{arsinh}(x) = \\arcsin(x)",
    "\\theta_{1} = \\mathrm{speed}_{0}",
    "\\square_{1} + \\square_{2} = 2 \\square_{1}",
    "2 \\cdot 3 = 2 \\pi",
    "x - (y + z) = x - y \\cdot (-2)",
    "\\binom{n}{k} = \\frac{n!}{k! \\cdot (n - k)!}",
]


@pytest.mark.parametrize("text", PRETTY)
def test_latex_is_pretty(text):
    assert write_latex_equation(read_typed(text).equation) == text


@pytest.mark.parametrize("tree", [Tree("Add"), Tree("Number", value=2.0), Tree("a b", NAMES[:1])])
def test_what_no_notation_can_say_is_refused_by_naming_the_node(tree):
    with pytest.raises(ValueError, match=re.escape(repr(tree))):
        write_latex(Tree("Add", (tree, NAMES[0])))


def test_a_deep_tree_is_written_in_latex():
    tree = NAMES[0]
    for _ in range(3000):
        tree = Tree("sin", (tree,))
    assert read_typed_expression(write_latex(tree)) == tree


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r"\item x + 1 = _", "x + 1 = _"),
        (r"\item[(a)] 3x = \underline{\qquad}", "3*x = _"),
        (r"\underline{\hspace{2cm}} + 2 = 5", "_ + 2 = 5"),
        (r"\rule[-1pt]{2cm}{0.4pt} + 1 = 4", "_ + 1 = 4"),
        (r"2x = \hrulefill", "2*x = _"),
    ],
)
def test_items_and_rules_of_sheets_are_read(text: str, read: str) -> None:
    assert write_equation(read_typed(text).equation) == read


def test_the_column_of_an_error_is_that_of_the_sheet() -> None:
    with pytest.raises(ValueError, match=r"line 1, column 34: unknown command '\\foo'"):
        read_typed(r"\item \underline{\hspace{2cm}} + \foo = 1")


def test_steps_of_a_sheet_are_read() -> None:
    found = [write_equation(typed.equation) for _, typed in read_steps(r"\item x + x = 2x = \underline{\qquad}")]
    assert found == ["x + x = 2*x", "2*x = _"]
