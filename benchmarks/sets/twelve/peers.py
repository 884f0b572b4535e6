"""The peers: n-grams, counts of subtrees, trees of decisions, and a graph network, of the trees that ``fit`` reads."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from sklearn.compose import TransformedTargetRegressor
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest, f_classif, f_regression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from benchmarks.sets.estimators import boosted, fit_models, forests, linear
from benchmarks.sets.gin import GraphTraining, RowGraphs, candidates
from benchmarks.sets.peer_answers import Answered, choose_candidate
from benchmarks.sets.twelve.rows import LabelledTree, TreeParts
from dgltree.trees.tree import Tree

GRAMS = (1, 3)
"""Names in a row, in preorder."""
HEIGHT = 3
"""Of subtrees (Weisfeiler and Lehman; Shervashidze et al. 2011)."""
COLUMNS, ROUNDS, RATES = 300, 100, (0.1,)
"""Of forests and boosted trees: the columns with the highest F; rounds and rates."""
SIZES, EPOCHS, PATIENCE = ((64, 4),), 50, 10
"""Of the graph network."""
PLACES = 8
"""Of children that are told apart by their edges; the last one is for all further ones."""
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def ngrams(parts: TreeParts, classes: int, seed: int) -> Answered:
    """N-grams of names in preorder, with a linear model."""
    models = (
        (name, make_pipeline(TfidfVectorizer(analyzer=_grams), model)) for name, model in _on_scales(linear, classes)
    )
    return choose_candidate(fit_models("n-grams + linear", _trees, models, parts), parts, bool(classes))


def subtrees(parts: TreeParts, classes: int, seed: int) -> Answered:
    """Logarithms of counts of subtrees, and sums of numbers, with a linear model."""
    models = (
        (name, make_pipeline(DictVectorizer(), FunctionTransformer(_logs), model))
        for name, model in _on_scales(linear, classes)
    )
    return choose_candidate(fit_models("subtrees + linear", _counts(HEIGHT), models, parts), parts, bool(classes))


def decisions(parts: TreeParts, classes: int, seed: int) -> Answered:
    """Counts of low subtrees, and sums of numbers, with boosted trees or a forest."""
    test = f_classif if classes else f_regression

    def made(kind: Callable[[bool], Iterator[tuple[str, Any]]]) -> Iterator[tuple[str, Any]]:
        for name, model in _on_scales(kind, classes):
            yield name, make_pipeline(DictVectorizer(sparse=False), _Best(test), model)

    features = _counts(1)
    by_boosting = fit_models("boosting", features, made(lambda of: boosted(of, seed, ROUNDS, RATES)), parts)
    by_forest = fit_models("forest", features, made(lambda of: forests(of, seed)), parts)
    return choose_candidate([*by_boosting, *by_forest], parts, bool(classes))


def gin(parts: TreeParts, classes: int, seed: int) -> Answered:
    """A graph isomorphism network of the nodes, with edges to and from each child by its place."""
    graphs = _TreeGraphs(parts.train)
    same, asinh = (lambda x: x, lambda x: x), (torch.asinh, torch.sinh)
    found = [
        one
        for scale in ((same,) if classes else (same, asinh))
        for one in candidates(parts, graphs.graphs, GraphTraining(classes, seed, SIZES, EPOCHS, PATIENCE, scale))
    ]
    return choose_candidate(found, parts, bool(classes))


class _Best(SelectKBest):
    """The columns with the highest F, all where there are fewer."""

    def __init__(self, score_func: Any = f_classif) -> None:
        super().__init__(score_func, k=COLUMNS)

    def fit(self, X: Any, y: Any) -> "_Best":
        self.k = min(COLUMNS, X.shape[1])
        with np.errstate(all="ignore"):  # a column of one value
            super().fit(X, y)
        return self


def _on_scales(kind: Callable[[bool], Iterator[tuple[str, Any]]], classes: int) -> Iterator[tuple[str, Any]]:
    """Models of a kind; of numbers each on their own scale and on that of asinh."""
    yield from kind(bool(classes))
    for name, model in () if classes else kind(False):
        yield f"{name}, asinh", TransformedTargetRegressor(model, func=np.arcsinh, inverse_func=np.sinh)


def _name(node: Tree) -> str:
    return node.function if node.token is None else f"{node.function} {node.token.lower()}"


def _number(node: Tree) -> float | None:
    return float(node.token) if node.token is not None and NUMBER.fullmatch(node.token) else None


def _trees(rows: Sequence[LabelledTree]) -> list[Tree]:
    return [row.tree for row in rows]


def _grams(tree: Tree) -> list[str]:
    names = [_name(node) for node in tree.preorder()]
    return [
        " | ".join(names[start : start + count])
        for count in range(GRAMS[0], GRAMS[1] + 1)
        for start in range(len(names) - count + 1)
    ]


def _counts(height: int) -> Callable[[Sequence[LabelledTree]], list[dict[str, float]]]:
    """Subtrees of up to this height, pairs of neighbours below a node, and sums of numbers, of each tree."""

    def of(tree: Tree) -> dict[str, float]:
        found: Counter[str] = Counter()
        sums: dict[str, float] = {}

        def visit(node: Tree, below: list[list[str]]) -> list[str]:
            own = _name(node)
            levels = [own]
            for level in range(height if below else 0):
                levels.append(f"{own}({','.join(child[min(level, len(child) - 1)] for child in below)})")
            found.update(f"{level} {text}" for level, text in enumerate(levels))
            found.update(f"in {node.function}: {child[0]}" for child in below)
            found.update(f"{one[0]} then {other[0]}" for one, other in pairwise(below))
            for place, child in enumerate(node.children):
                if (number := _number(child)) is not None:
                    for column in (f"sum {node.function}", f"sum {node.function} {place}"):
                        sums[column] = sums.get(column, 0.0) + number
            return levels

        tree.fold(visit)
        return dict(found) | sums | {"nodes": tree.size, "depth": tree.depth}

    return lambda rows: [of(row.tree) for row in rows]


def _logs(counts: Any) -> Any:
    found = counts.copy()
    found.data = np.sign(found.data) * np.log1p(np.abs(found.data))
    return found


class _TreeGraphs:
    """Trees as graphs, with the names that occur twice in the trees to train on."""

    def __init__(self, rows: Sequence[LabelledTree]) -> None:
        nodes = [node for row in rows for node in row.tree.preorder()]
        self.names = [self._known(node.function for node in nodes), self._known(map(self._token, nodes))]
        numbers = np.arcsinh([number for node in nodes if (number := _number(node)) is not None] or [0.0, 1.0])
        self.mean, self.deviation = float(numbers.mean()), float(numbers.std()) + 1e-6
        self.graphs = RowGraphs(self._of, [len(names) + 1 for names in self.names], [2 * PLACES], 1)

    @staticmethod
    def _known(names: Any) -> dict[str, int]:
        often = sorted(name for name, count in Counter(names).items() if count > 1)
        return {name: place for place, name in enumerate(often, 1)}

    @staticmethod
    def _token(node: Tree) -> str:
        return (node.token or "").lower()

    def _of(self, rows: Sequence[LabelledTree]) -> list[Any]:
        return [self._graph(row.tree) for row in rows]

    def _graph(self, tree: Tree) -> Any:
        from torch_geometric.data import Data

        nodes: list[tuple[int, int, float]] = []
        edges: list[tuple[int, int, int]] = []
        waiting = [(tree, -1, 0)]
        while waiting:
            node, parent, place = waiting.pop()
            number, own = _number(node), len(nodes)
            scaled = 0.0 if number is None else float((np.arcsinh(number) - self.mean) / self.deviation)
            nodes.append((self.names[0].get(node.function, 0), self.names[1].get(self._token(node), 0), scaled))
            if parent >= 0:
                kind = 2 * min(place, PLACES - 1)
                edges += [(own, parent, kind), (parent, own, kind + 1)]
            waiting += [(child, own, at) for at, child in enumerate(node.children)]
        ends = torch.tensor([edge[:2] for edge in edges], dtype=torch.long).view(-1, 2).T.contiguous()
        return Data(
            x=torch.tensor([node[:2] for node in nodes]),
            numbers=torch.tensor([node[2:] for node in nodes]),
            edge_index=ends,
            edge_attr=torch.tensor([edge[2:] for edge in edges], dtype=torch.long).view(-1, 1),
            num_nodes=len(nodes),
        )
