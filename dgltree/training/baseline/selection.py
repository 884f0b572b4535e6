"""Which baseline a training has: by scikit-learn's cross-validation on the training set alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.feature_selection import SelectKBest, f_classif, f_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_limits

from dgltree.batching.number_scales import NumberScales
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.models.label_scales import AS_THEY_ARE, LabelScale
from dgltree.support.unwarned import without_warnings
from dgltree.training.baseline.baseline import Baseline, Columns, logs
from dgltree.training.baseline.forest import Forest
from dgltree.training.objectives import Objective
from dgltree.training.objectives.class_means import MIN_PROBABILITY

STRENGTHS = (1.0, 10.0, 100.0)
"""Inverse strengths of the L2 penalty, for rows whose mean square is 1."""
MOST_EXAMPLES = 20_000
"""Examples that a baseline is fitted to at most, drawn with seed 0, so that time and memory have a bound."""
MOST_NODES = 2_000_000
"""Nodes that a baseline is fitted to at most."""
STEPS = 100
"""Steps of the solver of logistic regression at most."""
TOLERANCE = 1e-3
"""Gradient at which the solver of logistic regression stops."""
FOLDS = 3
"""Folds of cross-validation."""
MIN_EXAMPLES = 12
"""Examples that cross-validation needs; with fewer, or fewer groups than folds, the middle penalty is taken."""
MAX_CV_EXAMPLES = 2000
"""Examples that cross-validation takes at most, drawn with seed 0; what it chooses is fitted to all."""
KEPT = 4
"""Pairs of a candidate and a scale that are left after the first fold, the best of it. On six sets of the twelve, with
300 and with all examples in three splits each, the choice was that of all folds in 36 of 36 cases, and with 2 in 34."""
BOOSTED: dict[str, Any] = {"max_leaf_nodes": 15, "early_stopping": False, "random_state": 0}
ROUNDS = 60
"""Rounds of boosted trees for up to four classes; with more there are fewer, so that there are about 240 trees."""
MIN_ROUNDS = 30
"""Rounds of boosted trees at least."""
RATE_SUM = 6.0
"""The learning rate of boosted trees times the rounds. With 20 rounds at 0.3 some sets of 16 classes diverged."""
FOREST: dict[str, Any] = {"n_estimators": 100, "random_state": 0}
MAX_TREE_EXAMPLES = 2000
"""Examples of a tree of a forest, drawn with replacement from more, so that a forest has 400,000 nodes at most."""
MAX_TREE_COLUMNS = 256
"""Columns of boosted trees, and of a forest of numbers, those with the highest F."""
MIN_TREE_EXAMPLES = 200
"""Examples that trees need at least."""
MAX_BOOSTED_CLASSES = 20
"""The most classes that boosted trees are tried for, with a tree for each class in every round."""
MAX_FOREST_CLASSES = 100
"""The most classes that a forest is tried for, with a number for each class at every leaf."""

_ALONE = Lock()
"""Scikit-learn replaces the process's filters of warnings, and we BLAS's number of threads; two threads would put them
back in the wrong order."""


@dataclass(frozen=True)
class BaselineCandidate:
    """A model that may become the baseline."""

    what: str
    estimator: Any
    """A pipeline of scikit-learn whose last step is ``model``, for counts without equal columns."""
    linear: bool


@dataclass(frozen=True)
class DistinctColumns:
    """The columns of counts without twins, which have the same count in every training example.

    Half of the columns or more are twins of others: a name that occurs in one place only is a token, a symbol, a child
    of its parent and a part of subtrees, which say the same. Columns for trees are chosen among the distinct ones, or
    else a third of 256 would be copies. A linear model has the same penalty, and the same answers, with a column of
    m twins as with this column times the square root of m (Ridge: the m weights that sum to w with the smallest squares
    are w / m each), in less than half of the time; each twin has its share of the weight then, so that an answer does
    not depend on one of them alone.
    """

    counts: csr_matrix
    """(E, K) of the distinct ones, each the first of its twins."""
    first: np.ndarray
    """(K,) int64, which columns these are."""
    place: np.ndarray
    """(D,) int64, of each column the distinct one that it equals."""

    @classmethod
    def of(cls, counts: csr_matrix) -> "DistinctColumns":
        """Return the different columns of counts (E, D)."""
        columns = counts.tocsc()
        seen: dict[tuple[bytes, bytes], int] = {}
        columns.sort_indices()
        place = np.empty(counts.shape[1], np.int64)
        for column, (start, stop) in enumerate(pairwise(columns.indptr.tolist())):
            content = columns.indices[start:stop].tobytes(), columns.data[start:stop].tobytes()
            place[column] = seen.setdefault(content, len(seen))
        first = np.unique(place, return_index=True)[1]
        return cls(columns[:, first].tocsr(), first, place)

    @property
    def twins(self) -> np.ndarray:
        """(K,) float64, how many columns each of them is for, itself included."""
        return np.bincount(self.place, minlength=len(self.first)).astype(float)


def choose(
    train: TreeDataset,
    objective: Objective,
    scales: Sequence[LabelScale] = (AS_THEY_ARE,),
    places: NumberScales | None = None,
    fast: bool = False,
) -> Baseline:
    """The candidate with the best mean of accuracy or R2 over the folds, fitted to the training set.

    R2 is that of the numbers in their own unit.

    Folds keep groups together, and have about the same share of each class. Computes in one thread.

    Args:
        train: every example of it has a label.
        objective: what is predicted.
        scales: on which numbers are fitted; the first of equal ones is taken.
        places: the scales of the numbers at leaves.
        fast: fit the linear model with the middle penalty, on the first scale, without cross-validation.
    """
    train = _some(train)
    columns = Columns.of(train.as_read(), places)
    distinct = DistinctColumns.of(columns(train.as_read()))
    numbers = objective.targets(train.labels)
    counts = distinct.counts
    with _ALONE, threadpool_limits(1), without_warnings():  # of a solver that could continue, and of small classes
        candidates = _candidates(distinct, objective, fast)
        if fast:
            best = candidates[0]
            scale = scales[0]
        else:
            best, scale = _best(candidates, counts, numbers.numpy(), train, objective, scales)
        weights = _weights(train, objective, numbers)
        fitted = best.estimator.fit(counts, scale.to(numbers).numpy(), model__sample_weight=weights)
        model = fitted["model"]
    what = best.what if scale.name == "none" else f"{best.what} on the scale {scale.name}"
    if best.linear:
        each = fitted["scaled"].kw_args["scale"] / distinct.twins
        model.coef_ = _narrow((model.coef_ * each)[..., distinct.place])  # an intercept may be far from 0
        model.n_features_in_ = columns.width
        return Baseline(columns, model, True, objective, what, scale=scale)
    chosen = distinct.first[fitted["columns"].get_support(indices=True)]
    if isinstance(model, ExtraTreesClassifier | ExtraTreesRegressor):
        model, looked_at = Forest.of(model)
        chosen = chosen[looked_at]
    return Baseline(columns.take(chosen), model, False, objective, what, scale=scale)


def score(train: TreeDataset, objective: Objective) -> float:
    """The mean score of the best candidate over the folds; NaN with too few examples.

    That is the accuracy or R2, and if classes are weighted the negative of the weighted log loss.

    ``train`` and ``objective`` are as of :func:`choose`.
    """
    train = _some(train)
    distinct = DistinctColumns.of(Columns.of(train.as_read())(train.as_read()))
    with _ALONE, threadpool_limits(1), without_warnings():
        labels = objective.targets(train.labels).numpy()
        found = _scores(_candidates(distinct, objective), distinct.counts, labels, train, objective)
        return max((score for score in found.values() if not math.isnan(score)), default=math.nan)


def _weights(train: TreeDataset, objective: Objective, targets: torch.Tensor) -> np.ndarray | None:
    """(E,) what each example weighs: by itself, and by its class."""
    of_classes = getattr(objective, "weights", None)
    if of_classes is None:
        return train.weights
    found: np.ndarray = of_classes.double().numpy()[targets.numpy()]
    return found if train.weights is None else found * train.weights


def _weighted_loss(estimator: Any, counts: csr_matrix, labels: np.ndarray, of_classes: np.ndarray) -> float:
    """The log loss of examples that weigh as much as their classes, as a score: higher is better."""
    answers = estimator.predict_proba(counts)
    place = np.searchsorted(estimator.classes_, labels).clip(max=len(estimator.classes_) - 1)
    right = answers[np.arange(len(labels)), place] * (estimator.classes_[place] == labels)
    weights = of_classes[labels]
    return float((weights * np.log(right.clip(min=MIN_PROBABILITY))).sum() / weights.sum())


def _narrow(weights: np.ndarray) -> np.ndarray:
    """Numbers of 32 bits, which a linear model has."""
    return np.asarray(weights, np.float32).astype(np.float64)


def _some(train: TreeDataset) -> TreeDataset:
    """So many examples, in their order, as a baseline is fitted to; at least one."""
    rows = np.random.default_rng(0).permutation(len(train))[:MOST_EXAMPLES]
    fits = int((np.cumsum(train.sizes.numpy()[rows]) <= MOST_NODES).sum())
    return train if fits == len(train) else train.select(np.sort(rows[: max(1, fits)]).tolist())


def _candidates(distinct: DistinctColumns, objective: Objective, fast: bool = False) -> list[BaselineCandidate]:
    """The models to choose from; the middle one of the linear models alone if it is to be fast."""
    classes = len(objective.classes)
    examples, width = distinct.counts.shape
    squares = float((np.square(logs(distinct.counts).data) * distinct.twins[distinct.counts.indices]).sum()) / examples
    scaled = FunctionTransformer(_logs, kw_args={"scale": np.sqrt(distinct.twins / (squares or 1.0))})
    found = []
    for strength in STRENGTHS[1:2] if fast else STRENGTHS:
        model = (
            LogisticRegression(C=strength, max_iter=STEPS, tol=TOLERANCE)
            if classes
            else Ridge(alpha=1 / strength, solver="lsqr")
        )
        kind = "logistic regression" if classes else "ridge regression"
        what = f"{kind} of counts (penalty {1 / strength:g})"
        found.append(BaselineCandidate(what, Pipeline([("scaled", scaled), ("model", model)]), linear=True))
    if fast or examples < MIN_TREE_EXAMPLES:
        return found
    few = SelectKBest(f_classif if classes else f_regression, k=min(MAX_TREE_COLUMNS, width))
    if classes <= MAX_BOOSTED_CLASSES:
        trees = classes if classes > 2 else 1
        rounds = min(ROUNDS, max(MIN_ROUNDS, 4 * ROUNDS // trees))
        boosted = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
        model = boosted(max_iter=rounds, learning_rate=RATE_SUM / rounds, **BOOSTED)
        dense = FunctionTransformer(csr_matrix.toarray, accept_sparse=True)
        steps = [("columns", few), ("dense", dense), ("model", model)]
        found.append(BaselineCandidate("boosted trees of counts", Pipeline(steps), linear=False))
    if classes <= MAX_FOREST_CLASSES:
        found.append(BaselineCandidate("a forest of counts", _forest(bool(classes), few, examples), linear=False))
    return found


def _forest(classes: bool, few: SelectKBest, examples: int) -> Pipeline:
    """Extremely randomized trees (Geurts, Ernst and Wehenkel 2006): of classes over all columns, of which each split
    looks at the square root of their number; of numbers over some, a third of which each split looks at."""
    drawn = {"bootstrap": True, "max_samples": MAX_TREE_EXAMPLES} if examples > MAX_TREE_EXAMPLES else {}
    if classes:
        model = ExtraTreesClassifier(max_features="sqrt", **FOREST, **drawn)
        return Pipeline([("columns", SelectKBest(_no_choice, k="all")), ("sparse", _SPARSE), ("model", model)])
    model = ExtraTreesRegressor(max_features=1 / 3, min_samples_leaf=2, **FOREST, **drawn)
    dense = FunctionTransformer(csr_matrix.toarray, accept_sparse=True)
    return Pipeline([("columns", few), ("dense", dense), ("model", model)])


def _no_choice(counts: csr_matrix, labels: np.ndarray) -> np.ndarray:
    """(D,) the same for every column, all of which are taken."""
    return np.ones(counts.shape[1])


_SPARSE = FunctionTransformer(csr_matrix.tocsc, accept_sparse=True)
"""Counts sorted by columns, as trees read them."""


def _best(
    candidates: list[BaselineCandidate],
    counts: csr_matrix,
    labels: np.ndarray,
    train: TreeDataset,
    objective: Objective,
    scales: Sequence[LabelScale] = (AS_THEY_ARE,),
) -> tuple[BaselineCandidate, LabelScale]:
    scores = _scores(candidates, counts, labels, train, objective, scales)
    if not scores:
        return candidates[len(STRENGTHS) // 2], scales[0]
    candidate, scale = max(scores, key=lambda place: (scores[place], [-each for each in place[::-1]]))
    return candidates[candidate], scales[scale]


def _scores(
    candidates: list[BaselineCandidate],
    counts: csr_matrix,
    labels: np.ndarray,
    train: TreeDataset,
    objective: Objective,
    scales: Sequence[LabelScale] = (AS_THEY_ARE,),
) -> dict[tuple[int, int], float]:
    """The mean over the folds, by the numbers of candidate and scale, of those that are left after the first fold.

    None with too few examples.
    """
    rows = np.sort(np.random.default_rng(0).permutation(len(labels))[:MAX_CV_EXAMPLES])
    groups = [train.groups[i] or f"alone {i}" for i in rows] if any(train.groups) else None
    if len(rows) < MIN_EXAMPLES or (groups and len(set(groups)) < FOLDS):
        return {}
    folds = _folds(bool(objective.classes), grouped=groups is not None)
    try:
        splits = list(folds.split(counts[rows], labels[rows], groups))
    except ValueError:  # fewer examples of each class than folds
        return {}
    of_classes = getattr(objective, "weights", None)
    params = None
    scoring: Any = "accuracy" if objective.classes else "r2"
    if of_classes is not None:
        scoring = partial(_weighted_loss, of_classes=of_classes.double().numpy())
        weights = _weights(train, objective, torch.from_numpy(labels))
        params = {"model__sample_weight": None if weights is None else weights[rows]}

    def scored(place: tuple[int, int], cv: Any) -> list[float]:
        estimator = _on(scales[place[1]], candidates[place[0]].estimator)
        try:
            return list(cross_val_score(estimator, counts[rows], labels[rows], cv=cv, scoring=scoring, params=params))
        except ValueError:  # no fold has two classes to train on
            return [math.nan] * len(cv)

    places = [(candidate, scale) for scale in range(len(scales)) for candidate in range(len(candidates))]
    first = {place: scored(place, splits[:1]) for place in places}
    left = sorted(places, key=lambda place: -np.nan_to_num(first[place][0], nan=-math.inf))[:KEPT]
    return {place: _mean([*first[place], *scored(place, splits[1:])]) for place in left}


def _mean(scores: list[float]) -> float:
    """Without those that a fold does not have."""
    there = [score for score in scores if not math.isnan(score)]
    return float(np.mean(there)) if there else -math.inf


def _on(scale: LabelScale, estimator: Any) -> Any:
    """The estimator, fitted on a scale, with predictions in the unit of the labels."""
    if scale.name == "none":
        return estimator
    to, back = ((lambda numbers, way=way: way(torch.as_tensor(numbers)).numpy()) for way in (scale.to, scale.back))
    return TransformedTargetRegressor(estimator, func=to, inverse_func=back, check_inverse=False)


def _folds(classes: bool, grouped: bool) -> Any:
    if grouped:
        return StratifiedGroupKFold(FOLDS) if classes else GroupKFold(FOLDS)
    kind = StratifiedKFold if classes else KFold
    return kind(FOLDS, shuffle=True, random_state=0)


def _logs(counts: csr_matrix, scale: np.ndarray) -> csr_matrix:
    """Logarithms of counts (E, K), each column times a number of its own (K,)."""
    return logs(counts).multiply(scale).tocsr()
