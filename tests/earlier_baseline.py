"""Baselines in files of release 0.2, as that release wrote them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dgltree.support.files import save_tensors
from dgltree.models.checkpoint import digest
from dgltree.training.baseline.average import Average
from dgltree.training.baseline.earlier import HEADER, VERSION


def arrays_of(average: Average) -> dict[str, np.ndarray]:
    """The arrays of a baseline: a linear map of all classes, or the nodes of all trees, a leaf leading to itself."""
    estimator, count = average.baseline.estimator, len(average.baseline.objective.classes)
    if average.baseline.linear:
        weight, bias = np.atleast_2d(estimator.coef_).T, np.atleast_1d(estimator.intercept_)
        if count == 2:
            weight, bias = np.concatenate([0 * weight, weight], 1), np.concatenate([0 * bias, bias])
        return {"weight": weight.astype(np.float32), "bias": bias.astype(np.float32)}
    rounds = [[tree.nodes for tree in of_round] for of_round in estimator._predictors]
    sizes = np.array([[len(nodes) for nodes in of_round] for of_round in rounds])
    root = (np.cumsum(sizes) - sizes.ravel()).reshape(sizes.shape)
    nodes = np.concatenate([nodes for of_round in rounds for nodes in of_round])
    first, leaf = np.repeat(root.ravel(), sizes.ravel()), nodes["is_leaf"].astype(bool)
    return {
        "feature": np.where(leaf, 0, nodes["feature_idx"]).astype(np.int64),
        "threshold": np.where(leaf, 0.0, nodes["num_threshold"]),
        "left": np.where(leaf, np.arange(len(nodes)), first + nodes["left"]).astype(np.int64),
        "right": np.where(leaf, np.arange(len(nodes)), first + nodes["right"]).astype(np.int64),
        "value": nodes["value"].astype(np.float64),
        "root": root.astype(np.int64),
        "start": np.ravel(estimator._baseline_prediction).astype(np.float64),
        "columns": np.array([len(average.baseline.columns.codes)]),
        "classes": np.array(estimator.classes_ if count else [], np.int64),
        "count": np.array([count]),
    }


def said_of(average: Average) -> dict[str, Any]:
    """The header but for its hash."""
    baseline = average.baseline
    kind = "linear" if baseline.linear else "boosted"
    classes = list(baseline.objective.classes)
    return {"version": VERSION, "kind": kind, "what": baseline.what, "weight": average.weight, "classes": classes}


def tensors_of(average: Average) -> dict[str, torch.Tensor]:
    arrays = {**arrays_of(average), "codes": average.baseline.columns.codes.view(np.int64)}
    return {name: torch.tensor(array) for name, array in arrays.items()}


def write(path: Path, header: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    """The file, with a hash that is right."""
    save_tensors(path, tensors, {HEADER: json.dumps({**header, "sha256": digest(header, tensors)})})
