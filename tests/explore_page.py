"""``dgltree explore`` as a process of its own, and questions to its application."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

ROOT = Path(__file__).parents[1]
HOST = "127.0.0.1:8000"
"""By which the application is called that runs in the process of the tests."""
TOKEN = "t0ken"
COOKIE = {"dgltree-8000": TOKEN}
"""What a browser has that was opened on it."""
SMALLEST = 9
SIZES = """
() => [...document.querySelectorAll("svg text")].filter((text) => text.checkVisibility() && text.textContent.trim())
  .map((text) => Number.parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)
"""
"""The sizes of all texts of pictures that are to be seen, in pixels."""


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
        self.token = dict(parse_qsl(urlsplit(self.url).query))["token"]

    @property
    def port(self) -> int:
        return int(urlsplit(self.url).port or 0)

    @property
    def site(self) -> str:
        """The address without the token."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def cookie(self) -> dict[str, str]:
        """What a browser has that was opened on it."""
        return {f"dgltree-{self.port}": self.token}

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def unfold(page: Any) -> Any:
    """Open the lists of the networks; the first of them."""
    page.locator(".guesses > summary").click()
    return page.locator(".guesses .list").first


def look_inside(place: Any) -> None:
    """Open what a network computes, which is folded at first."""
    place.locator(".fold > summary").first.click()


def ask(client: Any, path: str, **fields: Any) -> dict[str, Any]:
    answer = client.post(f"/api/{path}", json=fields)
    assert answer.status_code == 200 and "error" not in answer.json(), answer.text
    return answer.json()


def refusal(client: Any, path: str, **fields: Any) -> str:
    answer = client.post(f"/api/{path}", json=fields)
    assert answer.status_code == 200
    return answer.json()["error"]
