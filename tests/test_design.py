"""A cell, a notation and an encoder, added to a copy of the package by the table of docs/design.md alone."""

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


class Kind(NamedTuple):
    """A row of the table: the file to write, the registry, and the file that the registry stands in."""

    write: str
    registry: str
    where: str


def table() -> dict[str, Kind]:
    rows = re.findall(r"^\| ([\w ]+) \| (.*?) \| (.*?) \|", PAGE[PAGE.index("What to touch") :], re.MULTILINE)
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
    text, count = re.subn(rf"^({kind.registry}: .*{{)$", rf"\1\n    {entry}", text, flags=re.MULTILINE)
    assert count == 1, f"{kind.where} has no {kind.registry}"
    start = text.index("from dgltree")
    registry.write_text(f"{text[:start]}from {imported} import {made}\n{text[start:]}", encoding="utf-8")


def test_the_files_that_the_page_names_are_there() -> None:
    for path in set(re.findall(r"`((?:dgltree|tasks|tests|docs)/[\w./]+)`", PAGE)):
        place = ROOT / path.split("NAME")[0]
        assert place.exists(), path
    assert set(table()) == {"cell", "notation", "file format", "sequence encoder", "readout", "task"}


def test_a_toy_cell_notation_and_encoder_are_added_as_the_page_says(tmp_path: Path) -> None:
    pytest.importorskip("lightning", reason="the train extra is not installed")
    shutil.copytree(ROOT / "dgltree", tmp_path / "dgltree", ignore=shutil.ignore_patterns("__pycache__"))
    kinds = table()
    add(tmp_path, kinds["cell"], "toy_cell", CELL, '"toy_cell": Mean,')
    add(tmp_path, kinds["notation"], "arrows", NOTATION, '"arrows": Notation(read_arrows, "f<-x,y"),')
    add(tmp_path, kinds["sequence encoder"], "toy_encoder", ENCODER, '"toy_encoder": First,')
    lines = [f"{'f' if i % 2 else 'g'}<-w{i % 5},w{i % 3}\t{i % 2}" for i in range(80)]
    (tmp_path / "trees.tsv").write_text("\n".join(["tree\tlabel", *lines]) + "\n", encoding="utf-8")
    for encoder in ("toy_cell", "toy_encoder"):
        how = ["--encoder", encoder, "--out", encoder, "--hidden-size", "8", "--epochs", "2", "--device", "cpu"]
        assert "read as arrows" in run(tmp_path, "fit", "trees.tsv", *how)
    lines = run(tmp_path, "predict", "toy_cell", "trees.tsv").splitlines()
    assert len([line for line in lines if "\t" in line]) == 1 + 80


def run(package: Path, *arguments: str) -> str:
    """``dgltree ...`` of the package in this folder; what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(package)}
    command = [sys.executable, "-m", "dgltree", *arguments]
    done = subprocess.run(command, cwd=package, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr
