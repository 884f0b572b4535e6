"""Gradients of some weights alone leave those of all weights along the same graph as they are.

A graph that is kept may run backwards for a part of its weights first, as gradient penalties and influence functions
do (``torch.autograd.grad``): operations between the loss and the other weights have not run then.
"""

from collections.abc import Callable

import pytest
import torch
from helpers import random_dag, random_tree, suited
from rows import ENCODERS, ROWS, make_cell, make_sequence_encoder
from torch import Tensor, nn

from dgltree import Vocabulary, batch, propagate
from dgltree.engine.kernels.dispatch import kernels

TREES = [random_tree(4, 2, 1), random_tree(3, 3, 2), random_dag(9, 3, 3)]


def check(module: nn.Module, loss_of: Callable[[], Tensor]) -> None:
    weights = [each for each in module.parameters() if each.requires_grad]
    expected = torch.autograd.grad(loss_of(), weights, allow_unused=True)
    halves = ([each for i, each in enumerate(weights) if i % 2 == k] for k in (0, 1))
    groups = [[each for each in child.parameters() if each.requires_grad] for child in module.children()]
    for chosen in filter(None, [*halves, *groups]):
        loss = loss_of()
        torch.autograd.grad(loss, chosen, retain_graph=True, allow_unused=True)
        for found, gradient in zip(torch.autograd.grad(loss, weights, allow_unused=True), expected, strict=True):
            torch.testing.assert_close(found, gradient, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mode", ["on", "off"])
@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder_of_sequences_has_the_same_gradients_after_some_of_them(name: str, mode: str) -> None:
    vocabulary = Vocabulary.from_trees(TREES)
    encoder = make_sequence_encoder(name, vocabulary).double().eval()
    flat = batch(TREES, vocabulary)
    with kernels(mode):
        check(encoder.core, lambda: encoder(flat).square().sum())


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["on", "off"])
@pytest.mark.parametrize("name", ROWS)
def test_a_cell_has_the_same_gradients_after_some_of_them(name: str, mode: str) -> None:
    cell = make_cell(name).eval()
    flat = batch(suited(cell, TREES), cell.vocabulary)
    with kernels(mode):
        check(cell, lambda: propagate(flat, cell)["h"].square().sum())
