"""Description of a data set, as text."""

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
    """Counts, histograms, labels, shares of duplicates, what would become ``<unk>``, and a drawn sample.

    Args:
        data: the trees.
        min_count: a token that occurs at fewer nodes would become ``<unk>``.
    """
    sizes, depths, children = data.sizes, Counter[int](), Counter[int]()
    for trees in (block.trees for block in data.blocks()):
        depths.update(trees.level[trees.roots].tolist())
        children.update(dict(enumerate(torch.bincount(trees.arity[trees.arity > 0]).tolist())))
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
    """The places, such as ``object.id``, with one leaf in each example whose text is different in every one.

    A place is the names of the functions from the root to the leaf. Numbers that are not whole, and dates, are
    measures that may differ everywhere. The first ``MAX_ID_EXAMPLES`` examples are looked at.
    """
    count = min(len(data), MAX_ID_EXAMPLES)
    if count < MIN_ID_EXAMPLES or data.each != 1:
        return []
    vocabulary, rows = data.own_vocabulary, []
    names = list(dict.fromkeys(name for name, _ in vocabulary.functions))
    name_of = np.array([names.index(name) for name, _ in vocabulary.functions])
    first = 0
    for block in data.select(range(count)).blocks():
        trees = block.trees
        parent = np.full(len(trees.token), -1)
        parent[trees.child_index.numpy()] = trees.parent_index.numpy()
        token = trees.token.numpy()
        leaves = np.flatnonzero((token >= 0) & (trees.arity.numpy() == 0))
        path, node = np.full((len(leaves), MAX_ID_DEPTH + 1), -1), leaves
        for edge in range(MAX_ID_DEPTH + 1):
            path[:, edge] = np.where(node >= 0, name_of[trees.function.numpy()[node]], -1)
            node = np.where(node >= 0, parent[node], -1)
        example = first + np.repeat(np.arange(len(trees)), trees.sizes.numpy())[leaves]
        rows.append(np.column_stack([path, example, token[leaves]])[node < 0])
        first += len(trees)
    found = np.concatenate(rows)
    paths, of_path, leaves_of = np.unique(found[:, :-2], axis=0, return_inverse=True, return_counts=True)
    places = []
    for k in np.flatnonzero(leaves_of == count).tolist():
        example, token = found[of_path.reshape(-1) == k, -2:].T
        if len(np.unique(example)) == len(np.unique(token)) == count and _may_be_ids(vocabulary, token):
            places.append(".".join(names[name] for name in paths[k][::-1].tolist() if name >= 0))
    return places


def _may_be_ids(vocabulary: Vocabulary, tokens: np.ndarray) -> bool:
    """Whether they are texts or whole numbers, not dates."""
    texts = [vocabulary.tokens[token] for token in tokens.tolist()]
    values = [number(text) for text in texts]
    if None in values:
        return any(moment(text) is None for text in texts)
    return all(float(value).is_integer() for value in values if value is not None)


def _counts(data: TreeDataset, sizes: Tensor) -> str:
    kind = "trees" if data.each == 1 else "pairs"
    notation = data.reading.read_as
    sizes = sizes.double()
    middle = f"mean {sizes.mean():.1f}, median {int(sizes.median())}, largest {int(sizes.max()):,}"
    return f"{len(data):,} {kind}{notation}\n{data.num_nodes:,} nodes; nodes of an example: {middle}"


def _broken(data: TreeDataset) -> str:
    """How many files or functions have code that does not parse: C++ has macros, which are not expanded."""
    if data.reading.notation not in LANGUAGES:
        return ""
    functions = enumerate(data.own_vocabulary.functions)
    unparsed = torch.tensor([i for i, (name, _) in functions if name in UNPARSED])
    count = 0
    for block in data.blocks():
        is_unparsed = torch.isin(block.trees.function, unparsed)
        tree = torch.arange(len(block.trees.sizes)).repeat_interleave(block.trees.sizes)
        count += len(tree[is_unparsed].unique())
    share = count / len(data)
    return (
        f"\n{count:,} trees ({share:.0%}) contain code that does not parse, below {' or '.join(UNPARSED)}"
        if count
        else ""
    )


def _histogram(what: str, values: Counter[int], doubling: bool = False) -> str:
    """A bar for each value, or where there are many for ranges of equal width, or each twice as wide as the last."""
    if not values:
        return ""
    low, high = min(values), max(values)
    width = -(-(high - low + 1) // MAX_ROWS)
    starts = list(range(low, high + 1, width))
    if doubling and width > 1:
        starts = [low, *(low + 2**k for k in range((high - low).bit_length()))]
    places = np.searchsorted(starts, list(values), side="right") - 1
    counts = np.bincount(places, list(values.values()), len(starts)).astype(np.int64)
    rows = []
    for start, stop, count in zip(starts, [*starts[1:], high + 1], counts.tolist(), strict=True):
        rows.append((f"{start}" if stop == start + 1 else f"{start} to {stop - 1}", count))
    return f"{what}:\n{_bars(rows)}"


def _bars(rows: Sequence[tuple[str, int]]) -> str:
    rows = [(one_line(name, NAME), count) for name, count in rows]
    most, wide = max(count for _, count in rows), max(len(name) for name, _ in rows)
    return "\n".join(
        f"  {name:>{wide}}  {count:>11,}  {'#' * -(-WIDTH * count // most)}".rstrip() for name, count in rows
    )


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
    _, numbers = stands_at((block.trees for block in data.blocks()), vocabulary)
    counts = Counter(dict(zip(vocabulary.tokens, numbers.tolist(), strict=True)))
    total, rare = int(numbers.sum()), numbers[numbers < min_count]
    text = f"tokens: {len(counts):,} different tokens at {total:,} nodes\n{_most(counts)}" if counts else "no tokens"
    if len(rare):
        times = "only once" if min_count == 2 else f"fewer than {min_count} times"
        share = f"{int(rare.sum()) / max(total, 1):.1%} of the nodes with a token"
        text += f"\n  {len(rare):,} tokens occur {times}; fit would read these tokens as {UNKNOWN} ({share})"
    values = [found for block in data.blocks() if len(found := _values(block.trees))]
    if values:
        low, high = min(float(found.min()) for found in values), max(float(found.max()) for found in values)
        text += f"\n  {sum(map(len, values)):,} leaves are numbers, from {low:g} to {high:g}"
    return text


def _values(trees: TreeBatch) -> Tensor:
    return torch.empty(0) if trees.value is None else trees.value[~trees.value.isnan()]


def _digests(data: TreeDataset) -> tuple[np.ndarray, int]:
    """The digests of the trees (E, 1 or 2), and how many different subtrees there are, by one look at all nodes."""
    roots, kinds = [], []
    for of_nodes, of_block in node_digests(data):
        roots.append(of_nodes[of_block])
        kinds.append(np.unique(of_nodes))
    return np.concatenate(roots).reshape(-1, data.each), len(np.unique(np.concatenate(kinds)))


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
    known = present(data)
    if not known:
        return f"no labels ({where(data.reading)})"
    counts = Counter(known)
    title = f"labels: {len(counts):,} different labels on {len(known):,} of {len(data):,} examples"
    if any(number(label) is None for label in counts):
        return f"{title}:\n{_most(counts)}"
    numbers = np.array([float(label) for label in known])
    if len(counts) <= MAX_ROWS:
        return f"{title}:\n{_bars(sorted(counts.items(), key=lambda item: float(item[0])))}"
    spread = (
        f"from {numbers.min():g} to {numbers.max():g}, mean {numbers.mean():g}, standard deviation {numbers.std():g}"
    )
    return f"{title}: numbers {spread}"


def _node_labels(data: TreeDataset) -> str:
    count = sum(int((block.trees.label != NO_LABEL).sum()) for block in data.blocks())
    return f"labels at {count:,} nodes; fit --nodes learns from these labels" if count > data.each * len(data) else ""


def _sample(data: TreeDataset, sizes: Tensor) -> Tree:
    """A tree of median size, or the largest one that can be drawn if that is smaller."""
    order = torch.argsort(sizes, stable=True)
    middle = int(order[len(order) // 2])
    return unbatch(data.select([middle]).trees)[0]


def draw(tree: Tree, most: int = DRAWN) -> str:
    """A tree as indented text, a node a line, at most so many."""
    lines: list[str] = []
    stack: list[tuple[Tree, str, str]] = [(tree, "  ", "  ")]
    while stack and len(lines) < most:
        node, here, below = stack.pop()
        value = "" if node.value is None else f" {node.value:g}"
        token = "" if node.token is None else f" {one_line(repr(node.token), NAME)}"
        lines.append(here + one_line(node.function, NAME) + (token or value))
        for i, child in reversed(list(enumerate(node.children))):
            last = i == len(node.children) - 1
            stack.append((child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  ")))
    if stack:
        lines.append(f"  ... {tree.size - most:,} more nodes")
    return "\n".join(lines)
