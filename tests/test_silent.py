"""What was silently wrong from Python, and is now refused or right."""

import numpy as np
import pytest
import safetensors.torch
import torch
from helpers import VOCABULARY, random_tree
from rows import make_cell, make_sequence_encoder
from torch import Tensor

import dgltree
from dgltree import Tree, Vocabulary, batch, propagate
from dgltree.cells import TreeLSTM, TreeRNN
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import TreeEncoder
from dgltree.engine import Graph, prop_nodes_topo
from dgltree.engine.contract import Children, State
from dgltree.engine.typed_linear import Linear

TREES = [random_tree(2, 2, seed) for seed in range(3)]
MASKS = [[True, False, True], torch.tensor([True, False, True]), np.array([True, False, True])]


@pytest.mark.parametrize("mask", MASKS, ids=["list", "tensor", "array"])
def test_a_mask_selects(mask: object) -> None:
    flat = batch(TREES, VOCABULARY)
    assert dgltree.batching.unbatch(flat[mask]) == [TREES[0], TREES[2]]
    assert [tree for tree, _ in TreeDataset(TREES, labels=[0, 1, 2]).select(mask)] == [TREES[0], TREES[2]]


WRONG = [
    ([True, False], ValueError, "is a mask of 2 entries, but the (batch|data set) has 3"),
    ([False] * 3, ValueError, "no trees"),
    ([True, 2], TypeError, "booleans and numbers are mixed"),
    ([0, 2.7], TypeError, "has float64 entries; give whole numbers"),
    (torch.tensor([1.0]), TypeError, "has float32 entries"),
    ([[0, 1]], ValueError, r"has shape \(1, 2\)"),
    ([0, 3], ValueError, "run from 0 to 3, but the (batch|data set) has numbers from 0 to 2"),
    ([-1], ValueError, "run from -1 to -1, but the (batch|data set) has numbers from 0 to 2"),
]


@pytest.mark.parametrize(("rows", "error", "said"), WRONG, ids=[said for _, _, said in WRONG])
def test_what_is_neither_numbers_nor_a_mask_is_refused(rows: object, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said) as one:
        batch(TREES, VOCABULARY)[rows]
    with pytest.raises(error, match=said) as other:
        TreeDataset(TREES, labels=[0, 1, 2]).select(rows)
    if "no trees" not in said:
        assert str(one.value).startswith("trees")
        assert str(other.value).startswith("examples")


class Wide(TreeRNN):
    """Traces what it reads, whose width is the arity's."""

    def combine(self, pre: State, children: Children, linear: Linear) -> State:
        return {**super().combine(pre, children, linear), "read": torch.cat(list(children["h"]), -1)}


def test_a_trace_whose_width_depends_on_the_arity_is_refused() -> None:
    x = Tree("var", token="x")
    cell = Wide(VOCABULARY, 1)  # of width 1, which torch would repeat
    same = propagate(batch([Tree("add", (x, x))], VOCABULARY), cell, trace=["read"])["read"]
    assert same.shape == (2, 2)  # x is one object
    with pytest.raises(
        ValueError,
        match=r"trace 'read' has shapes \(1,\) and \(2,\), which depend on the number of children; return a list with",
    ):
        propagate(batch([Tree("add", (Tree("sin", (x,)), x))], VOCABULARY), cell, trace=["read"])


@pytest.mark.parametrize("name", ["tree_lstm", "child_sum"])
def test_a_pass_from_the_roots_down_is_refused(name: str) -> None:
    dgl = pytest.importorskip("dgl", reason="DGL is not installed")
    cell = make_cell(name)
    graph = batch([random_tree(4, 3, 1)], VOCABULARY).graph
    functions = {"apply_node_func": cell.apply_node_func}
    cell.prepare(graph)
    with pytest.raises(ValueError, match=r"a node is reached before its children: .* without reverse=True"):
        dgl.prop_nodes_topo(graph, cell.message_func, cell.reduce_func, reverse=True, **functions)
    own = Graph(batch([random_tree(4, 3, 1)], VOCABULARY))
    cell.prepare(own)
    prop_nodes_topo(own, cell.message_func, cell.reduce_func, apply_node_func=cell.apply_node_func)
    with pytest.raises(ValueError, match="has the states of an earlier pass"):
        prop_nodes_topo(own, cell.message_func, cell.reduce_func, apply_node_func=cell.apply_node_func)


def turned(vocabulary: Vocabulary) -> Vocabulary:
    return Vocabulary(vocabulary.functions, vocabulary.tokens[::-1])


def by_safetensors(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return safetensors.torch.load(safetensors.torch.save(dict(state)))


@pytest.mark.parametrize(
    "carried",
    [
        lambda state: state,
        lambda state: {name: tensor.clone() for name, tensor in state.items()},
        by_safetensors,
        lambda state: {name.removeprefix("x."): t for name, t in {f"x.{n}": t for n, t in state.items()}.items()},
        lambda state: {n.removeprefix("module."): t for n, t in averaged(state).items() if n != "n_averaged"},
    ],
)
def test_weights_of_another_order_of_the_vocabulary_are_refused_however_they_came(carried) -> None:
    cell, other = TreeLSTM(VOCABULARY, 4), TreeLSTM(turned(VOCABULARY), 4)
    state = carried(cell.state_dict())
    for strict in (True, False):
        with pytest.raises(
            RuntimeError, match="belong to another vocabulary, or to the same vocabulary in another order: build the"
        ):
            other.load_state_dict(state, strict=strict)
    TreeLSTM(VOCABULARY, 4).load_state_dict(state)
    with pytest.raises(
        RuntimeError,
        match="the weights 'cell' belong to another vocabulary, or to the same vocabulary in another order: build the",
    ):
        TreeEncoder(other).load_state_dict({f"cell.{name}": tensor for name, tensor in state.items()})
    TreeEncoder(TreeLSTM(VOCABULARY, 4)).load_state_dict({f"cell.{name}": tensor for name, tensor in state.items()})


def averaged(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Of an average over models, which torch keeps in one of its own."""
    cell = TreeLSTM(VOCABULARY, 4)
    cell.load_state_dict(state)
    model = torch.optim.swa_utils.AveragedModel(cell)
    model.update_parameters(cell)
    model.update_parameters(cell)
    return model.state_dict()


def test_weights_that_do_not_say_of_which_vocabulary_they_are_need_a_look() -> None:
    cell, other = TreeLSTM(VOCABULARY, 4), TreeLSTM(VOCABULARY, 4)
    by_hand = {name: parameter.detach().clone() for name, parameter in cell.named_parameters()}
    with pytest.raises(RuntimeError, match=r"_extra_state \(the digest of a vocabulary: .* with strict=False"):
        other.load_state_dict(by_hand)
    other.load_state_dict(by_hand, strict=False)
    assert all(torch.equal(a, b) for a, b in zip(cell.parameters(), other.parameters(), strict=True))
    with pytest.raises(RuntimeError, match="Missing key"):
        other.load_state_dict({name: t for name, t in cell.state_dict().items() if not name.startswith("maps")})
    with pytest.raises(RuntimeError, match="size mismatch"):
        TreeLSTM(VOCABULARY, 5).load_state_dict(cell.state_dict())


def test_encoders_of_sequences_sign_their_weights_too(tmp_path) -> None:
    encoder = make_sequence_encoder("lstm", VOCABULARY)
    torch.save(encoder.state_dict(), tmp_path / "weights")
    saved = torch.load(tmp_path / "weights", weights_only=True)
    make_sequence_encoder("lstm", VOCABULARY).load_state_dict(saved)
    with pytest.raises(RuntimeError, match="another vocabulary"):
        make_sequence_encoder("lstm", turned(VOCABULARY)).load_state_dict(saved)


def test_a_batch_is_moved_to_a_device_alone() -> None:
    with pytest.raises(
        TypeError, match=r"device is torch.float64, but ids keep their dtype: change the dtype of the cell or of x"
    ):
        batch(TREES, VOCABULARY).to(torch.float64)


def test_numbers_of_infix_text_may_be_values_of_leaves() -> None:
    tree = dgltree.read_infix("0.5*x - 2/4", numbers=True)
    values = [node.value for node in tree.preorder() if node.value is not None]
    assert values == [0.5, -1.0, 0.5]
    assert all(node.token is None for node in tree.preorder() if node.value is not None)
    vocabulary = Vocabulary.from_trees([tree])
    assert vocabulary.tokens == ("x",)
    found = propagate(batch([tree], vocabulary), TreeLSTM(vocabulary, 3, numbers=True))
    assert isinstance(found["h"], Tensor)
    assert dgltree.read_equation("x = 3", numbers=True).right.value == 3
    assert dgltree.read_infix("0.5*x").children[0].token == "0.5"
    with pytest.raises(ValueError, match="is too large for a leaf's value"):
        dgltree.read_infix("1" + "0" * 400, numbers=True)


@pytest.mark.parametrize("field", ["function", "token", "slot"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bool])
def test_a_graph_whose_ids_are_no_whole_numbers_is_refused(field: str, dtype: torch.dtype) -> None:
    pytest.importorskip("dgl", reason="DGL is not installed")
    graph = batch(TREES, VOCABULARY).graph
    data = graph.edata if field == "slot" else graph.ndata
    data[field] = data[field].to(dtype)
    with pytest.raises(ValueError, match=f"the graph's '{field}' is {dtype}; it must be whole numbers"):
        propagate(graph, make_cell("tree_lstm"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool])
def test_ids_of_sequences_that_are_no_whole_numbers_are_refused(dtype: torch.dtype) -> None:
    core = make_sequence_encoder("lstm", VOCABULARY).core
    with pytest.raises(ValueError, match=rf"ids are \(1, 2\) {dtype} and .*, whole numbers"):
        core(torch.ones(1, 2).to(dtype), torch.tensor([2]))


@pytest.mark.parametrize("given", ["cuda", "cuda:7", torch.device("cuda", 7), "gpu"])
def test_a_device_that_is_not_there_is_named(given: str | torch.device) -> None:
    if given == "cuda" and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(
        ValueError,
        match=r"device is 'gpu'; give a torch device|device is 'cuda.*', but (torch finds no GPU|there is only)",
    ):
        batch(TREES, VOCABULARY).to(given)
