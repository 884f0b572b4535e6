"""A format that a user adds: one class, and one place in the registry."""

import io
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dgltree import Tree, TreeDataset
from dgltree.datasets import formats
from dgltree.datasets.formats.format import Bad, Example, Format
from dgltree.datasets.formats.records import LineRecords
from dgltree.datasets.formats.source import Chunk, cut_into_chunks
from dgltree.datasets.settings import Reading
from dgltree.read.infix import read_infix


@dataclass
class Parents(Format):
    """``-1 0 0``: the parents of the nodes of a tree, in preorder."""

    suffixes = (".parents",)

    @classmethod
    def begins(cls, line: str, reading: Reading) -> bool:
        return line.startswith("-1 ")

    def chunks(self) -> Iterator[Chunk]:
        return cut_into_chunks(self.source.lines(), len)

    def examples(self, chunk: Chunk) -> Iterator[Example | Bad]:
        for line, raw in enumerate(chunk.raw, chunk.first):
            try:
                parents = [int(number) for number in raw.split()]
            except ValueError as error:
                yield Bad(line, str(error))
                continue
            children: list[list[Tree]] = [[] for _ in parents]
            for node in range(len(parents) - 1, 0, -1):
                children[parents[node]].insert(0, Tree("node", children[node]))
            yield Example(line, (Tree("node", children[0]),), str(len(parents)), None, None)


@dataclass(kw_only=True)
class Assignments(LineRecords):
    """``label = tree``."""

    suffixes = (".assignments",)

    def fields_of(self, text: str) -> Mapping[str, Any]:
        label, equals, tree = text.partition(" = ")
        if not equals:
            raise ValueError("no ' = '")
        return {self.reading.label: label, self.reading.tree: tree}


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "FORMATS", (Parents, Assignments, *formats.FORMATS))


@pytest.mark.parametrize("name", ["trees.parents", "trees.txt", "-"])
def test_a_format_is_told_by_its_suffix_or_first_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"-1 0 0\n-1 0 1\n-1 x\n"
    path = name if name == "-" else tmp_path / name
    if isinstance(path, Path):
        path.write_bytes(content)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    data = TreeDataset.from_file(path, workers=0)
    leaf = Tree("node", token="node")
    assert [data[i] for i in range(2)] == [
        (Tree("node", (leaf, leaf)), "3"),
        (Tree("node", (Tree("node", (leaf,)),)), "3"),
    ]
    assert [bad.line for bad in data.bad] == [3]


def test_records_of_a_new_kind_have_every_notation_and_the_same_messages(tmp_path: Path) -> None:
    path = tmp_path / "trees.assignments"
    path.write_text("sum = x+y\nproduct = x*y\nx\nno = x+\n\n")
    for _ in range(2):  # anew, and as it was kept
        data = TreeDataset.from_file(path)
        assert data.reading.notation == "infix"
        assert [data[i] for i in range(2)] == [(read_infix("x+y"), "sum"), (read_infix("x*y"), "product")]
        assert [(bad.line, bad.message.split(": ")[0]) for bad in data.bad] == [
            (3, "no ' = '"),
            (4, "tree"),
            (5, "the line is empty"),
        ]
