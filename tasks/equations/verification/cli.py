"""Equation verification: ``python -m tasks.equations verification fit|validate|test --config FILE``.

Trains an encoder to tell correct equations from wrong ones, and prints the accuracy of the epoch that was best in
validation on the test set, by depth. See configs/ for the rows of the papers' tables. A cell is saved in the run's
folder as ``model.safetensors``, for ``python -m tasks.equations completion`` and ``dgltree``.
"""

from pathlib import Path

from dgltree import save
from dgltree.encoders import TreeEncoder
from tasks.equations.verification.classifier import EquationClassifier
from tasks.equations.verification.data import LabelledEquations
from tasks.lightning_cli import TaskCLI, run


class VerificationCLI(TaskCLI):
    """Saves what was tested, the best epoch."""

    def after_fit(self) -> None:
        super().after_fit()
        model = self.model.model
        if isinstance(model.encoder, TreeEncoder) and self.trainer.is_global_zero:
            save(model, Path(self.trainer.default_root_dir) / "model.safetensors")


def main(arguments: list[str] | None = None) -> None:
    """Run the program's command line."""
    program = "python -m tasks.equations verification"
    run(EquationClassifier, LabelledEquations, "accuracy", VerificationCLI, program=program, arguments=arguments)
