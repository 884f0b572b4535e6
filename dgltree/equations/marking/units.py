"""Units after numbers, ``5 m + 20 cm``, as powers of base units; pint (the extra ``units``) knows them."""

import re
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, NamedTuple

from dgltree.equations.marking.marks import Checked, Mark
from dgltree.equations.marking.numerals import NUMERAL, POWER_OF_TEN
from dgltree.equations.marking.sentences import CHECKING_NOTES, Cause
from dgltree.equations.typed.notes import Note, make_note
from dgltree.equations.typed.spelling import SUPERSCRIPTS
from dgltree.support.refusal import Refusal

_NAME = "[A-Za-zµμΩèéí]+"
_RAISED = "[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+"
_FACTOR = rf"{_NAME}(?:\s*(?:\^|\*\*)\s*[({{]?\s*[-−]?[0-9]+\s*[)}}]?|{_RAISED})?"
_UNIT = rf"{_FACTOR}(?:\s*(?:[*·⋅/]|\\cdot|\s)\s*{_FACTOR})*"
_QUANTITY = re.compile(
    rf"(?P<number>(?<![\w.,^])(?<!\^[-−])(?:(?>{POWER_OF_TEN}|{NUMERAL})(?:/[0-9]+)?)|(?<=\)))"
    r"(?P<gap>(?:\s|~|\\[,; ])*)"
    rf"(?:\\(?:text|mathrm|operatorname)\s*\{{\s*(?P<roman>{_UNIT})\s*\}}(?P<raised>\^[0-9])?|(?P<unit>{_UNIT}))"
)
_PART = re.compile(
    rf"(?P<name>{_NAME})(?:\s*(?:\^|\*\*)\s*[({{]?\s*(?P<power>[-−]?[0-9]+)\s*[)}}]?|(?P<raised>{_RAISED}))?"
)

_OTHER_NAMES = {
    **dict.fromkeys(["stunde", "stunden", "heure", "heures", "hora", "horas"], "hour"),
    **dict.fromkeys(["minuten", "minuto", "minutos"], "minute"),
    **dict.fromkeys(["sekunde", "sekunden", "seconde", "secondes", "segundo", "segundos"], "second"),
    **dict.fromkeys(["tag", "tage", "jour", "jours", "día", "días"], "day"),
    **dict.fromkeys(["mètre", "mètres", "metro", "metros"], "meter"),
    **dict.fromkeys(["gramm", "gramme", "grammes", "gramo", "gramos"], "gram"),
    **dict.fromkeys(["litro", "litros"], "liter"),
}
"""German, French and Spanish names of everyday units."""
_PRODUCTS = {
    f"{symbol}{both}": f"{prefix}{unit}"
    for symbol, prefix in (("", ""), ("k", "kilo"), ("m", "milli"), ("M", "mega"))
    for both, unit in (("Nm", "newton*meter"), ("Ws", "watt*second"), ("As", "ampere*second"), ("Ns", "newton*second"))
} | {"Ohm": "ohm", "PS": "metric_horsepower"}
"""Products of units that are written without a sign; pint has yarn counts and petasiemens for some."""
_FRACTION = re.compile(rf"\\[dt]?frac\s*\{{\s*({_NAME})\s*\}}\s*\{{\s*({_FACTOR})\s*\}}")
MAX_SYMBOL_LETTERS = 3
"""Letters of a name that is a symbol, however it is written: mL."""


class WithUnits(NamedTuple):
    """A text without units."""

    text: str
    """The text with base units as variables: ``5*(meter) + 20*(1/100*meter)``."""
    bases: frozenset[str]
    """The base units in it."""
    numeral: str = ""
    """The number of a text that is one quantity."""
    unit: str = ""
    """Unit in base units."""


def _check_apart(text: str) -> None:
    """Raises ``ValueError`` for ``1 h 30 min``, which would be read as a product."""
    before = None
    for found in _QUANTITY.finditer(text):
        unit = found["roman"] or found["unit"]
        known = found["number"] and all(_base(part["name"]) is not None for part in _PART.finditer(unit))
        if before is not None and known and not text[before.end() : found.start()].strip():
            first = before[0].strip()
            second = found[0].strip()
            raise Refusal(f"'{first} {second}' can mean a sum or a product; write {first} + {second}")
        before = found if known else None


def with_sums_of_quantities(text: str) -> tuple[str, tuple[Note, ...]]:
    """``(1 h + 30 min)`` of ``1 h 30 min``, two quantities of one kind side by side, and a note on each."""
    notes: list[Note] = []
    groups: list[list[re.Match[str]]] = []
    for found in _QUANTITY.finditer(text):
        last = groups[-1][-1] if groups else None
        joined = last is not None and not text[last.end() : found.start()].strip() and _kind(last) == _kind(found)
        if joined and found["number"] and _kind(found):
            groups[-1].append(found)
        else:
            groups.append([found])
    for group in reversed([group for group in groups if len(group) > 1]):
        start = group[0].start()
        stop = group[-1].end()
        sum_ = " + ".join(found[0].strip() for found in group)
        notes.append(make_note("mixed", text=text[start:stop].strip(), sum=sum_))
        text = f"{text[:start]}({sum_}){text[stop:]}"
    return text, tuple(reversed(notes))


def _kind(found: re.Match[str]) -> str:
    """The base units of a quantity with one unit; empty of what is no such quantity."""
    base = _base((found["roman"] or found["unit"]).strip())
    return "" if base is None else base.text.partition("*")[2]


def with_units(text: str) -> WithUnits:
    """The text with base units in place of units. ``ValueError`` for ``20 °C``, which is not a multiple of one.

    A name after a number that is not a unit stays as it is: a variable, which the reader sees.
    """
    bases: set[str] = set()
    quantities: list[tuple[str, str]] = []

    def replaced(found: re.Match[str]) -> str:
        unit = found["roman"] or found["unit"]
        parts = list(_PART.finditer(unit))
        known = [_base(part["name"]) for part in parts]
        if None in known:
            return found[0]
        written = ""
        place = 0
        for part, base in zip(parts, known, strict=True):
            assert base is not None
            between = unit[place : part.start()]
            raised = "".join(SUPERSCRIPTS[sign] for sign in part["raised"] or "").lstrip("+")
            power = (part["power"] or raised or "1").replace("−", "-")
            written += f"{'/' if '/' in between else '*'}({base.text})^({power})"
            bases.update(base.bases)
            place = part.end()
        number = (found["number"] or "").replace(",", ".")
        if number and found.span() == (start, stop) and not found["raised"]:
            quantities.append((number, f"1{written}"))
        whole = f"({number})" if number else ""
        return f"({whole}{written}){found['raised'] or ''}" if whole else f"{written}{found['raised'] or ''}"

    if re.search(r"[°º]\s?[CF](?!\w)|℃|℉", text):
        raise Refusal("a temperature in °C or °F is not a multiple of a unit; write kelvin")
    text = _FRACTION.sub(lambda one: f"{one[1]}/{one[2]}" if _base(one[1]) is not None else one[0], text)
    _check_apart(text)
    start = len(text) - len(text.lstrip())
    stop = len(text.rstrip())
    written = _QUANTITY.sub(replaced, text)
    numeral, unit = quantities[0] if quantities else ("", "")
    return WithUnits(written, frozenset(bases), numeral, unit)


def in_units(found: Checked, answer: str, bases: frozenset[str], asked: frozenset[str]) -> Checked:
    """The mark of an answer as it is typed, in the words of quantities.

    Args:
        found: of the answer with base units as variables.
        answer: as it is typed.
        bases: its base units.
        asked: those of the question.
    """
    if not (asked or bases):
        return found
    kept = tuple(note for note in found.notes if note.code in CHECKING_NOTES or note.code == "mixed")
    found = found._replace(answer=answer.strip(), notes=kept)
    if found.mark is Mark.RIGHT:
        said = found.cause is not None and found.cause.code in ("right-rounded", "right-several")
        return found if said else found._replace(cause=Cause("right-quantity") if asked else None)
    if found.mark is not Mark.WRONG:
        return found
    code = "no-unit" if not bases else "quantity" if bases <= asked else "unit"
    return found._replace(cause=Cause(f"wrong-{code}"))


@cache
def _base(name: str) -> WithUnits | None:
    """A unit as a number times powers of base units: ``1/100*meter`` of cm; None of what is not a unit."""
    registry = _registry()
    if name in _PRODUCTS:
        return _in_base_units(registry.Quantity(1, _PRODUCTS[name]))
    try:
        names = registry.parse_unit_name(name := _OTHER_NAMES.get(name.lower(), name))
    except Exception:  # pint raises errors of many kinds
        return None
    spelled = [one for one in names if _is_spelled(registry, name, *one)]
    if not spelled:
        return None
    return _in_base_units(registry.Quantity(1, spelled[0][0] + spelled[0][1]))


def _in_base_units(quantity: Any) -> WithUnits | None:
    quantity = quantity.to_base_units()
    number = Fraction(quantity.magnitude)
    units = dict(quantity.unit_items())
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
        raise Refusal("pint, which reads units, is not installed; install dgltree with the extra units") from None
    return pint.UnitRegistry(non_int_type=Fraction)
