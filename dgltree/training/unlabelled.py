"""Training without labels: an autoencoder on trees or on sentences, the weights of its best epoch kept."""

from collections.abc import Callable, Sequence
from pathlib import Path

from dgltree.models.autoencoder import Autoencoder
from dgltree.training.processes import shows_progress
from dgltree.training.stepping.callbacks import BestSoFar, EpochReport
from dgltree.training.stepping.checkpoints import BEST, check_checkpoint
from dgltree.training.stepping.trainer import quiet, train, trainer
from dgltree.training.stepping.unlabelled import MONITORED, Sweep, UnlabelledBatches, UnlabelledTraining


def learn(
    model: Autoencoder,
    sweep: Sweep,
    training: Sequence[int],
    validation: Sequence[int],
    folder: Path,
    *,
    epochs: int = 15,
    batch_size: int = 512,
    learning_rate: float = 1e-3,
    clip: float | None = None,
    seed: int = 0,
    leave: Callable[[Autoencoder], None] = lambda model: None,
) -> None:
    """Train with Adam; at the end the model has the weights of the epoch with the least loss in validation.

    A training that was interrupted continues from its last whole epoch, to the same weights.

    Args:
        model: it is changed, and is in evaluation mode at the end.
        sweep: of the model, over examples by their numbers.
        training, validation: numbers of examples.
        folder: for checkpoints and ``epochs.jsonl``, with ``loss``, ``validation_loss`` and seconds of each epoch.
        epochs, batch_size, learning_rate: as the published networks: 15, 512, 1e-3.
        clip: the largest norm of a gradient; None: any.
        seed: of the order of the examples, and of dropout.
        leave: called with a copy of the model after each epoch that is the best so far.

    Raises ``ValueError`` for no examples to learn from or to validate on,
    :class:`dgltree.training.stepping.callbacks.DivergenceError` if the loss is not finite, and
    ``KeyboardInterrupt``.
    """
    for name, numbers in (("training", training), ("validation", validation)):
        if not len(numbers):
            raise ValueError(f"there is nothing to learn from: {name} has no examples")
    module = UnlabelledTraining(model, sweep, learning_rate, seed)
    with quiet():
        made = trainer(
            folder,
            folder,
            MONITORED,
            [EpochReport(), BestSoFar(folder / BEST, leave)],
            lower_is_better=True,
            max_epochs=epochs,
            gradient_clip_val=clip,
            accelerator="cpu",
            enable_progress_bar=shows_progress(),
        )
        train(made, module, UnlabelledBatches(training, validation, batch_size, seed))
    module.load_state_dict(check_checkpoint(folder / BEST)["state_dict"])
    model.eval()
