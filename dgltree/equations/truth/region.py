"""Which values the variables take while an identity is proved."""

from typing import NamedTuple


class Region(NamedTuple):
    """Of the variables."""

    kind: str
    """``complex``, ``real`` or ``positive``; odd roots of real numbers are real unless it is complex."""

    @property
    def is_real(self) -> bool:
        return self.kind != "complex"

    @property
    def connected(self) -> bool:
        """Whether functions that are analytic in the region, and whose product is 0, are 0 themselves, one of them."""
        return self.kind in ("positive", "complex")
