"""``fit``, ``validate`` and ``test`` of language models."""

from pathlib import Path

from lightning.pytorch.cli import LightningArgumentParser

from dgltree.models import save_language_model
from tasks.language.data import LanguageText
from tasks.language.model import LanguageTraining
from tasks.lightning_cli import TaskCLI, run


class LanguageCLI(TaskCLI):
    """Saves what was tested, the best epoch, as ``model.safetensors``."""

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        super().add_arguments_to_parser(parser)
        parser.link_arguments("data.part_length", "model.part_length")

    def after_fit(self) -> None:
        super().after_fit()
        if self.trainer.is_global_zero:
            save_language_model(self.model.model, Path(self.trainer.default_root_dir) / "model.safetensors")


def main(arguments: list[str] | None = None) -> None:
    """Run the program's command line."""
    run(
        LanguageTraining,
        LanguageText,
        "log_probability",
        LanguageCLI,
        program="python -m tasks.language",
        arguments=arguments,
    )
