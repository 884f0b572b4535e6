"""Correct equations to train completion on: chains of rewrites, each of which begins with an identity.

Every chain begins afresh, so that the deep equations of all identities are alike frequent (in the pools of chunk.py the
first to become deep have the most offspring).
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from tqdm import tqdm

from dgltree.support.workers import pool_map
from tasks.equations import store
from tasks.equations.canonical import word_digest
from tasks.equations.generator.chunk import largest
from tasks.equations.generator.growth import WIDENINGS, draw_identity, grow_equation
from tasks.equations.generator.held_out import held_out
from tasks.equations.generator.identities import World
from tasks.equations.generator.places import Places
from tasks.equations.generator.presets import Part, part_of
from tasks.equations.generator.rewrite import GROWING
from tasks.equations.generator.texts import EquationTexts
from tasks.equations.store import Made
from tasks.equations.words import PAPER_SYMBOLS, SYMBOLS

CHUNK = 10_000  # equations a random stream; part of what a seed means
MAX_DEPTH = 13
STEPS = {"paper": 16, "elementary": 9, "positive": 7}  # at most, in a chain: what people type is less deep
KEPT = 0.35  # share of a chain's equations that are kept


def write(path: Path, equations: int, part: Part, seed: int, workers: int = 1, world: World = "paper") -> None:
    """Write about so many correct equations as a data set; the same for a seed whatever the number of workers.

    Those of the world "positive" hold for most positive values of their variables, but not all of them: a rule may have
    been used if what it rewrites is negative.
    """
    name = f"{part} {seed}" if world == "paper" else f"{world} {part} {seed}"
    starts = range(0, equations, CHUNK)
    jobs = [(min(CHUNK, equations - start), part, f"{name} {start}", world) for start in starts]
    seen: set[int] = set()
    made = []
    with pool_map(workers) as pool, tqdm(total=equations, desc=path.stem, unit="eq", disable=None) as bar:
        for chunk in pool(correct, jobs):
            made += [one for one in chunk if one.digest not in seen]
            seen.update(one.digest for one in chunk)
            bar.update(len(chunk))
    store.write(path, store.table(made, part, PAPER_SYMBOLS if world == "paper" else SYMBOLS))


def correct(job: tuple[int, Part, str, World]) -> list[Made]:
    """So many correct equations for a part, of the random stream of a name and the identities of a world."""
    count, part, name, world = job
    random = Random(f"chains {name}")
    texts = EquationTexts()
    seen = set()
    made: list[Made] = []
    while len(made) < count:
        for equation in chain(random, world):
            left, right = equation.sides()
            digest = word_digest(left, right)
            if digest not in seen and digest not in held_out(world) and part_of(digest, equation.depth) == part:
                seen.add(digest)
                text = texts.text(equation, range(len(GROWING)), False)
                made.append(Made(1, digest, equation.depth, left, right, text))
    return made[:count]


def chain(random: Random, world: World) -> Iterator[Places]:
    """Some of the equations of one chain; each differs from the last by some true changes.

    Beyond the papers' world the first, which is in textbooks, is among them.
    """
    equation = draw_identity(random, world)
    widening = random.choice(WIDENINGS)
    if world != "paper":
        yield equation
    for _ in range(random.randint(0, STEPS[world])):
        word = grow_equation(equation, random, widening, world)
        changed = equation if word is None else Places(word)
        if changed.depth <= MAX_DEPTH and len(changed.word) <= largest(changed.depth) + 1:
            equation = changed
            if random.random() < KEPT:
                yield equation
