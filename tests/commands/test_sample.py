"""``dgltree sample`` prints a table whose labels are the values of its lists."""

import pytest

from dgltree.commands.main import main
from dgltree.read.sexpr import read_sexpr
from dgltree.trees.tree import Tree

NAMES = ("zero", "one", "two", "three", "four")


def value(tree: Tree) -> int:
    if not tree.children:
        return int(str(tree.token))
    found = [value(child) for child in tree.children]
    return {"max": max(found), "min": min(found), "first": found[0], "last": found[-1]}[tree.function]


def test_every_label_of_the_sample_is_the_value_of_its_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sample"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head == "tree\tlabel"
    rows = [line.split("\t") for line in lines]
    assert [label for _, label in rows] == [NAMES[value(read_sexpr(text))] for text, _ in rows]
    assert len({text for text, _ in rows}) == 1000


def test_an_argument_of_sample_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["sample", "lists.tsv"])
    assert "unexpected argument: lists.tsv" in capsys.readouterr().err
