"""The command: what it refuses, what it prints, and what it does not load."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from explore_page import ROOT, Running

from dgltree.commands.main import main

pytest.importorskip("uvicorn", reason="the explore extra is not installed")


def test_it_ends_without_a_traceback_when_interrupted() -> None:
    running = Running()
    running.process.send_signal(signal.SIGINT)
    out, err = running.process.communicate(timeout=30)
    assert (running.process.returncode, out.strip(), err) == (0, "", "")


def test_it_listens_to_this_machine_alone() -> None:
    running = Running()
    own = {address[4][0] for address in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in own - {"127.0.0.1"}:
        with pytest.raises(OSError), socket.create_connection((address, running.port), timeout=2):
            pass
    running.end()


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


def test_the_page_needs_none_of_the_packages_for_training() -> None:
    code = (
        "import sys; from dgltree.explore.app import make_app; from dgltree.explore.open_models import open_all; "
        "make_app(open_all([]), ['x']); "
        "print({'lightning', 'torchmetrics', 'matplotlib', 'numba', 'dgl'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
