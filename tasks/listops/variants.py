"""What there is of the task to compare models on."""

VARIANTS: dict[str, tuple[str, ...]] = {
    "100 %": (),
    **{f"{share} %": (f"--data.train_share={share / 100}",) for share in (10, 25, 50)},
}
"""Shares of the training expressions, by the options that take them; the first is the default."""
AXIS = "words, up to"
LOGARITHMIC = True
