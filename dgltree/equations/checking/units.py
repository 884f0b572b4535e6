"""Units after numbers, ``5 m + 20 cm``, as powers of base units; pint (the extra ``units``) knows them."""

import re
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, NamedTuple

from dgltree.equations.checking.marks import Checked, Mark

_NAME = "[A-Za-zµμΩ]+"
_FACTOR = rf"{_NAME}(?:\s*(?:\^|\*\*)\s*\{{?\s*-?[0-9]+\s*\}}?|[²³])?"
_UNIT = rf"{_FACTOR}(?:\s*(?:[*·⋅/]|\\cdot|\s)\s*{_FACTOR})*"
_QUANTITY = re.compile(
    r"(?P<number>(?<![\w.,])(?:[0-9]+(?:[.,][0-9]+)?|[.,][0-9]+)(?:/[0-9]+)?|(?<=\)))(?P<gap>(?:\s|~|\\[,; ])*)"
    rf"(?:\\(?:text|mathrm|operatorname)\s*\{{\s*(?P<roman>{_UNIT})\s*\}}(?P<raised>\^[0-9])?|(?P<unit>{_UNIT}))"
)
_PART = re.compile(rf"(?P<name>{_NAME})(?:\s*(?:\^|\*\*)\s*\{{?\s*(?P<power>-?[0-9]+)\s*\}}?|(?P<square>[²³]))?")

MAX_SYMBOL_LETTERS = 3
"""Letters of a name that is a symbol, however it is written: mL."""


class WithUnits(NamedTuple):
    """A text without units."""

    text: str
    """With base units as variables: ``5*(meter) + 20*(1/100*meter)``."""
    bases: frozenset[str]
    """The base units in it."""


def _check_apart(text: str) -> None:
    """Raises ``ValueError`` for ``1 h 30 min``, which would be read as a product."""
    before = None
    for found in _QUANTITY.finditer(text):
        unit = found["roman"] or found["unit"]
        known = found["number"] and all(_base(part["name"]) is not None for part in _PART.finditer(unit))
        if before is not None and known and not text[before.end() : found.start()].strip():
            first, second = before[0].strip(), found[0].strip()
            raise ValueError(f"'{first} {second}' can mean a sum or a product; write {first} + {second}")
        before = found if known else None


def with_units(text: str) -> WithUnits:
    """The text with base units in place of units. ``ValueError`` for ``20 °C``, which is not a multiple of one.

    A name after a number that is not a unit stays as it is: a variable, which the reader sees.
    """
    bases: set[str] = set()

    def replaced(found: re.Match[str]) -> str:
        unit = found["roman"] or found["unit"]
        parts = list(_PART.finditer(unit))
        known = [_base(part["name"]) for part in parts]
        if None in known:
            return found[0]
        written, place = "", 0
        for part, base in zip(parts, known, strict=True):
            assert base is not None
            between = unit[place : part.start()]
            power = part["power"] or {"²": "2", "³": "3"}.get(part["square"] or "", "1")
            written += f"{'/' if '/' in between else '*'}({base.text})^({power})"
            bases.update(base.bases)
            place = part.end()
        whole = f"({found['number'].replace(',', '.')})" if found["number"] else ""
        return f"({whole}{written}){found['raised'] or ''}" if whole else f"{written}{found['raised'] or ''}"

    if re.search(r"[°º]\s?[CF](?!\w)|℃|℉", text):
        raise ValueError("a temperature in °C or °F is not a multiple of a unit; write kelvin")
    _check_apart(text)
    return WithUnits(_QUANTITY.sub(replaced, text), frozenset(bases))


def in_units(found: Checked, answer: str, bases: frozenset[str], asked: frozenset[str]) -> Checked:
    """The mark of an answer as it is typed, in the words of quantities.

    Args:
        found: of the answer with base units as variables.
        answer: as it is typed.
        bases: its base units.
        asked: those of the question.
    """
    found = found._replace(answer=answer.strip(), notes=())
    if found.mark is Mark.RIGHT:
        return found._replace(said="right: the same quantity" if asked else "")
    if found.mark is not Mark.WRONG or not (asked or bases):
        return found
    if not bases:
        return found._replace(said="wrong: the unit is missing, or another quantity")
    return found._replace(said="wrong: another quantity" if bases <= asked else "wrong: another unit")


@cache
def _base(name: str) -> WithUnits | None:
    """A unit as a number times powers of base units: ``1/100*meter`` of cm; None of what is not a unit."""
    registry = _registry()
    try:
        names = registry.parse_unit_name(name)
    except Exception:  # pint raises errors of many kinds
        return None
    spelled = [one for one in names if _is_spelled(registry, name, *one)]
    if not spelled:
        return None
    quantity = registry.Quantity(1, spelled[0][0] + spelled[0][1]).to_base_units()
    number, units = Fraction(quantity.magnitude), dict(quantity.unit_items())
    if not units or "radian" in units or any(power != int(power) for power in units.values()):
        return None
    written = "*".join([str(number), *(f"{unit}^({int(power)})" for unit, power in units.items())])
    return WithUnits(written, frozenset(units))


def _is_spelled(registry: Any, name: str, prefix: str, unit: str, suffix: str) -> bool:
    """Whether a prefix is in its place: ``units`` are not micronits."""
    symbol = registry.get_symbol(prefix + unit)
    return not prefix or name.startswith(prefix) or len(name) <= MAX_SYMBOL_LETTERS or (not suffix and name == symbol)


@lru_cache(maxsize=1)
def _registry() -> Any:
    try:
        import pint
    except ImportError:
        raise ValueError("units are read by pint, which is not installed; it is in the extra units") from None
    return pint.UnitRegistry(non_int_type=Fraction)
