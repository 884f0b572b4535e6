"""The command: what it refuses, what it prints, and what it does not load."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from explore_page import ROOT, Running

from benchmarks.processes import below
from dgltree.commands import explore
from dgltree.commands.main import main
from dgltree.commands.signals import TERMINATED, Interrupted, Terminated

pytest.importorskip("uvicorn", reason="the explore extra is not installed")

from dgltree.explore import app, open_models
from dgltree.explore.app import MOST_AT_ONCE, _launcher


@pytest.fixture(scope="module")
def served() -> Iterator[Running]:
    running = Running()
    yield running
    running.end()


def connected(served: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", served.port), timeout=900)


def answered(made: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    found = b""
    try:
        while more := made.recv(1 << 16):
            found += more
    except ConnectionResetError:  # what was sent is not read any more
        pass
    return found


def request(served: Running, line: str, *headers: str) -> bytes:
    cookie = "; ".join(f"{name}={value}" for name, value in served.cookie.items())
    lines = [f"{line} HTTP/1.1", f"Host: 127.0.0.1:{served.port}", f"Cookie: {cookie}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n"


@pytest.mark.slow
def test_half_sent_headers_time_out_also_behind_a_whole_request(served: Running) -> None:
    with connected(served) as first, connected(served) as second:
        first.sendall(request(served, "GET /"))
        second.sendall(request(served, "GET /api/models") + b"\r\n" + request(served, "GET /"))
        start = time.monotonic()
        assert answered(first) == b""
        assert answered(second).count(b"HTTP/1.1 200") == 1
        assert time.monotonic() - start > 5


def test_idle_connections_keep_nobody_out(served: Running) -> None:
    with ExitStack() as open_:
        idle = [open_.enter_context(connected(served)) for _ in range(MOST_AT_ONCE + 100)]
        for made in idle[::2]:
            made.sendall(b"GET / HTTP/1.1\r\nHost: ")
        for _ in range(3):
            with connected(served) as made:
                made.sendall(request(served, "GET /", "Connection: close") + b"\r\n")
                assert answered(made).startswith(b"HTTP/1.1 200 OK")


def whole(served: Running, path: str, **fields: Any) -> bytes:
    """A request whose answer ends the connection."""
    body = json.dumps(fields).encode()
    lines = ["Content-Type: application/json", f"Content-Length: {len(body)}", "Connection: close"]
    return request(served, f"POST /api/{path}", *lines) + b"\r\n" + body


def test_of_two_hundred_connections_at_once_each_is_answered(served: Running) -> None:
    with ExitStack() as open_:
        asking = [open_.enter_context(connected(served)) for _ in range(200)]
        for made in asking:
            made.sendall(whole(served, "equation/read", text="x = x"))
        assert {answered(made).partition(b"\r\n")[0] for made in asking} <= {
            b"HTTP/1.1 200 OK",
            b"HTTP/1.1 503 Service Unavailable",
        }


def test_more_half_bodies_than_there_is_room_for_keep_nobody_out(served: Running) -> None:
    with ExitStack() as open_:
        for _ in range(MOST_AT_ONCE + 20):
            half = open_.enter_context(connected(served))
            half.sendall(whole(served, "equation/read", text="x = x")[:-5])
        with connected(served) as made:
            start = time.monotonic()
            made.sendall(whole(served, "equation/read", text="x = x"))
            assert answered(made).startswith(b"HTTP/1.1 200 OK")
            assert time.monotonic() - start < 3


SLOW = {"text": "sin(x)^2 + s^2*x = _", "fillers": [f"sqrt((sin(x)^2 + s^2*x)^{2 * k})" for k in range(1, 13)]}
"""Twelve verdicts of seven seconds each."""


@pytest.mark.slow
def test_under_a_slow_judgement_others_are_answered_and_an_interrupt_ends_it_without_a_traceback() -> None:
    running = Running()
    try:
        with connected(running) as slow, connected(running) as stream:
            with connected(running) as made:
                made.sendall(whole(running, "equation/verify", text="x = x", model="default"))
                assert answered(made).startswith(b"HTTP/1.1 200 OK")
            slow.sendall(whole(running, "equation/judge", **SLOW))
            stream.sendall(whole(running, "equation/search", text="sin(x)^2 + s^2*x*z = _"))
            time.sleep(3)  # the processes that take their places begin
            took = []
            for _ in range(3):
                start = time.monotonic()
                with connected(running) as made:
                    made.sendall(whole(running, "equation/verify", text="x = x", model="default"))
                    assert answered(made).startswith(b"HTTP/1.1 200 OK")
                took.append(time.monotonic() - start)
            assert min(took) < 1  # of three, as other tests run on the same cores
            start = time.monotonic()
            processes = [number for number, _ in below(running.process.pid)]
            running.process.send_signal(signal.SIGINT)
            out, err = running.process.communicate(timeout=900)
            assert time.monotonic() - start < 3
        assert (running.process.returncode, out.strip(), err) == (0, "", "")
        assert len(processes) > 2
        end = time.monotonic() + 5
        while any(Path(f"/proc/{number}").exists() for number in processes):
            assert time.monotonic() < end, "a process outlives the page"
            time.sleep(0.1)
    finally:
        running.end()


@pytest.mark.slow
def test_the_connection_that_has_waited_longest_makes_room_and_an_interrupt_ends_all_without_a_traceback() -> None:
    running = Running()
    try:
        with ExitStack() as open_:
            waiting = [open_.enter_context(connected(running)) for _ in range(MOST_AT_ONCE)]
            for made in waiting:
                made.settimeout(0.5)
            for oldest in waiting[:3]:  # one more connection takes the place of one
                open_.enter_context(connected(running))
                assert oldest.recv(1) == b""
            for made in (waiting[3], waiting[-1]):
                with pytest.raises(TimeoutError):
                    made.recv(1)
        running.process.send_signal(signal.SIGINT)
        out, err = running.process.communicate(timeout=900)
        assert (running.process.returncode, out.strip(), err) == (0, "", "")
    finally:
        running.end()


@pytest.mark.parametrize("token", [True, False])
def test_a_body_without_an_end_is_cut(token: bool, served: Running) -> None:
    lines = ["Content-Type: application/json", f"Content-Length: {10**12}"]
    head = request(served, "POST /api/equation/read", *lines)
    head = head if token else head.replace(served.token.encode(), b"none")
    with connected(served) as made:
        made.sendall(head + b"\r\n")
        assert answered(made).startswith(b"HTTP/1.1 413 " if token else b"HTTP/1.1 403 ")
    with connected(served) as made, pytest.raises(OSError):  # and who goes on sending finds nobody
        made.sendall(head + b"\r\n")
        for _ in range(1000):
            made.sendall(b" " * (1 << 20))
    chunked = request(served, "POST /api/equation/read", lines[0], "Transfer-Encoding: chunked")
    with connected(served) as made, pytest.raises(OSError):
        made.sendall((chunked if token else chunked.replace(served.token.encode(), b"none")) + b"\r\n")
        for _ in range(1000):
            made.sendall(b"100000\r\n" + b" " * (1 << 20) + b"\r\n")


def test_the_command_line_of_the_browser_does_not_have_the_token() -> None:
    """All users of a machine may read command lines."""
    with _launcher("http://127.0.0.1:1/?token=secret") as file:
        assert "secret" not in file.as_uri()
        assert "url=http://127.0.0.1:1/?token=secret" in file.read_text(encoding="utf-8")
        assert file.parent.stat().st_mode & 0o077 == 0
    assert not file.parent.exists()


def test_it_listens_to_this_machine_alone(served: Running) -> None:
    own = {address[4][0] for address in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in own - {"127.0.0.1"}:
        with pytest.raises(OSError), socket.create_connection((address, served.port), timeout=2):
            pass


def test_a_port_that_is_taken_and_a_model_that_is_none_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        assert main(["explore", "--no-browser", "--port", str(number)]) == 1
    assert f"port {number} cannot be used" in capsys.readouterr().err
    assert main(["explore", "--no-browser", str(tmp_path / "none.safetensors")]) == 1
    assert "no such file" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["explore", "--port", "70000"])


@pytest.mark.parametrize(
    ("arguments", "trees", "port", "opens_a_browser"),
    [([], None, None, True), (["--no-browser"], None, None, False), (["--port", "0"], None, 0, True)],
)
def test_each_option_reaches_the_server_and_a_signal_the_exit_code(
    arguments: list[str], trees: str | None, port: int | None, opens_a_browser: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for raised, code in ((Interrupted(), 0), (Terminated(), TERMINATED)):
        told: list[Any] = []

        def serve(*given: Any, told: list[Any] = told, raised: BaseException = raised) -> None:
            told.append(given)
            raise raised

        monkeypatch.setattr(app, "serve", serve)
        monkeypatch.setattr(open_models, "open_all", lambda *given: given)
        monkeypatch.setattr(os, "_exit", told.append)
        explore.run("explore", explore.prepare("explore", arguments))
        assert told == [(([], trees), port, opens_a_browser), code]


@pytest.mark.slow
def test_the_page_needs_none_of_the_packages_for_training() -> None:
    code = (
        "import sys; from dgltree.explore.app import make_app; from dgltree.explore.open_models import open_all; "
        "make_app(open_all([]), ['x'], 't'); "
        "print({'lightning', 'torchmetrics', 'matplotlib', 'numba', 'dgl'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
