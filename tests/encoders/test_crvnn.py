"""CRvNN: a batch as the published programs compute it, START and END without dropout, trees by the authors' rule."""

import copy
from typing import Any

import pytest
import torch
from crvnn_oracle import crvnn, crvnn_batch
from latent_equations import words
from torch import Tensor

from dgltree.encoders import Encoded, SequenceCRvNN
from dgltree.encoders.latent import crvnn as existence

LENGTHS = [1, 2, 3, 6, 4]
IDS = torch.randint(3, 8, (5, 6), generator=torch.Generator().manual_seed(1))
FIRST = {"version": "first", "penalty": 0.5, "gelu": "tanh"}


def make(**options: Any) -> SequenceCRvNN:
    torch.manual_seed(5)
    core = SequenceCRvNN(8, 6, **options).double()
    with torch.no_grad():
        for parameter in core.parameters():
            parameter.mul_(1.5)
    return core


def leaves(core: SequenceCRvNN) -> list[list[Tensor]]:
    return [words(core, ids[:length]) for ids, length in zip(IDS.tolist(), LENGTHS, strict=True)]


def weighed(root: Tensor) -> Tensor:
    return (root * torch.arange(1, root.numel() + 1, dtype=root.dtype).view_as(root).cos()).sum()


def orders(found: Encoded) -> list[list[int]]:
    return [[gap for gap in order if gap >= 0] for order in found.parse.order.tolist()]


@pytest.mark.parametrize("options", [{}, FIRST, {"halt": True, "merged_by": "existence"}])
@pytest.mark.parametrize("bias", [0.0, 9.0])
def test_a_batch_by_its_maximum_is_that_of_the_published_programs(options: dict[str, Any], bias: float) -> None:
    """With 9, padding has the largest score, and 4e-8 counts."""
    core = make(batch_maximum=True, **options)
    with torch.no_grad():
        core.second.bias.add_(bias)
        if bias:  # a word's own state has a low score; padding has a state of 0
            core.ends[0].mul_(-1)
            core.first.weight.mul_(-4)[:, 12:18].mul_(3)
            core.second.weight.abs_().neg_()
    found, told = core.encoded(IDS, torch.tensor(LENGTHS)), crvnn_batch(core, leaves(core))
    root, penalty = torch.stack([each.root for each in told]), torch.stack([each.penalty for each in told])
    torch.testing.assert_close(found.root, root, rtol=0, atol=1e-10)
    assert orders(found) == [each.order for each in told]
    expected = torch.autograd.grad(weighed(root) + penalty.mean(), core.second.weight)
    torch.testing.assert_close(
        torch.autograd.grad(weighed(found.root) + found.loss, core.second.weight), expected, rtol=0, atol=1e-10
    )
    alone = torch.stack([crvnn(core, h, False, None).root for h in leaves(core)])
    assert (found.root - alone).abs().max() > 1e-9, "a sentence depends on the others"


def test_the_start_and_the_end_are_not_dropped_out() -> None:
    core = make(dropout=0.5).train()
    core.dropout.p = 1.0
    found = core.encoded(IDS, torch.tensor(LENGTHS))
    with torch.no_grad():
        core.embedding.weight.zero_()
    root = torch.stack([crvnn(core, h, False, None).root for h in leaves(core)])
    torch.testing.assert_close(found.root, root, rtol=0, atol=1e-10)


def test_the_two_rules_read_other_trees_from_one_pass() -> None:
    one, other = (make(merged_by=rule).encoded(IDS, torch.tensor(LENGTHS)) for rule in ("probability", "existence"))
    assert torch.equal(one.root, other.root)
    assert orders(one) != orders(other)


def by_local_sums(e: Tensor) -> tuple[Tensor, Tensor]:
    """L and R as the programs have them: sums that begin at each place, in the dtype of the existences."""

    def right(e: Tensor) -> Tensor:
        upper = torch.ones(e.shape[1], e.shape[1], dtype=torch.bool).triu(1)
        each = e.unsqueeze(1) * upper
        sums = each.cumsum(2)
        return torch.where(sums <= 1, each, (1 - (sums - each)).relu()) * upper

    return right(e.flip(1)).flip(1, 2), right(e)


@pytest.mark.parametrize("sharpness", [1, 30])
@pytest.mark.parametrize(("words", "count"), [(20, 60), (300, 6)])
def test_float32_is_as_near_to_float64_as_the_programs_are(
    words: int, count: int, sharpness: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums from the first word on lost ten to a thousand times as much at 300 words."""
    torch.manual_seed(5)
    core = SequenceCRvNN(16, 16).eval()
    with torch.no_grad():
        core.second.weight.mul_(sharpness)
    ids = torch.randint(3, 16, (count, words), generator=torch.Generator().manual_seed(words))
    lengths, off = torch.full((count,), words), []
    with torch.no_grad():
        expected = copy.deepcopy(core).double().encoded(ids, lengths).root
        for form in (None, by_local_sums):
            if form is not None:
                monkeypatch.setattr(existence, "_cut", form)
            off.append((core.encoded(ids, lengths).root.double() - expected).norm(dim=1).mean())
    ours, programs = off
    assert ours <= 2 * programs
