"""torch.func's transforms of a pass, of every cell, up and down: against central differences in float64."""

from dataclasses import replace

import pytest
import torch
from helpers import random_tree, suited
from rows import DOWNWARD, ROWS, make_cell, make_downward
from torch import Tensor, nn
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vmap

from dgltree import TreeBatch, batch, propagate

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # torch's own jvp of some operations
H = 1e-5
"""The step of central differences, whose error is about H ** 2."""
TIGHT, LOOSE = 1e-6, 1e-4
"""Relative errors of first and of second differences."""
Weights = dict[str, Tensor]


class Loss(nn.Module):
    """A smooth number of all states, both sweeps' if there are two."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.up, self.down = make_downward(name) if name in DOWNWARD else (make_cell(name), None)

    def forward(self, trees: TreeBatch, share: bool) -> Tensor:
        states = propagate(trees, self.up, share)
        found = [*states.values()]
        if self.down is not None:
            found += propagate(trees, self.down, share, direction="down", up=states).values()
        return torch.stack([(state.sin() * (k + 1)).sum() for k, state in enumerate(found)]).sum()

    def trees(self, vectors: bool = False) -> TreeBatch:
        twice = random_tree(2, 2, 5)
        trees = [random_tree(3, 2, 3), twice, twice]
        if not vectors:
            return batch(suited(self.up, trees), self.up.vocabulary)
        flat = batch(trees, self.up.vocabulary)
        x = torch.randn(flat.num_nodes, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
        if self.up.leaf != "gates":
            x[flat.arity == 0] = 0
        return batch(trees, self.up.vocabulary, x=x)

    def weights(self) -> Weights:
        return {name: parameter.detach() for name, parameter in self.named_parameters()}

    def direction(self, seed: int) -> Weights:
        draw = torch.Generator().manual_seed(seed)
        return {
            name: torch.randn(value.shape, generator=draw, dtype=value.dtype) for name, value in self.weights().items()
        }


def moved(weights: Weights, *steps: tuple[Tensor | float, Weights]) -> Weights:
    return {name: value + sum(by * direction[name] for by, direction in steps) for name, value in weights.items()}


def assert_near(found: Tensor, expected: Tensor, tolerance: float) -> None:
    largest = float(expected.detach().abs().amax()) if expected.numel() else 0.0
    assert torch.all((found - expected).abs() <= tolerance * max(1.0, largest))


PASSES = [(name, share) for name in [*ROWS, *DOWNWARD] for share in (False, True)]


@pytest.mark.parametrize(
    ("name", "share"),
    [pytest.param(*each, marks=pytest.mark.slow if each[1] and "," in each[0] else ()) for each in PASSES],
)
def test_transforms_of_a_pass(name: str, share: bool) -> None:
    model = Loss(name)
    trees, weights, a, b = model.trees(), model.weights(), model.direction(1), model.direction(2)

    def loss(own: Weights) -> Tensor:
        return functional_call(model, own, (trees, share))

    def along(s: Tensor) -> Tensor:
        return loss(moved(weights, (s[0], a), (s[1], b)))

    here, steps = torch.zeros(2, dtype=torch.float64), H * torch.eye(2, dtype=torch.float64)
    slopes = torch.stack([(along(step) - along(-step)) / (2 * H) for step in steps])
    gradients = grad(loss)(weights)
    assert_near(sum((gradients[each] * a[each]).sum() for each in a), slopes[0], TIGHT)
    value, slope = jvp(loss, (weights,), (a,))
    assert_near(value, loss(weights), 1e-14)
    assert_near(slope, slopes[0], TIGHT)
    assert_near(jacrev(along)(here), slopes, TIGHT)
    assert_near(jacfwd(along)(here), slopes, TIGHT)
    curvature = torch.stack([(jacrev(along)(step) - jacrev(along)(-step)) / (2 * H) for step in steps])
    assert_near(hessian(along)(here), curvature, LOOSE)
    both = {each: torch.stack([weights[each], a[each]]) for each in weights}
    assert_near(vmap(loss)(both), torch.stack([loss(weights), loss(a)]), 1e-13)
    maps = {each: None if "embedding" in each else 0 for each in weights}  # leaves often have the same states
    mixed = [weights | {each: by[each] for each, axis in maps.items() if axis == 0} for by in (weights, a)]
    given = {each: weights[each] if axis is None else both[each] for each, axis in maps.items()}
    assert_near(vmap(loss, in_dims=(maps,))(given), torch.stack([loss(own) for own in mixed]), 1e-13)
    for each, rows in vmap(grad(loss))(both).items():
        assert_near(rows[0], gradients[each], 1e-12)


@pytest.mark.parametrize("name", [name for name, options in ROWS.items() if options.get("input_size")])
def test_transforms_over_the_vectors_of_nodes(name: str) -> None:
    model = Loss(name)
    trees = model.trees(vectors=True)
    xs = torch.stack([trees.x.detach(), trees.x * 2, trees.x.sin()]).detach()

    def loss(x: Tensor) -> Tensor:
        return model(replace(trees, x=x), False)

    assert_near(vmap(loss)(xs), torch.stack([loss(x) for x in xs]), 1e-13)
    direction = xs[2]
    slope = (loss(xs[0] + H * direction) - loss(xs[0] - H * direction)) / (2 * H)
    assert_near((grad(loss)(xs[0]) * direction).sum(), slope, TIGHT)
