"""Train an equation model on generated equations; with its default options, the model that dgltree ships."""

from pathlib import Path
from typing import Any

import lightning
import torch
from jsonargparse import auto_cli
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import Tensor
from torch.utils.data import DataLoader
from torchmetrics.classification import BinaryAccuracy

from dgltree import TreeBatch, batch
from dgltree.cells import CELLS
from dgltree.checkpoint import save
from dgltree.encoders import TreeEncoder
from dgltree.readout import EquationModel, EquationReadout
from dgltree.vocabulary import Vocabulary
from tasks.equations.fillers import fillers
from tasks.equations.generate import write_sets
from tasks.equations.presets import PAPER_TRAIN
from tasks.equations.store import Row, read

Labelled = tuple[TreeBatch, Tensor]


class Equations(lightning.LightningDataModule):
    """Labelled equations in an order that depends on (seed, epoch) alone: a resumed run sees the same batches."""

    def __init__(self, rows: list[Row], vocabulary: Vocabulary, batch_size: int, seed: int) -> None:
        super().__init__()
        self.valid = [row for row in rows if row.split == "validation"]
        self.train = [row for row in rows if row.split == "train"]
        self.vocabulary, self.batch_size, self.seed = vocabulary, batch_size, seed

    def train_dataloader(self) -> DataLoader[Labelled]:
        assert self.trainer is not None
        generator = torch.Generator().manual_seed(self.seed * 10_000 + self.trainer.current_epoch)
        order = torch.randperm(len(self.train), generator=generator).tolist()
        return self._loader([self.train[i] for i in order])

    def val_dataloader(self) -> DataLoader[Labelled]:
        return self._loader(self.valid)

    def _loader(self, rows: list[Row]) -> DataLoader[Labelled]:
        """One worker flattens the next batches while the model computes."""
        return DataLoader(rows, self.batch_size, collate_fn=self._collate, num_workers=1)  # type: ignore[arg-type]

    def transfer_batch_to_device(self, labelled: Labelled, device: torch.device, _: int) -> Labelled:
        trees, labels = labelled
        return trees.to(device), labels.to(device)

    def _collate(self, rows: list[Row]) -> Labelled:
        labels = torch.tensor([float(row.label) for row in rows])
        return batch((row.equation for row in rows), self.vocabulary), labels


class EquationClassifier(lightning.LightningModule):
    """Binary cross-entropy on the logits of an :class:`EquationModel`."""

    def __init__(self, model: EquationModel, lr: float, weight_decay: float) -> None:
        super().__init__()
        self.model, self.lr, self.weight_decay = model, lr, weight_decay
        self.accuracy = BinaryAccuracy()

    def training_step(self, labelled: Labelled, _: int) -> Tensor:
        trees, labels = labelled
        loss = torch.nn.functional.binary_cross_entropy_with_logits(self.model(trees, share=True), labels)
        self.log("loss", loss, prog_bar=True, batch_size=len(labels))
        return loss

    def validation_step(self, labelled: Labelled, _: int) -> None:
        trees, labels = labelled
        logits = self.model(trees, share=True)
        self.accuracy.update(logits, labels)
        self.log("accuracy", self.accuracy, prog_bar=True, batch_size=len(labels))

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.Adam(self.parameters(), self.lr, weight_decay=self.weight_decay, fused=True)
        steps = int(self.trainer.estimated_stepping_batches)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, self.lr, total_steps=steps, pct_start=0.1)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def train(
    out: Path = Path("dgltree/data/default.safetensors"),
    work: Path = Path("runs/default"),
    cell: str = "tree_smu",
    hidden_size: int = 72,
    equations: int = 400_000,
    epochs: int = 10,
    batch_size: int = 256,
    lr: float = 2e-3,
    weight_decay: float = 1e-6,
    seed: int = 0,
    workers: int = 2,
    limit_batches: int | None = None,
) -> None:
    """Generate equations, train on them, and save the model. An interrupted run continues where it was.

    Args:
        out: file to write the model to (safetensors).
        work: folder for the equations and for Lightning's checkpoints and logs.
        cell: one of dgltree.cells.CELLS.
        hidden_size: width of the hidden state.
        equations: how many to generate, if the folder has none yet.
        epochs: passes over the training equations.
        batch_size: equations a step.
        lr: highest learning rate of Adam, one cycle.
        weight_decay: L2, not decoupled.
        seed: of the equations, of their order and of the initial weights.
        workers: processes that generate equations.
        limit_batches: batches an epoch, to try the command.
    """
    folder = work / f"equations-{equations}-{seed}"
    write_sets(f"{equations} in the papers' shape", {"train": PAPER_TRAIN.scaled(equations)}, folder, seed, workers)
    rows = read(folder / "train.parquet")
    vocabulary = Vocabulary.from_trees([*fillers(), *(side for row in rows for side in row.equation)])
    torch.manual_seed(seed)
    options: dict[str, Any] = {"no_op": True} if cell in ("tree_smu", "stack_tree_lstm") else {}
    model = EquationModel(TreeEncoder(CELLS[cell](vocabulary, hidden_size, **options)), EquationReadout())
    run = work / f"{cell}-{hidden_size}-{epochs}-{seed}"
    trainer = lightning.Trainer(
        max_epochs=epochs,
        accelerator="auto",
        default_root_dir=run,
        callbacks=[ModelCheckpoint(run, save_last=True)],
        reload_dataloaders_every_n_epochs=1,
        logger=False,
        gradient_clip_val=1.0,
        limit_train_batches=limit_batches,
        limit_val_batches=limit_batches,
        enable_model_summary=False,
    )
    module, data = EquationClassifier(model, lr, weight_decay), Equations(rows, vocabulary, batch_size, seed)
    last = run / "last.ckpt"
    trainer.fit(module, data, ckpt_path=last if last.exists() else None, weights_only=True)
    accuracy = trainer.validate(module, data, verbose=False)[0]["accuracy"]
    save(model, out)
    print(f"validation accuracy {accuracy:.4f} -> {out}")


if __name__ == "__main__":
    auto_cli(train)
