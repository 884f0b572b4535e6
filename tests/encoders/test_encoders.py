"""Every sequence encoder: padding and the rest of a batch change nothing, and its numbers are the slow ones."""

import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import ANY, FUNCTIONS, TOKENS, chain, random_dag, random_tree, square
from rows import ENCODERS, PAIRS, make_sequence_encoder
from torch import Tensor

import dgltree
from dgltree import BLANK, Equation, Tree, Vocabulary, batch, propagate
from dgltree.cells import CELLS
from dgltree.encoders import (
    SEQUENCE_ENCODERS,
    Encoder,
    SequenceLSTM,
    SequenceTransformer,
    SequenceUniversalTransformer,
    TreeEncoder,
    linearize,
    make_encoder,
)
from dgltree.models import EquationModel, EquationReadout
from dgltree.ranking.ranker import probabilities

VOCABULARY = Vocabulary([("var", 0), ("num", 0), *(f for f in FUNCTIONS if f[1] <= 3)], TOKENS)
LONG_SUMS = ("beam_tree", "efficient_beam_tree")
"""Those whose gradients pass through the sum of the logarithms of all merges."""
TREES = [square(), Tree("var", token="y"), random_tree(5, 3, 1), chain(17), random_tree(3, 3, 2), random_dag(6, 2, 3)]


def make(name: str, dtype: torch.dtype = torch.float64, **options: Any) -> Encoder:
    return make_sequence_encoder(name, VOCABULARY, **options).to(dtype)


def states_and_gradients(encoder: Encoder, trees: list[Tree], rows: int) -> list[Tensor]:
    """The states of the first rows, and the gradient of a function of them as one vector."""
    encoder.zero_grad()
    states = encoder(batch(trees, VOCABULARY))[:rows]
    (states * torch.arange(1.0, 13, dtype=states.dtype)).sum().backward()
    gradients = (
        torch.zeros_like(p) if p.grad is None else p.grad for p in encoder.parameters()
    )  # None: short sequence
    return [states.detach(), torch.cat([gradient.flatten() for gradient in gradients])]


def differ(first: list[Tensor], second: list[Tensor]) -> float:
    """The largest difference, relative to the largest number of a tensor where that is above 1."""
    return max(float((a - b).abs().max() / b.abs().max().clamp(min=1)) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-12)])
@pytest.mark.parametrize("name", ENCODERS)
def test_a_tree_alone_and_among_longer_ones_has_one_state_and_one_gradient(
    name: str, dtype: torch.dtype, tolerance: float
) -> None:
    encoder = make(name, dtype)
    if dtype == torch.float32 and name in LONG_SUMS:
        tolerance = 1e-5
    for tree in TREES if dtype == torch.float64 else TREES[2:4]:
        alone, among = (states_and_gradients(encoder, trees, 1) for trees in ([tree], [tree, *TREES]))
        assert alone[0].abs().max() > 1e-3
        assert differ(among, alone) <= tolerance
        with torch.no_grad():
            encoder.eval()  # torch has another way of computing here
            assert differ([encoder(batch([tree, *TREES], VOCABULARY))[:1]], alone[:1]) <= tolerance
            encoder.train()


@pytest.mark.parametrize("name", PAIRS)
def test_padding_within_one_group_of_lengths_changes_nothing(name: str) -> None:
    encoder = make(name)
    ids = torch.tensor([[3, 4, 5, 6, 7, 0, 0, 0], [3, 9, 8, 7, 6, 5, 4, 3]])
    alone, beside = encoder.core(ids[:1, :5], torch.tensor([5])), encoder.core(ids, torch.tensor([5, 8]))
    torch.testing.assert_close(beside[:1], alone, rtol=0, atol=1e-12)
    ids[0, 5:] = 11  # nobody reads what stands there
    torch.testing.assert_close(encoder.core(ids, torch.tensor([5, 8])), beside, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in ENCODERS if SEQUENCE_ENCODERS[name].ordered])
def test_the_order_of_children_changes_the_state(name: str) -> None:
    x, y = Tree("var", token="x"), Tree("var", token="y")
    a, b = make(name)(batch([Tree("pow", (x, y)), Tree("pow", (y, x))], VOCABULARY))
    assert (a - b).abs().max() > 1e-3


@pytest.mark.parametrize("order", ["leaves", "bracketed"])
@pytest.mark.parametrize("name", ["lstm", "transformer", "universal_transformer"])
def test_sequence_cores_equal_one_plain_run_a_sequence(name: str, order: str) -> None:
    encoder = make(name, order=order)
    flat = batch(TREES, VOCABULARY)
    for state, ids, length in zip(encoder(flat), *linearize(flat, order, VOCABULARY), strict=True):
        plain = {"lstm": _lstm, "transformer": _transformer, "universal_transformer": _universal_transformer}
        torch.testing.assert_close(state, plain[name](encoder.core, ids[:length].tolist()), rtol=0, atol=1e-10)


def _lstm(core: SequenceLSTM, ids: list[int]) -> Tensor:
    """Gate by gate; torch's order of gates is in, forget, cell, out."""
    sequence = [core.embedding.weight[i] for i in ids]
    for lstm in core.layers:
        h = c = torch.zeros(12, dtype=torch.float64)
        for t, x in enumerate(sequence):
            pre = lstm.weight_ih_l0 @ x + lstm.bias_ih_l0 + lstm.weight_hh_l0 @ h + lstm.bias_hh_l0
            i, f, g, o = pre.split(12)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            sequence[t] = h
    return sequence[-1]


def _transformer(core: SequenceTransformer, ids: list[int]) -> Tensor:
    """Position by position, layer by layer, no mask."""
    rows = [core.embedding.weight[i] + _waves(t) for t, i in enumerate(ids)]
    return core.output(attended(core, torch.stack(rows)).mean(0))


def _universal_transformer(core: SequenceUniversalTransformer, ids: list[int]) -> Tensor:
    """Step by step, position by position, no mask."""
    rows = [core.embedding.weight[i] for i in ids]
    for step in (1, 2, 3):
        rows = list(attended(core, torch.stack([row + _waves(t) + _waves(step) for t, row in enumerate(rows)])))
    return core.output(sum(rows) / len(rows))


def _waves(t: int) -> Tensor:
    angles = [t / 10_000 ** (2 * (column // 2) / 12) for column in range(12)]
    waves = [math.cos(a) if column % 2 else math.sin(a) for column, a in enumerate(angles)]
    return torch.tensor(waves, dtype=torch.float64)


def attended(core, states: Tensor) -> Tensor:
    """(T, n): attention and feed-forward, head by head."""
    for layer in core.attention.layers:
        q, k, v = (states @ layer.self_attn.in_proj_weight.T + layer.self_attn.in_proj_bias).split(12, 1)
        heads = []
        for part in (slice(0, 4), slice(4, 8), slice(8, 12)):
            heads.append((q[:, part] @ k[:, part].T / 2).softmax(1) @ v[:, part])
        states = layer.norm1(states + layer.self_attn.out_proj(torch.cat(heads, 1)))
        states = layer.norm2(states + layer.linear2(layer.linear1(states).relu()))
    return states


def test_the_tree_transformer_equals_one_plain_run_a_tree() -> None:
    encoder = make("tree_transformer")  # b = 3 and k = 3 leave one copy, and 3 of 12 columns 0
    core = encoder.core
    states = encoder(batch(TREES, VOCABULARY))
    for state, tree in zip(states, TREES, strict=True):
        rows = []
        for node, path in _preorder(tree, []):
            tokens = 3 + len(VOCABULARY.functions)
            known = VOCABULARY.function_id(node.function, len(node.children))
            i = 3 + known if node.token is None else tokens + VOCABULARY.token_id(node.token)
            rows.append(core.embedding.weight[i] + _position(core.positions.p, path, 12, 3, 3))
        expected = core.output(attended(core, torch.stack(rows))[0])
        torch.testing.assert_close(state, expected, rtol=0, atol=1e-10)


def _preorder(node: Tree, path: list[int]) -> list[tuple[Tree, list[int]]]:
    """Each node with the branch choices from it up to the root."""
    below = [_preorder(child, [slot, *path]) for slot, child in enumerate(node.children)]
    return [(node, path), *(entry for entries in below for entry in entries)]


def _position(p: Tensor, path: list[int], d: int, b: int, k: int) -> Tensor:
    """Entry by entry, from the formula."""
    copies = d // (b * k)
    encoding = torch.zeros(d, dtype=p.dtype)
    for i, branch in enumerate(path[:k]):
        for q in range(copies):
            r = torch.tanh(p[q])
            encoding[(i * b + branch) * copies + q] = r**i * torch.sqrt((1 - r**2) * d / 2)
    return encoding


def test_tree_positions_follow_the_formula_with_several_copies() -> None:
    from dgltree.encoders.sequence.tree_transformer import TreePositions

    torch.manual_seed(0)
    positions = TreePositions(26, branching=2, path_length=4).double()
    assert positions.p.shape == (3,)
    paths = [[], [1], [0, 1], [1, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1, 1, 0]]  # the last is cut
    padded = torch.tensor([(path + [-1] * 4)[:4] for path in paths])
    expected = torch.stack([_position(positions.p, path, 26, 2, 4) for path in paths])
    torch.testing.assert_close(positions(padded), expected, rtol=0, atol=1e-10)
    positions(padded).square().sum().backward()
    assert positions.p.grad is not None
    assert (positions.p.grad != 0).all(), "the scales are learned"


@pytest.mark.parametrize("name", ["lstm", "on_lstm"])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_dropout_acts_on_the_embeddings_and_between_the_layers(layers: int, name: str) -> None:
    """Each place by itself: what a layer reads has been dropped, half of it and the rest twice as large."""
    torch.manual_seed(0)
    core = make_encoder(name, VOCABULARY, 12, num_layers=layers, dropout=0.5).core
    read: list[Tensor] = []
    for layer in core.layers if name == "lstm" else core.lstm.layers:
        layer.register_forward_pre_hook(lambda _, given: read.append(given[0].detach()))
    ids = torch.arange(3, 13).repeat(20, 1)
    for training in (True, False):
        core.train(training)
        read.clear()
        core(ids, torch.full((20,), 10))
        assert len(read) == layers
        share = [float((states == 0).double().mean()) for states in read]
        assert share == pytest.approx([0.5 * training] * layers, abs=0.15)  # some states of an ON-LSTM are 0
        apart = [(states - states[0]).flatten(1).abs().amax(1) > 1e-5 for states in read]  # rows of one product vary
        assert [int(rows.sum()) for rows in apart] == [19 if training else 0] * layers
        embedded = core.embedding(ids).detach()
        kept = read[0] != 0
        torch.testing.assert_close(read[0][kept], embedded[kept] * (2 if training else 1))


@pytest.mark.parametrize("name", [*CELLS, *ENCODERS])
def test_every_encoder_is_made_by_name_and_learns_in_an_equation_model(name: str) -> None:
    torch.manual_seed(0)
    model = EquationModel(make_encoder(name, VOCABULARY, 12, **ENCODERS.get(name, {})), EquationReadout())
    flat = batch([(square(), chain(3)), (chain(2), square())], VOCABULARY)
    logits = model(flat, share=True)
    assert logits.shape == (2,)
    assert logits.abs().max() < 30, "where a sigmoid still learns"
    logits.square().sum().backward()
    assert any((p.grad != 0).any() for p in model.encoder.parameters() if p.grad is not None)
    if name in CELLS:
        assert isinstance(model.encoder, TreeEncoder)
        assert torch.equal(model.encoder(flat), propagate(flat, model.cell)["h"][flat.roots])
    else:
        with pytest.raises(ValueError, match=f"this model has a {type(model.encoder).__name__}, which has no cell"):
            _ = model.cell


def test_unknown_names_and_options_are_refused_with_those_there_are() -> None:
    with pytest.raises(
        ValueError, match=r"the encoder is 'gru'; it must be one of tree_rnn, tree_lstm, .*, lstm, on_lstm, ordered"
    ):
        make_encoder("gru", VOCABULARY, 12)
    for name, known in (
        ("lstm", "order, joint, num_layers, dropout, max_length"),
        ("on_lstm", "order, joint, num_layers, chunk_size, embedding_size, dropout, weight_dropout, max_length"),
        (
            "ordered_memory",
            "order, joint, num_slots, num_evaluation_slots, bidirectional, embedding_size, operator, attention",
        ),
        (
            "universal_transformer",
            "order, joint, num_steps, num_heads, feedforward_size, dropout, pre_norm, max_length",
        ),
        ("transformer", "order, joint, num_layers, num_heads, feedforward_size, dropout, pre_norm, max_length"),
        ("tree_transformer", "order, joint, branching, path_length, num_layers, num_heads"),
        (
            "beam_tree",
            "order, joint, one_soft, beam_size, noise, handed_on, draw_seed, cell, embedding_size, dropout",
        ),
        ("tree_smu", "typed, rank, input_size, leaf, functions, numbers, number_scale, dropout, stack_size"),
    ):
        with pytest.raises(ValueError, match=f"{name} has no option 'colour'; its options are {known}"):
            make_encoder(name, VOCABULARY, 2, colour="red")


@pytest.mark.parametrize(
    ("name", "options", "error"),
    [
        ("lstm", {"num_layers": 0}, "num_layers is 0"),
        ("lstm", {"dropout": 1.0}, "dropout is 1.0; it must be a probability"),
        ("lstm", {"order": "words"}, "order is 'words'; it must be one of leaves, bracketed, unlabelled, preorder"),
        ("lstm", {"max_length": 0}, "max_length is 0"),
        ("on_lstm", {"num_layers": 0}, "num_layers is 0"),
        (
            "on_lstm",
            {"chunk_size": 5},
            "hidden_size is 12 and chunk_size is 5; the chunk size must divide the hidden size",
        ),
        ("on_lstm", {"chunk_size": 12}, "chunk_size is 12, all units; the gates of the last chunk are always 0"),
        ("on_lstm", {"weight_dropout": 1.0}, "dropout is 1.0"),
        ("on_lstm", {"embedding_size": 0}, "embedding_size is 0"),
        ("ordered_memory", {"num_slots": 0}, "num_slots is 0; it must be a whole number, 1 or more"),
        ("ordered_memory", {"num_evaluation_slots": -1}, "num_evaluation_slots is -1"),
        ("ordered_memory", {"cell_dropout": -0.1}, "dropout is -0.1"),
        ("ordered_memory", {"attention_dropout": 1.5}, "dropout is 1.5"),
        ("ordered_memory", {"operator": "lstm"}, "operator is 'lstm'; it must be one of tree_cell, grc, tree_rnn"),
        ("ordered_memory", {"attention": "soft"}, "attention is 'soft'; it must be one of published, paper"),
        ("ordered_memory", {"embedding_size": 0}, "embedding_size is 0"),
        ("universal_transformer", {"num_steps": 0}, "num_steps is 0"),
        ("neural_data_router", {"read_at": "end"}, "read_at is 'end'; it must be 'last' or 'first'"),
        ("neural_data_router", {"test_layers": 0}, "test_layers is 0"),
        ("neural_data_router", {"gate_dropout": 1.0}, "dropout is 1.0"),
        (
            "transformer",
            {"num_heads": 5},
            "hidden_size is 12 and num_heads is 5; the number of heads must divide the hidden size",
        ),
        (
            "tree_transformer",
            {"path_length": 5},
            r"hidden_size is 12, but .* 5 edges \(path_length\) .* need 15 columns",
        ),
        (
            "tree_transformer",
            {"order": "leaves"},
            "order is 'leaves', but 'tree_transformer' reads node positions in preorder only",
        ),
        ("tree_transformer", {"branching": 0}, "branching is 0"),
    ],
)
def test_impossible_options_are_refused(name: str, options: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        make_encoder(name, VOCABULARY, 12, **options)


@pytest.mark.parametrize("name", ENCODERS)
def test_sequences_beyond_the_limit_are_refused(name: str) -> None:
    encoder, x = make(name, max_length=7), Tree("var", token="x")
    encoder(batch([x, chain(2)], VOCABULARY))
    with pytest.raises(ValueError, match=r"sequence 1 has length \d+; this encoder takes max_length=7"):
        encoder(batch([x, chain(7), square()], VOCABULARY))


def test_a_node_with_too_many_children_is_refused() -> None:
    x = Tree("var", token="x")
    with pytest.raises(ValueError, match="tree 1, node 1 has 3 children; this encoder takes branching=2"):
        make("tree_transformer", branching=2)(batch([Tree("if", (x, x, x))], VOCABULARY))
    trees = [x, Tree("sin", (Tree("if", (Tree("if", (x, x, x)), x, x)),)), Tree("if", (x, x, x))]
    with pytest.raises(ValueError, match=r"^tree 2, node 2 has 3 children; this encoder takes branching=2"):
        make("tree_transformer", branching=2)(batch(trees, VOCABULARY))
    with pytest.raises(
        ValueError, match="the vocabulary has functions of any arity: set branching to the maximum number of children"
    ):
        make_encoder("tree_transformer", ANY, 12)
    encoder = make_encoder("tree_transformer", ANY, 12, branching=3, path_length=4)
    assert encoder(batch([Tree("if", (x, x, x))], ANY)).shape == (1, 12)


@pytest.mark.parametrize(
    ("ids", "lengths", "error"),
    [
        ([3, 4], [1, 1], r"ids are \(2,\) torch.int64"),
        ([[3, 4]], [1, 1], r"lengths \(2,\)"),
        ([[3, 4]], [0], r"lengths go from 0 to 0; ids of shape \(B, 2\) allow lengths from 1 to 2"),
        ([[3, 4]], [3], "lengths go from 3 to 3"),
        ([[3, 99]], [2], "ids go from 3 to 99; this encoder takes ids from 0 to 9"),
        ([[3, -1]], [2], "ids go from -1 to 3"),
        ([[3.0]], [1], "whole numbers"),
    ],
)
def test_bad_sequences_are_refused(ids: list, lengths: list[int], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        SequenceLSTM(10, 4)(torch.tensor(ids), torch.tensor(lengths))
    with pytest.raises(ValueError, match="an empty batch"):
        SequenceLSTM(10, 4)(torch.zeros(0, 3, dtype=torch.int64), torch.zeros(0, dtype=torch.int64))


def test_the_example_of_the_docs_runs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "encoders.md").read_text(encoding="utf-8")
    block = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    found: dict[str, Any] = {}
    exec(block, found)
    assert found["roots"].shape == (2, 64)
    assert found["ids"].shape == (2, 19)
    assert [found["steps"][k].shape for k in range(3)] == [(2, 64), (2, 19, 64), (2, 19, 8)]
    assert found["distances"].shape == (2, 19, 3)


@pytest.mark.parametrize("name", ENCODERS)
def test_models_of_sequences_verify_and_are_saved_but_do_not_rank(name: str, tmp_path: Path) -> None:
    equation = Equation(square(), chain(1))
    model = EquationModel(make(name), EquationReadout()).double()
    dgltree.save(model, tmp_path / "model")
    loaded = dgltree.open_model(tmp_path / "model")
    assert torch.equal(probabilities(loaded, [equation]), probabilities(model, [equation]))
    with pytest.raises(ValueError, match=", which has no cell; use a model with a TreeEncoder"):
        dgltree.rank(model, [Equation(BLANK, chain(1))], [square()])


@pytest.mark.gpu
@pytest.mark.parametrize("name", ENCODERS)
def test_a_gpu_gives_the_same_states(name: str) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    encoder, flat = make(name), batch(TREES, VOCABULARY)
    expected = encoder(flat)
    torch.testing.assert_close(encoder.cuda()(flat.to("cuda")).cpu(), expected, rtol=0, atol=1e-10)
