"""What the commands for equations answer without a network and without SymPy."""

import subprocess
import sys

import pytest

ANSWER = """
import subprocess
import sys
from dgltree.commands.main import main

subprocess.Popen = None  # SymPy runs in a process of its own: there must be none
code = main(sys.argv[1:])
print(code, sorted({"torch", "dgl", "sympy", "ray", "pandas"} & set(sys.modules)))
"""


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (1, ["complete", "2x + = 3"]),
        (1, ["verify", "2x + = 3"]),
        (1, ["check", "2 + _ = 5", "3 +"]),
        (0, ["complete", "2 + 3 = _", "sqrt(16) = _"]),
        (0, ["complete", "sin(x)^2 + _ = 1"]),
        (0, ["verify", "2 + 3 = 5", "sin(x)^2 + cos(x)^2 = 1"]),
        (0, ["check", "2 + _ = 5", "3"]),
    ],
)
def test_it_is_answered_without_torch_and_sympy(code: int, arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", ANSWER, *arguments], capture_output=True, text=True, timeout=900)
    assert done.stdout.splitlines()[-1:] == [f"{code} []"], done.stderr
