"""The peers of scikit-learn: fingerprints, descriptors and n-grams of SMILES."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from benchmarks.sets.estimators import Features, boosted, fit_models, forests, linear
from benchmarks.sets.molecules.published import Molecule, MoleculeParts
from benchmarks.sets.peer_answers import Answered, choose_candidate

RADIUS, BITS = 2, 2048
"""Of Morgan fingerprints, counts of environments (Rogers and Hahn 2010)."""
GRAMS = (1, 4)
"""Characters."""


def fingerprints(parts: MoleculeParts, classes: bool, seed: int) -> Answered:
    """Morgan fingerprints with a linear model or a forest."""
    features = {False: _counts(log=False), True: _counts(log=True)}
    by_sum = fit_models("Morgan + linear", features[True], linear(classes), parts)
    by_trees = fit_models("Morgan + forest", features[False], forests(classes, seed), parts)
    return choose_candidate([*by_sum, *by_trees], parts, classes)


def descriptors(parts: MoleculeParts, classes: bool, seed: int) -> Answered:
    """RDKit's descriptors with boosted trees."""
    return choose_candidate(
        fit_models("descriptors + boosting", _described, boosted(classes, seed), parts), parts, classes
    )


def ngrams(parts: MoleculeParts, classes: bool, seed: int) -> Answered:
    """Character n-grams of canonical SMILES with a linear model; nothing is by chance."""
    made = [
        (name, make_pipeline(TfidfVectorizer(analyzer="char", ngram_range=GRAMS, lowercase=False), model))
        for name, model in linear(classes)
    ]
    return choose_candidate(fit_models("n-grams + linear", _canonical, made, parts), parts, classes)


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
