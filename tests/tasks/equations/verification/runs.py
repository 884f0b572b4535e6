"""Small trainings of the verification program."""

from pathlib import Path
from typing import Any

import command_line
import torch

from tasks.equations.verification import cli

CONFIGS = sorted((Path(cli.__file__).parent / "configs").glob("*.yaml"))
NUMBERS = Path(cli.__file__).parent / "configs" / "numbers" / "tree_lstm.yaml"


def run(sets: Path, out: Path, config: Path | list[Path] = CONFIGS[0], command: str = "fit", **options: Any) -> None:
    """``fit`` or another command on the sets of a folder, two epochs of few hidden units."""
    given = {
        "data.train": sets / "train.parquet",
        "data.test": sets / "test.parquet",
        "trainer.default_root_dir": out,
        "trainer.max_epochs": 2,
        "model.hidden_size": 32,
        "data.batch_size": 32,
    }
    configs = config if isinstance(config, list) else [config]
    command_line.run(cli.main, command, configs, given, **options)


def weights(out: Path) -> dict[str, torch.Tensor]:
    """Those of the last checkpoint."""
    return torch.load(out / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"]


def assert_resumes_to_the_same_weights(sets: Path, folder: Path, module: type, **options: Any) -> None:
    """A run that is stopped in its second epoch and goes on ends as one that is not."""
    run(sets, folder / "whole", **options)
    with command_line.stopped(module, epoch=1, step=1):
        run(sets, folder / "part", **options)
    run(sets, folder / "part", ckpt_path="last", **options)
    whole, part = weights(folder / "whole"), weights(folder / "part")
    assert whole.keys() == part.keys()
    assert all(torch.equal(whole[name], part[name]) for name in whole)
