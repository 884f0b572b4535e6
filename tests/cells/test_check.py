"""What a cell refuses to run on, and states that are not finite."""

import re
from dataclasses import replace

import pytest
import torch
from engines import ENGINES
from helpers import ANY, VOCABULARY, random_tree
from rows import make_cell, make_downward

from dgltree import Tree, Vocabulary, batch, plan, propagate
from dgltree.cells import CELLS, ChildSumTreeLSTM, TreeLSTM, TreeRNN

TREES = [random_tree(3, 2, 1), random_tree(2, 3, 2)]


def vectors(cell: TreeLSTM, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.ones(batch(TREES, cell.vocabulary).num_nodes, 3, dtype=dtype)


def test_input_vectors_of_wrong_width_dtype_and_device_are_refused() -> None:
    cell = make_cell("tree_lstm, leaf gates")
    x = vectors(cell)
    with pytest.raises(ValueError, match=r"x has shape \(\d+, 2\); .* need \(\d+ nodes, input_size 3\)"):
        propagate(batch(TREES, VOCABULARY, x=x[:, :2]), cell)
    with pytest.raises(ValueError, match=r"x has 3 rows, but the batch has \d+ nodes"):
        batch(TREES, VOCABULARY, x=x[:3])
    with pytest.raises(ValueError, match=r"x is torch.float32, but the cell's weights are torch.float64"):
        propagate(batch(TREES, VOCABULARY, x=x.float()), cell)
    with pytest.raises(ValueError, match="x is on meta, but the batch is on cpu"):
        propagate(batch(TREES, VOCABULARY, x=x.to("meta")), cell)
    with pytest.raises(ValueError, match="the batch is on cpu, but the cell is on meta"):
        propagate(batch(TREES, VOCABULARY), cell.to("meta"))


@pytest.mark.parametrize("planned", [False, True])
@pytest.mark.parametrize(
    ("name", "dropout"), [("tree_lstm", "dropout"), ("banyan", "dropout"), ("banyan", "leaf_dropout")]
)
def test_sharing_is_refused_with_any_dropout_in_training_alone(name: str, dropout: str, planned: bool) -> None:
    cell, _ = make_downward(f"downward {name}")
    setattr(cell.train(), dropout, 0.5)
    trees = batch(TREES, cell.vocabulary)
    given = plan(trees, cell, share=True) if planned else trees
    with pytest.raises(ValueError, match="share=True with dropout in training"):
        propagate(given, cell, not planned)
    propagate(given, cell.eval(), not planned)


def test_an_input_vector_at_an_embedded_leaf_is_refused_because_it_would_be_lost() -> None:
    cell = make_cell("tree_lstm, inputs")
    x = vectors(cell)
    with pytest.raises(
        ValueError,
        match=r"tree 1, node \d+ is a leaf with an input vector, .* use leaf='gates', or set the vector to 0",
    ):
        propagate(batch(TREES, VOCABULARY, x=x), cell)
    x[batch(TREES, VOCABULARY).arity == 0] = 0
    propagate(batch(TREES, VOCABULARY, x=x), cell)


def test_a_function_without_weights_is_named_with_its_arity_and_tree() -> None:
    with pytest.raises(
        ValueError, match=r"tree 2, node 1 in preorder: 'sin' has 2 children here; in this vocabulary it has 1"
    ):
        batch([TREES[0], Tree("sin", (TREES[0], TREES[0]))], VOCABULARY)
    flat = batch([TREES[0], Tree("add", (TREES[0], TREES[0]))], VOCABULARY)
    flat = replace(flat, vocabulary=None)  # as of a user's graph
    flat.function[flat.roots[1]] = VOCABULARY.function_id("if", 3)
    for engine in ("runner", "levels"):
        with pytest.raises(ValueError, match=r"tree 2, node 1 \('if'\) has 2 children; in this vocabulary it has 3"):
            ENGINES[engine](TreeRNN(VOCABULARY, 4), flat)


def test_functions_of_any_arity_need_a_cell_that_adds_up_its_children() -> None:
    with pytest.raises(
        ValueError, match="functions of any arity, such as 'var', but TreeLSTM has weights for each arity"
    ):
        TreeLSTM(ANY, 4)
    wide = Tree("call", [Tree("var", token="x")] * 40)
    states = propagate(batch([wide], ANY), ChildSumTreeLSTM(ANY, 4))
    assert states["h"].isfinite().all()


@pytest.mark.parametrize("share", [False, True])
def test_the_first_node_that_is_not_finite_is_named(share: bool) -> None:
    cell = make_cell("tree_lstm, leaf gates")
    flat = batch(TREES, VOCABULARY, x=vectors(cell))
    propagate(flat, cell, share=share, check=True)
    start = int(flat.roots[1])
    leaf = start + int(torch.nonzero(flat.arity[start:] == 0)[0])
    flat.x[leaf, 1] = torch.nan
    with pytest.raises(
        ValueError, match=rf"tree 2, node {leaf - start + 1} \('\w+'\): h, c is not finite.*input vector x"
    ):
        propagate(flat, cell, share=share, check=True)
    assert propagate(flat, cell, share=share)["h"][flat.roots[1]].isnan().all(), "nothing is checked unless asked for"


def test_weights_that_are_not_finite_are_named_at_the_lowest_node_they_reach() -> None:
    cell = make_cell("tree_smu, no_op")
    with torch.no_grad():
        cell.maps["gates_2"].bias[cell.maps["gates_2"].position[VOCABULARY.function_id("add", 2)]] = torch.nan
    x = Tree("var", token="x")
    tree = Tree("sin", (Tree("pow", (Tree("sin", (x,)), Tree("add", (x, x)))),))
    with pytest.raises(ValueError, match=r"tree 1, node 5 \('add'\): .* check the cell's weights"):
        propagate(batch([tree], VOCABULARY), cell, check=True)


def test_a_number_needs_a_cell_with_an_encoder_and_reaches_the_root() -> None:
    trees = [Tree("sin", (Tree("num", value=value),)) for value in (0.5, 0.75)]
    with pytest.raises(ValueError, match="tree 1, node 2 carries a number; build the cell with numbers=True"):
        propagate(batch(trees, VOCABULARY), make_cell("tree_lstm"))
    flat = batch(trees, VOCABULARY)
    h = propagate(flat, make_cell("tree_lstm, numbers"))["h"][flat.roots]
    assert not torch.allclose(h[0], h[1])
    gates = make_cell("tree_lstm, leaf gates, shared, numbers")
    with pytest.raises(ValueError, match="tree 1, node 2 has a number and an input vector"):
        propagate(batch(trees, VOCABULARY, x=torch.zeros(4, 3, dtype=torch.float64)), gates)


def test_numbers_alone_are_read_as_next_to_tokens() -> None:
    cell = make_cell("tree_lstm, leaf gates, shared, numbers")
    trees = [Tree("sin", (Tree("num", value=value),)) for value in (0.5, 0.75)]
    alone, mixed = (batch(some, cell.vocabulary) for some in (trees, [*trees, Tree("sin", (Tree("var", token="x"),))]))
    expected = propagate(mixed, cell)["h"][mixed.roots[:2]]
    assert not torch.allclose(expected[0], expected[1])
    torch.testing.assert_close(propagate(alone, cell)["h"][alone.roots], expected)


def test_of_several_wrong_nodes_the_first_is_named() -> None:
    x, number = Tree("var", token="x"), Tree("num", value=1.0)
    trees = [x, Tree("if", (x, number, number)), number]
    with pytest.raises(ValueError, match=r"^tree 2, node 3 carries a number"):
        propagate(batch(trees, VOCABULARY), make_cell("tree_lstm"))
    inner = [x, Tree("neg", (Tree("sin", (Tree("sin", (x,), value=1.0),), value=2.0),)), Tree("sin", (x,), value=3.0)]
    with pytest.raises(ValueError, match=r"^tree 2, node 2 is an inner node with a number"):
        propagate(batch(inner, VOCABULARY), make_cell("tree_lstm, numbers"))


def test_an_empty_vocabulary_of_functions_is_no_reason_to_crash() -> None:
    vocabulary = Vocabulary([("w", 0)], ["a"])
    states = propagate(batch([Tree("w", token="a")], vocabulary), TreeRNN(vocabulary, 4))
    assert states["h"].shape == (1, 4)


def test_labels_never_reach_a_cell() -> None:
    rng = torch.Generator().manual_seed(0)
    for name in ("tree_lstm, leaf gates", "child_sum", "tree_smu", "tree_cell"):
        cell = make_cell(name)
        flat = batch(TREES, cell.vocabulary)
        labelled = replace(flat, label=torch.randint(0, 5, flat.label.shape, generator=rng))
        assert torch.equal(propagate(labelled, cell)["h"], propagate(flat, cell)["h"])


@pytest.mark.parametrize(
    ("cell", "options", "message"),
    [
        (name, {"hidden_size": size}, f"hidden_size is {size!r}; it must be a whole number, 1 or more")
        for name in CELLS
        for size in (0, 4.5, "4")
    ]
    + [
        ("tree_lstm", {"input_size": 0}, "input_size is 0; it must be a whole number"),
        ("tree_lstm", {"leaf": "gates"}, "leaf='gates' applies the gates to a leaf's input: give input_size"),
        ("tree_lstm", {"leaf": "root"}, "leaf is 'root'; it must be 'embedding', 'network' or 'gates'"),
        ("tree_lstm", {"dropout": 1.0}, "dropout is 1.0"),
        ("tree_lstm", {"functions": True}, "functions=True adds the embedding of a node's function to its input"),
        *(
            ("tree_rnn", {"number_scale": scale}, f"number_scale is {scale!r}; it must be a middle and a spread above")
            for scale in ((1.0,), (1.0, 0.0), (0.0, 1.0, 2.0))
        ),
        *(
            ("tree_rnn", {"num_layers": layers}, f"num_layers is {layers}; a Tree-RNN has 1 or 2")
            for layers in (0, 3, 1.5)
        ),
        ("tree_rnn", {"activation": "gelu"}, "activation is 'gelu'; it must be one of sigmoid, tanh, relu"),
        ("tree_smu", {"stack_size": 2.5}, "stack_size is 2.5; it must be a whole number"),
        ("stack_tree_rnn", {"top_k": 0}, "top_k is 0"),
        ("stack_tree_lstm", {"top_k": 6}, "top_k is 6; it must be from 1 to stack_size, 5"),
        ("stack_tree_lstm", {"gated_top_k": True}, "gated_top_k weights several rows: give top_k > 1"),
        ("stack_tree_rnn", {"read": "both"}, "read is 'both'; it must be 'self' or 'children'"),
        (
            "stack_tree_rnn",
            {"read": "children", "top_k": 2},
            "read='children' reads only row 0 of each child, but top_k is 2",
        ),
        ("stack_tree_rnn", {"activation": "gelu"}, "activation is 'gelu'; it must be one of sigmoid, tanh, relu"),
    ],
)
def test_impossible_options_are_refused(cell: str, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        CELLS[cell](VOCABULARY, **{"hidden_size": 4, **options})


def test_a_tree_smu_has_no_option_to_normalize() -> None:
    with pytest.raises(TypeError, match="TreeSMU has no option 'normalize'"):
        CELLS["tree_smu"](VOCABULARY, 4, normalize=True)
