"""Recursion in recursion: the beams of chunks are handed on over several levels, and an answer can be repeated."""

from typing import Any

import pytest
import torch
from beam_oracle import recursion
from latent_equations import words

from dgltree.encoders import SEQUENCE_ENCODERS, Encoded
from dgltree.encoders.latent.beams_of_chunks import LEVELS
from dgltree.encoders.latent.joining_core import levels

IDS = torch.randint(3, 8, (4, 23), generator=torch.Generator().manual_seed(1))
LENGTHS = torch.tensor([23, 6, 1, 14])


def make(**options: Any) -> Any:
    """With scores so near to each other that beams with any start are kept."""
    torch.manual_seed(5)
    core = (
        SEQUENCE_ENCODERS["efficient_beam_tree"](8, 6, **{"chunk_size": 3, "beam_size": 3, **options}).double().eval()
    )
    with torch.no_grad():
        for parameter in core.parameters():
            parameter.mul_(1.5)
        core.score.second.weight.mul_(0.5)
    return core


def documented(seed: int, beams: int) -> Any:
    """The draws of an evaluation: a table for each level, a row for each chunk of a sequence."""

    def u(level: int, chunk: int, beam: int) -> float:
        generator = torch.Generator().manual_seed(seed * LEVELS + level)
        table = torch.rand(chunk + 1, beams, dtype=torch.float64, generator=generator)
        return table[chunk, beam].item()

    return u


@pytest.mark.parametrize("how", ["drawn", "ranked", "random"])
@pytest.mark.parametrize("chunk_size", [2, 3, 4])
def test_three_levels_of_beams_are_those_of_the_literal_form(how: str, chunk_size: int) -> None:
    core = make(handed_on=how, chunk_size=chunk_size, draw_seed=7)
    with torch.no_grad():
        found = core.encoded(IDS, LENGTHS)
        for row, length in enumerate(LENGTHS.tolist()):
            h = words(core, IDS[row, :length].tolist())
            told = recursion(core, h, False, None, chunk_size, documented(7, 3))
            torch.testing.assert_close(found.root[row], told.root, rtol=0, atol=1e-10)
            assert found.parse.orders[row, 0, : length - 1].tolist() == told.order


def test_an_answer_is_repeated_depends_on_no_other_and_changes_with_the_seed() -> None:
    core = make(beam_size=8, chunk_size=4)
    with torch.no_grad():
        found, again = core.encoded(IDS, LENGTHS), core.encoded(IDS, LENGTHS)
        state = torch.get_rng_state()
        for row, length in enumerate(LENGTHS.tolist()):
            alone = core.encoded(IDS[row : row + 1, :length], LENGTHS[row : row + 1])
            torch.testing.assert_close(alone.root[0], found.root[row], rtol=0, atol=1e-12)
        assert torch.equal(torch.get_rng_state(), state), "torch's generator is left alone"
        other = make(beam_size=8, chunk_size=4, draw_seed=1).encoded(IDS, LENGTHS)
        training = make(beam_size=8, chunk_size=4, noise=False).train()  # what is handed on alone is drawn
        trained = [training.encoded(IDS, LENGTHS).root for _ in range(2)]
    assert torch.equal(found.root, again.root)
    assert (other.root[0] - found.root[0]).abs().max() > 1e-6
    assert torch.equal(other.root[2], found.root[2]), "one word has no chunks"
    assert (trained[0] - trained[1]).abs().max() > 1e-6


def test_ways_to_hand_on_differ_and_one_beam_has_but_one() -> None:
    with torch.no_grad():
        for beams, different in ((8, 4), (1, 1)):
            ways = [
                make(handed_on=how, beam_size=beams, chunk_size=4, draw_seed=1)
                for how in ("drawn", "ranked", "random", "mean")
            ]
            roots = [core(IDS[:1], LENGTHS[:1]) for core in ways]
            assert len({tuple(root[0].mul(1e9).round().tolist()) for root in roots}) == different


def spans(found: Encoded, length: int) -> set[tuple[int, int]]:
    """Of the tree of the first sequence."""
    [tree] = found.parse.trees([[str(k) for k in range(length)]])
    ends = [[int(leaf.token or 0) for leaf in node.preorder() if not leaf.children] for node in tree.preorder()]
    return {(words[0], words[-1] + 1) for words in ends}


@pytest.mark.parametrize("how", ["drawn", "mean"])
def test_every_chunk_is_a_part_of_the_tree(how: str) -> None:
    found = make(handed_on=how, chunk_size=4).encoded(IDS[:1], LENGTHS[:1])
    assert {(0, 4), (4, 8), (8, 12), (12, 16), (16, 20), (20, 23)} <= spans(found, 23)


def test_an_odd_chunk_is_cut_from_one_and_a_half_rounded_down_as_the_program_does() -> None:
    lengths = torch.tensor([3, 4, 5, 6])
    assert levels(lengths, 6, 3, 4)[0].chunks.counts.tolist() == [1, 2, 2, 2]
    found = make().encoded(IDS[:1, :4], torch.tensor([4]))
    assert (0, 3) in spans(found, 4)
    mean = [make(handed_on="mean", chunk_size=size)(IDS[:1, :4], torch.tensor([4])) for size in (3, None)]
    assert torch.equal(*mean), "the mean is as it was: four are one chunk of three"


def test_beams_handed_on_have_a_trace_of_their_totals() -> None:
    found = make().encoded(IDS, LENGTHS, trace=True)
    weights = found.trace["totals"].softmax(1)
    torch.testing.assert_close(weights[0], found.parse.weights[0], rtol=0, atol=1e-12)


def test_an_empty_sentence_is_refused() -> None:
    with pytest.raises(ValueError, match="length"):
        make().encoded(IDS, torch.tensor([23, 0, 1, 14]))
