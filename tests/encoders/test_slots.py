"""Slots of Ordered Memory by a kernel: states, gradients and masks of torch's operations, or torch's operations."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from dgltree.encoders import OrderedMemory
from dgltree.encoders.latent.ordered_memory import slots
from dgltree.engine.kernels.dispatch import kernels

pytest.importorskip("numba")


def compute(memory: OrderedMemory, mode: str, seed: int = 0) -> list[Tensor]:
    """The output for drawn sentences with padding anywhere, and all gradients."""
    generator = torch.Generator().manual_seed(seed)
    dtype = memory.norm.weight.dtype
    x = torch.randn(7, 9, 5, dtype=dtype, generator=generator).requires_grad_()
    padding = torch.rand(7, 9, generator=generator) < 0.3
    padding[:, 0] = False
    memory.zero_grad()
    torch.manual_seed(seed)
    with kernels(mode):
        steps = memory(x, padding)
    (steps.root.sin().sum() + steps.states.square().sum() + steps.p.cos().sum()).backward()
    gradients = [parameter.grad for parameter in memory.parameters()]
    return [steps.root, steps.states, steps.p, x.grad, *(gradient.clone() for gradient in gradients)]


def make(operator: str, dtype: torch.dtype = torch.float64, **options: float) -> OrderedMemory:
    torch.manual_seed(1)
    memory = OrderedMemory(5, 8, num_slots=6, operator=operator, **options).to(dtype)
    with torch.no_grad():
        for parameter in memory.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.7)
    return memory


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which way each word's slots were written."""
    seen: list[str] = []
    by_hand, written = slots.ByHand.apply, slots.SlotWriter.forward
    monkeypatch.setattr(slots.ByHand, "apply", lambda *given: (seen.append("kernel"), by_hand(*given))[1])
    monkeypatch.setattr(slots.SlotWriter, "forward", lambda *given: (seen.append("torch"), written(*given))[1])
    return seen


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("operator", ["tree_cell", "grc"])
@pytest.mark.parametrize("dynamic", [True, False])
def test_states_and_gradients_are_those_of_torch(
    operator: str, dropout: float, dynamic: bool, passes: list[str]
) -> None:
    memory = make(operator, cell_dropout=dropout, attention_dropout=dropout, dynamic=dynamic)
    for seed in range(3):
        plain, by_kernel = (compute(memory, mode, seed) for mode in ("off", "on"))
        for one, other in zip(plain, by_kernel, strict=True):
            assert one.abs().max() > 1e-6
            torch.testing.assert_close(other, one, rtol=1e-10, atol=1e-11)
    assert set(passes) == {"kernel", "torch"}


def test_single_precision_is_as_near_as_rounding() -> None:
    memory = make("grc", torch.float32)
    for one, other in zip(compute(memory, "off"), compute(memory, "on"), strict=True):
        torch.testing.assert_close(other, one, rtol=1e-3, atol=2e-4)


def test_the_gradient_that_is_given_stays_as_it_is() -> None:
    memory = make("tree_cell")
    written = slots.write_slots(
        memory.cell,
        memory.norm,
        x := torch.randn(3, 8, dtype=torch.float64).requires_grad_(),
        memory.cell.of_right(torch.randn(5, 8, dtype=torch.float64)),
        torch.randn(5, 8, dtype=torch.float64),
        torch.rand(5, 1, dtype=torch.float64),
        [2, 3],
    )
    given = torch.randn_like(written)
    before = given.clone()
    torch.autograd.grad(written, x, given)
    assert torch.equal(given, before)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_gradients_have_gradients(dropout: float) -> None:
    memory = make("tree_cell", cell_dropout=dropout)

    def penalty(mode: str) -> list[Tensor]:
        x = torch.randn(2, 5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(3)).requires_grad_()
        torch.manual_seed(4)
        with kernels(mode):
            root = memory(x).root
        (of_x,) = torch.autograd.grad(root.square().sum(), x, create_graph=True)
        return [of_x, *torch.autograd.grad(of_x.square().sum(), [x, *memory.cell.parameters()])]

    for one, other in zip(penalty("off"), penalty("on"), strict=True):
        assert one.abs().max() > 1e-6
        torch.testing.assert_close(other, one, rtol=1e-9, atol=1e-10)


def transpose(memory: OrderedMemory) -> None:
    memory.cell.second.weight = nn.Parameter(memory.cell.second.weight.detach().t().contiguous().t())


def prune(memory: OrderedMemory) -> None:
    memory.cell.vertical.register_forward_pre_hook(lambda module, given: None)


def hook(memory: OrderedMemory) -> None:
    memory.cell.second.register_forward_hook(lambda module, given, result: 2 * result)


def replace(memory: OrderedMemory) -> None:
    memory.cell.act = torch.tanh


def approximate(memory: OrderedMemory) -> None:
    memory.cell.approximate = "tanh"


def without_bias(memory: OrderedMemory) -> None:
    memory.cell.second.bias = None


def weigh(memory: OrderedMemory) -> None:
    nn.utils.parametrizations.weight_norm(memory.cell.second)


@pytest.mark.parametrize(
    ("change", "by"),
    [
        (transpose, "kernel"),
        (weigh, "kernel"),
        (prune, "torch"),
        (hook, "torch"),
        (replace, "torch"),
        (approximate, "torch"),
        (without_bias, "torch"),
    ],
)
def test_a_changed_cell_computes_what_it_says(
    change: Callable[[OrderedMemory], None], by: str, passes: list[str]
) -> None:
    memory = make("grc")
    before = compute(memory, "off")[0]
    change(memory)
    passes.clear()
    by_kernel = compute(memory, "on")
    assert set(passes) == {by}
    for one, other in zip(compute(memory, "off"), by_kernel, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-10, atol=1e-11)
    assert torch.allclose(before, by_kernel[0]) == (change in (transpose, weigh, prune))


def test_a_weight_of_another_shape_is_refused_by_torch() -> None:
    memory = make("tree_cell")
    memory.cell.second.weight = nn.Parameter(memory.cell.second.weight[:8].detach())
    with pytest.raises(RuntimeError, match="size"):
        memory(torch.zeros(2, 3, 5, dtype=torch.float64))


def test_autocast_and_transforms_are_torch_operations(passes: list[str]) -> None:
    memory = make("tree_cell", torch.float32)
    x = torch.zeros(2, 4, 5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        memory(x)
    torch.func.grad(lambda given: memory(given).root.sum())(x)
    assert set(passes) == {"torch"}


def test_a_number_that_is_none_is_seen() -> None:
    memory = make("tree_cell")
    x = torch.randn(2, 6, 5, dtype=torch.float64)
    x[0, 3] = torch.nan
    root = memory(x).root
    assert root[0].isnan().all() and not root[1].isnan().any()
