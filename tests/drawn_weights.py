"""Weights of any layout, as programs give them to a cell: drawn by ``scripts/fuzz --only weights`` and by the tests.

What a pass with kernels computes from them, states and gradients, is what torch's operations compute and what recursion
computes; or both engines refuse, with one error.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from downward_oracle import downward_recursion
from engines import assert_close, cotangents
from equation_models import candidates, make_model, questions, scores_in_filler_order
from fuzzing import Target
from helpers import random_dag, random_tree, suited
from hypothesis import strategies as st
from oracle import recursion
from rows import DOWNWARD, ROWS, make_cell, make_downward
from torch import Tensor, nn
from torch.func import functional_call, grad, jvp

from dgltree import batch, propagate, rank
from dgltree.encoders.latent.on_lstm import ONLSTMLayer
from dgltree.engine.kernels.dispatch import get_fused, kernels

WITH_KERNELS = [name for name in ROWS if get_fused(make_cell(name)) is not None]
"""Those with kernels by hand. A gradient that is 0 but for rounding has no digits by which others could be judged."""
WITH_PATHS = [name for name in WITH_KERNELS if "leaf" not in name and "num" not in name]
TREES = [random_tree(4, 3, 1), random_dag(12, 3, 2), random_tree(2, 2, 3)]
Transform = Callable[[Tensor], tuple[Tensor, Tensor]]
"""A leaf that requires gradients, and the weight that is made of it, of a shape and with values near those given."""


def transposed(weight: Tensor) -> tuple[Tensor, Tensor]:
    base = weight.transpose(-1, -2).contiguous().requires_grad_()
    return base, base.transpose(-1, -2)


def turned(weight: Tensor) -> tuple[Tensor, Tensor]:
    base = weight.movedim(0, -1).contiguous().requires_grad_()
    return base, base.movedim(-1, 0)


def tied(weight: Tensor) -> tuple[Tensor, Tensor]:
    """One row for all."""
    base = weight[..., :1].clone().requires_grad_()
    return base, base.expand_as(weight)


def sliced(weight: Tensor) -> tuple[Tensor, Tensor]:
    base = nn.functional.pad(weight, (2, 3)).requires_grad_()
    return base, base[..., 2 : 2 + weight.shape[-1]]


def strided(weight: Tensor) -> tuple[Tensor, Tensor]:
    base = weight.repeat_interleave(2, -1).requires_grad_()
    return base, base[..., ::2]


def negated(weight: Tensor) -> tuple[Tensor, Tensor]:
    base = weight.neg().requires_grad_()
    return base, torch._neg_view(base)


def flat(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A view of a buffer that has more."""
    base = torch.cat([weight.new_ones(7), weight.flatten(), weight.new_ones(3)]).requires_grad_()
    return base, base[7 : 7 + weight.numel()].view(weight.shape)


def computed(weight: Tensor) -> tuple[Tensor, Tensor]:
    """As a parametrization or a hypernetwork gives it."""
    base = weight.transpose(-1, -2).contiguous().requires_grad_()
    return base, base.transpose(-1, -2) * 1.5


def rounded(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Quantized, with the gradient of what was not."""
    base = weight.clone().requires_grad_()
    return base, base + (base.half().to(weight.dtype) - base).detach()


def frozen(weight: Tensor) -> tuple[Tensor, Tensor]:
    return weight.clone(), weight.transpose(-1, -2).contiguous().transpose(-1, -2)


def short(weight: Tensor) -> tuple[Tensor, Tensor]:
    base = weight.clone().requires_grad_()
    return base, base[..., :-1]


def few(weight: Tensor) -> tuple[Tensor, Tensor]:
    base = weight.clone().requires_grad_()
    return base, base[:-1]


def half(weight: Tensor) -> tuple[Tensor, Tensor]:
    base = weight.clone().requires_grad_()
    return base, base.half()


LEGAL: list[Transform] = [transposed, turned, tied, sliced, strided, negated, flat, computed, rounded, frozen]
FAULTS: list[Transform] = [short, few, half]


PRODUCTS = ("maps.", "embedding.", "input.", "hidden.")
"""What is spoilt: other parameters broadcast."""


class Draw(NamedTuple):
    """Which weights of which module are made how."""

    row: str
    dtype: torch.dtype
    makers: list[Transform]
    """One for each weight, taken in turn."""
    fault: tuple[int, Transform] | None
    """The number of a weight and how it is spoilt."""
    assigned: bool
    """Whether the weights are parameters that were assigned, and not tensors for one call."""


def draws(rows: list[str]) -> st.SearchStrategy[Draw]:
    return st.builds(
        Draw,
        st.sampled_from(rows),
        st.sampled_from([torch.float64, torch.float32]),
        st.lists(st.sampled_from(LEGAL), min_size=1, max_size=4),
        st.none() | st.tuples(st.integers(0, 20), st.sampled_from(FAULTS)),
        st.booleans(),
    )


def weights_of(module: nn.Module, draw: Draw) -> tuple[dict[str, Tensor], list[Tensor]]:
    """The tensors to compute with by name, and those that want gradients."""
    named = {name: p.detach() for name, p in module.named_parameters() if p.dim() > 1 and p.numel()}
    makers = {name: draw.makers[k % len(draw.makers)] for k, name in enumerate(named)}
    products = [name for name in named if name.startswith(PRODUCTS)]
    if draw.fault is not None and products:
        place, maker = draw.fault
        makers[products[place % len(products)]] = maker
    made = {name: makers[name](weight) for name, weight in named.items()}
    if draw.assigned:
        leaves = {name: nn.Parameter(weight.detach(), weight.requires_grad) for name, (_, weight) in made.items()}
        return dict(leaves), list(leaves.values())
    return {name: weight for name, (_, weight) in made.items()}, [base for base, _ in made.values()]


def outcome(run: Callable[[dict[str, Tensor]], dict[str, Tensor]], module: nn.Module, draw: Draw) -> Any:
    """States and gradients by name, or the error as text."""
    weights, leaves = weights_of(module, draw)
    try:
        states = run(weights)
    except (RuntimeError, ValueError, IndexError) as error:
        return f"{type(error).__name__}: {error}"
    given = cotangents(states)
    loss = sum((states[part] * given[part]).sum() for part in states)
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    given = (loss, wanted) if wanted and loss.requires_grad else None
    gradients = () if given is None else torch.autograd.grad(*given, allow_unused=True, materialize_grads=True)
    return states | {f"gradient {k}": gradient for k, gradient in enumerate(gradients)}


class Recursion(nn.Module):
    def __init__(self, cell: nn.Module) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, *given: Any) -> Any:
        return (recursion if len(given) == 1 else downward_recursion)(self.cell, *given)


def check_cell(draw: Draw) -> bool:
    """Whether the weights of a cell are taken."""
    cell = make_cell(draw.row).to(draw.dtype)
    trees = batch(suited(cell, TREES), cell.vocabulary)

    def by(mode: str) -> Callable[[dict[str, Tensor]], dict[str, Tensor]]:
        def run(weights: dict[str, Tensor]) -> dict[str, Tensor]:
            with kernels(mode):
                return functional_call(cell, weights, (trees,))

        return run

    def recursively(weights: dict[str, Tensor]) -> dict[str, Tensor]:
        return functional_call(Recursion(cell), {f"cell.{name}": w for name, w in weights.items()}, (trees,))

    return agree(draw, cell, by("on"), by("off"), recursively)


def check_transforms(draw: Draw) -> bool:
    """The gradient, and the Hessian times a vector, by torch.func's transforms and twice backward through recursion."""
    cell = make_cell(draw.row)
    trees = batch(suited(cell, TREES), cell.vocabulary)
    made, _ = weights_of(cell, draw)
    weights = {name: torch.empty(weight.shape, dtype=weight.dtype).copy_(weight) for name, weight in made.items()}
    weights = {name: weight.detach() for name, weight in weights.items()}  # of one layout: torch's jvp takes few others
    vector = {name: weight.cos() for name, weight in weights.items()}

    def loss(own: dict[str, Tensor]) -> Tensor:
        return torch.stack([state.sin().sum() for state in functional_call(cell, own, (trees,)).values()]).sum()

    def recursively(own: dict[str, Tensor]) -> Tensor:
        states = functional_call(Recursion(cell), {f"cell.{name}": w for name, w in own.items()}, (trees,))
        return torch.stack([state.sin().sum() for state in states.values()]).sum()

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated")  # torch's own jvp of some operations
        found = jvp(grad(loss), (weights,), (vector,))
    given = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
    options = {"allow_unused": True, "materialize_grads": True}
    first = torch.autograd.grad(recursively(given), [*given.values()], create_graph=True, **options)
    along = torch.stack([(slope * vector[name]).sum() for name, slope in zip(given, first, strict=True)]).sum()
    second = torch.autograd.grad(along, [*given.values()], **options)
    for by_transforms, by_recursion in zip(found, (first, second), strict=True):
        for name, expected in zip(given, by_recursion, strict=True):
            assert_close(by_transforms[name], expected.detach(), name, 1e-9)
    return True


def check_downward(draw: Draw) -> bool:
    """The same of a downward cell, which has no kernel."""
    up, down = (cell.to(draw.dtype) for cell in make_downward(draw.row))
    trees = batch(suited(up, TREES), up.vocabulary)
    states = {part: rows.detach() for part, rows in propagate(trees, up).items()}

    def by_levels(weights: dict[str, Tensor]) -> dict[str, Tensor]:
        return functional_call(down, weights, (trees, states))

    def recursively(weights: dict[str, Tensor]) -> dict[str, Tensor]:
        given = {f"cell.{name}": weight for name, weight in weights.items()}
        return functional_call(Recursion(down), given, (trees, states))

    return agree(draw, down, by_levels, by_levels, recursively)


def check_on_lstm(draw: Draw) -> bool:
    """The same of a layer of ON-LSTM, whose words come in any layout, too."""
    torch.manual_seed(0)
    layer = ONLSTMLayer(4, 6, 3, 0.0).to(draw.dtype)
    x = draw.makers[0](torch.randn(3, 5, 4, dtype=draw.dtype))[1].detach()
    state = tuple(draw.makers[-1](torch.randn(3, 6, dtype=draw.dtype))[1].detach() for _ in range(2))
    padding = torch.tensor([[False] * 5, [True, False, False, True, True], [False, False, True, False, True]])

    def by(mode: str) -> Callable[[dict[str, Tensor]], dict[str, Tensor]]:
        def run(weights: dict[str, Tensor]) -> dict[str, Tensor]:
            with kernels(mode):
                steps = functional_call(layer, weights, (x, padding, state))
            return {"states": steps.states, "d": steps.d}

        return run

    return agree(draw, layer, by("on"), by("off"))


def check_paths(draw: Draw) -> bool:
    """The same of the scores of fillers, whose paths run through a kernel of their own; without gradients."""
    model = make_model(draw.row).to(draw.dtype)
    weights, _ = weights_of(model.cell, draw)
    for name, weight in weights.items():
        module, kind = name.rsplit(".", 1)
        setattr(model.cell.get_submodule(module), kind, nn.Parameter(weight.detach()))

    def by(mode: str) -> Callable[[dict[str, Tensor]], dict[str, Tensor]]:
        def run(_: dict[str, Tensor]) -> dict[str, Tensor]:
            with kernels(mode):
                ranked = rank(model, questions(3)[:6], candidates(4))
            return {f"scores {k}": scores_in_filler_order(one) for k, one in enumerate(ranked)}

        return run

    return agree(draw, model.cell, by("on"), by("off"))


def agree(draw: Draw, module: nn.Module, first: Any, *others: Any) -> bool:
    """Whether the weights are taken, by all; an ``AssertionError`` where they differ."""
    found = outcome(first, module, draw)
    tolerance = 1e-10 if draw.dtype is torch.float64 else 1e-4
    if draw.fault is not None and draw.fault[1] is half:  # a part of a sum, whose gradient is rounded
        tolerance = 1e-2
    for k, other in enumerate(others):
        expected = outcome(other, module, draw)
        if isinstance(found, str):  # recursion computes with what no tree reads
            assert k or found == expected, (found, expected)
            continue
        assert not isinstance(expected, str), expected
        for what, tensor in expected.items():
            assert_close(found[what], tensor, what, tolerance)
    return not isinstance(found, str)


def weight_targets() -> dict[str, Target]:
    legal = draws(list(ROWS)).map(lambda draw: draw._replace(dtype=torch.float64, fault=None))
    return {
        "weights of cells": Target(draws(WITH_KERNELS), check_cell),
        "weights in transforms": Target(legal, check_transforms),
        "weights downwards": Target(draws(list(DOWNWARD)), check_downward),
        "weights of ON-LSTM": Target(draws(["on_lstm"]), check_on_lstm),
        "weights on paths": Target(draws(WITH_PATHS), check_paths),
    }
