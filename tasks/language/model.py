"""The training of a language model."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import Tensor, nn

from dgltree import Vocabulary
from dgltree.encoders.sequence.recurrent import State
from dgltree.induction.sentences import score_sentences
from dgltree.models import LanguageModel
from dgltree.training.stepping.callbacks import LAST
from dgltree.training.stepping.module import seed_step, shared_mean
from tasks.language.averaging import averaged_weights, has_stopped_falling, use_averages
from tasks.language.data import Part
from tasks.language.trees import parse_layers

if TYPE_CHECKING:
    from tasks.language.data import LanguageText

STEPS_BETWEEN_CHECKS = 50
"""Steps after which the loss is looked at: doing so waits for a GPU."""


class LanguageTraining(lightning.LightningModule):
    """Cross-entropy by SGD, then by averaged SGD (Merity et al. 2017, arXiv 1708.02182; Shen et al. 2019, arXiv
    1810.09536).

    The state continues from part to part, without gradients, and is 0 at the beginning of an epoch. The rate of a step
    is ``lr`` times the length of its part over ``part_length``; torch's averaged SGD, as the published program's, takes
    that of the part before. Once validation no longer improves (see
    :func:`tasks.language.averaging.has_stopped_falling`), the averages are validated and tested.

    Args:
        vocabulary: of the data.
        layers, sizes, options, word_dropout, input_dropout, layer_dropout, output_dropout, weight_dropout, tied: as
            in :class:`dgltree.models.LanguageModel`.
        activation_penalty: times the mean square of the last layer's states, before their dropout.
        change_penalty: times the mean square of their change from word to word.
        lr: rate at a part of ``part_length`` words.
        weight_decay: L2.
        patience: epochs of validation that the trigger of averaging leaves out.
        average_from: the epoch, from 0, with which averaging begins at the latest; None: by the trigger alone.
        restart_after: the number of epochs after which averaging, if it has begun, begins again, as published.
        part_length: that of the data.
        seed: of the dropout, which depends on (seed, epoch, step, rank) alone.

    Raises ``ValueError`` as :class:`dgltree.models.LanguageModel` does, and for a loss that is not finite, naming
    the last checkpoint before it.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        layers: str = "on_lstm",
        sizes: tuple[int, ...] = (256, 256, 256),
        options: dict[str, Any] | None = None,
        word_dropout: float = 0.0,
        input_dropout: float = 0.0,
        layer_dropout: float = 0.0,
        output_dropout: float = 0.0,
        weight_dropout: float = 0.0,
        tied: bool = True,
        activation_penalty: float = 2.0,
        change_penalty: float = 1.0,
        lr: float = 30.0,
        weight_decay: float = 1.2e-6,
        patience: int = 5,
        average_from: int | None = None,
        restart_after: int = 500,
        part_length: int = 70,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.model = LanguageModel(
            vocabulary,
            layers,
            sizes,
            options,
            word_dropout=word_dropout,
            input_dropout=input_dropout,
            layer_dropout=layer_dropout,
            output_dropout=output_dropout,
            weight_dropout=weight_dropout,
            tied=tied,
        )
        self.activation_penalty = activation_penalty
        self.change_penalty = change_penalty
        self.lr = lr
        self.weight_decay = weight_decay
        self.part_length = part_length
        self.seed = seed
        self.patience = patience
        self.average_from = average_from
        self.restart_after = restart_after
        self.averaging = False
        self.losses: list[float] = []
        self._state: State | None = None
        self._evaluated: State | None = None

    def on_train_epoch_start(self) -> None:
        self._state, self._sum = None, torch.zeros((), device=self.device)

    def on_train_batch_start(self, part: Part, index: int) -> None:
        seed_step(self, self.seed, index)
        [optimizer] = self.trainer.optimizers
        for group in optimizer.param_groups:
            group["lr"] = self.lr * part[0].shape[1] / self.part_length
        if index % STEPS_BETWEEN_CHECKS == STEPS_BETWEEN_CHECKS - 1:
            self._check(self._sum, f"in epoch {self.current_epoch} before step {index}")

    def training_step(self, part: Part, _: int) -> Tensor:
        words, following = part
        states, self._state = self._read(words, self._state)
        loss = nn.functional.cross_entropy(self.model.logits(states).flatten(0, 1), following.flatten())
        self.log("loss", loss.detach(), on_step=False, on_epoch=True, batch_size=following.numel(), sync_dist=True)
        self._sum += loss.detach()
        penalty = self.activation_penalty * states.square().mean()
        change = self.change_penalty * states.diff(dim=1).square().mean()
        return shared_mean(self, loss + penalty + change, len(words))[0]

    def on_validation_epoch_start(self) -> None:
        self._begin()
        self._averages: AbstractContextManager[None] | None = None
        if self.trainer.state.fn == "fit":
            self._check(self._sum, f"in epoch {self.current_epoch}")
            self._averages = use_averages(self, self.trainer.optimizers[0])
            self._averages.__enter__()

    def validation_step(self, part: Part, _: int) -> None:
        self._evaluate(part)

    def on_validation_epoch_end(self) -> None:
        loss = self._report("", prog_bar=True)
        self._score_trees()
        if self._averages is None:
            return
        self._averages.__exit__(None, None, None)
        self._check(loss, f"in validation after epoch {self.current_epoch}")
        if not self.averaging:
            self.losses.append(float(loss))
        self._begin_averaging()

    def on_test_epoch_start(self) -> None:
        self._begin()

    def test_step(self, part: Part, _: int) -> None:
        self._evaluate(part)

    def on_test_epoch_end(self) -> None:
        self._report("test_")

    def configure_optimizers(self) -> torch.optim.Optimizer:
        if self.averaging:
            return torch.optim.ASGD(self.parameters(), self.lr, lambd=0, t0=0, weight_decay=self.weight_decay)
        return torch.optim.SGD(self.parameters(), self.lr, weight_decay=self.weight_decay)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["vocabulary"] = self.model.vocabulary.to_json()
        checkpoint["averaging"] = {"averaging": self.averaging, "losses": self.losses}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        if Vocabulary.from_json(checkpoint["vocabulary"]) != self.model.vocabulary:
            raise ValueError("the checkpoint has other words: give the training text that it was trained on")
        self.averaging = checkpoint["averaging"]["averaging"]
        self.losses = checkpoint["averaging"]["losses"]
        if self.trainer.state.fn != "fit":
            checkpoint["state_dict"] = averaged_weights(checkpoint, [name for name, _ in self.named_parameters()])

    def _read(self, words: Tensor, state: State | None) -> tuple[Tensor, State]:
        """The last layer's states, and what is carried on, from which no gradient comes back."""
        steps = self.model(words, None, state)
        return steps.states, tuple((h.detach(), c.detach()) for h, c in steps.state)

    def _begin_averaging(self) -> None:
        epoch = self.current_epoch + 1
        if self.averaging:
            begins = epoch == self.restart_after
        else:
            begins = has_stopped_falling(self.losses, self.patience) or epoch == self.average_from
        if begins:
            self.averaging = True
            self.trainer.optimizers = [self.configure_optimizers()]

    def _begin(self) -> None:
        self._evaluated, self._loss, self._words, self._rows = None, torch.zeros((), device=self.device).double(), 0, 1

    def _evaluate(self, part: Part) -> None:
        words, following = part
        states, self._evaluated = self._read(words, self._evaluated)
        logits = self.model.logits(states).flatten(0, 1)
        self._loss += nn.functional.cross_entropy(logits, following.flatten(), reduction="sum").double()
        self._words += following.numel()
        self._rows += following.shape[1]

    def _report(self, prefix: str, **options: Any) -> Tensor:
        """Log, and give the mean loss of a word.

        The published program divides by the rows of the stream, of which it does not predict the first.
        """
        loss = self._loss / self._words
        published = loss * (self._rows - 1) / self._rows
        self.log(f"{prefix}perplexity", loss.exp().float(), sync_dist=True, **options)
        self.log(f"{prefix}published_perplexity", published.exp().float(), sync_dist=True)
        self.log(f"{prefix}log_probability", -loss.float(), sync_dist=True)
        return loss

    def _score_trees(self) -> None:
        """Log the F1 of each layer's trees, in percent, if the data has given ones."""
        given = cast("LanguageText", self.trainer.datamodule).given_trees  # type: ignore[attr-defined]
        for number, found in enumerate(parse_layers(self.model, given) if given else [], 1):
            self.log(f"f1_layer_{number}", score_sentences(given, found).f1, sync_dist=True)

    def _check(self, loss: Tensor, where: str) -> None:
        if not bool(self.trainer.strategy.reduce(loss, reduce_op="mean").isfinite()):  # in all processes alike
            folders = [each.dirpath for each in self.trainer.checkpoint_callbacks if isinstance(each, ModelCheckpoint)]
            last = [path for path in (Path(str(folder)) / LAST for folder in folders) if path.exists()]
            kept = f"the last good checkpoint is {last[0]}" if last else "there is no checkpoint yet"
            raise ValueError(f"the loss is not finite {where}; {kept}. A lower --model.lr may help")
