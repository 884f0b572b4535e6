"""Schedules: order, steps, and sharing."""

import pickle
import random

import pytest
import torch
from helpers import EDGE_CASES, FUNCTIONS, VOCABULARY, braid, chain, leaf, random_tree, square
from hypothesis import given
from hypothesis import strategies as st

from dgltree import Tree, TreeBatch, Vocabulary, batch, plan, propagate, root_states
from dgltree.cells import ChildSumTreeLSTM, TreeRNN
from dgltree.engine.schedule import MOST_ROWS, schedule

FOREST = [random_tree(depth, 3, seed) for depth in (2, 5, 9, 30) for seed in (1, 2)] + EDGE_CASES["wide node"]


def random_binary(rng: random.Random, depth: int) -> Tree:
    """Up to so many levels above its leaves, all inner nodes with two children."""
    if depth == 0 or rng.random() < 0.2:
        return leaf(rng)
    return Tree(
        rng.choice([name for name, arity in FUNCTIONS if arity == 2]),
        (random_binary(rng, depth - 1), random_binary(rng, depth - 1)),
    )


def subtrees(flat: TreeBatch) -> list[Tree]:
    """For each node the tree below it, rebuilt here from the flat arrays."""
    trees: dict[int, Tree] = {}
    for j in flat.level.argsort(stable=True).tolist():
        children = flat.child_index[flat.child_ptr[j] : flat.child_ptr[j + 1]].tolist()
        value = None if flat.value is None or flat.value[j].isnan() else float(flat.value[j])
        trees[j] = Tree(str(int(flat.function[j])), [trees[c] for c in children], str(int(flat.token[j])), value)
    return [trees[j] for j in range(flat.num_nodes)]


@pytest.mark.parametrize("most", [5, MOST_ROWS])
def test_steps_cover_every_row_once_and_children_stand_in_earlier_rows(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dgltree.engine.schedule.MOST_ROWS", most)
    flat = batch(FOREST, VOCABULARY)
    for share in (False, True):
        plan = schedule(flat, share)
        assert [plan.leaves, *(step.stop for step in plan.steps)] == [*(step.start for step in plan.steps), len(plan)]
        for step in plan.steps:
            rows = plan.sources[step.edges].view(-1, step.arity)
            assert len(rows) == step.stop - step.start <= most
            assert int(rows.max()) < step.start
            nodes = plan.node[step.start : step.stop]
            assert set(flat.arity[nodes].tolist()) == {step.arity}
            assert [0, *(b for _, _, b in step.segments)] == [*(a for _, a, _ in step.segments), len(rows)]
            for f, a, b in step.segments:
                assert set(flat.function[nodes[a:b]].tolist()) == {f}
            for row, node in enumerate(nodes.tolist()):
                children = flat.child_index[flat.child_ptr[node] : flat.child_ptr[node + 1]]
                assert plan.row[children].tolist() == rows[row].tolist()


def test_trees_whose_inner_nodes_have_one_arity_take_a_step_a_level() -> None:
    binary = [random_binary(random.Random(seed), depth) for seed, depth in enumerate((3, 6, 9))]
    flat = batch(binary, VOCABULARY)
    for share in (False, True):
        found = schedule(flat, share)
        assert [set(flat.level[found.node[step.start : step.stop]].tolist()) for step in found.steps] == [
            {level} for level in range(1, int(flat.level.max()) + 1)
        ]


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


def test_segments_have_different_functions_and_no_step_could_be_part_of_the_one_before() -> None:
    flat = batch(FOREST, VOCABULARY)
    for share in (False, True):
        plan = schedule(flat, share)
        before = None
        for step in plan.steps:
            functions = [f for f, _, _ in step.segments]
            assert functions == sorted(set(functions))
            ends = [0, *(stop for _, _, stop in step.segments)]
            assert [start for _, start, _ in step.segments] == ends[:-1]
            assert ends[-1] == step.stop - step.start
            if before is not None and before.arity == step.arity:
                latest = plan.sources[step.edges].view(-1, step.arity).max(1).values
                assert (latest >= before.start).all(), "a node was ready for the step before"
            before = step
        pairs = {(int(flat.level[node]), int(flat.arity[node])) for node in plan.node[plan.leaves :]}
        assert len(plan.steps) < len(pairs), "fewer steps than by level and arity"


def test_a_node_waits_for_others_of_its_arity_if_it_has_the_shorter_way_up() -> None:
    x = Tree("var", token="x")
    pair = Tree("add", (x, x))
    long = Tree("sin", (Tree("add", (Tree("sin", (pair,)), x)),))  # 2 1 2 1 children, from the leaves up
    short = Tree("neg", (x,))  # could be first, and is computed with the sine
    plan = schedule(batch([long, short], VOCABULARY))
    assert [(step.arity, step.stop - step.start) for step in plan.steps] == [(2, 1), (1, 2), (2, 1), (1, 1)]


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(1, 3), st.integers(0, 500)), min_size=1, max_size=5))
def test_random_subtrees_share_a_row_exactly_if_they_are_equal(drawn: list[tuple[int, int, int]]) -> None:
    def redrawn(tree: Tree, rng: random.Random) -> Tree:
        """``tree`` built anew, with values that equal leaves have in common and labels that do not matter."""
        value = {node: rng.choice([None, 0.0, 1.5, 5e-324]) for node in tree.distinct()}
        sign = rng.choice([1, -1])  # -0.0 is the number 0.0

        def draw(node: Tree, below: list[Tree]) -> Tree:
            number = None if node.children or value[node] is None else sign * value[node]
            return node.replace(children=below, value=number, label=rng.choice([None, 0, 1]))

        return tree.fold(draw)

    trees = [redrawn(random_tree(*each), random.Random(each[-1])) for each in drawn]
    flat = batch(trees, VOCABULARY)
    nodes, plan = subtrees(flat), schedule(flat, share=True)
    row_of: dict[Tree, int] = {}
    for tree, row in zip(nodes, plan.row.tolist(), strict=True):
        assert row_of.setdefault(tree, row) == row, "equal subtrees have one row"
    assert len(set(row_of.values())) == len(row_of) == len(plan), "and unequal ones do not"
    assert [nodes[j] for j in plan.node[plan.row].tolist()] == nodes, "a row computes what its nodes are"


def test_equal_inputs_alone_do_not_make_nodes_equal() -> None:
    trees = [Tree("sin", (Tree("var", token="x"),)), Tree("neg", (Tree("var", token="x"),))]
    x = torch.zeros(4, 2)
    assert len(schedule(batch(trees, VOCABULARY, x=x), share=True)) == 3
    x[3] = 1  # the leaves now differ, and so do their parents
    same = [trees[0], trees[0]]
    assert len(schedule(batch(same, VOCABULARY, x=x), share=True)) == 4


def test_children_in_another_order_are_not_equal() -> None:
    a, b = Tree("var", token="x"), Tree("var", token="y")
    plan = schedule(batch([Tree("add", (a, b)), Tree("add", (b, a))], VOCABULARY), share=True)
    assert len(plan) == 4


def test_one_object_and_equal_objects_are_shared_alike() -> None:
    apart = Tree("pow", (Tree("var", token="x"), Tree("var", token="x")))
    assert len(schedule(batch([apart, square()], VOCABULARY), share=True)) == 2
    assert len(schedule(batch([braid(40), braid(40)], VOCABULARY), share=True)) == 41
    assert len(schedule(batch([chain(50), chain(30)], VOCABULARY), share=True)) == 51


def test_a_planned_batch_gives_the_same_states_and_moves_to_a_device_with_its_plan() -> None:
    cell = TreeRNN(VOCABULARY, 3)
    planned = plan(batch(FOREST, VOCABULARY), cell, share=True)
    assert len(planned.schedule) < planned.batch.num_nodes
    expected = propagate(planned.batch, cell)
    assert torch.equal(propagate(planned, cell)["h"], propagate(planned.batch, cell, share=True)["h"])
    torch.testing.assert_close(root_states(planned, cell), expected["h"][planned.batch.roots])
    elsewhere = planned.to("meta")
    assert {elsewhere.batch.device.type, elsewhere.schedule.row.device.type} == {"meta"}


def test_a_planned_batch_that_was_changed_in_place_is_refused() -> None:
    cell = TreeRNN(VOCABULARY, 3)
    flat = batch([Tree("add", (Tree("var", token="x"), Tree("var", token="x")))], VOCABULARY)
    planned = plan(flat, cell, share=True)
    flat.token[2] = VOCABULARY.token_id("y")
    for use in (lambda: propagate(planned, cell), lambda: planned.to("meta"), lambda: pickle.dumps(planned)):
        with pytest.raises(ValueError, match="changed in place after it was planned: plan again"):
            use()
    assert len(plan(flat, cell, share=True).schedule) == 3


def test_a_batch_planned_for_another_kind_of_cell_is_refused() -> None:
    sums, cell = ChildSumTreeLSTM(VOCABULARY, 3), TreeRNN(VOCABULARY, 3)
    flat = batch(FOREST, VOCABULARY)
    with pytest.raises(ValueError, match="planned for a kind of cell other than TreeRNN"):
        propagate(plan(flat, sums), cell)
    torch.testing.assert_close(propagate(plan(flat), cell), propagate(flat, cell))


def test_the_nodes_of_a_planned_batch_are_looked_at_again_for_a_cell_that_reads_other_things() -> None:
    numbers = batch([Tree("sin", (Tree("num", value=2.0),))], VOCABULARY)
    planned = plan(numbers, TreeRNN(VOCABULARY, 3, numbers=True))
    with pytest.raises(ValueError, match="carries a number; build the cell with numbers=True"):
        propagate(planned, TreeRNN(VOCABULARY, 3))


def test_a_pickled_planned_batch_brings_its_plan_and_holds_no_tensor() -> None:
    flat, cell = batch(FOREST, VOCABULARY), TreeRNN(VOCABULARY, 3)
    flat.token[0] = flat.token[0]  # changed in place before it is planned
    planned = plan(flat, cell, share=True)
    text = pickle.dumps(planned)
    assert b"torch" not in text
    again = pickle.loads(text)
    assert torch.equal(again.schedule.row, planned.schedule.row)
    assert torch.equal(propagate(again, cell)["h"], propagate(planned, cell)["h"])


def test_a_step_of_many_rows_is_cut_into_pieces_with_the_same_states(monkeypatch: pytest.MonkeyPatch) -> None:
    forest, cell = [random_tree(4, 3, seed) for seed in range(30)], TreeRNN(VOCABULARY, 4).double()
    whole, cut = batch(forest, VOCABULARY), batch(forest, VOCABULARY)
    assert max(step.stop - step.start for step in schedule(whole).steps) > 7
    monkeypatch.setattr("dgltree.engine.schedule.MOST_ROWS", 7)
    steps = schedule(cut).steps
    assert max(step.stop - step.start for step in steps) == 7
    assert [step.start for step in steps[1:]] == [step.stop for step in steps[:-1]]
    torch.testing.assert_close(propagate(cut, cell)["h"], propagate(whole, cell)["h"], rtol=0, atol=1e-14)


def test_steps_are_as_few_as_by_the_longest_way_up() -> None:
    """The numbers are those of the agenda as it stands: by any other order of urgency there are more steps."""
    counts = [len(schedule(batch(random_forest(seed), VOCABULARY)).steps) for seed in range(6)]
    assert counts == [73, 72, 75, 71, 74, 72]


def random_forest(seed: int) -> list[Tree]:
    return [random_tree(depth, 3, seed * 100 + depth) for depth in range(3, 40)]


def test_a_leaf_with_the_last_token_is_no_leaf_of_the_next_function_without_one() -> None:
    last = VOCABULARY.tokens[-1]
    functions = [("a", 0), ("b", 0), ("add", 2)]
    vocabulary = Vocabulary(functions, VOCABULARY.tokens)
    pair = Tree("add", (Tree("a", token=last), Tree("b")))
    assert len(schedule(batch([pair], vocabulary), share=True)) == 3
