"""The verification program, which also writes each process's losses to the folder that ``LOSSES`` names."""

import json
import os
from pathlib import Path
from typing import Any

from tasks.equations.verification import cli
from tasks.equations.verification.classifier import EquationClassifier


def recorded(module: EquationClassifier, result: dict[str, Any], *_: Any) -> None:
    with (Path(os.environ["LOSSES"]) / f"losses-{module.global_rank}").open("a") as file:
        file.write(json.dumps(float(result["loss"])) + "\n")


if __name__ == "__main__":
    EquationClassifier.on_train_batch_end = recorded  # type: ignore[method-assign]
    cli.main()
