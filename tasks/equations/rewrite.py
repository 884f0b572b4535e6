"""True changes of a true equation: identities as rewrite rules, substitution, one operation on both sides."""

from collections import defaultdict
from pathlib import Path
from random import Random

from dgltree.equation import Equation
from dgltree.read.infix import read_equation
from dgltree.read.text import read_text
from dgltree.tree import Tree
from tasks.equations.fillers import BINARY, CONSTANTS, LITERALS, TRIGONOMETRIC, literal
from tasks.equations.leaves import variables, with_leaves
from tasks.equations.places import Places

IDENTITIES = Path(__file__).with_name("identities.txt")
TEXTBOOK = Path(__file__).with_name("textbook.txt")
LETTERS = tuple(Tree("Symbol", token=name) for name in "xyzw")
"""The variables of equations while they grow."""
WIDENING = 0.08  # share of rewrites by a rule whose pattern is a bare variable, such as x -> x + 0
LITERAL = (
    0.15  # chance to rewrite a literal where one was met: most nodes are -1 and 2, and 2 = sec(pi/3) is seldom wanted
)
CONCRETE = 0.7  # share of constants that are not substituted for a variable after all
TRIES = 12


def read_lines(path: Path) -> list[Equation]:
    """The equations of a file, one a line; empty lines and lines that begin with # say nothing."""
    lines = (line.strip() for line in read_text(path).splitlines())
    return [read_equation(line) for line in lines if line and not line.startswith("#")]


class Rules:
    """Every identity in both directions, found by what the pattern begins with."""

    def __init__(self, identities: list[Equation]) -> None:
        self._wide: list[Equation] = []
        self._by_start: dict[tuple[str, str | None], list[Equation]] = defaultdict(list)
        for identity in identities:
            for rule in (identity, Equation(identity.right, identity.left)):
                pattern = rule.left
                if pattern.function == "Symbol":
                    self._wide.append(rule)
                else:
                    self._by_start[pattern.function, pattern.token].append(rule)

    def rewrite(self, equation: Tree, random: Random) -> Tree | None:
        """``equation`` with one random node rewritten by a random rule that fits, or None if none was found."""
        places = Places(equation)
        wide = random.random() < WIDENING
        for _ in range(TRIES):
            place = random.randrange(1, len(places.nodes))
            node = places.nodes[place]
            rules = self._wide if wide else self._by_start.get((node.function, node.token))
            if not rules or (not node.children and random.random() > LITERAL):
                continue
            pattern, result = random.choice(rules)
            bound = match(pattern, node)
            if bound is None:
                continue
            for variable in variables(result):
                if variable not in bound:
                    bound[variable] = random.choice(places.nodes[1:]) if random.random() < 0.5 else small(random)
            return places.replaced(place, with_leaves(result, bound))
        return None


def match(pattern: Tree, tree: Tree) -> dict[Tree, Tree] | None:
    """What the variables of ``pattern`` stand for if ``tree`` is an instance of it, else None."""
    bound: dict[Tree, Tree] = {}
    pairs = [(pattern, tree)]
    while pairs:
        p, t = pairs.pop()
        if p.function == "Symbol":
            if bound.setdefault(p, t) != t:
                return None
        elif p.function != t.function or p.token != t.token or len(p.children) != len(t.children):
            return None
        else:
            pairs.extend(zip(p.children, t.children, strict=True))
    return bound


def small(random: Random) -> Tree:
    """A random leaf or expression of depth 1."""
    return leaf(random) if random.random() < 0.5 else shallow(random)


def leaf(random: Random) -> Tree:
    """A random variable, constant of the published fillers, or other literal."""
    return random.choice(LETTERS if random.random() < 0.6 else CONSTANTS if random.random() < 0.9 else LITERALS)


def shallow(random: Random) -> Tree:
    """A random expression of depth 1."""
    if random.random() < 0.5:
        return Tree(random.choice(TRIGONOMETRIC), (leaf(random),))
    function = random.choice(BINARY)
    if function == "Pow" and random.random() < 0.7:
        return Tree("Pow", (leaf(random), literal(random.choice(("2", "2", "3", "-1", "1/2", "-2")))))
    if function == "Mul" and random.random() < 0.5:
        return Tree("Mul", (literal(random.choice(("-1", "-1", "2", "2", "3", "1/2"))), leaf(random)))
    return Tree(function, (leaf(random), leaf(random)))


def specialised(equation: Tree, random: Random) -> Tree | None:
    """``equation`` with one of its variables replaced everywhere by a small expression."""
    present = variables(equation)
    if not present:
        return None
    new = small(random)
    if random.random() < CONCRETE and not variables(new):
        new = Tree(random.choice(TRIGONOMETRIC), (random.choice(LETTERS),))
    return with_leaves(equation, {random.choice(present): new})


def operated(equation: Tree, random: Random) -> Tree:
    """The same added to both sides, both multiplied by the same, both squared, or the sides swapped."""
    left, right = equation.children
    way = random.randrange(4)
    if way == 0:
        left, right = right, left
    elif way == 1:
        left, right = (Tree("Pow", (side, literal("2"))) for side in (left, right))
    else:
        t = small(random)
        function = ("Add", "Mul")[way - 2]
        first = random.random() < 0.5
        left, right = (Tree(function, (t, side) if first else (side, t)) for side in (left, right))
    return Tree("=", (left, right))
