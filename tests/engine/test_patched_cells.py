"""Cells whose weights are computed from others, or that hooks and functions were put on: all engines see them alike."""

import warnings
from collections.abc import Callable

import pytest
import torch
from engines import INSTALLED, Engine, State, assert_close, check, compare, gradients, runner_engine
from equation_models import candidates, make_model, questions, whole_scores
from helpers import random_tree, suited
from oracle import recursion
from rows import make_cell
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.utils import parametrizations, prune

from dgltree import Ranker, Tree, TreeBatch, batch, plan, propagate
from dgltree.cells import Cell, TreeLSTM
from dgltree.engine import executor
from dgltree.engine.kernels.dispatch import get_fused, kernels

NAMES = ["tree_rnn, two layers", "tree_lstm, leaf gates", "child_sum, inputs", "tree_smu, no_op", "tree_cell"]


def recomputed(cell: Cell, trees: TreeBatch) -> State:
    return propagate(trees, cell, recompute=True)


ALL: dict[str, Engine] = {**INSTALLED, "recompute": recomputed}


def drawn(cell: Cell) -> TreeBatch:
    trees = [random_tree(5, 3, 1), random_tree(2, 2, 2), Tree("neg", (Tree("var", token="x"),))]
    return batch(suited(cell, trees), cell.vocabulary)


def weighted(cell: Cell) -> list[nn.Module]:
    """The maps that have weights, and the LayerNorm."""
    maps = [linear for linear in cell.named_maps().values() if linear.weight.numel()]
    return [*maps, *(module for name, module in cell.named_children() if name == "norm")]


def weight_norm(cell: Cell) -> None:
    for module in weighted(cell):
        parametrizations.weight_norm(module, dim=0)


def old_weight_norm(cell: Cell) -> None:
    for module in weighted(cell):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # it is old
            nn.utils.weight_norm(module)


def pruned(cell: Cell) -> None:
    for module in weighted(cell):
        prune.l1_unstructured(module, "weight", 0.4)


def hooked(cell: Cell) -> None:
    for linear in cell.named_maps().values():
        linear.register_forward_hook(lambda _, given, out: 1.5 * out)


def hooked_before(cell: Cell) -> None:
    for linear in cell.named_maps().values():
        linear.register_forward_pre_hook(lambda _, given: (0.5 * given[0], *given[1:]))


def with_a_forward_of_its_own(cell: Cell) -> None:
    for linear in cell.named_maps().values():
        own = linear.forward
        linear.forward = lambda *given, own=own: torch.sin(own(*given))


def combining_otherwise(cell: Cell) -> None:
    own = cell.combine

    def combine(*given: object) -> dict[str, object]:
        computed = dict(own(*given))
        return computed | {"h": 0.5 * computed["h"]}

    cell.combine = combine


PATCHES: list[Callable[[Cell], None]] = [
    weight_norm,
    old_weight_norm,
    pruned,
    hooked,
    hooked_before,
    with_a_forward_of_its_own,
    combining_otherwise,
]


def computed_from(cell: Cell) -> list[str]:
    """The parameters of a map whose arity the trees have, of which the gates' weight is made."""
    gates = next(name for name in ("gates_any", "gates_2") if name in cell.maps)
    return [name for name, p in cell.named_parameters() if f".{gates}." in name and "bias" not in name and p.numel()]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("patch", PATCHES)
def test_every_engine_sees_what_was_put_on_a_cell(patch: Callable[[Cell], None], name: str) -> None:
    """As DGL's functions do, which are differentiated by autograd alone."""
    cell = make_cell(name)
    trees = drawn(cell)
    plain = runner_engine(cell, trees)["h"]
    patch(cell)
    expected = runner_engine(cell, trees)
    wanted = gradients(cell, expected)
    assert all(wanted[what].any() for what in computed_from(cell))
    expected = {part: tensor.detach() for part, tensor in expected.items()}
    if patch not in (weight_norm, old_weight_norm):  # which change a weight's form alone
        assert not torch.allclose(plain, expected["h"])
    for engine in ALL.values():
        compare(cell, trees, engine, expected, wanted)


@pytest.mark.parametrize("name", NAMES)
def test_parametrized_weights_agree_with_recursion(name: str) -> None:
    cell = make_cell(name)
    weight_norm(cell)
    for engine in ALL.values():
        check(cell, drawn(cell), engine)


def test_pruned_weights_are_zero_and_get_no_gradient() -> None:
    cell, dense = make_cell("tree_lstm"), make_cell("tree_lstm")
    pruned(cell)
    for own, other in zip(cell.named_maps().values(), dense.named_maps().values(), strict=True):
        with torch.no_grad():
            other.weight *= own.weight_mask
    expected = recursion(dense, drawn(dense))
    wanted = gradients(dense, expected)
    found = propagate(drawn(cell), cell)
    assert_close(found["h"], expected["h"], "h")
    given = gradients(cell, found)
    for name, linear in cell.named_maps().items():
        wanted_here = wanted[f"maps.{name}.weight"] * linear.weight_mask
        assert_close(given[f"maps.{name}.weight_orig"], wanted_here, name)


class Run(nn.Module):
    """An engine as a module, whose weights ``functional_call`` can replace."""

    def __init__(self, cell: Cell, engine: Engine) -> None:
        super().__init__()
        self.cell, self.engine = cell, engine

    def forward(self, trees: TreeBatch) -> State:
        return self.engine(self.cell, trees)


@pytest.mark.parametrize("engine", ALL)
@pytest.mark.parametrize("name", NAMES)
def test_weights_of_functional_call_get_the_gradients_of_a_cell_that_has_them(name: str, engine: str) -> None:
    """They are computed from others, as after a step of MAML."""
    cell, other = make_cell(name), make_cell(name, seed=1)
    trees = drawn(other)
    states = recursion(other, trees)
    wanted = gradients(other, states)
    leaves = {what: (p.detach() / 3).requires_grad_() for what, p in other.named_parameters()}
    given = {f"cell.{what}": 3 * leaf for what, leaf in leaves.items()}
    found = functional_call(Run(cell, ALL[engine]), given, (trees,))
    for part, tensor in states.items():
        assert_close(found[part], tensor, part)
    holder = nn.ParameterDict()
    holder.named_parameters = lambda: leaves.items()  # type: ignore[method-assign]
    for what, gradient in gradients(holder, found).items():  # type: ignore[arg-type]
        assert_close(gradient, 3 * wanted[what], what)


def test_kernels_compute_parametrized_cells_and_leave_others_to_torch() -> None:
    covered = []
    for patch in PATCHES:
        cell = make_cell("tree_lstm")
        patch(cell)
        if get_fused(cell) is not None:
            covered.append(patch)
    assert covered == [weight_norm]


@pytest.mark.parametrize("mode", ["off", "on"])
@pytest.mark.parametrize("patch", PATCHES)
@pytest.mark.parametrize("name", ["tree_smu, no_op", "tree_rnn, two layers"])
def test_ranking_scores_what_the_patched_model_scores(name: str, patch: Callable[[Cell], None], mode: str) -> None:
    model, asked, fillers = make_model(name), questions(1)[:6], candidates(2)[:4]
    patch(model.encoder.cell)
    with kernels(mode):
        ranker = Ranker(model, fillers)
        for equation, ranking in zip(asked, ranker.rank(asked), strict=True):
            expected = whole_scores(model, equation, fillers)
            assert_close(ranking.scores, expected[ranking.index], "scores")


@pytest.mark.parametrize("patch", PATCHES)
def test_a_ranker_notices_what_is_put_on_its_model(patch: Callable[[Cell], None]) -> None:
    model, asked, fillers = make_model("tree_rnn, two layers"), questions(1)[:2], candidates(2)[:4]
    ranker = Ranker(model, fillers)
    ranker.rank(asked)
    patch(model.encoder.cell)
    for found, expected in zip(ranker.rank(asked), Ranker(model, fillers).rank(asked), strict=True):
        assert torch.equal(found.scores, expected.scores)


def scaled_by_a_hook(cell: Cell, scale: Tensor, _: pytest.MonkeyPatch) -> None:
    cell.maps["gates_2"].register_forward_hook(lambda _, given, out: out * scale)


def scaled_by_the_cell(cell: Cell, scale: Tensor, _: pytest.MonkeyPatch) -> None:
    cell.combine = times(scale, cell.combine)


def scaled_by_the_class(_: Cell, scale: Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TreeLSTM, "combine", times(scale, TreeLSTM.combine))


def times(scale: Tensor, combine: Callable[..., State]) -> Callable[..., State]:
    def scaled(*given: object) -> State:
        found = combine(*given)
        return {**found, "h": found["h"] * scale}

    return scaled


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("close_over", [scaled_by_a_hook, scaled_by_the_cell, scaled_by_the_class])
def test_a_tensor_that_is_closed_over_gets_its_gradient(
    close_over: Callable[[Cell, Tensor, pytest.MonkeyPatch], None], recompute: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no parameter of the cell, and need not be one."""
    monkeypatch.setattr(executor, "SEGMENT_ROWS", 5)
    cell, scale = make_cell("tree_lstm"), torch.full((1, 1), 0.9, dtype=torch.float64, requires_grad=True)
    cell.dropout = 0.3
    close_over(cell, scale, monkeypatch)

    def loss(**options: bool) -> Tensor:
        torch.manual_seed(0)
        with kernels("off"):
            return propagate(drawn(cell), cell, **options)["h"].square().sum()

    (found,) = torch.autograd.grad(loss(recompute=recompute), scale)
    with torch.no_grad():
        scale += 1e-6
        above = loss()
        scale -= 2e-6
        below = loss()
    assert abs(float(found) - float(above - below) / 2e-6) < 1e-6
    assert float(found.abs()) > 1e-3


def test_a_module_in_the_place_of_a_method_is_refused() -> None:
    """Python would go on to find the class's."""
    with pytest.raises(
        TypeError, match="combine is a method of TreeLSTM, which a module of that name would not replace"
    ):
        make_cell("tree_lstm").combine = nn.Identity()


@pytest.mark.parametrize("mode", ["off", "on"])
def test_a_plan_made_in_inference_mode_is_refused_where_gradients_are_asked_for(mode: str) -> None:
    cell = make_cell("tree_lstm")
    with torch.inference_mode():
        planned = plan(drawn(cell), cell)
    with kernels(mode):
        with pytest.raises(ValueError, match=r"planned within torch\.inference_mode.*plan it outside"):
            propagate(planned, cell)
        with torch.no_grad():
            found = propagate(planned, cell)
        assert_close(found["h"], propagate(drawn(cell), cell)["h"].detach(), "h", 1e-14)
