"""Baselines of release 0.2, in safetensors files of plain arrays: read, and no longer written."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from dgltree.models.checkpoint import digest
from dgltree.training.baseline.average import Average
from dgltree.training.baseline.baseline import Baseline
from dgltree.training.baseline.baseline import Columns
from dgltree.training.baseline.forest import check_places, descend
from dgltree.training.objectives import Objective

VERSION = 1
HEADER = "dgltree_baseline"
BLOCK = 1 << 22
"""Pairs of an example and a tree that are looked at at a time."""


class LinearMap:
    """Logits (E, C), or numbers (E,), by ``weight`` (D, C) and ``bias`` (C,)."""

    def __init__(self, weight: np.ndarray, bias: np.ndarray) -> None:
        if weight.ndim != 2 or bias.shape != weight.shape[1:]:
            raise ValueError(f"a linear model of weights {weight.shape} and biases {bias.shape}")
        self.weight, self.bias, self.width, self.classes_ = weight.astype(np.float64), bias, len(weight), slice(None)

    def decision_function(self, rows: csr_matrix) -> np.ndarray:
        found: np.ndarray = rows @ self.weight + self.bias
        return found

    def predict(self, rows: csr_matrix) -> np.ndarray:
        return self.decision_function(rows)[:, 0]


class GrownTrees:
    """Boosted trees; node m leads to ``left[m]`` if its column is at most its threshold, and a leaf to itself."""

    def __init__(self, columns: np.ndarray, classes: np.ndarray, count: np.ndarray, **arrays: np.ndarray) -> None:
        of = self.of = SimpleNamespace(**arrays)
        self.classes_, own = classes, np.arange(len(of.value))
        nodes = (of.feature, of.threshold, of.left, of.right)
        fits = all(array.shape == own.shape for array in nodes) and of.root.shape[1:] == of.start.shape
        sums = 1 if len(classes) in (0, 2) else len(classes)
        fits = fits and classes.ndim == 1 and {columns.shape, count.shape} == {(1,)}
        if not (fits and len(own) and len(of.start) == sums):
            raise ValueError("boosted trees whose arrays do not match")
        self.width = int(columns[0])
        check_places(self.width, of.root.ravel(), of.feature, of.left, of.right)
        if (classes < 0).any() or (classes >= int(count[0])).any():
            raise ValueError("trees with a class that does not exist")

    def decision_function(self, counts: np.ndarray) -> np.ndarray:
        size = max(1, BLOCK // max(1, self.of.root.size))
        sums = np.concatenate([self._sums(counts[i : i + size]) for i in range(0, len(counts), size)])
        return sums if sums.shape[1] > 1 else sums[:, 0]

    predict = decision_function

    def _sums(self, counts: np.ndarray) -> np.ndarray:
        of = self.of
        leaf = descend(counts, of.root.ravel(), of.feature, of.threshold, of.left, of.right)
        found: np.ndarray = of.start + of.value[leaf].reshape(len(counts), *of.root.shape).sum(1)
        return found


EARLIER_MODELS: dict[str, Any] = {"linear": LinearMap, "boosted": GrownTrees}


def load_earlier(path: Path, objective: Objective) -> Average:
    """Read such a file, for a network of this objective. Raises ``ValueError`` for a damaged one."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {})[HEADER])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is not a dict)
        if header["version"] != VERSION:
            raise ValueError(f"format version {header['version']}; this release reads version {VERSION}")
        if header.pop("sha256") != digest(header, tensors):
            raise ValueError("the contents do not match their hash: the file was changed or damaged")
        if header["classes"] != list(objective.classes) or not 0 <= header["weight"] <= 1:
            raise ValueError("its classes are not those of the network next to it")
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        codes, linear = arrays.pop("codes").view(np.uint64), header["kind"] == "linear"
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise ValueError("some of its numbers are not finite")
        model = EARLIER_MODELS[header["kind"]](**arrays)
        if linear and model.weight.shape[1] != max(1, len(objective.classes)):
            raise ValueError(f"a linear model that gives {model.weight.shape[1]} numbers of a tree")
        if model.width != len(codes) or (codes[1:] <= codes[:-1]).any():
            raise ValueError(f"a model of {model.width} columns with the codes of {len(codes)}")
        baseline = Baseline(Columns(codes), model, linear, objective, header["what"])
        baseline.of(csr_matrix((1, len(codes))))
        return Average(baseline, float(header["weight"]))
    except KeyError as error:
        raise ValueError(f"{path}: not a baseline that dgltree saved: it has no {error}") from None
    except (SafetensorError, TypeError, AttributeError, IndexError, ValueError, RuntimeError) as error:
        raise ValueError(f"{path}: {error}") from None
