"""CRvNN: a batch as the published programs compute it, START and END without dropout, trees by the authors' rule."""

from typing import Any

import pytest
import torch
from crvnn_oracle import crvnn, crvnn_batch
from latent_equations import words
from torch import Tensor

from dgltree.encoders import Encoded, SequenceCRvNN

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
