"""The roads of users to their last line on a second device, which is not the CPU, although its tensors lie there."""

import pickle
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import pytest
import torch
from engines import assert_close, gradients
from helpers import VOCABULARY, random_tree, suited
from own_trees import QUIET, table
from rows import DOWNWARD, ENCODERS, ROWS, make_cell, make_downward, make_sequence_encoder
from second_device import DEVICE, Device, Elsewhere, second_device

import dgltree
from dgltree import batch, plan, propagate
from dgltree.batching import join
from dgltree.batching.moving import Movable
from dgltree.batching.subtrees import entangle, number_subtrees
from dgltree.commands.main import main
from dgltree.datasets.batches import Labelled
from dgltree.encoders import TreeEncoder
from dgltree.engine.kernels import kernel as operands
from dgltree.engine.kernels.dispatch import BACKENDS, kernels
from dgltree.engine.kernels.kernel import Gates, Sent, States
from dgltree.engine.kernels.layout import MapChunks, Tiles
from dgltree.engine.schedule import schedule

pytest.importorskip("lightning", reason="the train extra is not installed")
pytestmark = QUIET


@pytest.fixture
def device() -> Iterator[Device]:
    with second_device() as made, kernels("off"):
        yield made


def test_an_operation_that_mixes_devices_is_refused_and_a_read_is_counted(device: Device) -> None:
    there = torch.arange(4.0, device=DEVICE)
    with pytest.raises(RuntimeError, match="on the same device, but found at least two"):
        there + torch.ones(4)
    assert (there.device, (there * 2).device) == (DEVICE, DEVICE)
    assert (sum(device.reads.values()), sum(device.copies.values())) == (0, 0)
    assert there.sum().item() == 6
    assert there.tolist() == [0, 1, 2, 3]
    assert torch.nonzero(there).device == DEVICE
    assert there[there > 1].tolist() == [2, 3]
    assert sum(device.reads.values()) == 5
    there.copy_(torch.zeros(4))
    assert sum(device.copies.values()) == 1


@pytest.mark.parametrize("name", DOWNWARD)
def test_both_sweeps_elsewhere_give_the_numbers_of_the_cpu(name: str, device: Device) -> None:
    up, down = make_downward(name)
    trees = batch(suited(up, [random_tree(4, 3, seed) for seed in range(3)]), up.vocabulary)
    expected = propagate(trees, down, direction="down", up=propagate(trees, up))
    planned = plan(trees, up, share=True, downward=down).to(DEVICE)
    up, down = up.to(DEVICE), down.to(DEVICE)
    for there in (planned, trees.to(DEVICE)):
        found = propagate(there, down, direction="down", up=propagate(there, up))
        assert found["h"].device == DEVICE
        assert_close(found["h"].cpu(), expected["h"], name, 1e-12)
        found["h"].sum().backward()


@pytest.mark.parametrize("name", ROWS)
def test_a_plan_made_for_a_cell_elsewhere_moves_to_it_and_gives_the_numbers_of_the_cpu(
    name: str, device: Device
) -> None:
    cell = make_cell(name)
    trees = batch(suited(cell, [random_tree(4, 3, seed) for seed in range(3)]), cell.vocabulary)
    expected = propagate(trees, cell)
    planned = plan(trees, cell.to(DEVICE))
    assert planned.device.type == "cpu"
    with pytest.raises(ValueError, match="the batch is on cpu, but the cell is on cuda:0"):
        propagate(planned, cell)
    with pytest.raises(ValueError, match="the batch is on cpu, but the cell is on cuda:0"):
        propagate(trees, cell)
    found = propagate(planned.to(DEVICE), cell)
    for part, states in expected.items():
        assert found[part].device == DEVICE
        torch.testing.assert_close(
            found[part].cpu(), states, rtol=0, atol=1e-14, msg=part
        )  # of positions not to the bit


ENCODERS_OF_FIT = ["tree_lstm", "child_sum", "lstm", "ordered_memory"]


@pytest.mark.parametrize(
    "encoder",
    [name if name == "tree_lstm" else pytest.param(name, marks=pytest.mark.slow) for name in ENCODERS_OF_FIT],
)
def test_fit_and_what_uses_its_model_run_to_their_last_line(encoder: str, device: Device, tmp_path: Path) -> None:
    path, out, vectors = tmp_path / "trees.tsv", tmp_path / "run", tmp_path / "vectors.npy"
    path.write_text(table(40), encoding="utf-8")
    size = ["--hidden-size", "6", "--epochs", "1", "--batch-nodes", "400"]
    size += ["--options", '{"num_slots": 3}'] if encoder == "ordered_memory" else []
    assert main(["fit", str(path), "--out", str(out), "--encoder", encoder, *size]) == 0
    assert (out / "card.md").exists()
    for command in (["predict"], ["evaluate"], ["encode", "--out", str(vectors)]):
        assert main([*command[:1], str(out), str(path), "--device", "cuda", *command[1:]]) == 0
    assert np.load(vectors).shape == (40, 6)
    model = dgltree.TrainedModel.load(out, "cuda")
    assert next(model.model.parameters()).device == DEVICE
    assert model.explain(["x+y", "x*(y-z)"])[1].effects


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder_elsewhere_gives_the_numbers_of_the_cpu(name: str, device: Device) -> None:
    drawn = [random_tree(2, 2, seed) for seed in range(2)]
    encoder = make_sequence_encoder(name, dgltree.Vocabulary.from_trees(drawn)).double().eval()
    trees = batch(drawn, encoder.vocabulary)
    with torch.no_grad():
        expected = encoder(trees)
        found = encoder.to(DEVICE)(trees.to(DEVICE))
    assert found.device == DEVICE
    torch.testing.assert_close(found.cpu(), expected, rtol=0, atol=1e-12)


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """All tensors of an object, of what it holds, and so on."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from tensors_in(each)
    elif is_dataclass(value):
        yield from tensors_in([getattr(value, each.name) for each in fields(value)])


MADE: dict[str, Callable[[dgltree.TreeBatch], Any]] = {
    "one tree": lambda there: there[1],
    "trees in another order": lambda there: there[[2, 0]],
    "a range of trees": lambda there: there[1:],
    "duplicate subtrees": number_subtrees,
    "joined subtrees": entangle,
    "all in one batch again": lambda there: join([there[0], there[1:]]),
    "a schedule": schedule,
    "a schedule of distinct nodes": lambda there: schedule(there, share=True),
    "a schedule of levels": lambda there: schedule(there, by_arity=False),
    "a plan": lambda there: plan(there, share=True),
}


@pytest.mark.parametrize("name", MADE)
def test_all_that_is_made_of_a_batch_lies_where_the_batch_does(name: str, device: Device) -> None:
    there = batch([random_tree(3, 3, seed) for seed in range(3)], VOCABULARY).to(DEVICE)
    found = [*tensors_in(MADE[name](there))]
    assert len(found) > 3 and {each.device for each in found} == {DEVICE}


@pytest.mark.parametrize("name", ["tree_smu", "child_sum", "tree_lstm, leaf gates"])
def test_labelled_trees_and_their_plan_travel_by_one_copy(name: str, device: Device) -> None:
    cell = make_cell(name)
    flat = number_subtrees(batch(suited(cell, [random_tree(6, 3, seed) for seed in range(4)]), cell.vocabulary))
    data = Labelled(flat, torch.arange(4), torch.zeros(4), baseline=torch.rand(4, 3))
    given = data.plan(TreeEncoder(cell.to(DEVICE)), share=True)
    for labelled in (given, pickle.loads(pickle.dumps(given))):
        device.copies.clear()
        moved = labelled.to(DEVICE)
        assert sum(device.copies.values()) == 1
        assert moved.to(DEVICE) is moved
        assert moved.groups.device.type == "cpu"
        for before, after in zip(tensors_of(labelled), tensors_of(moved), strict=True):
            assert (after.device, after.dtype) == (DEVICE, before.dtype)
            assert torch.equal(after.cpu(), before)
        assert moved.trees.subtree is not None
    assert sum(device.reads.values()) == len(tensors_of(given)) * 2


def test_pinned_memory_is_one_piece_and_moves_as_it_is(device: Device) -> None:
    cell = make_cell("tree_smu")
    planned = plan(batch([random_tree(5, 3, 1)], cell.vocabulary), cell).pin_memory()
    tensors = tensors_of(planned)
    assert all(tensor.is_pinned() for tensor in tensors)
    assert len({tensor.untyped_storage().data_ptr() for tensor in tensors}) == 1
    moved = planned.to(DEVICE, non_blocking=True)
    assert sum(device.copies.values()) == 0, "the copy of pinned memory is waited for"
    assert torch.equal(moved.schedule.row.cpu(), planned.schedule.row)


def test_trees_stay_behind_where_their_sequences_travel(device: Device) -> None:
    encoder = make_sequence_encoder("lstm", VOCABULARY).to(DEVICE)
    flat = batch([random_tree(4, 3, seed) for seed in range(3)], VOCABULARY)
    device.copies.clear()
    moved = Labelled(flat, torch.arange(3), torch.zeros(3)).plan(encoder, share=False).to(DEVICE)
    assert sum(device.copies.values()) == 1
    assert moved.trees is flat
    assert encoder(moved.inputs).device == DEVICE


def test_an_x_that_requires_gradients_gets_them_from_the_device(device: Device) -> None:
    cell = make_cell("tree_lstm, leaf gates")
    flat = batch([random_tree(4, 3, seed) for seed in range(3)], cell.vocabulary)
    x = torch.randn(flat.num_nodes, 3, dtype=torch.float64, requires_grad=True)
    flat = replace(flat, x=x)
    moved = plan(flat, cell).to(DEVICE)
    propagate(moved, cell.to(DEVICE))["h"].sum().backward()
    assert x.grad is not None
    assert x.grad.device.type == "cpu"
    assert x.grad.abs().sum() > 0


def tensors_of(value: Movable) -> list[torch.Tensor]:
    """All that is moved."""
    found: list[torch.Tensor] = []

    def collect(tensor: torch.Tensor) -> torch.Tensor:
        found.append(tensor)
        return tensor

    value.map(collect)
    return found


class Placed:
    """A kernel of the second device, which looks where its tensors are and computes nothing: Triton's are compared,
    interpreted, in ``tests/engine/test_triton.py``."""

    made: ClassVar[list[tuple[int, ...]]] = []

    def __init__(
        self, options: tuple[int, ...], states: States, tiles: Tiles, mask: torch.Tensor, keep: bool, precision: str
    ) -> None:
        assert type(tiles.steps[0]) is int, "which the host reads"
        look((tiles.rows, tiles.tiles, tiles.chunks, tiles.firsts, tiles.edges, mask))
        self.made.append(options)
        self._states = look(states)

    def forward(self, start: int, stop: int, first: int, last: int, gates: Gates) -> None:
        h, memory, base, _ = self._states
        look(gates).pre.zero_()
        h[start:stop] = 1
        memory[start - base : stop - base] = 1

    def start_backward(self, sent: Sent) -> None:
        look(sent).edge_h.zero_()

    def backward(self, start: int, stop: int, first: int, last: int, gates: Gates) -> None:
        look(gates).pre.fill_(1)

    def leaves(self, d_h: torch.Tensor, d_memory: torch.Tensor) -> None:
        for gradient in look((d_h, d_memory)):
            gradient.zero_()

    def gradients(self, chunks: MapChunks, gates: Gates) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.ones_like(gates.weight), torch.ones_like(gates.bias)


Given = TypeVar("Given", bound=tuple[Any, ...])


def look(given: Given) -> Given:
    """The same, after a look at where the tensors are."""
    assert all(isinstance(each, Elsewhere) for each in given if isinstance(each, torch.Tensor))
    return given


class Kernels:
    """A backend for the second device."""

    package, by_shape = "Triton", False
    families: ClassVar = {"stack": "", "lstm": ""}

    def kernel(self, *_: Any) -> Any:
        return Placed


@pytest.mark.parametrize("name", ["tree_smu, no_op", "tree_lstm", "tree_lstm, leaf gates", "tree_smu, leaf gates"])
def test_a_pass_through_kernels_stays_on_the_device(name: str, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKENDS, "cuda", Kernels())
    monkeypatch.setattr(operands, "TENSOR_TYPES", (*operands.TENSOR_TYPES, Elsewhere))
    cell = make_cell(name)
    trees = batch(suited(cell, [random_tree(6, 3, seed) for seed in range(5)]), cell.vocabulary)
    planned = plan(trees, cell.to(DEVICE)).to(DEVICE)
    device.reads.clear()
    Placed.made.clear()
    with kernels("on"):
        found = propagate(planned, cell)
        given = gradients(cell, found)
    assert Placed.made
    assert not device.reads
    assert all(isinstance(tensor, Elsewhere) for tensor in (found | given).values())
    assert float(given["maps.gates_2.weight"].abs().sum()) > 0


@pytest.mark.parametrize("name", ROWS)
def test_a_planned_pass_reads_no_value(name: str) -> None:
    """On "meta" there are none, whatever asks."""
    cell = make_cell(name)
    trees = batch(suited(cell, [random_tree(4, 3, seed) for seed in range(2)]), cell.vocabulary)
    planned = plan(trees, cell.to("meta")).to("meta")
    with kernels("off"):
        states = propagate(planned, cell)
        states["h"].sum().backward()
    assert {part: tuple(rows.shape[1:]) for part, rows in states.items()} == cell.state
