"""A graph isomorphism network with bonds (Xu et al. 2019; Hu et al. 2020), with PyTorch Geometric."""

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tasks.sets.molecules.answered import Answered, TrainedPeer, chosen, labels_of, score
from tasks.sets.molecules.published import Molecule, MoleculeParts

SIZES = ((64, 3), (128, 5))
"""Width and layers that are tried."""
BATCH, RATE, DROPOUT, EPOCHS, PATIENCE = 32, 1e-3, 0.2, 200, 30


def gin(parts: MoleculeParts, classes: bool, seed: int) -> Answered:
    """The one of several sizes that is best in validation, each at its best epoch."""
    return chosen(_candidates(parts, classes, seed), parts, classes)


def _candidates(parts: MoleculeParts, classes: bool, seed: int) -> Iterator[TrainedPeer]:
    labels = torch.tensor(labels_of(parts.train), dtype=torch.float)
    mean, deviation = (0.0, 1.0) if classes else (labels.mean().item(), labels.std().item())
    for width, layers in SIZES:
        torch.manual_seed(seed)
        network = _network(width, layers)
        answers = _trained(network, parts, classes, seed, mean, deviation)
        weights = sum(weight.numel() for weight in network.parameters())
        yield TrainedPeer(f"GIN, width {width}, {layers} layers", answers, weights)


def _trained(
    network: nn.Module, parts: MoleculeParts, classes: bool, seed: int, mean: float, deviation: float
) -> Callable[[Sequence[Molecule]], np.ndarray]:
    from torch_geometric.loader import DataLoader

    def answers(rows: Sequence[Molecule]) -> np.ndarray:
        network.eval()
        with torch.no_grad():
            outputs = torch.cat([network(batch) for batch in DataLoader(_graphs(rows), batch_size=256)])
        return (torch.sigmoid(outputs) if classes else outputs * deviation + mean).numpy().astype(float)

    loss = nn.BCEWithLogitsLoss() if classes else nn.MSELoss()
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    order = torch.Generator().manual_seed(seed)
    loader = DataLoader(_graphs(parts.train), batch_size=BATCH, shuffle=True, generator=order)
    best, best_epoch, kept = -np.inf, 0, copy.deepcopy(network.state_dict())
    for epoch in range(EPOCHS):
        network.train()
        for batch in loader:
            optimizer.zero_grad()
            loss(network(batch), (batch.y - mean) / deviation).backward()
            optimizer.step()
        found = score(parts.validation, answers(parts.validation), classes)
        if found > best:
            best, best_epoch, kept = found, epoch, copy.deepcopy(network.state_dict())
        if epoch - best_epoch >= PATIENCE:
            break
    network.load_state_dict(kept)
    return answers


def _graphs(rows: Sequence[Molecule]) -> list[Any]:
    from torch_geometric.utils import from_smiles

    graphs = []
    for row in rows:
        graph = from_smiles(row.smiles)
        graph.y = torch.tensor([row.label], dtype=torch.float)
        graphs.append(graph)
    return graphs


class _Embedded(nn.Module):
    """The sum of the vectors of several numbers."""

    def __init__(self, counts: Sequence[int], width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(count, width) for count in counts)

    def forward(self, numbers: Tensor) -> Tensor:
        return torch.stack([table(numbers[:, i]) for i, table in enumerate(self.tables)]).sum(0)


def _network(width: int, layers: int) -> nn.Module:
    from torch_geometric.nn import GINEConv, global_add_pool, global_mean_pool
    from torch_geometric.utils.smiles import e_map, x_map

    class GIN(nn.Module):
        """Atoms and bonds as Open Graph Benchmark's programs read them; mean and sum of the atoms at the end."""

        def __init__(self) -> None:
            super().__init__()
            self.atoms = _Embedded([len(values) for values in x_map.values()], width)
            self.bonds = nn.ModuleList(
                _Embedded([len(values) for values in e_map.values()], width) for _ in range(layers)
            )
            self.layers = nn.ModuleList(GINEConv(self._perceptron(), train_eps=True) for _ in range(layers))
            self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(layers))
            self.output = nn.Sequential(
                nn.Linear(2 * width, width), nn.ReLU(), nn.Dropout(DROPOUT), nn.Linear(width, 1)
            )

        def _perceptron(self) -> nn.Module:
            return nn.Sequential(
                nn.Linear(width, 2 * width), nn.BatchNorm1d(2 * width), nn.ReLU(), nn.Linear(2 * width, width)
            )

        def forward(self, batch: Any) -> Tensor:
            state = self.atoms(batch.x)
            for bonds, layer, norm in zip(self.bonds, self.layers, self.norms, strict=True):
                heard = norm(layer(state, batch.edge_index, bonds(batch.edge_attr))).relu()
                state = state + nn.functional.dropout(heard, DROPOUT, self.training)
            pooled = [pool(state, batch.batch) for pool in (global_mean_pool, global_add_pool)]
            found: Tensor = self.output(torch.cat(pooled, 1))[:, 0]
            return found

    return GIN()
