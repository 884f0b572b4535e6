"""Runs trainings one after the other, and writes the losses of each to a folder: ``python losses.py FOLDER JOBS``.

``JOBS`` is a JSON file of ``[name, module, arguments]``. Each process writes a file ``name-rank``, a line a step.
The second process of the training ``killed`` is, in the third epoch, where the folder has no file of this yet.
"""

import json
import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import lightning
from command_line import quiet
from pictures import unpainted


def main(folder: Path, jobs: Path) -> None:
    dead = folder / "dead"
    for name, module, arguments in json.loads(jobs.read_text(encoding="utf-8")):

        def recorded(self: Any, result: dict[str, Any], *_: Any, name: str = name) -> None:
            if name == "killed" and (self.current_epoch, self.global_rank) == (2, 1) and not dead.exists():
                dead.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            with (folder / f"{name}-{self.global_rank}").open("a", encoding="utf-8") as file:
                file.write(json.dumps(float(result["loss"])) + "\n")

        lightning.LightningModule.on_train_batch_end = recorded  # type: ignore[method-assign]
        with quiet(), unpainted():
            status = import_module(module).main(arguments)
        if status:
            sys.exit(status)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
