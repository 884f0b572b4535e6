"""The model of a training that is not finished."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint

from dgltree.models.tree_model import TreeModel
from dgltree.training.checkpoints import checked
from dgltree.training.module import DivergenceError, TreeTraining


class BestSoFar(Checkpoint):
    """Leaves the best epoch's model after every epoch, so that a training which is stopped has left one.

    Of the kind of a checkpoint, because Lightning calls those last, in their order: this one belongs after that of the
    best epoch. The weights come from its file, for the best epoch may be one before the training was resumed. Of a
    training that stops in its first epoch they are those of the last step: better than nothing, where epochs are long,
    unless its loss was no finite number.

    Args:
        best: the checkpoint of the best epoch.
        leave: takes a model with its weights, on the CPU, to write it.
    """

    def __init__(self, best: Path, leave: Callable[[TreeModel], None]) -> None:
        self.best, self.leave = best, leave
        self.left: tuple[int, int] | None = None

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        assert isinstance(pl_module, TreeTraining)
        if not trainer.is_global_zero:
            return
        found = self.best.stat()
        if self.left != (found.st_ino, found.st_mtime_ns):
            weights = checked(self.best)["state_dict"]
            model = _copied(pl_module)
            model.load_state_dict({name[6:]: weight for name, weight in weights.items() if name[:6] == "model."})
            self.leave(model)
            self.left = found.st_ino, found.st_mtime_ns

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        assert isinstance(pl_module, TreeTraining)
        lost = isinstance(exception, DivergenceError)
        if trainer.is_global_zero and trainer.global_step and not lost and not self.best.exists():
            self.leave(_copied(pl_module))


def _copied(module: TreeTraining) -> TreeModel:
    copied = deepcopy(module.model, {id(module): module})  # a hook of it belongs to the module, which is not copied
    return copied.cpu()
