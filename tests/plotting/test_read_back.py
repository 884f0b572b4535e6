"""The numbers of a picture, read out of its file by its own axes, are those that were given."""

import re
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the plot extra is not installed")

from dgltree.plotting import charts, curves

SVG = "{http://www.w3.org/2000/svg}"


class ReadAxes(NamedTuple):
    """What is drawn in one pair of axes, in the units that their ticks name."""

    lines: list[np.ndarray]
    """(points, 2) of each line that is no tick and no rule."""
    points: np.ndarray
    """(points, 2) of markers that no line connects."""
    texts: list[str]
    """The names next to lines, the counts in fields, and the title."""
    titles: list[str]
    """Of the two axes."""


def read_back(path: Path) -> list[ReadAxes]:
    """The axes of a file, in which axes below each other share the horizontal one of the last."""
    every = axes_of(path)
    horizontal = _axis(every[-1], 0)
    return [_read(axes, horizontal, _axis(axes, 1), [_title(axes, 0), _title(axes, 1)]) for axes in every]


def axes_of(path: Path) -> list[Element]:
    """Those of an SVG file of matplotlib's, which leaves each text in a comment next to its letters."""
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    root = ElementTree.parse(path, parser).getroot()
    assert root is not None
    return [group for group in root.iter(f"{SVG}g") if group.get("id", "").startswith("axes_")]


def _groups(element: Element, name: str) -> list[Element]:
    return [child for child in element if child.get("id", "").startswith(name)]


def _text(element: Element) -> str:
    return "\n".join(str(each.text).strip() for each in element.iter() if each.tag is ElementTree.Comment)


def _axis(axes: Element, number: int) -> list[tuple[float, float]]:
    """Places in the file and numbers of the ticks, of the horizontal axis (0) or the other (1)."""
    found = []
    for tick in _groups(_groups(axes, "matplotlib.axis")[number], ("xtick", "ytick")[number]):
        text = _text(tick).replace("−", "-")
        marks = [use for use in tick.iter(f"{SVG}use") if use.get("x")]
        if marks and re.fullmatch(r"-?[\d.]+", text):
            found.append((float(marks[0].get("xy"[number], "")), float(text)))
    return found


def _title(axes: Element, number: int) -> str:
    return " ".join(_text(text) for text in _groups(_groups(axes, "matplotlib.axis")[number], "text"))


def _place(element: Element) -> tuple[float, float]:
    """Of a text."""
    moved = [re.match(r"translate\((\S+) (\S+)\)", each.get("transform", "")) for each in element.iter(f"{SVG}g")]
    return next((float(found[1]), float(found[2])) for found in moved if found)


def _read(axes: Element, x: Any, y: Any, titles: list[str]) -> ReadAxes:
    lines, points = [], []
    for line in _groups(axes, "line2d"):
        paths = [path for path in line if path.tag == f"{SVG}path"]
        marks = list(line.iter(f"{SVG}use"))
        if paths:
            numbers = re.findall(r"[ML] (\S+) (\S+)", paths[0].get("d", ""))
            lines.append(_scaled(numbers, x, y))
        else:
            points += [(use.get("x"), use.get("y")) for use in marks]
    for collection in _groups(axes, "PathCollection"):
        points += [(use.get("x"), use.get("y")) for use in collection.iter(f"{SVG}use")]
    texts = [_text(text) for text in _groups(axes, "text")]
    return ReadAxes(lines, _scaled(points, x, y), texts, titles)


def _scaled(places: Any, *axes: list[tuple[float, float]]) -> np.ndarray:
    found = np.array(places, float).reshape(-1, 2)
    for side, ticks in enumerate(axes):
        if len(ticks) > 1:
            (first, low), (last, high) = ticks[0], ticks[-1]
            found[:, side] = low + (found[:, side] - first) * (high - low) / (last - first)
    return found


def test_lines_of_accuracy(tmp_path: Path) -> None:
    models = {"one": {1: (0.91, 0.02), 2: (0.8, 0.0), 4: (0.35, 0.1)}, "another": {1: (0.7, 0.1), 2: (0.82, 0.1)}}
    charts.save(charts.accuracy_by("depth", models), tmp_path / "depth")
    [axes] = read_back(tmp_path / "depth.svg")
    assert axes.titles == ["depth", "accuracy in %"]
    for line, series in zip(axes.lines, models.values(), strict=True):
        expected = [(x, 100 * mean) for x, (mean, _) in series.items()]
        np.testing.assert_allclose(line, expected, atol=1e-3)
    assert axes.texts == ["one", "another"]


def test_a_learning_curve(tmp_path: Path) -> None:
    rows = [{"epoch": i, "loss": 1.5 / (i + 1), "accuracy": value} for i, value in enumerate((0.5, 0.83, 0.79, 0.83))]
    charts.save(curves.learning(rows, "accuracy", 0.75), tmp_path / "learning")
    above, below = read_back(tmp_path / "learning.svg")
    np.testing.assert_allclose(above.lines[0], [(row["epoch"], row["loss"]) for row in rows], atol=1e-3)
    np.testing.assert_allclose(below.lines[0], [(row["epoch"], row["accuracy"]) for row in rows], atol=1e-3)
    np.testing.assert_allclose(below.points, [(1, 0.83)], atol=1e-3)
    np.testing.assert_allclose(below.lines[1][:, 1], [0.75, 0.75], atol=1e-3)
    assert (above.titles[1], below.titles) == ("loss in training", ["epoch", "accuracy in validation"])
    assert below.texts == ["baseline: 0.750", "best: 0.830"]


def test_numbers_that_were_predicted(tmp_path: Path) -> None:
    labels, answers = [0.0, -1.0, 2.5, 2.0], [0.5, 1.0, 3.0, -2.0]
    charts.save(curves.predicted(labels, answers, "test set"), tmp_path / "predicted")
    [axes] = read_back(tmp_path / "predicted.svg")
    np.testing.assert_allclose(axes.points, list(zip(labels, answers, strict=True)), atol=1e-3)
    np.testing.assert_allclose(axes.lines[0], [(-2, -2), (3, 3)], atol=1e-3)
    assert (axes.titles, axes.texts) == (["label", "predicted"], ["test set"])


def test_confusions_are_in_the_row_of_the_true_class(tmp_path: Path) -> None:
    charts.save(charts.confusion([[3, 1, 0], [0, 2, 7], [4, 0, 5]], ["a", "b", "c"], "test"), tmp_path / "confusion")
    [axes] = axes_of(tmp_path / "confusion.svg")
    columns, rows = (
        {_text(tick): _place(tick)[side] for tick in _groups(_groups(axes, "matplotlib.axis")[side], kind)}
        for side, kind in enumerate(("xtick", "ytick"))
    )
    found = {}
    for text in _groups(axes, "text")[:-1]:
        x, y = _place(text)
        true, predicted = (
            min(rows, key=lambda name: abs(rows[name] - y)),
            min(columns, key=lambda name: abs(columns[name] - x)),
        )
        found[true + predicted] = _text(text)
    assert found == {"aa": "3\n75%", "ab": "1\n25%", "bb": "2\n22%", "bc": "7\n78%", "ca": "4\n44%", "cc": "5\n56%"}
    assert [_title(axes, 0), _title(axes, 1)] == ["predicted", "true"]
