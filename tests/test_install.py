"""What ``scripts/venv.sh`` says on machines that are not as it needs them; a second run goes on."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VERSION = "{}.{}".format(*sys.version_info)
OLD = "import sys; sys.version_info = (3, 9, 1); "
BARE = "import sys; sys.modules['ensurepip'] = None; "
NO_PIP_INSTALL = """case "$*" in *"pip install"*) echo "$@" >>calls; exit 1;; esac"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A clone as far as the scripts look at it, open to any user; ``scripts/try`` installs, as the others do."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "a clone"
        (folder / "scripts").mkdir(parents=True)
        for path in (folder.parent, folder):
            path.chmod(0o755)
        for file in ("setup.cfg", "pyproject.toml", "constraints.txt", "scripts/venv.sh"):
            shutil.copy(ROOT / file, folder / file)
        executable(folder / "scripts" / "try", 'set -e; . "$(dirname "$0")/venv.sh"; install fast; echo installed')
        yield folder


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/usr/bin/env bash\n{text}\n")
    path.chmod(0o755)
    return path


def python_with(path: Path, code: str = "", shell: str = "") -> Path:
    """A Python that runs this code before that of ``-c``, and these lines of the shell before everything."""
    run = f"""if [ "$1" = -c ]; then exec "{sys.executable}" -c "{code}"'exec(sys.argv[1])' "$2"; fi""" if code else ""
    return executable(path, f'{shell}\n{run}\nexec "{sys.executable}" "$@"')


def tried(place: Path, **environment: str | int) -> tuple[int, str]:
    """The exit status of ``scripts/try`` and all that it said."""
    user = {"user": environment.pop("user")} if "user" in environment else {}
    given = {name: value for name, value in os.environ.items() if name != "PYTHON"}
    done = subprocess.run(
        [place / "scripts" / "try"],
        env=given | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **user,  # type: ignore[arg-type]
    )
    return done.returncode, done.stdout


def refused(place: Path, message: str, **environment: str) -> None:
    status, said = tried(place, **environment)
    assert status == 1
    assert message in said.splitlines()[-1]


def test_a_python_that_is_not_there(place: Path) -> None:
    refused(place, "There is no python9. dgltree needs Python 3.11 or newer: set PYTHON", PYTHON="python9")


def test_a_python_that_is_too_old(place: Path) -> None:
    old = python_with(place / "python", OLD)
    refused(place, f"dgltree needs Python 3.11 or newer; {old} is 3.9. Set PYTHON to another one", PYTHON=str(old))


def test_a_python_without_venv(place: Path) -> None:
    bare = python_with(place / "python", BARE)
    refused(place, "venv module is missing or incomplete: install it (on Debian", PYTHON=str(bare))
    assert not (place / ".venv").exists()


def test_an_environment_whose_python_is_gone(place: Path) -> None:
    (place / ".venv" / "bin").mkdir(parents=True)
    (place / ".venv" / "bin" / "python").symlink_to(place / "gone")
    refused(
        place, ".venv/bin/python does not start; perhaps its Python was removed. Delete the environment (rm -r .venv)"
    )


def test_an_environment_of_a_python_that_is_too_old(place: Path) -> None:
    python_with(place / ".venv" / "bin" / "python", OLD)
    refused(place, ".venv is for Python 3.9; dgltree needs 3.11 or newer. Delete the environment (rm -r .venv)")


def test_an_environment_of_another_python_than_asked_for(place: Path) -> None:
    python_with(place / ".venv" / "bin" / "python")
    other = python_with(place / "python", "import sys; sys.version_info = (3, 99); ")
    refused(place, f".venv is for Python {VERSION}, but PYTHON is {other}. Delete the environment", PYTHON=str(other))


def test_a_folder_that_cannot_be_written(place: Path) -> None:
    place.chmod(0o555)
    status, said = tried(place, **({"user": 65534} if os.geteuid() == 0 else {}), PYTHON=shutil.which("python3") or "")
    assert status == 1
    assert f"{place} cannot be written, but .venv is made there: clone" in said


def test_a_torch_that_is_there_is_kept_and_a_failure_of_pip_says_what_to_do(place: Path) -> None:
    (place / "constraints.txt").write_text((ROOT / "constraints.txt").read_text().replace("torch==", "torch==9"))
    python = python_with(place / ".venv" / "bin" / "python", shell=NO_PIP_INSTALL)
    refused(place, "pip could not install dgltree; its message is above. Once the cause is removed")
    assert "--constraint .venv/constraints.txt --editable .[fast]" in (place / "calls").read_text()
    pins = (place / ".venv" / "constraints.txt").read_text().splitlines()
    assert not [pin for pin in pins if pin.startswith("torch==")]
    assert len(pins) == len((place / "constraints.txt").read_text().splitlines()) - 1
    python_with(python, shell=NO_PIP_INSTALL.replace("exit 1", "exit 0"))
    assert tried(place)[1].splitlines()[-1] == "installed"  # the second run goes on
    (place / "calls").unlink()
    assert tried(place) == (0, "installed\n")  # the third has nothing to do
    assert not (place / "calls").exists()


@pytest.mark.slow
def test_a_half_made_environment_is_finished_behind_a_proxy_that_refuses(place: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place / ".venv"], check=True)
    proxy = {
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "PIP_RETRIES": "0",
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_FIND_LINKS": "",
    }
    refused(place, "pip could not install dgltree", PYTHON=sys.executable, **proxy)
    subprocess.run([place / ".venv" / "bin" / "python", "-m", "pip", "--version"], check=True)


@pytest.mark.slow
def test_extras_that_were_installed_with_others_are_not_installed_again(place: Path) -> None:
    python_with(place / ".venv" / "bin" / "python", shell=NO_PIP_INSTALL.replace("exit 1", "exit 0"))
    executable(place / "scripts" / "more", 'set -e; . "$(dirname "$0")/venv.sh"; install docs,fast,test')
    subprocess.run([place / "scripts" / "more"], check=True)
    assert len((place / "calls").read_text().splitlines()) == 1
    assert tried(place) == (0, "installed\n"), "fast is one of three"
    assert len((place / "calls").read_text().splitlines()) == 1
    executable(place / "scripts" / "try", 'set -e; . "$(dirname "$0")/venv.sh"; install fast,chem')
    assert tried(place)[0] == 0
    assert len((place / "calls").read_text().splitlines()) == 2
    with (place / "setup.cfg").open("a") as settings:
        settings.write("\n")
    assert tried(place)[0] == 0
    assert len((place / "calls").read_text().splitlines()) == 3
