"""Models of scikit-learn with several settings, for rows of features."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge

from benchmarks.sets.peer_answers import RowsOfParts, TrainedPeer, labels_of

PENALTIES = (0.1, 1.0, 10.0, 100.0)
TREES, SHARES = 500, ("sqrt", 1 / 3)
"""Of a forest, and the columns that it looks at for each cut."""
RATES, LEAVES = (0.03, 0.1), (7, 31)
"""Of boosted trees."""

Features = Callable[[Sequence[Any]], Any]


def fit_models(
    what: str, features: Features, models: Iterable[tuple[str, Any]], parts: RowsOfParts
) -> Iterator[TrainedPeer]:
    """Each model, fitted to the rows to train on."""
    rows, labels = features(parts.train), labels_of(parts.train)
    for name, model in models:
        model.fit(rows, labels)
        yield TrainedPeer(f"{what} ({name})", _answers(model, features), _weights(model))


def _answers(model: Any, features: Features) -> Callable[[Sequence[Any]], np.ndarray]:
    def probable(rows: Sequence[Any]) -> np.ndarray:
        found = model.predict_proba(features(rows))
        return np.asarray(found[:, 1] if len(model.classes_) == 2 else model.classes_[found.argmax(1)])

    if hasattr(model, "predict_proba"):
        return probable
    return lambda rows: np.asarray(model.predict(features(rows)))


def _weights(model: Any) -> int:
    last = getattr(model[-1] if hasattr(model, "steps") else model, "regressor_", None) or model
    last = last[-1] if hasattr(last, "steps") else last
    if hasattr(last, "coef_"):
        return int(last.coef_.size)
    if hasattr(last, "estimators_"):
        return int(sum(tree.tree_.node_count for tree in last.estimators_))
    return int(sum(len(tree.nodes) for trees in last._predictors for tree in trees))


def linear(classes: bool) -> Iterator[tuple[str, Any]]:
    """Logistic or ridge regressions."""
    for penalty in PENALTIES:
        model = LogisticRegression(C=1 / penalty, max_iter=2000) if classes else Ridge(alpha=penalty)
        yield f"penalty {penalty:g}", model


def forests(classes: bool, seed: int) -> Iterator[tuple[str, Any]]:
    """Random forests."""
    kind = RandomForestClassifier if classes else RandomForestRegressor
    for share in SHARES:
        yield (
            f"columns {share:.2g}" if isinstance(share, float) else f"columns {share}",
            kind(TREES, max_features=share, random_state=seed),
        )


def boosted(classes: bool, seed: int, rounds: int = 300, rates: Sequence[float] = RATES) -> Iterator[tuple[str, Any]]:
    """Boosted trees."""
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    for rate in rates:
        for leaves in LEAVES:
            model = kind(
                learning_rate=rate, max_leaf_nodes=leaves, max_iter=rounds, early_stopping=False, random_state=seed
            )
            yield f"rate {rate}, {leaves} leaves", model
