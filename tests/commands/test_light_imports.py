"""What is answered without waiting for packages that it does not need: equations, wrong paths, predictions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dgltree import TrainedModel, Vocabulary, read_infix
from dgltree.cells import TreeLSTM
from dgltree.commands.main import COMMANDS
from dgltree.datasets.settings import Reading
from dgltree.encoders import TreeEncoder
from dgltree.models.readouts import ClassifierReadout
from dgltree.models.tree_model import TreeModel
from dgltree.training.model_files import READING, UNLABELLED, WEIGHTS

HERE = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}

ANSWER = """
import subprocess
import sys
from dgltree.commands.main import main

subprocess.Popen = None  # SymPy runs in a process of its own: there must be none
code = main(sys.argv[1:])
print(code, sorted({"torch", "dgl", "sympy", "ray", "pandas", "jsonargparse"} & set(sys.modules)))
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


WRONG_PATHS = {
    "fit no.tsv": "no.tsv: no such file or folder",
    "fit trees.tsv --from no": "no: there is no model.safetensors in this folder",
    "fit trees.tsv --vectors no.txt": "no.txt: no such file or folder",
    "fit trees.tsv --out trees.tsv/m": "trees.tsv is a file; the output goes to a folder",
    "compare trees.tsv --encoders gru,lstm --test no.tsv": "no.tsv: no such file or folder",
    "predict m no.tsv": "no.tsv: no such file or folder",
    "predict m '(max 1 2)'": "echo '(max 1 2)' | dgltree predict m -",
    "predict no trees.tsv": "no: there is no model.safetensors in this folder; give the folder",
    "predict m trees.tsv --cell no.py:Mine": "no.py: no such file or folder",
    "predict vectors trees.tsv": "vectors: a model of 'dgltree embed' has no labels to predict",
    "encode m trees.tsv --out v.csv": "v.csv: vectors are written to a .npy or .parquet file",
    "encode m trees.tsv --out no/v.npy": "no/v.npy: there is no folder no",
    "evaluate m trees.tsv --against no": "no: there is no model.safetensors in this folder",
    "export no build": "no: there is no model.safetensors in this folder",
    "export m trees.tsv": "trees.tsv is a file; the output goes to a folder",
    "explain no '(add x y)'": "no: there is no model.safetensors in this folder",
    "explain m no.tsv": "no.tsv: no such file",
    "explain m '(add x y)' --picture no/x.svg": "no/x.svg: there is no folder no",
    "explain vectors '(add x y)'": "vectors: a model of 'dgltree embed' has no labels to predict",
    "similar no trees.tsv --query x": "no: there is no model.safetensors in this folder",
    "similar m no.tsv --query x": "no.tsv: no such file or folder",
    "similar m trees.tsv --queries no.tsv": "no.tsv: no such file or folder",
    "parse no.safetensors trees.tsv": "no.safetensors: no such file or folder",
    "parse m/model.safetensors no.txt": "no.txt: no such file or folder",
    "embed no.tsv --out v": "no.tsv: no such file or folder",
    "embed trees.tsv --out trees.tsv": "trees.tsv is a file; the output goes to a folder",
    "inspect no.tsv": "no.tsv: no such file or folder",
    "explore no": "no: no such file, and no shipped model of that name",
    "explore m --trees no.tsv": "no.tsv: no such file or folder",
    "explore --trees trees.tsv": "trees.tsv: also name the folder that 'dgltree fit' wrote",
    "complete 'x = _' --fillers no.txt": "no.txt: no such file or folder",
    "complete 'x = _' --model no": "no: no such file, and no shipped model of that name",
    "check --table no.csv": "no.csv: no such file or folder",
    "check --table trees.tsv --to no/marks.csv": "no/marks.csv: there is no folder no",
    "check 'x = _' x --sentences no.json": "no.json: no such file or folder",
}
REFUSE = """
import shlex
import sys
from dgltree.commands.main import main

for command in sys.argv[1:]:
    print(f"> {command}", file=sys.stderr)
    print(main(shlex.split(command)), file=sys.stderr)
    print(command, sorted({"torch", "dgl", "sympy", "ray", "pandas"} & set(sys.modules)))
"""


def test_a_wrong_path_is_refused_without_torch(tmp_path: Path) -> None:
    for name in ("trees.tsv", *(f"{folder}/{file}" for folder in ("m", "vectors") for file in (WEIGHTS, READING))):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "vectors" / UNLABELLED).touch()
    (tmp_path / "trees.tsv").write_text("tree\tlabel\n(f x)\ta\n", encoding="utf-8")
    run = [sys.executable, "-c", REFUSE, *WRONG_PATHS]
    done = subprocess.run(run, cwd=tmp_path, env=HERE, capture_output=True, text=True, timeout=900)
    assert done.stdout.splitlines() == [f"{command} []" for command in WRONG_PATHS], done.stderr
    lines = iter(done.stderr.splitlines())
    for command, message in WRONG_PATHS.items():
        assert next(lines) == f"> {command}"
        said = next(lines)
        assert said.startswith("dgltree: ") and message in said, command
        assert next(lines) == "1", command


def test_every_command_is_tried_with_a_wrong_path() -> None:
    read_no_files = {"verify", "sample", "probe"}
    assert {command.split()[0] for command in WRONG_PATHS} == {*COMMANDS} - read_no_files


PREDICT = """
import sys
from dgltree.commands.main import main

code = main(["predict", *sys.argv[1:]])
print(code, sorted({"lightning", "sklearn", "torchmetrics"} & set(sys.modules)))
"""


def test_a_network_predicts_without_what_only_trainings_and_metrics_need(tmp_path: Path) -> None:
    trees = [read_infix("x + y"), read_infix("x*y")]
    encoder = TreeEncoder(TreeLSTM(Vocabulary.from_trees(trees), 4))
    model = TreeModel(encoder, ClassifierReadout(4, 2), ["product", "sum"])
    TrainedModel(model, Reading(notation="infix")).save(tmp_path / "model")
    (tmp_path / "trees.txt").write_text("x + y\n", encoding="utf-8")
    run = [sys.executable, "-c", PREDICT, str(tmp_path / "model"), str(tmp_path / "trees.txt")]
    done = subprocess.run(run, env=HERE, capture_output=True, text=True, timeout=900)
    assert done.stdout.splitlines()[-1:] == ["0 []"], done.stderr
