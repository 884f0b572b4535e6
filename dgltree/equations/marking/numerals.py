"""Numbers as people write them: decimal commas and points, percent, powers of ten, and the digits that they claim."""

import re
from fractions import Fraction
from typing import NamedTuple

from flint import arb, ctx, fmpq

from dgltree.equations.marking.sentences import checking_note
from dgltree.equations.truth.balls import Ball, ball
from dgltree.equations.typed.notes import Note
from dgltree.equations.typed.spelling import SUPERSCRIPTS

DECIMALS = ("comma", "point")
BITS = 256
"""Bits of a value that is compared with what was rounded; where they do not decide, the number counts as not equal."""
MAX_EXPONENT = 400
"""Exponent of ten up to which a rounded number is compared with its value."""

_SPACES = " \u00a0\u2009\u202f"
_COMMA = re.compile(r"(?<![\w,.])[0-9]+,[0-9]+(?![0-9]|[.,][0-9])")
_POINT = re.compile(r"(?<![\w,.])(?:[0-9]+\.[0-9]+|\.[0-9]+)(?![0-9]|[.,][0-9])")
_COMMA_AFTER_POINTS = re.compile(r"(?<![\w,.])[1-9][0-9]{0,2}(?:\.[0-9]{3})+,[0-9]+(?![0-9.,])")
_POINT_AFTER_COMMAS = re.compile(r"(?<![\w,.])[1-9][0-9]{0,2}(?:,[0-9]{3})+\.[0-9]+(?![0-9.,])")
_THREE = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}")
"""A number whose mark may be one of decimals or of thousands."""
_GROUPS = {
    mark: re.compile(
        rf"(?<![\w.,^])[1-9][0-9]{{0,2}}(?:(?:{group}[0-9]{{3}})+|(?:[{_SPACES}][0-9]{{3}})+)(?![0-9]|{group}[0-9])"
    )
    for mark, group in (("comma", r"\."), ("point", ","))
}
_BRACED = re.compile(r"(?<=[0-9])\{,\}(?=[0-9])")
_PERIOD = re.compile(r"(?<![\w.,])([0-9]+),(?=[0-9]*\\overline)")
_REPEATED = re.compile(r"(?<![\w.,])[0-9]+,(?=\([0-9]+\)(?!\w))")
_PERCENT = re.compile(r"(?<=[0-9)])\s*(?:pct\.?|percent|per cent|prozent|pour ?cent|por ?ciento)(?!\w)", re.IGNORECASE)
_CALL = re.compile(r"[A-Za-z}]\s*[([]")

_RAISED = "".join(SUPERSCRIPTS)
POWER_OF_TEN = (
    r"10\s*(?:(?:\^|\*\*)\s*(?:\(\s*[-−+]?[0-9]+\s*\)|\{\s*[-−+]?[0-9]+\s*\}|[-−+]?[0-9]+)|[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
)
NUMERAL = (
    r"(?:[0-9]+(?:[.,][0-9]+)?|[.,][0-9]+)"
    rf"(?:[eE][-−+]?[0-9]+(?![0-9])|\s*(?:\*|×|·|⋅|\\cdot|\\times|[xX](?=\s*10))\s*{POWER_OF_TEN})?"
)
"""A decimal with a power of ten or none, as a pattern."""
_ROUNDED = re.compile(
    r"\s*(?P<sign>[-−+]?)\s*(?P<digits>[0-9]*)(?:\.(?P<places>[0-9]*))?"
    rf"(?:[eE](?P<e>[-−+]?[0-9]+)|\s*(?:\*|×|·|⋅|\\cdot|\\times|[xX])\s*(?P<power>{POWER_OF_TEN}))?\s*(?P<percent>\\?%)?\s*"
)


def decimal_mark(text: str) -> str | None:
    """``comma`` of a text with ``0,5``, ``point`` of one with ``0.5``; None of one with neither, or both."""
    comma = _has(_COMMA, text) or _COMMA_AFTER_POINTS.search(text) is not None
    point = _has(_POINT, text) or _POINT_AFTER_COMMAS.search(text) is not None
    if comma == point:
        return None
    return "comma" if comma else "point"


def _has(pattern: re.Pattern[str], text: str) -> bool:
    """Whether there is a number with a mark that is not a mark of thousands, nor between arguments."""
    return any(
        not _THREE.fullmatch(one[0]) and not ("," in one[0] and _is_argument(text, one.start()))
        for one in pattern.finditer(text)
    )


def with_decimal_points(text: str, mark: str, lists: bool = False) -> tuple[str, tuple[Note, ...]]:
    """A text whose numbers have decimal points and no marks of thousands, and notes on the numbers that could be both.

    Args:
        text: with decimals of a known mark.
        mark: ``comma`` or ``point``.
        lists: whether ``100,200`` with a decimal point may be two numbers; it stays as it is.
    """
    notes: list[Note] = []

    def ungrouped(found: re.Match[str]) -> str:
        given = found[0]
        text = found.string
        if mark == "point" and "," in given and (lists or _is_argument(text, found.start())):
            return given
        whole = re.sub(rf"[.,{_SPACES}]", "", given)
        if _THREE.fullmatch(given) and text[found.end() : found.end() + 1] not in (".", ","):
            notes.append(checking_note("thousands", number=given, whole=whole, mark=mark))
        return whole

    def pointed(found: re.Match[str]) -> str:
        if _is_argument(found.string, found.start()):
            return found[0]
        if _THREE.fullmatch(found[0]):
            notes.append(checking_note("decimal", number=found[0], mark=mark))
        return found[0].replace(",", ".")

    text = _GROUPS[mark].sub(ungrouped, _BRACED.sub(",", text))
    if mark == "comma":
        text = _COMMA.sub(pointed, _REPEATED.sub(pointed, text))
    return text, tuple(dict.fromkeys(notes))


def with_plain_numbers(text: str) -> str:
    """``28%`` of ``28 pct`` and ``28 Prozent``, and ``1.\\overline{3}`` of ``1,\\overline{3}``."""
    return _PERIOD.sub(r"\1.", _PERCENT.sub("%", text))


def _is_argument(text: str, place: int) -> bool:
    """Whether a place is in the brackets of a function: ``log(2,8)``."""
    depth = 0
    for at in range(place - 1, -1, -1):
        depth += (text[at] in ")]") - (text[at] in "([")
        if depth < 0:
            return at > 0 and _CALL.fullmatch(text[at - 1 : at + 1]) is not None
    return False


class RoundedNumber(NamedTuple):
    """A decimal as it is written."""

    value: Fraction
    half: Fraction
    """Half a unit of its last place."""
    places: int
    """Digits behind the point, of the number that it is: 3 of 66.7%."""
    digits: tuple[int, int]
    """The significant digits that it may have: 2 to 4 of 1200."""
    is_digit: bool = False
    """Whether it is a whole number of one digit, which nobody rounds to unless that is asked for."""

    def with_digits(self, digits: int) -> "RoundedNumber":
        """Rounded to so many significant digits, or as many as it can have: 1200 to 2 is off by 50 at most."""
        fewest, most = self.digits
        return self._replace(half=self.half * 10 ** (most - min(max(digits, fewest), most)))

    def rounds(self, number: Ball) -> bool:
        """Whether it is a number rounded to its digits; a tie, up or down."""
        if not isinstance(number, fmpq) and not ball(number).imag.is_zero():
            return False
        with ctx.workprec(BITS):
            given, half = (fmpq(one.numerator, one.denominator) for one in (self.value, self.half))
            if isinstance(number, fmpq):
                return bool(abs(number - given) <= half)
            off = abs(arb(ball(number).real) - given)
            return bool(off <= half) or off.overlaps(arb(half))  # to 60 digits a tie


def rounded_number(text: str) -> RoundedNumber | None:
    """The decimal that a text is; None of any other text."""
    found = _ROUNDED.fullmatch(text)
    if found is None or not (found["digits"] or found["places"]):
        return None
    digits = found["digits"]
    places = found["places"] or ""
    raised = found["e"] or (found["power"] and _exponent(found["power"])) or "0"
    if len(raised) > len(str(MAX_EXPONENT)) + 1:
        return None
    exponent = int(raised.replace("−", "-")) - 2 * (found["percent"] is not None)
    significant = (digits + places).lstrip("0")
    if abs(exponent) > MAX_EXPONENT:
        return None
    is_digit = found["places"] is None and len(significant) < 2
    fewest = len(significant) if found["places"] is not None else len(significant.rstrip("0"))
    unit = Fraction(10) ** (exponent - len(places))
    value = Fraction(int(digits + places or "0")) * unit * (-1 if found["sign"] in ("-", "−") else 1)
    figures = max(fewest, 1), max(len(significant), 1)
    return RoundedNumber(value, unit / 2, len(places) - exponent, figures, is_digit)


def _exponent(power: str) -> str:
    """``-3`` of ``10^{-3}`` and ``10⁻³``."""
    behind = re.sub(r"^10\s*(?:\^|\*\*)?", "", power)
    return re.sub(r"[(){}\s]", "", "".join(SUPERSCRIPTS.get(sign, sign) for sign in behind))
