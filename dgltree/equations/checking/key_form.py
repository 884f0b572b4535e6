"""Wrong answers in the form of the right one: a decimal among fractions would give it away."""

from collections.abc import Iterator
from fractions import Fraction

from dgltree.equations.checking.tree_parts import whole
from dgltree.equations.truth.exact import exact, exact_value
from dgltree.trees.tree import Tree


class KeyForm:
    """The form of a right answer that is a number: a whole one, a fraction, or a decimal with so many places.

    Args:
        key: the right answer.
    """

    def __init__(self, key: Tree) -> None:
        self._value = exact(key)
        point = (key.token or "").lower()
        self._places = len(point.partition(".")[2]) if key.function == "Float" and "e" not in point else None

    def written(self, candidate: Tree) -> Tree | None:
        """A wrong answer in this form; None of a number of another form. If the right one has letters, it stays."""
        value = exact_value(candidate)
        if self._value is None:
            return candidate
        if value is None:
            return None
        if self._places is not None:
            return _decimal(value, self._places)
        return whole(value) if (value.denominator == 1) == (self._value.denominator == 1) else None

    def near(self) -> Iterator[Tree]:
        """Numbers of this form next to the right one: slips in the last digit, in the sign, and in the point."""
        if self._value is None:
            return
        value, unit = self._value, Fraction(1)
        if self._places is not None:
            unit = Fraction(1, 10**self._places)
        elif value.denominator > 1:
            unit = Fraction(1, value.denominator)
        for number in (value + unit, value - unit, -value, value * 10, value + 10 * unit, value + 2 * unit):
            tree = self.written(whole(number))
            if tree is not None:
                yield tree


def _decimal(value: Fraction, places: int) -> Tree | None:
    """A number as a decimal, rounded to so many places."""
    rounded = round(value * 10**places)
    digits = str(abs(rounded)).rjust(places + 1, "0")
    text = f"{'-' if rounded < 0 else ''}{digits[: len(digits) - places]}.{digits[len(digits) - places :]}"
    return Tree("Float", token=text) if places else None
