"""``python -m tasks.equations train``: a model that completes equations, to one file.

docs/equations.md says how the shipped one was made.
"""

from pathlib import Path

import torch
from jsonargparse import auto_cli

from dgltree import open_model, save
from dgltree.batching.vocabulary import with_signatures, without_signatures
from dgltree.cells import CELLS
from dgltree.encoders import TreeEncoder
from dgltree.models import EquationModel, EquationReadout
from dgltree.read.preorder import read_candidates
from dgltree.training.stepping import trainer as harness
from dgltree.training.stepping.callbacks import EpochReport
from tasks.equations.blanks import read_folder
from tasks.equations.completion import own_blanks
from tasks.equations.completion.ranking_module import BlankedEquations, FillerRankingModule
from tasks.equations.generator import chains
from tasks.equations.generator.identities import WORLDS, World
from tasks.equations.store import read
from tasks.equations.vocabulary import elementary_vocabulary

BLANKED = 50  # equations of each depth for validation


def train(
    out: Path = Path("runs/default/model.safetensors"),
    work: Path = Path("runs/default"),
    cell: str = "tree_lstm",
    hidden_size: int = 128,
    start: Path | None = None,
    equations: tuple[int, int, int] = (200_000, 200_000, 100_000),
    shares: tuple[float, float, float] = (0.35, 0.45, 0.2),
    tests: int = 4_000,
    epochs: int = 10,
    steps: int = 400,
    batch_size: int = 128,
    candidates: int = 32,
    lr: float = 1.5e-3,
    weight_decay: float = 1e-7,
    seed: int = 0,
    workers: int = 2,
) -> None:
    """Grow correct equations, train on their blanks, and save the model. An interrupted run continues where it was.

    Args:
        out: file to write the model to (safetensors, 16-bit weights).
        work: folder for the equations and for Lightning's checkpoints.
        cell: one of dgltree.cells.CELLS.
        hidden_size: width of the hidden state.
        start: a model to begin with: what it knows keeps its weights. None: random weights.
        equations: how many to grow of each world (paper, elementary, positive), if the folder has none yet.
        shares: of the steps on equations of each world.
        tests: how many to grow as well; some of them, of depth 8 and more, are blanked for validation.
        epochs: how often to validate.
        steps: between two validations.
        batch_size: equations a step.
        candidates: wrong and right fillers for each, in addition to its own.
        lr: highest learning rate of Adam, one cycle.
        weight_decay: L2, not decoupled.
        seed: of the equations, of their blanks and of the initial weights.
        workers: processes that grow equations.
    """
    if cell not in CELLS:  # before the work: what is not a cell can be trained, but not saved
        raise ValueError(f"the cell is {cell!r}; it must be one of {', '.join(CELLS)}")
    if abs(sum(shares) - 1) > 1e-6:
        raise ValueError(f"the shares of the worlds are {shares}; they add up to 1")
    used = {world: (number, share) for world, number, share in zip(WORLDS, equations, shares, strict=True) if share}
    files = {world: _grown(work, world, number, seed, workers) for world, (number, _) in used.items()}
    blanks = _blanks(work, tests, seed, workers)
    torch.manual_seed(seed)
    model = EquationModel(TreeEncoder(CELLS[cell](elementary_vocabulary(), hidden_size)), EquationReadout())
    if start is not None:
        adopt(model, open_model(start))
    own = read_folder(blanks / "blanks")
    module = FillerRankingModule(model, lr, weight_decay, own, read_candidates(blanks / "candidates.json"))
    name = "-".join([cell, str(hidden_size), *(f"{share:g}" for share in shares)])
    run = work / f"{name}-{epochs}x{steps}-{seed}"
    data = BlankedEquations(files, [share for _, share in used.values()], batch_size, candidates, steps, seed)
    with harness.quiet():
        trainer = harness.trainer(
            run, run, None, [EpochReport()], max_epochs=epochs, accelerator="cpu", gradient_clip_val=harness.CLIP
        )
        harness.train(trainer, module, data)
    save(model.eval().half(), out)
    print(f"{out}: {', '.join(f'{name} {value:.4f}' for name, value in trainer.callback_metrics.items())}")


def adopt(model: EquationModel, known: EquationModel) -> None:
    """Give ``model`` the weights of every function and token that ``known`` has, too, and its bias.

    Raises ``ValueError`` if the weights of a function or token have other shapes.
    """
    ours = model.cell.vocabulary
    theirs = known.cell.vocabulary
    new = without_signatures(model.state_dict())
    old = {name: tensor.float() for name, tensor in without_signatures(known.state_dict()).items()}
    for name, tensor in new.items():
        if tensor.shape[1:] != old[name].shape[1:]:
            raise ValueError(f"{name}: a row has the shape {tuple(tensor.shape[1:])}, not {tuple(old[name].shape[1:])}")
        if "maps.gates_" in name:
            arity = int(name.split("gates_")[1].split(".")[0])
            ids: list[list[object]] = [[of.functions[i] for i in of.at_arity(arity)] for of in (ours, theirs)]
        elif "embedding" in name:
            ids = [[*of.tokens] for of in (ours, theirs)]
        else:
            ids = [[0], [0]]
        for row, known_as in enumerate(ids[0]):
            if known_as in ids[1]:
                tensor[row] = old[name][ids[1].index(known_as)]
    model.load_state_dict(with_signatures(model, new))


def _grown(work: Path, world: World, equations: int, seed: int, workers: int) -> Path:
    """The training equations of a world; made unless they are there."""
    file = work / f"{world}-{equations}-{seed}.parquet"
    work.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        chains.write(file, equations, "train", seed, workers, world)
    return file


def _blanks(work: Path, tests: int, seed: int, workers: int) -> Path:
    """A folder of blanks from equations for tests, of the papers' world; made unless it is there."""
    test_file = work / f"test-{tests}-{seed}.parquet"
    blanks = work / f"own-{tests}-{seed}"
    if not (blanks / "blanks" / "own_0.json").exists():
        chains.write(test_file, tests, "test", seed, workers)
        own_blanks.write(
            ((row.depth, row.equation) for row in read(test_file) if row.depth >= 8), blanks, BLANKED, seed
        )
    return blanks


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    auto_cli(train, args=arguments, prog="python -m tasks.equations train")
