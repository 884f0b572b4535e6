"""Which baseline a training has: by scikit-learn's cross-validation on the training set alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_selection import SelectKBest, f_classif, f_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_limits

from dgltree.batching.number_scales import NumberScales
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.models.label_scales import AS_THEY_ARE, LabelScale
from dgltree.training.baseline.baseline import Baseline, logs
from dgltree.training.baseline.features import Columns
from dgltree.training.objectives import Objective
from dgltree.training.objectives.class_means import MIN_PROBABILITY
from dgltree.unwarned import without_warnings

STRENGTHS = (1.0, 10.0, 100.0)
"""Inverse strengths of the L2 penalty, for rows whose mean square is 1."""
MOST_EXAMPLES, MOST_NODES = 20_000, 2_000_000
"""That a baseline is fitted to, drawn with seed 0, so that time and memory have a bound."""
STEPS, TOLERANCE = 100, 1e-3
"""Of the solver of logistic regression."""
FOLDS, MIN_EXAMPLES, MAX_CV_EXAMPLES = 3, 12, 2000
"""Of cross-validation, which takes so many examples at most, drawn with seed 0; what it chooses is fitted to all. With
fewer examples than MIN_EXAMPLES, or fewer groups than folds, the middle penalty is taken."""
BOOSTED: dict[str, Any] = {"max_iter": 60, "learning_rate": 0.1, "max_leaf_nodes": 15, "early_stopping": False}
MAX_BOOSTED_COLUMNS, MIN_BOOSTED_EXAMPLES, MAX_BOOSTED_CLASSES = 256, 200, 20
"""Columns of boosted trees, those with the highest F; examples that they need at least, and the most classes that they
are tried for: each takes a tree of its own in every round."""

_ALONE = Lock()
"""Scikit-learn replaces the process's filters of warnings, and we BLAS's number of threads; two threads would put them
back in the wrong order."""


@dataclass(frozen=True)
class BaselineCandidate:
    """A model that may become the baseline."""

    what: str
    estimator: Any
    """Of scikit-learn, of counts."""
    linear: bool


def choose(
    train: TreeDataset,
    objective: Objective,
    scales: Sequence[LabelScale] = (AS_THEY_ARE,),
    places: NumberScales | None = None,
) -> Baseline:
    """The candidate with the best mean of accuracy or R2 over the folds, fitted to the training set.

    R2 is that of the numbers in their own unit.

    Folds keep groups together, and have about the same share of each class. Computes in one thread.

    Args:
        train: every example of it has a label.
        objective: what is predicted.
        scales: on which numbers are fitted; the first of equal ones is taken.
        places: the scales of the numbers at leaves.
    """
    train = _some(train)
    columns = Columns.of(train.as_read(), places)
    counts, numbers = columns(train.as_read()), objective.targets(train.labels)
    with _ALONE, threadpool_limits(1), without_warnings():  # of a solver that could continue, and of small classes
        best, scale = _best(_candidates(counts, objective), counts, numbers.numpy(), train, objective, scales)
        weights = _weights(train, objective, numbers)
        fitted = best.estimator.fit(counts, scale.to(numbers).numpy(), model__sample_weight=weights)
        model = fitted["model"]
    what = best.what if scale.name == "none" else f"{best.what} on the scale {scale.name}"
    if not best.linear:
        chosen = np.flatnonzero(fitted["columns"].get_support())
        return Baseline(Columns(columns.codes[chosen], places), model, False, objective, what, scale=scale)
    model.coef_ = _narrow(model.coef_ * fitted["scaled"].kw_args["scale"])  # an intercept may be far from 0
    return Baseline(columns, model, True, objective, what, scale=scale)


def score(train: TreeDataset, objective: Objective) -> float:
    """The mean score of the best candidate over the folds; NaN with too few examples.

    That is the accuracy or R2, and if classes are weighted the negative of the weighted log loss.

    ``train`` and ``objective`` are as of :func:`choose`.
    """
    train = _some(train)
    counts = Columns.of(train.as_read())(train.as_read())
    with _ALONE, threadpool_limits(1), without_warnings():
        labels = objective.targets(train.labels).numpy()
        return max(_scores(_candidates(counts, objective), counts, labels, train, objective), default=math.nan)


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


def _candidates(counts: csr_matrix, objective: Objective) -> list[BaselineCandidate]:
    classes, examples = len(objective.classes), counts.shape[0]
    squares = float(np.square(logs(counts).data).sum()) / examples
    scaled = FunctionTransformer(_logs, kw_args={"scale": 1 / np.sqrt(squares or 1.0)})
    found = []
    for strength in STRENGTHS:
        model = (
            LogisticRegression(C=strength, max_iter=STEPS, tol=TOLERANCE)
            if classes
            else Ridge(alpha=1 / strength, solver="lsqr")
        )
        kind = "logistic regression" if classes else "ridge regression"
        what = f"{kind} of counts (penalty {1 / strength:g})"
        found.append(BaselineCandidate(what, Pipeline([("scaled", scaled), ("model", model)]), linear=True))
    if examples >= MIN_BOOSTED_EXAMPLES and classes <= MAX_BOOSTED_CLASSES:
        kinds = (
            (HistGradientBoostingClassifier, f_classif) if classes else (HistGradientBoostingRegressor, f_regression)
        )
        columns = SelectKBest(kinds[1], k=min(MAX_BOOSTED_COLUMNS, counts.shape[1]))
        dense = FunctionTransformer(csr_matrix.toarray, accept_sparse=True)
        model = kinds[0](**BOOSTED, random_state=0)
        steps = [("columns", columns), ("dense", dense), ("model", model)]
        found.append(BaselineCandidate("boosted trees of counts", Pipeline(steps), linear=False))
    return found


def _best(
    candidates: list[BaselineCandidate],
    counts: csr_matrix,
    labels: np.ndarray,
    train: TreeDataset,
    objective: Objective,
    scales: Sequence[LabelScale] = (AS_THEY_ARE,),
) -> tuple[BaselineCandidate, LabelScale]:
    scores = [_scores(candidates, counts, labels, train, objective, scale) for scale in scales]
    if not all(scores):
        return candidates[len(STRENGTHS) // 2], scales[0]
    place = int(np.argmax(np.concatenate(scores)))
    return candidates[place % len(candidates)], scales[place // len(candidates)]


def _scores(
    candidates: list[BaselineCandidate],
    counts: csr_matrix,
    labels: np.ndarray,
    train: TreeDataset,
    objective: Objective,
    scale: LabelScale = AS_THEY_ARE,
) -> list[float]:
    """The mean of each over the folds; none with too few examples."""
    rows = np.sort(np.random.default_rng(0).permutation(len(labels))[:MAX_CV_EXAMPLES])
    groups = [train.groups[i] or f"alone {i}" for i in rows] if any(train.groups) else None
    if len(rows) < MIN_EXAMPLES or (groups and len(set(groups)) < FOLDS):
        return []
    folds = _folds(bool(objective.classes), grouped=groups is not None)
    scores = list[float]()
    of_classes, params = getattr(objective, "weights", None), None
    scoring: Any = "accuracy" if objective.classes else "r2"
    if of_classes is not None:
        scoring = partial(_weighted_loss, of_classes=of_classes.double().numpy())
        weights = _weights(train, objective, torch.from_numpy(labels))
        params = {"model__sample_weight": None if weights is None else weights[rows]}
    for one in candidates:
        try:
            found = cross_val_score(
                _on(scale, one.estimator),
                counts[rows],
                labels[rows],
                groups=groups,
                cv=folds,
                scoring=scoring,
                params=params,
            )
            scores.append(float(np.nanmean(found)))
        except ValueError:  # no fold has two classes to train on
            scores.append(-math.inf)
    return scores


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


def _logs(counts: csr_matrix, scale: float) -> csr_matrix:
    return logs(counts) * scale
