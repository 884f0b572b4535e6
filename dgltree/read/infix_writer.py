"""Trees to infix text, without needless brackets: the way back of infix.py. Iterative and linear."""

from collections.abc import Callable, Sequence

from dgltree.read.notation import CONSTANTS, EXP1, FRACTION, HALF, MINUS_ONE, NUMBERS, is_name, leaf_text
from dgltree.read.text import check_unfolded
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

SUM, PRODUCT, SIGNED, TOWER, ATOM, BRACKETED = range(6)
"""The rules of the grammar in infix.py, from loose to tight; no rule is BRACKETED."""

TextPiece = str | tuple[Tree, int]
"""Text, or a tree with the loosest rule that needs no brackets at its place."""


def write_infix(tree: Tree) -> str:
    """The text that :func:`dgltree.read_infix` reads as an equal tree, without needless brackets.

    Examples:
        >>> import dgltree
        >>> dgltree.write_infix(dgltree.read_infix("((sin(x))^2) + 3"))
        'sin(x)^2 + 3'

    A tree with functions or arities that ``FUNCTIONS`` lacks needs ``functions=None`` there. Raises ``ValueError``
    naming the node that infix cannot say: a leaf that no text reads as, an inner node with a token, value or label, a
    function whose name is not a name.
    """
    return text_of(tree, phrase)


def text_of(tree: Tree, phrase: Callable[[Tree], tuple[int, Sequence[TextPiece]]]) -> str:
    """The text of a tree; ``phrase`` gives the rule and the parts of a node. Brackets are written only where needed."""
    check_unfolded(tree)
    parts: list[str] = []
    stack: list[TextPiece] = [(tree, SUM)]
    while stack:
        piece = stack.pop()
        if isinstance(piece, str):
            parts.append(piece)
        else:
            rule, pieces = phrase(piece[0])
            stack.extend(reversed(pieces if rule >= piece[1] else ["(", *pieces, ")"]))
    return "".join(parts)


def write_equation(equation: Equation) -> str:
    """``left = right``, each side written by :func:`write_infix`.

    Examples:
        >>> import dgltree
        >>> dgltree.write_equation(dgltree.read_equation("(x) + _ = 2*x"))
        'x + _ = 2*x'
    """
    return f"{write_infix(equation.left)} = {write_infix(equation.right)}"


def phrase(node: Tree) -> tuple[int, Sequence[TextPiece]]:
    """The rule that yields ``node``, and its parts: what the reader does, undone.

    A part is text, or a tree below ``node`` with the loosest rule that needs no brackets at its place. Raises
    ``ValueError`` as :func:`write_infix` does.
    """
    if not node.children:
        text = leaf_text(node)
        if "/" in text:
            return PRODUCT, [text]
        is_negative = node.function in NUMBERS and text[0] == "-"
        return SIGNED if is_negative else ATOM, [text]
    if pair := binary(node, "Add"):
        a, b = pair
        negated = binary(b, "Mul")
        if negated and negated[0] == MINUS_ONE:
            return SUM, [(a, SUM), " - ", (negated[1], PRODUCT)]
        return SUM, [(a, SUM), " + ", (b, PRODUCT)]
    if pair := binary(node, "Mul"):
        a, b = pair
        inverse = binary(b, "Pow")
        # between two integers a slash would make one Rational
        if inverse and inverse[1] == MINUS_ONE and not FRACTION.fullmatch(f"{a.token}/{inverse[0].token}"):
            return PRODUCT, [(a, PRODUCT), "/", (inverse[0], SIGNED)]
        if a == MINUS_ONE:  # before a bare number a minus would be its sign
            return SIGNED, ["-", (b, BRACKETED if b.function in NUMBERS else SIGNED)]
        return PRODUCT, [(a, PRODUCT), "*", (b, SIGNED)]
    if pair := binary(node, "Pow"):
        a, b = pair
        return (ATOM, ["sqrt(", (a, SUM), ")"]) if b == HALF else (TOWER, [(a, ATOM), "^", (b, SIGNED)])
    return ATOM, call_pieces(node)


def binary(node: Tree, operator: str) -> tuple[Tree, ...]:
    """The children of a binary ``operator`` node that says no more than that, else nothing."""
    plain = node.function == operator and len(node.children) == 2 and node.fields == (operator, None, None, None)
    return node.children if plain else ()


def call_pieces(node: Tree) -> list[TextPiece]:
    """``f(x, y)`` in parts. ``ValueError`` for a node that is not a call that :mod:`dgltree.read.infix` reads."""
    name = node.function
    arguments = node.children
    if node.fields != (name, None, None, None):
        raise ValueError(f"infix cannot write an inner node with a token, value or label: {node!r}")
    if name in CONSTANTS or not is_name(name):
        raise ValueError(f"infix cannot write a function named {name!r}: {node!r}")
    if len(arguments) == 1 and name in ("log", "sqrt"):
        raise ValueError(f"infix cannot write {node!r}, because it reads {name} with one argument as another tree")
    if name == "log" and arguments[1:] == (EXP1,):
        arguments = arguments[:1]
    pieces: list[TextPiece] = [f"{name}("]
    for argument in arguments:
        pieces += [(argument, SUM), ", "]
    return [*pieces[:-1], ")"]
