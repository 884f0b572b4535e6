"""Trees to SymPy expressions and back, node for node: nothing is evaluated, reordered or parsed.

A SymPy sum or product may have any number of terms and becomes left-associative: Add(Add(x, y), z). The other way every
node is kept, so tree -> SymPy -> tree is the same tree; what SymPy cannot keep is refused.
"""

import re
from functools import reduce
from typing import TYPE_CHECKING, Any

from dgltree.read.functions import RECORDS
from dgltree.read.notation import CONSTANTS, EXP1, MINUS_ONE, OPERATORS, leaf_text, make_leaf, number
from dgltree.support.arguments import nearest
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree

if TYPE_CHECKING:
    import sympy

CHILDREN = {**dict.fromkeys(OPERATORS, 2), **{record.name: max(record.arities) for record in RECORDS}}
"""The SymPy classes that stand for functions, each with the number of children that its node has in a tree."""
del CHILDREN["sqrt"]  # no class: SymPy's sqrt makes a Pow, as infix does
CLASSES = {record.name: record.sympy for record in RECORDS if record.sympy}
"""SymPy's classes that have another name than the function."""
FUNCTION_OF = {name: function for function, name in CLASSES.items()}
EXPONENT = re.compile("[eE][+-]?0*([0-9]+)$")
LONGEST_EXPONENT = 4
"""Digits: SymPy computes powers of ten with every digit."""


def to_sympy(tree: Tree | Equation) -> "sympy.Basic":
    """The unevaluated expression of a tree, or the unevaluated ``sympy.Eq`` of an equation; a blank is ``Symbol("_")``.

    Raises ``ValueError`` naming the node that would not come back from SymPy as it was: a token, value or label on an
    inner node, an unknown function or number of children, a leaf that infix cannot write, a float such as ``0.70``.
    """
    import sympy

    if isinstance(tree, Equation):
        return sympy.Eq(to_sympy(tree.left), to_sympy(tree.right), evaluate=False)
    return tree.fold(_to_node)


def from_sympy(expr: "sympy.Basic") -> Tree | Equation:
    """The tree of an expression, or the equation of a ``sympy.Eq``; ``log(x)`` becomes log(x, e).

    Raises ``ValueError`` naming the part that no tree stands for, ``TypeError`` for what is not SymPy's.
    """
    import sympy

    if not isinstance(expr, sympy.Basic):
        raise TypeError(f"{expr!r} is not a SymPy expression")
    if isinstance(expr, sympy.Eq):
        return Equation(*map(_from_expression, expr.args))
    return _from_expression(expr)


def _to_node(node: Tree, children: list[Any]) -> Any:
    import sympy

    name = node.function
    if not children:
        return _to_leaf(node)
    if node.fields != (name, None, None, None):
        raise ValueError(f"SymPy cannot keep a token, value or label on an inner node: {node!r}")
    if name not in CHILDREN:
        raise ValueError(f"SymPy cannot keep the function {name!r} ({nearest(name, CHILDREN)}): {node!r}")
    if len(children) != CHILDREN[name]:
        raise ValueError(f"SymPy cannot keep {name} with {len(children)} children, only {CHILDREN[name]}: {node!r}")
    if name == "log" and node.children[1] == EXP1:
        children = children[:1]
    return getattr(sympy, CLASSES.get(name, name))(*children, evaluate=False)


def _to_leaf(leaf: Tree) -> Any:
    import sympy

    text = leaf_text(leaf)
    if leaf.function in (BLANK.function, "Symbol"):
        return sympy.Symbol(text)
    if text in CONSTANTS:
        return {"e": sympy.E, "pi": sympy.pi, "oo": sympy.oo, "nan": sympy.nan}[text]
    if leaf.function != "Float":
        return sympy.Rational(*map(int, text.split("/")))
    exponent = EXPONENT.search(text)
    if exponent and len(exponent[1]) > LONGEST_EXPONENT:
        raise ValueError(f"SymPy would take very long for the float {text!r:.60}: its exponent has too many digits")
    value = sympy.Float(text)
    if _float_text(value) != text:
        raise ValueError(f"SymPy keeps a float's value, not its text: {text!r} would become {_float_text(value)!r}")
    return value


def _from_expression(expr: Any) -> Tree:
    # SymPy's own walks recurse, and so does hashing an expression: hence a stack, and ids for keys
    trees: dict[int, Tree] = {}
    stack = [(expr, False)]
    while stack:
        node, expanded = stack.pop()
        if id(node) in trees:
            continue
        if expanded or not node.args:
            trees[id(node)] = _from_node(node, [trees[id(child)] for child in node.args])
        else:
            name = _function(node)
            if name not in CHILDREN:
                raise ValueError(f"there is no tree for SymPy's {name} ({nearest(name, CHILDREN)})")
            stack.append((node, True))
            stack.extend((child, False) for child in node.args)
    return trees[id(expr)]


def _from_node(expr: Any, children: list[Tree]) -> Tree:
    if not children:
        return _from_leaf(expr)
    name = _function(expr)
    if name in ("Add", "Mul"):
        return reduce(lambda left, right: Tree(name, (left, right)), children)
    if name == "log" and len(children) == 1:
        children = [*children, EXP1]
    if len(children) != CHILDREN[name]:
        raise ValueError(f"there is no tree for SymPy's {name} of {len(children)} arguments: {expr}")
    return Tree(name, children)


def _function(expr: Any) -> str:
    name = type(expr).__name__  # not isinstance: to SymPy a Pow with base e is an instance of exp
    return FUNCTION_OF.get(name, name)


def _from_leaf(expr: Any) -> Tree:
    import sympy

    constants = {sympy.E: "e", sympy.pi: "pi", sympy.oo: "oo", sympy.nan: "nan"}
    if expr in constants:
        return CONSTANTS[constants[expr]]
    if expr is sympy.S.NegativeInfinity:
        return Tree("Mul", (MINUS_ONE, CONSTANTS["oo"]))
    if isinstance(expr, sympy.Rational):
        return number(str(expr))
    if isinstance(expr, sympy.Float):
        return number(_float_text(expr))
    if type(expr) is not sympy.Symbol:
        raise ValueError(f"there is no leaf for SymPy's {type(expr).__name__} {expr}")
    leaf = make_leaf(expr.name) if expr.name.startswith("_") else Tree("Symbol", token=expr.name)
    leaf_text(leaf)  # raises for a symbol whose name is not a name
    return leaf


def _float_text(value: Any) -> str:
    """Python's shortest text for a float of SymPy's usual 53 bits, else as many digits as its precision holds."""
    import sympy

    double = float(value)
    return repr(double) if sympy.Float(double) == value else str(value)  # equal Floats have equal precision
