"""No kernel for GPUs reads what another of its threads may have overwritten.

Several threads may hold one number: a scalar all of them, a column those of several children. One of them may write it
before another has read it, unless there is a barrier in between. Interpreted, every address that a program reads and
writes is known; compiled, the text shows which barriers the compiler has left.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
import torch
import triton_text
from engines import INTERPRETED, engines_of, gradients, triton_engine
from helpers import VOCABULARY, random_tree, suited
from rows import ROWS, make_cell

from dgltree import Tree, batch
from dgltree.encoders import ONLSTM, OrderedMemory
from dgltree.engine.contract import Fused
from dgltree.engine.kernels.dispatch import BACKENDS, TRITON, get_fused, kernels

pytest.importorskip("triton", reason="Triton is not installed")
pytestmark = [
    pytest.mark.triton,
    pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") != "1", reason="TRITON_INTERPRET=1 is not set"),
]
NAMES = ("POP", "NOOP", "NORMALIZE", "DATA_GATE", "TOP_K", "GATED")
COVERED = [name for name in ROWS if engines_of(name, INTERPRETED)]
OPTIONS = sorted({get_fused(make_cell(name)) for name in COVERED})
X = Tree("var", token="x")
WIDE = [Tree("call", [X] * width) for width in (4, 5, 12)]


class Watched:
    """The addresses that a program has read and written since its last barrier."""

    def __init__(self) -> None:
        self.read: set[int] = set()
        self.written: set[int] = set()
        self.races = self.barriers = self.reads = 0

    def load(self, addresses: set[int]) -> None:
        self.reads += 1
        self.races += bool(addresses & self.written)
        self.read |= addresses

    def store(self, addresses: set[int]) -> None:
        self.races += bool(addresses & self.read)
        self.written |= addresses

    def barrier(self) -> None:
        self.barriers += 1
        self.read, self.written = set(), set()


@pytest.fixture
def watched() -> Iterator[Watched]:
    from triton.runtime.interpreter import InterpreterBuilder as Builder

    seen = Watched()
    load, store, begin = Builder.create_masked_load, Builder.create_masked_store, Builder.set_grid_idx

    def addresses(places, mask) -> set[int]:
        return set(places.data[mask.data.astype(bool)].ravel().tolist())

    def watched_load(self, ptrs, mask, *more):
        seen.load(addresses(ptrs, mask))
        return load(self, ptrs, mask, *more)

    def watched_store(self, ptrs, value, mask, *more):
        seen.store(addresses(ptrs, mask))
        return store(self, ptrs, value, mask, *more)

    def watched_begin(self, *place):
        seen.barrier()
        return begin(self, *place)

    with (
        mock.patch.object(Builder, "create_masked_load", watched_load),
        mock.patch.object(Builder, "create_masked_store", watched_store),
        mock.patch.object(Builder, "set_grid_idx", watched_begin),
        mock.patch.object(Builder, "create_barrier", lambda self: seen.barrier()),
    ):
        yield seen


@pytest.mark.parametrize("name", COVERED)
def test_no_program_writes_what_it_has_read_since_its_last_barrier(name: str, watched: Watched) -> None:
    cell = make_cell(name)
    trees = [random_tree(2, 3, 1), *(WIDE if cell.vocabulary == VOCABULARY else [])]
    flat = batch(suited(cell, trees), cell.vocabulary)
    gradients(cell, triton_engine(cell, flat))
    assert watched.reads > 100
    assert watched.races == 0


def test_no_program_of_an_on_lstm_writes_what_it_has_read_since_its_last_barrier(watched: Watched) -> None:
    layer, x = ONLSTM(3, [6], chunk_size=2).double(), torch.randn(2, 3, 3, dtype=torch.float64)
    padding = torch.tensor([[False, True, False], [False, False, True]])
    with mock.patch.dict(BACKENDS, cpu=TRITON), kernels("on"):
        layer(x, padding).states.sum().backward()
    assert watched.reads > 100
    assert watched.races == 0


@pytest.mark.parametrize("operator", ["tree_cell", "grc"])
def test_no_program_of_an_ordered_memory_writes_what_it_has_read_since_its_last_barrier(
    operator: str, watched: Watched
) -> None:
    options = {"cell_dropout": 0.3, "attention_dropout": 0.3} if operator == "tree_cell" else {}
    memory, x = OrderedMemory(3, 18, num_slots=2, operator=operator, **options).double(), torch.randn(2, 4, 3).double()
    padding = torch.tensor([[False, True, False, True], [False, False, False, False]])
    with mock.patch.dict(BACKENDS, cpu=TRITON), kernels("on"):
        memory(x, padding).states.sum().backward()
    assert watched.reads > 100
    assert watched.races == 0


@pytest.mark.parametrize("fused", OPTIONS, ids=str)
def test_compiled_for_gpus_nothing_is_written_before_all_have_read_it(fused: Fused) -> None:
    """Three architectures and all shapes for the two kinds with the most to go wrong, some of them for the others."""
    every = fused.options in ((), (1, 1, 1, 0, 3, 0))
    options = json.dumps(dict(zip(NAMES, fused.options, strict=False)))
    command = [
        sys.executable,
        str(Path(triton_text.__file__)),
        f"triton_{fused.family}",
        options,
        "all" if every else "few",
    ]
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    shapes, architectures = triton_text.SHAPES, len(triton_text.ARCHITECTURES)
    assert len(lines) == 2 * (len(shapes) * architectures if every else len(triton_text.FEW))
    assert not [line for line in lines if line[1] == "0" or len(line) > 4]
