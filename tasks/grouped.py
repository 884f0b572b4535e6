"""Metrics over all examples, and over each group of them."""

from collections.abc import Mapping

import torch
from torch import Tensor
from torchmetrics import Metric


class Grouped:
    """Metrics that are also kept for each group by itself.

    Args:
        metrics: name to metric, on the device of what they are updated with.
        group: what the groups are, such as "depth": "accuracy" gives "depth_03_accuracy" as well.
    """

    def __init__(self, metrics: Mapping[str, Metric], group: str) -> None:
        self.metrics, self.group = dict(metrics), group
        self._names = tuple(metrics)

    def update(self, outputs: Tensor, labels: Tensor, groups: Tensor) -> None:
        """Add E examples: what the model gave (E, ...), labels (E,), and groups (E,) int64 on the CPU."""
        for name in self._names:
            self.metrics[name].update(outputs, labels)
        for group in torch.unique(groups).tolist():
            rows = (groups == group).to(labels.device)
            for name in self._names:
                key = f"{self.group}_{group:02}_{name}"
                if key not in self.metrics:
                    self.metrics[key] = self.metrics[name].clone()
                    self.metrics[key].reset()
                self.metrics[key].update(outputs[rows], labels[rows])

    def compute(self) -> dict[str, Tensor]:
        """Name to metric: of all examples first, then by group."""
        return {key: metric.compute() for key, metric in self.metrics.items()}
