"""Cells by machine code that is made of their ``combine``: torch's numbers, and whatever is changed takes effect."""

import gc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from engines import assert_close, gradients
from helpers import ANY, VOCABULARY, chain, random_dag, random_tree, suited
from rows import make_cell
from torch import Tensor, nn

from dgltree import Tree, Vocabulary, batch, plan, propagate, root_states
from dgltree.cells import (
    Affine,
    Cell,
    ChildSumTreeLSTM,
    DownwardCell,
    DownwardTreeLSTM,
    TreeCell,
    TreeLSTM,
    TreeRNN,
    TreeSMU,
    stack_cell,
    tree_lstm,
)
from dgltree.cells.compose import LayerNorm
from dgltree.engine.aggregation import MeanAggregation
from dgltree.engine.compiled import compiled_pass, rows
from dgltree.engine.contract import Children, State
from dgltree.engine.kernels.blas import product_address
from dgltree.engine.kernels.dispatch import NoKernelError, get_fused, kernels
from dgltree.engine.typed_linear import Linear

pytest.importorskip("llvmlite", minversion="0.44", reason="llvmlite is not installed, or is too old")
if product_address(torch.float64) is None:
    pytest.skip("the BLAS library of this torch is unknown", allow_module_level=True)

TREES = [*(random_tree(5, 3, seed) for seed in range(4)), random_dag(12, 3, 4)]
FACTOR = 1.0


class TreeGRU(Cell):
    """That of docs/own_cell.md."""

    def __init__(self, vocabulary: Any, hidden_size: int, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, **options)
        self.norm = LayerNorm(hidden_size)
        self.build()

    @property
    def state(self) -> dict[str, tuple[int, ...]]:
        return {"h": (self.hidden_size,)}

    def gates(self, arity: int) -> dict[str, int]:
        return {"u": self.hidden_size, "z": self.hidden_size, "r": arity * self.hidden_size}

    def products(self, arity: int) -> dict[str, Affine]:
        return {"reset": Affine(self.hidden_size, self.hidden_size, bias=False)}

    def combine(self, pre: State, children: Children, linear: Linear) -> dict[str, Any]:
        z, r = torch.sigmoid(pre["z"]), torch.sigmoid(pre["r"]).split(self.hidden_size, -1)
        reset = kept = torch.zeros_like(z)
        for r_k, h_k in zip(r, children["h"], strict=False):  # a leaf has none
            reset = reset + r_k * h_k
            kept = kept + h_k / len(r)
        u = self.changed(torch.tanh(pre["u"] + linear("reset", reset)))
        return {"h": self.norm(z * u + (1 - z) * kept), "z": z, "r": r}

    def changed(self, u: Tensor) -> Tensor:
        return u * FACTOR


@pytest.fixture(scope="module", autouse=True)
def own_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What one test compiles another reads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DGLTREE_CACHE", str(tmp_path_factory.mktemp("compiled")))
        yield


@pytest.fixture(autouse=True)
def own_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def made(kind: type[Cell], **options: Any) -> Any:
    torch.manual_seed(0)
    return kind(VOCABULARY, 5, **options).double()


def found(cell: Cell, mode: str, trees: list[Tree] = TREES, **options: Any) -> tuple[State, State]:
    """States and gradients."""
    torch.manual_seed(1)
    with kernels(mode):
        states = propagate(batch(trees, cell.vocabulary), cell, **options)
    return states, gradients(cell, states)


def assert_same(cell: Cell, mode: str = "required", trees: list[Tree] = TREES, **options: Any) -> Tensor:
    """Torch's numbers; returns the states of nodes."""
    (states, to), (expected, wanted) = (found(cell, each, trees, **options) for each in (mode, "off"))
    for part, tensor in expected.items():
        assert_close(states[part], tensor, part)
    for what, gradient in wanted.items():
        assert_close(to[what], gradient, what)
    return states["h"].detach()


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A list to which every pass by generated machine code is added."""
    counted: list[object] = []
    run = compiled_pass.FunctionPass.run
    monkeypatch.setattr(compiled_pass.FunctionPass, "run", lambda passed: counted.append(passed) or run(passed))
    return counted


OPTIONS: list[dict[str, Any]] = [
    {},
    {"typed": False},
    {"rank": 2},
    {"input_size": 3, "functions": True},
    {"input_size": 3, "leaf": "gates"},
    {"dropout": 0.4},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("share", [False, True])
def test_a_cell_of_ones_own_has_torchs_numbers(options: dict[str, Any], share: bool, passes: list[object]) -> None:
    cell = made(TreeGRU, **options).train(not share)
    assert_same(cell, share=share)
    assert len(passes) == 1
    assert_same(cell, trees=[chain(300), Tree("var", token="x"), Tree("sin", (Tree("var", token="x"),))], share=share)


def test_single_precision_is_torchs_to_its_rounding() -> None:
    cell = made(TreeGRU).float()
    (states, to), (expected, wanted) = (found(cell, mode) for mode in ("required", "off"))
    assert_close(states["h"], expected["h"], "h", 1e-5)
    for what, gradient in wanted.items():
        assert_close(to[what], gradient, what, 1e-4)


def test_roots_alone_and_planned_batches_have_the_states_of_a_pass() -> None:
    cell = made(TreeGRU)
    flat = batch(TREES, VOCABULARY)
    with kernels("required"):
        states = propagate(flat, cell)["h"]
        assert torch.equal(root_states(flat, cell), states[flat.roots])
        planned = plan(flat, cell)
        for _ in range(2):
            assert torch.equal(propagate(planned, cell)["h"], states)


def test_leaves_may_begin_with_any_memory() -> None:
    class Filled(TreeLSTM):
        def embedded_leaves(self, token: Tensor, value: Tensor | None) -> State:
            states = super().embedded_leaves(token, value)
            return {**states, "c": states["h"].new_ones(()).expand_as(states["h"])}

    assert_same(made(Filled))


def test_a_part_of_the_state_may_have_the_name_of_the_inputs() -> None:
    class Named(TreeGRU):
        @property
        def state(self) -> dict[str, tuple[int, ...]]:
            return {"h": (self.hidden_size,), "x": (2, self.hidden_size), "node": (1,)}

        def combine(self, pre: State, children: Children, linear: Linear) -> dict[str, Any]:
            x = torch.stack([pre["z"], children["x"][0][..., 0, :]], -2)
            return {**super().combine(pre, children, linear), "x": torch.tanh(x), "node": pre["u"][..., :1]}

    assert_same(made(Named, input_size=3, functions=True))


def test_leaves_alone_are_no_pass(passes: list[object]) -> None:
    assert_same(made(TreeGRU), trees=[Tree("var", token="x")])
    assert not passes


def test_a_second_derivative_is_that_of_torchs_operations() -> None:
    penalties = []
    for mode in ("required", "off"):
        cell = made(TreeGRU, dropout=0.4)
        torch.manual_seed(1)
        with kernels(mode):
            h = propagate(batch(TREES, VOCABULARY), cell)["h"]
        own = [*cell.parameters()]
        first = torch.autograd.grad(h.square().sum(), own, create_graph=True, allow_unused=True)
        loss = sum((each.square().sum() for each in first if each is not None), torch.zeros(()))
        penalties.append(torch.autograd.grad(loss, own, allow_unused=True, materialize_grads=True))
    for one, other in zip(*penalties, strict=True):
        assert_close(one, other, "second derivative")


def test_any_number_of_threads_has_the_same_bits(monkeypatch: pytest.MonkeyPatch, passes: list[Any]) -> None:
    monkeypatch.setattr(rows, "MIN_PART_ROWS", 16)
    trees = [random_tree(4, 3, seed) for seed in range(40)]
    cell, results = made(TreeGRU, dropout=0.3), []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        results.append(found(cell, "required", trees))
    assert passes[0].parts > 2
    for states, to in results[1:]:
        assert torch.equal(states["h"], results[0][0]["h"])
        assert all(torch.equal(gradient, results[0][1][what]) for what, gradient in to.items())
    assert_same(cell, trees=trees)


def test_cells_with_other_numbers_of_children_are_told_apart() -> None:
    binary = Tree("add", (Tree("var", token="x"), Tree("var", token="y")))
    assert_same(made(TreeGRU))
    assert_same(TreeGRU(Vocabulary.from_trees([binary]), 5).double(), trees=[binary])


# ---------------------------------------------------------------------------------------------------------------------
# What is changed takes effect at the next pass.


def doubled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method or a helper whose ``h`` is twice as large."""

    def run(*given: Any, **options: Any) -> Any:
        result = function(*given, **options)
        return {**result, "h": 2 * result["h"]}

    return run


def edited_combine(cell: Cell, patch: pytest.MonkeyPatch) -> Cell:
    patch.setattr(type(cell), "combine", doubled(type(cell).combine))
    return cell


def own_combine(cell: Cell, patch: pytest.MonkeyPatch) -> Cell:
    cell.combine = doubled(cell.combine)  # type: ignore[method-assign]
    return cell


def mixin(cell: Cell, patch: pytest.MonkeyPatch) -> Cell:
    class Louder:
        def combine(self, *given: Any) -> Any:
            return doubled(super().combine)(*given)  # type: ignore[misc]

    cell.__class__ = type("Mixed", (Louder, type(cell)), {})
    return cell


def hook(cell: Cell, patch: pytest.MonkeyPatch) -> Cell:
    cell.maps["gates_2"].register_forward_hook(lambda module, given, result: 2 * result)
    return cell


CHANGES = [edited_combine, own_combine, mixin, hook]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", [TreeGRU, TreeLSTM])
def test_a_change_takes_effect_at_the_next_pass(
    kind: type[Cell], change: Callable[[Cell, pytest.MonkeyPatch], Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = made(kind)
    before = assert_same(cell, "on")
    after = assert_same(change(cell, monkeypatch), "on")
    assert not torch.allclose(before, after)
    monkeypatch.undo()


def test_a_patched_helper_takes_effect_at_the_next_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    lstm, smu = made(TreeLSTM), made(TreeSMU)
    assert get_fused(lstm) is not None
    assert get_fused(smu) is not None
    before = assert_same(lstm, "on"), assert_same(smu, "on")
    monkeypatch.setattr(tree_lstm, "lstm_state", doubled(tree_lstm.lstm_state))
    update = stack_cell.update
    monkeypatch.setattr(stack_cell, "update", lambda *given: tuple(2 * each for each in update(*given)))
    after = assert_same(lstm, "on"), assert_same(smu, "on")
    assert not any(torch.allclose(*pair) for pair in zip(before, after, strict=True))
    assert get_fused(lstm) is None
    assert get_fused(smu) is None


class Halved(MeanAggregation):
    """One that inherits all but the equation."""

    def forward(self, rows: State, group: Tensor, count: int) -> State:
        return {name: each / 2 for name, each in super().forward(rows, group, count).items()}


def test_an_aggregation_is_what_its_forward_says(monkeypatch: pytest.MonkeyPatch) -> None:
    def states(how: Any) -> Tensor:
        torch.manual_seed(0)
        cell = ChildSumTreeLSTM(ANY, 5, aggregation=how).double()
        return assert_same(cell, "on", suited(cell, TREES[:1]))

    forward = MeanAggregation.forward
    mean, halved = states("mean"), states(Halved(5))
    monkeypatch.setattr(
        MeanAggregation, "forward", lambda self, *rows: {k: 3 * v for k, v in forward(self, *rows).items()}
    )
    tripled = states("mean")
    assert not any(torch.allclose(mean, other) for other in (halved, tripled))


def test_what_combine_reads_elsewhere_takes_effect_at_the_next_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Reading(TreeGRU):
        def changed(self, u: Tensor) -> Tensor:
            return u * float((tmp_path / "factor").read_text()) + (0.5 if self.training else 0.0)

    cell = made(Reading)
    (tmp_path / "factor").write_text("2")
    trained = assert_same(cell)
    evaluated = assert_same(cell.eval())
    (tmp_path / "factor").write_text("3")
    assert not any(torch.allclose(assert_same(cell), before) for before in (trained, evaluated))
    own = made(TreeGRU)
    before = assert_same(own)
    monkeypatch.setattr(f"{__name__}.FACTOR", 2.0)
    assert not torch.allclose(assert_same(own), before)


def test_a_function_that_was_set_as_an_attribute_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = made(TreeRNN)
    cell.act = lambda v: torch.tanh(FACTOR * v)
    before = assert_same(cell)
    monkeypatch.setattr(f"{__name__}.FACTOR", 2.0)
    assert not torch.allclose(assert_same(cell), before)


def test_a_function_of_torch_that_was_replaced_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = made(TreeRNN, dropout=0.4)
    before = assert_same(cell)
    monkeypatch.setattr(nn.functional, "dropout", lambda v, p, training: v * (1 - p))
    assert not torch.allclose(assert_same(cell), before)
    monkeypatch.undo()
    assert torch.equal(assert_same(cell), before)


def test_other_weights_and_other_options_of_one_class_are_told_apart() -> None:
    cells = [made(TreeCell), make_cell("tree_cell, typed"), made(TreeGRU), made(TreeGRU, typed=False)]
    for _ in range(2):
        for cell in cells:
            assert_same(cell)
    with torch.no_grad():
        for weight in cells[0].parameters():
            weight.mul_(1.5)
    cells[0].norm.bias = nn.Parameter(torch.ones(5, dtype=torch.float64))
    assert_same(cells[0])


# ---------------------------------------------------------------------------------------------------------------------
# Downwards.


class DownwardGRU(DownwardCell):
    """That of docs/own_cell.md, with a dropout and the place of a child."""

    reads_up = True

    def __init__(self, vocabulary: Any, hidden_size: int, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, **options)
        self.build()

    @property
    def state(self) -> dict[str, tuple[int, ...]]:
        return {"h": (self.hidden_size,)}

    def gates(self) -> dict[str, int]:
        return {"u": self.hidden_size, "z": self.hidden_size, "r": self.hidden_size}

    def products(self) -> dict[str, Affine]:
        return {"reset": Affine(self.hidden_size, self.hidden_size, bias=False)}

    def send(self, pre: State, parent: State, slot: Tensor, linear: Linear) -> State:
        z, r = torch.sigmoid(pre["z"]), torch.sigmoid(pre["r"])
        u = self.drop(torch.tanh(pre["u"] + linear("reset", r * parent["h"]))) * (
            1 + 0.1 * slot.to(z.dtype).unsqueeze(-1)
        )
        return {"h": z * u + (1 - z) * parent["h"], "z": z}


def found_down(cell: Any, mode: str, trees: list[Tree], share: bool, twice: bool) -> list[Tensor]:
    """States, and gradients of all parameters and of the upward states; with ``twice`` second derivatives, too."""
    flat = batch(trees, VOCABULARY)
    with torch.no_grad(), kernels("off"):
        up = {part: rows.double() for part, rows in propagate(flat, made(TreeLSTM)).items()}
    scaled = {part: (2 * rows).requires_grad_() for part, rows in up.items()}
    torch.manual_seed(1)
    with kernels(mode):
        given = {part: rows * 1.0 for part, rows in scaled.items()}
        states = propagate(flat, cell, share, direction="down", up=given)
    nothing = torch.zeros((), dtype=torch.float64)
    own = [*cell.parameters(), *scaled.values()]
    options: dict[str, Any] = {"allow_unused": True, "materialize_grads": True}
    loss = sum((rows.square().sum() for rows in states.values()), nothing)
    first = torch.autograd.grad(loss, own, create_graph=twice, **options)
    if twice:
        penalty = sum((each.square().sum() for each in first), nothing)
        first += torch.autograd.grad(penalty, own, **options)
    return [*states.values(), *first]


@pytest.mark.parametrize("options", [{}, {"typed": False}, {"aggregation": "attention"}, {"dropout": 0.4}])
@pytest.mark.parametrize("kind", [DownwardTreeLSTM, DownwardGRU])
def test_a_downward_cell_has_torchs_numbers(kind: Any, options: dict[str, Any], passes: list[object]) -> None:
    cell = made(kind, **options)
    trees = [chain(30), Tree("add", (Tree("sin", (Tree("var", token="x"),)), Tree("neg", (Tree("var", token="y"),))))]
    for share in (False, True):
        cell.train(not share)
        on, off = (found_down(cell, mode, trees, share, not share) for mode in ("required", "off"))
        for one, other in zip(on, off, strict=True):
            assert_close(one, other, f"{kind.__name__}, {options}, share={share}")
    assert len(passes) == 2


def test_a_node_with_several_parents_and_positions_are_for_torchs_operations() -> None:
    for kind, trees, why in (
        (DownwardGRU, [random_dag(12, 3, 4)], "a node has several parents"),
        (DownwardTreeLSTM, TREES[:1], "gates read positions"),
    ):
        cell = made(kind, positions=why == "gates read positions")
        on, off = (found_down(cell, mode, trees, False, False) for mode in ("on", "off"))
        for one, other in zip(on, off, strict=True):
            assert_close(one, other, why)
        with pytest.raises(NoKernelError, match=why):
            found_down(cell, "required", trees, False, False)


# ---------------------------------------------------------------------------------------------------------------------
# What is no program, and says why.


class Noisy(TreeGRU):
    def changed(self, u: Tensor) -> Tensor:
        return u + torch.rand_like(u)


class Deciding(TreeGRU):
    def changed(self, u: Tensor) -> Tensor:
        return -u if u.sum() > 0 else u


def test_a_cell_that_is_no_program_is_computed_by_torchs_operations() -> None:
    for kind, why in ((Noisy, "random numbers"), (Deciding, "the functions branch on a value: .*changed|u.sum")):
        cell = made(kind)
        assert_same(cell, "on")
        with pytest.raises(NoKernelError, match=f"a {kind.__name__} is not compiled: {why}"):
            found(cell, "required")


def test_a_state_that_is_a_view_of_a_child_and_a_branch_on_the_number_of_children() -> None:
    class Branching(TreeGRU):
        def combine(self, pre: State, children: Children, linear: Linear) -> dict[str, Any]:
            if len(children["h"]) == 1:
                return {"h": children["h"][0]}
            if len(children["h"]) == 3:
                return {"h": children["h"][2][..., -1:] * children["h"][0]}
            return super().combine(pre, children, linear)

    assert_same(made(Branching))


def test_a_map_with_a_hook_says_why_a_pass_is_not_compiled() -> None:
    cell = made(TreeGRU)
    cell.maps["gates_1"].register_forward_hook(lambda module, given, result: result)
    with kernels("required"), pytest.raises(NoKernelError, match="'gates_1' has hooks"):
        propagate(batch(TREES, VOCABULARY), cell)


def test_each_number_of_children_is_compiled_a_few_times_whatever_others_a_batch_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vocabulary = Vocabulary([("x", 0), *((f"f{arity}", arity) for arity in range(1, 6))], ["x"])
    cell = TreeRNN(vocabulary, 3).double()
    x = Tree("x", token="x")
    compiled: list[object] = []
    compile_code = compiled_pass.PassCode.compile
    monkeypatch.setattr(compiled_pass.PassCode, "compile", lambda code: compiled.append(code) or compile_code(code))
    for number in range(1, 32):
        arities = [arity for arity in range(1, 6) if number >> (arity - 1) & 1]
        trees = batch(
            [Tree(f"f{arity}", [Tree(f"f{arities[0]}", [x] * arities[0])] * arity) for arity in arities], vocabulary
        )
        found = propagate(trees, cell)["h"]
        with kernels("off"):
            assert_close(found, propagate(trees, cell)["h"], str(arities))
    assert len(compiled) <= 5


class Scaled(TreeRNN):
    """Multiplies states by a tensor that is no parameter."""

    def combine(self, pre: State, children: Children, linear: Linear) -> dict[str, Tensor]:
        return {"h": super().combine(pre, children, linear)["h"] * self.scale}


def test_a_plan_keeps_no_tensor_of_a_cell_that_ran_along_it() -> None:
    cell = Scaled(VOCABULARY, 4).double()
    cell.scale = torch.full((4,), 2.0, dtype=torch.float64)
    planned = plan(batch(suited(cell, TREES), VOCABULARY), cell)
    with kernels("required"):
        propagate(planned, cell)["h"].sum().backward()
    scale = weakref.ref(cell.scale)
    del cell
    gc.collect()
    assert scale() is None
    assert planned.schedule.steps
