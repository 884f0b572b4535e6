"""The mean of a network's answers and a baseline's, by one weight; a file of it without pickled objects."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from dgltree.files import save_tensors
from dgltree.models.checkpoint import digest
from dgltree.training.baseline.baseline import Baseline
from dgltree.training.baseline.boosted import Boosted
from dgltree.training.baseline.features import Columns
from dgltree.training.baseline.linear import Linear
from dgltree.training.objectives import Objective

VERSION = 1
HEADER = "dgltree_baseline"
KINDS: dict[str, type[Any]] = {kind.name: kind for kind in (Linear, Boosted)}
STEPS = 20
"""Weights that are tried, from 0 to 1."""


@dataclass(frozen=True)
class Average:
    """The contribution of a baseline to a network.

    Args:
        baseline: a model of the same classes, or of numbers.
        weight: of the network, from 0 (the baseline alone) to 1 (the network alone).
    """

    baseline: Baseline
    weight: float

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
        weights = [step / STEPS for step in range(STEPS, -1, -1)]  # the network alone where they are equal
        losses = [objective.answer_loss(weight * network + (1 - weight) * answers, targets) for weight in weights]
        return cls(baseline, weights[int(np.argmin(losses))])

    def of(self, network: Tensor, baseline: Tensor) -> Tensor:
        """(E, ...) the mean of answers of both."""
        return self.weight * network + (1 - self.weight) * baseline.to(network.device, network.dtype)

    def save(self, path: Path) -> None:
        """Write a safetensors file; an existing one is replaced at once. Raises ``OSError`` where it cannot."""
        model = self.baseline.model
        arrays = {name: getattr(model, name) for name in _names(type(model))}
        tensors = {name: torch.tensor(array) for name, array in arrays.items()}
        tensors["codes"] = torch.tensor(self.baseline.columns.codes.view(np.int64))
        header: dict[str, Any] = {
            "version": VERSION,
            "kind": model.name,
            "what": self.baseline.what,
            "weight": self.weight,
            "classes": list(self.baseline.objective.classes),
        }
        header["sha256"] = digest(header, tensors)
        save_tensors(path, tensors, {HEADER: json.dumps(header)})

    @classmethod
    def load(cls, path: Path, objective: Objective) -> "Average":
        """Read what :meth:`save` wrote, for a network of this objective. Raises ``ValueError`` for a damaged file."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="pt") as file:
                header = json.loads((file.metadata() or {})[HEADER])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
            if header["version"] != VERSION:
                raise ValueError(f"format version {header['version']}; this release reads version {VERSION}")
            if header.pop("sha256") != digest(header, tensors):
                raise ValueError("the contents do not match their hash: the file was changed or damaged")
            if header["classes"] != list(objective.classes) or not 0 <= header["weight"] <= 1:
                raise ValueError("its classes are not those of the network next to it")
            return cls._made(header, tensors, objective)
        except KeyError as error:
            raise ValueError(f"{path}: no baseline that dgltree saved: it has no {error}") from None
        except (SafetensorError, TypeError, AttributeError, IndexError, ValueError, RuntimeError) as error:
            raise ValueError(f"{path}: {error}") from None

    @classmethod
    def _made(cls, header: dict[str, Any], tensors: dict[str, Tensor], objective: Objective) -> "Average":
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        codes = arrays.pop("codes").view(np.uint64)
        kind = KINDS[header["kind"]]
        model = kind(**{name: arrays[name] for name in _names(kind)})
        model.check()
        if model.width != len(codes) or (codes[1:] <= codes[:-1]).any():
            raise ValueError(f"a model of {model.width} columns with the codes of {len(codes)}")
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise ValueError("some of its numbers are not finite")
        gives = model(csr_matrix((1, model.width))).shape[1]
        if gives != max(1, len(objective.classes)):
            raise ValueError(f"a model that gives {gives} numbers of a tree for {len(objective.classes)} classes")
        return cls(Baseline(Columns(codes), model, objective, header["what"]), float(header["weight"]))


def _names(kind: type[Any]) -> list[str]:
    return [field.name for field in fields(kind)]
