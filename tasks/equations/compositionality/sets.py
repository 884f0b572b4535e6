"""The data sets of a preset."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks.equations.generator.generate import write_sets
from tasks.equations.generator.presets import PRESETS, Part, Shape
from tasks.equations.generator.published.process import PUBLISHED, Process

SETS = {
    "small": ("small",),
    "paper": ("paper-train", "paper-test"),
    "published": ("published-train", "published-test"),
    "published-clean": ("published-clean",),
}
"""Our presets to those of ``generate``."""

KEPT = ("preset", "seed", "chunk", "version", "generator", "process")
"""The settings that define a set, among all that its card has."""


def data_sets(preset: str, folder: Path, seed: int, workers: int) -> dict[str, Any]:
    """Generate the sets that the folder lacks; returns preset and seed of each.

    Raises ``ValueError`` for a folder with sets of another preset or seed.
    """
    known: dict[str, Mapping[Part, Shape | Process]] = {**PRESETS, **PUBLISHED}
    cards: dict[str, Any] = {}
    for name in SETS[preset]:
        for part, card in write_sets(name, known[name], folder, seed, workers).items():
            cards[part] = {key: card[key] for key in KEPT if key in card}
    return cards
