"""The wheel and the source distribution: built, installed apart from the checkout, and used."""

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

ROOT = Path(__file__).parents[1]
FILES = {
    "dgltree/py.typed",
    "dgltree/data/default.safetensors",
    "dgltree/data/fillers.txt",
    "dgltree/data/lists.tsv",
    "dgltree/commands/main.py",
    "dgltree/explore/static/index.html",
    "dgltree/explore/static/rooms/equation.js",
    "dgltree/explore/static/vendor/d3.LICENSE",
    "dgltree/explore/static/vendor/katex/fonts/KaTeX_Main-Regular.woff2",
}
VERSION = "from importlib.metadata import version; print(version('dgltree'))"
BUILD = "import setuptools.build_meta as b; print(b.build_{}({!r}))"


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    given = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=given | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, unpacked, of the files that git knows: nothing else of the checkout can help."""
    pytest.importorskip("setuptools")
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout, whose files git knows")
    folder = tmp_path_factory.mktemp("packages")
    copy = folder / "copy"
    for name in run("git", "ls-files", cwd=ROOT).splitlines():
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    run(sys.executable, "-c", BUILD.format("sdist", str(folder)), cwd=copy)
    [archive] = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder / "sdist", filter="data")
    [found] = (folder / "sdist").iterdir()
    return found


@pytest.fixture(scope="module")
def wheel(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel that was built from the source distribution."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-c", BUILD.format("wheel", str(folder)), cwd=sources)
    [found] = folder.glob("*.whl")
    return found


@pytest.mark.slow
def test_both_hold_what_they_need(sources: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        [metadata] = [name for name in names if name.endswith("METADATA")]
        about = archive.read(metadata).decode()
    assert names >= FILES
    assert not [name for name in names if name.startswith(("tests/", "tasks/", "docs/"))]
    assert "Author: The dgltree developers" in about
    assert "Classifier: Typing :: Typed" in about
    kept = {str(path.relative_to(sources)) for path in sources.rglob("*") if path.is_file()}
    assert kept >= FILES | {
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "constraints.txt",
        "docs/index.md",
        "tests/oracle.py",
    }
    assert not [name for name in kept if name.endswith(".pyc")]


@pytest.mark.slow
@pytest.mark.parametrize("package", ["wheel", "sdist"])
def test_a_package_completes_and_a_wheel_fits_and_predicts_in_a_fresh_environment(
    package: str, sources: Path, wheel: Path, tmp_path: Path
) -> None:
    """Pip installs it, from the index nothing, as a test needs no network: its dependencies are those of this one."""
    pytest.importorskip("lightning", reason="the train extra is not installed")
    place = tmp_path / "environment"
    venv.create(place, symlinks=True)
    python = place / "bin" / "python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip())
    (site / "dependencies.pth").write_text("\n".join(path for path in sys.path if path.endswith("-packages")))
    given = wheel if package == "wheel" else sources
    install = ("-m", "pip", "install", "--no-deps", "--no-index", "--no-build-isolation", "--target", site, given)
    run(sys.executable, *install, cwd=tmp_path)
    environment = {"OMP_NUM_THREADS": "1"}

    def dgltree(*arguments: str) -> str:
        return run(python, "-m", "dgltree", *arguments, cwd=tmp_path, **environment)

    found = run(python, "-c", "import dgltree; print(dgltree.__file__)", cwd=tmp_path).strip()
    assert Path(found).is_relative_to(site)
    assert dgltree("--version").split()[1] == run(python, "-c", VERSION, cwd=tmp_path).strip()
    assert "cos(x)^2" in dgltree("complete", "sin(x)^2 + _ = 1", "--top", "1")
    if package == "sdist":  # of which the wheel was made that does the rest
        help_ = run(python, "-m", "tasks.equations", "--help", cwd=sources, **environment)
        assert "python -m tasks.equations COMMAND" in help_
        return
    (tmp_path / "trees.tsv").write_text(dgltree("sample"), encoding="utf-8")
    dgltree("fit", "trees.tsv", "--hidden-size", "4", "--epochs", "1", "--out", "model")
    assert len(dgltree("predict", "model", "trees.tsv").splitlines()) == 1001
    command = [python, "-m", "dgltree", "explore", "model", "--port", "0", "--no-browser"]
    page = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert page.stdout is not None
        address = next(found[0] for line in page.stdout if (found := re.search(r"http://\S+", line)))
        opener = build_opener(HTTPCookieProcessor())  # the token of the address becomes a cookie
        assert b"<title>dgltree" in opener.open(address, timeout=900).read()
    finally:
        page.kill()
        page.communicate()
