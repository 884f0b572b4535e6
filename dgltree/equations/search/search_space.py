"""Vocabulary of a search: the variables, numbers, functions and parts that its answer is likely made of."""

from typing import NamedTuple

from dgltree.equations.search.arithmetic import literal, value
from dgltree.equations.search.fit import BasisFunction
from dgltree.equations.search.operations import Operations
from dgltree.equations.search.points import Points
from dgltree.equations.search.table import Leaf
from dgltree.equations.search.written_operations import fraction
from dgltree.read.functions import BY_NAME, INVERSE, Use, names
from dgltree.read.notation import CONSTANTS, EXP1, HALF, MINUS_ONE
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

BLANK = "_"  # the function of every blank
EVERY = names(least=Use.COMMON)
_UNDONE_BY = {name: INVERSE[name] for name in EVERY if name in INVERSE} | {"log": "exp"}
MOST_PARTS, LARGEST_PART = 8, 60  # subexpressions, and nodes of one
CIRCULAR = {*names("circular")}


class SearchSpace(NamedTuple):
    """Of one equation, without its blanks."""

    variables: tuple[Tree, ...]
    numbers: tuple[Tree, ...]
    functions: frozenset[str]
    """With ``sqrt`` for a power of 1/2."""
    parts: tuple[Tree, ...]
    """Subexpressions, the smallest first."""
    powers: bool
    """Whether a power has a variable in its exponent."""

    def operations(self, every: bool) -> Operations:
        """Those of the equation and of their families; with ``every``, all functions that school has."""
        known = self.functions & BY_NAME.keys()
        used = {name for function in known for name in BY_NAME[function].relatives} | self.functions
        if "sqrt" in self.functions:
            used.add("sqrt")
        used |= set(EVERY) if every else set()
        return Operations(("neg", *sorted(used)))

    def leaves(self, points: Points) -> list[Leaf]:
        """The leaves of expressions, with their values at the points."""
        early = dict.fromkeys([*self.variables, *self.numbers, fraction(2), fraction(1)])
        if self.functions & CIRCULAR:
            early[CONSTANTS["pi"]] = None
        if {"exp", "log"} & self.functions or EXP1 in self.numbers:
            early[EXP1] = None
        late = dict.fromkeys([fraction(3), HALF, fraction(4), *self.parts])
        costs = {**dict.fromkeys(late, 2), **dict.fromkeys(early, 1)}
        exponents = {*self.numbers, fraction(2), fraction(3)} - {fraction(1), fraction(0)}
        if self.powers:
            exponents |= {*self.variables, *self.parts}
        leaves = []
        for tree, cost in sorted(costs.items(), key=lambda item: item[1]):
            values = value(tree, points, {})
            leaves.append(Leaf(tree, values + points.constant(0), cost, tree in exponents))
        return leaves

    def generators(self, points: Points) -> list[list[BasisFunction]]:
        """Sets of what sums and products are made of: the variables; variables and functions of them."""
        atoms = [part for part in self.parts if _is_atom(part)]
        partners = {name: BY_NAME[name].partner for name in EVERY if BY_NAME[name].partner in EVERY}
        atoms += [atom.replace(function=partners[atom.function]) for atom in atoms if atom.function in partners]
        atoms = list(dict.fromkeys(atoms))
        sets = [list(self.variables), atoms, [*self.variables, *atoms]] if atoms else [list(self.variables)]
        return [[BasisFunction(tree, value(tree, points, {})) for tree in trees] for trees in sets if trees]


def search_space(equation: Equation) -> SearchSpace:
    """Look through an equation."""
    nodes = [node for side in equation for node in side.distinct_preorder()]
    filled = {id(node) for node in nodes if node.function == BLANK}
    for side in equation:
        for node in side.distinct():
            if any(id(child) in filled for child in node.children):
                filled.add(id(node))
    leaves = [node for node in nodes if not node.children]
    variables = dict.fromkeys(leaf for leaf in leaves if leaf.function == "Symbol")
    numbers = dict.fromkeys(leaf for leaf in leaves if literal(leaf) is not None and leaf != MINUS_ONE)
    numbers |= dict.fromkeys(leaf for leaf in leaves if leaf.function in ("Pi", "Exp1"))
    functions = {node.function for node in nodes if node.children} - {"Add", "Mul", "Pow", "binomial"}
    powers = [node for node in nodes if node.function == "Pow"]
    if any(_is_half(node.children[1]) for node in powers):
        functions.add("sqrt")
    above = [node for node in nodes if any(id(child) in filled for child in node.children)]
    functions |= {_UNDONE_BY[node.function] for node in above if node.function in _UNDONE_BY}
    if any(node.function == "Pow" and id(node.children[1]) in filled for node in above):
        functions.add("log")
    inner = (node for node in nodes if node.children and node.size <= LARGEST_PART and id(node) not in filled)
    parts = dict.fromkeys(node for node in inner if not _is_sign(node))
    return SearchSpace(
        tuple(variables),
        tuple(numbers),
        frozenset(functions - {BLANK}),
        tuple(sorted(parts, key=lambda part: part.size)[:MOST_PARTS]),
        any(_has_variable(node.children[1]) or id(node.children[1]) in filled for node in powers),
    )


def _has_variable(tree: Tree) -> bool:
    return any(node.function == "Symbol" for node in tree.distinct())


def _is_half(tree: Tree) -> bool:
    number = literal(tree)
    return number is not None and number % 1 == 0.5


def _is_sign(node: Tree) -> bool:
    """The -y of x - y and the 1/y of x/y, which are no parts by themselves."""
    return MINUS_ONE in (node.children[0], node.children[-1])


def _is_atom(part: Tree) -> bool:
    return len(part.children) == 1 or part.function == "log" or _is_power(part)


def _is_power(part: Tree) -> bool:
    """With an exponent that is not a whole number."""
    return part.function == "Pow" and not float(literal(part.children[1]) or 0.5).is_integer()
