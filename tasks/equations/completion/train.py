"""``python -m tasks.equations train``: a model that completes equations, to one file.

docs/equations.md says how the shipped one was made.
"""

from pathlib import Path

import torch
from jsonargparse import auto_cli

from dgltree import save
from dgltree.cells import CELLS
from dgltree.encoders import TreeEncoder
from dgltree.models import EquationModel, EquationReadout
from dgltree.read.preorder import read_candidates
from dgltree.training import harness
from dgltree.training.report import EpochReport
from tasks.equations.blanks import read_folder
from tasks.equations.completion import own_blanks
from tasks.equations.completion.completer import BlankedEquations, Completer
from tasks.equations.generator import chains
from tasks.equations.store import read
from tasks.equations.vocabulary import vocabulary

BLANKED = 50  # equations of each depth for validation


def train(
    out: Path = Path("runs/default/model.safetensors"),
    work: Path = Path("runs/default"),
    cell: str = "tree_lstm",
    hidden_size: int = 128,
    equations: int = 400_000,
    tests: int = 4_000,
    epochs: int = 24,
    steps: int = 300,
    batch_size: int = 128,
    candidates: int = 32,
    lr: float = 2e-3,
    weight_decay: float = 1e-7,
    seed: int = 0,
    workers: int = 2,
) -> None:
    """Grow correct equations, train on their blanks, and save the model. An interrupted run continues where it was.

    Args:
        out: file to write the model to (safetensors).
        work: folder for the equations and for Lightning's checkpoints.
        cell: one of dgltree.cells.CELLS.
        hidden_size: width of the hidden state.
        equations: how many to grow, if the folder has none yet.
        tests: how many to grow besides; some of them, of depth 8 and more, are blanked for validation.
        epochs: how often to validate.
        steps: between two validations.
        batch_size: equations a step.
        candidates: wrong and right fillers for each, besides its own.
        lr: highest learning rate of Adam, one cycle.
        weight_decay: L2, not decoupled.
        seed: of the equations, of their blanks and of the initial weights.
        workers: processes that grow equations.
    """
    if cell not in CELLS:  # before the work: what is no cell can be trained, but not saved
        raise ValueError(f"the cell is {cell!r}; it is one of {', '.join(CELLS)}")
    file, blanks = _data(work, equations, tests, seed, workers)
    torch.manual_seed(seed)
    model = EquationModel(TreeEncoder(CELLS[cell](vocabulary(), hidden_size)), EquationReadout())
    own = read_folder(blanks / "blanks")
    module = Completer(model, lr, weight_decay, own, read_candidates(blanks / "candidates.json"))
    run = work / f"{cell}-{hidden_size}-{epochs}x{steps}-{seed}"
    data = BlankedEquations(file, batch_size, candidates, steps, seed)
    with harness.quiet():
        trainer = harness.trainer(
            run, run, None, [EpochReport()], max_epochs=epochs, accelerator="cpu", gradient_clip_val=harness.CLIP
        )
        harness.train(trainer, module, data)
    save(model.eval(), out)
    print(f"{out}: {', '.join(f'{name} {value:.4f}' for name, value in trainer.callback_metrics.items())}")


def _data(work: Path, equations: int, tests: int, seed: int, workers: int) -> tuple[Path, Path]:
    """The training equations, and a folder of blanks from the equations for tests; made unless they are there."""
    name = f"{equations}-{seed}"
    train_file, test_file, blanks = work / f"train-{name}.parquet", work / f"test-{name}.parquet", work / f"own-{name}"
    work.mkdir(parents=True, exist_ok=True)
    if not train_file.exists():
        chains.write(train_file, equations, "train", seed, workers)
    if not (blanks / "blanks" / "own_0.json").exists():
        chains.write(test_file, tests, "test", seed, workers)
        own_blanks.write(
            ((row.depth, row.equation) for row in read(test_file) if row.depth >= 8), blanks, BLANKED, seed
        )
    return train_file, blanks


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    auto_cli(train, args=arguments, prog="python -m tasks.equations train")
