"""What ``dgltree fit`` refuses before it imports torch and Lightning, which takes seconds."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECKS = """
import sys
from dgltree.commands.main import main

try:
    code = main(sys.argv[1:])
except SystemExit as error:
    code = error.code
heavy = sorted({"torch", "lightning", "numpy", "sklearn", "scipy", "pandas", "dgl"} & set(sys.modules))
print(code, heavy)
"""


HIDDEN = """
import importlib.util

found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name.startswith("tensorboard") else found(name, *rest)
"""
"""Before the command: tensorboard, which a machine may have, is not there."""


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (1, ["missing.tsv"], "dgltree: missing.tsv: no such file or folder"),
        (1, ["HERE", "--test", "missing.tsv"], "dgltree: missing.tsv: no such file or folder"),
        (1, ["HERE", "--validation", "missing.tsv"], "dgltree: missing.tsv: no such file or folder"),
        (1, ["HERE", "--split-of", "runs/missing"], "dgltree: runs/missing: no such file or folder"),
        (1, ["HERE", "--cell", "missing.py:Mine"], "dgltree: missing.py: no such file or folder"),
        (1, ["HERE", "--hidden-size", "0"], "dgltree: hidden_size is 0; it must be 1 or more"),
        (1, ["HERE", "--folds", "3", "--seeds", "2"], "dgltree: --folds makes its own test sets"),
        (1, ["HERE", "--processes", "2"], "dgltree: --processes is for --folds or --seeds"),
        (1, ["HERE", "--max-line", "0"], "dgltree: max_line is 0"),
        (1, ["HERE", "--label", "klass"], "no column 'klass' (--label); there are 'tree', 'label'"),
        (1, ["HERE", "--split", "part"], "no column 'part' (--split)"),
        (1, ["HERE", "--group-by", "user"], "no column 'user' (--group-by)"),
        (1, ["HERE", "--features", "age"], "no column 'age', which is read next to the trees (--features)"),
        (1, ["HERE", "--tree", "expression"], "no column 'expression'"),
        (1, ["HERE", "--validation", "HERE", "--test", "HERE", "--id", "name"], "no column 'name' (--id)"),
        (
            1,
            ["HERE", "--log", "tensorboard"],
            "log is tensorboard, which is not installed; install it with: pip install",
        ),
        (1, ["HERE", "--threshold", "b"], "threshold is 'b'; it must be CLASS=P"),
        (2, ["HERE", "--epochs", "some"], "dgltree fit: error: --epochs is 'some'; it must be a whole number"),
        (2, ["HERE", "--schedule", "cosin"], "--schedule is 'cosin'; it must be 'plateau' or 'cosine' or 'linear'"),
        (2, ["HERE", "--options", "stack_size=3"], "as a JSON object: --options '{\"stack_size\": 3}'"),
        (2, ["HERE", "--hiden-size", "3"], "there is no option --hiden-size; nearest known: --hidden-size"),
    ],
)
def test_it_is_refused_without_torch_and_lightning(
    code: int, arguments: list[str], message: str, tmp_path: Path
) -> None:
    file = tmp_path / "trees.tsv"
    file.write_text("tree\tlabel\nx\ta\n", encoding="utf-8")
    given = [str(file) if argument == "HERE" else argument for argument in arguments]
    command = [sys.executable, "-c", HIDDEN + CHECKS, "fit", *given]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] in (f"{code} []", f"{code} ['numpy']"), done.stderr  # by which files are read
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
