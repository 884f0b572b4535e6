"""The digits that an answer has to have: any to which a value is rounded, so many places, or significant ones."""

from typing import NamedTuple

from dgltree.equations.checking.marks import Lack
from dgltree.equations.checking.numerals import RoundedNumber, rounded_number

MAX_DIGITS = 30
"""To which an answer may have to be rounded."""


class Rounding(NamedTuple):
    """The decimals that are right for a value, next to the exact one.

    Args:
        places: behind the point; None for any number of them.
        digits: significant ones; None for any number of them.
    """

    places: int | None = None
    digits: int | None = None

    @property
    def is_required(self) -> bool:
        """Whether only a decimal of so many places or digits is what was asked for."""
        return self.places is not None or self.digits is not None

    def number(self, text: str) -> RoundedNumber | None:
        """The decimal that a text is, if people round to it."""
        found = rounded_number(text.replace(",", ".") if text.count(",") == 1 else text)
        if found is None or (found.is_digit and not self.is_required):
            return None
        return found if self.digits is None else found.with_digits(self.digits)

    def lack(self, given: RoundedNumber | None, text: str, exactly: bool) -> Lack | None:
        """The digits that a right answer lacks; a value that has fewer places may be written without zeros.

        Args:
            given: the decimal that it is; None if it is none.
            text: as it is shown.
            exactly: whether it is the value itself.
        """
        if not self.is_required:
            return None
        if given is None:
            return Lack("no-decimal", {"part": text}, "rounded")
        if self.places is not None and given.places != self.places and not (exactly and given.places < self.places):
            values = {"part": text, "places": str(max(given.places, 0)), "required": str(self.places)}
            return Lack("places", values, "rounded")
        if self.digits is not None and not given.digits[0] <= self.digits <= given.digits[1]:
            values = {"part": text, "digits": str(given.digits[0]), "required": str(self.digits)}
            return Lack("digits", values, "rounded")
        return None


def rounding_of(rounded: bool | int, significant: int | None) -> Rounding | None:
    """The rule of the options ``rounded`` and ``significant``; None for exact answers only.

    Raises ``ValueError`` for both, and for numbers that are none of digits.
    """
    if significant is not None:
        if rounded is not False:
            raise ValueError("rounded and significant exclude each other; give one of them")
        if not 1 <= significant <= MAX_DIGITS:
            raise ValueError(f"significant is {significant}; expected a number of digits from 1 to {MAX_DIGITS}")
        return Rounding(digits=significant)
    if isinstance(rounded, bool):
        return Rounding() if rounded else None
    if not 0 <= rounded <= MAX_DIGITS:
        raise ValueError(f"rounded is {rounded}; expected a number of decimal places from 0 to {MAX_DIGITS}, or True")
    return Rounding(places=rounded)
