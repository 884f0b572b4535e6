"""Training a model to complete equations: all candidates of a blank against each other, and all subtrees of a batch.

The labels are arithmetic's, made while training, so every pass over the equations has other blanks and candidates.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from dgltree import plan
from dgltree.models import EquationModel, evaluating
from dgltree.read.preorder import Candidate
from dgltree.training.stepping.data import batch_loader
from tasks.equations import store
from tasks.equations.blanks import Blank
from tasks.equations.completion.arithmetic import equal, values
from tasks.equations.completion.blanked_equations import POINTS, Blanked, Fillers, Maker, as_graph
from tasks.equations.completion.ranks import complete
from tasks.equations.fillers import fillers, further_fillers
from tasks.equations.generator.identities import World
from tasks.equations.words import word

NEVER = -1e9  # a logit that no softmax sees
DECIDED, ALIKE = 0.5, 0.5  # weights of the losses next to that of the ranking
NEAREST = 48  # fillers that candidates hard to tell apart are drawn from
BLOCK = 512  # fillers compared with all others at once


class FillerRankingModule(lightning.LightningModule):
    """An equation model that learns to rank.

    The loss of a batch is the sum of three: the cross-entropy of the right candidates among all of a blank; the binary
    cross-entropy of every candidate, right and wrong ones with equal weight (so that the logit says how likely an
    equation is correct); and the cross-entropy of the subtrees of equal value among all subtrees of the batch, read by
    the same readout.

    Args:
        model: what to train.
        lr: highest learning rate of Adam, one cycle.
        weight_decay: L2, not decoupled.
        blanks: what to validate on: the share whose class is first.
        candidates: of these blanks.
    """

    def __init__(
        self, model: EquationModel, lr: float, weight_decay: float, blanks: list[Blank], candidates: list[Candidate]
    ) -> None:
        super().__init__()
        self.model = model
        self.lr = lr
        self.weight_decay = weight_decay
        self._blanks = blanks
        self._candidates = candidates

    def training_step(self, blanked: Blanked, _: int) -> Tensor:
        bias = self.model.readout.bias
        candidates, other, subtrees = blanked.parts(self.model.encoder(blanked.planned))
        known = ~blanked.label.isnan().all(1)
        label = blanked.label[known]
        logit = self.model.readout(candidates[known], other[known].unsqueeze(1))
        ranking = among(logit, label == 1, label.isnan())
        alike = among(subtrees @ subtrees.T + bias, blanked.alike, torch.eye(len(subtrees), dtype=torch.bool))
        loss = ranking + DECIDED * balanced(logit, label) + ALIKE * alike
        first = logit.detach().masked_fill(label.isnan(), NEVER).argmax(1, keepdim=True)
        figures = {"loss": loss, "ranking": ranking, "alike": alike, "first": label.gather(1, first).mean()}
        self.log_dict(figures, prog_bar=True, on_step=False, on_epoch=True, batch_size=len(label))
        return loss

    def validation_step(self, _: Tensor, __: int) -> None:
        ranks = np.array(complete(self.model, self._blanks, self._candidates)[0])
        self.log("class_1", float((ranks[:, 4] == 1).mean()), prog_bar=True, batch_size=1)
        self.log("collapse_5", float((ranks[:, 5] <= 5).mean()), prog_bar=True, batch_size=1)

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.Adam(self.parameters(), self.lr, weight_decay=self.weight_decay, fused=True)
        steps = int(self.trainer.estimated_stepping_batches)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, self.lr, total_steps=steps, pct_start=0.05)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def among(logit: Tensor, right: Tensor, spare: Tensor) -> Tensor:
    """The mean cross-entropy of the right columns among all but the spare ones, over the rows that have right ones."""
    rows = right.any(1)
    every = logit[rows].masked_fill(spare[rows], NEVER).logsumexp(1)
    return (every - logit[rows].masked_fill(~right[rows], NEVER).logsumexp(1)).mean()


def balanced(logit: Tensor, label: Tensor) -> Tensor:
    """The binary cross-entropy of labels 0, 1 and NaN (left out), half of it from either."""
    sides = ((label == 1, torch.ones_like), (label == 0, torch.zeros_like))
    losses = [functional.binary_cross_entropy_with_logits(logit[at], of(logit[at])) for at, of in sides]
    return (losses[0] + losses[1]) / 2


def nearest(model: EquationModel, among: Fillers) -> np.ndarray:
    """(F, NEAREST) for each filler those of other value whose states point most nearly the same way."""
    root = torch.from_numpy(among.root)
    planned = plan(replace(as_graph(among.nodes), roots=root), share=True)
    symbol = torch.from_numpy(among.nodes.symbol)
    value = values(planned, symbol, POINTS["paper"], np.random.default_rng(0))[planned.schedule.row[root]]
    with evaluating(model):
        state = functional.normalize(model.encoder(planned))
    found = []
    for of, at in zip(state.split(BLOCK), value.split(BLOCK), strict=True):
        different = equal(at[:, None], value) == 0
        found.append((of @ state.T).masked_fill(~different, NEVER).topk(NEAREST).indices)
    return torch.cat(found).numpy()


class BlankedEquations(lightning.LightningDataModule):
    """Endless batches of correct equations, blanked; what a step sees depends on (seed, epoch, step) and, for the
    candidates that are hard to tell apart, on the model at the beginning of the epoch.

    Args:
        files: of each world correct equations, as tasks.equations.generator.chains writes them.
        shares: how many of the steps are on equations of each of these worlds; they add up to 1.
        batch_size: equations a step.
        candidates: for each, in addition to its own filler.
        steps: an epoch.
        seed: of the choice of equations, blanks and candidates.
    """

    def __init__(
        self, files: dict[World, Path], shares: Sequence[float], batch_size: int, candidates: int, steps: int, seed: int
    ) -> None:
        super().__init__()
        self._makers = []
        self._equations = []
        for world, file in files.items():
            sides = [(row.left, row.right) for row in store.read(file)]
            known = fillers() if world == "paper" else [*fillers(), *further_fillers()]
            self._makers.append(Maker(sides, [word(filler) for filler in known], candidates, world))
            self._equations.append(len(sides))
        self._shares = list(shares)
        self._batch_size = batch_size
        self._steps = steps
        self._seed = seed

    def train_dataloader(self) -> DataLoader[Blanked]:
        assert self.trainer is not None
        model = self.trainer.lightning_module.model
        near = [nearest(model, maker.fillers) for maker in self._makers]  # type: ignore[arg-type]
        steps = _BlankSteps(self, self.trainer.current_epoch, near)
        return batch_loader(steps, batch_size=None, collate_fn=_as_it_is)

    def val_dataloader(self) -> DataLoader[Tensor]:
        """One step: the blanks are ranked all at once."""
        return DataLoader([torch.zeros(1)])  # type: ignore[arg-type]

    def transfer_batch_to_device(self, batch: Any, device: torch.device, _: int) -> Any:
        """Schedules are planned for the CPU, where a step is as long as the making of a batch."""
        return batch

    def step(self, epoch: int, step: int, near: Sequence[np.ndarray]) -> Blanked:
        random = np.random.default_rng((self._seed, epoch, step))
        world = int(random.choice(len(self._makers), p=self._shares))
        which = random.integers(0, self._equations[world], self._batch_size)
        return self._makers[world].make(which, random, near[world])

    def __len__(self) -> int:
        return self._steps


class _BlankSteps(Dataset[Blanked]):
    def __init__(self, data: BlankedEquations, epoch: int, near: Sequence[np.ndarray]) -> None:
        self._data = data
        self._epoch = epoch
        self._near = near

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, step: int) -> Blanked:
        return self._data.step(self._epoch, step, self._near)


def _as_it_is(batch: Any) -> Any:
    return batch
