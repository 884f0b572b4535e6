"""What is answered without a network and without SymPy: equations, and paths that are wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}

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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fit", "no.tsv"], "no.tsv: no such file or folder"),
        (["predict", "m", "no.tsv"], "no.tsv: no such file or folder\n"),
        (["predict", "m", "(max 1 2)"], "echo '(max 1 2)' | dgltree predict m -"),
        (["predict", "no", "trees.tsv"], "no: no model.safetensors in it; give the folder"),
        (["encode", "m", "trees.tsv", "--out", "v.csv"], "v.csv: vectors are written to a .npy or .parquet file"),
        (["encode", "m", "trees.tsv", "--out", "no/v.npy"], "no/v.npy: there is no folder no"),
        (["evaluate", "m", "trees.tsv", "--against", "no"], "no: no model.safetensors in it"),
    ],
)
def test_a_wrong_path_is_refused_without_torch(arguments: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    for name in ("trees.tsv", "m/model.safetensors", "m/reading.json"):
        (tmp_path / name).touch()
    run = [sys.executable, "-c", ANSWER, *arguments]
    done = subprocess.run(run, cwd=tmp_path, env=HERE, capture_output=True, text=True, timeout=900)
    assert done.stdout.splitlines()[-1:] == ["1 []"], done.stderr
    assert said in done.stderr
