"""The README's examples run, and its commands exist."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dgltree.commands.main import main

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=["dgl"])
def test_the_python_examples_run_and_are_short(block: str) -> None:
    if "import dgl\n" in block:
        pytest.importorskip("dgl", reason="DGL is not installed")
    assert len(block.splitlines()) <= 17
    subprocess.run([sys.executable, "-c", block], check=True, timeout=120, capture_output=True)


def test_the_command_line_examples_print_what_the_readme_says(capsys: pytest.CaptureFixture[str]) -> None:
    [session] = re.findall(r"```\n(\$ dgltree complete.*?)```", README, re.DOTALL)
    for command in session.split("$ dgltree ")[1:]:
        line, *expected = command.splitlines()
        arguments = [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|(\S+)', line)]
        assert main(arguments) == 0
        found = capsys.readouterr().out.splitlines()
        # the last digits may differ from one machine to the next
        assert [re.sub(r"\d\.\d+", "", row) for row in found] == [re.sub(r"\d\.\d+", "", row) for row in expected]


def test_every_script_and_module_that_the_readme_names_is_there() -> None:
    root = Path(__file__).parents[1]
    for script in set(re.findall(r"\bscripts/\w+", README)):
        assert os.access(root / script, os.X_OK), script
    for module in set(re.findall(r"python -m ([\w.]+)", README)):
        path = root / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module
    for page in re.findall(r"\]\(((?:docs/)?[\w./]+(?:\.md)?)\)", README):
        assert (root / page).exists(), page
