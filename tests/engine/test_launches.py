"""Launches of a pass on a GPU, as numbers that may only fall, and by which code; counted without one.

``benchmarks/no_device.py`` has the device; ``scripts/bench --suite launches`` says what the processor needs for them.
"""

import os
import pickle
import random
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
import torch
from helpers import VOCABULARY, random_tree, suited
from rows import make_cell
from torch import Tensor

from dgltree import Tree, Vocabulary, batch, plan, root_states
from dgltree.cells import Cell, TreeLSTM, TreeSMU
from dgltree.encoders import ONLSTM, OrderedMemory
from dgltree.engine.kernels.dispatch import BACKENDS, NUMBA
from dgltree.engine.kernels.layout import (
    EDGE,
    KEY,
    MATRIX,
    MIN_CHUNK_ROWS,
    SLOT,
    START,
    STOP,
    TILE_ROWS,
    Map,
    make_tiles,
)
from dgltree.engine.planned import PlannedBatch

pytest.importorskip("triton", reason="Triton is not installed")
if os.environ.get("TRITON_INTERPRET") == "1":
    pytest.skip("TRITON_INTERPRET is set: nothing would be launched", allow_module_level=True)

from benchmarks.no_device import Code, no_device
from benchmarks.operations import Operations
from benchmarks.propagate import training_step
from dgltree.engine.kernels import triton_launch
from dgltree.engine.kernels.triton_products import products

A_STEP, OF_A_MAP, OF_LEAVES = 4, 2, 1
"""Launches of kernels."""
OF_TORCH = 29
"""Operations of a training step: embedding, roots, loss, sums of gradients, the optimizer."""
OF_A_LAYER = 71
"""Operations of a layer over sequences, however many words there are."""
MOST = 105
"""Of a training step of 1,024 equations."""


@pytest.fixture
def launches() -> Iterator[Any]:
    with no_device() as counter:
        yield counter


def count(cell: Cell, planned: PlannedBatch, launches: Any) -> tuple[int, int]:
    """Launches of kernels, and of torch's operations, of a training step."""
    step = training_step(cell, lambda: root_states(planned, cell))
    step()  # makes the optimizer's state
    launches.clear()
    with Operations() as operations:
        step()
    return launches.total(), operations.launches.total()


@pytest.mark.parametrize("kind", [TreeSMU, TreeLSTM])
def test_a_training_step_of_1024_equations_launches_no_more(kind: type[Cell], launches: Any) -> None:
    pytest.importorskip("sympy", reason="SymPy is not installed")
    from tasks.equations.generator.generate import generate
    from tasks.equations.generator.presets import PAPER_TRAIN

    sides = [side for made in generate(PAPER_TRAIN.scaled(1024).quotas(), seed=0) for side in made.equation]
    assert len(sides) == 2048
    cell = kind(Vocabulary.from_trees(sides), 50).to("meta")
    planned = plan(batch(sides, cell.vocabulary), cell).to("meta")
    kernels, operations = count(cell, planned, launches)
    assert kernels == A_STEP * len(planned.schedule.steps) + 2 * OF_A_MAP + OF_LEAVES
    assert operations == OF_TORCH
    assert kernels + operations <= MOST


@pytest.mark.parametrize("name", ["tree_smu, no_op", "tree_lstm", "stack_tree_lstm, data gate, gated top_k"])
def test_launches_grow_with_steps_and_arities_and_nothing_else(name: str, launches: Any) -> None:
    cell = make_cell(name).to("meta")
    for trees in ([random_tree(3, 3, 0)] * 2, [random_tree(1 + seed % 6, 3, seed) for seed in range(400)]):
        planned = plan(batch(trees, cell.vocabulary), cell).to("meta")
        arities = {step.arity for step in planned.schedule.steps}
        steps = len(planned.schedule.steps)
        kernels, operations = count(cell, planned, launches)
        assert kernels == A_STEP * steps + OF_A_MAP * len(arities) + OF_LEAVES
        assert operations <= OF_TORCH


def test_leaves_with_gates_are_a_step_of_one_launch_each_way(launches: Any) -> None:
    cell = make_cell("tree_lstm, leaf gates")
    planned = plan(batch(suited(cell, [random_tree(3, 2, 0)] * 2), cell.vocabulary), cell)
    root_states(planned, cell).sum().backward()
    steps = len(planned.schedule.steps)
    assert launches["products"] == launches["sends"] == steps
    assert launches["forward"] == launches["backward"] == steps + 1
    assert not launches["leaves"]


def test_what_wants_no_gradient_gets_no_launch(launches: Any) -> None:
    cell = make_cell("tree_lstm")
    planned = plan(batch([Tree("add", [Tree("neg", [random_tree(2, 2, 0)])] * 2)], VOCABULARY), cell)
    cell.maps["gates_2"].requires_grad_(False)
    root_states(planned, cell).sum().backward()
    assert launches["sums"] == launches["add_up"] == 1
    launches.clear()
    with torch.no_grad():
        root_states(planned, cell)
    assert set(launches) == {"products", "forward"}


def test_a_second_pass_makes_no_tables(launches: Any) -> None:
    cell = make_cell("tree_lstm").to("meta")
    planned = plan(batch([random_tree(4, 3, 0)], VOCABULARY), cell).to("meta")
    assert planned.layout is not None
    tiles = planned.layout.tiles
    assert tiles is not None, "the batch was planned for a cell on a GPU"
    assert tiles.tiles.device.type == "meta"
    root_states(planned, cell)
    assert planned.layout.tiles is tiles


def test_a_plan_for_a_cpu_gets_its_tables_at_its_first_pass_on_a_gpu(launches: Any) -> None:
    cell = make_cell("tree_lstm")
    with mock.patch.dict(BACKENDS, cpu=NUMBA):
        made = plan(batch([random_tree(4, 3, 0)], VOCABULARY), cell)
    assert made.layout is not None
    assert made.layout.tiles is None
    moved = made.to("meta")
    for _ in range(2):
        root_states(moved, cell.to("meta"))
    assert moved.layout is not None
    assert moved.layout.tiles is not None
    assert moved.layout.tiles.rows.device.type == "meta"


@pytest.mark.parametrize("setting", ["highest", "high", "medium"])
def test_products_are_as_precise_as_torch_is_set_to(
    setting: str, launches: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(setting)
    try:
        for dtype in (torch.float32, torch.float64):
            monkeypatch.setattr(triton_launch, "HANDLES", {})
            cell = make_cell("tree_lstm").to(dtype)
            root_states(batch([random_tree(2, 2, 0)], VOCABULARY), cell).sum().backward()
            used = {
                part[1]
                for key in triton_launch.HANDLES
                for part in key
                if isinstance(part, tuple) and part[:1] == ("PRECISION",)
            }
            assert used == {"ieee" if setting == "highest" or dtype == torch.float64 else "tf32"}
    finally:
        torch.set_float32_matmul_precision(before)


ON_LSTM_WORD = {"kernels": 2, "operations": 2}
"""Launches for a word in training: a product of torch and a kernel, each way; 58 operations without kernels."""


def sequence_step(layer: torch.nn.Module, words: int, launches: Any) -> tuple[int, int]:
    """Launches of kernels and of torch's operations, forward and backward, of sequences with padding anywhere."""
    x = torch.zeros(3, words, 5, requires_grad=True)
    padding = torch.zeros(3, words, dtype=torch.bool)
    padding[0, 2], padding[1, -2:] = True, True
    layer.zero_grad()
    launches.clear()
    with Operations() as operations:
        steps = layer(x, padding)
        (steps.root.sum() + steps.states.sum()).backward()
    return launches.total(), operations.launches.total()


def test_a_word_of_an_on_lstm_launches_no_more(launches: Any) -> None:
    layer = ONLSTM(5, [6], chunk_size=2)
    few, many = (sequence_step(layer, words, launches) for words in (10, 50))
    assert few[0] == 10 * ON_LSTM_WORD["kernels"]
    assert (many[0] - few[0], many[1] - few[1]) == tuple(40 * each for each in ON_LSTM_WORD.values())
    assert few[1] - 10 * ON_LSTM_WORD["operations"] == OF_A_LAYER


MEMORY_WORD = {"kernels": 4, "operations": 4}
"""The same of Ordered Memory, however many slots there are: two products and two kernels each way; 555 operations
without kernels, for 12 slots."""
MASKED_WORD = {"bernoulli_": 5, "div_": 5, "mul": 5, "new_ones": 2, "clone": 2}
"""More with dropout; of the first three a GPU makes one operation."""
OF_A_MEMORY = 111
"""Operations of a whole memory, next to those of its words: torch 2.13 needs 109, and torch 2.15 two more."""


@pytest.mark.parametrize("options", [{}, {"operator": "grc", "attention": "paper", "allowed_maximum": True}])
@pytest.mark.parametrize("num_slots", [1, 12])
def test_a_word_of_an_ordered_memory_launches_no_more(num_slots: int, options: dict[str, Any], launches: Any) -> None:
    memory = OrderedMemory(5, 6, num_slots=num_slots, **options)
    few, many = (sequence_step(memory, words, launches) for words in (20, 60))
    assert few[0] == 19 * MEMORY_WORD["kernels"]
    assert (many[0] - few[0], many[1] - few[1]) == tuple(40 * each for each in MEMORY_WORD.values())
    assert few[1] - 19 * MEMORY_WORD["operations"] <= OF_A_MEMORY


def test_sequences_of_1_and_5000_words_in_one_batch_launch_no_more_a_word(launches: Any) -> None:
    padding = torch.arange(5000) >= torch.tensor([[1], [5000]])
    for network, words in ((ONLSTM(5, [6], chunk_size=2), 5000), (OrderedMemory(5, 6, num_slots=12), 4999)):
        launches.clear()
        network(torch.zeros(2, 5000, 5), padding).root.sum().backward()
        assert launches.total() == words * (2 if words == 5000 else 4)


def test_dropout_of_an_ordered_memory_draws_the_masks_of_all_slots_at_once(launches: Any) -> None:
    memory = OrderedMemory(5, 6, num_slots=12, cell_dropout=0.1, attention_dropout=0.1)
    few, many = (sequence_step(memory, words, launches) for words in (20, 60))
    assert many[0] - few[0] == 40 * MEMORY_WORD["kernels"]
    views = 2  # "_unsafe_view"
    assert many[1] - few[1] == 40 * (MEMORY_WORD["operations"] + sum(MASKED_WORD.values()) + views)


def misaligned(tensor: Tensor) -> Tensor:
    """The same numbers at no multiple of 16 bytes."""
    made = torch.cat([tensor.new_zeros(1), tensor.detach().flatten()])[1:].view_as(tensor)
    assert made.data_ptr() % 16
    return made


def code_of(cell: Cell, planned: PlannedBatch, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Code, tuple[Any, ...]]]:
    """What launched the products, and with what."""
    calls: list[tuple[Code, tuple[Any, ...]]] = []
    monkeypatch.setattr(Code, "run", lambda self, *given: calls.append((self, given)))
    root_states(planned, cell)
    return [(code, given) for code, given in calls if code.name == "products"]


def test_code_that_was_compiled_for_aligned_weights_does_not_run_others(
    launches: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triton_launch, "HANDLES", {})
    cell = make_cell("tree_lstm", hidden_size=16)
    planned = plan(batch([Tree("neg", [random_tree(0, 2, 0)])], VOCABULARY), cell)
    place = (products.arg_names.index("weight"),)
    weight = cell.maps["gates_1"].weight
    for values, aligned in ((weight, True), (misaligned(weight), False), (weight, True)):
        cell.maps["gates_1"].weight = torch.nn.Parameter(values)
        [(code, given)] = code_of(cell, planned, monkeypatch)
        assert bool(code.attributes[place]) == aligned
        assert any(each is values or getattr(each, "data_ptr", int)() == values.data_ptr() for each in given)
    assert len(triton_launch.HANDLES) == 3  # one for rows


@pytest.mark.parametrize("size", [1, 9, 16])
def test_a_kept_handle_launches_what_a_look_up_would(size: int, launches: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = make_cell("tree_smu, no_op", hidden_size=size)
    planned = plan(batch([random_tree(3, 3, 0)], VOCABULARY), cell)
    calls: list[list[Any]] = []
    monkeypatch.setattr(Code, "run", lambda self, *given: calls[-1].append((self, given[:3], plain(given[9:]))))
    monkeypatch.setattr(triton_launch, "HANDLES", {})
    for _ in range(2):
        calls.append([])
        root_states(planned, cell).sum().backward()
    looked_up, kept = calls
    assert kept == looked_up
    assert len(kept) > 15


def plain(arguments: Any) -> list[Any]:
    """Of tensors, which are other ones in each pass, the shapes and dtypes."""
    return [(each.shape, each.dtype) if isinstance(each, Tensor) else each for each in arguments]


def test_multiplications_and_additions_are_fused_whatever_triton_does_by_default(
    launches: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[dict[str, Any]] = []
    run = products.run
    monkeypatch.setattr(products, "run", lambda *args, **options: given.append(options) or run(*args, **options))
    monkeypatch.setattr(triton_launch, "HANDLES", {})
    cell = make_cell("tree_lstm")
    root_states(batch([random_tree(1, 2, 0)], VOCABULARY), cell)
    assert [options["enable_fp_fusion"] for options in given] == [True]


@pytest.mark.parametrize("seed", range(12))
def test_tables_say_where_every_row_of_a_plan_is(seed: int) -> None:
    """Against what the runs say, row by row."""
    rng = random.Random(seed)
    cell = make_cell(rng.choice(["tree_lstm", "tree_lstm, shared weights", "tree_lstm, leaf gates"]))
    trees = [random_tree(rng.randrange(1, 6), 3, rng.random()) for _ in range(rng.choice([1, 30, 400]))]
    planned = plan(batch(suited(cell, trees), cell.vocabulary), cell)
    made = planned.layout
    assert made is not None
    arities = [key or 0 for key in made.rows]
    expected = {
        row: (slot + row - start, matrix, edge + (row - start) * arities[key], key)
        for start, stop, slot, matrix, edge, key in made.table.tolist()
        for row in range(start, stop)
    }
    tiles = pickle.loads(pickle.dumps(made.with_tiles()))
    first = min(expected)
    assert [tuple(row) for row in tiles.rows.tolist()] == [expected[first + k][:3] for k in range(len(expected))]
    seen = []
    for row, count, slot, matrix, edge in tiles.tiles.tolist():
        assert 0 < count <= TILE_ROWS
        assert expected[row] == (slot, matrix, edge, expected[row][3])
        assert {expected[row + k][1] for k in range(count)} == {matrix}
        assert [expected[row + k][0] - slot for k in range(count)] == list(range(count))
        seen += range(row, row + count)
    assert seen == sorted(expected)
    starts = [int(made.table[step, START]) for step in made.steps[:-1]]
    assert [int(tiles.tiles[tile, 0]) for tile in tiles.steps[:-1]] == starts
    for key, each in enumerate(tiles.maps):
        slots = {slot: (matrix, edge) for slot, matrix, edge, number in expected.values() if number == key}
        firsts = tiles.firsts[each.matrix :].tolist()
        for matrix in range(max(made.matrices[list(made.rows)[key]].values()) + 1):
            chunks = tiles.chunks[each.first + firsts[matrix] : each.first + firsts[matrix + 1]].tolist()
            covered = [slot for start, rows in chunks for slot in range(start, start + rows)]
            assert covered == [slot for slot in sorted(slots) if slots[slot][0] == matrix]
            assert all(int(tiles.edges[each.slot + slot]) == slots[slot][1] for slot in covered)


def test_many_rows_are_few_chunks() -> None:
    """Each needs room for the gradient of a matrix."""
    table = torch.zeros(4000, 6, dtype=torch.int64)
    table[:, START] = torch.arange(4000) * 256
    table[:, STOP], table[:, SLOT], table[:, EDGE] = table[:, START] + 256, table[:, START], 2 * table[:, START]
    table[2500:, MATRIX], table[:, KEY] = 1, 0
    tiles = make_tiles(table.numpy(), [0, 4000], [Map(2, 3, 1_024_000)])
    assert tiles.chunks[:, 1].sum() == 1_024_000
    assert tiles.chunks[:, 1].max() > MIN_CHUNK_ROWS
    assert len(tiles.chunks) <= 64 + 3
    assert tiles.firsts.tolist()[-1] == tiles.firsts.tolist()[-2] == len(tiles.chunks), "the third has no rows"
