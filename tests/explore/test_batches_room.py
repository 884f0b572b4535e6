"""The room of batches: its picture is the schedule that the engine runs."""

from typing import Any

import pytest
from explore_page import ask, refusal

from dgltree import Vocabulary, batch
from dgltree.cells import TreeLSTM
from dgltree.engine.planned import plan
from dgltree.equations.typed import read_typed_expression

LINES = ["sin(x)^2 + cos(x)^2", "2x + e + e", "x"]


def test_rows_and_steps_are_those_of_the_schedule(client: Any) -> None:
    found = ask(client, "batch/plan", text="\n".join([LINES[0], "", *LINES[1:]]))
    trees = [read_typed_expression(line) for line in LINES]
    assert found["trees"] == [tree.size for tree in trees]
    assert len(found["nodes"]) == sum(found["trees"]) and found["edges"] == sum(found["trees"]) - 3
    vocabulary = Vocabulary.from_trees(trees)
    shared = plan(batch(trees, vocabulary), TreeLSTM(vocabulary, 4), share=True).schedule
    assert len(set(found["shared"]["row"])) == len(shared) < len(set(found["plain"]["row"])) == len(found["nodes"])
    steps = found["shared"]["steps"]
    assert [(step["start"], step["stop"]) for step in steps[1:]] == [(step.start, step.stop) for step in shared.steps]
    for kind in ("plain", "shared"):  # children stand in earlier steps than their parents
        row, ends = found[kind]["row"], [step["stop"] for step in found[kind]["steps"]]
        step_of = [next(k for k, end in enumerate(ends) if own < end) for own in row]
        assert all(node["parent"] < 0 or step_of[k] < step_of[node["parent"]] for k, node in enumerate(found["nodes"]))


def test_other_notations_are_read(client: Any) -> None:
    found = ask(client, "batch/plan", text="(S (NP (DT the) (NN cat)) (VBZ sleeps))\n(S (NN rain))")
    assert [node["name"] for node in found["nodes"]][:4] == ["S", "NP", "the", "cat"]
    assert ask(client, "batch/plan", text="x\n" * 24)["trees"] == [1] * 24  # as many as the page shows
    numbers = ask(client, "batch/time", text='{"label": "add", "children": [{"label": "x"}, {"label": "2"}]}')
    assert numbers["width"] == 64


def test_each_way_is_timed(client: Any) -> None:
    found = ask(client, "batch/time", text="\n".join(LINES))
    assert found["times"].keys() == {"singly", "plain", "shared"}
    assert all(time > 0 for time in found["times"].values())
    assert found["steps"] == 4 + 4 + 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no trees: write one per line"),
        ("x\nsin(", "line 2, column 4"),
        ("x\n" * 25, "25 trees; the page shows up to 24"),
        ("+".join("x" * 1400), "2,799 nodes; the page draws up to 2,000"),
        ("x" * 21_000, "21,000 characters"),
    ],
)
def test_what_cannot_be_drawn_is_told(client: Any, text: str, message: str) -> None:
    assert message in refusal(client, "batch/plan", text=text)
