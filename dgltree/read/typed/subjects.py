"""Input other than equations of expressions, refused by name: derivatives, integrals, matrices, units and others."""

import re
from typing import NamedTuple

from dgltree.read.text import error_at

ONE = "an equation is left = right, of numbers, variables and functions"
_LATEX_D = r"(?:\\(?:mathrm|text)\s*\{\s*d\s*\}|\\partial|d)"
_POWER = r"(?:\s*\^\s*\{?\s*[0-9n]\s*\}?)?"
_UNITS = (
    "km|cm|mm|dm|nm|μm|µm|kg|ml|kW|kWh|kJ|kPa|Hz|kHz|MHz|GHz|mol|min|hrs?|hours?|minutes?|"
    "seconds?|days?|meters?|metres?|miles?|inch|inches|feet|ft|lbs?|oz|mph|km/h|kcal|dollars?|euros?|cents?"
)
_ROMAN = r"\\(?:mathrm|text|operatorname)\{"
_WORDS = (
    "solve|find|what|plus|minus|times|equals?|divided|multiplied|and|or|if|then|where|compute|evaluate|calculate|"
    "how|let|choose|show|prove|half|twice|of"
)


class Subject(NamedTuple):
    """A subject that is refused."""

    name: str
    pattern: re.Pattern[str]
    hint: str = ONE


def _subject(name: str, pattern: str, hint: str = ONE) -> Subject:
    return Subject(name, re.compile(pattern), hint)


SUBJECTS = (
    _subject("a chemical formula", r"\\ce\b\s*\{[^{}]*\}?"),
    _subject(
        "a derivative",
        rf"\\[dtc]?frac\s*\{{\s*{_LATEX_D}{_POWER}\s*\w*\s*\}}\s*\{{\s*{_LATEX_D}\s*\w[^{{}}]*\}}"
        r"|(?<![\w.])d(?:[²³]|\^[0-9])?\s*\w?\s*/\s*d[^\W\d_](?:[²³]|\^[0-9])?(?!\w)"
        r"|(?<![^\W\d_])[^\W\d_]\s?['′’]+|∂|\\partial|\\d?dot\b|(?<!\w)(?:diff|Diff|derivative)\s*\(|(?<!\w)D\["
        r"|(?<!\w)derivative(?!\w)",
    ),
    _subject(
        "an integral", r"∫|∮|\\(?:i{0,3}int|oint)(?![A-Za-z])|(?<!\w)(?:[Ii]ntegrate|[Ii]ntegral|int)(?:\s*[(\[]|\s+of)"
    ),
    _subject("a limit", r"\\lim(?![A-Za-z])|(?<!\w)(?:lim|[Ll]imit)(?![^\W_])(?=\s*[^\s=+*/^)])"),
    _subject("a sum over an index", r"∑|\\sum(?![A-Za-z])|(?<!\w)[Ss]um\s*[\[(]"),
    _subject("a product over an index", r"∏|\\prod(?![A-Za-z])|(?<!\w)(?:Product|prod)\s*[\[(]"),
    _subject(
        "a matrix",
        r"\\begin\{(?:[pbvBV]?(?:small)?matrix\*?|array)\}|\[\s*\[[^][]*,|\{\s*\{[^{}]*,"
        r"|(?<![\w\\])det\s*\(|\\det(?![A-Za-z])|\[[^][=]*;[^][]*\]",
    ),
    _subject("a vector", r"\\(?:vec|overrightarrow)(?![A-Za-z])"),
    _subject(
        "a system of equations", r"\\begin\{(?:d?cases|rcases)\}|(?<=\s)and(?=\s[^=]*=)", "one equation at a time"
    ),
    _subject("a congruence", r"≡|\\(?:equiv|pmod|bmod|mod)(?![A-Za-z])|(?<!\w)mod(?=\s+[^\s=])"),
    _subject("a set", r"[∈∉∪∩⊂⊆∅]|\\(?:in|notin|cup|cap|subset|subseteq|emptyset|varnothing)(?![A-Za-z])"),
    _subject("a definition", r":="),
    _subject(
        "an inverse function",
        r"(?<![^\W_])[fghFG]\s*\^\s*[{(]?\s*[-−]\s*1\s*[})]?\s*(?:\\left)?\s*\(",
        "write 1/f for a power",
    ),
    _subject(
        "a line over letters, as of a conjugate or a mean",
        r"\\(?:overline|bar|overbar|widebar)(?![A-Za-z])(?!\s*\{\s*[0-9]+\s*\})",
        r"a line over digits repeats them: 0.\overline{3}",
    ),
    _subject(
        "the number of an item",
        r"^\s*(?:\([a-z0-9]{1,2}\)|\(?[ivx]+\)|[0-9]+[.)])\s+(?=[^\s=+*/^.)-])",
        "delete it, or write * after it for a factor",
    ),
    _subject(
        "the number of an equation",
        r"(?:\\q?quad|\s{2,})\s*\([0-9]+[a-z]?(?:\.[0-9]+)?\)\s*$",
        "delete it, or write * before it for a factor",
    ),
    _subject("a unit", r"[€£¥]|(?<=[0-9])\s*(?:[°º]\s?[CF]|℃|℉)(?!\w)", "write numbers alone"),
    _subject(
        "a unit",
        rf"(?<![\w.])(?:[0-9]*[.,])?[0-9]+\s*(?:{_ROMAN}\s*)?(?:{_UNITS})(?![\w(])"
        rf"|(?<=[0-9])(?:\s|~|\\[,; ])*{_ROMAN}\s*[a-zA-ZΩ°/]*[msgNVAWJLKΩ](?:[²³]|\^[0-9])?\s*\}}",
        "write the number by itself, or * before a variable",
    ),
    _subject(
        "words",
        rf"(?<![^\s(])(?<!%\s)(?<!\\%\s)(?i:{_WORDS})(?=\s+[^\s=]|\s*:)|(?<!\S)(?:squared|cubed)(?!\w)",
        "write signs, as in 2x + 3 = 7",
    ),
)
"""In this order."""

_ELEMENT = (
    "A[cglmrstu]|B[aehikr]?|C[adeflmnorsu]?|D[bsy]|E[rsu]|F[emr]?|G[ade]|H[efgos]?|I[nr]?|Kr?|L[airuv]|M[dgnot]|"
    "N[abdeiop]?|O[s]?|P[abdmortu]?|R[abefghnu]|S[bcegimnr]?|T[abehilm]|U|V|W|Xe|Yb?|Z[nr]"
)
_FORMULA = rf"(?:(?:{_ELEMENT})[0-9]*|\((?:(?:{_ELEMENT})[0-9]*)+\)[0-9]*)+"
CHEMISTRY = re.compile(rf"\s*(?:[0-9]+|_|\?)?\s*\*?\s*({_FORMULA})\s*|\s*[_?]\s*")
_ARROWS = re.compile(r"->|→|⟶|⇌|\\(?:long)?rightarrow(?![A-Za-z])|\\to(?![A-Za-z])|=|\+")
_COMPOUND = re.compile(rf"(?=.*(?:[0-9]|[A-Z][a-z]))(?:{_ELEMENT})[0-9]*(?:{_ELEMENT}|\().*")
_LOWERED = re.compile(r"_\{?\s*([0-9]+)\s*\}?")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_CROSS = re.compile(r"(?<![\w.])([0-9]+(?:\.[0-9]+)?)([xXC])(?!10\s*(?:\^|\*\*|[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]))([0-9]+)(?!\w)")
_APOSTROPHES = re.compile(r"(?<![\w.])[0-9]{1,3}(?:['’][0-9]{3})+(?![0-9])")


def check_subject(text: str) -> None:
    """Raises ``ValueError`` for a text that is something else than an equation, by its name."""
    if found := _APOSTROPHES.search(text):
        number = re.sub("['’]", "", found[0])
        raise error_at(text, found.start(), f"'{found[0]}' has marks between its digits; write {number}")
    if _is_chemistry(text):
        raise _refused(text, len(text) - len(text.lstrip()), len(text.rstrip()), SUBJECTS[0])
    for subject in SUBJECTS:
        if found := subject.pattern.search(text):
            raise _refused(text, found.start(), found.end(), subject)
    crosses = list(_CROSS.finditer(text))
    if crosses and len(crosses) == len(re.findall("[xXC]", text)):
        left, letter, right = crosses[0].groups()
        product = f"binomial({left}, {right})" if letter == "C" else f"{left}*{right}"
        readings = f"{product} or {left}*{letter}{right}"
        message = f"'{crosses[0][0]}' can mean {readings}; write the one you mean"
        raise error_at(text, crosses[0].start(), message)


def _refused(text: str, start: int, stop: int, subject: Subject) -> ValueError:
    shown = text[start:stop].strip()
    verb = "are" if subject.name.endswith("words") else "is"
    which = "which are not supported" if verb == "are" else "which is not supported"
    return error_at(text, start, f"'{shown}' {verb} {subject.name}, {which}; {subject.hint}")


def _is_chemistry(text: str) -> bool:
    """Whether a line is a sum of formulas of chemistry on each side: ``2H2 + O2 = 2H2O``."""
    if "+" not in text:  # P1V1 = P2V2
        return False
    plain = _LOWERED.sub(r"\1", text.translate(_SUBSCRIPTS)).strip().strip("$")
    terms = [CHEMISTRY.fullmatch(term) for term in _ARROWS.split(plain)]
    formulas = [term[1] for term in terms if term is not None and term[1]]
    return None not in terms and len(formulas) > 1 and any(_COMPOUND.fullmatch(formula) for formula in formulas)
