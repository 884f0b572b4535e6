"""One entry of each kind, added to a copy of the project by the table of docs/design.md alone, and used."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")

CELL = '''
import torch

from dgltree.cells.cell import Cell


class Mean(Cell):
    """h = tanh(W i + b) plus the mean of the children's h, of a leaf 0."""

    def __init__(self, vocabulary, hidden_size, **options):
        super().__init__(vocabulary, hidden_size, **options)
        self.build()

    @property
    def state(self):
        return {"h": (self.hidden_size,)}

    def gates(self, arity):
        return {"u": self.hidden_size}

    def combine(self, pre, children, linear):
        return {"h": torch.tanh(pre["u"]) + sum(children["h"]) / max(1, len(children["h"]))}
'''
NOTATION = '''
from dgltree.trees.tree import Tree


def read_arrows(text):
    """f<-x,y"""
    function, arrow, words = text.strip().partition("<-")
    if not arrow:
        raise ValueError("found no '<-'; expected function<-word,word")
    return Tree(function, [Tree("word", token=word) for word in words.split(",")])
'''
ENCODER = '''
from torch import nn

from dgltree.encoders.sequence.core import SequenceCore


class First(SequenceCore):
    """The vector of the first id."""

    def __init__(self, size, hidden_size, *, max_length=None):
        super().__init__(size, max_length, hidden_size=hidden_size)
        self.embedding = nn.Embedding(size, hidden_size)

    def encode(self, ids, lengths, *more):
        return self.embedding(ids[:, 0])
'''


FORMAT = '''
from dataclasses import dataclass

from dgltree.datasets.formats.records import LineRecords


@dataclass(kw_only=True)
class Assignments(LineRecords):
    """``label = tree``"""

    suffixes = (".assignments",)

    def fields_of(self, text):
        label, _, tree = text.partition(" = ")
        return {self.reading.label: label, self.reading.tree: tree}
'''
READOUT = '''
class SumReadout(Readout):
    """The sum of a state."""

    gives = "numbers"

    def __init__(self, size, scale=2.5):
        super().__init__()
        self.config = {"size": size, "scale": scale}
        self.line = nn.Parameter(torch.tensor([0.0, 1.0]))

    def forward(self, states):
        return self.line[0] + self.line[1] * states.sum(-1) * self.config["scale"]

    def rescale(self, mean, deviation):
        with torch.no_grad():
            self.line.mul_(deviation)[0] += mean
'''
AGGREGATION = '''
class RangeAggregation(Aggregation):
    """The largest less the smallest."""

    def forward(self, rows, group, count):
        largest, smallest = (AGGREGATIONS[name](self.size)(rows, group, count) for name in ("max", "min"))
        return {name: largest[name] - smallest[name] for name in rows}


'''
FUNCTION = """MathFunction(
        name="sinc", kind="circular", spellings=("cardinal",), definition="sin(x)/x", flint=True, at={0: 1},
        parity="even", relatives=("sin",),
    ),"""
FUNCTION_USED = """
import dgltree
from dgltree.equations.typed.latex_writer import write_latex_equation
from dgltree.read.sympy import from_sympy, to_sympy
from dgltree.equations.typed import read_typed

for text in (
    "sinc(x) x = sin(x)", r"\\operatorname{sinc}(2t) = \\frac{\\sin 2t}{2t}", "cardinal(-y) = sinc y", "sinc(0) = 1",
    "sinc(x) = cos(x)",
):
    equation = read_typed(text).equation
    assert from_sympy(to_sympy(equation)) == equation
    assert read_typed(write_latex_equation(equation)).equation == equation
    print(dgltree.verify(text).verdict.short)
for text in ("x*_ = sin(x)", "sinc(_) = sinc(x + y)", "sinc(x)*_ = sin(x)"):
    print(*(str(filler) for filler in dgltree.complete(text).fillers))
print(dgltree.check("sin(x)/x = _", "sinc(-x)").mark.value)
"""
DONE = "== done =="
USED = f"""
import contextlib
import json
import sys

import torch
import dgltree
from dgltree.commands.main import main
from dgltree.encoders import make_encoder
from dgltree.models import TreeModel
from dgltree.models.readouts import SumReadout

trees = [dgltree.read_infix("x + y")]
vocabulary = dgltree.Vocabulary.from_trees(trees)
model = TreeModel(make_encoder("tree_lstm", vocabulary, 4), SumReadout(4)).eval()
dgltree.save(model, "sums.safetensors")
flat = dgltree.batch(trees, vocabulary)
assert torch.equal(dgltree.load("sums.safetensors")(flat), model(flat))

for arguments in json.loads(sys.argv[1]):
    with contextlib.suppress(SystemExit):  # of --help
        assert main(arguments) == 0
    print("{DONE}")
"""
MAIN = """
from tasks import fit_cli
from tasks.toy.data import Sums


def main(arguments):
    fit_cli.run_task("toy", Sums, {"hidden_size": 16, "batch_size": 32, "no_baseline": True}, arguments)
"""


class Kind(NamedTuple):
    """A row of the table: the file to write, the registry, and the file that the registry stands in."""

    write: str
    registry: str
    where: str


def table() -> dict[str, Kind]:
    rows = re.findall(r"^\| ([\w ]+) \| (.*?) \| (.*?) \|", PAGE[PAGE.index("Files to change") :], re.MULTILINE)
    found = {}
    for name, write, line in rows[1:]:
        paths = re.findall(r"`((?:dgltree|tasks)/[\w./]+)`", write), re.findall(r"`([A-Z_]+)` in `([\w./]+)`", line)
        found[name] = Kind(paths[0][0], *paths[1][0])
    return found


def add(package: Path, kind: Kind, name: str, source: str, entry: str) -> None:
    """Write the new file, and its line into the registry."""
    module = kind.write.replace("NAME", name)
    (package / module).write_text(source.lstrip(), encoding="utf-8")
    registry = package / kind.where
    text = registry.read_text(encoding="utf-8")
    imported = re.sub(r"\W", ".", module.removesuffix(".py"))
    made = re.search(r"^(?:class|def) (\w+)", source, re.MULTILINE)[1]
    text = registered(text, kind, entry)
    start = text.index("from dgltree")
    registry.write_text(f"{text[:start]}from {imported} import {made}\n{text[start:]}", encoding="utf-8")


def registered(text: str, kind: Kind, entry: str) -> str:
    """The file of a registry with one more line in it."""
    text, count = re.subn(rf"^({kind.registry}\b.*?[{{(])(\n|(?=\"))", rf"\1\2    {entry}\2", text, flags=re.MULTILINE)
    assert count == 1, f"{kind.where} has no {kind.registry}"
    return text


def test_the_files_that_the_page_names_are_there() -> None:
    for path in set(re.findall(r"`((?:dgltree|tasks|tests|docs)/[\w./]+)`", PAGE)):
        place = ROOT / path.split("NAME")[0]
        assert place.exists(), path
    kinds = {"cell", "aggregation", "notation", "file format", "sequence encoder", "function", "readout", "task"}
    assert set(table()) == kinds


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with a toy cell, notation, format, encoder, readout and task, and no tests of theirs."""
    pytest.importorskip("lightning", reason="the train extra is not installed")
    folder = tmp_path_factory.mktemp("copy")
    for part in ("dgltree", "tasks", "docs"):
        ignored = shutil.ignore_patterns("__pycache__", "pictures", "*.png", "identities")
        shutil.copytree(ROOT / part, folder / part, ignore=ignored)
    (folder / "tests").mkdir()
    for name in ("helpers", "off_default", "oracle", "rows", "test_registries"):
        shutil.copy(ROOT / "tests" / f"{name}.py", folder / "tests")
    kinds = table()
    add(folder, kinds["cell"], "toy_cell", CELL, '"toy_cell": Mean,')
    add(folder, kinds["notation"], "arrows", NOTATION, '"arrows": Notation(read_arrows, "f<-x,y"),')
    add(folder, kinds["file format"], "assignments", FORMAT, "Assignments,")
    add(folder, kinds["sequence encoder"], "toy_encoder", ENCODER, '"toy_encoder": First,')
    aggregations = folder / kinds["aggregation"].write
    text = registered(aggregations.read_text(encoding="utf-8"), kinds["aggregation"], '"range": RangeAggregation,')
    start = text.index("AGGREGATIONS: ")
    aggregations.write_text(text[:start] + AGGREGATION.lstrip() + text[start:], encoding="utf-8")
    for path, more in ((kinds["readout"].write, READOUT), (kinds["readout"].where, "")):
        text = (folder / path).read_text(encoding="utf-8")
        text = registered(text, kinds["readout"], '"sum": (SumReadout, TreeModel),') if not more else text + "\n" + more
        (folder / path).write_text(text.replace(" NumberReadout,", " NumberReadout, SumReadout,"), encoding="utf-8")
    add_task(folder, kinds["task"])
    return folder


def add_task(package: Path, kind: Kind) -> None:
    """The task of docs/howto/task.md, with what ``tasks.compare`` needs."""
    classes, *_ = re.findall(r"```python\n(.*?)```", (ROOT / "docs/howto/task.md").read_text(), re.DOTALL)
    task = package / kind.write.replace("NAME", "toy").partition("/toy/")[0] / "toy"
    (task / "configs").mkdir(parents=True)
    (task / "__init__.py").touch()
    (task / "data.py").write_text(classes, encoding="utf-8")
    (task / "__main__.py").write_text(MAIN, encoding="utf-8")
    (task / "variants.py").write_text(
        'VARIANTS = {"full": ()}\nAXIS = "depth"\nLOGARITHMIC = False\n', encoding="utf-8"
    )
    (task / "configs" / "small.yaml").write_text("fit: {epochs: 2}\ndata: {count: 200}\n", encoding="utf-8")
    registry = package / kind.where
    registry.write_text(registered(registry.read_text(encoding="utf-8"), kind, '"toy",'), encoding="utf-8")


def test_a_function_takes_one_record(tmp_path: Path) -> None:
    """One file is changed, and sinc is read, printed, judged and searched for."""
    shutil.copytree(ROOT / "dgltree", tmp_path / "dgltree", ignore=shutil.ignore_patterns("__pycache__"))
    kind = table()["function"]
    assert kind.write == kind.where
    registry = tmp_path / kind.where
    registry.write_text(registered(registry.read_text(encoding="utf-8"), kind, FUNCTION), encoding="utf-8")
    (tmp_path / "use.py").write_text(FUNCTION_USED, encoding="utf-8")
    assert run(tmp_path, "use").splitlines() == [
        "holds everywhere (proved)",
        "holds everywhere but t = 0 (proved)",
        "holds everywhere (proved)",
        "holds everywhere (proved)",
        "does not hold",
        "sin(x)/x",
        "x + y -(x + y)",
        "x",
        "right",
    ]


@pytest.mark.slow
def test_toys_are_used_from_the_command(copy: Path) -> None:
    lines = [f"{i % 2} = {'f' if i % 2 else 'g'}<-w{i % 5},w{i % 3}" for i in range(80)]
    (copy / "trees.assignments").write_text("\n".join(lines) + "\n", encoding="utf-8")
    how = ["trees.assignments", "--hidden-size", "8", "--epochs", "2", "--device", "cpu"]
    fits = [["fit", *how, "--encoder", encoder, "--out", encoder] for encoder in ("toy_cell", "toy_encoder")]
    pooled = ["--encoder", "child_sum", "--options", '{"aggregation": "range", "pooling": "range"}', "--out", "pooled"]
    fits.append(["fit", *how, *pooled])
    fits.append(["fit", *how, "--task", "regress", "--readout", "sum", "--out", "sums"])
    (copy / "use.py").write_text(USED, encoding="utf-8")
    found = run(copy, "use", json.dumps([*fits, ["predict", "toy_cell", "trees.assignments"], ["predict", "--help"]]))
    first, second, pooled, third, predicted, helped, _ = found.split(DONE)
    assert "read as arrows" in first
    assert "read as arrows" in second
    assert "epoch 1: loss" in third
    assert "the model is in pooled" in pooled
    assert json.loads((copy / "sums" / "card.json").read_text())["options"]["readout"] == "sum"
    assert len([line for line in predicted.splitlines() if "\t" in line]) == 1 + 80
    assert "arrows" in helped


@pytest.mark.slow
def test_what_a_toy_lacks_is_said_with_its_place(copy: Path) -> None:
    found = run(copy, "pytest", "-q", "-p", "no:cacheprovider", "tests/test_registries.py", status=1)
    for message in (
        'add "toy_cell": {} to ROWS in tests/rows.py',
        "add a row with the aggregation 'range' to ROWS in tests/rows.py",
        'add "toy_encoder" with its options at width 12 to ENCODERS in tests/rows.py',
        "describe the notation `arrows` in docs/reading.md",
        "describe .assignments (Assignments) in the table of docs/own_trees.md",
        'add "toy_cell" with another value of each option to OTHERS in tests/off_default.py',
        'add "sum" with another value of each option to OTHERS in tests/off_default.py',
        "add tasks/toy/README.md",
    ):
        assert message in found


@pytest.mark.slow
def test_a_toy_task_is_compared(copy: Path) -> None:
    found = run(copy, "tasks.compare", "toy", "--out", "compared", "--seeds", "0", "--jobs", "1")
    assert "1 of 1 trainings are done." in found


def run(folder: Path, module: str, *arguments: str, status: int = 0) -> str:
    """``python -m`` a module of the copy in this folder; what it printed."""
    paths = os.pathsep.join([str(folder), str(folder / "tests")])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONUNBUFFERED": "1"}
    command, streams = (
        [sys.executable, "-m", module, *arguments],
        {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT},
    )
    done = subprocess.run(command, cwd=folder, env=environment, text=True, timeout=900, **streams)
    assert done.returncode == status, done.stdout
    return done.stdout
