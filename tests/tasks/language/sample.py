"""A small text of words, and the command line over it."""

import random
from pathlib import Path
from typing import Any

import command_line

CONFIGS = Path(__file__).parents[3] / "tasks" / "language" / "configs"
SMALL = {
    "model.sizes": "[24,16]",
    "model.options": "{chunk_size: 4}",
    "model.lr": 5.0,
    "model.patience": 0,
    "data.batch_size": 4,
    "data.validation_batch_size": 2,
    "data.part_length": 12,
    "trainer.max_epochs": 2,
}


def write_text(folder: Path) -> Path:
    """Sentences of a small grammar, in three files."""
    rng = random.Random(0)
    for part, count in (("train", 500), ("valid", 30), ("test", 20)):
        lines = []
        for _ in range(count):
            noun = [
                rng.choice(["the", "a"]),
                *rng.choices(["old", "<unk>"], k=rng.randrange(3)),
                rng.choice(["cat", "dog"]),
            ]
            lines.append(
                " ".join([*noun, rng.choice(["sleeps", "eats"]), *rng.choices(["here", "now"], k=rng.randrange(2))])
            )
        (folder / f"ptb.{part}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def fit(folder: Path, out: Path, config: str = "reduced", **options: Any) -> None:
    """``python -m tasks.language fit``; the names of options have __ for a point."""
    from tasks.language.cli import main

    given = {**SMALL, "data.folder": folder, "trainer.default_root_dir": out}
    if config.endswith("lstm"):
        given.pop("model.options")
    command_line.run(main, "fit", [CONFIGS / f"{config}.yaml"], given, **options)
