"""A cell is a module as a user of PyTorch expects it: a call, hooks, options, what it refuses."""

from typing import Any

import pytest
import torch
from equation_models import VOCABULARY as EQUATIONS
from equation_models import candidates, questions
from helpers import VOCABULARY, random_tree
from torch import Tensor

from dgltree import Ranker, batch, plan, propagate, root_states
from dgltree.cells import CELLS, SWEEPS, Cell, ChildSumTreeLSTM, TreeLSTM, TreeRNN, TreeSMU
from dgltree.encoders import SEQUENCE_ENCODERS, SequenceEncoder, TreeEncoder
from dgltree.encoders.sequence.linearization import symbol_count
from dgltree.models import EquationModel, EquationReadout
from dgltree.support.arguments import option_names

TREES = [random_tree(9, 4, seed) for seed in (1, 2)]


def test_a_call_is_propagate() -> None:
    cell, trees = TreeSMU(VOCABULARY, 4), batch(TREES, VOCABULARY)
    for given in (trees, plan(trees, cell, share=True)):
        states, called = propagate(given, cell, trace=["push"]), cell(given, trace=["push"])
        assert states.keys() == called.keys() >= {"h", "S", "push"}
        assert all(torch.equal(states[name], called[name]) or name == "push" for name in states)


@pytest.mark.parametrize("run", [propagate, root_states, lambda trees, cell: TreeEncoder(cell)(trees)])
def test_forward_hooks_are_run_once_a_pass_and_can_change_its_result(run: Any) -> None:
    cell, trees, seen = TreeLSTM(VOCABULARY, 4), batch(TREES, VOCABULARY), []
    before = run(trees, cell)
    cell.register_forward_pre_hook(lambda module, arguments: seen.append(arguments[0]))
    handle = cell.register_forward_hook(lambda module, arguments, states: {**states, "h": -states["h"]})
    after = run(trees, cell)
    assert len(seen) == 1 and seen[0] is trees
    of = (lambda found: found) if isinstance(before, Tensor) else (lambda found: found["h"])
    assert torch.equal(of(after), -of(before))
    handle.remove()


def test_backward_hooks_are_refused_because_torch_would_not_run_them() -> None:
    cell = TreeLSTM(VOCABULARY, 4)
    for register in (
        cell.register_full_backward_hook,
        cell.register_full_backward_pre_hook,
        cell.register_backward_hook,
    ):
        with pytest.raises(TypeError, match="torch runs no backward hooks of TreeLSTM"):
            register(print)


def test_ranking_refuses_a_cell_with_hooks() -> None:
    model = EquationModel(TreeEncoder(TreeRNN(EQUATIONS, 4)), EquationReadout())
    ranker = Ranker(model, candidates(0))
    model.cell.register_forward_hook(print)
    with pytest.raises(ValueError, match="the cell has hooks, which ranking cannot run; remove these hooks"):
        ranker.rank(questions(0))


@pytest.mark.parametrize(
    ("cell", "nearest"), [(TreeLSTM, "dropout"), (TreeSMU, "dropout"), (ChildSumTreeLSTM, "dropout")]
)
def test_an_option_that_is_not_there_names_the_class_that_was_called(cell: type[Cell], nearest: str) -> None:
    with pytest.raises(TypeError, match=f"^{cell.__name__} has no option 'droput'; nearest known: {nearest}"):
        cell(VOCABULARY, 8, droput=0.1)
    with pytest.raises(
        TypeError, match=r"^SequenceEncoder\('lstm', ...\) has no option 'droput'; nearest known: dropout"
    ):
        SequenceEncoder("lstm", VOCABULARY, 8, droput=0.1)


def test_a_cell_does_not_take_what_its_base_class_is_given_by_it() -> None:
    with pytest.raises(TypeError, match=r"^TreeSMU has no option 'normalize'"):
        TreeSMU(VOCABULARY, 8, normalize=False)


@pytest.mark.parametrize("kind", [*CELLS.values(), *(down for _, down in SWEEPS.values())])
def test_a_subclass_has_the_options_of_its_class(kind: type[Any]) -> None:
    assert option_names(type("Own", (kind,), {})) == option_names(kind)


class Forgetful(TreeRNN):
    """An own cell that keeps its option nowhere."""

    def __init__(self, vocabulary: Any, hidden_size: int, *, scale: float = 1.0, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, **options)


def test_a_cell_that_does_not_keep_its_option_is_told_so() -> None:
    with pytest.raises(TypeError, match=r"Forgetful does not store its option 'scale': set self\.scale"):
        _ = Forgetful(VOCABULARY, 4, scale=2.0).config


@pytest.mark.parametrize("given", [TREES, tuple(TREES), TREES[0]], ids=["list", "tuple", "Tree"])
def test_trees_that_are_no_batch_are_refused_with_what_to_call(given: Any) -> None:
    with pytest.raises(TypeError, match=r"propagate takes a batch, .*: use dgltree.batch\(trees, cell.vocabulary\)"):
        propagate(given, TreeRNN(VOCABULARY, 4))


class Gateless(Cell):
    """The mean of the children, without a weight."""

    def __init__(self, vocabulary: Any, hidden_size: int, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, **options)
        self.build()

    @property
    def state(self) -> dict[str, tuple[int, ...]]:
        return {"h": (self.hidden_size,)}

    def gates(self, arity: int) -> dict[str, int]:
        return {}

    def combine(self, pre: Any, children: Any, linear: Any) -> dict[str, Any]:
        return {"h": torch.stack(torch.broadcast_tensors(*children["h"])).mean(0)}


def test_a_cell_without_gates_refuses_inputs_that_nothing_would_read() -> None:
    trees = batch(TREES, VOCABULARY)
    assert propagate(trees, Gateless(VOCABULARY, 4))["h"].shape == (trees.num_nodes, 4)
    with pytest.raises(ValueError, match="Gateless has no gates to read its inputs: leave out input_size"):
        Gateless(VOCABULARY, 4, input_size=3)


def test_a_sequence_encoder_takes_a_core() -> None:
    size, trees = symbol_count(VOCABULARY), batch(TREES, VOCABULARY)
    core = SEQUENCE_ENCODERS["lstm"](size, 6)
    encoder = SequenceEncoder(core, VOCABULARY)
    assert encoder.name == "lstm" and encoder(trees).shape == (2, 6)
    named = SequenceEncoder("lstm", VOCABULARY, 6)
    named.core.load_state_dict(core.state_dict())
    assert torch.equal(named(trees), encoder(trees)) and named.config == encoder.config
    with pytest.raises(
        ValueError, match=rf"the core reads {size} ids, but this vocabulary and joint gives {size + 1} ids"
    ):
        SequenceEncoder(core, VOCABULARY, joint=True)
    with pytest.raises(TypeError, match="options belong to the core: give hidden_size to SequenceLSTM"):
        SequenceEncoder(core, VOCABULARY, 6)
    with pytest.raises(TypeError, match=r"SequenceEncoder\('lstm', ...\) needs a hidden_size"):
        SequenceEncoder("lstm", VOCABULARY)
