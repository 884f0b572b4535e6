"""Numbers as people write them, drawn and written by Python's own formatting and its module decimal."""

import random
from decimal import ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction

import pytest
from flint import fmpq

from dgltree.equations.marking.numerals import decimal_mark, rounded_number, with_decimal_points


def written(number: Decimal, mark: str, group: str) -> str:
    """A number with marks of thousands."""
    whole, _, places = f"{number:,}".partition(".")
    return whole.replace(",", group) + ({"comma": ",", "point": "."}[mark] + places if places else "")


def test_what_is_written_with_a_mark_is_read_with_it() -> None:
    draw = random.Random(11)
    for _ in range(2000):
        mark = draw.choice(["comma", "point"])
        group = draw.choice(["", " ", "\u202f", "\u00a0", "." if mark == "comma" else ","])
        places = draw.choice([0, 0, 1, 2, 3, 4])
        number = Decimal(draw.randint(1, 10 ** draw.randint(1, 9))).scaleb(-places)
        text = written(number, mark, group)
        around = draw.choice(["{}", "x + {}", "({})*y", "2x = {}", "-{}", "{}; 5"])
        found, _ = with_decimal_points(around.format(text), mark)
        assert found == around.format(f"{number:f}"), text
        if places and len(text.partition("," if mark == "comma" else ".")[2]) != 3:
            assert decimal_mark(text) in (mark, None)


def test_a_decimal_rounds_what_the_module_decimal_rounds_to_it_and_nothing_else() -> None:
    draw = random.Random(12)
    outcomes = {True: 0, False: 0}
    for _ in range(3000):
        value = Fraction(draw.randint(1, 4000), draw.choice([3, 7, 8, 16, 40, 125, 200, 999]))
        places = draw.randint(1, 4)
        with localcontext() as context:
            context.prec = 60
            exactly = Decimal(value.numerator) / Decimal(value.denominator)
            unit = Decimal(1).scaleb(-places)
            right = {exactly.quantize(unit, rounding) for rounding in (ROUND_HALF_UP, ROUND_HALF_DOWN)}
            text = str(draw.choice([*right, exactly.quantize(unit) + unit, exactly.quantize(unit) - unit]))
        percent = f"{Decimal(text).scaleb(2):f}%" if places > 2 else text
        number = rounded_number(draw.choice([text, f"{text}e0", percent, f" {text} · 10^0"]))
        assert number is not None and number.value == Fraction(text) and number.places == places
        rounds = number.rounds(fmpq(value.numerator, value.denominator))
        outcomes[rounds] += 1
        assert rounds is (Decimal(text) in right), (value, text)
    assert min(outcomes.values()) > 500


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("0,5 + 1 = _", "comma"), ("1.234,5", "comma"), ("1,234.5", "point"), ("3.5x", "point"), ("x = 1,125", None),
        ("1.500", None), ("log(2,8)", None), ("2,3.5", None), ("0,5 + 0.5", None), ("x, 3", None),
        ("x^2 = 0,25, x = _", "comma"),
    ],
)  # fmt: skip
def test_the_mark_of_a_question(text: str, mark: str | None) -> None:
    assert decimal_mark(text) == mark
