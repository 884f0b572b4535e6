"""Common parts of the commands of all tasks: ``fit``, ``validate`` and ``test`` by LightningCLI."""

import json
import traceback
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint, WeightAveraging
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI, SaveConfigCallback

import dgltree
from dgltree.support.files import lock_folder, replacing
from dgltree.training import cpu_threads
from dgltree.training.stepping import trainer as harness
from dgltree.training.stepping.callbacks import check_checkpoint

DESCRIPTION = "Train and test a model of this task: fit --config FILE, with a file of the task's folder configs."
TEST = "test.json"
"""The file in a run's folder with the metrics of its best epoch on the test data."""


class TaskCLI(LightningCLI):
    """Trains, then evaluates the epoch that was best in validation on the test data."""

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        parser.add_argument(
            "--threads", type=int, default=1, help="use this many CPU threads, not counting the process that loads data"
        )
        parser.link_arguments("seed_everything", "data.seed", int)
        parser.link_arguments("seed_everything", "model.seed", int)
        parser.link_arguments("data.vocabulary", "model.vocabulary", apply_on="instantiate")

    def before_instantiate_classes(self) -> None:
        torch.set_num_threads(self.config[self.subcommand].threads)

    def instantiate_trainer(self, **options: Any) -> lightning.Trainer:
        return harness.prepare_trainer(super().instantiate_trainer(**options))

    def fit(self, **given: Any) -> None:
        """Called by LightningCLI in place of the trainer's own: the folder belongs to this training while it runs."""
        owns = self.trainer.is_global_zero and not getattr(self.trainer, "fast_dev_run", False)
        with lock_folder(Path(self.trainer.default_root_dir)) if owns else nullcontext():
            self.trainer.fit(**given)

    def after_fit(self) -> None:
        best = self.trainer.checkpoint_callback
        path = best.best_model_path if isinstance(best, ModelCheckpoint) else None  # a trial run keeps no checkpoints
        if path and any(isinstance(each, WeightAveraging) for each in self.trainer.callbacks):  # type: ignore[attr-defined]
            # A checkpoint's weights are the averages; after a fit, Lightning itself would take the others next to them.
            self.model.load_state_dict(check_checkpoint(Path(path))["state_dict"])
            path = None
        figures, *_ = self.trainer.test(self.model, self.datamodule, ckpt_path=path or None, verbose=False)
        if self.trainer.is_global_zero:
            figures = {name.removeprefix("test_"): value for name, value in figures.items()}
            print("test:", ", ".join(f"{name} {value:.4f}" for name, value in figures.items()))
            with replacing(Path(self.trainer.default_root_dir) / TEST) as beside:
                beside.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def run(
    model: type[lightning.LightningModule],
    data: type[lightning.LightningDataModule],
    monitor: str,
    cli: type[TaskCLI] = TaskCLI,
    *,
    program: str,
    arguments: list[str] | None = None,
    **trainer_defaults: Any,
) -> None:
    """Run the command line ``program`` of a task; the best epoch is the one with the highest ``monitor``.

    What our own code refuses, such as a line of a file, ends the program with its message alone.
    """
    try:
        with harness.without_noise(), cpu_threads.limit_threads(1):  # which are set back in the end
            cli(
                model,
                data,
                save_config_callback=SaveFitConfig,
                save_config_kwargs={"overwrite": True},
                seed_everything_default=0,
                trainer_defaults={**harness.defaults(monitor), **trainer_defaults},
                auto_configure_optimizers=False,
                parser_kwargs={"prog": program, "description": DESCRIPTION},
                args=arguments,
            )
    except (ValueError, OSError) as error:
        if not _refused_by_us(error):
            raise
        raise SystemExit(f"error: {error}") from None


def _refused_by_us(error: Exception) -> bool:
    raised = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
    return any(raised.is_relative_to(Path(file).parent) for file in (__file__, dgltree.__file__))


class SaveFitConfig(SaveConfigCallback):
    """The configuration of a training next to its checkpoints; a later ``test`` leaves it as it is."""

    def setup(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, stage: str) -> None:
        if stage == "fit":
            super().setup(trainer, pl_module, stage)
