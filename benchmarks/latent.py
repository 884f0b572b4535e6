"""Beam Trees in training: row numbers against whole beams, and the time per word from short to long sequences."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from benchmarks.literal_beams import LiteralBeams
from benchmarks.propagate import against_operations, squared_step
from benchmarks.row import Row, Skipped, against, in_turn
from dgltree.encoders import SequenceBeamTree, SequenceEfficientBeamTree

SIZE, BEAMS, BATCH, IDS = 64, 5, 32, 20
DROPOUT = 0.1
"""As in the published trainings. Without it equal nodes of all sequences would share a row, and we would be faster."""
LENGTHS = (60, 200)
"""Of the sequences that the literal form reads, too."""
SHAPES = ((64, 40), (256, 20))
"""Sequences and words that are read with and without the kernels of beams, with noise and without dropout."""
CURVE = (50, 100, 200, 500, 1000)
CHUNKED = {"beams handed on": {}, "mean handed on": {"handed_on": "mean"}}
CHUNKS = {"chunk_size": 30, "beam_size": 7}
"""As published."""
LONG, FEW = (100, 500, 2000), 4
"""Of recursion in recursion: words, and sequences of a batch."""
CORES: dict[str, Any] = {"Beam Tree": SequenceBeamTree, "Efficient Beam Tree": SequenceEfficientBeamTree}
AIMS = {("Efficient Beam Tree", 60): 1.5, ("Efficient Beam Tree", 200): 4.0, ("Beam Tree", 60): 5.0}


def rows(device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The rows of the suite."""
    for name in CORES:
        for length in LENGTHS:
            if name == "Beam Tree" and length > 60:
                continue  # the literal form keeps too much
            yield from _against_literal(name, length, BATCH, device, min(repeats, 3))
    if device == "cpu":
        for count, length in SHAPES:
            yield from _against_operations(count, length, repeats)
    for length in CURVE:
        core, ids = _made("Efficient Beam Tree", length, BATCH, device)
        lengths = torch.full((BATCH,), length, device=device)
        step = squared_step(core, lambda core=core, ids=ids, lengths=lengths: core(ids, lengths))
        time = in_turn({"ours": step}, min(repeats, 3), device)["ours"]
        words = BATCH * length
        what = f"Efficient Beam Tree, training, {BATCH} x {length} words"
        yield Row(what, 1e6 * time.median / words, "us a word", ours_s=time.median)
    for way, options in CHUNKED.items():
        for length in LONG:
            yield from _in_chunks(way, options, length, device, min(repeats, 3))


def _against_operations(count: int, length: int, repeats: int) -> Iterator[Row]:
    core, ids = _made("Efficient Beam Tree", length, count, "cpu", noise=True, dropout=0.0, cell_dropout=0.0)
    lengths = torch.randint(length // 2, length + 1, (count,), generator=torch.Generator().manual_seed(2))
    training = squared_step(core, lambda: core(ids, lengths))
    what = f"Efficient Beam Tree, {count} x {length} words"
    yield against_operations(f"{what}, training", training, repeats, aim=1.5, least=1.3)
    core.eval()
    with torch.no_grad():
        yield against_operations(f"{what}, inference", lambda: core(ids, lengths), repeats, aim=1.5, least=1.3)


def _in_chunks(way: str, options: dict[str, Any], length: int, device: str, repeats: int) -> Iterator[Row]:
    core, ids = _made("Efficient Beam Tree", length, FEW, device, **CHUNKS, **options)
    lengths, words = torch.full((FEW,), length, device=device), FEW * length

    def forward() -> Tensor:
        return core(ids, lengths)

    time = in_turn({"ours": squared_step(core, forward)}, repeats, device)["ours"]
    what = f"Efficient Beam Tree in chunks of 30, {way}, training, {FEW} x {length} words"
    yield Row(what, 1e6 * time.median / words, "us a word", ours_s=time.median)
    yield Row(f"{what}: kept for gradients", kept_bytes(forward) / words / 1000, "kB a word", falling=True)


def _made(name: str, length: int, batch: int, device: str, **options: Any) -> tuple[Any, Tensor]:
    torch.manual_seed(0)
    given = {"beam_size": BEAMS, "noise": False, "dropout": DROPOUT, "cell_dropout": DROPOUT, **options}
    core = CORES[name](IDS, SIZE, **given).to(device)
    return core, torch.randint(3, IDS, (batch, length), generator=torch.Generator().manual_seed(1)).to(device)


def _against_literal(name: str, length: int, batch: int, device: str, repeats: int) -> Iterator[Row]:
    core, ids = _made(name, length, batch, device)
    literal, lengths = LiteralBeams(core), torch.full((batch,), length, device=device)

    def ours() -> Tensor:
        return core(ids, lengths)

    def theirs() -> Tensor:
        return literal(ids)

    steps = {"ours": squared_step(core, ours), "literal": squared_step(literal, theirs)}
    what = f"{name}, training, {batch} x {length} words"
    aim = AIMS[name, length]
    yield against(what, "literal", in_turn(steps, repeats, device), aim=aim, least=aim)
    kept = {"ours": kept_bytes(ours), "literal": kept_bytes(theirs)}
    yield Row(
        f"{what}: kept for gradients, of literal",
        kept["ours"] / kept["literal"],
        "times",
        aim=0.1,
        least=0.1,
        falling=True,
    )


def kept_bytes(forward: Callable[[], Tensor]) -> int:
    """Bytes of all storages that a forward pass keeps for its gradients."""
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        found = forward()
    del found
    return sum(kept.values())
