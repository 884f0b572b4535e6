"""What a linear model of a tree's bag of nodes reaches: a figure beside every training. Needs scikit-learn.

The features of a tree are the counts of its functions, of its nodes (function and token), and of its pairs of parent
and child, once by their functions and once by functions and tokens; logistic regression for classes, ridge regression
for numbers. The strength of the penalty is chosen by validation, as the epoch of the model is.
"""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_matrix, hstack
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.batching.vocabulary import NO_TOKEN
from dgltree.datasets.batches import label_numbers
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.training.evaluation import Evaluation, of_classes, of_numbers

PENALTIES = (0.01, 0.1, 1.0)
"""Inverse strengths of the L2 penalty, of which validation chooses one."""
LEAST = 2
"""Training examples that a feature occurs in at least."""
STEPS = 200
"""Iterations of the solver at most: figures hardly change behind them."""


class Features(NamedTuple):
    """Which columns there are: those that occur in enough training examples."""

    known: list[np.ndarray]
    """Of each kind of feature its codes, sorted."""

    @classmethod
    def of(cls, data: TreeDataset) -> "Features":
        """The features of a training set."""
        known = []
        for trees, codes in _coded(data):
            pairs = np.unique(np.stack([codes, trees]), axis=1)
            found, counts = np.unique(pairs[0], return_counts=True)
            known.append(found[counts >= LEAST])
        return cls(known)

    def __call__(self, data: TreeDataset) -> csr_matrix:
        """(E, columns) float64, log(1 + count)."""
        columns = []
        for known, (trees, codes) in zip(self.known, _coded(data), strict=True):
            place = np.searchsorted(known, codes)
            there = (
                (place < len(known)) & (known[np.minimum(place, len(known) - 1)] == codes) if len(known) else place < 0
            )
            ones = np.ones(int(there.sum()))
            counts = csr_matrix((ones, (trees[there], place[there])), shape=(len(data), max(1, len(known))))
            counts.sum_duplicates()
            columns.append(counts.log1p())
        return hstack(columns, format="csr")


def baseline(splits: dict[str, TreeDataset], classes: Sequence[str]) -> dict[str, Evaluation]:
    """The metrics of the other splits after a fit on the training split; of numbers where there are no classes."""
    train = splits["train"]
    features = Features.of(train)
    x = {name: features(data) for name, data in splits.items()}
    y = {name: label_numbers(data.labels, classes or None) for name, data in splits.items()}
    best: dict[str, Evaluation] = {}
    for penalty in PENALTIES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of sklearn, that the solver could go on
            model = _model(penalty, bool(classes)).fit(x["train"], y["train"].numpy())
        found = {name: _evaluated(model, x[name], y[name], classes) for name in splits if name != "train"}
        if not best or _figure(found["validation"]) > _figure(best["validation"]):
            best = found
    return best


def _model(penalty: float, classes: bool) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge

    return LogisticRegression(C=penalty, max_iter=STEPS) if classes else Ridge(alpha=1 / penalty, solver="lsqr")


def _evaluated(model: Any, x: csr_matrix, labels: Tensor, classes: Sequence[str]) -> Evaluation:
    answers = torch.from_numpy(np.asarray(model.predict(x)))
    return of_classes(answers.long(), labels, tuple(classes)) if classes else of_numbers(answers.float(), labels)


def _figure(found: Evaluation) -> float:
    return next(iter(found.metrics.values()))


def _coded(data: TreeDataset) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each kind of feature, example and code of each occurrence; the trees of a pair have codes of their own."""
    trees = data.trees
    assert trees.vocabulary is not None
    side = np.repeat(np.arange(len(trees)), trees.sizes.numpy())
    function, symbol = trees.function.numpy(), _symbols(trees)
    parent, child = trees.parent_index.numpy(), trees.child_index.numpy()
    found = []
    for size, codes in ((len(trees.vocabulary.functions), function), (_bound(trees), symbol)):
        found.append((side, codes))
        found.append((side[parent], codes[parent] * size + codes[child]))
    return [(example // data.each, codes * data.each + example % data.each) for example, codes in found]


def _bound(trees: TreeBatch) -> int:
    """One more than the highest symbol of the vocabulary."""
    assert trees.vocabulary is not None
    return len(trees.vocabulary.functions) * (len(trees.vocabulary.tokens) + 1)


def _symbols(trees: TreeBatch) -> np.ndarray:
    """(N,) int64: function and token of each node in one number."""
    assert trees.vocabulary is not None
    token = np.where(trees.token.numpy() == NO_TOKEN, len(trees.vocabulary.tokens), trees.token.numpy())
    return trees.function.numpy() * np.int64(len(trees.vocabulary.tokens) + 1) + token
