"""Variants of the task to compare models on."""

VARIANTS: dict[str, tuple[str, ...]] = {"full": (), **{split: (f"--data.split={split}",) for split in "ABC"}}
"""The systematic splits, by the options that make them; the first is the default."""
AXIS = "operators of the longer formula"
LOGARITHMIC = False
