"""Pictures of one training."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the plot extra is not installed")

from dgltree.plotting import charts, curves
from dgltree.plotting.charts import new_figure


def texts(axes: object) -> list[str]:
    return [text.get_text() for text in axes.texts]  # type: ignore[attr-defined]


def test_lines_of_a_logarithmic_axis_end_at_their_names() -> None:
    perplexity = {"a": {0: (800.0, 0.0), 1: (300.0, 9.0)}, "b": {0: (700.0, 0.0), 1: (100.0, 1.0)}}
    left, right = curves.language_models(perplexity, {"a, layer 1": {0: (20.0, 0.0), 1: (47.0, 2.0)}}).axes
    assert (left.get_yscale(), right.get_yscale()) == ("log", "linear")
    low, high = np.log(left.get_ylim())
    ends = {text.get_text(): text.xyann[1] for text in left.texts}  # type: ignore[attr-defined]
    assert ends == pytest.approx({"a": (np.log(300) - low) / (high - low), "b": (np.log(100) - low) / (high - low)})
    assert texts(right) == ["a, layer 1"]
    assert len(curves.language_models(perplexity, {}).axes) == 1


@pytest.mark.parametrize(
    ("labels", "answers"),
    [((0.0, 1.0, 2.0), (-1.5, 1.0, 3.0)), ((-1.5, 1.0, 3.0), (0.0, 1.0, 2.0)), ((0, 3), (-1.5, 1))],
)
def test_the_line_of_equal_numbers_is_as_long_as_labels_and_answers_together(
    labels: tuple[float, ...], answers: tuple[float, ...]
) -> None:
    [axes] = curves.predicted(labels, answers).axes
    [line] = axes.lines
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([-1.5, 3.0], [-1.5, 3.0])


def test_a_field_of_the_confusions_has_its_count_and_rate() -> None:
    [axes] = charts.confusion([[3, 1], [0, 2]], ["a", "b"], "test set: accuracy 83.3%").axes
    assert texts(axes) == ["3\n75%", "1\n25%", "2\n100%"]
    assert axes.get_title() == "test set: accuracy 83.3%"
    many = np.eye(13, dtype=int)
    assert texts(charts.confusion(many, [str(i) for i in range(13)]).axes[0]) == ["1"] * 13


def test_a_wide_picture_has_no_more_pixels_than_are_looked_at(tmp_path: Path) -> None:
    """Confusions of 86 classes are 38 inches wide."""
    image, widths = pytest.importorskip("PIL.Image", reason="the plot extra is not installed"), []
    for inches in (38, 10):
        figure = new_figure(inches, 2)
        figure.subplots()
        charts.save_as(figure, tmp_path / "wide.png")
        with image.open(tmp_path / "wide.png") as read:
            widths.append(read.width)
    assert 3900 < widths[0] < 4100 and 1900 < widths[1] < 2100
