"""Self-StrAE, Banyan and StrAE against their literal forms: states, graphs, losses and gradients to 1e-12."""

import random

import pytest
import torch
from engines import assert_close
from helpers import TOKENS, VOCABULARY, random_tree
from two_sweeps_oracle import PAPER, PROGRAM, Literal

from dgltree import Tree, Vocabulary, batch, propagate
from dgltree.batching.subtrees import entangle
from dgltree.cells import DownwardTreeLSTM, TreeLSTM
from dgltree.encoders.latent.easy_first import easy_first
from dgltree.models import Autoencoder, make_autoencoder

WORDS = Vocabulary([("phrase", 2), ("word", 0)], TOKENS)
NETWORKS = {
    "banyan": ("banyan", {}),
    "banyan, program": ("banyan", {"everywhere": False}),
    "banyan, contrastive": ("banyan", {"loss": "contrastive"}),
    "self_strae": ("self_strae", PAPER),
    "self_strae, program": ("self_strae", PROGRAM),
    "self_strae, both losses": ("self_strae", {"loss": "both"}),
    "self_strae, both losses, program": ("self_strae", {"loss": "both", **PROGRAM}),
}
SENTENCES = {
    "padding": [[0, 1, 2, 3, 4], [5, 6, 7], [8, 9, 10, 11]],
    "repeated words": [[0, 0, 0, 0, 0], [1, 2, 1, 2, 1, 2], [3, 3]],
    "one word": [[4], [4, 5, 6], [7]],
    "only one word": [[4]],
    "a sentence inside another": [[1, 2], [1, 2, 3, 4, 1, 2], [1, 2]],
    "equal lengths": [[9, 8, 7], [7, 8, 9]],
}


def network(row: str, seed: int = 0) -> Autoencoder:
    name, options = NETWORKS[row]
    torch.manual_seed(seed)
    return make_autoencoder(name, WORDS, 6, channels=3, dropout=0.0, leaf_dropout=0.0, **options).double()


def padded(sentences: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    longest = max(map(len, sentences)) + 2
    ids = torch.tensor([row + [999] * (longest - len(row)) for row in sentences])
    return ids, torch.tensor([len(row) for row in sentences])


def drawn(seed: int) -> list[list[int]]:
    rng = random.Random(seed)
    return [[rng.randrange(6) for _ in range(rng.randint(1, 9))] for _ in range(6)]


@pytest.mark.parametrize("case", [*SENTENCES, "drawn"])
@pytest.mark.parametrize("row", NETWORKS)
def test_states_graph_loss_and_gradients_are_those_of_the_equations(row: str, case: str) -> None:
    model, sentences = network(row), SENTENCES.get(case) or drawn(3)
    literal = Literal(model, sentences)
    swept = model.sentences(*padded(sentences))
    assert swept.batch.num_nodes == len(literal.made)
    node_of: dict[object, int] = {}
    for root, found in zip(literal.roots, swept.roots.tolist(), strict=True):
        assigned(literal, root, swept.batch, found, node_of)
    assert sorted(node_of.values()) == list(range(len(literal.made))), "the graphs differ"
    order = [node_of[node] for node in literal.made]
    assert_close(swept.up[order], torch.stack([literal.up[node] for node in literal.made]), "up", 1e-12)
    assert_close(swept.down[order], torch.stack([literal.down[node] for node in literal.made]), "down", 1e-12)
    parameters = dict(model.named_parameters())
    if len(literal.made) == len(literal.leaves) and row.startswith("self_strae, both"):
        return  # the literal form has no mean over no inner nodes
    expected, loss = literal.loss(), model(swept)
    assert abs(float((loss - expected).detach())) < 1e-12
    wanted, found = (
        torch.autograd.grad(of, list(parameters.values()), allow_unused=True, materialize_grads=True)
        for of in (expected, loss)
    )
    largest = max(float(each.abs().max()) for each in wanted if each.numel())
    for name, a, b in zip(parameters, found, wanted, strict=True):
        assert not a.numel() or float((a - b).abs().max()) < 1e-12 * max(largest, 1), name


def assigned(literal: Literal, node: object, graph: object, number: int, node_of: dict[object, int]) -> None:
    """Which number each node of the literal form has, child by child."""
    assert node_of.setdefault(node, number) == number
    start, stop = graph.child_ptr[number : number + 2].tolist()
    pair = literal.children.get(node, ())
    assert stop - start == len(pair)
    for child, found in zip(pair, graph.child_index[start:stop].tolist(), strict=True):
        assigned(literal, child, graph, found, node_of)


def test_the_entangled_graph_is_the_numbering_of_equal_subtrees() -> None:
    model, sentences = network("banyan"), drawn(5)
    swept = model.sentences(*padded(sentences))
    trees = swept.trees
    assert [[node.token for node in tree.preorder() if not node.children] for tree in trees] == [
        [TOKENS[word] for word in sentence] for sentence in sentences
    ]
    graph, node = entangle(batch(trees, WORDS))
    assert graph.num_nodes == swept.batch.num_nodes
    again = model.trees(batch(trees, WORDS))
    assert_close(again.up[again.roots], swept.up[swept.roots], "up", 1e-12)
    assert_close(again.down.sum(0), swept.down.sum(0), "down", 1e-12)
    assert_close(model(again), model(swept), "loss", 1e-12)
    assert torch.equal(node, again.node)


@pytest.mark.parametrize("entangled", [False, True])
def test_given_trees_of_any_functions_are_swept(entangled: bool) -> None:
    trees = batch([random_tree(4, 3, seed) for seed in (1, 2, 1)], VOCABULARY)
    up, down = TreeLSTM(VOCABULARY, 5).double(), DownwardTreeLSTM(VOCABULARY, 5, reads_up=False).double()
    model = Autoencoder(up, down, loss="both", entangled=entangled)
    model = model.double()
    swept = model.trees(trees)
    states = propagate(trees, up)
    assert_close(swept.up[swept.node], states["h"], "up", 1e-12)
    if not entangled:
        assert_close(swept.down, propagate(trees, down, direction="down", up=states)["h"], "down", 1e-12)
    model(swept).backward()
    assert all(parameter.grad is not None for parameter in model.output.parameters())
    tree = Tree("sin", [Tree("var", token="x")])
    alone, inside = batch([tree], VOCABULARY), batch([tree, Tree("neg", [tree])], VOCABULARY)
    [first], [second, _] = (model.trees(each) for each in (alone,)), model.trees(inside).roots.tolist()
    assert torch.allclose(first.down[first.roots], first.up[first.roots])
    context = model.trees(inside)
    assert torch.allclose(context.down[second], context.up[second]) is not entangled


def test_words_may_count_as_often_as_they_occur() -> None:
    model, sentences = network("banyan"), [[1, 1, 2], [1, 2]]
    swept = model.sentences(*padded(sentences))
    logits = model.output(swept.down)
    each = torch.nn.functional.cross_entropy(logits[:2], torch.tensor([1, 2]), reduction="none")
    assert_close(model(swept), (each[0] + each[1]) / 2, "once", 1e-12)
    model.occurrences = True
    assert_close(model(swept), (3 * each[0] + 2 * each[1]) / 5, "by occurrences", 1e-12)


def test_a_batch_with_nothing_to_learn_from_has_the_loss_0_and_gradients_of_0() -> None:
    """A leaf of a function without tokens: no cross-entropy, and no inner node for the other loss."""
    vocabulary = Vocabulary([("phrase", 2), ("word", 0), ("gap", 0)], TOKENS)
    up = TreeLSTM(vocabulary, 6, leaf="gates", input_size=3, functions=True)
    model = Autoencoder(up, DownwardTreeLSTM(vocabulary, 6, reads_up=False), loss="both")
    loss = model(model.trees(batch([Tree("gap")] * 2, vocabulary)))
    loss.backward()
    gradients = [parameter.grad for parameter in model.up.parameters() if parameter.grad is not None]
    assert loss == 0
    assert gradients
    assert not any(gradient.any() for gradient in gradients)


def test_leaves_of_given_trees_are_counted_where_they_occur() -> None:
    model = make_autoencoder("banyan", WORDS, 6, channels=3)
    a, again, b, alone = (Tree("word", token=TOKENS[i]) for i in (0, 0, 1, 0))
    swept = model.trees(batch([Tree("phrase", (a, Tree("phrase", (again, b)))), alone], WORDS))
    leaf = swept.batch.arity == 0
    assert dict(zip(swept.batch.token[leaf].tolist(), swept.count[leaf].tolist(), strict=True)) == {0: 3, 1: 1}


def test_dropout_is_one_mask_a_node() -> None:
    model = network("banyan").train()
    model.up.dropout, model.up.leaf_dropout = 0.5, 0.5
    torch.manual_seed(0)
    found = easy_first(model.up, *padded([[1, 2, 3]] * 3), entangled=True)
    assert len(found.up["h"]) == 5
    assert float((found.up["h"] == 0).double().mean()) > 0.2


def test_a_batch_that_memory_cannot_hold_says_what_would_help(monkeypatch: pytest.MonkeyPatch) -> None:
    model = network("self_strae")
    swept = model.sentences(*padded(drawn(1)))
    monkeypatch.setattr("dgltree.models.autoencoder.available_bytes", lambda device: 2000)
    with pytest.raises(MemoryError, match=r"the contrastive loss of \d+ nodes needs .* use smaller batches, or loss="):
        model(swept)


def test_wrong_settings_and_sentences_say_what_would_be_right() -> None:
    up, down = TreeLSTM(VOCABULARY, 5), DownwardTreeLSTM(VOCABULARY, 5)
    for make, message in (
        (lambda: Autoencoder(up, down), "down is a DownwardTreeLSTM that reads the upward states"),
        (
            lambda: Autoencoder(up, DownwardTreeLSTM(VOCABULARY, 4, reads_up=False)),
            "up and down must be cells with the same vocabulary and hidden_size",
        ),
        (lambda: make_autoencoder("banyan", WORDS, 6, channels=3, loss="sum"), "loss is 'sum'; it must be one of"),
        (lambda: make_autoencoder("banyan", WORDS, 6, channels=3, entangled=False), "everywhere=True joins equal"),
        (lambda: make_autoencoder("tree", WORDS), "the network is 'tree'; it must be one of strae"),
        (lambda: make_autoencoder("banyan", WORDS, 6), "channels is 128; it must divide hidden_size 6"),
        (lambda: network("self_strae, program").trees(batch([Tree("word", token="x")], WORDS)), "places='numbers' is"),
        (
            lambda: network("banyan").sentences(torch.tensor([[99]]), torch.tensor([1])),
            "but the vocabulary has tokens from 0 to 16",
        ),
        (lambda: network("banyan").sentences(torch.tensor([[1]]), torch.tensor([2])), "they must be from 1 to 1"),
        (
            lambda: network("banyan").sentences(torch.tensor([1]), torch.tensor([1])),
            r"the shapes must be \(B, T\) and \(B,\)",
        ),
        (lambda: easy_first(up, torch.tensor([[1]]), torch.tensor([1])), "unknown function 'phrase'"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
