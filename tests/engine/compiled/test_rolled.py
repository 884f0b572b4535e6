"""Programs that loop over children: one for all numbers of them from three on, with torch's numbers."""

import random
from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import pytest
import torch
from engines import assert_close, gradients
from torch import Tensor

from dgltree import Tree, Vocabulary, batch, propagate
from dgltree.cells import GRC, Affine, Cell, StackTreeLSTM, StackTreeRNN, TreeCell, TreeLSTM, TreeRNN, TreeSMU
from dgltree.engine.compiled import catalogue, cell_pass, known_functions, rolled
from dgltree.engine.compiled.programs import NodeProgram
from dgltree.engine.contract import Children, State
from dgltree.engine.kernels.blas import product_address
from dgltree.engine.kernels.dispatch import NoKernelError, kernels
from dgltree.engine.typed_linear import Linear

pytest.importorskip("llvmlite", minversion="0.44", reason="llvmlite is not installed, or is too old")
if product_address(torch.float64) is None:
    pytest.skip("the BLAS library of this torch is unknown", allow_module_level=True)

ARITIES = [1, 2, 3, 4, 5, 7, 9]
"""One more than a cell may have programs."""


def drawn_trees(arities: list[int], seed: int = 0, count: int = 6) -> list[Tree]:
    """Trees whose inner nodes have these numbers of children, each number at least once."""
    draw = random.Random(seed)

    def below(depth: int, arity: int) -> Tree:
        if not depth:
            return Tree("leaf", token=draw.choice("abcd"))
        children = [below(depth - 1 if draw.random() < 0.4 else 0, draw.choice(arities)) for _ in range(arity)]
        return Tree(f"f{arity}", children)

    return [below(2, arity) for arity in arities] + [below(3, draw.choice(arities)) for _ in range(count)]


TREES = drawn_trees(ARITIES)
VOCABULARY = Vocabulary.from_trees(TREES)


def made(kind: type[Cell], vocabulary: Vocabulary = VOCABULARY, **options: Any) -> Cell:
    torch.manual_seed(0)
    return kind(vocabulary, 6, **options).double()


def outcome(cell: Cell, mode: str, trees: list[Tree]) -> tuple[State, State]:
    torch.manual_seed(1)
    with kernels(mode):
        states = propagate(batch(trees, cell.vocabulary), cell)
    return states, gradients(cell, states)


def assert_as_torch(cell: Cell, trees: list[Tree] = TREES) -> None:
    (states, to), (expected, wanted) = (outcome(cell, mode, trees) for mode in ("required", "off"))
    for part, tensor in expected.items():
        assert_close(states[part], tensor, part, tolerance=1e-13)
    for what, gradient in wanted.items():
        assert_close(to[what], gradient, what, tolerance=1e-13)


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """No program is known."""
    monkeypatch.setattr(cell_pass, "_of_ours", {})
    monkeypatch.setattr(cell_pass, "_memory", known_functions.Memory())


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, NodeProgram]]:
    """Numbers of children, and the programs that are made for them; a cell that is not compiled is an error."""
    found: list[tuple[int, NodeProgram]] = []

    def rolled_and_kept(program: NodeProgram, degree: int) -> NodeProgram:
        made = rolled.rolled(program, degree)
        found.append((degree, made))
        return made

    monkeypatch.setattr(catalogue, "rolled", rolled_and_kept)
    return found


Programs = list[tuple[int, NodeProgram]]


def forms(programs: Programs) -> int:
    return len({program.form for _, program in programs})


# ---------------------------------------------------------------------------------------------------------------------
# Cells of ours.


CELLS: list[tuple[type[Cell], dict[str, Any]]] = [
    (TreeLSTM, {}),
    (TreeLSTM, {"input_size": 3, "functions": True}),
    (TreeLSTM, {"rank": 2, "dropout": 0.3}),
    (StackTreeLSTM, {"no_op": True, "data_gate": True, "normalize": True, "top_k": 2}),
    (StackTreeLSTM, {"gated_top_k": True, "top_k": 3, "data_gate": True, "input_size": 3}),
    (StackTreeRNN, {"no_op": True}),
    (TreeSMU, {"typed": False}),
    (TreeRNN, {}),
    (TreeCell, {"dropout": 0.3}),
    (GRC, {}),
]


@pytest.mark.parametrize(("kind", "options"), CELLS)
def test_cells_have_one_program_for_all_numbers_of_children_from_three_on(
    kind: type[Cell], options: dict[str, Any], programs: Programs
) -> None:
    assert_as_torch(made(kind, **options))
    assert forms([each for each in programs if each[0] >= 3]) == 1
    assert forms(programs) == 3


@pytest.mark.parametrize("kind", [TreeLSTM, TreeSMU])
def test_two_children_by_a_loop_too(kind: type[Cell], programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rolled, "LEAST_ROLLED", 2)
    assert_as_torch(made(kind))
    assert forms(programs) == 2


def test_many_children(programs: Programs) -> None:
    trees = drawn_trees([2, 70], count=1)
    assert_as_torch(made(TreeLSTM, Vocabulary.from_trees(trees)), trees)
    assert {degree for degree, _ in programs} == {2, 70}


def test_very_many_operations_are_not_looked_at(programs: Programs) -> None:
    """As of a node of 60 children that compares each with each: it would take seconds, and minutes with 200."""

    def pairs(pre: State, children: Children, linear: Linear) -> Tensor:
        return pre["u"] + sum(one * other for one, other in product(children["h"], repeat=2))

    trees = drawn_trees([60], count=0)
    cell = made(OwnCell, Vocabulary.from_trees(trees), widths=lambda n: {"u": 6}, new=pairs)
    with pytest.raises(NoKernelError):
        outcome(cell, "required", trees)
    assert not programs


# ---------------------------------------------------------------------------------------------------------------------
# Cells of one's own: where children's columns lie, and what is not alike.


class OwnCell(Cell):
    """The gates and the state of a cell by functions that a test gives."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        hidden_size: int,
        widths: Callable[[int], dict[str, int]],
        new: Callable[[State, Children, Linear], Tensor],
        **options: Any,
    ) -> None:
        super().__init__(vocabulary, hidden_size, **options)
        self.widths, self.new = widths, new
        self.build()

    @property
    def state(self) -> dict[str, tuple[int, ...]]:
        return {"h": (self.hidden_size,)}

    def gates(self, arity: int) -> dict[str, int]:
        return self.widths(arity)

    def products(self, arity: int) -> dict[str, Affine]:
        return {"inner": Affine(self.hidden_size, self.hidden_size)}

    def combine(self, pre: State, children: Children, linear: Linear) -> State:
        return {"h": torch.tanh(self.new(pre, children, linear))}


def weighted(gates: tuple[Tensor, ...], h: list[Tensor], start: Tensor) -> Tensor:
    for gate, own in zip(gates, h, strict=True):
        start = start + torch.sigmoid(gate) * own
    return start


def two_blocks(pre: State, children: Children, linear: Linear) -> Tensor:
    first, second = pre["f"].split(6, -1), pre["g"].split(6, -1)
    return weighted(first, children["h"], pre["u"]) * weighted(second, children["h"], pre["v"])


def interleaved(pre: State, children: Children, linear: Linear) -> Tensor:
    both = pre["f"].split(6, -1)
    return weighted(both[::2], children["h"], pre["u"]) - weighted(both[1::2], children["h"], pre["v"])


def mean(pre: State, children: Children, linear: Linear) -> Tensor:
    h = children["h"]
    return pre["u"] + linear("inner", sum(h) / len(h)) + sum(torch.sin(each) * (1 / len(h)) for each in h)


def through_a_matrix(pre: State, children: Children, linear: Linear) -> Tensor:
    return pre["v"] * linear("inner", weighted(pre["f"].split(6, -1), children["h"], pre["u"]))


def one_number_each(pre: State, children: Children, linear: Linear) -> Tensor:
    weights = torch.softmax(pre["a"], -1).split(1, -1)
    return pre["u"] + sum(weight * h for weight, h in zip(weights, children["h"], strict=True))


def first_child(pre: State, children: Children, linear: Linear) -> Tensor:
    return pre["u"] + 2 * children["h"][0] + sum(children["h"])


def backwards(pre: State, children: Children, linear: Linear) -> Tensor:
    return weighted(pre["f"].split(6, -1), children["h"][::-1], pre["u"])


def neighbours(pre: State, children: Children, linear: Linear) -> Tensor:
    h = children["h"]
    return pre["u"] + sum(one * other for one, other in pairwise(h))


def normalised(pre: State, children: Children, linear: Linear) -> Tensor:
    whole = pre["a"]
    u, *gates = (whole - whole.mean(-1, keepdim=True)).split(6, -1)
    return weighted(tuple(gates), children["h"], u)


def overlapping(pre: State, children: Children, linear: Linear) -> Tensor:
    h, f = children["h"], pre["f"]
    own = weighted(tuple(f[..., 8 * k : 8 * k + 6] for k in range(len(h))), h, pre["u"])
    return weighted(tuple(f[..., 8 * k + 4 : 8 * k + 10] for k in range(len(h))), h, own)


def in_two_widths(pre: State, children: Children, linear: Linear) -> Tensor:
    first = weighted(pre["f"][..., : len(children["h"])].split(1, -1), children["h"], pre["u"])
    return weighted(pre["f"].split(6, -1), children["h"], first)


def also_read_from_before(pre: State, children: Children, linear: Linear) -> Tensor:
    return torch.sigmoid(pre["f"][..., :6]) * weighted(pre["f"][..., 2:].split(6, -1), children["h"], pre["u"])


def behind_columns_that_nothing_reads(pre: State, children: Children, linear: Linear) -> Tensor:
    return weighted(tuple(each[..., 2:] for each in pre["f"].split(8, -1)), children["h"], pre["u"])


ALIKE: dict[str, tuple[Callable[[int], dict[str, int]], Any]] = {
    "two blocks": (lambda n: {"u": 6, "f": 6 * n, "v": 6, "g": 6 * n}, two_blocks),
    "interleaved": (lambda n: {"u": 6, "f": 12 * n, "v": 6}, interleaved),
    "block first": (lambda n: {"f": 6 * n, "u": 6, "v": 6}, through_a_matrix),
    "mean": (lambda n: {"u": 6}, mean),
}
OTHERS: dict[str, tuple[Callable[[int], dict[str, int]], Any]] = {
    "first child": (lambda n: {"u": 6}, first_child),
    "backwards": (lambda n: {"u": 6, "f": 6 * n}, backwards),
    "neighbours": (lambda n: {"u": 6}, neighbours),
    "softmax": (lambda n: {"u": 6, "a": n}, one_number_each),
    "normalised": (lambda n: {"a": 6 * (n + 1)}, normalised),
    "overlapping": (lambda n: {"f": 8 * n + 2, "u": 6}, overlapping),
    "in two widths": (lambda n: {"f": 6 * n, "u": 6}, in_two_widths),
    "also read from before": (lambda n: {"u": 6, "f": 6 * n + 2}, also_read_from_before),
    "behind columns that nothing reads": (lambda n: {"u": 6, "f": 8 * n}, behind_columns_that_nothing_reads),
}


@pytest.mark.parametrize("input_size", [None, 3])
@pytest.mark.parametrize("name", ALIKE)
def test_children_of_ones_own_cells_are_alike(name: str, input_size: int | None, programs: Programs) -> None:
    widths, new = ALIKE[name]
    assert_as_torch(made(OwnCell, widths=widths, new=new, input_size=input_size))
    assert forms([each for each in programs if each[0] >= 3]) == 1


@pytest.mark.parametrize("name", OTHERS)
def test_children_that_are_not_alike_have_values_of_their_own(name: str, programs: Programs) -> None:
    trees = drawn_trees([1, 2, 3, 4])
    widths, new = OTHERS[name]
    assert_as_torch(made(OwnCell, Vocabulary.from_trees(trees), widths=widths, new=new), trees)
    assert all(program.by_child for _, program in programs)


def test_columns_that_nothing_reads_have_a_gradient_of_zeros() -> None:
    """There is a program for each number of children, as nothing says whose such columns are."""
    trees = drawn_trees([1, 3, 4])
    cell = made(
        OwnCell,
        Vocabulary.from_trees(trees),
        widths=lambda n: {"x": 6 * n, "u": 6, "f": 6 * n, "y": 3, "v": 6},
        new=through_a_matrix,
    )
    assert_as_torch(cell, trees)


def test_a_place_behind_the_children_that_is_one_column_wrong_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    load = rolled.load

    def wrong(space: Any, width: int, place: Any, first: int, kind: str = "float") -> Any:
        return load(space, width, place, first + (place.skip > 0 and first == 0), kind)

    monkeypatch.setattr(rolled, "load", wrong)
    widths, new = ALIKE["block first"]
    with pytest.raises(AssertionError):
        assert_as_torch(made(OwnCell, widths=widths, new=new))
