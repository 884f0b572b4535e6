"""Published names: each row of the table in docs/networks.md is, with its options, its literal form."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from beam_oracle import u
from crvnn_oracle import crvnn_batch
from helpers import VOCABULARY, random_tree
from latent_equations import words
from latent_oracle import read
from oracle import recursion
from ordered_memory_oracle import transcribed
from recurrent_grc_oracle import literal
from torch import Tensor

from dgltree import batch, propagate
from dgltree.cells import CELLS
from dgltree.encoders import SEQUENCE_ENCODERS, SequenceOrderedMemory, SequenceRecurrentGRC
from dgltree.encoders.latent import beams, gumbel_tree
from dgltree.encoders.latent import beams as compiled_beams
from dgltree.encoders.latent.beams_of_chunks import Draws

PAGE = Path(__file__).parents[2] / "docs" / "networks.md"
IDS = torch.tensor([[5, 3, 7, 4, 6], [4, 4, 7, 0, 0]])
LENGTHS = [5, 3]


class Row(NamedTuple):
    name: str
    encoder: str
    options: dict[str, Any]


def table() -> list[Row]:
    if not PAGE.exists():
        return []
    lines = PAGE.read_text("utf-8").partition("## Published names")[2].splitlines()
    cells = [re.split(r" \| ", line.strip("| ")) for line in lines if line.startswith("| ") and "`" in line]
    return [
        Row(f"{name}, {of}", encoder.strip("`"), json.loads(given.strip("`"))) for name, of, encoder, given in cells
    ]


ROWS = table()


def made(row: Row) -> Any:
    torch.manual_seed(3)
    small = {"chunk_size": 3, "noise": False} if "chunk_size" in row.options else {}  # noise is of all chunks at once
    core = SEQUENCE_ENCODERS[row.encoder](8, 6, **{**row.options, **small}).double()
    with torch.no_grad():
        for parameter in core.parameters():
            parameter.mul_(1.5)
    return core


def told(core: Any, training: bool, drawn: list[Tensor]) -> Tensor:
    """By the equations; a network that draws reads one sentence."""
    ids = [row[:length] for row, length in zip(IDS.tolist(), LENGTHS, strict=True)]
    if isinstance(core, SequenceOrderedMemory):
        [memory], slots = core.memories, core.config["num_slots"]
        return torch.stack([transcribed(memory, list(core.embedding.weight[row]), slots).root for row in ids])
    if isinstance(core, SequenceRecurrentGRC):
        return torch.stack([literal(core, row, IDS.shape[1]) for row in ids])
    if core.config.get("batch_maximum"):
        return torch.stack([each.root for each in crvnn_batch(core, [words(core, row) for row in ids])])
    noise = iter(drawn) if drawn else None
    return torch.stack([read(core, row, training, noise).root for row in (ids[:1] if drawn else ids)])


def gradient(core: Any, root: Tensor) -> Tensor:
    core.zero_grad()
    (root * torch.arange(1, root.numel() + 1, dtype=root.dtype).view_as(root).cos()).sum().backward()
    return torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in core.parameters()])


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("row", [r for r in ROWS if r.encoder in SEQUENCE_ENCODERS], ids=lambda row: row.name)
def test_a_published_network_is_its_equations(row: Row, training: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Tensor] = []

    def fixed(like: Tensor) -> Tensor:
        drawn.append(3 * torch.randn(like.shape, dtype=like.dtype, generator=torch.Generator().manual_seed(len(drawn))))
        return drawn[-1]

    def u_of(self: Draws, level: int, number: Tensor, count: int) -> Tensor:
        return torch.tensor([[u(level, chunk, b) for b in range(count)] for chunk in number.tolist()]).double()

    monkeypatch.setattr(Draws, "of", u_of)
    for module in (beams, compiled_beams, gumbel_tree):
        monkeypatch.setattr(module, "gumbel", fixed)
    core = made(row).train(training)
    draws = training and core.config.get("noise", False)
    found = core(IDS[:1], torch.tensor(LENGTHS[:1])) if draws else core(IDS, torch.tensor(LENGTHS))
    assert bool(drawn) == draws
    expected = told(core, training, drawn)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
    torch.testing.assert_close(gradient(core, found), gradient(core, expected), rtol=0, atol=1e-9)


@pytest.mark.parametrize("row", [r for r in ROWS if r.encoder in CELLS], ids=lambda row: row.name)
def test_a_published_cell_is_its_equations(row: Row) -> None:
    torch.manual_seed(0)
    cell = CELLS[row.encoder](VOCABULARY, 6, **row.options).double()
    flat = batch([random_tree(3, 4, seed) for seed in range(3)], VOCABULARY)
    torch.testing.assert_close(propagate(flat, cell)["h"], recursion(cell, flat)["h"], rtol=0, atol=1e-12)


def test_every_name_has_a_row() -> None:
    if not PAGE.exists():
        pytest.skip("no docs here")
    assert len({row.name for row in ROWS}) == len(ROWS) >= 20
