"""Abilities of a network: generated sets of one rule each, and its accuracy on each after a fixed time.

Each set has one rule, so that an accuracy says whether a network has found this rule: not more, and not less. Next to
it are the most frequent class, and two models of counts of what occurs in a tree, on the same examples. If these are
as good, the rule needs no network.
"""

import io
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.support.unwarned import without_warnings
from dgltree.trees.tree import Tree

TRAIN, VALIDATION, TEST = 2000, 300, 500
"""Examples of each set."""
HIDDEN_SIZE = 32
SETTINGS: dict[str, Any] = {
    "hidden_size": HIDDEN_SIZE,
    "no_baseline": True,
    "epochs": 1000,
    "patience": 1000,
    "threads": 1,
    "dropout": 0.0,
    "input_dropout": 0.0,
    "token_dropout": 0.0,
    "weight_decay": 0.0,
}
"""Options of every training: there is no noise to be protected from, and the time ends it."""
COLORS = ("red", "green", "blue", "black")
LETTERS = "abcdefghijkl"


@dataclass(frozen=True, kw_only=True)
class ProbeSet:
    """A generated set."""

    name: str
    asks: str
    """The rule, for people."""
    draw: Callable[[Random, bool], Tree]
    """A tree with its label, drawn from a generator; whether it is for the test, where that is drawn differently."""

    def data(self, seed: int) -> dict[str, TreeDataset]:
        """Return the splits, which follow from the seed."""
        counts = {"train": TRAIN, "validation": VALIDATION, "test": TEST}
        random = Random(f"{self.name} {seed}")
        found = {}
        for split, count in counts.items():
            is_test = split == "test"
            trees = [self.draw(random, is_test) for _ in range(count)]
            found[split] = TreeDataset(trees)
        return found


def leaf(token: object, function: str = "item") -> Tree:
    """Return a leaf with a token."""
    return Tree(function, token=str(token))


def leaves(tokens: Iterable[object]) -> list[Tree]:
    """Return a leaf for each token."""
    return [leaf(token) for token in tokens]


def _select(random: Random, _: bool) -> Tree:
    names = random.sample(LETTERS[:8], 8)
    color_of = {name: random.choice(COLORS) for name in names}
    clue = names[random.randrange(len(names))]
    children = [leaf(clue, "clue")]
    for name, color in color_of.items():
        pair = [leaf(name, "name"), leaf(color, "color")]
        children.append(Tree("pair", pair))
    return Tree("select", children, label=color_of[clue])


def _count(random: Random, _: bool) -> Tree:
    number = random.randint(3, 9)
    letters = [random.choice("aabc") for _ in range(number)]
    return Tree("count", leaves(letters), label=letters.count("a"))


def _maximum(random: Random, _: bool) -> Tree:
    children = []
    largest = 0
    for _group in range(2):
        size = random.randint(2, 3)
        numbers = [random.randrange(20) for _ in range(size)]
        children.append(Tree("group", leaves(numbers)))
        largest = max(largest, *numbers)
    return Tree("maximum", children, label=largest)


def _median(random: Random, _: bool) -> Tree:
    letters = random.sample(LETTERS, 5)
    middle = sorted(letters)[2]
    return Tree("middle", leaves(letters), label=middle)


def _depth(random: Random, is_test: bool) -> Tree:
    depth = random.randint(6, 9) if is_test else random.randint(1, 4)
    value = random.randrange(3)
    tree = leaf(value)
    for _ in range(depth):
        other = random.randrange(3)
        children = [tree, leaf(other)]
        if random.random() < 0.5:
            children.reverse()
        tree = Tree("add", children)
        value = (value + other) % 3
    return tree.replace(label=value)


def _width(random: Random, is_test: bool) -> Tree:
    half = random.randint(8, 12) if is_test else random.randint(1, 4)
    letters = [random.choice("ab") for _ in range(2 * half + 1)]
    more = max("ab", key=letters.count)
    return Tree("more", leaves(letters), label=more)


def _order(random: Random, _: bool) -> Tree:
    def drawn(depth: int) -> tuple[Tree, int]:
        if depth == 0 or random.random() < 0.2:
            value = random.randrange(4)
            return leaf(value), value
        children = [drawn(depth - 1) for _ in range(3)]
        function, at = random.choice((("first", 0), ("last", 2)))
        return Tree(function, [tree for tree, _ in children]), children[at][1]

    children = [drawn(2) for _ in range(3)]
    return Tree("first", [tree for tree, _ in children], label=children[0][1])


def _changed(random: Random, _: bool) -> Tree:
    letters = [random.choice("abcd") for _ in range(6)]
    others = list(letters)
    label = "same"
    if random.random() < 0.5:
        at = random.randrange(6)
        different = "abcd".replace(letters[at], "")
        others[at] = random.choice(different)
        label = "changed"
    sides = []
    for side in (letters, others):
        parts = []
        for at in (0, 2, 4):
            pair = side[at : at + 2]
            parts.append(Tree("part", leaves(pair)))
        sides.append(Tree("side", parts))
    return Tree("alike", sides, label=label)


PROBES: tuple[ProbeSet, ...] = (
    ProbeSet(name="select", asks="the color of the pair that the first child names", draw=_select),
    ProbeSet(name="count", asks="how often the letter a occurs among up to nine letters", draw=_count),
    ProbeSet(name="maximum", asks="the largest of some numbers below 20", draw=_maximum),
    ProbeSet(name="sort", asks="the middle letter of five letters in alphabetical order", draw=_median),
    ProbeSet(name="depth", asks="a sum modulo 3, trained up to depth 4, tested at 6 to 9", draw=_depth),
    ProbeSet(name="width", asks="the more frequent letter, trained up to 9 children, tested at 17 to 25", draw=_width),
    ProbeSet(
        name="order", asks="the value of nested lists, each of which means its first or its last item", draw=_order
    ),
    ProbeSet(name="changed", asks="whether one of six leaves differs between two sides", draw=_changed),
)


@dataclass(frozen=True, kw_only=True)
class ProbeRow:
    """A line of the table."""

    name: str
    accuracies: Mapping[str, float | None]
    """Accuracy by set; None where the trees were refused."""
    seconds: float | None = None
    """The time of all trainings; None of what is no network."""
    refusals: Mapping[str, str]
    """The reasons, by set."""


def probe(
    encoders: Sequence[str], *, options: Mapping[str, Any] | None = None, seconds: int = 60, seed: int = 0
) -> Iterator[ProbeRow]:
    """Yield the rows of chance, of two models of counts, and of each encoder as soon as it is done.

    Args:
        encoders: their names.
        options: of every encoder.
        seconds: that each training takes, without what its last epoch takes longer.
        seed: of the sets and of the trainings.

    Raises ``ValueError`` for an encoder or an option that there is not, and for a time that is none.
    """
    from dgltree.encoders.make import check_encoder

    if seconds < 1:
        raise ValueError(f"seconds is {seconds}; it must be 1 or more")
    for name in encoders:
        check_encoder(name, options or ())
    sets = {each.name: each.data(seed) for each in PROBES}
    yield from _without_network(sets)
    for name in encoders:
        yield _row_of(name, dict(options or {}), sets, seconds, seed)


def _without_network(sets: Mapping[str, Mapping[str, TreeDataset]]) -> Iterator[ProbeRow]:
    """Yield the rows of the most frequent class, and of a linear model and a forest of the baseline's counts."""
    from sklearn.dummy import DummyClassifier
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    from dgltree.training.baseline.baseline import Columns, logs

    models: dict[str, Any] = {
        "chance": DummyClassifier(),
        "counts": LogisticRegression(),
        "forest": ExtraTreesClassifier(n_estimators=100, random_state=0),
    }
    found: dict[str, dict[str, float | None]] = {name: {} for name in models}
    for name, splits in sets.items():
        train = splits["train"].as_read()
        test = splits["test"].as_read()
        columns = Columns.of(train)
        train_counts = logs(columns(train))
        test_counts = logs(columns(test))
        train_labels = np.array([str(label) for label in train.labels])
        test_labels = np.array([str(label) for label in test.labels])
        for kind, model in models.items():
            with threadpool_limits(1), without_warnings():  # of a solver that could continue
                model.fit(train_counts, train_labels)
            is_right = model.predict(test_counts) == test_labels
            found[kind][name] = float(is_right.mean())
    for kind, accuracies in found.items():
        yield ProbeRow(name=kind, accuracies=accuracies, refusals={})


def _row_of(
    name: str, options: dict[str, Any], sets: Mapping[str, Mapping[str, TreeDataset]], seconds: int, seed: int
) -> ProbeRow:
    """Return the row of an encoder, which is trained on each set."""
    from dgltree.training.fitting import fit

    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    limit = f"{days}:{hours:02}:{minutes:02}:{rest:02}"
    accuracies: dict[str, float | None] = {}
    refusals: dict[str, str] = {}
    started = time.monotonic()
    for each, splits in sets.items():
        said = io.StringIO()
        try:
            with redirect_stdout(said), redirect_stderr(said):
                trained = fit(
                    splits["train"],
                    validation=splits["validation"],
                    test=splits["test"],
                    encoder=name,
                    options=options or None,
                    task="classify",
                    max_time=limit,
                    seed=seed,
                    **SETTINGS,
                )
                evaluated = trained.evaluate(splits["test"])
            right = evaluated.metrics["accuracy"] * evaluated.examples
            accuracies[each] = right / TEST  # what was refused counts as wrong
        except ValueError as error:
            accuracies[each] = None
            refusals[each] = str(error)
    return ProbeRow(name=name, accuracies=accuracies, seconds=time.monotonic() - started, refusals=refusals)
