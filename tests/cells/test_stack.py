"""The stack of the memory-augmented cells: its update against the equation row by row, and its gradients."""

from itertools import product

import pytest
import torch
from torch import Tensor

from dgltree.cells.stack_cell import update, used_rows

SIZE, N = 4, 3


def literally(g: list[Tensor], stacks: list[Tensor], u: Tensor, actions: dict[str, Tensor], size: int) -> Tensor:
    """One row after another, from the docstring."""
    Sc = sum(g_k.unsqueeze(-2) * S_k for g_k, S_k in zip(g, stacks, strict=True))
    held = Sc.shape[-2]

    def row(r: int) -> Tensor:
        return Sc[..., r, :] if r < held else torch.zeros_like(u)

    rows = []
    for r in range(size if held == size else held - 1):
        S = actions["push"] * (u if r == 0 else row(r - 1))
        S = S + actions["pop"] * row(r + 1) if "pop" in actions else S
        rows.append(S + actions["noop"] * row(r) if "noop" in actions else S)
    return torch.stack(rows, -2)


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


NAMES = [("push", "pop", "noop"), ("push", "pop"), ("push", "noop"), ("push",)]


@pytest.mark.parametrize(("names", "width", "held", "arity"), [*product(NAMES, (1, N), (SIZE, 3, 2), (1, 2))])
def test_the_update_and_its_gradients_are_those_of_the_equation(
    names: tuple[str, ...], width: int, held: int, arity: int
) -> None:
    torch.manual_seed(0)
    u, g, stacks = drawn(5, N), [drawn(5, N) for _ in range(arity)], [drawn(5, held, N) for _ in range(arity)]
    actions = {name: drawn(5, width) for name in names}
    S, top = update(g, stacks, u, actions, SIZE, top_k=1)
    expected = literally(g, stacks, u, actions, SIZE)
    torch.testing.assert_close(S, expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(top, expected[..., :1, :], rtol=1e-12, atol=1e-12)
    inputs = [u, *g, *stacks, *actions.values()]
    ours = torch.autograd.grad(S.sin().sum() + top.exp().sum(), inputs)
    loss = expected.sin().sum() + expected[..., :1, :].exp().sum()
    theirs = torch.autograd.grad(loss, inputs, materialize_grads=True)  # of a single row, only the push is left
    for found, right in zip(ours, theirs, strict=True):
        torch.testing.assert_close(found, right, rtol=1e-10, atol=1e-12)


def test_what_is_broadcast_gets_the_sum_of_its_gradients() -> None:
    torch.manual_seed(0)
    u, g = drawn(2, 5, N), [drawn(2, 5, N), drawn(2, 5, N)]
    stacks = [drawn(2, 1, SIZE, N), drawn(2, 5, SIZE, N)]  # ranking: one child off the path of all fillers
    actions = {"push": drawn(2, 5, N), "noop": drawn(2, 5, N)}
    inputs = [u, *g, *stacks, *actions.values()]
    ours = torch.autograd.grad(update(g, stacks, u, actions, SIZE)[0].sin().sum(), inputs)
    theirs = torch.autograd.grad(literally(g, stacks, u, actions, SIZE).sin().sum(), inputs)
    for found, right in zip(ours, theirs, strict=True):
        torch.testing.assert_close(found, right, rtol=1e-10, atol=1e-12)


def test_the_order_in_memory_does_not_matter() -> None:
    torch.manual_seed(0)
    u, g, S = drawn(5, N), drawn(5, N), drawn(SIZE, 5, N)
    rows_first = S.movedim(0, 1)
    first, second = (update([g], [stack], u, {"push": g}, SIZE)[0] for stack in (rows_first, rows_first.contiguous()))
    torch.testing.assert_close(first, second, rtol=0, atol=0)


def test_a_row_is_in_use_where_its_norm_is_above_the_threshold() -> None:
    S = torch.tensor([[0.3, 0.4], [0.6, 0.8], [0.0, 0.0]], dtype=torch.float64)  # norms 0.5, 1, 0
    assert [int(used_rows(S, threshold)) for threshold in (0.0, 0.499, 0.5, 0.501, 1.0)] == [2, 2, 1, 1, 0]
    assert int(used_rows(torch.tensor([[1e-3 + 1e-9], [1e-3 - 1e-9]], dtype=torch.float64))) == 1
