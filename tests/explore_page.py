"""``dgltree explore`` as a process of its own, and questions to its application."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
HOST = "127.0.0.1:8000"
"""By which the application is called that runs in the process of the tests."""


class Running:
    """``dgltree explore`` as a process."""

    def __init__(self, *arguments: str, port: int = 0) -> None:
        command = [sys.executable, "-m", "dgltree", "explore", "--no-browser", "--port", str(port), *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=ROOT
        )
        assert self.process.stdout is not None and self.process.stderr is not None
        line = self.process.stdout.readline()
        assert line.startswith("http://127.0.0.1:"), line + self.process.stderr.read()
        self.url = line.split()[0]

    @property
    def port(self) -> int:
        return int(self.url.rstrip("/").rpartition(":")[2])

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def ask(client: Any, path: str, **fields: Any) -> dict[str, Any]:
    answer = client.post(f"/api/{path}", json=fields)
    assert answer.status_code == 200 and "error" not in answer.json(), answer.text
    return answer.json()


def refusal(client: Any, path: str, **fields: Any) -> str:
    answer = client.post(f"/api/{path}", json=fields)
    assert answer.status_code == 200
    return answer.json()["error"]
