"""What is measured on: the published data where its folder is there, generated data otherwise."""

import os
import random
from functools import cache
from pathlib import Path

from dgltree import BLANK, Equation, Tree
from dgltree.read.bracket import iter_sst
from dgltree.read.preorder import BlankExample, read_blanks


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
    from tasks.equations.generate import generate
    from tasks.equations.presets import PAPER_TRAIN

    return [made.equation for made in generate(PAPER_TRAIN.scaled(4096).quotas(), seed=0)]


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
        from dgltree.induction import random_tree

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
