"""Variants of the task to compare models on."""

VARIANTS: dict[str, tuple[str, ...]] = {"full": ()}
AXIS = "depth"
LOGARITHMIC = False
