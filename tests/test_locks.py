"""A folder belongs to one run at a time."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dgltree.support.files import OWNER, lock_folder

HOLD = """
import sys
from pathlib import Path
from dgltree.support.files import lock_folder
with lock_folder(Path(sys.argv[1])):
    print("owned", flush=True)
    sys.stdin.read()
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    """A process that owns a folder until its standard input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "owned\n"
    return process


def test_another_process_is_refused_until_the_first_is_done(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    process = holder(folder)
    with pytest.raises(ValueError, match=rf"another run writes to {folder} \(process {process.pid} on .*wait for"):
        lock_folder(folder).__enter__()
    process.communicate("")
    with lock_folder(folder):
        assert (folder / OWNER).exists()
    assert list(folder.iterdir()) == []


def test_a_process_that_was_killed_owns_nothing(tmp_path: Path) -> None:
    process = holder(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert (tmp_path / OWNER).exists()
    with lock_folder(tmp_path):
        pass


def test_two_threads_of_a_process_do_not_share_a_folder(tmp_path: Path) -> None:
    refused: list[str] = []

    def other() -> None:
        try:
            with lock_folder(tmp_path / "." / ""):
                pass
        except ValueError as error:
            refused.append(str(error))

    with lock_folder(tmp_path):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert f"(process {os.getpid()}, this one)" in refused[0]


def test_what_cannot_be_locked_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / OWNER).symlink_to(tmp_path / "elsewhere")  # a link is never opened
    with lock_folder(tmp_path):
        assert not (tmp_path / "elsewhere").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="file is a file; the output goes to a folder"):
        lock_folder(tmp_path / "file").__enter__()
