"""Pictures: files, bytes that do not change, and labels that do not cover each other."""

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the plot extra is not installed")

from matplotlib.colors import to_rgb

from dgltree.cells import CELLS
from dgltree.encoders import SEQUENCE_ENCODERS
from dgltree.induction.binary_trees import balanced, right_branching
from dgltree.plotting import charts
from dgltree.plotting import trees as tree_pictures
from dgltree.plotting.charts import COLOURS, GAP, LABEL, MODEL_COLOURS, apart, free_place, line_colours
from dgltree.plotting.trees import coloured
from dgltree.trees.tree import Tree

GIVEN = balanced(list("abcd"))
SERIES = {"one": {1: (0.9, 0.02), 2: (0.8, 0.0)}, "another": {1: (0.7, 0.1), 2: (0.8, 0.1)}}


def pictures() -> dict[str, object]:
    points = np.random.default_rng(0).normal(size=(40, 2))
    return {
        "depth": charts.accuracy_by("depth", SERIES, trained=(1, 1)),
        "share": charts.sample_efficiency(SERIES),
        "stack": charts.stack_usage(SERIES),
        "classes": charts.classes(points, np.arange(40) % 4, ["x + 1", "sin(x)"]),
        "encoders": charts.encoders({"one": ([0.5, 0.6], [0.4, 0.7]), "a $ name": ([0.3], [0.2])}, "accuracy"),
        "trees": tree_pictures.trees(GIVEN, {"found": right_branching(list("abcd"))}),
        "attention": tree_pictures.attention(list("abcd"), np.eye(6)[[5, 5, 4, 5]]),
    }


def test_each_seed_of_an_encoder_is_a_ring_and_a_disc_and_the_mean_a_line() -> None:
    [axes] = charts.encoders({"one": ([0.5, 0.6], [0.4, 0.7]), "two": ([0.3], [0.2])}, "accuracy").axes
    drawn = [
        [(round(x, 6), y > row) for x, y in points.get_offsets()]
        for row, points in zip((0, 0, 1, 1), axes.collections, strict=True)
    ]
    assert drawn == [[(0.5, False), (0.6, False)], [(0.4, True), (0.7, True)], [(0.3, False)], [(0.2, True)]]
    assert [line.get_xdata()[0] for line in axes.lines] == pytest.approx([0.55, 0.2])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["one", "two"]


def test_the_same_picture_has_the_same_bytes_without_a_date(tmp_path: Path) -> None:
    for run in ("first", "second"):
        (tmp_path / run).mkdir()
        for name, figure in pictures().items():
            assert [file.name for file in charts.save(figure, tmp_path / run / name)] == [f"{name}.png", f"{name}.svg"]
    for file in (tmp_path / "first").iterdir():
        assert file.read_bytes() == (tmp_path / "second" / file.name).read_bytes(), file.name
    assert "<dc:date>" not in (tmp_path / "first" / "depth.svg").read_text(encoding="utf-8")
    assert (tmp_path / "first" / "depth.png").read_bytes().startswith(b"\x89PNG")


def test_lines_are_in_percent_and_named_at_their_ends() -> None:
    figure = charts.accuracy_by("depth", SERIES)
    [axes] = figure.axes
    assert [list(line.get_ydata()) for line in axes.lines] == [[90, 80], [70, 80]]
    names = {text.get_text(): text.xyann for text in axes.texts}
    assert set(names) == {"one", "another"}
    assert abs(names["one"][1] - names["another"][1]) >= GAP - 1e-9


@pytest.mark.parametrize("places", [[0.5], [0.5, 0.5, 0.5], [0.1, 0.11, 0.9, 0.91], [0.0, 0.2, 0.4]])
def test_labels_are_moved_apart_and_keep_their_middle(places: list[float]) -> None:
    found = apart(places)
    assert all(above - below >= GAP - 1e-9 for below, above in pairwise(found))
    assert np.mean(found) == pytest.approx(np.mean(places))


def test_labels_that_have_room_stay_where_they_are() -> None:
    assert apart([0.0, 0.2, 0.4]) == pytest.approx([0.0, 0.2, 0.4])


def test_no_state_of_pyplot_is_touched() -> None:
    import sys

    pictures()
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def test_what_speaks_for_an_answer_is_blue_and_what_against_it_orange_the_more_the_stronger() -> None:
    tree = Tree("f", [Tree(name) for name in "abcd"])
    axes = coloured(tree, [None, 0.4, -0.2, 0.1, 0.0], "effects").axes[0]
    tints = [text.get_bbox_patch().get_facecolor() for text in axes.texts[1::2]]  # above a white one each
    blue, orange = map(to_rgb, COLOURS[:2])
    assert [text.get_text() for text in axes.texts[1::2]] == list("fabcd")
    assert [tint[:3] for tint in tints[1:4]] == [blue, orange, blue]
    assert [tint[3] for tint in tints] == pytest.approx([0, 0.75, 0.375, 0.1875, 0])


def test_every_network_has_one_colour_of_its_own_in_all_charts() -> None:
    assert set(MODEL_COLOURS) >= {*CELLS, *SEQUENCE_ENCODERS}
    assert len(set(MODEL_COLOURS.values())) == len(MODEL_COLOURS)
    [alone], [_, last] = line_colours(["tree_smu"]), line_colours(["tree_lstm", "tree_smu"])
    assert alone == last == MODEL_COLOURS["tree_smu"]
    assert len(set(line_colours(["tree_smu", "p = 1", "p = 2"]))) == 3


def test_the_lines_of_a_chart_have_the_colours_of_their_models() -> None:
    [axes] = charts.accuracy_by("depth", {"tree_lstm": SERIES["one"], "lstm": SERIES["another"]}).axes
    assert [line.get_color() for line in axes.lines] == [MODEL_COLOURS["tree_lstm"], MODEL_COLOURS["lstm"]]


@pytest.mark.parametrize(
    "file", sorted((Path(__file__).parents[2] / "tasks").rglob("pictures/*.svg")), ids=lambda f: f.stem
)
def test_the_charts_of_the_tasks_have_the_colours_of_their_models(file: Path) -> None:
    labels = re.findall(r'<!-- (\w+) -->\s*<g style="fill: (#\w{6})', file.read_text(encoding="utf-8"))
    named = {(name, colour.upper()) for name, colour in labels if name in MODEL_COLOURS}
    assert named == {(name, MODEL_COLOURS[name].upper()) for name, _ in named}


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("room", [0.9, 1.1])
def test_a_name_keeps_its_place_if_there_is_room_on_one_axis(axis: int, room: float) -> None:
    extent, own = np.array([10.0, 2.0]), np.array([[0.0, 0.0], [10.0, 2.0]])
    other = np.where(np.arange(2) == axis, room * LABEL * extent, 0)
    assert free_place(own, [other], extent).tolist() == own[int(room < 1)].tolist()


def test_slots_keep_their_numbers_where_the_first_are_not_shown() -> None:
    figure = tree_pictures.attention(list("abcd"), np.eye(6)[[5, 5, 4, 5]])
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["5", "6"]
