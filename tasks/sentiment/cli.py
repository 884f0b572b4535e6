"""The command: ``python -m tasks.sentiment fit|validate|test --config FILE``."""

from pathlib import Path
from typing import Any

from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI

from dgltree.read.glove import read_glove
from tasks.sentiment.callbacks import EpochReport, SaveFitConfig
from tasks.sentiment.data import SentimentTreebank
from tasks.sentiment.model import SentimentClassifier


class SentimentCLI(LightningCLI):
    """Trains, then evaluates the epoch that was best on the dev trees' roots on the test trees."""

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        parser.add_argument("--glove", type=Path | None, help="GloVe text file that words' vectors begin with")
        parser.link_arguments("seed_everything", "data.seed", int)
        parser.link_arguments("seed_everything", "model.seed", int)
        parser.link_arguments("data.vocabulary", "model.vocabulary", apply_on="instantiate")

    def before_fit(self) -> None:
        file = self.config.fit.glove
        if file:
            found = read_glove(file, self.datamodule.vocabulary.tokens, self.model.words.weight.shape[1])
            self.model.begin_with(found)
            print(f"{file.name}: {found.coverage(self.datamodule.counts)}")

    def after_fit(self) -> None:
        best = self.trainer.checkpoint_callback
        path = best.best_model_path if isinstance(best, ModelCheckpoint) else None  # a trial run keeps no checkpoints
        [accuracies] = self.trainer.test(self.model, self.datamodule, ckpt_path=path or None, verbose=False)
        print("test:", ", ".join(f"{name.removeprefix('test_')} {value:.4f}" for name, value in accuracies.items()))


def checkpoint(name: str, **options: Any) -> ModelCheckpoint:
    """``name.ckpt``, once an epoch; a second run in the same folder replaces the first one's file."""
    return ModelCheckpoint(filename=name, enable_version_counter=False, **options)


def main() -> None:
    """Run the program's command line."""
    best, last = checkpoint("best", monitor="dev_root_accuracy", mode="max"), checkpoint("last")
    trainer: dict[str, Any] = {
        "callbacks": [EpochReport(), best, last],  # in this order, so that the last knows what the best was
        "reload_dataloaders_every_n_epochs": 1,  # an order of its own for every epoch
        "logger": False,
        "enable_model_summary": False,
        "num_sanity_val_steps": 0,
    }
    SentimentCLI(
        SentimentClassifier,
        SentimentTreebank,
        save_config_callback=SaveFitConfig,
        save_config_kwargs={"overwrite": True},
        seed_everything_default=0,
        trainer_defaults=trainer,
        auto_configure_optimizers=False,
    )
