"""Equations are checked, verified and completed where there is no torch."""

import subprocess
import sys

import pytest

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "dgl", "lightning", "numba"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", BLOCKED + code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_functions_answer() -> None:
    printed = run(
        """
import dgltree
print(dgltree.check("(x + 1)^2 = _", "x^2 + 2x + 1"))
print(dgltree.verify("sin(x)^2 + cos(x)^2 = 1"))
print([dgltree.write_infix(tree) for tree in dgltree.complete("x^2 - 4 = (x - 2)_").fillers[0].trees])
print(dgltree.equations.numeric_truth)
"""
    )
    check, verify, complete, truth = printed.splitlines()
    assert "right" in check
    assert verify == "holds everywhere (proved)"
    assert complete == "['x + 2']"
    assert truth.startswith("<function numeric_truth")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("check", "(x + 1)^2 = _", "x^2 + 2x + 1"), "right"),
        (("verify", "2 + 2 = 4"), "proved"),
        (("complete", "2x + 3 = 11, x = _"), "4"),
    ],
)
def test_the_commands_answer(arguments: tuple[str, ...], expected: str) -> None:
    assert expected in run(f"from dgltree.commands.main import main; sys.exit(main({list(arguments)!r}))")


def test_a_guesser_that_cannot_be_loaded_guesses_nothing_and_says_so_once() -> None:
    printed = run(
        """
import warnings
from dgltree import read_equation
from dgltree.ranking.completion import ListGuesser
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    guesser = ListGuesser("default")
    print([guesser.guess(read_equation(text)) for text in ("sin(x)^2 + _ = 1", "_ = x")])
print(*(warning.message for warning in told))
"""
    )
    assert printed.splitlines() == [
        "[[], []]",
        "no network proposes fillers, because torch cannot be loaded: No module named 'torch'",
    ]


def test_torch_is_not_loaded_for_guesses_if_there_is_no_time_for_that() -> None:
    code = """
import dgltree
print(dgltree.complete("0*_ = x^2 + 1", budget=500, seconds=2.5).stopped)
"""
    assert run(code + "print(any('torch' in name for name in sys.modules))").split() == ["True", "False"]


def test_a_model_says_that_torch_is_missing() -> None:
    assert "ModuleNotFoundError" in run(
        """
import dgltree
try:
    dgltree.ranking.Ranker
except ModuleNotFoundError as error:
    print(type(error).__name__, error)
"""
    )
