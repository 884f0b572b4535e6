"""Encoders of sequences over formulas of logic, in training and in inference."""

import copy
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from benchmarks import running
from benchmarks.inputs import formulas
from benchmarks.peers import LiteralONLSTM, LiteralOrderedMemory, sequence_lstm
from benchmarks.propagate import against_operations, squared_step
from benchmarks.row import Row, Skipped, against, in_turn
from dgltree import batch
from dgltree.encoders import Sequences, make_encoder
from dgltree.ranking.pretrained import logic_model
from tasks.logic.language import VOCABULARY

COUNT, SIZE, SLOTS = 256, 64, 12


def rows(device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The rows of the suite."""
    torch.manual_seed(0)
    options = {"ordered_memory": {"num_slots": SLOTS}, "on_lstm": {"chunk_size": 4}}
    encoders = {name: make_encoder(name, VOCABULARY, SIZE, order="unlabelled", **of) for name, of in options.items()}
    found = encoders["on_lstm"].plan(batch(formulas(COUNT), VOCABULARY), share=False).to(device)
    cores = {name: encoder.core.to(device) for name, encoder in encoders.items()}
    yield from _rates(cores, found, device, repeats)
    yield _literal(cores["on_lstm"], found, device, repeats)
    yield from _memory(found, device, repeats)
    if device == "cpu":
        yield from _slots(repeats)
    yield from running.rows(device, repeats)


def _rates(cores: dict[str, nn.Module], found: Sequences, device: str, repeats: int) -> Iterator[Row]:
    ids, lengths = found.ids, found.lengths
    embedding = nn.Embedding(int(ids.max()) + 1, SIZE).to(device)
    lstm = nn.LSTM(SIZE, SIZE, batch_first=True).to(device)
    on_cpu = lengths.cpu()
    steps = {name: squared_step(core, lambda core=core: core(ids, lengths)) for name, core in cores.items()}
    steps["torch.nn.LSTM"] = squared_step(
        nn.ModuleList([embedding, lstm]), lambda: sequence_lstm(embedding, lstm, ids, on_cpu)
    )
    times = in_turn(steps, repeats, device)
    for name, time in times.items():
        what = f"{name}, training, {COUNT} formulas, n = {SIZE}" + (f", {SLOTS} slots" if "memory" in name else "")
        yield Row(what, COUNT / time.median, "sequences a second", ours_s=time.median)


def _literal(core: nn.Module, found: Sequences, device: str, repeats: int) -> Row:
    ids, lengths = found.ids, found.lengths
    literal = LiteralONLSTM(core.lstm.layers[0]).to(device)
    embedding = copy.deepcopy(core.embedding)
    steps = {
        "ours": squared_step(core, lambda: core(ids, lengths)),
        "literal": squared_step(nn.ModuleList([embedding, literal]), lambda: literal(embedding(ids), lengths)),
    }
    times = in_turn(steps, repeats, device)
    return against("ON-LSTM, training", "literal", times, aim=2, least=1.3)


def _memory(found: Sequences, device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The shipped weights against the literal form, in inference and in a training step."""
    core = copy.deepcopy(logic_model().encoder.core).to(device)
    memory, ids, lengths = core.memories[0], found.ids, found.lengths
    literal = LiteralOrderedMemory(copy.deepcopy(memory), core.num_evaluation_slots).to(device)

    def ours() -> Tensor:
        return core(ids, lengths)

    def theirs() -> Tensor:
        return literal(core.embedding(ids), lengths)

    name = f"Ordered Memory, shipped weights, {core.num_evaluation_slots} slots"
    with torch.no_grad():
        share = core.steps(ids, lengths)[0].share
        times = in_turn({"ours": ours, "literal": theirs}, repeats, device)
    yield against(f"{name}, inference ({share:.0%} of cells)", "literal", times, aim=4, least=2)
    steps = {
        "ours": squared_step(core, ours),
        "literal": squared_step(nn.ModuleList([core.embedding, literal]), theirs),
    }
    yield against(f"{name}, training", "literal", in_turn(steps, min(repeats, 3), device))


def _slots(repeats: int) -> Iterator[Row]:
    """A training step of Ordered Memory with and without its kernel; small batches gain most."""
    for count, size in ((32, SIZE), (COUNT, SIZE)):
        encoder = make_encoder("ordered_memory", VOCABULARY, size, order="unlabelled", num_slots=SLOTS)
        read, core = encoder.plan(batch(formulas(count), VOCABULARY), share=False), encoder.core
        step = squared_step(core, lambda core=core, read=read: core(read.ids, read.lengths))
        name = f"Ordered Memory, training, {count} formulas, n = {size}, {SLOTS} slots"
        yield against_operations(name, step, repeats)
