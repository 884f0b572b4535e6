"""``python -m tasks.equations shipped --work DIR``: the shipped model of equations from nothing, into the folder.

Every part that is there already is taken as it is, and an interrupted one continues where it was.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jsonargparse import auto_cli

from dgltree import open_model, save
from dgltree.batching.vocabulary import with_signatures, without_signatures
from tasks.equations.completion.train import train

STAGES: Mapping[str, Mapping[str, Any]] = {
    "paper": {"shares": (1, 0, 0), "equations": (400_000, 0, 0), "epochs": 24, "steps": 300, "lr": 2e-3},
    "elementary": {"shares": (0.35, 0.45, 0.2), "epochs": 10, "lr": 1.5e-3},
    "settled": {"shares": (0.7, 0.2, 0.1), "epochs": 3, "lr": 6e-4},
}
"""The trainings one after another, each of which begins with the model of the one before: the papers' world alone; all
worlds; and all at a low rate, mostly the papers'. The mean of the last two is shipped."""


def train_shipped(work: Path = Path("runs/shipped"), start: Path | None = None) -> None:
    """Make ``default.safetensors``.

    Args:
        work: folder for it, for equations, and for checkpoints.
        start: a model to begin the second training with; the first is then left out.
    """
    for name, options in STAGES.items():
        out = work / f"{name}.safetensors"
        if name == "paper" and start is not None:
            continue
        if not out.exists():
            train(out, work, start=start, **options)
        start = out
    mean([work / "elementary.safetensors", work / "settled.safetensors"], work / "default.safetensors")


def mean(models: Sequence[Path], out: Path) -> None:
    """Write a model whose weights are the mean of those of several models with one vocabulary, in 16 bits."""
    first, *others = map(open_model, models)
    weights = without_signatures(first.state_dict())
    for other in others:
        for name in weights:
            weights[name] += other.state_dict()[name]
    means = {name: tensor / len(models) for name, tensor in weights.items()}
    first.load_state_dict(with_signatures(first, means))
    save(first.half(), out)


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    auto_cli(train_shipped, args=arguments, prog="python -m tasks.equations shipped")
