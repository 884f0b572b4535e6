"""Banyan and Self-StrAE as encoders, against their equations one sentence at a time."""

from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from dgltree.encoders import SequenceEasyFirst
from dgltree.induction import merged_trees
from dgltree.trees.tree import Tree

IDS = torch.randint(3, 9, (5, 8), generator=torch.Generator().manual_seed(4))
LENGTHS = torch.tensor([8, 1, 5, 2, 7])


def make(cell: str, **options: Any) -> SequenceEasyFirst:
    torch.manual_seed(3)
    return SequenceEasyFirst(9, 32, cell=cell, **options).double().eval()


def joined(core: Any, left: Tensor, right: Tensor) -> Tensor:
    """A phrase of two parts, channel by channel."""
    if core.config["cell"] == "banyan":
        l, r = (h.view(16, 2) for h in (left, right))  # noqa: E741
        w = torch.sigmoid(core.cell.weight)
        return (l * w[0] + r * w[1] + core.cell.bias).flatten()
    l, r = (h.view(2, 16) for h in (left, right))  # noqa: E741
    linear = next(iter(core.cell.named_maps().values()))
    weight, bias = (each.squeeze(0) for each in (linear.weight, linear.bias))
    matrix = weight if weight.shape == (16, 32) else weight.t()
    return (torch.cat([l, r], 1) @ matrix.t() + bias).flatten()


def literal(core: Any, ids: list[int]) -> tuple[Tensor, Tree]:
    parts = [(core.cell.embedding.weight[i], Tree("word", token=str(t))) for t, i in enumerate(ids)]
    while len(parts) > 1:
        states = [h for h, _ in parts]
        cosines = [float(torch.cosine_similarity(a, b, 0).detach()) for a, b in pairwise(states)]
        j = cosines.index(max(cosines))
        (left, l_tree), (right, r_tree) = parts[j : j + 2]
        parts[j : j + 2] = [(joined(core, left, right), Tree("phrase", [l_tree, r_tree]))]
    return parts[0]


@pytest.mark.parametrize("cell", ["banyan", "strae"])
def test_states_trees_and_gradients_are_those_of_the_equations(cell: str) -> None:
    core = make(cell, everywhere=False)
    found = core.encoded(IDS, LENGTHS)
    sentences = [row[:length] for row, length in zip(IDS.tolist(), LENGTHS.tolist(), strict=True)]
    expected = [literal(core, sentence) for sentence in sentences]
    roots = torch.stack([root for root, _ in expected])
    torch.testing.assert_close(found.root, roots, rtol=0, atol=1e-12)
    torch.testing.assert_close(core(IDS, LENGTHS), roots, rtol=0, atol=1e-12)
    places = [[str(t) for t in range(length)] for length in LENGTHS.tolist()]
    assert merged_trees(places, found.parse.order) == [tree for _, tree in expected]
    gradients = []
    for value in (found.root, roots):
        core.zero_grad()
        (value * value.detach().cos()).sum().backward()
        gradients.append(torch.cat([p.grad.flatten() for p in core.parameters() if p.grad is not None]))
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-10)


def test_a_pair_is_joined_at_all_of_its_places_or_at_one() -> None:
    ids, lengths = torch.tensor([[3, 4, 5, 3, 4]]), torch.tensor([5])
    places = [[str(t) for t in range(5)]]
    with torch.no_grad():
        core = make("banyan")
        core.cell.embedding.weight[3].copy_(core.cell.embedding.weight[4] + 1e-3)  # the most alike
        [tree] = core.encoded(ids, lengths).parse.trees(places)
    phrases = [[leaf.token for leaf in node.preorder() if leaf.token] for node in tree.preorder() if node.children]
    assert ["0", "1"] in phrases
    assert ["3", "4"] in phrases


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cell": "tree_lstm"}, "cell is 'tree_lstm'; it must be one of banyan, strae"),
        ({"cell": "strae", "hidden_size": 24}, "hidden_size is 24; it must be a multiple of 16 for 'strae'"),
        ({"hidden_size": 7}, "hidden_size is 7; it must be a multiple of 2 for 'banyan'"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    given = {"hidden_size": 32, **options}
    with pytest.raises(ValueError, match=message):
        SequenceEasyFirst(9, given.pop("hidden_size"), **given)
