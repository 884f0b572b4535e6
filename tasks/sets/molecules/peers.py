"""The peers of scikit-learn: fingerprints, descriptors and n-grams of SMILES."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

from tasks.sets.molecules.answered import Answered, TrainedPeer, chosen, labels_of
from tasks.sets.molecules.published import Molecule, MoleculeParts

RADIUS, BITS = 2, 2048
"""Of Morgan fingerprints, counts of environments (Rogers and Hahn 2010)."""
PENALTIES = (0.1, 1.0, 10.0, 100.0)
TREES, SHARES = 500, ("sqrt", 1 / 3)
"""Of a forest, and the columns that it looks at for each cut."""
ROUNDS, RATES, LEAVES = 300, (0.03, 0.1), (7, 31)
"""Of boosted trees."""
GRAMS = (1, 4)
"""Characters."""

Features = Callable[[Sequence[Molecule]], Any]


def fingerprints(parts: MoleculeParts, classes: bool, seed: int) -> Answered:
    """Morgan fingerprints with a linear model or a forest."""
    features = {False: _counts(log=False), True: _counts(log=True)}
    linear = _fitted("Morgan + linear", features[True], _linear(classes), parts)
    forests = _fitted("Morgan + forest", features[False], _forests(classes, seed), parts)
    return chosen([*linear, *forests], parts, classes)


def descriptors(parts: MoleculeParts, classes: bool, seed: int) -> Answered:
    """RDKit's descriptors with boosted trees."""
    return chosen(_fitted("descriptors + boosting", _described, _boosted(classes, seed), parts), parts, classes)


def ngrams(parts: MoleculeParts, classes: bool, seed: int) -> Answered:
    """Character n-grams of canonical SMILES with a linear model; nothing is by chance."""
    made = [
        (name, make_pipeline(TfidfVectorizer(analyzer="char", ngram_range=GRAMS, lowercase=False), model))
        for name, model in _linear(classes)
    ]
    return chosen(_fitted("n-grams + linear", _canonical, made, parts), parts, classes)


def _fitted(
    what: str, features: Features, models: Iterable[tuple[str, Any]], parts: MoleculeParts
) -> Iterator[TrainedPeer]:
    rows, labels = features(parts.train), labels_of(parts.train)
    for name, model in models:
        model.fit(rows, labels)
        yield TrainedPeer(f"{what} ({name})", _answers(model, features), _weights(model))


def _answers(model: Any, features: Features) -> Callable[[Sequence[Molecule]], np.ndarray]:
    if hasattr(model, "predict_proba"):
        return lambda rows: np.asarray(model.predict_proba(features(rows))[:, 1])
    return lambda rows: np.asarray(model.predict(features(rows)))


def _weights(model: Any) -> int:
    last = model[-1] if hasattr(model, "steps") else model
    if hasattr(last, "coef_"):
        return int(last.coef_.size)
    if hasattr(last, "estimators_"):
        return int(sum(tree.tree_.node_count for tree in last.estimators_))
    return int(sum(len(tree.nodes) for trees in last._predictors for tree in trees))


def _linear(classes: bool) -> Iterator[tuple[str, Any]]:
    for penalty in PENALTIES:
        model = LogisticRegression(C=1 / penalty, max_iter=2000) if classes else Ridge(alpha=penalty)
        yield f"penalty {penalty:g}", model


def _forests(classes: bool, seed: int) -> Iterator[tuple[str, Any]]:
    kind = RandomForestClassifier if classes else RandomForestRegressor
    for share in SHARES:
        yield (
            f"columns {share:.2g}" if isinstance(share, float) else f"columns {share}",
            kind(TREES, max_features=share, random_state=seed),
        )


def _boosted(classes: bool, seed: int) -> Iterator[tuple[str, Any]]:
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    for rate in RATES:
        for leaves in LEAVES:
            model = kind(
                learning_rate=rate, max_leaf_nodes=leaves, max_iter=ROUNDS, early_stopping=False, random_state=seed
            )
            yield f"rate {rate}, {leaves} leaves", model


def _counts(log: bool) -> Features:
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    generator = GetMorganGenerator(radius=RADIUS, fpSize=BITS)

    def features(rows: Sequence[Molecule]) -> csr_matrix:
        counts = np.array([generator.GetCountFingerprintAsNumPy(_read(row)) for row in rows], float)
        return csr_matrix(np.log1p(counts) if log else counts)

    return features


def _described(rows: Sequence[Molecule]) -> np.ndarray:
    from rdkit.Chem.Descriptors import CalcMolDescriptors

    found = np.array([list(CalcMolDescriptors(_read(row)).values()) for row in rows], float)
    return np.where(np.abs(found) < 1e6, found, np.nan)  # some of them are infinite for a few molecules


def _canonical(rows: Sequence[Molecule]) -> list[str]:
    from rdkit.Chem import MolToSmiles

    return [MolToSmiles(_read(row)) for row in rows]


def _read(row: Molecule) -> Any:
    from rdkit.Chem import MolFromSmiles

    return MolFromSmiles(row.smiles)
