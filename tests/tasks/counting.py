"""Jobs for the tests of the job runner; its worker processes import them from here."""

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.jobs import Job, run


@dataclass(frozen=True)
class Counting(Job):
    """Writes a number, or does what it is told instead."""

    number: int
    folder: Path
    how: str = "writes"

    @property
    def name(self) -> str:
        return f"{self.how} {self.number}"

    @property
    def configuration(self) -> dict[str, Any]:
        return {"number": self.number}

    @property
    def done(self) -> bool:
        return (self.folder / "number").exists()

    def run(self) -> None:
        print(f"number {self.number}")
        if self.how == "fails":
            raise ValueError(f"{self.number} is not a number")
        if self.how == "refuses":
            raise SystemExit("error: no such file")
        if self.how == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "sleeps":
            (self.folder / "pid").write_text(str(os.getpid()))
            time.sleep(100)
        (self.folder / "number").write_text(str(self.number))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that runs the tests in the background ignores it
    run([Counting(number, Path(sys.argv[1]) / str(number), "sleeps") for number in range(2)], 2)
