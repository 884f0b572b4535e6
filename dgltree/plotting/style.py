"""Common style of all pictures: fonts, colours, and fields that are shaded by their values."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

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


def line_colours(names: Iterable[str]) -> list[str]:
    """For each name a colour: a model's own, and for other names those of ``COLOURS`` that no model here has."""
    names = list(names)
    taken = {MODEL_COLOURS[name] for name in names if name in MODEL_COLOURS}
    free = [colour for colour in COLOURS if colour not in taken] or list(COLOURS)
    others = (free[i % len(free)] for i in range(len(names)))
    return [MODEL_COLOURS.get(name) or next(others) for name in names]


def use_style() -> AbstractContextManager[None]:
    """In its block matplotlib draws and saves in ``STYLE``; no state of pyplot is touched."""
    import matplotlib

    return matplotlib.rc_context(STYLE)


def new_figure(width: float, height: float) -> "Figure":
    """An empty plot, its size in inches."""
    from matplotlib.figure import Figure

    with use_style():
        return Figure((width, height), layout="constrained")


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
