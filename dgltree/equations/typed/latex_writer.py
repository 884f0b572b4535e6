"""Trees to LaTeX: ``\\frac{\\sin^{2}(x)}{2}``, without needless brackets. ``read_typed`` is the way back."""

import re
from collections.abc import Sequence

from dgltree.equations.typed.spelling import GREEK_COMMANDS, GREEK_LETTERS, function_named
from dgltree.read.functions import RECORDS
from dgltree.read.infix_writer import (
    ATOM,
    BRACKETED,
    PRODUCT,
    SIGNED,
    SUM,
    TOWER,
    TextPiece,
    binary,
    call_pieces,
    text_of,
)
from dgltree.read.notation import EXP1, FRACTION, HALF, MINUS_ONE, NUMBERS, leaf_text
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree

COMMANDS = {record.name: record.latex for record in RECORDS if record.latex and "#" not in record.latex}
"""The functions that LaTeX, or mathematicians, spell in their own way."""
AROUND = {record.name: re.split(r"#[12]", record.latex) for record in RECORDS if "#" in record.latex}
"""The text around the arguments of functions that have no name in LaTeX."""
CONSTANTS = {"pi": "\\pi", "oo": "\\infty", "nan": "\\mathrm{nan}", "_": "\\square"}
NAME = re.compile(r"([^\W_]+?)(?:_([^\W_]+))?")
ROOT = "sqrt"
POSITIVE = re.compile("[0-9]+")


def write_latex(tree: Tree) -> str:
    """LaTeX that :func:`dgltree.equations.typed.read_typed_expression` reads as an equal tree, no needless brackets.

    Three things come back in another way: e^x as exp(x), a variable ``θ`` as ``theta``, and a float at the end of the
    text without a dot after it. Functions that ``FUNCTIONS`` lacks are written and not read. Raises ``ValueError``
    naming the node that no notation can say, as :func:`dgltree.read.infix_writer.write_infix` does.
    """
    return text_of(tree, _phrase)


def write_latex_equation(equation: Equation) -> str:
    """``left = right``, each side written by :func:`write_latex`."""
    return f"{write_latex(equation.left)} = {write_latex(equation.right)}"


def _phrase(node: Tree) -> tuple[int, Sequence[TextPiece]]:
    """The rule that yields ``node``, and its parts, as infix_writer has them."""
    if not node.children:
        return _leaf(node)
    if terms := binary(node, "Add"):
        a, b = terms
        negated = binary(b, "Mul")
        if negated and negated[0] == MINUS_ONE:
            return SUM, [(a, SUM), " - ", _unsigned(negated[1], PRODUCT)]
        return SUM, [(a, SUM), " + ", _unsigned(b, PRODUCT)]
    if factors := binary(node, "Mul"):
        return _product(*factors)
    if power := binary(node, "Pow"):
        return _power(*power)
    return _function(node)


def _leaf(node: Tree) -> tuple[int, list[TextPiece]]:
    text = leaf_text(node)
    if node.function in NUMBERS:
        sign, number = ("-", text[1:]) if text[0] == "-" else ("", text)
        if "/" in number:
            number = "\\frac{{{}}}{{{}}}".format(*number.split("/"))
        return (SIGNED if sign else TOWER if "/" in text else ATOM), [sign + number]
    if node.function == BLANK.function:
        return ATOM, ["\\square" + (f"_{{{text[1:]}}}" if node.token else "")]
    return ATOM, [CONSTANTS.get(text) or (_variable(text) if node.function == "Symbol" else text)]


def _variable(name: str) -> str:
    found = NAME.fullmatch(name)
    if found is None or function_named(found[1]):
        return "\\mathrm{{{}}}".format(name.replace("_", "\\_"))
    stem, below = found.groups()
    stem = GREEK_LETTERS.get(stem, stem)
    shown = f"\\{stem}" if stem in GREEK_COMMANDS else stem if len(stem) == 1 else f"\\mathrm{{{stem}}}"
    return f"{shown}_{{{below}}}" if below else shown


def _unsigned(node: Tree, rule: int) -> TextPiece:
    """``node`` after a sign: with brackets if it begins with a minus."""
    return node, BRACKETED if _begins_with_minus(node) else rule


def _begins_with_minus(node: Tree) -> bool:
    while True:
        factors = binary(node, "Mul")
        if not factors or _is_fraction(*factors):
            return node.function in NUMBERS and (node.token or "").startswith("-")
        if factors[0] == MINUS_ONE:
            return True
        node = factors[0]


def _is_fraction(a: Tree, b: Tree) -> bool:
    """Whether a * b is written as one: two integers would be read as one number."""
    inverse = binary(b, "Pow")
    return bool(inverse) and inverse[1] == MINUS_ONE and not FRACTION.fullmatch(f"{a.token}/{inverse[0].token}")


def _product(a: Tree, b: Tree) -> tuple[int, list[TextPiece]]:
    if _is_fraction(a, b):
        return TOWER, ["\\frac{", (a, SUM), "}{", (b.children[0], SUM), "}"]
    if a == MINUS_ONE:  # before a bare number a minus would be its sign
        return SIGNED, ["-", (b, BRACKETED if b.function in NUMBERS else SIGNED)]
    factors = binary(a, "Mul")
    sign = " " if _stands_behind(factors[1] if factors else a, b) else " \\cdot "
    whole = a.function in NUMBERS and POSITIVE.fullmatch(a.token or "")
    if sign == " " and (binary(_base(b), "Add") or (whole and b.function == "Symbol")):
        sign = ""
    return PRODUCT, [(a, PRODUCT), sign, _unsigned(b, SIGNED)]


def _stands_behind(before: Tree, node: Tree) -> bool:
    """Whether the factor ``node`` needs no dot before it: a variable, a function, or a power of one.

    A sum needs none after a number or another sum; after a variable it would look like an argument.
    """
    node = _base(node)
    if not node.children:
        return node.function in ("Symbol", "Pi") or (node.function == BLANK.function != before.function)
    if binary(node, "Add"):
        return bool(binary(before, "Add")) or before.function in NUMBERS
    return node.function in COMMANDS or node.function in ("exp", "abs", "log", ROOT)


def _base(node: Tree) -> Tree:
    """The base of a power."""
    while power := binary(node, "Pow"):
        if power[1] == HALF or _degree(power[1]):
            return Tree(ROOT, power)
        node = power[0]
    return node


def _degree(exponent: Tree) -> str | None:
    """``3`` if a power is a cube root, and so on."""
    degree = (exponent.token or "").removeprefix("1/")
    return degree if exponent.function == "Rational" and POSITIVE.fullmatch(degree) else None


def _power(a: Tree, b: Tree) -> tuple[int, list[TextPiece]]:
    if b == HALF:
        return ATOM, ["\\sqrt{", (a, SUM), "}"]
    if degree := _degree(b):
        return ATOM, [f"\\sqrt[{degree}]{{", (a, SUM), "}"]
    integer = b.function == "Integer" and POSITIVE.fullmatch(b.token or "")
    if integer and len(a.children) == 1 and a.function in COMMANDS and not a.token:
        name, *rest = _function(a)[1]
        return ATOM, [f"{str(name)[:-1]}^{{{b.token}}}(", *rest]
    return TOWER, [(a, ATOM), "^{", (b, SUM), "}"]


def _function(node: Tree) -> tuple[int, list[TextPiece]]:
    pieces = call_pieces(node)
    name = node.function
    arguments = node.children
    if name in AROUND and len(arguments) == len(AROUND[name]) - 1:
        first, *others = AROUND[name]
        around: list[TextPiece] = [first]
        for argument, behind in zip(arguments, others, strict=True):
            around += [(argument, SUM), behind]
        return TOWER if "^" in first else ATOM, around
    if name == "log" and len(arguments) == 2:
        base: list[TextPiece] = ["\\ln("] if arguments[1] == EXP1 else ["\\log_{", (arguments[1], SUM), "}("]
        return ATOM, [*base, (arguments[0], SUM), ")"]
    if name == "factorial" and len(arguments) == 1:
        return TOWER, [(arguments[0], BRACKETED if arguments[0].children else ATOM), "!"]
    shown = COMMANDS.get(name) or "\\operatorname{{{}}}".format(name.replace("_", "\\_"))
    return ATOM, [f"{shown}(", *pieces[1:]]
