"""Models are trained as modules of Lightning: what encodes trees, and the one that ``fit`` trains."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from inspect import signature
from typing import Any

import lightning
import numpy as np
import torch
from lightning import Callback
from torch import Tensor, nn
from torchmetrics import MeanMetric, MetricCollection

from dgltree.batching.batch import TreeBatch
from dgltree.batching.vocabulary import NO_LABEL, UNKNOWN
from dgltree.cells import Cell
from dgltree.datasets.batches import Labelled
from dgltree.encoders import Encoder, TreeEncoder
from dgltree.encoders.encoder import Planned
from dgltree.engine.typed_linear import TypedLinear
from dgltree.models.tree_model import TreeModel
from dgltree.training.objectives import Objective
from dgltree.training.options import FitOptions, OptimizerName
from dgltree.training.stepping.callbacks import (
    VALIDATION_LOSS,
    DivergenceError,
    EpochLoss,
    HalvedRate,
    ScheduledRate,
    check_finite,
)

EVERY, TAKEN = 5, 0.8
"""Steps between two looks back, and the share of the new weights then."""


class EncoderModule(lightning.LightningModule):
    """A model with an encoder; ``seed`` is that of its dropout, which depends on (seed, epoch, step, rank) alone."""

    encoder: Encoder
    seed: int

    @property
    def shares(self) -> bool:
        """Whether equal subtrees are computed once now."""
        return self.shares_in(self.training)

    def shares_in(self, training: bool) -> bool:
        """Return whether equal subtrees are computed once: by a cell, unless dropout in training would tie them."""
        encoder = self.encoder
        return isinstance(encoder, TreeEncoder) and not (training and encoder.cell.drops)

    def plan(self, trees: TreeBatch) -> Planned:
        """The preparation that the data loader's worker does for the encoder."""
        return self.encoder.plan(trees, self.shares)

    def on_train_batch_start(self, batch: Any, index: int) -> None:
        seed_step(self, self.seed, index)


def seed_step(module: lightning.LightningModule, seed: int, index: int) -> None:
    """Masks of dropout are those of this step, whether or not the run was interrupted before it."""
    place = (seed, module.current_epoch, index, module.global_rank)
    number = int(np.random.SeedSequence(place).generate_state(1)[0])
    if module.device.type == "cpu":  # for the other devices torch notes where it was called from, which takes 2 ms
        torch.default_generator.manual_seed(number)
    else:
        torch.manual_seed(number)


class TreeTraining(EncoderModule):
    """The loss of an objective, by the optimizer and the schedule that are named.

    Args:
        model: what is trained.
        objective: what is predicted.
        options: with all that follows from the data. Dropout depends on their (seed, epoch, step, rank) alone. Weight
            decay is that of weight matrices and embeddings, none of biases (Loshchilov and Hutter 2019, arXiv
            1711.05101).
        token_dropout: (T,) with which probability the whole vector of a token is dropped, A / (A + times that it
            occurs): rare ones more often (Kiperwasser and Goldberg 2016, arXiv 1603.04351, section 3, "word dropout",
            who put an unknown word in its place); None: never.
        function_dropout: (F,) the same of functions, if a cell reads their vectors.
        untaught: maps and places in them that no example teaches;
            see :func:`dgltree.training.stepping.module.take_means`.
        nothing: as long as the monitored metric has not been above this, nothing is learnt.
        nodes_choose: whether validation measures all nodes that have a label, not roots.
    """

    token_dropout: Tensor | None
    function_dropout: Tensor | None

    def __init__(
        self,
        model: TreeModel,
        objective: Objective,
        options: FitOptions,
        token_dropout: Tensor | None = None,
        function_dropout: Tensor | None = None,
        untaught: Sequence[tuple[TypedLinear, int]] = (),
        nothing: float = -math.inf,
        nodes_choose: bool = False,
    ) -> None:
        super().__init__()
        assert options.lr is not None
        self.untaught = list(untaught)
        self.nothing = nothing
        self.nodes_choose = nodes_choose
        self.model = model
        self.objective = objective
        self.options = options
        self.seed = options.seed
        self.lr = options.lr
        self.metrics = MetricCollection(objective.validation_metrics())
        self.validation_loss = MeanMetric(nan_strategy="disable")
        self.register_buffer("token_dropout", token_dropout, persistent=False)
        self.register_buffer("function_dropout", function_dropout, persistent=False)
        if self._drops:
            for cell in self._cells():
                cell.input_embedding.register_forward_hook(self._dropped_inputs)
                whole = cell.input_embedding.parts is None  # else the token's own vector is dropped, and each word's
                each = cell.input_embedding if whole else cell.input_embedding.vectors
                each.register_forward_hook(partial(self._dropped, "token_dropout"))
                if cell.functions:
                    cell.function_embedding.register_forward_hook(self._dropped_inputs)
                    cell.function_embedding.register_forward_hook(partial(self._dropped, "function_dropout"))

    @property
    def encoder(self) -> Encoder:  # type: ignore[override]
        return self.model.encoder

    def shares_in(self, training: bool) -> bool:
        return super().shares_in(training) and not (training and self._drops)

    @property
    def _drops(self) -> bool:
        return bool(self.options.input_dropout) or self.token_dropout is not None

    @property
    def monitored(self) -> str:
        """The metric by which the best epoch is chosen; higher is better."""
        return self.objective.monitored

    def forward(self, trees: TreeBatch | Planned, features: Tensor | None = None) -> Tensor:
        """The readout's output for the examples: (E, classes), or (E,) numbers on the objective's scale."""
        found: Tensor = self.model(trees, self.shares, features)
        return found

    def training_step(self, labelled: Labelled, index: int) -> Tensor:
        loss, weight = self._loss(labelled)
        check_finite(self, loss, self.lr, index)
        return shared_loss(self, loss, weight, index)

    def on_validation_start(self) -> None:
        """Before a checkpoint of the epoch is written."""
        take_means(self.untaught)
        if not all(bool(weights.isfinite().all()) for weights in self.parameters()):
            raise DivergenceError(
                f"epoch {self.current_epoch}: the weights are no longer finite; lower --lr ({self.lr:g})"
            )

    def validation_step(self, labelled: Labelled, _: int) -> None:
        if self.nodes_choose:
            rows = labelled.trees.label != NO_LABEL
            found = self._at_nodes(labelled)[rows]
            labels = labelled.trees.label[rows]
        else:
            found = self(labelled.inputs, labelled.features)
            labels = labelled.labels
        self.metrics.update(*self.objective.compared(found, labels))
        self.log_dict(self.metrics, prog_bar=True, batch_size=len(labels))
        loss, weight = (torch.as_tensor(each, device=labels.device) for each in self.objective.loss(found, labels))
        self.validation_loss.update(loss.where(weight > 0, 0.0), weight)  # a batch may have unknown classes alone
        self.log(VALIDATION_LOSS, self.validation_loss, batch_size=len(labels))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        fused = "mixed" not in str(self.trainer.precision)  # Lightning clips no fused ones there
        return optimizer_of(self, self.options, self.lr, fused)

    def configure_callbacks(self) -> list[Callback]:
        options = self.options
        callbacks: list[Callback] = []
        if options.schedule == "plateau" and options.halve_after:
            callbacks.append(HalvedRate(self.monitored, options.halve_after, self.nothing))
        if options.schedule != "plateau" or options.warmup:
            callbacks.append(ScheduledRate(self.lr, options.warmup or 0, options.schedule))
        return callbacks

    def _loss(self, labelled: Labelled) -> tuple[Tensor, Tensor | float]:
        """The mean, and by how many examples or nodes, or by what weight."""
        inputs = labelled.inputs
        labels = labelled.labels
        own: Tensor | float = 0.0
        if self.options.nodes:
            labels = labelled.trees.label
            found = self._at_nodes(labelled)
        else:
            encoded = self.encoder.encoded(inputs, self.shares)
            found = self.model.read_out(encoded.root, labelled.features)
            own = encoded.loss
        loss, weight = self.objective.loss(found, labels, labelled.weights)
        return loss + own, weight

    def _at_nodes(self, labelled: Labelled) -> Tensor:
        """(N, C), the readout's output for all nodes."""
        found: Tensor = self.model.read_out(self.encoder.node_states(labelled.inputs, self.shares))
        return found

    def _cells(self) -> list[Cell]:
        if not isinstance(self.encoder, TreeEncoder) or self.encoder.cell.input_size is None:
            raise ValueError(
                "input_dropout and token_dropout need a cell with an input_size: they drop tokens' vectors"
            )
        return self.encoder.cells

    def _dropped_inputs(self, embedding: nn.Module, _: tuple[Tensor, ...], vectors: Tensor) -> Tensor:
        return nn.functional.dropout(vectors, self.options.input_dropout or 0.0, embedding.training)

    def _dropped(self, name: str, embedding: nn.Module, inputs: tuple[Tensor, ...], vectors: Tensor) -> Tensor:
        shares: Tensor | None = getattr(self, name)
        if shares is None or not embedding.training:
            return vectors
        ids = inputs[0]
        share = torch.where(ids >= 0, shares[ids.clamp(min=0)], 0.0)
        return vectors * (torch.rand_like(share) >= share).unsqueeze(-1)


def shared_loss(module: lightning.LightningModule, mean: Tensor, count: Tensor | float, index: int) -> Tensor:
    """The value to return from a step, as from :func:`shared_mean`; its value counts for the ``loss`` of the epoch.

    Args:
        module: whose batches are lists by :func:`local_share`.
        mean, count: as there.
        index: of the step in its epoch.
    """
    loss, overall = shared_mean(module, mean, count)
    loader: Any = module.trainer.train_dataloader
    EpochLoss.of(module.trainer).add(overall, loader.batch_sampler[index].whole)
    return loss


def shared_mean(module: lightning.LightningModule, mean: Tensor, count: Tensor | float) -> tuple[Tensor, Tensor]:
    """A step's loss, of this process and of all: what must be returned for its gradient, and its value, both ().

    The processes' gradients are averaged, whatever number of losses each has; so the sum of a process's own losses is
    divided by the mean number. Every parameter takes part, if only with 0: some process may lack the functions that
    need it, and all must agree on which parameters have a gradient.

    Args:
        module: in training.
        mean: (), of the losses of this process.
        count: how many there are, or the sum of their weights; of 0 the mean does not count.
    """
    trainer = module.trainer
    if trainer.world_size == 1:
        return mean, mean.detach()
    count = float(count)
    total = mean * count if count else mean.new_zeros(())
    sums = torch.stack([total.detach(), total.new_tensor(count)])
    overall, counts = trainer.strategy.reduce(sums, reduce_op="mean")
    nothing = sum(parameter.sum() for parameter in module.parameters()) * 0
    return total / counts + nothing, overall / counts


def find_unseen_functions(cell: Cell, counts: Tensor) -> list[tuple[TypedLinear, int]]:
    """The maps of ``<unk>`` of a cell, each with its place, that no node of the training set reaches.

    Args:
        cell: of the model.
        counts: (F,) int64, the nodes of each function of its vocabulary.
    """
    strange = {f for f, (name, _) in enumerate(cell.vocabulary.functions) if name == UNKNOWN and not int(counts[f])}
    return list(_maps(cell, strange)) if cell.typed else []


def _maps(cell: Cell, functions: set[int]) -> Iterator[tuple[TypedLinear, int]]:
    for linear in cell.named_maps().values():
        for function, place in linear.position.items():
            if function in functions and linear.count > 1:
                yield linear, place


def take_means(maps: list[tuple[TypedLinear, int]]) -> None:
    """Give each of these places the mean of the weights of the others, which are those of known functions."""
    with torch.no_grad():
        for linear, place in maps:
            for weights in (each for each in linear.parameters() if len(each) == linear.count):
                others = torch.arange(len(weights), device=weights.device) != place
                weights[place] = weights[others].mean(0)


class RAdamLookahead(torch.optim.RAdam):
    """RAdam with Lookahead, Ranger (Liu et al. 2020, arXiv 1908.03265; Zhang et al. 2019, arXiv 1907.08610).

    After every five steps the weights become 0.8 of themselves and 0.2 of those kept at the last such step, as in the
    papers on latent trees, and these are kept.
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        weights = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        first = {p: p.clone() for p in weights if not self.state[p]}
        loss = super().step(closure)
        for p in weights:
            state = self.state[p]
            state.setdefault("kept", first.get(p))
            if int(state["step"]) % EVERY == 0:
                p.copy_(state["kept"].lerp_(p, TAKEN))
        return loss


OPTIMIZERS: dict[OptimizerName, type[torch.optim.Optimizer]] = {
    "adamw": torch.optim.AdamW,
    "adam": torch.optim.Adam,
    "radam": torch.optim.RAdam,
    "radam_lookahead": RAdamLookahead,
    "nadam": torch.optim.NAdam,
    "adagrad": torch.optim.Adagrad,
    "rmsprop": torch.optim.RMSprop,
    "sgd": torch.optim.SGD,
}
DECOUPLED = ("radam", "radam_lookahead", "nadam")
"""Optimizers of torch that have both kinds of weight decay."""


def optimizer_of(module: nn.Module, options: FitOptions, lr: float, fused: bool) -> torch.optim.Optimizer:
    """The optimizer that is named, over all weights of a module.

    Weight decay spares vectors, such as biases, and is decoupled from the gradient if torch has that, except for
    "adam". The decay of the mean of gradients is the momentum of "sgd".

    Args:
        module: with the weights.
        options: of the training.
        lr: the rate to begin with.
        fused: whether one kernel may do a step, if torch has one for the optimizer.
    """
    kind = OPTIMIZERS[options.optimizer]
    given: dict[str, Any] = {"lr": lr, "betas": (options.beta1, 0.999), "eps": options.eps, "fused": fused}
    given |= {"momentum": options.beta1} if options.optimizer == "sgd" else {}
    given |= {"decoupled_weight_decay": True} if options.optimizer in DECOUPLED else {}
    how = {name: value for name, value in given.items() if name in signature(kind).parameters}
    decay = options.weight_decay or 0.0
    if options.optimizer == "adam":
        return kind(module.parameters(), weight_decay=decay, **how)  # type: ignore[call-arg]
    decayed = [weights for weights in module.parameters() if weights.ndim > 1]
    others = [weights for weights in module.parameters() if weights.ndim <= 1]
    groups = [(decayed, decay), (others, 0.0)]
    return kind([{"params": weights, "weight_decay": decay} for weights, decay in groups if weights], **how)
