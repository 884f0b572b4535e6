"""The command: ``python -m tasks.logic fit|validate|test --config FILE``; see configs/ for the rows of the tables."""

from pathlib import Path

from dgltree import save
from dgltree.models import PairModel, TreeModel
from tasks.cli import TaskCLI, run
from tasks.logic.data import LogicPairs
from tasks.logic.language import RELATIONS
from tasks.logic.model import LogicClassifier


class LogicCLI(TaskCLI):
    """Saves what was tested, the best epoch, as ``model.safetensors``."""

    def after_fit(self) -> None:
        super().after_fit()
        model = self.model
        if self.trainer.is_global_zero:
            path = Path(self.trainer.default_root_dir) / "model.safetensors"
            of_states = TreeModel if model.joint else PairModel
            save(of_states(model.encoder, model.readout, RELATIONS), path)


def main(arguments: list[str] | None = None) -> None:
    """Run the program's command line."""
    run(LogicClassifier, LogicPairs, "accuracy", LogicCLI, program="python -m tasks.logic", arguments=arguments)


if __name__ == "__main__":
    main()
