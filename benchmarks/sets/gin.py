"""A graph isomorphism network with edges of kinds (Xu et al. 2019; Hu et al. 2020), with PyTorch Geometric."""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.sets.peer_answers import Answered, RowsOfParts, TrainedPeer, choose_candidate, labels_of, score

SIZES = ((64, 3), (128, 5))
"""Of molecules: width and layers that are tried."""
BATCH, RATE, DROPOUT = 32, 1e-3, 0.2


@dataclass(frozen=True)
class RowGraphs:
    """How rows become graphs of PyTorch Geometric.

    Args:
        of: rows to graphs, with whole numbers ``x`` (N, F) and ``edge_attr`` (M, G), and ``numbers`` (N, D).
        nodes: (F,) how many values each number of a node has.
        edges: (G,) those of an edge.
        numbers: D, or 0.
    """

    of: Callable[[Sequence[Any]], list[Any]]
    nodes: Sequence[int]
    edges: Sequence[int]
    numbers: int = 0


@dataclass(frozen=True)
class GraphTraining:
    """Classes or numbers that are learnt, and how long.

    Args:
        classes: how many; 0 for numbers.
        sizes: width and layers that are tried.
        epochs: at most.
        patience: epochs without a better validation.
        scale: what numbers are learnt on, a function and its inverse.
    """

    classes: int
    seed: int
    sizes: Sequence[tuple[int, int]] = SIZES
    epochs: int = 200
    patience: int = 30
    scale: tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]] = (lambda x: x, lambda x: x)

    @property
    def outputs(self) -> int:
        return self.classes if self.classes > 2 else 1


def gin(parts: RowsOfParts, graphs: RowGraphs, training: GraphTraining) -> Answered:
    """The one of several sizes that is best in validation, each at its best epoch."""
    return choose_candidate(candidates(parts, graphs, training), parts, bool(training.classes))


def candidates(parts: RowsOfParts, graphs: RowGraphs, training: GraphTraining) -> Iterator[TrainedPeer]:
    """One trained network for each size."""
    for width, layers in training.sizes:
        torch.manual_seed(training.seed)
        network = _network(width, layers, graphs, training.outputs)
        answers = _trained(network, parts, graphs, training)
        weights = sum(weight.numel() for weight in network.parameters())
        yield TrainedPeer(f"GIN, width {width}, {layers} layers", answers, weights)


def _trained(
    network: nn.Module, parts: RowsOfParts, graphs: RowGraphs, training: GraphTraining
) -> Callable[[Sequence[Any]], np.ndarray]:
    from torch_geometric.loader import DataLoader

    to, back = training.scale
    given = to(torch.tensor(labels_of(parts.train), dtype=torch.float))
    mean, deviation = (0.0, 1.0) if training.classes else (given.mean().item(), given.std().item())

    def answers(rows: Sequence[Any]) -> np.ndarray:
        network.eval()
        with torch.no_grad():
            outputs = torch.cat([network(batch) for batch in DataLoader(graphs.of(rows), batch_size=256)])
        if training.outputs > 1:
            return outputs.argmax(1).numpy().astype(float)
        found = torch.sigmoid(outputs) if training.classes else back(outputs * deviation + mean)
        return found[:, 0].numpy().astype(float)

    def loss(outputs: Tensor, labels: Tensor) -> Tensor:
        if training.outputs > 1:
            return nn.functional.cross_entropy(outputs, labels.long())
        if training.classes:
            return nn.functional.binary_cross_entropy_with_logits(outputs[:, 0], labels)
        return nn.functional.mse_loss(outputs[:, 0], (to(labels) - mean) / deviation)

    made = graphs.of(parts.train)
    for graph, row in zip(made, parts.train, strict=True):
        graph.y = torch.tensor([row.label], dtype=torch.float)
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    order = torch.Generator().manual_seed(training.seed)
    loader = DataLoader(made, batch_size=BATCH, shuffle=True, generator=order)
    best, best_epoch, kept = -np.inf, 0, copy.deepcopy(network.state_dict())
    for epoch in range(training.epochs):
        network.train()
        for batch in loader:
            optimizer.zero_grad()
            loss(network(batch), batch.y).backward()
            optimizer.step()
        found = score(parts.validation, answers(parts.validation), bool(training.classes))
        if found > best:
            best, best_epoch, kept = found, epoch, copy.deepcopy(network.state_dict())
        if epoch - best_epoch >= training.patience:
            break
    network.load_state_dict(kept)
    return answers


class _Embedded(nn.Module):
    """The sum of the vectors of several numbers."""

    def __init__(self, counts: Sequence[int], width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(count, width) for count in counts)

    def forward(self, numbers: Tensor) -> Tensor:
        return torch.stack([table(numbers[:, i]) for i, table in enumerate(self.tables)]).sum(0)


def _network(width: int, layers: int, graphs: RowGraphs, outputs: int) -> nn.Module:
    from torch_geometric.nn import GINEConv, global_add_pool, global_mean_pool

    class GIN(nn.Module):
        """Mean and sum of the nodes at the end."""

        def __init__(self) -> None:
            super().__init__()
            self.nodes = _Embedded(graphs.nodes, width)
            self.edges = nn.ModuleList(_Embedded(graphs.edges, width) for _ in range(layers))
            self.layers = nn.ModuleList(GINEConv(self._perceptron(), train_eps=True) for _ in range(layers))
            self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(layers))
            self.output = nn.Sequential(
                nn.Linear(2 * width, width), nn.ReLU(), nn.Dropout(DROPOUT), nn.Linear(width, outputs)
            )
            self.numbers = nn.Linear(graphs.numbers, width) if graphs.numbers else None

        def _perceptron(self) -> nn.Module:
            return nn.Sequential(
                nn.Linear(width, 2 * width), nn.BatchNorm1d(2 * width), nn.ReLU(), nn.Linear(2 * width, width)
            )

        def forward(self, batch: Any) -> Tensor:
            state = self.nodes(batch.x)
            if self.numbers is not None:
                state = state + self.numbers(batch.numbers)
            for edges, layer, norm in zip(self.edges, self.layers, self.norms, strict=True):
                heard = norm(layer(state, batch.edge_index, edges(batch.edge_attr))).relu()
                state = state + nn.functional.dropout(heard, DROPOUT, self.training)
            pooled = [pool(state, batch.batch) for pool in (global_mean_pool, global_add_pool)]
            found: Tensor = self.output(torch.cat(pooled, 1))
            return found

    return GIN()
