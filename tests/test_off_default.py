"""Every option of every network makes a difference, and a saved network keeps it: tests/off_default.py has the values.

Both networks are drawn from one seed. What can be seen of one is the shapes of its weights, its states in training and
in evaluation with what was drawn, and what it refuses: an option that is read nowhere changes none of these.
"""

from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import FUNCTIONS, TOKENS, chain, random_tree, square, suited
from off_default import OTHERS, Beside, options_of
from relations import check_ways, one_alone
from torch import nn

import dgltree
from dgltree import Tree, Vocabulary, batch, propagate
from dgltree.cells import CELLS, SWEEPS, Cell, DownwardCell, TreeLSTM
from dgltree.encoders import SEQUENCE_ENCODERS, TreeEncoder, make_encoder
from dgltree.encoders.encoder import Merges
from dgltree.engine.kernels.dispatch import kernels
from dgltree.models import LanguageModel, PairModel, load_language_model, save_language_model
from dgltree.models.checkpoint import READOUTS

SIZE = 6
VOCABULARY = Vocabulary([("var", 0), ("num", 0), *(f for f in FUNCTIONS if f[1] <= 3)], TOKENS)
TREES = [random_tree(3, 3, 1), chain(7), square(), Tree("pow", (chain(1), Tree("num", token="2")))]
SENTENCES = [["the", "cat"], ["dog"], ["the", "cat", "the", "cat", "the"], []]
TOGETHER = {"batch_maximum", "padded_mean", "max_length"}
"""Options by which the sequences of a batch depend on each other, and one by which these here are refused."""
WORDS = Vocabulary((), ["<eos>", "<unk>", "the", "cat"], unk=True)
SMALL = {
    "tree_transformer": {"path_length": 2},
    "universal_transformer": {"num_steps": 2},
    "neural_data_router": {"num_layers": 2},
}
"""What a row has where the option at hand is another one, since its default does not fit 16 columns or takes long."""


def make(name: str, options: dict[str, Any], sharpened: float = 1.0) -> nn.Module:
    """The network of a row with these options, from one seed."""
    torch.manual_seed(0)
    network = drawn(name, options)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(sharpened)
    return network


def drawn(name: str, options: dict[str, Any]) -> nn.Module:
    """The network of a row, as its class makes it."""
    if name in CELLS:
        return CELLS[name](VOCABULARY, **{"hidden_size": SIZE, **options})
    if name.startswith("downward "):
        return SWEEPS[name.removeprefix("downward ")][1](VOCABULARY, **{"hidden_size": SIZE, **options})
    if name in SEQUENCE_ENCODERS:
        return make_encoder(name, VOCABULARY, 16, **{**SMALL.get(name, {}), **options})
    if name == "TreeEncoder":
        return TreeEncoder(TreeLSTM(VOCABULARY, SIZE, input_size=3, leaf="gates"), **options)
    if name == "LanguageModel":
        return LanguageModel(WORDS, **{"sizes": [4, 6], **options})
    kind, model = READOUTS[name]
    sizes = {} if name == "number" else {"classes": 3}
    readout = kind(**{"size": SIZE, **sizes, **options})
    return model(TreeEncoder(TreeLSTM(VOCABULARY, readout.config["size"])), readout)


def answers(network: nn.Module) -> list[torch.Tensor]:
    """What a network computes, of four trees or of a sentence, and what it adds to a loss."""
    if isinstance(network, LanguageModel):
        steps = network(torch.tensor([[0, 2, 3, 2, 0]]))
        return [steps.states, network.logits(steps.states)]
    if isinstance(network, Cell):
        return [propagate(batch(suited(network, TREES), VOCABULARY), network)["h"]]
    if isinstance(network, DownwardCell):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            up = TreeLSTM(VOCABULARY, network.hidden_size)
        flat = batch(TREES, VOCABULARY)
        return [propagate(flat, network, direction="down", up=propagate(flat, up))["h"]]
    flat = batch(TREES, VOCABULARY)
    if isinstance(network, dgltree.encoders.Encoder):
        encoded = network.encoded(flat)
        order = [encoded.parse.order] if isinstance(encoded.parse, Merges) else []
        return [encoded.root, *encoded.losses.values(), *order]
    return [network(flat)]


def seen(network: nn.Module) -> list[Any]:
    """All that an option may change, as plain values."""
    found: list[Any] = [(name, tuple(each.shape)) for name, each in network.state_dict().items()]
    for is_training in (True, False):
        torch.manual_seed(1)
        network.train(is_training)
        try:
            with kernels("off"):
                tensors = answers(network)
        except ValueError as error:
            found.append(str(error))
            continue
        found += [each.tolist() for each in tensors]
        if not is_training:
            assert torch.get_rng_state().equal(torch.Generator().manual_seed(1).get_state()), "evaluation draws numbers"
        else:
            weights = [weight for weight in network.parameters() if weight.requires_grad]
            total = sum(each.square().sum() for each in tensors if each.requires_grad)
            gradients = torch.autograd.grad(total, weights, allow_unused=True)
            found += [None if each is None else each.norm().item() for each in gradients]
    return found


def trained(network: nn.Module, seed: int) -> list[Any]:
    """The results of a pass in training with what is drawn from a seed."""
    torch.manual_seed(seed)
    network.train()
    with torch.no_grad(), kernels("off"):
        return [each.tolist() for each in answers(network)]


def rows(network: nn.Module, things: list[Any]) -> list[Any]:
    """What a network gives each of several trees, pairs of trees, or sentences."""
    if isinstance(network, LanguageModel):
        return [*network.log_probabilities(things)]
    flat = batch(things, VOCABULARY)
    if isinstance(network, Cell):
        return [*propagate(flat, network)["h"][flat.roots]]
    if not isinstance(network, dgltree.encoders.Encoder):
        return [*network(flat)]
    encoded = network.encoded(flat)
    parts = [encoded.root, *encoded.losses.values()]
    if isinstance(encoded.parse, Merges):
        parts.append(encoded.parse.trees(network.words(flat)))
    return [*zip(*parts, strict=True)]


def things_of(network: nn.Module) -> list[Any]:
    """What a network reads: several of different length, of which two are equal."""
    if isinstance(network, LanguageModel):
        return SENTENCES
    if isinstance(network, Cell):
        return suited(network, TREES)
    is_of_pairs = getattr(network, "joint", False) or isinstance(network, PairModel)
    return [(tree, other) for tree, other in zip(TREES, TREES[::-1], strict=True)] if is_of_pairs else TREES


def saved(network: nn.Module, path: Path) -> nn.Module:
    """The network from a file, or made again from its options where only what contains it can be saved."""
    if isinstance(network, LanguageModel):
        save_language_model(network, path)
        return load_language_model(path)
    if isinstance(network, DownwardCell):
        again = type(network)(network.vocabulary, **network.config).to(next(network.parameters()).dtype).eval()
        again.load_state_dict(network.state_dict())
        return again
    dgltree.save(network, path)
    return dgltree.load(path)


def config(network: nn.Module) -> dict[str, Any]:
    return network.readout.config if hasattr(network, "readout") else network.config


@pytest.mark.parametrize("name", OTHERS)
def test_every_option_makes_a_difference_and_is_saved(name: str, tmp_path: Path) -> None:
    assert OTHERS[name].keys() == options_of(name), f"add the other value to the row {name!r} of tests/off_default.py"
    known: dict[str, Any] = {}
    silent, lost = [], []
    for option, other in OTHERS[name].items():
        value, beside, sharpened = other if isinstance(other, Beside) else Beside(other, {})
        pair = f"{beside} {sharpened}"
        if pair not in known:
            known[pair] = seen(make(name, beside, sharpened))
        network = make(name, {**beside, option: value}, sharpened)
        if seen(network) == known[pair]:
            silent.append(option)
        if "dropout" in option or option == "handed_on":
            assert trained(network, 1) != trained(network, 2), f"{name}: {option} draws the same in every pass"
        if option not in TOGETHER and not isinstance(network, DownwardCell):
            with torch.no_grad(), kernels("off"):
                one = network.eval().double()
                check_ways(
                    lambda things, one=one: rows(one, things), things_of(one), f"{name}, {option}", 1e-9, one_alone
                )
        read = saved(network, tmp_path / "part.safetensors")
        is_kept = config(read).get(option) == value and not read.training
        weights = network.state_dict()
        if not is_kept or any(not torch.equal(each, weights[key]) for key, each in read.state_dict().items()):
            lost.append(option)
    assert not silent, f"{name}: {silent} change nothing that can be seen"
    assert not lost, f"{name}: {lost} are not what they were in a network that was saved and loaded"
