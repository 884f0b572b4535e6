"""Infix text to trees: ``sin(x)^2 + cos(x)^2 = 1``. The way back is infix_writer.py.

``+ * ^`` are binary, ``^`` alone right-associative. ``x - y`` is Add(x, Mul(-1, y)), ``x/y`` is Mul(x, Pow(y, -1)),
``-x`` is Mul(-1, x), ``sqrt(x)`` is Pow(x, Half), ``log(x)`` is log(x, e). ``-2`` and ``2/5`` are one literal each,
``-2^x`` is not: a sign binds more loosely than a power. The leaves are listed in ``notation.py``.

Lark's LALR parser is iterative and linear: 10^5 nested brackets are an ordinary text.
"""

import re
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal

from dgltree.read.notation import (
    CONSTANTS,
    DIGITS,
    EXP1,
    FRACTION,
    FUNCTIONS,
    HALF,
    MINUS_ONE,
    NAME,
    NUMBER,
    NUMBERS,
    OPERATORS,
    is_name,
    make_leaf,
    number,
)
from dgltree.read.text import error_at
from dgltree.support.arguments import nearest
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

if TYPE_CHECKING:
    from lark import Lark, Token
    from lark.exceptions import UnexpectedInput

# ---------------------------------------------------------------------------------------------------------------------
# Functions that are read in tables of trees, as SymPy and Mathematica spell them; neither judged nor searched.


def _spelled(arities: Collection[int], *names: str) -> dict[str, tuple[str, Collection[int]]]:
    """Return the first of some names and the numbers of arguments, by each of the names."""
    return dict.fromkeys(names, (names[0], arities))


SPECIAL_FUNCTIONS: Mapping[str, tuple[str, Collection[int]]] = {
    **_spelled((1,), "erf", "Erf"),
    **_spelled((1,), "erfc", "Erfc"),
    **_spelled((1,), "erfi", "Erfi"),
    **_spelled((1, 2), "gamma", "Gamma"),
    **_spelled((2,), "lowergamma"),
    **_spelled((2,), "uppergamma"),
    **_spelled((1,), "loggamma", "LogGamma"),
    **_spelled((1,), "digamma"),
    **_spelled((1, 2), "polygamma", "PolyGamma"),
    **_spelled((2, 3), "beta", "Beta"),
    **_spelled((1, 2), "zeta", "Zeta"),
    **_spelled((1, 2), "Li"),
    **_spelled((1,), "li", "LogIntegral"),
    **_spelled((1,), "Ei", "ExpIntegralEi"),
    **_spelled((2,), "expint", "ExpIntegralE"),
    **_spelled((1,), "E1"),
    **_spelled((1,), "Si", "SinIntegral"),
    **_spelled((1,), "Ci", "CosIntegral"),
    **_spelled((1,), "Shi", "SinhIntegral"),
    **_spelled((1,), "Chi", "CoshIntegral"),
    **_spelled((1,), "fresnels", "FresnelS"),
    **_spelled((1,), "fresnelc", "FresnelC"),
    **_spelled((2, 3), "polylog", "PolyLog"),
    **_spelled((1,), "dilog"),
    **_spelled((1, 2), "LambertW", "ProductLog"),
    **_spelled((2,), "besselj", "BesselJ"),
    **_spelled((2,), "bessely", "BesselY"),
    **_spelled((2,), "besseli", "BesselI"),
    **_spelled((2,), "besselk", "BesselK"),
    **_spelled((1,), "airyai", "AiryAi"),
    **_spelled((1,), "airybi", "AiryBi"),
    **_spelled((1,), "elliptic_k", "EllipticK"),
    **_spelled((1, 2), "elliptic_e", "EllipticE"),
    **_spelled((2,), "elliptic_f", "EllipticF"),
    **_spelled((2, 3), "elliptic_pi", "EllipticPi"),
    **_spelled((1,), "Heaviside", "HeavisideTheta"),
    **_spelled((1,), "sign", "Sign"),
}
"""The name in a tree and the numbers of arguments, by each spelling."""


GRAMMAR = rf"""
expression: sum
equation: sum "=" sum
?sum: product | sum "+" product -> add | sum "-" product -> subtract
?product: signed | product "*" signed -> multiply | product "/" signed -> divide
?signed: tower | "-" signed -> negate
?tower: atom | atom ("^" | "**") signed -> power
?atom: NUMBER | NAME -> name | NAME "(" arguments ")" -> call | "(" sum ")" -> bracket
arguments: sum ("," sum)*
NUMBER: /{NUMBER}/
NAME: /{NAME}/
%ignore /\s+/
"""

Value = Tree | str
"""The result of a rule. A bare number stays text until its neighbours are known: ``1`` may become ``-1`` or ``1/2``."""


def read_infix(
    text: str, functions: Mapping[str, Collection[int]] | None = FUNCTIONS, *, numbers: bool = False
) -> Tree:
    """The tree of one expression.

    Examples:
        >>> import dgltree
        >>> dgltree.read_infix("sin(x) + 3")
        Tree('Add', (Tree('sin', (Tree('Symbol', token='x'),)), Tree('Integer', token='3')))

    Args:
        text: the expression.
        functions: maps the name of each known function to the numbers of arguments it takes; ``None`` accepts any name
            with any number.
        numbers: whether leaves that are numbers carry a ``value`` instead of a token, as a cell with ``numbers=True``
            reads it: all of them, the -1 of ``x - y`` and the 1/2 of ``sqrt(x)`` too.

    Raises ``ValueError`` with line, column, what is there and what would be right, and for a number that float64 cannot
    hold, if it is to carry one.

    See also: :func:`dgltree.write_infix`; :func:`dgltree.equations.typed.read_typed` for what people type.
    """
    tree: Tree = build(text, "expression", functions, Builder, partial(error_at, text))
    return _with_values(tree) if numbers else tree


def read_table_infix(text: str) -> Tree:
    """Read an expression in a table of trees, which may have special functions, too.

    Without brackets behind it such a name is a variable. Errors as in :func:`read_infix`.
    """
    tree: Tree = build(text, "expression", FUNCTIONS, SpecialBuilder, partial(error_at, text))
    return tree


def read_equation(
    text: str, functions: Mapping[str, Collection[int]] | None = FUNCTIONS, *, numbers: bool = False
) -> Equation:
    """The two trees of ``left = right``; arguments and errors as in :func:`read_infix`.

    Examples:
        >>> import dgltree
        >>> dgltree.read_equation("x + _ = 3").right
        Tree('Integer', token='3')
    """
    equation: Equation = build(text, "equation", functions, Builder, partial(error_at, text))
    return Equation(*map(_with_values, equation)) if numbers else equation


def _with_values(tree: Tree) -> Tree:
    """The tree with numbers for leaves that are written as one."""

    def valued(node: Tree, children: list[Tree]) -> Tree:
        if children or node.function not in NUMBERS or node.token is None:
            return node.replace(children=children) if children else node
        try:
            return node.replace(token=None, value=float(Fraction(node.token)))
        except OverflowError:
            raise ValueError(f"the number {node.token:.20} is too large for a leaf's value, which is float64") from None

    return tree.fold(valued)


class _MeaningError(Exception):
    """A token that the grammar allows but its meaning does not."""

    def __init__(self, token: "Token", message: str) -> None:
        super().__init__(message)
        self.offset = token.start_pos or 0


def build(
    text: str,
    start: Literal["expression", "equation"],
    functions: Mapping[str, Collection[int]] | None,
    builder: "MakeBuilder",
    refusal: Callable[[int, str], ValueError],
) -> Any:
    """The tree that a builder's methods make of ``text``. ``refusal(offset, message)`` is the error that is raised."""
    from lark.exceptions import UnexpectedInput

    table = None if functions is None else tuple((name, tuple(arities)) for name, arities in functions.items())
    try:
        return _parser(table, builder).parse(text, start=start)
    except _MeaningError as error:
        raise refusal(error.offset, str(error)) from None
    except UnexpectedInput as error:
        raise refusal(*_syntax_error(text, start, error)) from None


@lru_cache(maxsize=8)  # a parser takes some 10 ms to build; a program reads with one or two tables of functions
def _parser(table: tuple[tuple[str, tuple[int, ...]], ...] | None, builder: "MakeBuilder") -> "Lark":
    from lark import Lark

    return Lark(
        GRAMMAR,
        parser="lalr",
        start=["expression", "equation"],
        transformer=builder(None if table is None else dict(table)),
        lexer_callbacks={"NUMBER": _checked_number, "NAME": _checked_name},
    )


def _checked_number(token: "Token") -> "Token":
    if len(token) > DIGITS:
        raise _MeaningError(token, f"a number of {len(token)} characters; at most {DIGITS} are read")
    return token


def _checked_name(token: "Token") -> "Token":
    if not is_name(token):
        raise _MeaningError(token, f"{str(token)!r} is not a name; a name is made of letters, digits and '_'")
    return token


class Builder:
    """One method for each rule of the grammar, from the values of its parts to its own."""

    def __init__(self, functions: Mapping[str, Collection[int]] | None) -> None:
        self.functions = functions
        self.known = {*OPERATORS, *(FUNCTIONS if functions is None else functions)}

    def expression(self, values: list[Value]) -> Tree:
        return _tree(values[0])

    bracket = expression

    def equation(self, values: list[Value]) -> Equation:
        return Equation(*map(_tree, values))

    def add(self, values: list[Value]) -> Tree:
        return _node("Add", *values)

    def subtract(self, values: list[Value]) -> Tree:
        left, right = values
        return _node("Add", left, _node("Mul", MINUS_ONE, right))

    def multiply(self, values: list[Value]) -> Tree:
        return _node("Mul", *values)

    def divide(self, values: list[Value]) -> Tree:
        left, right = values
        if isinstance(left, str) and isinstance(right, str) and FRACTION.fullmatch(f"{left}/{right}"):
            return number(f"{left}/{right}")
        return _node("Mul", left, _node("Pow", right, MINUS_ONE))

    def negate(self, values: list[Value]) -> Value:
        (value,) = values
        return f"-{value}" if isinstance(value, str) and value[0] != "-" else _node("Mul", MINUS_ONE, value)

    def power(self, values: list[Value]) -> Tree:
        return _node("Pow", *values)

    def arguments(self, values: list[Value]) -> list[Tree]:
        return [_tree(value) for value in values]

    def name(self, values: list["Token"]) -> Tree:
        (token,) = values
        name = str(token)
        if name in self.known:
            raise _MeaningError(token, f"{name!r} is a function, not a variable; write {name}(...)")
        return make_leaf(name)

    def call(self, values: tuple["Token", list[Tree]]) -> Tree:
        token, arguments = values
        name = str(token)
        product = f"for a product write {token}*(...)"
        if name in CONSTANTS:
            raise _MeaningError(token, f"{name!r} is {'the blank' if name == '_' else 'a constant'}; {product}")
        if self.functions is not None and name not in OPERATORS:
            if name not in self.functions:
                raise _MeaningError(token, f"unknown function {name!r} ({nearest(name, self.known)}); {product}")
            arities = self.functions[name]
            if len(arguments) not in arities:
                raise _MeaningError(token, f"{name!r} takes {_takes(arities)}, not {len(arguments)}")
        if len(arguments) == 1 and name == "sqrt":
            return _node("Pow", *arguments, HALF)
        if len(arguments) == 1 and name == "log":
            return _node("log", *arguments, EXP1)
        return Tree(name, arguments)


class SpecialBuilder(Builder):
    """A builder with the special functions, whose names are variables where no bracket follows."""

    def call(self, values: tuple["Token", list[Tree]]) -> Tree:
        token, arguments = values
        name, arities = SPECIAL_FUNCTIONS.get(str(token), ("", ()))
        if not name or (self.functions is not None and token in self.functions):
            return super().call(values)
        if len(arguments) not in arities:
            raise _MeaningError(token, f"{str(token)!r} takes {_takes(arities)}, not {len(arguments)}")
        return Tree(name, arguments)


def _takes(arities: Collection[int]) -> str:
    return f"{' or '.join(map(str, arities))} argument{'s' * (max(arities, default=0) != 1)}"


MakeBuilder = Callable[[Mapping[str, Collection[int]] | None], Builder]
"""A class of builders: it is called with the known functions."""


def _tree(value: Value) -> Tree:
    return number(str(value)) if isinstance(value, str) else value  # str() makes Lark's Token a plain text


def _node(function: str, *values: Value) -> Tree:
    return Tree(function, [_tree(value) for value in values])


def _syntax_error(text: str, start: str, error: "UnexpectedInput") -> tuple[int, str]:
    """Where Lark stopped; what is there, and what could have been there instead."""
    token = getattr(error, "token", None)
    if token is None:  # a character that begins nothing
        offset = error.pos_in_stream or 0
        found = text[offset]
    else:
        offset, found = (len(text.rstrip()), "") if token.type == "$END" else (token.start_pos, str(token))

    accepted = error.interactive_parser.accepts()
    operand = token is not None and token.type in ("NUMBER", "NAME", "LPAR")
    if found == "=" and start == "expression":
        message = "unexpected '=' in an expression; use read_equation for equations"
    elif found == "=" and "$END" in accepted:
        message = "unexpected second '='; write an equation as left = right"
    elif not found and "EQUAL" in accepted:
        message = "the text ends without '='; write an equation as left = right"
    elif operand:
        message = f"unexpected {found!r} with no operator before it; write {_joined(text[:offset], found)}"
    else:
        words = {"NUMBER": "a number, a name, '(' or '-'", "PLUS": "an operator", "EQUAL": "'='", "COMMA": "','"}
        words |= {"RPAR": "')'", "$END": "the end of the text"}
        expected = " or ".join(word for name, word in words.items() if name in accepted)
        message = f"unexpected {repr(found) if found else 'end of the text'}; expected {expected}"
    return offset, message


def _joined(before: str, found: str) -> str:
    """The probable meaning of two operands side by side."""
    left = re.findall(r"[\w.]+|\S", before.rstrip()[-80:])[-1]
    if left in FUNCTIONS:
        return f"{left}({found})"
    return "*".join("(...)" if side in "()" else side for side in (left, found))
