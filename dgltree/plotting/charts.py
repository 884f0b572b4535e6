"""Charts of lines, points and confusions are plain, labelled at the lines themselves, and readable without colour.

Needs matplotlib (the extra ``plot``), which is imported when a picture is made. No state of pyplot is
touched and no window opened: each function returns a ``matplotlib.figure.Figure`` that :func:`save` writes.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dgltree.support.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by the colour-blind; with markers and dashes they are told apart in grey as well.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#000000", "#E69F00")
MODEL_COLOURS = {
    "tree_smu": "#0072B2",
    "tree_lstm": "#D55E00",
    "tree_rnn": "#009E73",
    "tree_cell": "#CC79A7",
    "ordered_memory": "#7B3294",
    "on_lstm": "#E69F00",
    "lstm": "#000000",
    "transformer": "#56B4E9",
    "universal_transformer": "#8C510A",
    "neural_data_router": "#F1B6DA",
    "ordered_memory_tree_rnn": "#878787",
    "child_sum": "#F4A582",
    "stack_tree_rnn": "#66C2A5",
    "stack_tree_lstm": "#4393C3",
    "grc": "#B2182B",
    "recurrent_grc": "#D6604D",
    "balanced_tree": "#4D4D4D",
    "gumbel_tree": "#01665E",
    "crvnn": "#C51B7D",
    "beam_tree": "#4D9221",
    "efficient_beam_tree": "#A6D96A",
    "tree_transformer": "#35978F",
    "easy_first": "#BF812D",
}
"""One colour for each cell and encoder, the same in every chart; the first ones are Okabe and Ito's."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same picture on every machine
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "svg.hashsalt": "dgltree",  # or the ids in an SVG differ from run to run
}
DPI = 200
MOST_PIXELS = 4000
"""Pixels of a side, about: confusions of 86 classes are 38 inches wide, and would take ten seconds to draw."""
RATES = 12
"""Classes up to which a field has room for a rate next to its count."""
GAP = 0.05  # of the axis' height, between two labels
LABEL = np.array([0.14, 0.035])  # of the width and height of all points: the room of a name among them
Series = Mapping[float, tuple[float, float]]
"""x -> (mean, standard deviation) of one line."""


def accuracy_by(
    what: str,
    models: Mapping[str, Series],
    trained: tuple[int, int] | None = None,
    log: bool = False,
    measure: str = "accuracy",
) -> "Figure":
    """Accuracy (0 to 1) by depth, operators, length or epoch, a line a model with a band of one standard deviation.

    Args:
        what: the name of the axis, such as "depth of the equation".
        models: name -> {depth: (mean, deviation)}.
        trained: lowest and highest depth of training, which are shaded.
        log: whether the axis is logarithmic, with a mark at each value.
        measure: of what data the accuracy is, for the other axis.
    """
    from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

    figure, axes = _figure()
    if trained is not None:
        axes.axvspan(trained[0] - 0.5, trained[1] + 0.5, color="#eeeeee", lw=0, zorder=0)
        axes.text(
            sum(trained) / 2, 1.005, "trained", transform=axes.get_xaxis_transform(), ha="center", color="#777777"
        )
    lines(axes, models, percent=True)
    axes.set(xlabel=what, ylabel=f"{measure} in %")
    if log:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator(sorted({x for series in models.values() for x in series})))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(ScalarFormatter())
    return figure


def sample_efficiency(models: Mapping[str, Series]) -> "Figure":
    """Accuracy (0 to 1) by the share of the training examples in percent, a line a model with its band."""
    figure, axes = _figure()
    lines(axes, models, percent=True)
    axes.set(xlabel="training examples in %", ylabel="accuracy in %")
    axes.set_xticks(sorted({x for series in models.values() for x in series}))
    return figure


def stack_usage(models: Mapping[str, Series]) -> "Figure":
    """Rows of the stack in use by the depth of the expression, a line a model with its band."""
    figure, axes = _figure()
    axes.set(xlabel="depth of the expression", ylabel="rows of the stack in use")
    lines(axes, models)
    return figure


def classes(points: ArrayLike, numbers: ArrayLike, names: Sequence[str]) -> "Figure":
    """Points (N, 2) in the plane and their classes (N,) int; those without a name are grey.

    Each named class has a colour and a marker of its own, and its name at one of its middle points.
    """
    points = np.asarray(points)
    numbers = np.asarray(numbers)
    figure, axes = _figure(5.2, 5.2)
    rest = numbers >= len(names)
    placed: list[np.ndarray] = []
    axes.scatter(points[rest, 0], points[rest, 1], s=6, color="#cccccc", lw=0)
    for number, name in enumerate(names):
        own = points[numbers == number]
        colour = COLOURS[number % len(COLOURS)]
        marker = MARKERS[number % len(MARKERS)]
        axes.scatter(own[:, 0], own[:, 1], s=20, color=colour, marker=marker, lw=0, alpha=0.85)
        place = free_place(own, placed, np.ptp(points, axis=0))
        placed.append(place)
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.8, "linewidth": 0}
        at: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "fontsize": 8}
        axes.annotate(name, tuple(place), (0, 7), color=colour, bbox=box, **at)
    axes.set_axis_off()
    axes.set_aspect("equal", "datalim")
    return figure


def confusion(counts: ArrayLike, names: Sequence[str], title: str = "") -> "Figure":
    """A confusion matrix of counts (C, C), true classes in rows, predicted ones in columns, with shares of the row."""
    counts = np.asarray(counts)
    room = len(names) <= RATES
    side = 1.6 + (0.62 if room else 0.42) * len(names)
    figure, axes = _figure(max(side, 3.4), side)
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    places = [(int(row), int(column)) for row, column in zip(*np.nonzero(counts), strict=True)]
    heat_map(axes, shares, {at: f"{counts[at]}" + (f"\n{shares[at]:.0%}" if room else "") for at in places})
    axes.grid(visible=False)
    plain: dict[str, Any] = {"parse_math": False}  # a name may have dollar signs
    turned = 90 if max(map(len, names)) > 3 else 0  # a turned < is another sign
    axes.set_xticks(range(len(names)), names, rotation=turned, **plain)
    axes.set_yticks(range(len(names)), names, **plain)
    axes.set(xlabel="predicted", ylabel="true", title=title)
    return figure


def encoders(scores: Mapping[str, tuple[Sequence[float], Sequence[float]]], metric: str) -> "Figure":
    """A row for each encoder: what it reaches with each seed in validation (rings) and in the test set (discs).

    Args:
        scores: name -> the values in validation, and those in the test set; the mean of the latter is a line.
        metric: the name of the values.
    """
    from matplotlib.ticker import AutoLocator

    figure, axes = _figure(6.4, 1.1 + 0.5 * len(scores))
    for row, (validation, test) in enumerate(scores.values()):
        axes.scatter(
            validation, [row - 0.15] * len(validation), s=28, facecolors="none", edgecolors=COLOURS[1], zorder=3
        )
        axes.scatter(test, [row + 0.15] * len(test), s=28, color=COLOURS[0], alpha=0.8, lw=0, zorder=3)
        axes.plot([np.mean(test)] * 2, [row - 0.02, row + 0.32], color=COLOURS[0], lw=2, zorder=4)
    axes.set_yticks(range(len(scores)), [*scores], parse_math=False)
    axes.set_ylim(len(scores) - 0.5, -0.5)
    axes.xaxis.set_major_locator(AutoLocator())
    axes.grid(axis="x", color="#e5e5e5", lw=0.6)
    axes.set(xlabel=f"{metric}: validation (rings), test (discs; line: mean)")
    return figure


def save(figure: "Figure", stem: str | Path) -> list[Path]:
    """Write ``stem.png`` and ``stem.svg``, each at once; the same plot gives the same bytes."""
    files = [Path(f"{stem}.{kind}") for kind in ("png", "svg")]
    for file in files:
        save_as(figure, file)
    return files


def save_as(figure: "Figure", file: Path) -> None:
    """Write a ``.png`` or ``.svg`` file at once. Raises ``ValueError`` for another kind."""
    kind = file.suffix[1:].lower()
    if kind not in ("png", "svg"):
        raise ValueError(f"{file}: pictures are written as .png or .svg")
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    with use_style(), replacing(file) as beside:
        dpi = min(DPI, MOST_PIXELS / max(figure.get_size_inches()))
        figure.savefig(beside, format=kind, dpi=dpi, bbox_inches="tight", metadata=metadata)


def _figure(width: float = 6.4, height: float = 3.8) -> "tuple[Figure, Axes]":
    figure = new_figure(width, height)
    with use_style():
        axes = figure.subplots()
    draw_rules(axes)
    return figure, axes


def new_figure(width: float, height: float) -> "Figure":
    """An empty plot, its size in inches."""
    from matplotlib.figure import Figure

    with use_style():
        return Figure((width, height), layout="constrained")


def use_style() -> AbstractContextManager[None]:
    """A block in which matplotlib draws and saves in ``STYLE``; no state of pyplot is touched."""
    import matplotlib

    return matplotlib.rc_context(STYLE)


def draw_rules(axes: "Axes") -> None:
    """Light lines behind all else, and whole numbers on the horizontal axis: depths, shares and epochs are whole."""
    axes.grid(axis="y", color="#e5e5e5", lw=0.6)
    axes.set_axisbelow(True)
    integer_axis(axes)


def integer_axis(axes: "Axes") -> None:
    """Whole numbers alone on the horizontal axis."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def lines(axes: "Axes", models: Mapping[str, Series], percent: bool = False) -> None:
    """A line with its band for every model, and its name at the right end."""
    scale = 100 if percent else 1
    ends = []
    for number, ((name, series), colour) in enumerate(zip(models.items(), line_colours(models), strict=True)):
        x = sorted(series)
        mean, deviation = (scale * np.array([series[at][i] for at in x]) for i in (0, 1))
        style = {"marker": MARKERS[number % len(MARKERS)], "linestyle": DASHES[number % len(DASHES)]}
        axes.fill_between(x, mean - deviation, mean + deviation, color=colour, alpha=0.15, lw=0)
        axes.plot(x, mean, color=colour, ms=3.5, lw=1.4, **style)
        ends.append((name, colour, x[-1], mean[-1]))
    label_ends(axes, ends)


def line_colours(names: Iterable[str]) -> list[str]:
    """For each name a colour: a model's own, and for other names those of ``COLOURS`` that no model here has."""
    names = list(names)
    taken = {MODEL_COLOURS[name] for name in names if name in MODEL_COLOURS}
    free = [colour for colour in COLOURS if colour not in taken] or list(COLOURS)
    others = (free[i % len(free)] for i in range(len(names)))
    return [MODEL_COLOURS.get(name) or next(others) for name in names]


def label_ends(axes: "Axes", ends: "list[tuple[str, str, float, float]]") -> None:
    """Names next to the last points, moved apart if they would cover each other, each tied to its line."""
    ends = sorted(ends, key=lambda end: end[3])
    scaled = axes.yaxis.get_transform().transform  # a logarithmic axis has logarithms
    low, high = scaled(axes.get_ylim())
    places = apart([(scaled(y) - low) / (high - low) for *_, y in ends])
    for (name, colour, x, y), place in zip(ends, places, strict=True):
        axes.annotate(
            name,
            (x, y),
            (1.03, place),
            textcoords="axes fraction",
            color=colour,
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "lw": 0.5,
                "shrinkA": 0,
                "shrinkB": 3,
                "relpos": (0.0, 0.5),  # from the left end of the name
            },
        )


def apart(places: Sequence[float]) -> list[float]:
    """Rising places at least GAP from each other, as near to the given ones as can be: a crowd keeps its middle."""
    crowds: list[list[float]] = []  # what is left of each place when the gaps below it are taken out
    for number, place in enumerate(places):
        crowds.append([place - GAP * number])
        while len(crowds) > 1 and np.mean(crowds[-2]) > np.mean(crowds[-1]):
            last = crowds.pop()
            crowds[-1] += last
    level = [float(np.mean(crowd)) for crowd in crowds for _ in crowd]
    return [at + GAP * number for number, at in enumerate(level)]


def free_place(own: np.ndarray, placed: Sequence[np.ndarray], extent: np.ndarray) -> np.ndarray:
    """The point of a class nearest to its middle whose label covers no other, or the nearest one if all do."""
    order = own[np.linalg.norm(own - np.median(own, axis=0), axis=1).argsort(kind="stable")]
    free = [p for p in order if all((np.abs(p - other) > LABEL * extent).any() for other in placed)]
    return free[0] if free else order[0]


def heat_map(axes: "Axes", values: np.ndarray, texts: Mapping[tuple[int, int], str], **options: Any) -> None:
    """Values (rows, columns) from 0 to 1 as shaded fields, some of them with a text, by (row, column).

    Args:
        axes: to draw in; their frame goes.
        values: of the fields.
        texts: white on dark fields.
        options: of matplotlib's ``imshow``.
    """
    axes.imshow(values, cmap="Blues", vmin=0, vmax=1, **options)
    for (row, column), text in texts.items():
        colour = "white" if values[row, column] > 0.5 else "black"
        axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=7)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
