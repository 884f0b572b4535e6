"""Train an equation model on generated equations, to one file. docs/models.md says how the shipped one was made."""

from pathlib import Path

import lightning
import torch
from jsonargparse import auto_cli
from lightning.pytorch.callbacks import ModelCheckpoint

from dgltree.cells import CELLS
from dgltree.checkpoint import save
from tasks.checkpoints import WholeCheckpoints
from tasks.equations.classifier import EquationClassifier
from tasks.equations.data import LabelledEquations
from tasks.equations.generate import write_sets
from tasks.equations.presets import PAPER_TRAIN


def train(
    out: Path = Path("runs/default/model.safetensors"),
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
    if cell not in CELLS:  # before the work: what is no cell can be trained, but not saved
        raise ValueError(f"the cell is {cell!r}; it is one of {', '.join(CELLS)}")
    folder = work / f"equations-{equations}-{seed}"
    write_sets(f"{equations} in the papers' shape", {"train": PAPER_TRAIN.scaled(equations)}, folder, seed, workers)
    data = LabelledEquations(folder / "train.parquet", batch_size=batch_size, seed=seed)
    torch.manual_seed(seed)
    options = {"no_op": True} if cell in ("tree_smu", "stack_tree_lstm") else {}
    module = EquationClassifier(
        data.vocabulary, cell, hidden_size, options, lr, weight_decay, one_cycle=True, seed=seed
    )
    run = work / f"{cell}-{hidden_size}-{epochs}-{seed}"
    trainer = lightning.Trainer(
        max_epochs=epochs,
        accelerator="auto",
        default_root_dir=run,
        callbacks=[ModelCheckpoint(run, save_last=True)],
        plugins=[WholeCheckpoints()],
        reload_dataloaders_every_n_epochs=1,
        use_distributed_sampler=False,
        logger=False,
        gradient_clip_val=1.0,
        limit_train_batches=limit_batches,
        limit_val_batches=limit_batches,
        enable_model_summary=False,
    )
    last = run / "last.ckpt"
    trainer.fit(module, data, ckpt_path=last if last.exists() else None, weights_only=True)
    accuracy = trainer.validate(module, data, verbose=False)[0]["accuracy"]
    save(module.model, out)
    print(f"validation accuracy {accuracy:.4f} -> {out}")


if __name__ == "__main__":
    auto_cli(train)
