"""The list of fillers."""

import os
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the train extra is not installed")

from dgltree.read.infix import read_infix
from dgltree.read.infix_writer import write_infix
from dgltree.read.preorder import read_candidates
from dgltree.trees.equation import substitute
from tasks.equations.fillers import CONSTANTS, LEAVES, LITERALS, depth_one, fillers
from tasks.equations.leaves import with_leaves


def test_the_fillers_are_the_published_1216_and_the_common_forms():
    listed = fillers()
    assert 1500 <= len(listed) <= 2000
    assert len(set(listed)) == len(listed)
    assert len(LEAVES) == 19
    assert listed[:1216] == [*LEAVES, *depth_one(LEAVES)]
    assert max(filler.depth for filler in listed) <= 3
    for text in ("sin(var_0)^2", "-cos(var_1)", "2*tan(var_2)", "sec(var_3)^-1", "cot(-var_4)", "sin(2*var_0)"):
        assert read_infix(text) in listed
    for text in ("-var_0^2", "2*var_0*var_1", "var_0 - var_1", "cos(var_0)*sin(var_1)", "var_0/var_1", "1/var_0"):
        assert read_infix(text) in listed


def test_every_filler_is_read_back_from_its_text():
    for filler in fillers():
        assert read_infix(write_infix(filler)) == filler


def test_the_constants_are_what_the_reader_makes_of_their_texts():
    for leaf in (*CONSTANTS, *LITERALS):
        assert read_infix(leaf.token) == leaf


@pytest.mark.data
@pytest.mark.skipif("DGLTREE_DATA" not in os.environ, reason="DGLTREE_DATA, the folder of published data, is unset")
def test_the_first_1216_fillers_are_the_published_ones():
    published = read_candidates(Path(os.environ["DGLTREE_DATA"]) / "equations" / "candidate_classes.json")
    assert {candidate.filler for candidate in published} == set(fillers()[:1216])


def test_leaves_are_replaced_as_by_substitute():
    tree = read_infix("sin(x)*(x + 2) + y^x")
    replacements = {read_infix("x"): read_infix("y + 1"), read_infix("y"): read_infix("x")}
    assert with_leaves(tree, replacements) == substitute(tree, replacements)
    assert with_leaves(tree, {}) is tree
