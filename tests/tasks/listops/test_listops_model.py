"""The shipped Efficient Beam Tree of ListOps: anyone can check what is said of it."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dgltree.ranking.pretrained import listops_model
from dgltree.ranking.pretrained_files import FOLDER, LISTOPS, model_names
from dgltree.read.listops import read_words
from dgltree.trees.tree import Tree
from tasks.listops import generate, shipped
from tasks.listops.shipped import answer_all, main


def brackets(tree: Tree) -> set[tuple[int, int]]:
    """The first word of each bracket, and the one after its last."""
    found: set[tuple[int, int]] = set()

    def place(node: Tree, start: int) -> int:
        if not node.children:
            return start + 1
        end = start
        for child in node.children:
            end = place(child, end)
        found.add((start, end))
        return end

    place(tree, 0)
    return found


def test_it_is_small_and_no_model_of_equations() -> None:
    assert (FOLDER / LISTOPS).stat().st_size < 1_000_000
    assert "listops" not in model_names()
    assert listops_model().classes == tuple("0123456789")


@pytest.mark.slow
def test_it_answers_99_of_100_new_expressions_and_finds_their_brackets(capsys: pytest.CaptureFixture[str]) -> None:
    expressions = generate.expressions(500, seed=1)
    with torch.no_grad():
        right, found, given = answer_all(listops_model(), expressions)
    assert all(read_words(one.text)[1] == one.value for one in expressions)
    assert sum(right) >= 0.99 * len(right)
    whole = [tree for tree in given if tree.children]
    assert len(whole) > 100
    same = sum(brackets(tree) == brackets(own) for tree, own in zip(found, given, strict=True) if own.children)
    assert same >= 0.9 * len(whole)
    main(["--count", "500"])
    line = capsys.readouterr().out.splitlines()[0]
    assert line.startswith(f"500 expressions: {100 * sum(right) / 500:.1f} % right, F1 of the brackets ")


def test_a_file_that_is_none_is_named() -> None:
    with pytest.raises(SystemExit, match=r"none.tsv: no such file; expected lines such as 9 TAB"):
        main(["--data", "none.tsv"])


def test_an_expression_counts_in_one_range_of_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = Tree("phrase", (Tree("word", token="a"), Tree("word", token="b")))
    right = {1: True, 20: False, 21: True, 40: True, 41: False, 100: True}
    monkeypatch.setattr(shipped, "answer_all", lambda *_: ([*right.values()], [given] * 6, [given] * 6))
    expressions: list[Any] = [SimpleNamespace(length=length) for length in right]
    shipped.say(expressions)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "1 to 20 words: 50.0 % of 2",
        "21 to 40 words: 100.0 % of 2",
        "41 to 60 words: 0.0 % of 1",
        "81 to 100 words: 100.0 % of 1",
    ]
