"""The command: what it refuses, what it prints, and what it does not load."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from explore_page import ROOT, Running

from dgltree.commands.main import main

pytest.importorskip("uvicorn", reason="the explore extra is not installed")

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
        idle = [open_.enter_context(connected(served)) for _ in range(2 * MOST_AT_ONCE)]
        for made in idle[::2]:
            made.sendall(b"GET / HTTP/1.1\r\nHost: ")
        for _ in range(3):
            with connected(served) as made:
                made.sendall(request(served, "GET /", "Connection: close") + b"\r\n")
                assert answered(made).startswith(b"HTTP/1.1 200 OK")


def test_the_connection_that_has_waited_longest_makes_room_and_an_interrupt_ends_all_without_a_traceback() -> None:
    running = Running()
    try:
        with ExitStack() as open_:
            waiting = [open_.enter_context(connected(running)) for _ in range(MOST_AT_ONCE - 1)]
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


@pytest.mark.slow
def test_the_page_needs_none_of_the_packages_for_training() -> None:
    code = (
        "import sys; from dgltree.explore.app import make_app; from dgltree.explore.open_models import open_all; "
        "make_app(open_all([]), ['x'], 't'); "
        "print({'lightning', 'torchmetrics', 'matplotlib', 'numba', 'dgl'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
