"""Batches that do not fit: refused with figures, and the figures are those of a real pass."""

import resource
from pathlib import Path

import pytest
import torch
from torch import Tensor

from dgltree import Tree, TreeBatch, Vocabulary, batch, plan, propagate
from dgltree.cells import Cell, ChildSumTreeLSTM, DownwardTreeLSTM, StackTreeRNN, TreeLSTM, TreeSMU
from dgltree.engine import memory
from dgltree.engine import memory as available_memory
from dgltree.engine.kernels.dispatch import kernels
from dgltree.read.infix import read_infix

TREES = [read_infix(text) for text in ("sin(x)^2 + cos(x)^2", "2*x + y", "sin(2*x)*cos(y)")] * 30
VOCABULARY = Vocabulary.from_trees(TREES)


def cells() -> list[Cell]:
    return [
        TreeSMU(VOCABULARY, 6, stack_size=3, no_op=True),
        TreeLSTM(VOCABULARY, 6, input_size=4, leaf="gates", dropout=0.5),
        StackTreeRNN(VOCABULARY, 6, stack_size=3),
        ChildSumTreeLSTM(VOCABULARY, 6),
    ]


def added(cell: Cell, trees: TreeBatch) -> int:
    """Bytes of what the inputs of all nodes add to their gates."""
    if cell.input_size is None:
        return 0
    widths = {arity: cell.named_maps()[f"input_{cell.key(arity)}"].affine.fan_out for arity in (0, 1, 2)}
    return 4 * sum(widths[arity] for arity in trees.arity.tolist())


def kept_in_fact(cell: Cell, trees: TreeBatch) -> int:
    """Bytes that autograd saves inside the recursion of a pass, but for the parameters."""
    saved: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, keep), kernels("off"):
        states = propagate(trees, cell)
    for parameter in cell.parameters():
        saved.pop(parameter.untyped_storage().data_ptr(), None)
    assert states["h"].requires_grad
    return sum(saved.values())


@pytest.mark.parametrize("cell", cells(), ids=lambda cell: type(cell).__name__)
def test_the_bound_is_close_to_what_a_pass_keeps(cell: Cell) -> None:
    trees = batch(TREES, VOCABULARY)
    rows = plan(trees, cell).schedule
    states = sum(tensor.nbytes for tensor in propagate(trees, cell).values())
    forward = memory.least_bytes(cell, rows, record=False, recompute=False)
    assert memory.least_bytes(cell, rows, record=True, recompute=True) == forward + states
    kept = memory.least_bytes(cell, rows, record=True, recompute=False) - forward - states
    assert kept == memory.count_kept_bytes(cell, rows)
    inputs = forward - states - states * rows.leaves // len(rows)
    assert inputs == (0 if cell.input_size is None else trees.num_nodes * 4 * cell.input_size + added(cell, trees))
    assert kept + added(cell, trees) == pytest.approx(kept_in_fact(cell, trees), rel=0.25)


def test_looking_draws_no_random_numbers() -> None:
    cell, trees = cells()[1], batch(TREES, VOCABULARY)
    torch.manual_seed(0)
    memory.least_bytes(cell, plan(trees, cell).schedule, record=True, recompute=False)
    drawn = torch.rand(1)
    torch.manual_seed(0)
    assert torch.equal(drawn, torch.rand(1))


def test_a_batch_that_cannot_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    cell, trees = cells()[0], batch(TREES, VOCABULARY)
    monkeypatch.setattr(memory, "LARGE", 1000)
    monkeypatch.setattr(memory, "available_bytes", lambda device: 2**17)
    told = (
        r"TreeSMU needs at least 0\.0 GiB .* has only 0\.0 GiB left; use at most \d+ .*, or recompute=True .*, or share"
    )
    with pytest.raises(MemoryError, match=told), kernels("off"):
        propagate(trees, cell)
    with torch.no_grad():
        propagate(trees, cell)  # the states alone fit
    monkeypatch.setattr(memory, "available_bytes", lambda device: None)
    propagate(trees, cell)


def test_a_sweep_downwards_that_cannot_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    cell, trees = TreeLSTM(VOCABULARY, 6), batch(TREES, VOCABULARY)
    down, up = DownwardTreeLSTM.matching(cell), propagate(trees, cell)
    states = trees.num_nodes * 2 * 6 * 4  # h and c, float32
    monkeypatch.setattr(memory, "LARGE", 1000)
    monkeypatch.setattr(memory, "available_bytes", lambda device: 2 * states)
    propagate(trees, down, direction="down", up=up)
    monkeypatch.setattr(memory, "available_bytes", lambda device: states)
    with pytest.raises(MemoryError, match=r"DownwardTreeLSTM needs .* left; use at most \d+ of these nodes in a batch"):
        propagate(trees, down, direction="down", up=up)
    with torch.no_grad():
        propagate(trees, down, direction="down", up=up)


def test_nothing_large_is_made_before_a_batch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    leaves = batch([Tree("Symbol", token="x")] * 300, VOCABULARY)
    monkeypatch.setattr(memory, "LARGE", 1000)
    monkeypatch.setattr(memory, "available_bytes", lambda device: 2**10)
    for cell in (TreeLSTM(VOCABULARY, 6), TreeLSTM(VOCABULARY, 6, input_size=1, leaf="gates")):
        refuse_to_make(cell, monkeypatch)
        with pytest.raises(MemoryError, match="needs at least"), torch.no_grad():
            propagate(leaves, cell)


def refuse_to_make(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its leaves and its inputs may not be computed."""
    for name in ("leaf_states", "node_inputs"):
        monkeypatch.setattr(cell, name, lambda *_: pytest.fail("made before memory was looked at"))


MEMINFO = "MemTotal:  8 kB\nMemAvailable:   3 kB\n"
STAT = "cache 1\ntotal_inactive_file 100\ninactive_file 7\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"meminfo": MEMINFO}, 3 * 1024),
        (
            {
                "meminfo": MEMINFO,
                "cgroup": "0::/a/b\n",
                "sys/a/b/memory.max": "max\n",
                "sys/a/b/memory.current": "900\n",
                "sys/a/b/memory.stat": "inactive_file 7\n",
                "sys/a/memory.max": "2000\n",
                "sys/a/memory.current": "900\n",
                "sys/a/memory.stat": "inactive_file 7\n",
            },
            2000 - 900 + 7,
        ),
        (
            {
                "meminfo": MEMINFO,
                "cgroup": "5:devices:/x\n4:cpu,memory:/job\n0::/\n",
                "sys/memory/memory.limit_in_bytes": "9223372036854771712\n",
                "sys/memory/memory.usage_in_bytes": "1500\n",
                "sys/memory/memory.stat": STAT,
                "sys/memory/job/memory.limit_in_bytes": "1500\n",
                "sys/memory/job/memory.usage_in_bytes": "900\n",
                "sys/memory/job/memory.stat": STAT,
            },
            1500 - 900 + 100,
        ),
        ({"meminfo": MEMINFO, "cgroup": "0::/gone\n", "sys/gone/memory.max": "7\n"}, 3 * 1024),
    ],
    ids=["unknown", "no groups", "version 2, a limit around the group", "version 1", "a group that cannot be read"],
)
def test_what_is_left_is_the_least_of_system_and_groups(
    files: dict[str, str], expected: int | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name, file in (("MEMINFO", "meminfo"), ("GROUPS", "cgroup"), ("MOUNTED", "sys")):
        monkeypatch.setattr(available_memory, name, tmp_path / file)
    assert available_memory.available_bytes(torch.device("cpu")) == expected


def test_what_ulimit_refuses_is_refused_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    cell, trees = cells()[0], batch(TREES, VOCABULARY)
    monkeypatch.setattr(memory, "LARGE", 1000)
    needed = memory.least_bytes(cell, plan(trees, cell).schedule, record=False, recompute=False)
    [mapped] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmSize")]
    before = resource.getrlimit(resource.RLIMIT_AS)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (1024 * int(mapped.split()[1]) + needed // 2, before[1]))
        with pytest.raises(MemoryError, match=r"^TreeSMU needs at least .* left; use at most "), torch.no_grad():
            propagate(trees, cell)
        assert memory.available_bytes(torch.device("cpu")) <= needed // 2 + 2**16
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    with torch.no_grad():
        propagate(trees, cell)
