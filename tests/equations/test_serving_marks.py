"""The server of docs/howto/serving_marks.md runs as it is on the page, and gives the marks of the library."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the explore extra is not installed")

from dgltree.equations.marking.checker import Checker

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "serving_marks.md"


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    found = re.search(r'```python title="serve_marks.py"\n(.*?)```', PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    names: dict[str, Any] = {}
    exec(found[1], names)
    return names


async def post(app: Any, body: bytes, end: str = "whole") -> tuple[int, dict[str, Any]]:
    """The status and the JSON of a request, by the protocol that servers speak to applications."""
    sent: list[dict[str, Any]] = []
    parts = [body[:10], body[10:]]

    async def receive() -> dict[str, Any]:
        if parts:
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts) or end != "whole"}
        if end == "waits":
            await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/mark", "headers": [], "query_string": b"", "root_path": ""}
    await app({**scope, "scheme": "http", "server": ("localhost", 80), "http_version": "1.1"}, receive, send)
    return sent[0]["status"], json.loads(b"".join(message.get("body", b"") for message in sent[1:]))


def ask(names: dict[str, Any], *bodies: bytes) -> list[tuple[int, dict[str, Any]]]:
    async def all_at_once() -> list[tuple[int, dict[str, Any]]]:
        return list(await asyncio.gather(*(post(names["app"], body) for body in bodies)))

    return asyncio.run(all_at_once())


def test_the_server_gives_the_marks_of_the_library(names: dict[str, Any]) -> None:
    given = [
        ("squares", "2", "incomplete", 1), ("squares", "±2", "right", 2), ("squares", "", "empty", 0),
        ("squares", "2 or or", "unreadable", 0), ("binomial", "(x+3)(x+3)", "form", 1),
        ("kilometres", "66,7%", "right", 2), ("kilometres", "1+" * 5001 + "1", "unreadable", 0),
    ]  # fmt: skip
    bodies = [json.dumps({"exercise": name, "answer": answer}).encode() for name, answer, _, _ in given]
    for (name, answer, code, earned), (status, found) in zip(given, ask(names, *bodies), strict=True):
        assert (status, found.pop("points"), found["mark"]) == (200, earned, code)
        question, settings = names["EXERCISES"][name]
        assert found == Checker(question, **settings).mark(answer).record


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[1]", 400),
        (b'{"exercise": "cubes", "answer": "2"}', 400),
        (b'{"exercise": "squares", "answer": 2}', 400),
        (b'{"exercise": ["squares"], "answer": "2"}', 400),
        (b'{"exercise": "squares", "answer": "\\ud800"}', 400),
        (b"[" * 15_000, 400),
        (b'{"answer": "' + b"x" * 17_000, 413),
    ],
)
def test_a_request_that_is_none_is_an_error(names: dict[str, Any], body: bytes, status: int) -> None:
    [(found, answer)] = ask(names, body)
    assert found == status and answer["error"]


def test_an_answer_that_takes_too_long_and_a_crowd_have_answers_too(names: dict[str, Any]) -> None:
    body = json.dumps({"exercise": "squares", "answer": "2"}).encode()
    seconds, waiting = names["SECONDS"], names["WAITING"]
    try:
        names["SECONDS"], names["WAITING"] = 1e-9, 2
        found = ask(names, *[body] * 5)
    finally:
        names["SECONDS"], names["WAITING"] = seconds, waiting
    assert sorted(status for status, _ in found) == [200, 200, 503, 503, 503]
    assert {answer["mark"] for status, answer in found if status == 200} <= {"out-of-time", "incomplete"}
    assert ask(names, body)[0][1]["mark"] == "incomplete"


@pytest.mark.parametrize(("end", "status"), [("waits", 408), ("leaves", 499)])
def test_half_a_request_is_not_waited_for(names: dict[str, Any], end: str, status: int) -> None:
    reading = names["READING"]
    try:
        names["READING"] = 0.2
        found, answer = asyncio.run(post(names["app"], b'{"exercise": "squares", "answer":', end))
    finally:
        names["READING"] = reading
    assert (found, list(answer)) == (status, ["error"])
