"""A small treebank, and the command of the task over it at its smallest setting."""

from pathlib import Path
from typing import Any

import command_line
import torch

from tasks.sentiment.__main__ import main

CONFIGS = Path(__file__).parents[3] / "tasks" / "sentiment" / "configs"
NODES, ROOTS = CONFIGS / "constituency_tree_lstm.yaml", CONFIGS / "roots_only.yaml"
SMALL = {"fit.hidden_size": 6, "fit.input_size": 5, "fit.batch_size": 4, "fit.epochs": 2}
WORDS = {"good": 4, "fine": 3, "film": 2, "the": 2, "dull": 1, "bad": 0}


def phrase(a: str, b: str) -> str:
    return f"({max(WORDS[a], WORDS[b])} ({WORDS[a]} {a}) ({WORDS[b]} {b}))"


def sentence(i: int) -> str:
    words = [list(WORDS)[(i * k + k) % len(WORDS)] for k in (1, 2, 3, 5)]
    return f"({max(WORDS[word] for word in words)} {phrase(*words[:2])} {phrase(*words[2:])})"


def write_treebank(folder: Path) -> Path:
    """Its dev and test trees have words that the training trees lack."""
    sentences = [sentence(i) + "\n" for i in range(20)]
    (folder / "train.txt").write_text("".join(sentences))
    (folder / "dev.txt").write_text("".join(sentences[:5]) + "(3 (2 unseen) (3 words))\n")
    (folder / "test.txt").write_text("".join(sentences[5:12]) + "(2 word)\n")
    return folder


def run(folder: Path, out: Path, *configs: Path, **options: Any) -> dict[str, float]:
    """Train; an option's name has __ for a point, and what is None is not given."""
    given = {**SMALL, **{name.replace("__", "."): value for name, value in options.items()}}
    given = {name: value for name, value in given.items() if value is not None}
    return command_line.fit(main, configs or [NODES], out, {"data.folder": folder, **given})


def checkpoint(out: Path, name: str = "last") -> dict[str, Any]:
    return torch.load(out / f"{name}.ckpt", weights_only=True)


def assert_same_weights(first: Path, second: Path) -> None:
    a, b = checkpoint(first)["state_dict"], checkpoint(second)["state_dict"]
    assert a.keys() == b.keys()
    assert all(torch.equal(a[name], b[name]) for name in a)
