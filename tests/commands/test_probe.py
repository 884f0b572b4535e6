"""``dgltree probe``: labels follow the rules of the sets, and the table has what was measured."""

from random import Random
from unittest.mock import patch

import pytest

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree.commands.main import main
from dgltree.training import probing
from dgltree.training.probing import PROBES, ProbeSet
from dgltree.trees.tree import Tree

BY_NAME = {each.name: each for each in PROBES}


def tokens(tree: Tree) -> list[str]:
    return [str(node.token) for node in tree.preorder() if not node.children]


def value(tree: Tree) -> int:
    """The value of a nested list, and of a sum."""
    if not tree.children:
        return int(str(tree.token))
    found = [value(child) for child in tree.children]
    return sum(found) % 3 if tree.function == "add" else found[0 if tree.function == "first" else -1]


def answer(name: str, tree: Tree) -> object:
    """The label by the rule as it is documented."""
    words = tokens(tree)
    if name == "select":
        pairs = {str(pair.children[0].token): pair.children[1].token for pair in tree.children[1:]}
        return pairs[words[0]]
    if name == "count":
        return words.count("a")
    if name == "maximum":
        return max(map(int, words))
    if name == "sort":
        return sorted(words)[2]
    if name == "width":
        return "a" if 2 * words.count("a") > len(words) else "b"
    if name == "changed":
        return "same" if tokens(tree.children[0]) == tokens(tree.children[1]) else "changed"
    return value(tree)


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
@pytest.mark.parametrize("is_test", [False, True])
def test_labels_follow_the_rule(probe: ProbeSet, is_test: bool) -> None:
    trees = [probe.draw(Random(seed), is_test) for seed in range(300)]
    assert [tree.label for tree in trees] == [answer(probe.name, tree) for tree in trees]
    assert len({tree.label for tree in trees}) >= 2
    assert trees == [probe.draw(Random(seed), is_test) for seed in range(300)]


def test_depth_and_width_are_tested_beyond_training() -> None:
    drawn = {
        (name, is_test): [BY_NAME[name].draw(Random(seed), is_test) for seed in range(100)]
        for name in ("depth", "width")
        for is_test in (False, True)
    }
    assert max(t.depth for t in drawn["depth", False]) < min(t.depth for t in drawn["depth", True])
    assert max(len(t.children) for t in drawn["width", False]) < min(len(t.children) for t in drawn["width", True])


def test_the_table_has_a_line_for_each_model_and_the_reasons_below(capsys: pytest.CaptureFixture[str]) -> None:
    few = (BY_NAME["count"], BY_NAME["depth"])
    sizes = {"TRAIN": 60, "VALIDATION": 20, "TEST": 20, "PROBES": few}
    with patch.multiple(probing, **sizes):
        assert main(["probe", "tree_rnn", "--seconds", "1"]) == 0
        head, *lines = capsys.readouterr().out.splitlines()
        assert head.split() == ["count", "depth", "seconds"]
        assert [line.split()[0] for line in lines] == ["chance", "counts", "forest", "tree_rnn"]
        assert all(0 <= float(cell) <= 1 for line in lines for cell in line.split()[1:3])
        assert main(["probe", "tree_rnn", "--seconds", "1", "--options", '{"rounds": 0}']) == 1
        *_, row, reason = capsys.readouterr().out.splitlines()
    assert row.split()[:3] == ["tree_rnn", "-", "-"]
    assert reason == "tree_rnn, count, depth: rounds is 0; it must be a whole number, 1 or more"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tree_lstn"], "the encoder is 'tree_lstn'; it must be one of"),
        (["tree_lstm", "--options", '{"round": 2}'], "tree_lstm has no option 'round'; its options are"),
        (["tree_lstm", "--options", "rounds=2"], """write it as a JSON object: --options '{"rounds": 2}'"""),
        (["tree_lstm", "--seconds", "0"], "--seconds is 0; it must be 1 or more"),
        (["tree_lstm", "--seed", "-1"], "--seed is -1; it must be from 0 to"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["probe", *arguments]) == 1
    out, err = capsys.readouterr()
    assert not out and message in err and len(err.splitlines()) == 1
