"""The sentences that commands print about a table of S-expressions, from the table alone, with a parser of its own."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

BAR, MOST = 40, 12


class Node(NamedTuple):
    """A list, or an atom."""

    function: str
    children: tuple["Node", ...] = ()
    token: str | None = None


class Row(NamedTuple):
    """A line of the table that could be read."""

    line: int
    id: str
    tree: Node
    label: str
    split: str
    group: str


def parsed(text: str) -> Node:
    """The tree of an S-expression whose brackets match."""
    words = text.replace("(", "( ").replace(")", " )").split()
    position = 0

    def node() -> Node:
        nonlocal position
        word = words[position]
        position += 1
        if word != "(":
            return Node("atom", token=word)
        function, children = words[position], []
        position += 1
        while words[position] != ")":
            children.append(node())
        position += 1
        return Node(function, tuple(children))

    return node()


def nodes(tree: Node) -> list[Node]:
    """All of a tree, in preorder."""
    return [tree, *(below for child in tree.children for below in nodes(child))]


def depth(tree: Node) -> int:
    return 1 + max(map(depth, tree.children)) if tree.children else 0


def written(tree: Node) -> str:
    return f"({tree.function} {' '.join(map(written, tree.children))})" if tree.children else str(tree.token)


def several(names: Sequence[str]) -> str:
    """Five of them."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")


def contradicted(rows: Iterable[Row]) -> int:
    """How many have a tree that has another label, too."""
    labels: dict[Node, set[str]] = {}
    for row in rows:
        labels.setdefault(row.tree, set()).add(row.label)
    return sum(len(labels[row.tree]) > 1 for row in rows)


def known(train: Iterable[Row]) -> tuple[set[tuple[str, int]], set[str]]:
    """Functions with their numbers of children, and tokens, that occur twice in training."""
    every = [node for row in train for node in nodes(row.tree)]
    functions = Counter((node.function, len(node.children)) for node in every)
    tokens = Counter(node.token for node in every if node.token is not None)
    return {name for name, n in functions.items() if n > 1}, {name for name, n in tokens.items() if n > 1}


def unknown(splits: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """The shares that are read as ``<unk>``."""
    functions, tokens = known(splits["train"])
    kinds: dict[str, Callable[[Node], bool | None]] = {
        "functions": lambda node: (node.function, len(node.children)) not in functions,
        "tokens": lambda node: None if node.token is None else node.token not in tokens,
    }
    for what, strange in kinds.items():
        shares = {}
        for name, rows in splits.items():
            found = [each for row in rows for node in nodes(row.tree) if (each := strange(node)) is not None]
            shares[name] = sum(found) / len(found)
        if any(shares.values()):
            yield f"{what} read as <unk>: " + ", ".join(f"{share:.1%} in {name}" for name, share in shares.items())


def of_classes(splits: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """How often they occur."""
    train = Counter(row.label for row in splits["train"])
    yield f"{len(train)} classes, with {min(train.values())} to {max(train.values())} training examples"
    lacking = {
        "one training example": sorted(name for name, count in train.items() if count == 1),
        "no validation example": sorted(set(train) - {row.label for row in splits["validation"]}),
        "no test example": sorted(set(train) - {row.label for row in splits["test"]}),
    }
    for what, names in lacking.items():
        if names:
            have = "1 class has" if len(names) == 1 else f"{len(names)} classes have"
            yield f"{have} {what}: {several(names)}"


def shared(splits: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """What is in training, too."""
    trees, groups = ({getattr(row, of) for row in splits["train"]} for of in ("tree", "group"))
    others = {name: rows for name, rows in splits.items() if name != "train"}
    for name, rows in others.items():
        if count := sum(row.tree in trees for row in rows):
            yield f"warning: {count} of {len(rows)} {name} examples also occur in the training set"
    for name, rows in others.items():
        if count := len({row.group for row in rows} & groups):
            yield (
                f"warning: {count} files or groups of the {name} set also have examples in the training set; "
                "--group-by file keeps each in one split"
            )


def _bars(counts: Sequence[tuple[str, int]]) -> list[str]:
    wide, most = max(len(name) for name, _ in counts), max(count for _, count in counts)
    return [f"  {name:>{wide}}  {count:>11,}  {'#' * int(np.ceil(BAR * count / most))}" for name, count in counts]


def _sorted(counts: Counter[str]) -> list[tuple[str, int]]:
    assert len(counts) <= MOST
    return sorted(counts.items(), key=lambda item: -item[1])


def described(rows: Sequence[Row], numbers: bool) -> dict[str, list[str]]:
    """What ``inspect`` prints, by the first line of each part: the lines below it, in any order where counts tie."""
    every = [nodes(row.tree) for row in rows]
    flat = [node for tree in every for node in tree]
    sizes = sorted(map(len, every))
    tokens = Counter(node.token for node in flat if node.token is not None)
    functions = Counter(f"{node.function}/{len(node.children)}" for node in flat)
    rare = [name for name, count in tokens.items() if count == 1]
    depths = Counter(str(depth(row.tree)) for row in rows)
    children = Counter(str(len(node.children)) for node in flat if node.children)
    below = [node for tree in every for node in tree]
    labels = Counter(row.label for row in rows if row.label)
    values = np.array([float(label) for label in labels.elements()]) if numbers else None
    title = f"labels: {len(labels)} different labels on {labels.total()} of {len(rows)} examples"
    middle = f"mean {np.mean(sizes):.1f}, median {sizes[(len(sizes) - 1) // 2]}, largest {sizes[-1]}"
    duplicates = 1 - len({row.tree for row in rows}) / len(rows), 1 - len(set(below)) / len(flat)
    clashing = contradicted([row for row in rows if row.label])
    told = [f"{clashing} examples have trees that occur with different labels"] if clashing else []
    found = {
        f"{len(rows)} trees, read as sexpr": [f"{len(flat):,} nodes; nodes of an example: {middle}"],
        "depth of the trees:": _bars([(name, depths[name]) for name in sorted(depths)]),
        "children of the inner nodes:": _bars([(name, children[name]) for name in sorted(children)]),
        f"functions, each with its number of children: {len(functions)} different functions": _bars(_sorted(functions)),
        f"tokens: {len(tokens)} different tokens at {tokens.total()} nodes": [
            *_bars(_sorted(tokens)),
            f"  {len(rare)} tokens occur only once; fit would read these tokens as <unk> "
            f"({len(rare) / tokens.total():.1%} of the nodes with a token)",
        ],
        f"duplicates: {duplicates[0]:.1%} of the examples, {duplicates[1]:.1%} of all subtrees": [],
    }
    if values is None:
        return found | {f"{title}:": [*_bars(_sorted(labels)), *told]}
    spread = f"from {values.min():g} to {values.max():g}, mean {values.mean():g}, standard deviation {values.std():g}"
    return found | {f"{title}: numbers {spread}": told}
