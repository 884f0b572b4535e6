"""Equation verification: ``python -m tasks.equations verification fit|validate|test --config FILE``.

Trains an encoder to tell correct equations from wrong ones, and prints the accuracy of the epoch that was best in
validation on the test set, by depth. See configs/ for the rows of the papers' tables. A cell is saved in the run's
folder as ``model.safetensors``, for ``python -m tasks.equations completion`` and ``dgltree``. With ``--data.numbers``
it is also trained to evaluate number equations such as sin(0.7) = 0.644218 (see number_sets.py); without
``--data.train``, to do that alone, and what is saved is what evaluates.
"""

from pathlib import Path

from dgltree import save
from dgltree.encoders import TreeEncoder
from dgltree.training.stepping import trainer as harness
from tasks.cli import TaskCLI, run
from tasks.equations.verification.number_classifier import EquationAndNumberClassifier
from tasks.equations.verification.number_data import EquationsAndNumbers


class VerificationCLI(TaskCLI):
    """Saves what was tested, the best epoch; without labelled equations, the best in evaluating numbers."""

    def before_instantiate_classes(self) -> None:
        super().before_instantiate_classes()
        if self.config[self.subcommand].data.train is None:
            self.trainer_defaults |= harness.defaults("number_accuracy")

    def after_fit(self) -> None:
        super().after_fit()
        model = self.model.evaluator if self.datamodule.files["train"] is None else self.model.model
        if isinstance(model.encoder, TreeEncoder) and self.trainer.is_global_zero:
            save(model, Path(self.trainer.default_root_dir) / "model.safetensors")


def main(arguments: list[str] | None = None) -> None:
    """Run the program's command line."""
    run(
        EquationAndNumberClassifier,
        EquationsAndNumbers,
        "accuracy",
        VerificationCLI,
        program="python -m tasks.equations verification",
        arguments=arguments,
    )
