"""Variants of the task to compare models on."""

from tasks.listops.data import FLAT, ROOTS
from tasks.listops.presets import ASKED

VARIANTS: dict[str, tuple[str, ...]] = {
    "100 %": (),
    **{f"{share} %": (f"--data.train_share={share / 100}",) for share in (10, 25, 50)},
    "family": ("--data.count=100000", "--data.longest=100", "--data.sets=[all]"),
    "depth": ("--data.count=100000", "--data.depth=true"),
}
"""Shares of the training expressions, by the options that take them; the first is the default. "family" is the test of
the papers on latent trees: what is learnt from up to 100 words, on longer ones and on more arguments; "depth" is
ListOps-DG."""
HEADS = {f"{name}_set": f"{preset.about} (our set, ± 1)" for name, preset in ASKED.items()}
"""Column heads of our own test sets."""
TABLES = {
    "By the operator at the root": {
        **{name: operator[1:] for name, operator in ROOTS.items()},
        **{name: f"{operator[1:]}, digits alone" for name, operator in FLAT.items()},
    }
}
"""Tables of their own: heading to the heads of their columns."""
AXIS = "words, up to"
LOGARITHMIC = True
