"""The mean of a network's answers and a baseline's, by one weight; a file of it by skops, without pickled objects."""

import json
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path, PurePath
from textwrap import shorten
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.linear_model import LogisticRegression, Ridge
from torch import Tensor

from dgltree.batching.number_scales import NumberScales
from dgltree.models.label_scales import LabelScale
from dgltree.support.files import replacing
from dgltree.training.baseline.baseline import Baseline, Columns
from dgltree.training.baseline.forest import Forest
from dgltree.training.objectives import Objective

ESTIMATOR_CLASSES = (LogisticRegression, Ridge, HistGradientBoostingClassifier, HistGradientBoostingRegressor, Forest)
"""The estimators that a baseline may have; the first two are linear."""
PARTS = ("estimator", "linear", "what", "temperature")
"""Parts of a baseline's file, next to the codes of its columns, its scale, the classes, weight and temperature."""
TRUSTED = [f"{TreePredictor.__module__}.{TreePredictor.__qualname__}"]
"""The type that is constructed from a file in addition to those that skops trusts."""
SCHEMA = "schema.json"
"""The file within that says what the others are."""
DIGEST = 64
"""Bytes of the digest that the file begins with."""
STEPS = 20
"""Weights that are tried, from 0 to 1."""


@dataclass(frozen=True)
class Average:
    """The contribution of a baseline to a network.

    Args:
        baseline: a model of the same classes, or of numbers.
        weight: of the network, from 0 (the baseline alone) to 1 (the network alone).
        temperature: what the logits of the mean are divided by; the mean of two calibrated answers is less sure than it
            should be.
    """

    baseline: Baseline
    weight: float
    temperature: float = 1.0

    @classmethod
    def best(cls, baseline: Baseline, network: Tensor, answers: Tensor, targets: Tensor) -> "Average":
        """The average with the smallest loss on validation examples: log loss, or squared error of numbers.

        Args:
            baseline: of the training set.
            network: (E, ...) the answers of the network to the examples.
            answers: (E, ...) those of the baseline.
            targets: (E,) the classes or numbers of the examples.
        """
        objective = baseline.objective
        weights = [step / STEPS for step in range(STEPS, -1, -1)]  # the network alone if they are equal
        losses = [objective.answer_loss(weight * network + (1 - weight) * answers, targets) for weight in weights]
        found = cls(baseline, weights[int(np.argmin(losses))])
        if found.weight in (0, 1):  # one of them alone, which is calibrated
            return found
        return replace(found, temperature=objective.temperature(found.of(network, answers), targets))

    def of(self, network: Tensor, baseline: Tensor) -> Tensor:
        """(E, ...) the mean of answers of both, at its temperature."""
        mean = self.weight * network + (1 - self.weight) * baseline.to(network.device, network.dtype)
        return self.baseline.objective.tempered(mean, self.temperature)

    def save(self, path: Path) -> None:
        """Write a file of skops behind its digest, or replace one at once. Raises ``OSError`` if it cannot.

        Equal averages give the same bytes with the same versions of skops, scikit-learn, NumPy and zlib.
        """
        from skops.io import dumps

        parts = {name: getattr(self.baseline, name) for name in PARTS}
        if isinstance(parts["estimator"], Forest):
            parts["estimator"] = parts["estimator"].to_arrays()
        classes = list(self.baseline.objective.classes)
        columns = self.baseline.columns
        own = {"weight": self.weight, "mean_temperature": self.temperature, "scale": self.baseline.scale.to_json()}
        content = _reproducible(
            dumps({**parts, "codes": columns.codes, "features": columns.features, "classes": classes, **own})
        )
        with replacing(path) as beside:
            beside.write_bytes(sha256(content).hexdigest().encode() + content)

    @classmethod
    def load(cls, path: Path, objective: Objective, places: NumberScales | None = None) -> "Average":
        """Read what :meth:`save` wrote, for a network of this objective and these scales of numbers.

        Raises ``ValueError`` for a damaged file.

        Only the types of scikit-learn and NumPy that a baseline is made of are constructed.
        """
        from skops.io import loads

        content = path.read_bytes()
        try:
            if content[:DIGEST] != sha256(content[DIGEST:]).hexdigest().encode():
                raise ValueError("the contents do not match their hash: the file was changed or damaged")
            found = loads(content[DIGEST:], trusted=TRUSTED)
            if found["classes"] != list(objective.classes) or not 0 <= found["weight"] <= 1:
                raise ValueError("its classes differ from the classes of the network")
            scale = LabelScale.from_json(found["scale"])
            parts = {name: found[name] for name in PARTS}
            if isinstance(parts["estimator"], dict):
                parts["estimator"] = Forest(**parts["estimator"])
            columns = Columns(found["codes"], places, found["features"])
            baseline = Baseline(columns, objective=objective, scale=scale, **parts)
            check(baseline)
            temperature = float(found["mean_temperature"])
            if not temperature > 0:
                raise ValueError(f"a temperature of {temperature:g}")
        except KeyError as error:
            raise ValueError(f"{path}: not a baseline that dgltree saved: it has no {error}") from None
        except Exception as error:  # what skops and scikit-learn say of contents that are not theirs
            raise ValueError(f"{path}: {shorten(str(error), 300)}") from None
        return cls(baseline, float(found["weight"]), temperature)


def _reproducible(content: bytes) -> bytes:
    """A file of skops without the date and the addresses of objects, by which it names its parts.

    Objects are numbered in the order of the file instead. Those written as JSON get a number each: whether two equal
    texts are one object says nothing, and differs between runs.
    """
    numbers: dict[Any, int] = {}
    names: dict[str, str] = {}

    def renumber(node: dict[str, Any]) -> dict[str, Any]:
        if "__id__" in node:
            same = object() if node.get("__loader__") == "JsonNode" else node["__id__"]
            node["__id__"] = numbers.setdefault(same, len(numbers))
        if isinstance(file := node.get("file"), str):
            node["file"] = names.setdefault(file, f"{len(names)}{PurePath(file).suffix}")
        return node

    with ZipFile(BytesIO(content)) as before:
        schema = json.loads(before.read(SCHEMA), object_hook=renumber)
        parts = {name: before.read(file) for file, name in names.items()}
    written = BytesIO()
    with ZipFile(written, "w") as after:
        for name, part in {**parts, SCHEMA: json.dumps(schema, indent=2).encode()}.items():
            after.writestr(ZipInfo(name), part, ZIP_DEFLATED)  # dated 1980-01-01
    return written.getvalue()


def check(baseline: Baseline) -> None:
    """``ValueError`` for parts that do not belong together, trees that do not end, and numbers that are not finite."""
    columns = baseline.columns
    estimator = baseline.estimator
    classes = len(baseline.objective.classes)
    codes = columns.codes
    features = columns.features
    width = columns.width
    if not isinstance(estimator, ESTIMATOR_CLASSES) or baseline.linear != isinstance(estimator, ESTIMATOR_CLASSES[:2]):
        raise ValueError(f"a baseline that is a {type(estimator).__name__}")
    sorted_ = all((each[1:] > each[:-1]).all() for each in (codes, features))
    if codes.dtype != np.uint64 or features.dtype != np.int64 or estimator.n_features_in_ != width or not sorted_:
        raise ValueError(f"the model has {estimator.n_features_in_} columns, but codes for {width} columns")
    if (features < 0).any():
        raise ValueError("one of its columns next to the trees does not exist")
    for trees in getattr(estimator, "_predictors", ()):
        for tree in trees:
            nodes = tree.nodes
            own = np.arange(len(tree.nodes))
            inner = nodes["is_leaf"] == 0
            below = np.stack([nodes["left"], nodes["right"]])[:, inner]
            if not len(own) or (below <= own[inner]).any() or (below >= len(own)).any():  # after its parent: it ends
                raise ValueError("its boosted trees refer to a child that does not exist")
            if (nodes["feature_idx"][inner] >= width).any() or nodes["is_categorical"].any():
                raise ValueError("its boosted trees refer to a column that does not exist")
    found = baseline.of(csr_matrix((1, width)))
    if (
        found.shape != ((1, classes) if classes else (1,))
        or not np.isfinite(found).all()
        or not baseline.temperature > 0
    ):
        raise ValueError(
            f"the model returns numbers of shape {found.shape[1:]} per tree, or numbers that are not finite, for "
            f"{classes} classes"
        )
    if baseline.linear and not np.isfinite(getattr(estimator, "coef_", np.nan)).all():
        raise ValueError("some of its numbers are not finite")
