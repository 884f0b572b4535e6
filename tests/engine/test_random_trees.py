"""Engines against recursion on drawn trees and DAGs: depth to 100, arity to 6, mixed functions, every cell."""

import pytest
from engines import INSTALLED, by_recursion, compare
from helpers import random_dag, random_tree, suited
from hypothesis import given, note, settings
from hypothesis import strategies as st
from rows import ROWS, make_cell

from dgltree import Tree, batch

DEPTHS = st.one_of(st.integers(0, 20), st.integers(0, 20), st.integers(0, 100))  # a deep one takes most of the time
TREES = st.builds(random_tree, DEPTHS, st.integers(1, 6), st.integers(0, 10**6))
DAGS = st.builds(random_dag, st.integers(1, 60), st.integers(1, 6), st.integers(0, 10**6))


@pytest.mark.slow
@settings(max_examples=15)
@given(name=st.sampled_from(list(ROWS)), trees=st.lists(st.one_of(TREES, DAGS), min_size=1, max_size=3))
def test_drawn_trees_agree_with_recursion(name: str, trees: list[Tree]) -> None:
    cell = make_cell(name)
    flat = batch(suited(cell, trees), cell.vocabulary)
    expected = by_recursion(cell, flat)
    for engine, run in INSTALLED.items():
        note(f"engine: {engine}")
        compare(cell, flat, run, *expected)


@given(DAGS)
def test_drawn_dags_share_nodes(tree: Tree) -> None:
    assert tree.depth <= 60
    assert len(list(tree.distinct())) <= tree.size


def test_the_draws_cover_depth_and_sharing() -> None:
    assert max(random_tree(200, 6, seed).depth for seed in range(3)) == 200
    assert any(len(list(tree.distinct())) < tree.size / 10 for tree in (random_dag(60, 6, seed) for seed in range(20)))
