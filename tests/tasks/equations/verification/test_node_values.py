"""Targets of nodes: what their subexpressions are worth, beside plain evaluation."""

import numpy as np
import pytest
import torch

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree import Tree
from dgltree.batching.batch import unbatch
from dgltree.datasets.batches import Labelled
from dgltree.equations.truth.evaluator import Evaluator
from dgltree.read.infix import read_equation
from tasks.equations.preorders import Batcher
from tasks.equations.store import EquationRow
from tasks.equations.verification.node_values import MAX_ASINH, POINTS, TARGETS, NodeValues, WithValues
from tasks.equations.vocabulary import vocabulary
from tasks.equations.words import word

EQUATIONS = [
    "sin(var_0) + 2 = 2 + sin(var_0)",
    "var_0*(var_1 + 1) = var_0*var_1",
    "tan(pi*2^(-1))*var_0 = var_0",
    "10^10*var_0 = var_0*var_0",
]


@pytest.fixture
def rows() -> list[EquationRow]:
    read = map(read_equation, EQUATIONS)
    return [EquationRow(*map(word, equation), 1, equation.depth, "train", 0) for equation in read]


def with_values(rows: list[EquationRow], random: np.random.Generator | None = None) -> WithValues:
    sides = [side for row in rows for side in (row.left, row.right)]
    labels = torch.tensor([float(row.label) for row in rows])
    trees = Batcher(vocabulary()).words(sides, random)
    return NodeValues(rows).beside(Labelled(trees, labels, torch.zeros(len(rows), dtype=torch.int64)), sides)


def test_targets_are_standardised_values_of_the_nodes(rows: list[EquationRow]) -> None:
    found = with_values(rows).values.double().numpy()
    nodes = [node for row in rows for side in row.equation for node in side.preorder()]
    with np.errstate(all="ignore"):
        values = [
            Evaluator().value(node)[0][:POINTS] for row in rows for side in row.equation for node in side.preorder()
        ]
        parts = np.array([np.arcsinh(np.concatenate([value.real, value.imag])) for value in values])
    assert found.shape == parts.shape == (len(nodes), TARGETS)
    pole = [node.function == "tan" for node in nodes]
    assert np.isnan(found[pole]).all(), "a pole has no value"
    for target, part in zip(found.T, np.clip(parts, -MAX_ASINH, MAX_ASINH).T, strict=True):
        known = np.isfinite(target)
        slope, shift = np.polyfit(part[known], target[known], 1)
        np.testing.assert_allclose(slope * part[known] + shift, target[known], atol=1e-5)


def test_each_target_has_mean_0_and_deviation_1(rows: list[EquationRow]) -> None:
    targets = NodeValues(rows)._targets.astype(float)
    np.testing.assert_allclose(np.nanmean(targets, 0), np.zeros(TARGETS), atol=1e-6)
    np.testing.assert_allclose(np.nanstd(targets, 0), np.ones(TARGETS), atol=1e-6)


def test_errors_are_means_over_the_usable_targets_of_each_equation(rows: list[EquationRow]) -> None:
    labelled = with_values(rows)
    usable = labelled.values.isfinite()
    found = torch.where(usable, labelled.values, torch.nan).clone()
    torch.testing.assert_close(labelled.errors(found.nan_to_num()), torch.zeros(len(rows)))
    found[0] += 2.0  # the root of the first equation's left side
    nodes = len(rows[0].left) + len(rows[0].right)
    torch.testing.assert_close(labelled.errors(found.nan_to_num()), torch.tensor([4.0 / nodes, 0.0, 0.0, 0.0]))


def test_children_of_sums_and_products_alone_are_swapped_and_keep_their_values(rows: list[EquationRow]) -> None:
    plain, swapped = with_values(rows), with_values(rows, np.random.default_rng(0))
    assert torch.equal(plain.values.nan_to_num(), swapped.values.nan_to_num())
    before, after = unbatch(plain.trees), unbatch(swapped.trees)
    assert before != after
    assert list(map(in_one_order, before)) == list(map(in_one_order, after))


def in_one_order(tree: Tree) -> str:
    """The tree as text, its sums and products in alphabetical order."""
    children = [in_one_order(child) for child in tree.children]
    ordered = sorted(children) if tree.function in ("Add", "Mul") else children
    return f"{tree.function}{tree.token or ''}({','.join(ordered)})"
