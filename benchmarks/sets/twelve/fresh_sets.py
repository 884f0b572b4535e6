"""Four sets that were added after all defaults: phylogenies, circuits, formulas and decorated methods."""

import ast
from collections.abc import Callable, Iterator
from random import Random

from benchmarks.sets.code import _folder, _functions
from benchmarks.sets.records import LabelledRecord
from benchmarks.sets.twelve.drawn_sets import NUM_ROWS

SPECIES = range(8, 21)
DECORATED = [
    "pandas",
    "matplotlib",
    "aiohttp",
    "hypothesis",
    "pyarrow",
    "networkx",
    "sympy",
    "rich",
    "lightning",
    "fontTools",
]
DECORATORS = ["property", "staticmethod", "classmethod", "contextmanager", "overload"]
MOST_NODES = 120
LETTERS = "pqrstu"
"""Of ``satisfiable``."""

Drawn = tuple[str, float]
"""A subtree in Newick, and how long ago it began."""


def phylogenies() -> Iterator[LabelledRecord]:
    """The process that drew a phylogeny in Newick, by its shape and the lengths of its branches; species have no names.

    Pure birth and the coalescent draw the same shapes and other lengths; of the other two, one splits a lineage the
    more often the older it is, and one draws any shape alike, both with the lengths of pure birth.
    """
    random = Random(41)
    processes = {"birth": _birth, "coalescent": _coalescent, "old": _old, "uniform": _uniform}
    for number in range(NUM_ROWS):
        name = list(processes)[number % len(processes)]
        yield LabelledRecord(name, (processes[name](random, random.choice(SPECIES)),), str(number))


def _birth(random: Random, count: int) -> str:
    return _joined(random, count, random.expovariate, lambda ages: random.sample(range(len(ages)), 2))


def _coalescent(random: Random, count: int) -> str:
    def waiting(left: int) -> float:
        return random.expovariate(left * (left - 1) / 2)

    return _joined(random, count, waiting, lambda ages: random.sample(range(len(ages)), 2))


def _old(random: Random, count: int) -> str:
    """Half of the joins are with the oldest lineage, so that the tree is a comb in part."""

    def pair(ages: list[float]) -> list[int]:
        oldest = max(range(len(ages)), key=ages.__getitem__)
        rest = [place for place in range(len(ages)) if place != oldest]
        return [oldest, random.choice(rest)] if random.random() < 0.5 else random.sample(range(len(ages)), 2)

    return _joined(random, count, random.expovariate, pair)


def _uniform(random: Random, count: int) -> str:
    """Any shape alike, by Rémy's algorithm; then lengths as of pure birth, by the sizes of the parts."""
    children: dict[int, tuple[int, int]] = {}
    parent: dict[int, int] = {}
    root, last = 0, 0
    for _ in range(count - 1):
        at = random.randint(0, last)
        inner, leaf = last + 1, last + 2
        last = leaf
        above = parent.get(at)
        children[inner] = (at, leaf) if random.random() < 0.5 else (leaf, at)
        if above is None:
            root = inner
        else:
            one, other = children[above]
            children[above] = (inner, other) if one == at else (one, inner)
            parent[inner] = above
        parent[at] = parent[leaf] = inner

    def written(node: int) -> Drawn:
        if node not in children:
            return "s", 0.0
        (a, x), (b, y) = map(written, children[node])
        age = max(x, y) + random.expovariate(3)
        return f"({a}:{age - x:.4f},{b}:{age - y:.4f})", age

    return f"{written(root)[0]};"


def _joined(
    random: Random, count: int, waiting: Callable[[int], float], pair: Callable[[list[float]], list[int]]
) -> str:
    """Lineages joined from today backwards, two by two, by the time to the next join and the places of the two."""
    alive: list[Drawn] = [("s", 0.0)] * count
    now = 0.0
    while len(alive) > 1:
        now += waiting(len(alive))
        both = pair([begun for _, begun in alive])
        text = ",".join(f"{name}:{now - begun:.4f}" for name, begun in (alive[place] for place in both))
        alive = [each for place, each in enumerate(alive) if place not in both] + [(f"({text})", now)]
    return f"{alive[0][0]};"


def circuits() -> Iterator[LabelledRecord]:
    """The resistance of resistors in series and in parallel, from ten to a million ohms each."""
    random = Random(42)
    for number in range(NUM_ROWS):
        text, ohms = _circuit(random, 3)
        yield LabelledRecord(f"{ohms:.4g}", (text,), str(number))


def _circuit(random: Random, depth: int) -> tuple[str, float]:
    if depth == 0 or (depth < 3 and random.random() < 0.2):
        ohms = float(f"{10 ** random.uniform(1, 6):.3g}")
        return f"{ohms:g}", ohms
    parts = [_circuit(random, depth - 1) for _ in range(random.randint(2, 3))]
    name = random.choice(["series", "parallel"])
    values = [ohms for _, ohms in parts]
    whole = sum(values) if name == "series" else 1 / sum(1 / ohms for ohms in values)
    return f"({name} {' '.join(text for text, _ in parts)})", whole


def satisfiable() -> Iterator[LabelledRecord]:
    """Whether a formula is true for some values of its letters, always, or never; as many of each."""
    random, left, seen = Random(43), dict.fromkeys(("sometimes", "always", "never"), NUM_ROWS // 3), set[str]()
    while any(left.values()):
        text, table = _formula(random, 5)
        label = "always" if all(table) else "sometimes" if any(table) else "never"
        if text.count("(") > 4 and left[label] and text not in seen:
            seen.add(text)
            left[label] -= 1
            yield LabelledRecord(label, (text,), text)


def _formula(random: Random, depth: int) -> tuple[str, list[bool]]:
    """A text, and its truth for all values of three of the letters."""
    if depth == 0 or random.random() < 0.15:
        place = random.randrange(3)
        return LETTERS[place], [bool(row >> place & 1) for row in range(8)]
    name = random.choice(["and", "or", "not", "implies", "xor"])
    text, table = _formula(random, depth - 1)
    if name == "not":
        return f"(not {text})", [not one for one in table]
    other, further = _formula(random, depth - 1)
    join: Callable[[bool, bool], bool] = {
        "and": lambda a, b: a and b,
        "or": lambda a, b: a or b,
        "implies": lambda a, b: not a or b,
        "xor": lambda a, b: a != b,
    }[name]
    return f"({name} {text} {other})", [join(a, b) for a, b in zip(table, further, strict=True)]


def decorated() -> Iterator[LabelledRecord]:
    """The decorator of a method or function that has one of five alone; it is left out. A file is a group."""
    for package in DECORATED:
        for file, node in _functions(_folder(package)):
            names = [ast.unparse(one).split(".")[-1] for one in node.decorator_list]
            size = sum(1 for _ in ast.walk(node))
            if len(names) == 1 and names[0] in DECORATORS and size <= MOST_NODES:
                node.decorator_list = []
                yield LabelledRecord(names[0], (ast.unparse(node),), f"{package}/{file}")
