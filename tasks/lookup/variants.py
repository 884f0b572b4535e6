"""Variants of the task to compare models on."""

VARIANTS: dict[str, tuple[str, ...]] = {"forward": (), "backward": ("--data.direction=backward",)}
"""The order of a sequence, by the options that make it; the first is the default."""
AXIS = "functions"
LOGARITHMIC = False
