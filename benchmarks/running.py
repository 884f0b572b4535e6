"""Layers that read running text, in training, against torch's own LSTM and the literal form."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from benchmarks.peers import LiteralONLSTM
from benchmarks.propagate import squared_step
from benchmarks.row import Row, against, in_turn
from dgltree import Vocabulary
from dgltree.encoders import ONLSTM
from dgltree.models import LanguageModel

COLUMNS, LENGTH, SIZE, CHUNK, WORDS = 20, 70, 256, 8, 10_000
SIZES = {"on_lstm": (SIZE,) * 3, "lstm": (268, 268, SIZE)}
"""Of configurations reduced and reduced_lstm of tasks.language, which have the same number of parameters."""


def rows(device: str, repeats: int) -> Iterator[Row]:
    """One layer alone, and whole language models of the reduced size."""
    yield from _core(device, repeats)
    yield from _models(device, repeats)


def _core(device: str, repeats: int) -> Iterator[Row]:
    x = torch.randn(COLUMNS, LENGTH, SIZE, device=device)
    ours = ONLSTM(SIZE, [SIZE], chunk_size=CHUNK).to(device)
    lstm, literal = nn.LSTM(SIZE, SIZE, batch_first=True).to(device), LiteralONLSTM(ours.layers[0]).to(device)
    lengths = torch.full((COLUMNS,), LENGTH, device=device)
    steps = {
        "ours": squared_step(ours, lambda: ours(x).states),
        "torch.nn.LSTM": squared_step(lstm, lambda: lstm(x)[0]),
        "literal": squared_step(literal, lambda: literal(x, lengths)),
    }
    times = in_turn(steps, repeats, device)
    words, name = COLUMNS * LENGTH, f"ON-LSTM layer, training, {COLUMNS} x {LENGTH} words, n = {SIZE}"
    yield against(name, "literal", times, work={"words": words / times["ours"].median})
    ratio = times["ours"].median / times["torch.nn.LSTM"].median
    peers = {"torch.nn.LSTM": times["torch.nn.LSTM"].median}
    yield Row(name, ratio, "times LSTM's time", aim=1.3, least=1.5, falling=True, peers=peers)


def _models(device: str, repeats: int) -> Iterator[Row]:
    words = Vocabulary((), ["<eos>", *map(str, range(WORDS - 1))])
    ids = torch.randint(WORDS, (COLUMNS, LENGTH + 1), device=device)
    steps = {}
    for name, sizes in SIZES.items():
        options = {"chunk_size": CHUNK} if name == "on_lstm" else None
        model = LanguageModel(words, name, sizes, options).to(device)
        steps[name] = squared_step(model, lambda model=model: _loss(model, ids))
    times = in_turn(steps, min(repeats, 3), device)
    for name, time in times.items():
        what = f"language model of {name}, training, {len(SIZES[name])} layers of n = {SIZE}"
        yield Row(what, COLUMNS * LENGTH / time.median, "words a second", ours_s=time.median)


def _loss(model: LanguageModel, ids: Tensor) -> Tensor:
    logits = model.logits(model(ids[:, :-1]).states)
    return nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
