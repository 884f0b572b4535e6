"""Where a kernel cannot be had, one warning says what to do, and torch's operations compute."""

import os
import runpy
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from engines import assert_close
from helpers import random_tree
from own_trees import table
from rows import make_cell
from safetensors.torch import load_file

from dgltree import batch, propagate
from dgltree.engine import propagate as engine
from dgltree.engine.kernels.dispatch import BACKENDS, NUMBA, TRITON, Backend, kernels, path_kernel

pytest.importorskip("numba", reason="the fast extra is not installed")
FAULTS = [
    (
        NUMBA,
        r"Numba is not installed \(pip install numba\): .* DGLTREE_KERNELS=off",
        ModuleNotFoundError("No module named 'numba'", name="numba"),
    ),
    (
        NUMBA,
        "cannot be stored; set NUMBA_CACHE_DIR",
        RuntimeError("cannot cache function 'forward': no locator available for file 'compiled.py'"),
    ),
    (
        NUMBA,
        "set NUMBA_CACHE_DIR to a writable folder",
        PermissionError("Permission denied: '/home'"),
    ),
    (
        NUMBA,
        r"Numba cannot compile dgltree's kernels \(TypeError: no such type\)",
        TypeError("in lo:hi\nno such type"),
    ),
    (  # code on disk of another version of Numba, which another process replaces at the same time
        NUMBA,
        r"Numba cannot compile dgltree's kernels \(ModuleNotFoundError: No module named 'numba.core.types.old_scalars'",
        ModuleNotFoundError("No module named 'numba.core.types.old_scalars'", name="numba.core.types.old_scalars"),
    ),
    (
        TRITON,
        r"Triton is not installed \(pip install triton\): .* DGLTREE_KERNELS=off",
        ModuleNotFoundError("No module named 'triton'", name="triton"),
    ),
    (TRITON, "set TRITON_CACHE_DIR to a writable folder", PermissionError("Permission denied: '/home'")),
    (
        TRITON,
        r"Triton cannot compile dgltree's kernels \(RuntimeError: Failed to find C compiler. Please specify via CC",
        RuntimeError("Failed to find C compiler. Please specify via CC environment variable"),
    ),
]


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for backend in (NUMBA, TRITON):
        monkeypatch.setattr(backend, "known", {})
    monkeypatch.setattr(engine.FusedPass, "apply", lambda *_: pytest.fail("a kernel ran"))
    with kernels("on"):
        yield


@pytest.mark.parametrize(("backend", "told", "error"), FAULTS)
def test_a_fault_is_told_once_and_the_states_are_those_of_torch(
    backend: Backend, told: str, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(family: str) -> None:
        raise error

    cells = [make_cell(name) for name in ("tree_smu, no_op", "tree_lstm")]
    trees = batch([random_tree(4, 2, 1)], cells[0].vocabulary)
    with kernels("off"):
        expected = [propagate(trees, cell)["h"] for cell in cells]
    monkeypatch.setitem(BACKENDS, "cpu", backend)
    monkeypatch.setattr(backend, "load", fail)
    is_there = path_kernel if backend is NUMBA else lambda cell: None
    with pytest.warns(RuntimeWarning, match=told):
        found = [propagate(trees, cells[0])["h"]]
        assert is_there(cells[0]) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.append(propagate(trees, cells[1])["h"])
        assert is_there(cells[1]) is None
        propagate(trees, cells[0].float())
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, "h")


@pytest.mark.parametrize("name", ["tree_smu", "tree_lstm"])
def test_what_is_not_compiled_waits_where_only_compiled_code_may_run(
    name: str, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    cell = make_cell(name)
    kernel = NUMBA.load(f"{cell.fused().family} path")
    monkeypatch.setattr(kernel, "compile", lambda options, dtype, backward, compile_it: compile_it)
    with kernels("cached"):
        assert path_kernel(cell) is None
    assert not NUMBA.known, "it may be compiled later"
    assert not recwarn.list


READ_ONLY = """
from numba.core import caching

def refuse(self):
    raise PermissionError("Read-only file system")

caching._CacheLocator.ensure_cache_path = refuse
"""
MACHINES = {
    "an old CPU": ({"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": ""}, "", ""),
    "no Numba": ({}, "sys.modules['numba'] = None", "Numba is not installed"),
    "a read-only home": ({}, READ_ONLY, "set NUMBA_CACHE_DIR to a writable folder"),
}
RANKING = """
import sys, warnings
{before}
import torch
from dgltree import Ranker, Tree, Vocabulary, read_equation
from dgltree.cells import TreeLSTM
from dgltree.engine.kernels.dispatch import kernels, path_kernel
from dgltree.encoders import TreeEncoder
from dgltree.models import EquationModel, EquationReadout

x = Tree("Symbol", token="var_0")
fillers = [x, Tree("sin", (x,))]
equation = read_equation("sin(var_0) + _ = var_0")
cell = TreeLSTM(Vocabulary.from_trees([*equation, *fillers]), 5)
ranker = Ranker(EquationModel(TreeEncoder(cell), EquationReadout()), fillers)

def scores():
    [ranking] = ranker.rank([equation])
    return ranking.scores

with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    found = [scores() for _ in range(2)][1]
    print(path_kernel(cell) is not None)
with kernels("off"):
    torch.testing.assert_close(found, scores())
print(*[warning.message for warning in told if warning.category is RuntimeWarning], sep="\\n")
"""


@pytest.mark.parametrize(
    "what", [what if what == "a read-only home" else pytest.param(what, marks=pytest.mark.slow) for what in MACHINES]
)  # for an old CPU kernels are compiled
def test_a_machine_where_kernels_cannot_be_had_or_are_slower_computes_the_same(what: str, tmp_path: Path) -> None:
    environment, before, told = MACHINES[what]
    given = os.environ | {"DGLTREE_KERNELS": "on", "NUMBA_CACHE_DIR": str(tmp_path)} | environment
    command = [sys.executable, "-c", RANKING.replace("{before}", before)]
    done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=900, check=False)
    assert not done.returncode, done.stderr
    through_kernels, *warned = done.stdout.strip().splitlines()
    assert through_kernels == str(not told)
    assert len(warned) == bool(told)
    assert all(told in line and "DGLTREE_KERNELS=off" in line for line in warned)


def test_the_environment_switches_kernels_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DGLTREE_KERNELS", "off")
    cell = make_cell("tree_lstm")
    trees = batch([random_tree(4, 2, 1)], cell.vocabulary)
    propagate(trees, cell)
    monkeypatch.setenv("DGLTREE_KERNELS", "quick")
    with pytest.raises(ValueError, match="kernels is 'quick'; it must be one of on, cached, off, required"):
        propagate(trees, cell)


CALLING = """
from dgltree.engine.kernels.numba_compile import compile_kernel, tanh
@compile_kernel
def kernel(x):
    return tanh(x)
"""


def test_what_was_compiled_from_other_sources_is_not_read(tmp_path: Path, monkeypatch) -> None:
    numba = pytest.importorskip("numba", reason="Numba is not installed")
    from dgltree.engine.kernels import numba_compile
    from dgltree.engine.kernels.numba_compile import is_compiled

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    path = tmp_path / "calling.py"
    path.write_text(CALLING, encoding="utf-8")
    assert is_compiled(runpy.run_path(str(path))["kernel"], (0.5,), True)
    assert is_compiled(runpy.run_path(str(path))["kernel"], (0.5,), False)
    monkeypatch.setattr(numba_compile, "SOURCES", "those of a later version, in which tanh is another function")
    assert not is_compiled(runpy.run_path(str(path))["kernel"], (0.5,), False)


@pytest.mark.slow
def test_a_command_learns_the_same_bits_whether_it_compiles_or_reads_what_was_compiled(tmp_path: Path) -> None:
    pytest.importorskip("lightning", reason="the train extra is not installed")
    (tmp_path / "trees.tsv").write_text(table(40), encoding="utf-8")
    given = os.environ | {"DGLTREE_KERNELS": "on", "DGLTREE_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "dgltree", "fit", "trees.tsv", "--hidden-size", "3", "--epochs", "1", "--out"]
    for folder in ("first", "second"):
        done = subprocess.run([*command, folder], cwd=tmp_path, env=given, capture_output=True, text=True, timeout=900)
        assert not done.returncode, done.stderr
    first, second = (load_file(tmp_path / folder / "model.safetensors") for folder in ("first", "second"))
    assert all(torch.equal(weights, second[name]) for name, weights in first.items())


GRADIENTS = """
import hashlib
import torch
from dgltree import batch, propagate
from helpers import random_tree
from rows import make_cell
from safetensors.torch import load_file

for kind in ("tree_smu", "child_sum"):  # of a Tree-LSTM a training is compared above
    cell = make_cell(kind, hidden_size=50).float()
    trees = batch([random_tree(8, 2, seed) for seed in range(40)], cell.vocabulary)
    propagate(trees, cell)["h"].square().sum().backward()
    for name, parameter in cell.named_parameters():
        if parameter.grad is not None:
            print(kind, name, hashlib.sha256(parameter.grad.numpy().tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_the_process_that_compiles_computes_to_the_bit_what_later_ones_do(tmp_path: Path) -> None:
    pytest.importorskip("numba", reason="Numba is not installed")
    given = os.environ | {
        "DGLTREE_KERNELS": "on",
        "DGLTREE_CACHE": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-c", GRADIENTS]
    first, second = (
        subprocess.run(command, env=given, capture_output=True, text=True, timeout=900, check=True).stdout
        for _ in range(2)
    )
    assert first.splitlines() == second.splitlines() != []
