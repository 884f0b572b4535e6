"""Pictures of trainings: how they went epoch by epoch, and what a model predicts for numbers.

Needs matplotlib, as :mod:`dgltree.plotting.charts` does.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dgltree.plotting.charts import COLOURS, Series, draw_rules, integer_axis, label_ends, lines, new_figure, use_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {"r2": "R²"}
"""Names of metrics, for people."""


def learning(epochs: Sequence[Mapping[str, float]], metric: str, baseline: float | None = None) -> "Figure":
    """The loss of training above, a metric of validation below, by epochs; the best epoch is marked.

    Args:
        epochs: rows with ``epoch``, ``loss``, the metric, and the ``validation_loss`` that breaks its ties, if known.
        metric: such as ``accuracy``; higher is better.
        baseline: what a simpler model reaches, a dashed line.
    """
    figure = new_figure(5.6, 4.6)
    with use_style():
        above, below = figure.subplots(2, 1, sharex=True)
    x = [row["epoch"] for row in epochs]
    values = [row.get(metric) for row in epochs]
    shown = [(at, value) for at, value in zip(x, values, strict=True) if value is not None]
    losses = {row["epoch"]: row.get("validation_loss", np.inf) for row in epochs}
    name = NAMES.get(metric, metric)
    above.plot(x, [row["loss"] for row in epochs], color=COLOURS[1], marker="o", ms=3, lw=1.4)
    above.set(ylabel="loss in training", title="learning curve")
    ends: list[tuple[str, str, float, float]] = []
    if shown:
        below.plot(*zip(*shown, strict=True), color=COLOURS[0], marker="o", ms=3, lw=1.4)
        at, best = max(shown, key=lambda point: (point[1], -losses[point[0]], -point[0]))
        below.plot([at], [best], marker="o", ms=9, mfc="none", color=COLOURS[0], ls="none")
        ends.append((f"best: {best:.3f}", COLOURS[0], x[-1], best))
    if baseline is not None:
        below.axhline(baseline, color="#555555", lw=1, ls="--")
        ends.append((f"baseline: {baseline:.3f}", "#555555", x[-1], baseline))
    below.set(xlabel="epoch", ylabel=f"{name} in validation")
    for axes in (above, below):
        axes.grid(axis="y", color="#e5e5e5", lw=0.6)
    integer_axis(below)
    label_ends(below, ends)
    return figure


def language_models(perplexity: Mapping[str, Series], f1: Mapping[str, Series]) -> "Figure":
    """Perplexity of validation on the left, F1 in percent of the trees that are found on the right, by epochs.

    Args:
        perplexity: name -> {epoch: (mean, deviation)} of each model.
        f1: the same of each layer that finds trees; without one there is no right side.
    """
    from matplotlib.ticker import LogLocator, NullLocator, ScalarFormatter

    panels = {"perplexity in validation": perplexity, "F1 of the trees in %": f1}
    panels = {label: models for label, models in panels.items() if models}
    figure = new_figure(4.8 * len(panels), 3.8)
    with use_style():
        row = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (label, models) in zip(row, panels.items(), strict=True):
        axes.set(xlabel="epoch", ylabel=label)
        draw_rules(axes)
        if models is perplexity:
            axes.set_yscale("log")  # the first epochs are several times the last
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
            axes.yaxis.set_minor_locator(NullLocator())
            axes.yaxis.set_major_formatter(ScalarFormatter())
        lines(axes, models)
    return figure


def predicted(labels: ArrayLike, answers: ArrayLike, title: str = "") -> "Figure":
    """Numbers (E,) that were predicted against the labels (E,); on the line they are equal."""
    labels = np.asarray(labels, float)
    answers = np.asarray(answers, float)
    figure = new_figure(4.6, 4.6)
    with use_style():
        axes = figure.subplots()
    low = min(labels.min(), answers.min())
    high = max(labels.max(), answers.max())
    axes.plot([low, high], [low, high], color="#555555", lw=1, ls="--", zorder=1)
    axes.scatter(labels, answers, s=10, color=COLOURS[0], alpha=0.5, lw=0, zorder=2)
    axes.set(xlabel="label", ylabel="predicted", title=title)
    axes.set_aspect("equal", "datalim")
    axes.grid(color="#e5e5e5", lw=0.6)
    return figure
