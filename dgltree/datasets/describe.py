"""Description of a data set, as text."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch, unbatch
from dgltree.batching.vocabulary import NO_LABEL, UNKNOWN, Vocabulary
from dgltree.datasets.labels import absent, present, where
from dgltree.datasets.loading.from_file import list_bad_records
from dgltree.datasets.splitting import count_contradicted, node_digests
from dgltree.datasets.translation import stands_at
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.read.code import LANGUAGES, UNPARSED
from dgltree.read.leaf_values import moment, number
from dgltree.read.text import one_line
from dgltree.trees.tree import Tree

MAX_ROWS = 12
"""Rows of a table, and branches of the sample that is drawn."""
DRAWN = 40
"""Nodes of the sample at most."""
WIDTH = 40
"""Characters of the longest bar."""
NAME = 60
"""Characters of a name, about."""
MIN_ID_EXAMPLES, MAX_ID_EXAMPLES = 50, 1000
"""Examples by which a place is found to hold ids: of fewer, a measure may have different values by chance."""
MAX_ID_DEPTH = 8
"""Edges between a root and an id at most."""


def describe(data: TreeDataset, min_count: int) -> str:
    """Return counts, histograms, labels, duplicates, what would become ``<unk>``, and a drawn sample, as text.

    Args:
        data: the trees.
        min_count: a token that occurs at fewer nodes would become ``<unk>``.
    """
    sizes = data.sizes
    depths = Counter[int]()
    children = Counter[int]()
    for block in data.blocks():
        trees = block.trees
        depths.update(trees.level[trees.roots].tolist())
        nodes_with = torch.bincount(trees.arity[trees.arity > 0]).tolist()
        children.update(dict(enumerate(nodes_with)))
    trees_of, subtrees = _digests(data)
    parts = [
        _counts(data, sizes) + _broken(data),
        _histogram("depth of the trees", depths),
        _histogram("children of the inner nodes", +children, doubling=True),
        _functions(data),
        _tokens(data, min_count),
        _duplicates(data, trees_of, subtrees),
        _labels(data, trees_of),
        _node_labels(data),
        f"a tree of median size:\n{draw(_sample(data, sizes))}",
    ]
    if data.bad:
        parts.append(list_bad_records(data.bad))
    return "\n\n".join(part for part in parts if part)


def id_places(data: TreeDataset) -> list[str]:
    """Return the places, such as ``object.id``, with one leaf in each example whose text is different in every one.

    A place is the names of the functions from the root to the leaf. Numbers that are not whole, and dates, are
    measures that may differ everywhere. The first ``MAX_ID_EXAMPLES`` examples are looked at.
    """
    count = min(len(data), MAX_ID_EXAMPLES)
    if count < MIN_ID_EXAMPLES or data.each != 1:
        return []
    vocabulary = data.own_vocabulary
    names = list(dict.fromkeys(name for name, _ in vocabulary.functions))
    name_of = np.array([names.index(name) for name, _ in vocabulary.functions])
    leaves: list[np.ndarray] = []
    examples_before = 0
    for block in data.select(range(count)).blocks():
        leaves.append(_leaves_with_paths(block.trees, name_of, examples_before))
        examples_before += len(block.trees)
    table = np.concatenate(leaves)
    paths, path_of, leaves_of = np.unique(table[:, :-2], axis=0, return_inverse=True, return_counts=True)
    places = []
    for path in np.flatnonzero(leaves_of == count).tolist():
        examples, tokens = table[path_of.reshape(-1) == path, -2:].T
        is_in_each = len(np.unique(examples)) == count
        if is_in_each and len(np.unique(tokens)) == count and _may_be_ids(vocabulary, tokens):
            from_root = paths[path][::-1].tolist()
            places.append(".".join(names[name] for name in from_root if name >= 0))
    return places


def _leaves_with_paths(trees: TreeBatch, name_of: np.ndarray, examples_before: int) -> np.ndarray:
    """Return (leaves, MAX_ID_DEPTH + 3) int64, the names from each leaf up to its root, its example and its token.

    A path is padded with -1 after the root. A leaf at a greater depth than ``MAX_ID_DEPTH`` has no row.

    Args:
        trees: a block of the data set.
        name_of: (functions,) the name of each function.
        examples_before: of the blocks before this one.
    """
    function = trees.function.numpy()
    token = trees.token.numpy()
    parent = np.full(len(token), -1)
    parent[trees.child_index.numpy()] = trees.parent_index.numpy()
    leaves = np.flatnonzero((token >= 0) & (trees.arity.numpy() == 0))
    paths = np.full((len(leaves), MAX_ID_DEPTH + 1), -1)
    node = leaves
    for edge in range(MAX_ID_DEPTH + 1):
        is_node = node >= 0
        paths[is_node, edge] = name_of[function[node[is_node]]]
        node = np.where(is_node, parent[node], -1)
    example = examples_before + np.repeat(np.arange(len(trees)), trees.sizes.numpy())
    table = np.column_stack([paths, example[leaves], token[leaves]])
    return table[node < 0]


def _may_be_ids(vocabulary: Vocabulary, tokens: np.ndarray) -> bool:
    """Return whether the tokens are texts or whole numbers, not dates."""
    texts = [vocabulary.tokens[token] for token in tokens.tolist()]
    values = [number(text) for text in texts]
    if None in values:
        return any(moment(text) is None for text in texts)
    return all(float(value).is_integer() for value in values if value is not None)


def _counts(data: TreeDataset, sizes: Tensor) -> str:
    kind = "trees" if data.each == 1 else "pairs"
    mean = float(sizes.double().mean())
    spread = f"mean {mean:.1f}, median {int(sizes.median())}, largest {int(sizes.max()):,}"
    return f"{len(data):,} {kind}{data.reading.read_as}\n{data.num_nodes:,} nodes; nodes of an example: {spread}"


def _broken(data: TreeDataset) -> str:
    """Return how many files or functions have code that does not parse: C++ has macros, which are not expanded."""
    if data.reading.notation not in LANGUAGES:
        return ""
    functions = enumerate(data.own_vocabulary.functions)
    unparsed = torch.tensor([i for i, (name, _) in functions if name in UNPARSED])
    count = 0
    for block in data.blocks():
        is_unparsed = torch.isin(block.trees.function, unparsed)
        tree = torch.arange(len(block.trees.sizes)).repeat_interleave(block.trees.sizes)
        count += len(tree[is_unparsed].unique())
    if not count:
        return ""
    share = count / len(data)
    return f"\n{count:,} trees ({share:.0%}) contain code that does not parse, below {' or '.join(UNPARSED)}"


def _histogram(what: str, values: Counter[int], doubling: bool = False) -> str:
    """Return a bar for each value, or where there are many for ranges of equal width, or each twice as wide."""
    if not values:
        return ""
    low = min(values)
    high = max(values)
    width = math.ceil((high - low + 1) / MAX_ROWS)
    starts = list(range(low, high + 1, width))
    if doubling and width > 1:
        powers = range((high - low).bit_length())
        starts = [low, *(low + 2**power for power in powers)]
    bins = np.searchsorted(starts, list(values), side="right") - 1
    counts = np.bincount(bins, list(values.values()), len(starts)).astype(np.int64)
    rows = []
    for start, stop, count in zip(starts, [*starts[1:], high + 1], counts.tolist(), strict=True):
        name = f"{start}" if stop == start + 1 else f"{start} to {stop - 1}"
        rows.append((name, count))
    return f"{what}:\n{_bars(rows)}"


def _bars(rows: Sequence[tuple[str, int]]) -> str:
    names = [one_line(name, NAME) for name, _ in rows]
    widest = max(len(name) for name in names)
    most = max(count for _, count in rows)
    lines = []
    for name, (_, count) in zip(names, rows, strict=True):
        bar = "#" * math.ceil(WIDTH * count / most)
        lines.append(f"  {name:>{widest}}  {count:>11,}  {bar}".rstrip())
    return "\n".join(lines)


def _most(counts: Counter[str]) -> str:
    rows = counts.most_common(MAX_ROWS)
    rest = len(counts) - len(rows)
    return _bars(rows) + (f"\n  and {rest:,} more" if rest else "")


def _functions(data: TreeDataset) -> str:
    vocabulary = data.own_vocabulary
    numbers, _ = stands_at((block.trees for block in data.blocks()), vocabulary)
    counts: Counter[str] = Counter()
    for (name, arity), count in zip(vocabulary.functions, numbers.tolist(), strict=True):
        counts[f"{name}/{arity}"] += count
    return f"functions, each with its number of children: {len(counts):,} different functions\n{_most(counts)}"


def _tokens(data: TreeDataset, min_count: int) -> str:
    vocabulary = data.own_vocabulary
    _, nodes_of = stands_at((block.trees for block in data.blocks()), vocabulary)
    counts = Counter(dict(zip(vocabulary.tokens, nodes_of.tolist(), strict=True)))
    total = int(nodes_of.sum())
    text = f"tokens: {len(counts):,} different tokens at {total:,} nodes\n{_most(counts)}" if counts else "no tokens"
    rare = nodes_of[nodes_of < min_count]
    if len(rare):
        times = "only once" if min_count == 2 else f"fewer than {min_count} times"
        share = f"{int(rare.sum()) / max(total, 1):.1%} of the nodes with a token"
        text += f"\n  {len(rare):,} tokens occur {times}; fit would read these tokens as {UNKNOWN} ({share})"
    return text + _range_of_values(data)


def _range_of_values(data: TreeDataset) -> str:
    """Return how many leaves are numbers, and from where to where they are."""
    count = 0
    low = math.inf
    high = -math.inf
    for block in data.blocks():
        if block.trees.value is None:
            continue
        values = block.trees.value[~block.trees.value.isnan()]
        if len(values):
            count += len(values)
            low = min(low, float(values.min()))
            high = max(high, float(values.max()))
    return f"\n  {count:,} leaves are numbers, from {low:g} to {high:g}" if count else ""


def _digests(data: TreeDataset) -> tuple[np.ndarray, int]:
    """Return the digests of the trees (E, 1 or 2) and the number of different subtrees, by one look at all nodes."""
    of_trees = []
    of_subtrees = []
    for of_nodes, roots in node_digests(data):
        of_trees.append(of_nodes[roots])
        of_subtrees.append(np.unique(of_nodes))
    return np.concatenate(of_trees).reshape(-1, data.each), len(np.unique(np.concatenate(of_subtrees)))


def _duplicates(data: TreeDataset, trees_of: np.ndarray, subtrees: int) -> str:
    whole = 1 - len(np.unique(trees_of, axis=0)) / len(data)
    below = 1 - subtrees / data.num_nodes
    return f"duplicates: {whole:.1%} of the examples, {below:.1%} of all subtrees"


def _labels(data: TreeDataset, trees_of: np.ndarray) -> str:
    found = [_known_labels(data), absent(data)]
    if several := count_contradicted(data, trees_of):
        found.append(f"{several:,} examples have trees that occur with different labels")
    return "\n".join(line for line in found if line)


def _known_labels(data: TreeDataset) -> str:
    labels = present(data)
    if not labels:
        return f"no labels ({where(data.reading)})"
    counts = Counter(labels)
    title = f"labels: {len(counts):,} different labels on {len(labels):,} of {len(data):,} examples"
    if any(number(label) is None for label in counts):
        return f"{title}:\n{_most(counts)}"
    if len(counts) <= MAX_ROWS:
        rising = sorted(counts.items(), key=lambda item: float(item[0]))
        return f"{title}:\n{_bars(rising)}"
    numbers = np.array([float(label) for label in labels])
    ends = f"from {numbers.min():g} to {numbers.max():g}"
    return f"{title}: numbers {ends}, mean {numbers.mean():g}, standard deviation {numbers.std():g}"


def _node_labels(data: TreeDataset) -> str:
    count = sum(int((block.trees.label != NO_LABEL).sum()) for block in data.blocks())
    return f"labels at {count:,} nodes; fit --nodes learns from these labels" if count > data.each * len(data) else ""


def _sample(data: TreeDataset, sizes: Tensor) -> Tree:
    """Return a tree of median size, the first one of a pair."""
    order = torch.argsort(sizes, stable=True)
    middle = int(order[len(order) // 2])
    return unbatch(data.select([middle]).trees)[0]


def draw(tree: Tree, most: int = DRAWN) -> str:
    """Return a tree as indented text, a node a line, at most so many."""
    lines: list[str] = []
    pending: list[tuple[Tree, str, str]] = [(tree, "  ", "  ")]  # a node, what precedes it, what precedes its children
    while pending and len(lines) < most:
        node, before, below = pending.pop()
        line = before + one_line(node.function, NAME)
        if node.token is not None:
            line += f" {one_line(repr(node.token), NAME)}"
        elif node.value is not None:
            line += f" {node.value:g}"
        lines.append(line)
        children = [(child, f"{below}├─ ", f"{below}│  ") for child in node.children]
        if children:
            children[-1] = node.children[-1], f"{below}└─ ", f"{below}   "
        pending.extend(reversed(children))
    if pending:
        lines.append(f"  ... {tree.size - most:,} more nodes")
    return "\n".join(lines)
