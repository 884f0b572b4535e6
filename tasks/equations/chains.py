"""Correct equations to train completion on: chains of rewrites, each of which begins with an identity.

Every chain begins afresh, so that the deep equations of all identities are alike frequent (in the pools of chunk.py the
first to become deep have the most offspring). Most steps are small: 0 added, 1 multiplied, a literal written otherwise.
"""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from random import Random

from tqdm import tqdm

from dgltree.read.infix import read_equation
from tasks.equations import store
from tasks.equations.canonical import word_digest
from tasks.equations.chunk import Made, largest
from tasks.equations.fillers import TRIGONOMETRIC
from tasks.equations.held_out import held_out
from tasks.equations.places import Places
from tasks.equations.presets import Part, part_of
from tasks.equations.rewrite import GROWING, IDENTITIES, Rules, in_growing, operated, read_lines, specialised
from tasks.equations.texts import Texts
from tasks.equations.words import CALLED, Word, variables

CHUNK = 10_000  # equations a random stream; part of what a seed means
DEEPEST = 13
STEPS = 16  # at most, in a chain
KEPT = 0.35  # share of a chain's equations that are kept
WIDENINGS = (0.1, 0.3, 0.6)  # shares of rewrites such as x -> x + 0; each chain has one of them
LITERAL = 0.4
WAVY = 2  # how much more often chains begin with an identity of trigonometry; and by its size: long ones are harder
PLAIN = 8  # how much rarer 2 -> sec(pi/3) is than 2 -> 1 + 1,
NEUTRAL = 16  # and than the smallest steps:
NEUTRALS = tuple(map(read_equation, ("x = x + 0", "x = 0 + x", "x = x*1", "x = 1*x", "x = x^1")))

_WAVES = frozenset(CALLED[name][0] for name in TRIGONOMETRIC)


def write(path: Path, equations: int, part: Part, seed: int, workers: int = 1) -> None:
    """Write about so many correct equations as a data set; the same for a seed whatever the number of workers."""
    jobs = [(min(CHUNK, equations - start), part, f"{part} {seed} {start}") for start in range(0, equations, CHUNK)]
    seen: set[int] = set()
    made = []
    with (
        ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool,
        tqdm(total=equations, desc=path.stem, unit="eq", disable=None) as bar,
    ):
        for chunk in pool.map(_chunk, jobs):
            made += [one for one in chunk if one.digest not in seen]
            seen.update(one.digest for one in chunk)
            bar.update(len(chunk))
    store.write(path, store.table(made, part))


def _chunk(job: tuple[int, Part, str]) -> list[Made]:
    count, part, name = job
    random, texts, seen = Random(f"chains {name}"), Texts(), set()
    made: list[Made] = []
    while len(made) < count:
        for equation in chain(random):
            left, right = equation.sides()
            digest = word_digest(left, right)
            if digest not in seen and digest not in held_out() and part_of(digest, equation.depth) == part:
                seen.add(digest)
                text = texts.text(equation, range(len(GROWING)), False)
                made.append(Made(1, digest, equation.depth, left, right, text))
    return made[:count]


def chain(random: Random) -> Iterator[Places]:
    """Some of the equations of one chain; each differs from the last by some true changes."""
    rules, seeds, sizes = _grammar()
    [equation] = random.choices(seeds, sizes)
    widening = random.choice(WIDENINGS)
    for _ in range(random.randint(0, STEPS)):
        way = random.random()
        if way < 0.07:
            word: Word | None = operated(equation, random)
        elif way < 0.13:
            word = specialised(equation, random)
        else:
            word = rules.rewrite(equation, random, widening, LITERAL)
        if word is None:
            continue
        changed = Places(word)
        if changed.depth <= DEEPEST and len(word) <= largest(changed.depth) + 3:
            equation = changed
            if random.random() < KEPT:
                yield equation


@cache
def _grammar() -> tuple[Rules, list[Places], list[int]]:
    """The rules, rare ones less often in the list; the identities with variables, and how often each begins a chain."""
    identities = [Places(in_growing(identity)) for identity in read_lines(IDENTITIES)]
    plain = [identity for identity in identities if not any(map(_of_constants, identity.sides()))]
    neutrals = [Places(in_growing(neutral)) for neutral in NEUTRALS]
    rules = Rules([identity.word for identity in [*identities, *(PLAIN - 1) * plain, *NEUTRAL * neutrals]])
    seeds = [identity for identity in identities if identity.variables]
    return rules, seeds, [len(seed.word) * (WAVY if _WAVES & set(seed.word) else 1) for seed in seeds]


def _of_constants(side: Word) -> bool:
    """Such as sec(pi/3)."""
    return not variables(side) and bool(_WAVES & set(side))
