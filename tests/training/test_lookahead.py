"""RAdam with Lookahead: every five steps the weights go back a fifth of the way; a saved state goes on alike."""

from typing import Any

import torch
from torch import Tensor

from dgltree.training.stepping.module import RAdamLookahead

HOW: dict[str, Any] = {"lr": 0.1, "weight_decay": 0.01, "decoupled_weight_decay": True}


def gradient(t: int) -> Tensor:
    return torch.randn(3, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(t))


def steps(optimizer: torch.optim.Optimizer, weight: Tensor, start: int, stop: int) -> None:
    for t in range(start, stop):
        weight.grad = gradient(t)
        optimizer.step()


def test_the_weights_are_those_of_radam_and_a_fifth_of_those_kept() -> None:
    ours, literal = (torch.ones(3, 2, dtype=torch.float64, requires_grad=True) for _ in range(2))
    found, radam = RAdamLookahead([ours], **HOW), torch.optim.RAdam([literal], **HOW)
    kept = literal.detach().clone()
    for t in range(12):
        steps(found, ours, t, t + 1)
        steps(radam, literal, t, t + 1)
        if t % 5 == 4:
            with torch.no_grad():
                kept = 0.8 * literal + 0.2 * kept
                literal.copy_(kept)
        torch.testing.assert_close(ours, literal, rtol=0, atol=1e-14)
    assert (ours - 1).abs().max() > 0.1


def test_it_goes_on_from_a_state_that_was_saved() -> None:
    whole, halves, other = (torch.ones(3, 2, dtype=torch.float64, requires_grad=True) for _ in range(3))
    steps(RAdamLookahead([whole], **HOW), whole, 0, 12)
    first = RAdamLookahead([halves], **HOW)
    steps(first, halves, 0, 7)
    with torch.no_grad():
        other.copy_(halves)
    second = RAdamLookahead([other], **HOW)
    second.load_state_dict(first.state_dict())
    steps(second, other, 7, 12)
    assert torch.equal(other, whole)


def test_weights_without_a_gradient_stay() -> None:
    used, unused = (torch.ones(3, 2, dtype=torch.float64, requires_grad=True) for _ in range(2))
    steps(RAdamLookahead([used, unused], **HOW), used, 0, 6)
    assert torch.equal(unused, torch.ones_like(unused))
