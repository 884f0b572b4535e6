"""The wheel and the source distribution: built, installed apart from the checkout, and used."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from own_trees import table

ROOT = Path(__file__).parents[1]
FILES = {
    "dgltree/py.typed",
    "dgltree/data/default.safetensors",
    "dgltree/data/fillers.txt",
    "dgltree/commands/main.py",
    "dgltree/explore/static/index.html",
    "dgltree/explore/static/rooms/equation.js",
    "dgltree/explore/static/vendor/d3.LICENSE",
    "dgltree/explore/static/vendor/katex/fonts/KaTeX_Main-Regular.woff2",
}
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
def test_the_wheel_completes_fits_and_predicts_apart_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    pytest.importorskip("lightning", reason="the train extra is not installed")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    environment = {"PYTHONPATH": str(site), "OMP_NUM_THREADS": "1"}

    def dgltree(*arguments: str) -> str:
        return run(sys.executable, "-m", "dgltree", *arguments, cwd=tmp_path, **environment)

    place = run(sys.executable, "-c", "import dgltree; print(dgltree.__file__)", cwd=tmp_path, **environment)
    assert Path(place.strip()).is_relative_to(site)
    assert "cos(x)^2" in dgltree("complete", "sin(x)^2 + _ = 1", "--top", "1")
    (tmp_path / "trees.tsv").write_text(table(60), encoding="utf-8")
    dgltree("fit", "trees.tsv", "--hidden-size", "4", "--epochs", "1", "--out", "model")
    assert len(dgltree("predict", "model", "trees.tsv").splitlines()) == 61
