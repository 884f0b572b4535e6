"""Estimators of scikit-learn train on trees, for its pipelines, searches and cross-validation."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted, column_or_1d
from torch import from_numpy

from dgltree.datasets.objects import columns_of, is_table, list_examples, read_objects, with_notation
from dgltree.datasets.settings import Reading
from dgltree.datasets.splitting import SPLITS, split
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.models.readouts import NumberReadout
from dgltree.models.tree_model import TreeModel, kept_generators
from dgltree.training.encoder_choice import choose_encoder
from dgltree.training.fitting import baseline_options, fit
from dgltree.training.options import BaselineSearch, FitOptions
from dgltree.training.processes import silent
from dgltree.training.trained_model import TrainedModel


class TreeEstimator(BaseEstimator):
    """The common part of the estimators.

    Args:
        notation: of the texts among the trees; None: it is detected.
        encoder: as the other settings, of :class:`dgltree.training.options.FitOptions`; None follows from the data.
        hidden_size: width of a tree's vector; None follows from the data.
        epochs: at most.
        patience: epochs without a better validation result after which training ends.
        lr: learning rate.
        seed: of weights, order, dropout, and of the tenth of the examples that chooses the epoch.
        baseline: whether answers may be averaged with those of a baseline; "fast": with those of one linear model, for
            which nothing is searched.
        features: the columns of X, then a table of pandas or polars, that are read next to the trees, which are in the
            others.
        options: further settings by their names.
        out: a folder that keeps the model and its card; None: none does.
        verbose: whether what :func:`dgltree.fit` says is printed.

    After ``fit``, ``model_`` is the :class:`dgltree.TrainedModel`, and ``model_summary_`` says in a line what answers.
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
        baseline: bool | BaselineSearch = True,
        features: Sequence[str] | None = None,
        options: Mapping[str, Any] | None = None,
        out: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        self.notation = notation
        self.encoder = encoder
        self.hidden_size = hidden_size
        self.epochs = epochs
        self.patience = patience
        self.lr = lr
        self.seed = seed
        self.baseline = baseline
        self.options = options
        self.features = features
        self.out = out
        self.verbose = verbose

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        found: str = super().__repr__(N_CHAR_MAX)
        return f"{found}  # {self.model_summary_}" if hasattr(self, "model_summary_") else found

    def _fit(
        self,
        data: TreeDataset,
        task: Literal["classify", "regress"],
    ) -> None:
        parts = split(data, self.seed, SPLITS[:2], "stratified")
        settings = {
            **self._settings(),
            "epochs": self.epochs,
            "patience": self.patience,
            "lr": self.lr,
            **baseline_options(self.baseline, {}),
            "task": "pair" if data.each == 2 and task == "classify" else task,
            **(self.options or {}),
        }
        with nullcontext() if self.verbose else silent():
            self.model_: TrainedModel = fit(parts["train"], validation=parts["validation"], out=self.out, **settings)
        self.model_summary_ = self.model_.summary

    def _settings(self) -> dict[str, Any]:
        """The settings of the network."""
        return {"encoder": self.encoder, "hidden_size": self.hidden_size, "seed": self.seed}

    def _read(
        self, trees: Any, labels: Sequence[Any] | None = None, groups: Any = None, weights: Any = None
    ) -> TreeDataset:
        """The trees with their labels. ``ValueError`` for other numbers of these, and for what is not a tree."""
        trees, features = self._apart(trees)
        reading = with_notation(trees, Reading(notation=self.notation, missing=""))
        read = read_objects(trees, reading)
        if labels is not None and len(labels) != len(read):
            raise ValueError(f"{len(read)} trees and {len(labels)} labels; give one per example")
        named = None if groups is None else [str(group) for group in groups]
        return TreeDataset(read, labels, groups=named, reading=reading, weights=weights, features=features)

    def _apart(self, table: Any) -> tuple[Any, dict[str, list[Any]] | None]:
        """The trees, and the columns next to them. ``ValueError`` for a table without one of these."""
        if self.features is None:
            return _column(table), None
        if isinstance(self.features, str):
            raise ValueError(f"features are {self.features!r}; give a list of names: {self.features.split(',')}")
        if not is_table(table):
            raise ValueError(
                f"features are {[*self.features]}: give a table of pandas or polars with these columns and the trees"
            )
        beside = columns_of(table, self.features)
        return _column(table[[name for name in table.columns if name not in beside]]), beside

    def encode(self, trees: Any) -> np.ndarray:
        """(E, n) float32, the vectors of trees; of pairs (2 E, n), one after the other."""
        check_is_fitted(self)
        return self.model_.encode(self._apart(trees)[0]).numpy()

    def _answers(self, trees: Any) -> np.ndarray:
        check_is_fitted(self)
        if self.features is None:
            return self.model_.answers_to(_column(trees)).numpy()
        data = self.model_.dataset(self.model_.read_examples(*self._apart(trees)))
        if data.bad:
            raise ValueError(f"tree {data.bad[0].line}: {data.bad[0].message}")
        return self.model_.answers_to(data).numpy()


class TreeClassifier(ClassifierMixin, TreeEstimator):
    """Classifies trees or pairs of trees: an estimator of scikit-learn.

    Examples:
        >>> from dgltree import TreeClassifier
        >>> trees = [f"({name} {a} {b})" for name in ("add", "mul") for a in "xyz" for b in "uvwxy"]
        >>> model = TreeClassifier(hidden_size=8, epochs=1).fit(trees, ["sum"] * 15 + ["product"] * 15)
        >>> model.predict_proba(["(add x (mul x y))"]).shape  # (trees, classes)
        (1, 2)

    Trees are ``Tree`` objects, texts, dicts, nodes of ``ast``, trees of NLTK, graphs of networkx, PyG or DGL, or pairs
    of these, in a list, an array or a column of pandas or polars. Arguments as of :class:`TreeEstimator`, and

    Args:
        class_weight: "balanced", or how much an example of each class counts in the loss, by the class; None: all the
            same.

    See also: :class:`dgltree.TreeRegressor` for numbers; :func:`dgltree.fit`, which leaves a folder.
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
        baseline: bool | BaselineSearch = True,
        features: Sequence[str] | None = None,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        options: Mapping[str, Any] | None = None,
        out: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            notation=notation,
            encoder=encoder,
            hidden_size=hidden_size,
            epochs=epochs,
            patience=patience,
            lr=lr,
            seed=seed,
            baseline=baseline,
            features=features,
            options=options,
            out=out,
            verbose=verbose,
        )
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> "TreeClassifier":
        """Train on trees ``X`` and their classes ``y`` (E,).

        What has the same value in ``groups`` (E,) is kept together when the tenth for validation is drawn.
        ``sample_weight`` (E,) is how much each example counts in the losses of the network and of the baseline. Raises
        ``ValueError`` as :func:`dgltree.fit` does, and naming the first tree that cannot be read or has no label.
        """
        labels = labels_of(y)
        if not len(labels):
            raise ValueError("no trees: give at least one")
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"all {len(labels)} trees have the class {self.classes_.tolist()[0]!r}; give at least two classes"
            )
        weights = sample_weight
        if self.class_weight is not None:
            of_classes = compute_sample_weight(self.class_weight, labels)
            weights = of_classes if weights is None else of_classes * np.asarray(weights, float)
        names = names_of(self.classes_)
        self._fit(self._read(X, [names[number] for number in numbers], groups, weights), "classify")
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """(E, C) float32 probabilities, in the order of ``classes_``."""
        answers = self._answers(X)
        found = np.zeros((len(answers), len(self.classes_)), answers.dtype)
        place = {name: i for i, name in enumerate(names_of(self.classes_))}
        found[:, [place[name] for name in self.model_.classes]] = answers
        return found

    def predict(self, X: Any) -> np.ndarray:
        """(E,) the predicted ones of ``classes_``, by the threshold if the options have one."""
        answers = from_numpy(self._answers(X))
        place = {name: i for i, name in enumerate(names_of(self.classes_))}
        found: np.ndarray = self.classes_[[place[name] for name in self.model_.labels_of(answers)]]
        return found


class TreeRegressor(RegressorMixin, TreeEstimator):
    """Predicts a number for each tree: an estimator of scikit-learn. Trees and arguments as of :class:`TreeEstimator`.

    Examples:
        >>> from dgltree import TreeRegressor
        >>> trees = [f"(add {a} {b})" for a in range(5) for b in range(6)]
        >>> model = TreeRegressor(hidden_size=8, epochs=1).fit(trees, [a + b for a in range(5) for b in range(6)])
        >>> model.predict(["(add 1 1)"]).shape
        (1,)
    """

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> "TreeRegressor":
        """Train on trees ``X`` and their numbers ``y`` (E,); the others and errors as of :class:`TreeClassifier`."""
        self._fit(self._read(X, numbers_of(y).tolist(), groups, sample_weight), "regress")
        return self

    def predict(self, X: Any) -> np.ndarray:
        """(E,) float64 numbers."""
        return self._answers(X)


class TreeEncoderTransformer(TransformerMixin, TreeEstimator):
    """Vectors of trees, for the steps of a pipeline that follow: an estimator of scikit-learn.

    Trees and arguments as of :class:`TreeEstimator`.
    """

    def fit(self, X: Any, y: Any = None) -> "TreeEncoderTransformer":
        """Train a network on trees ``X`` and their classes or numbers ``y`` (E,); without ``y`` draw its weights.

        Numbers are those of a floating-point type. Errors as of :class:`TreeClassifier`.
        """
        if y is None:
            self.model_ = untrained(self._read(X), self._settings() | dict(self.options or {}))
            self.model_summary_ = f"vectors of an untrained network: {self.model_.summary}"
            return self
        labels = labels_of(y)
        numbers = labels.dtype.kind == "f"
        given = labels.tolist() if numbers else list(map(str, labels))
        self._fit(self._read(X, given), "regress" if numbers else "classify")
        return self

    def transform(self, X: Any) -> np.ndarray:
        """(E, n) float32, the vectors of trees."""
        return self.encode(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """(n,) the names of the columns of vectors."""
        check_is_fitted(self)
        width = int(self.model_.model.encoder.config["hidden_size"])
        return np.array([f"tree{i}" for i in range(width)], object)


def untrained(data: TreeDataset, settings: Mapping[str, Any]) -> TrainedModel:
    """The model of a training on these trees before its first step, which reads trees and gives vectors.

    Args:
        data: trees, with labels or without.
        settings: of :class:`dgltree.training.options.FitOptions`; others than those of the encoder make no difference.
    """
    known = {field.name for field in fields(FitOptions)}
    options = FitOptions(**{name: value for name, value in settings.items() if name in known})
    with kept_generators():
        choice = choose_encoder(data, options)  # which makes encoders to count their weights
        torch.manual_seed(options.seed)
        encoder = choice.made()
        model = TreeModel(encoder, NumberReadout(choice.hidden_size))
    return TrainedModel(model, choice.read(data).reading)


def labels_of(y: Any) -> np.ndarray:
    """(E,) labels of one type. ``ValueError`` for several labels of a tree, and naming the first that is missing."""
    if y is None:
        raise ValueError("no labels: fit requires y to be passed, but the target y is None")
    if hasattr(y, "toarray"):
        raise ValueError("the labels are a sparse matrix; give one label per tree")
    given = y if hasattr(y, "__array__") else list(y)
    ragged = not hasattr(given, "__array__") and any(isinstance(label, list | tuple | set) for label in given)
    if ragged:
        raise ValueError("some labels are lists; give one label per tree")
    found = np.asarray(given)
    if found.ndim > 1 and found.shape[1] != 1:
        raise ValueError(f"y has the shape {found.shape}; give one label per tree")
    found = column_or_1d(found, warn=True)
    for i, label in enumerate(found.tolist()):
        if label is None or label != label:
            raise ValueError(f"Input y contains NaN: the label of tree {i + 1} is {label!r}; every tree needs one")
        if isinstance(label, float) and np.isinf(label):
            raise ValueError(f"Input y contains infinity: the label of tree {i + 1} is {label!r}")
    return found.astype(str) if found.dtype.kind == "O" and len({type(label) for label in found}) > 1 else found


def names_of(classes: np.ndarray) -> list[str]:
    """The labels of these classes in a model: their texts if these differ and can be labels, else 0, 1 and so on."""
    names = [str(name) for name in classes.tolist()]
    fit = len(set(names)) == len(names) and all(name and name.isprintable() and name == name.strip() for name in names)
    return names if fit else [str(i) for i in range(len(names))]


def numbers_of(y: Any) -> np.ndarray:
    """(E,) float64. ``ValueError`` as of :func:`labels_of`, and naming the first label that is not a number."""
    found = labels_of(y)
    try:
        return found.astype(float)
    except (TypeError, ValueError):
        wrong = next(i for i, label in enumerate(found.tolist()) if not _is_number(label))
        raise ValueError(f"the label of tree {wrong + 1} is {found.tolist()[wrong]!r}; a number is needed") from None


def _is_number(label: Any) -> bool:
    try:
        return bool(np.isfinite(float(label)))
    except (TypeError, ValueError):
        return False


def _column(trees: Any) -> Any:
    """Trees that can be looked at twice; of a table of one column this column."""
    if is_table(trees) and len(trees.columns) == 1:
        trees = trees[trees.columns[0]]
    return trees if is_table(trees) else list_examples(trees, Reading())
