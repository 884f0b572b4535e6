"""Training as scikit-learn has it: estimators for its pipelines, searches and cross-validation."""

import io
from collections.abc import Mapping
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dgltree.datasets.objects import read_objects, with_notation
from dgltree.datasets.settings.reading import Reading
from dgltree.datasets.splitting.splits import SPLITS, split
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.training.fitting import fit
from dgltree.training.trained_model import TrainedModel


class TreeEstimator(BaseEstimator):
    """The common part of both estimators.

    Args:
        notation: of the texts among the trees; None: it is detected.
        encoder: as the other settings, of :class:`dgltree.training.options.FitOptions`; None follows from the data.
        hidden_size: width of a tree's vector.
        epochs: at most.
        patience: epochs without a better validation result after which training ends.
        lr: learning rate.
        seed: of weights, order, dropout, and of the tenth of the examples that chooses the epoch.
        baseline: whether answers may be averaged with those of a baseline.
        options: further settings by their names.
        out: a folder that keeps the model and its card; None: none does.
        verbose: whether what :func:`dgltree.fit` says is printed.
    """

    def __init__(
        self,
        *,
        notation: str | None = None,
        encoder: str | None = None,
        hidden_size: int | None = None,
        epochs: int | None = None,
        patience: int = 5,
        lr: float | None = None,
        seed: int = 0,
        baseline: bool = True,
        options: Mapping[str, Any] | None = None,
        out: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        self.notation, self.encoder, self.hidden_size, self.epochs = notation, encoder, hidden_size, epochs
        self.patience, self.lr, self.seed, self.baseline, self.options = patience, lr, seed, baseline, options
        self.out, self.verbose = out, verbose

    def _fit(self, trees: Any, labels: list[Any], groups: Any, task: Literal["classify", "regress"]) -> None:
        reading = with_notation(trees, Reading(notation=self.notation))
        read = read_objects(trees, reading)
        if len(labels) != len(read):
            raise ValueError(f"{len(read)} trees and {len(labels)} labels; give one of each example")
        named = None if groups is None else [str(group) for group in groups]
        data = TreeDataset(read, labels, groups=named, reading=reading)
        parts = split(data, self.seed, SPLITS[:2])
        settings: dict[str, Any] = {
            "encoder": self.encoder,
            "hidden_size": self.hidden_size,
            "epochs": self.epochs,
            "patience": self.patience,
            "lr": self.lr,
            "seed": self.seed,
            "no_baseline": not self.baseline,
            "task": "pair" if data.each == 2 and task == "classify" else task,
            **(self.options or {}),
        }
        with ExitStack() as stack:
            if not self.verbose:
                stack.enter_context(redirect_stdout(io.StringIO()))
                stack.enter_context(redirect_stderr(io.StringIO()))
            out = stack.enter_context(TemporaryDirectory()) if self.out is None else self.out
            self.model_: TrainedModel = fit(parts["train"], validation=parts["validation"], out=out, **settings)

    def encode(self, trees: Any) -> np.ndarray:
        """(E, n) float32, the vectors of trees; of pairs (2 E, n), one after the other."""
        check_is_fitted(self)
        return self.model_.encode(trees).numpy()

    def _answers(self, trees: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.model_.predict(trees).numpy()


class TreeClassifier(ClassifierMixin, TreeEstimator):
    """Classes of trees or of pairs of trees: an estimator of scikit-learn.

    Trees are ``Tree`` objects, texts, dicts, nodes of ``ast``, graphs of networkx, PyG or DGL, or pairs of these, in a
    list, an array or a pandas column. Arguments as of :class:`TreeEstimator`.
    """

    def fit(self, X: Any, y: Any, groups: Any = None) -> "TreeClassifier":
        """Train on trees ``X`` and their classes ``y`` (E,).

        What has the same value in ``groups`` (E,) is kept together when the tenth for validation is drawn. Raises
        ``ValueError`` as :func:`dgltree.fit` does, and naming the first tree that cannot be read.
        """
        self.classes_, numbers = np.unique(np.asarray(y), return_inverse=True)
        self._fit(X, [str(number) for number in numbers], groups, "classify")
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """(E, C) float32 probabilities, in the order of ``classes_``."""
        answers = self._answers(X)
        found = np.zeros((len(answers), len(self.classes_)), answers.dtype)
        found[:, [int(name) for name in self.model_.classes]] = answers
        return found

    def predict(self, X: Any) -> np.ndarray:
        """(E,) the most probable of ``classes_``."""
        found: np.ndarray = self.classes_[self.predict_proba(X).argmax(1)]
        return found


class TreeRegressor(RegressorMixin, TreeEstimator):
    """Numbers of trees: an estimator of scikit-learn. Trees and arguments as of :class:`TreeClassifier`."""

    def fit(self, X: Any, y: Any, groups: Any = None) -> "TreeRegressor":
        """Train on trees ``X`` and their numbers ``y`` (E,); ``groups`` and errors as of :class:`TreeClassifier`."""
        self._fit(X, np.asarray(y, float).tolist(), groups, "regress")
        return self

    def predict(self, X: Any) -> np.ndarray:
        """(E,) float32 numbers."""
        return self._answers(X)
