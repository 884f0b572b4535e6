"""``torch.compile`` leaves passes as they are, which follow the shapes of trees, and compiles what is around them."""

import pytest
import torch
from helpers import VOCABULARY, random_tree
from rows import make_cell, make_sequence_encoder
from torch import Tensor

from dgltree import batch
from dgltree.encoders import Encoder, TreeEncoder
from dgltree.models import ClassifierReadout, TreeModel

TREES = [random_tree(4, 3, seed) for seed in range(3)]
ENCODERS = {
    "tree_smu": lambda: TreeEncoder(make_cell("tree_smu, no_op")),
    "tree_cell": lambda: TreeEncoder(make_cell("tree_cell")),
    "child_sum, pooled": lambda: TreeEncoder(make_cell("child_sum"), pooling="mean"),
    "lstm": lambda: make_sequence_encoder("lstm", VOCABULARY).double(),
    "beam_tree": lambda: make_sequence_encoder("beam_tree", VOCABULARY).double(),
}


def results(model: torch.nn.Module, encoder: Encoder, trees: list) -> list[Tensor]:
    torch.manual_seed(0)
    found = model(batch(trees, encoder.vocabulary))
    return [found, *torch.autograd.grad(found.sum(), list(encoder.parameters()), materialize_grads=True)]


@pytest.mark.filterwarnings("ignore")  # of the compiler itself
@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODERS)
def test_a_compiled_model_has_the_same_results_and_one_graph_for_all_batches(name: str) -> None:
    from torch._dynamo.testing import CompileCounter

    torch._dynamo.reset()
    encoder = ENCODERS[name]()
    size = encoder(batch(TREES, encoder.vocabulary)).shape[1]
    model = TreeModel(encoder, ClassifierReadout(size, 3).double(), ["a", "b", "c"])
    counter = CompileCounter()
    compiled = torch.compile(model, backend=counter, dynamic=True)
    for trees in (TREES, TREES[1:], [random_tree(7, 2, 9), *TREES]):
        for found, expected in zip(results(compiled, encoder, trees), results(model, encoder, trees), strict=True):
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    assert counter.op_count > 0  # of the readout
    assert counter.frame_count <= 3
