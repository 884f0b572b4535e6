"""Inputs of the measurements: the published data where its folder is there, generated data otherwise."""

import os
import random
from functools import cache
from pathlib import Path

from dgltree import BLANK, Equation, Tree, shipped_fillers
from dgltree.read.bracket import iter_sst
from dgltree.read.preorder import BlankExample, read_blanks, read_candidates


def data_folder() -> Path | None:
    """The folder of the published data, which DGLTREE_DATA names."""
    folder = os.environ.get("DGLTREE_DATA")
    return Path(folder) if folder and Path(folder).is_dir() else None


@cache
def equations(count: int) -> list[Equation]:
    """Equations in one seeded order: the published ones, all files shuffled together, or generated ones."""
    known = [blank.equation.fill(blank.filler) for blank in _published()] or _generated()
    random.Random(0).shuffle(known)
    return (known * -(-count // len(known)))[:count]


@cache
def blanked(count: int) -> list[Equation]:
    """The same with a blank each: the published one, or the first child of the left side."""
    known = [blank.equation for blank in _published()] or list(map(_with_blank, _generated()))
    random.Random(0).shuffle(known)
    return known[:count]


def _published() -> list[BlankExample]:
    folder = data_folder()
    files = sorted((folder / "equations" / "blanks").glob("*.json")) if folder else []
    return [blank for file in files for blank in read_blanks(file)]


def _generated() -> list[Equation]:
    """Own equations; where the packages of their generator are missing, random ones of about the same size."""
    try:
        from tasks.equations.generator.generate import generate
        from tasks.equations.generator.presets import PAPER_TRAIN
    except ModuleNotFoundError:
        draw = random.Random(2)
        return [Equation(*(_drawn(draw, draw.randrange(2, 6)) for _ in range(2))) for _ in range(4096)]
    return [made.equation for made in generate(PAPER_TRAIN.scaled(4096).quotas(), seed=0)]


def _drawn(draw: random.Random, depth: int) -> Tree:
    if depth == 0:
        return Tree("Symbol", token=f"var_{draw.randrange(4)}")
    name, arity = draw.choice([("Add", 2), ("Mul", 2), ("Pow", 2), ("sin", 1), ("cos", 1)])
    return Tree(name, [_drawn(draw, depth - 1 - draw.randrange(min(depth, 2))) for _ in range(arity)])


@cache
def fillers(count: int) -> list[Tree]:
    """The published candidates, else the shipped ones, else random ones."""
    folder = data_folder()
    file = None if folder is None else folder / "equations" / "candidate_classes.json"
    if file is not None and file.is_file():
        return [candidate.filler for candidate in read_candidates(file)][:count]
    try:
        return shipped_fillers()[:count]
    except ModuleNotFoundError:
        draw = random.Random(3)
        return [_drawn(draw, draw.randrange(3)) for _ in range(count)]


def _with_blank(equation: Equation) -> Equation:
    left = equation.left
    return Equation(left.replace(children=[BLANK, *left.children[1:]]) if left.children else BLANK, equation.right)


@cache
def treebank(count: int) -> list[Tree]:
    """Sentences of the Stanford Sentiment Treebank, or random binary trees of twenty words."""
    folder = data_folder()
    if folder and (folder / "sst" / "train.txt").is_file():
        trees = list(iter_sst((folder / "sst" / "train.txt").read_text(encoding="utf-8")))
    else:
        from dgltree.induction.binary_trees import random_tree

        draw = random.Random(1)
        trees = [random_tree([f"w{draw.randrange(5000)}" for _ in range(20)], draw) for _ in range(count)]
    random.Random(0).shuffle(trees)
    return trees[:count]


@cache
def formulas(count: int) -> list[Tree]:
    """Formulas of logic of up to 6 operators, own ones."""
    from dgltree.read.bracket import read_unlabelled
    from tasks.logic.generate import pairs

    own = pairs(seed=0)
    texts = [text for k in range(7) for pair in own["train", k] for text in pair[1:3]]
    random.Random(0).shuffle(texts)
    return [read_unlabelled(text) for text in texts[:count]]
