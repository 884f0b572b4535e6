"""Readouts compute what their docstrings say, and targets are whole."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from dgltree import Tree, Vocabulary, batch, propagate
from dgltree.batching.batch import supervised
from dgltree.cells import TreeLSTM
from dgltree.encoders import TreeEncoder
from dgltree.models import ClassifierReadout, GELUClassifierReadout, GELUPairReadout, NumberReadout, PairReadout
from dgltree.read.bracket import read_sst

LABELLED = [read_sst("(3 (2 a) (4 (1 fine) (0 film)))"), read_sst("(1 (2 a) (0 mess))"), read_sst("(2 film)")]
VOCABULARY = Vocabulary.from_trees(LABELLED)
MAKERS: list[Callable[..., nn.Module]] = [ClassifierReadout, PairReadout, GELUClassifierReadout, GELUPairReadout]


def linears(readout: nn.Module) -> list[nn.Linear]:
    return [module for module in readout.modules() if isinstance(module, nn.Linear)]


def test_an_encoder_gives_the_states_of_all_nodes_and_of_the_roots() -> None:
    cell, flat = TreeLSTM(VOCABULARY, 4), batch(LABELLED, VOCABULARY)
    states = TreeEncoder(cell).node_states(flat)
    assert torch.equal(states, propagate(flat, cell)["h"])
    assert torch.equal(TreeEncoder(cell)(flat), states[flat.roots])
    assert torch.allclose(TreeEncoder(cell).node_states(flat, share=True), states)


def test_a_classifier_is_linear_or_has_one_hidden_layer() -> None:
    states = torch.randn(2, 7, 5).double()
    plain = ClassifierReadout(5, 3, dropout=0.5).double().eval()
    deep = ClassifierReadout(5, 3, hidden_size=6).double().eval()
    [linear] = linears(plain)
    torch.testing.assert_close(plain(states), states @ linear.weight.T + linear.bias)
    first, second = linears(deep)
    hidden = (states @ first.weight.T + first.bias).clamp(min=0)
    assert hidden.shape == (2, 7, 6)
    assert torch.allclose(deep(states), hidden @ second.weight.T + second.bias)
    assert deep(states).shape == (2, 7, 3)


def test_a_pair_is_read_from_both_states_their_product_and_their_distance() -> None:
    h1, h2 = torch.randn(2, 4, 5).double()
    readout = PairReadout(5, 7).double().eval()
    first, second = linears(readout)
    features = torch.cat([h1, h2, h1 * h2, (h1 - h2).abs()], 1)
    hidden = nn.functional.elu(features @ first.weight.T + first.bias)
    assert hidden.shape == (4, 5), "the hidden layer is as wide as a state by default"
    assert torch.allclose(readout(h1, h2), hidden @ second.weight.T + second.bias)
    assert not torch.allclose(readout(h1, h2), readout(h2, h1))
    assert linears(PairReadout(5, 7, hidden_size=9))[0].weight.shape == (9, 20)


def test_the_heads_of_the_papers_on_latent_trees_have_a_hidden_layer_with_gelu() -> None:
    h1, h2 = torch.randn(4, 5), torch.randn(4, 5)
    single, pair = GELUClassifierReadout(5, 7).eval(), GELUPairReadout(5, 7).eval()
    for readout, states, features in (
        (single, (h1,), h1),
        (pair, (h1, h2), torch.cat([h1, h2, h1 * h2, (h1 - h2).abs()], 1)),
    ):
        first, second = linears(readout)
        hidden = nn.functional.gelu(features @ first.weight.T + first.bias)
        assert hidden.shape == (4, 5)
        assert torch.allclose(readout(*states), hidden @ second.weight.T + second.bias, atol=1e-6)


def test_a_number_is_read_through_one_sigmoid_layer() -> None:
    states, readout = torch.randn(2, 4, 5, dtype=torch.float64), NumberReadout(5).double()
    W1, b1, W2, b2 = readout.parameters()
    hidden = 1 / (1 + torch.exp(-(states @ W1.T + b1)))
    assert torch.allclose(readout(states), hidden @ W2[0] + b2)
    assert readout(states).shape == (2, 4)
    assert torch.autograd.gradcheck(readout, (states.requires_grad_(),))
    names = [name for name, _ in readout.named_parameters()]
    parameters = [parameter.detach().requires_grad_() for parameter in readout.parameters()]

    def of_parameters(*given: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(readout, dict(zip(names, given, strict=True)), (states.detach(),))

    assert torch.autograd.gradcheck(of_parameters, parameters)
    with pytest.raises(ValueError, match="size is 0; it must be 1 or more"):
        NumberReadout(0)


def test_the_published_number_decoders_are_number_readouts(published: Path) -> None:
    for file in sorted((published / "equations" / "checkpoints").iterdir()):
        weights = torch.load(file, map_location="cpu", weights_only=True)
        prefix = "Number_dec."
        weights = {name.removeprefix(prefix): w for name, w in weights.items() if name.startswith(prefix)}
        readout = NumberReadout(weights["linear1.weight"].shape[0])
        readout.load_state_dict(weights)


def test_dropout_acts_before_every_linear_layer_and_in_training_only() -> None:
    for readout, layers in (
        (ClassifierReadout(5, 3, dropout=0.5), 1),
        (ClassifierReadout(5, 3, hidden_size=6, dropout=0.5), 2),
        (PairReadout(5, 3, dropout=0.5), 2),
    ):
        modules = list(readout.layers)
        before = [modules[i - 1] for i, module in enumerate(modules) if isinstance(module, nn.Linear)]
        assert [module.p for module in before if isinstance(module, nn.Dropout)] == [0.5] * layers
        states = [torch.ones(1, 5)] * (2 if isinstance(readout, PairReadout) else 1)
        assert len({tuple(readout(*states)[0].tolist()) for _ in range(20)}) > 1
        readout.eval()
        assert len({tuple(readout(*states)[0].tolist()) for _ in range(20)}) == 1


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"size": 0}, "size is 0; it must be 1 or more"),
        ({"classes": 0}, "classes is 0; it must be 1 or more"),
        ({"hidden_size": 0}, "hidden_size is 0; it must be 1 or more"),
        ({"dropout": 1.0}, "dropout is 1.0; it must be a probability from 0 to below 1"),
        ({"dropout": -0.1}, "dropout is -0.1; it must be a probability"),
    ],
)
def test_readouts_refuse_impossible_options(make: Callable[..., nn.Module], options: dict, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        make(**{"size": 5, "classes": 3, **options})


def test_all_nodes_or_the_roots_are_predicted() -> None:
    flat = batch(LABELLED, VOCABULARY)
    assert supervised(flat, "nodes", 5).tolist() == list(range(9))
    assert supervised(flat, "roots", 5).tolist() == flat.roots.tolist() == [0, 5, 8]


def unlabelled(tree: Tree, token: str | None) -> Tree:
    """``tree`` without the labels of the nodes that carry ``token`` (None: of the inner nodes)."""
    return tree.fold(lambda n, children: n.replace(children=children, label=None if n.token == token else n.label))


def test_bad_labels_are_refused_with_their_place() -> None:
    half = batch([LABELLED[0], unlabelled(LABELLED[1], "mess")], VOCABULARY)
    assert supervised(half, "roots", 5).tolist() == [0, 5], "the roots have labels"
    with pytest.raises(ValueError, match="tree 2, node 3 has no label; supervision='nodes' needs one at every node"):
        supervised(half, "nodes", 5)

    rootless = batch([*LABELLED[:2], unlabelled(LABELLED[0], None)], VOCABULARY)
    with pytest.raises(ValueError, match="tree 3, node 1 has no label; supervision='roots' needs one at the root"):
        supervised(rootless, "roots", 5)

    with pytest.raises(ValueError, match="tree 1, node 3 has the label 4; classes are 0 to 3"):
        supervised(batch(LABELLED, VOCABULARY), "nodes", 4)
    with pytest.raises(ValueError, match="tree 1, node 1 has the label 3; classes are 0 to 2"):
        supervised(batch(LABELLED, VOCABULARY), "roots", 3)
    with pytest.raises(ValueError, match="supervision is 'leaves'; it must be 'nodes' or 'roots'"):
        supervised(batch(LABELLED, VOCABULARY), "leaves", 5)
