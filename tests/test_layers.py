"""The layers of the package are held by a tool, whose contracts can fail; no public name hides a module."""

import importlib
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dgltree

ROOT = Path(__file__).parents[1]


def broken(checkout: Path) -> str:
    """The contracts that a checkout breaks, as the tool says it."""
    code = "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", code, "--no-cache"], cwd=checkout, capture_output=True, text=True, timeout=900
    )
    assert done.returncode in (0, 1), done.stderr
    return "\n".join(line for line in done.stdout.splitlines() if "BROKEN" in line)


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("dgltree/engine/typed_linear.py", "from dgltree.cells import Cell", "Imports point one way"),
        ("dgltree/equations/truth/judge.py", "import dgltree.batching.batch", "Imports point one way"),
        ("dgltree/read/text.py", "from dgltree.read.infix import read_infix", "No circles"),
        ("dgltree/engine/memory.py", "import tasks.tables", "The library never imports the tasks"),
        ("dgltree/engine/memory.py", "from dgltree import Tree", "Nothing inside the package imports its root"),
        ("dgltree/engine/runner.py", "import dgl", "One file imports DGL"),
    ],
)
def test_an_import_that_points_the_wrong_way_breaks_a_contract(
    file: str, line: str, contract: str, tmp_path: Path
) -> None:
    pytest.importorskip("importlinter", reason="the test extra is not installed")
    for folder in ("dgltree", "tasks", "benchmarks"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "*.safetensors"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    mutant = tmp_path / file
    mutant.write_text(f"{line}\n{mutant.read_text(encoding='utf-8')}", encoding="utf-8")
    assert contract in broken(tmp_path)


def test_imports_by_name_are_of_what_lies_below() -> None:
    """import-linter sees no ``import_module``."""
    package = Path(dgltree.__path__[0])
    by_name = re.compile(r"\b(?:import_module|__import__)\(")
    texts = {str(path.relative_to(package)): path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    users = {name for name, text in texts.items() if by_name.search(text)}
    assert users == {
        "__init__.py",
        "commands/main.py",  # commands
        "datasets/__init__.py",  # its own modules
        "engine/kernels/dispatch.py",  # its own kernels
        "equations/__init__.py",  # its own modules
        "ranking/__init__.py",
        "read/code.py",  # parsers of other packages
    }


def test_each_public_name_is_imported_from_the_file_that_defines_it() -> None:
    for module, names in dgltree._MODULES.items():
        for name in names:
            value = getattr(dgltree, name)
            home = getattr(value, "__module__", f"dgltree.{module}")
            assert name == "BLANK" or home.startswith(f"dgltree.{module}"), name


def test_no_public_name_hides_a_module() -> None:
    for package in [dgltree, *map(importlib.import_module, subpackages())]:
        modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
        assert not modules & set(getattr(package, "__all__", ())), package.__name__


def subpackages() -> list[str]:
    return [found.name for found in pkgutil.walk_packages(dgltree.__path__, "dgltree.") if found.ispkg]


def test_one_file_makes_private_calls_of_torch() -> None:
    package = Path(dgltree.__path__[0])
    private = re.compile(r"torch\._(?!_)|\._version\b")
    found = {path.name for path in package.rglob("*.py") if private.search(path.read_text(encoding="utf-8"))}
    assert found == {"torch_internals.py"}


def test_the_root_holds_folders_and_few_modules() -> None:
    files = {path.name for path in Path(dgltree.__path__[0]).glob("*.py")}
    assert files == {"__init__.py", "__main__.py"}


def test_no_two_files_of_tests_have_one_name() -> None:
    """pytest imports each by its name alone, and would refuse the second of a whole run."""
    names = [
        path.name for path in ROOT.joinpath("tests").rglob("*.py") if path.name not in ("__init__.py", "conftest.py")
    ]
    assert sorted(names) == sorted(set(names))


def test_a_class_name_occurs_once() -> None:
    """Public classes; two that mean the same thing are one class, which both places share."""
    found: dict[str, list[str]] = {}
    for path in [*(ROOT / "dgltree").rglob("*.py"), *(ROOT / "tasks").rglob("*.py")]:
        for name in re.findall(r"^class ([A-Za-z]\w*)", path.read_text(encoding="utf-8"), re.MULTILINE):
            found.setdefault(name, []).append(str(path.relative_to(ROOT)))
    assert not {name: paths for name, paths in found.items() if len(paths) > 1}
