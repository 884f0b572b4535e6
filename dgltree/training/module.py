"""A model of own trees in training: classes or numbers of trees, classes of pairs, or classes of every node."""

from functools import partial
from typing import Any

import torch
from lightning import Callback
from torch import Tensor, nn
from torchmetrics import MetricCollection

from dgltree.batching.batch import TreeBatch
from dgltree.datasets.labelled import Labelled
from dgltree.encoders import Encoder, TreeEncoder
from dgltree.encoders.encoder import Planned
from dgltree.models.tree_model import TreeModel
from dgltree.training.encoding import EncoderModule
from dgltree.training.objectives import Objective
from dgltree.training.plateau import HalvedRate
from dgltree.training.processes import shared_loss
from dgltree.training.warm_up import WarmUp


class DivergenceError(ValueError):
    """The loss or the weights of a training are no finite numbers."""


class TreeTraining(EncoderModule):
    """The loss of an objective by AdamW, whose rate is halved when validation no longer rises.

    Args:
        model: what is trained.
        objective: what is predicted.
        nodes: whether every labelled node is learnt from, instead of the trees' own labels alone.
        input_dropout: of the vectors of tokens.
        token_dropout: (T,) with which probability the whole vector of a token is dropped, A / (A + times that it
            occurs): rare ones more often (Kiperwasser and Goldberg 2016, arXiv 1603.04351, section 3, "word dropout",
            who put an unknown word in its place); None: never.
        function_dropout: (F,) the same of functions, where a cell reads their vectors.
        lr: learning rate at first.
        warmup: steps over which it rises to that.
        halve_after: epochs of which none was better after which the rate is halved; 0: never.
        weight_decay: of weight matrices and embeddings, none of biases (Loshchilov and Hutter 2019, arXiv 1711.05101).
        seed: of the dropout, which depends on (seed, epoch, step, rank) alone.
    """

    token_dropout: Tensor | None
    function_dropout: Tensor | None

    def __init__(
        self,
        model: TreeModel,
        objective: Objective,
        nodes: bool,
        input_dropout: float,
        lr: float,
        halve_after: int,
        weight_decay: float,
        seed: int,
        token_dropout: Tensor | None = None,
        function_dropout: Tensor | None = None,
        warmup: int = 0,
    ) -> None:
        super().__init__()
        self.model, self.objective, self.nodes, self.input_dropout = model, objective, nodes, input_dropout
        self.warmup = warmup
        self.lr, self.halve_after, self.weight_decay, self.seed = lr, halve_after, weight_decay, seed
        self.metrics = MetricCollection(objective.validation_metrics())
        self.register_buffer("token_dropout", token_dropout, persistent=False)
        self.register_buffer("function_dropout", function_dropout, persistent=False)
        if self._drops:
            cell = self._cell()
            cell.input_embedding.register_forward_hook(partial(self._dropped, "token_dropout"))
            if cell.functions:
                cell.function_embedding.register_forward_hook(partial(self._dropped, "function_dropout"))

    @property
    def encoder(self) -> Encoder:  # type: ignore[override]
        return self.model.encoder

    def shares_in(self, training: bool) -> bool:
        return super().shares_in(training) and not (training and self._drops)

    @property
    def _drops(self) -> bool:
        return bool(self.input_dropout) or self.token_dropout is not None

    @property
    def monitored(self) -> str:
        """The metric by which the best epoch is chosen; higher is better."""
        return self.objective.monitored

    def forward(self, trees: TreeBatch | Planned) -> Tensor:
        """The readout's output for the examples: (E, classes), or (E,) numbers on the objective's scale."""
        found: Tensor = self.model(trees, self.shares)
        return found

    def training_step(self, labelled: Labelled, index: int) -> Tensor:
        loss, weight = self._loss(labelled)
        if not bool(loss.isfinite()):
            raise DivergenceError(
                f"epoch {self.current_epoch}, step {index}: the loss is {loss:g}; lower --lr ({self.lr:g})"
            )
        return shared_loss(self, loss, weight, index)

    def on_validation_start(self) -> None:
        """Before a checkpoint of the epoch is written."""
        if not all(bool(weights.isfinite().all()) for weights in self.parameters()):
            raise DivergenceError(
                f"epoch {self.current_epoch}: the weights are no finite numbers any more; lower --lr ({self.lr:g})"
            )

    def validation_step(self, labelled: Labelled, _: int) -> None:
        self.metrics.update(*self.objective.compared(self(labelled.inputs), labelled.labels))
        self.log_dict(self.metrics, prog_bar=True, batch_size=len(labelled.labels))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        fused = "mixed" not in str(self.trainer.precision)  # Lightning clips no gradients of a fused one there
        decayed = [weights for weights in self.parameters() if weights.ndim > 1]
        others = [weights for weights in self.parameters() if weights.ndim <= 1]
        groups = [{"params": decayed, "weight_decay": self.weight_decay}, {"params": others, "weight_decay": 0.0}]
        return torch.optim.AdamW([group for group in groups if group["params"]], self.lr, fused=fused)

    def configure_callbacks(self) -> list[Callback]:
        halved = [HalvedRate(self.monitored, self.halve_after, self.objective.nothing)] if self.halve_after else []
        return [*halved, *([WarmUp(self.lr, self.warmup)] if self.warmup else [])]

    def _loss(self, labelled: Labelled) -> tuple[Tensor, Tensor | float]:
        """The mean, and by how many examples or nodes, or by what weight."""
        inputs, labels = labelled.inputs, labelled.labels
        own: Tensor | float = 0.0
        if self.nodes:
            encoder, labels = self.encoder, labelled.trees.label
            assert isinstance(encoder, TreeEncoder)
            found = self.model.read_out(encoder.node_states(inputs, self.shares))
        else:
            encoded = self.encoder.encoded(inputs, self.shares)
            found, own = self.model.read_out(encoded.root), encoded.loss
        loss, weight = self.objective.loss(found, labels)
        return loss + own, weight

    def _cell(self) -> Any:
        if not isinstance(self.encoder, TreeEncoder) or self.encoder.cell.input_size is None:
            raise ValueError(
                "input_dropout and token_dropout need a cell with an input_size: they drop tokens' vectors"
            )
        return self.encoder.cell

    def _dropped(self, name: str, embedding: nn.Module, inputs: tuple[Tensor, ...], vectors: Tensor) -> Tensor:
        vectors = nn.functional.dropout(vectors, self.input_dropout, embedding.training)
        shares: Tensor | None = getattr(self, name)
        if shares is None or not embedding.training:
            return vectors
        ids = inputs[0]
        share = torch.where(ids >= 0, shares[ids.clamp(min=0)], 0.0)
        return vectors * (torch.rand_like(share) >= share).unsqueeze(-1)
