"""Random trees and the edge cases."""

import random

from dgltree import Tree, Vocabulary
from dgltree.cells import Cell

WIDE = 12
FUNCTIONS = [("sin", 1), ("neg", 1), ("add", 2), ("pow", 2), ("if", 3), ("call", 4), ("call", 5), ("call", 6)]
TOKENS = ["x", "y", "z", "1", "2", *(f"w{k}" for k in range(WIDE))]
VOCABULARY = Vocabulary([("var", 0), ("num", 0), *FUNCTIONS, ("call", WIDE)], TOKENS)
ANY = Vocabulary([("var", None), ("num", None), *dict.fromkeys((name, None) for name, _ in FUNCTIONS)], TOKENS)


def leaf(rng: random.Random) -> Tree:
    token = rng.choice(TOKENS[:5])
    return Tree("num" if token.isdigit() else "var", token=token)


def random_tree(depth: int, arity: int, seed: int) -> Tree:
    """A tree of exactly this depth: a spine with small trees beside it, some objects shared."""
    rng = random.Random(seed)
    tree, others = leaf(rng), [leaf(rng)]
    for _ in range(depth):
        function, width = rng.choice([f for f in FUNCTIONS if f[1] <= arity])
        children = [rng.choice(others) if rng.random() < 0.3 else leaf(rng) for _ in range(width)]
        children[rng.randrange(width)] = tree
        if tree.depth < 3 or rng.random() < 0.05:
            others.append(tree)  # a later node may take the same object as a second child
        tree = Tree(function, children)
    return tree


def random_dag(inner: int, arity: int, seed: int) -> Tree:
    """A root over ``inner`` nodes or fewer, drawn bottom up; some nodes get several parents."""
    rng = random.Random(seed)
    open_, used = [leaf(rng) for _ in range(3)], [leaf(rng)]
    for _ in range(inner):
        function, width = rng.choice([f for f in FUNCTIONS if f[1] <= arity])
        children = []
        for _ in range(width):
            if open_ and rng.random() < 0.7:
                children.append(open_.pop(rng.randrange(len(open_))))
            else:
                children.append(rng.choice([*used[-8:], leaf(rng)]))
        open_.append(Tree(function, children))
        used.extend(children)
    return open_[-1]


def with_inner_tokens(tree: Tree) -> Tree:
    """Every inner node carries a token too, as in a dependency tree."""
    return tree.fold(lambda node, children: node.replace(children=children, token=node.token or TOKENS[len(children)]))


def with_numbers(tree: Tree) -> Tree:
    """The leaves that are digits carry numbers instead of tokens."""

    def number(node: Tree, children: list[Tree]) -> Tree:
        if children or node.token is None or not node.token.isdigit():
            return node.replace(children=children)
        return Tree(node.function, value=float(node.token) / 3)

    return tree.fold(number)


def suited(cell: Cell, trees: list[Tree]) -> list[Tree]:
    """The trees with all that the cell reads: tokens at inner nodes, numbers at leaves."""
    if cell.input_size is not None:
        trees = [with_inner_tokens(tree) for tree in trees]
    return [with_numbers(tree) for tree in trees] if cell.numbers else trees


def chain(depth: int, function: str = "sin") -> Tree:
    tree = Tree("var", token="x")
    for _ in range(depth):
        tree = Tree(function, (tree,))
    return tree


def square() -> Tree:
    """x * x with one leaf object: two edges between the same nodes."""
    x = Tree("var", token="x")
    return Tree("pow", (x, x))


def braid(depth: int) -> Tree:
    """A DAG in which every node is both children of the next: depth nodes, 2^depth unfolded."""
    tree = Tree("var", token="y")
    for k in range(depth):
        tree = Tree("add" if k % 2 else "pow", (tree, tree))
    return tree


EDGE_CASES: dict[str, list[Tree]] = {
    "one node": [Tree("var", token="x")],
    "only leaves": [Tree("var", token="x"), Tree("num", token="1"), Tree("var", token="x")],
    "chain": [chain(30)],
    "wide node": [Tree("call", [leaf(random.Random(k)) for k in range(WIDE)])],
    "unary chains of mixed depth": [chain(7), chain(3, "neg"), chain(1)],
    "mixed depths": [random_tree(depth, 3, depth) for depth in (9, 0, 1, 5, 2)],
    "batch of one": [random_tree(4, 3, 1)],
    "same tree twice": [random_tree(4, 2, 3), random_tree(4, 2, 3)],
    "x*x": [square()],
    "braid": [braid(20)],
}
