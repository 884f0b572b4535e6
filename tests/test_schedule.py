"""Schedules: order, steps, and sharing."""

import torch
from helpers import EDGE_CASES, VOCABULARY, random_tree

from dgltree import Tree, TreeBatch, batch
from dgltree.schedule import schedule

FOREST = [random_tree(depth, 3, seed) for depth in (2, 5, 9, 30) for seed in (1, 2)] + EDGE_CASES["wide node"]


def subtrees(flat: TreeBatch) -> list[Tree]:
    """For each node the tree below it, rebuilt here from the flat arrays."""
    trees: dict[int, Tree] = {}
    for j in flat.level.argsort(stable=True).tolist():
        children = flat.child_index[flat.child_ptr[j] : flat.child_ptr[j + 1]].tolist()
        value = None if flat.value is None or flat.value[j].isnan() else float(flat.value[j])
        trees[j] = Tree(str(int(flat.function[j])), [trees[c] for c in children], str(int(flat.token[j])), value)
    return [trees[j] for j in range(flat.num_nodes)]


def test_steps_cover_every_row_once_and_children_stand_in_earlier_rows() -> None:
    flat = batch(FOREST, VOCABULARY)
    for share in (False, True):
        plan = schedule(flat, share)
        assert [plan.leaves, *(step.stop for step in plan.steps)] == [*(step.start for step in plan.steps), len(plan)]
        for step in plan.steps:
            assert len(step.children) == step.arity * (step.stop - step.start)
            assert int(step.children.max()) < step.start
            nodes = plan.node[step.start : step.stop]
            assert set(flat.arity[nodes].tolist()) == {step.arity}
            assert step.segments[0][1] == 0
            for f, a, b in step.segments:
                assert set(flat.function[nodes[a:b]].tolist()) == {f}
            for row, node in enumerate(nodes.tolist()):
                children = flat.child_index[flat.child_ptr[node] : flat.child_ptr[node + 1]]
                assert plan.row[children].tolist() == step.children.view(-1, step.arity)[row].tolist()


def test_without_sharing_every_node_has_its_own_row() -> None:
    flat = batch(FOREST, VOCABULARY)
    plan = schedule(flat)
    assert torch.equal(plan.node[plan.row], torch.arange(flat.num_nodes))


def test_exactly_the_equal_subtrees_share_a_row() -> None:
    flat = batch(FOREST, VOCABULARY)
    plan, trees = schedule(flat, share=True), subtrees(flat)
    rows: dict[Tree, set[int]] = {}
    for tree, row in zip(trees, plan.row.tolist(), strict=True):
        rows.setdefault(tree, set()).add(row)
    assert all(len(found) == 1 for found in rows.values())
    assert len(rows) == len(plan) < flat.num_nodes


def test_labels_do_not_keep_subtrees_apart_but_values_and_inputs_do() -> None:
    leaf = Tree("num", token="1")
    assert len(schedule(batch([leaf, leaf.replace(label=1)], VOCABULARY), share=True)) == 1
    numbers = [Tree("num", value=value) for value in (1, 2, 1)]
    assert schedule(batch(numbers, VOCABULARY), share=True).row.tolist()[0::2] == [0, 0]
    assert len(schedule(batch(numbers, VOCABULARY), share=True)) == 2
    x = torch.tensor([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0]])
    assert len(schedule(batch([leaf] * 3, VOCABULARY, x=x), share=True)) == 2
