"""Small equation models, drawn equations with a blank, and the scores of filling it."""

import random

import torch
from rows import make_cell

import dgltree
from dgltree import BLANK, Equation, Tree, Vocabulary, batch
from dgltree.encoders import TreeEncoder
from dgltree.models import EquationModel, EquationReadout

FUNCTIONS = [("sin", 1), ("cos", 1), ("Add", 2), ("Mul", 2), ("Pow", 2), ("If", 3)]
LEAVES = [*(("Symbol", f"var_{i}") for i in range(10)), ("Integer", "2"), ("Integer", "1"), ("NegativeOne", "-1")]
VOCABULARY = Vocabulary([*((f, 0) for f in sorted({f for f, _ in LEAVES})), *FUNCTIONS], [token for _, token in LEAVES])


def make_model(name: str = "tree_smu, no_op") -> EquationModel:
    model = EquationModel(TreeEncoder(make_cell(name, VOCABULARY, 4, seed=3)), EquationReadout()).double().eval()
    torch.nn.init.constant_(model.readout.bias, 0.3)
    with torch.no_grad():
        for weight in model.encoder.cell.maps.parameters():
            weight *= 4  # so that a filler eight cells below the root still changes the score
    return model


def random_tree(rng: random.Random, depth: int) -> Tree:
    if depth == 0 or rng.random() < 0.15:
        function, token = rng.choice(LEAVES)
        return Tree(function, token=token)
    function, arity = rng.choice(FUNCTIONS)
    return Tree(function, [random_tree(rng, depth - 1) for _ in range(arity)])


def blanked(rng: random.Random, depth: int) -> Tree:
    """A tree with a blank ``depth`` edges below its root."""
    tree = BLANK
    for _ in range(depth):
        function, arity = rng.choice(FUNCTIONS)
        children = [random_tree(rng, 2) for _ in range(arity)]
        children[rng.randrange(arity)] = tree
        tree = Tree(function, children)
    return tree


def questions(seed: int) -> list[Equation]:
    rng = random.Random(seed)
    made = []
    for depth in (0, 1, 2, 3, 5, 8):
        sides = [blanked(rng, depth), random_tree(rng, 3)]
        made += [Equation(*sides), Equation(*sides[::-1])]
    # the same path below, other roots: pieces of path that are shared at different heights
    low = Tree("Add", (Tree("sin", (BLANK,)), random_tree(rng, 1)))
    made += [Equation(low, random_tree(rng, 2)), Equation(Tree("Mul", (low, low.children[1])), random_tree(rng, 2))]
    return made


def candidates(seed: int) -> list[Tree]:
    rng = random.Random(seed)
    trees = [random_tree(rng, depth) for depth in (0, 0, 1, 1, 1, 2, 2, 6)]
    return [*trees, trees[0], Tree("sin", (trees[0],)), trees[2]]


def whole_scores(model: EquationModel, equation: Equation, fillers: list[Tree]) -> torch.Tensor:
    with torch.no_grad():
        return model(batch([equation.fill(filler) for filler in fillers], VOCABULARY))


def scores_in_filler_order(ranking: dgltree.Ranking) -> torch.Tensor:
    scores = torch.empty_like(ranking.scores)
    scores[ranking.index] = ranking.scores
    return scores
