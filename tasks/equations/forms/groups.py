"""Groups of forms of one value, one of which stands in a textbook: what the model of forms learns from.

A part of a textbook line is blanked; it is the right form. The others are what the search of ``dgltree complete`` finds
for the blank. ``python -m tasks.equations forms --out FILE`` writes them.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

from tqdm import tqdm

from dgltree import BLANK, Equation, Tree, read_equation, read_infix, write_equation, write_infix
from dgltree.equations.expressions.canonical_form import canonical
from dgltree.equations.expressions.written_form import form, symbols
from dgltree.equations.search.search import Search
from dgltree.equations.truth.evaluator import Evaluator, Truth
from tasks.equations.canonical import digest
from tasks.equations.generator.held_out import held_out
from tasks.equations.generator.identities import WORLDS, identities
from tasks.equations.generator.places import Places
from tasks.equations.generator.rewrite import LETTERS, in_growing
from tasks.equations.generator.school import school
from tasks.equations.leaves import with_leaves
from tasks.equations.words import CALLED, NAMES, Word, tree, variables, word

TESTS = 5  # one line of so many is for tests
LONGEST = 15  # symbols of a right form
SIGNS = 0.1  # share of the parts such as -y of x - y that are blanked
LEAVES = 0.12  # and of the leaves
ASKED = 4  # blanks of a line, at most
FORMS = 60  # forms that are taken of a search, the shortest
BUDGET = 12_000  # of a search
_LETTERS = {**dict(zip(NAMES, LETTERS, strict=False)), NAMES[-1]: BLANK}
_NEUTRAL = (CALLED["Mul"] + CALLED["1"], *(CALLED["Pow"] + word(name) + CALLED["1"] for name in NAMES))
_MINUS, _BLANK = CALLED["-1"], word(NAMES[-1])  # a variable that no line has stands for the blank


class FormGroup(NamedTuple):
    """An equation with a blank, and forms of one value for it; as texts, in the variables x, y, z, w."""

    equation: str
    right: tuple[str, ...]
    """The forms that stand there in textbooks."""
    found: tuple[str, ...]
    """The forms that the search finds, the shortest first, in its order; right ones may be among them."""
    test: bool
    """Whether it is for tests."""

    @property
    def forms(self) -> dict[str, bool]:
        """All forms, those found first, and whether each is written as a right one, whatever its brackets."""
        written = {form(read_infix(text)) for text in self.right}
        return {text: form(read_infix(text)) in written for text in (*self.found, *self.right)}

    @property
    def rearranges(self) -> bool:
        """Whether the equation only says that order and grouping do not matter: nobody asks for that."""
        left, right = read_equation(self.equation).fill(read_infix(self.right[0]))
        return canonical(left) == canonical(right)


def is_test(line: Word) -> bool:
    """Whether the blanks of a line are for tests: a fifth, by its digest alone."""
    left, right = Places(line).sides()
    return digest(Equation(tree(left), tree(right))) % TESTS == 0


def lines() -> list[Word]:
    """The identities of all worlds that have variables."""
    everything = (in_growing(identity) for world in WORLDS for identity in identities(world))
    return [line for line in dict.fromkeys(everything) if variables(line)]


def school_lines(random: Random) -> Iterator[Word]:
    """Random lines of schoolbooks, without end and without such as 1*x."""
    while True:
        line = school(random)
        if variables(line) and not any(pattern in line for pattern in _NEUTRAL):
            yield line


def questions(line: Word, random: Random) -> list[tuple[Equation, Tree]]:
    """The blanks of a line that a person may ask for, each with what stood there; in the variables x, y, z, w."""
    places = Places(line)
    sides = [with_leaves(tree(side), _LETTERS) for side in places.sides()]
    found = []
    for place in range(1, len(line)):
        part = with_leaves(tree(places.at(place)), _LETTERS)
        if not _asked(places, place, random) or symbols(part) > LONGEST or not _worth(part, sides):
            continue
        blanked = _equation(places.replaced(place, _BLANK))
        if digest(blanked) not in held_out("elementary"):
            found.append((blanked, part))
    return random.sample(found, min(ASKED, len(found)))


def searched(equation: Equation, right: Collection[Tree]) -> list[Tree]:
    """The shortest forms that the search finds and that make the equation true, without copies of its sides."""
    sides = {canonical(side) for side in equation}
    evaluators = [Evaluator("complex"), Evaluator("positive")]
    found = []
    for filler in sorted(Search(equation, BUDGET).run().fillers, key=symbols)[: 2 * FORMS]:
        holds = any(evaluator.truth(equation.fill(filler)) is Truth.TRUE for evaluator in evaluators)
        if holds and (filler in right or canonical(filler) not in sides):
            found.append(filler)
    return found[:FORMS]


def write(path: Path, school: int, seed: int = 0) -> None:
    """Search the forms of every line and of so many random lines of schoolbooks, and write them, a JSON list each.

    An interrupted run continues where it was.
    """
    random = Random(f"forms {seed}")
    asked: dict[Equation, dict[Tree, None]] = defaultdict(dict)
    tests = {}
    for line in dict.fromkeys([*lines(), *islice(school_lines(random), school)]):
        for equation, right in questions(line, random):
            asked[equation][right] = None
            tests[equation] = is_test(line)
    done = path.read_text(encoding="utf-8").count("\n") if path.exists() else 0
    order = random.sample(list(asked), len(asked))
    with path.open("a", encoding="utf-8") as file:
        for equation in tqdm(order[done:], initial=done, total=len(order), unit="blank", disable=None):
            found = searched(equation, asked[equation])
            rights, others = (tuple(map(write_infix, trees)) for trees in (asked[equation], found))
            file.write(json.dumps(FormGroup(write_equation(equation), rights, others, tests[equation])) + "\n")
            file.flush()


def read(path: Path) -> list[FormGroup]:
    """The groups of a file that have wrong forms, without those that only rearrange."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    groups = (FormGroup(equation, tuple(right), tuple(found), test) for equation, right, found, test in rows)
    return [group for group in groups if not all(group.forms.values()) and not group.rearranges]


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tasks.equations forms", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="file to write; an existing one is continued")
    parser.add_argument("--school", type=int, default=800, help="random lines of schoolbooks (default 800)")
    parser.add_argument("--seed", type=int, default=0, help="random seed of these lines and of the blanks (default 0)")
    options = parser.parse_args(arguments)
    write(options.out, options.school, options.seed)


def _asked(places: Places, place: int, random: Random) -> bool:
    """Whether a person may leave out a part: not the exponent of 1/x, and seldom a leaf or the -y of x - y."""
    parent = next((p for p in range(place - 1, -1, -1) if place in places.children(p)), 0)
    part = places.at(place)
    if part == _MINUS or (part[:1] == CALLED["Pow"] and part[-1:] == _MINUS and parent):
        return False
    if part[:2] == CALLED["Mul"] + _MINUS and parent:
        return random.random() < SIGNS
    return len(part) > 1 or random.random() < LEAVES


def _worth(part: Tree, sides: Sequence[Tree]) -> bool:
    """Whether a textbook would write the part as an answer: a whole side may not be a plainer one made longer."""
    if part not in sides:
        return True
    own, other = symbols(part), min(map(symbols, sides)) if sides[0] != sides[1] else 0
    functions = any(
        node.children and node.function not in ("Add", "Mul", "Pow") for side in sides for node in side.distinct()
    )
    return own <= other or other >= 7 or (functions and part == sides[1])


def _equation(line: Word) -> Equation:
    """The equation of a line that has a blank, in the variables x, y, z, w."""
    return Equation(*(with_leaves(tree(side), _LETTERS) for side in Places(line).sides()))
