"""Text that is not an equation, or can mean two things, is refused.

The first is named (a derivative, a matrix, a unit); of the second both readings are, so that a person can write one.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from dgltree.equations.typed.items import OPERANDS, Head, Item
from dgltree.equations.typed.spelling import GREEK_COMMANDS, GREEK_LETTERS, SPELLINGS
from dgltree.read.text import error_at
from dgltree.support.arguments import nearest

EQUATION_HINT = "an equation is left = right, of numbers, variables and functions"
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
    hint: str = EQUATION_HINT


def _subject(name: str, pattern: str, hint: str = EQUATION_HINT) -> Subject:
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
"""The first one that is found is named."""

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
    """Raise ``ValueError`` for a text that is something else than an equation, by its name."""
    if found := _APOSTROPHES.search(text):
        number = re.sub("['’]", "", found[0])
        raise error_at(text, found.start(), f"'{found[0]}' has marks between its digits; write {number}")
    if _is_chemistry(text):
        raise _unsupported(text, len(text) - len(text.lstrip()), len(text.rstrip()), SUBJECTS[0])
    for subject in SUBJECTS:
        if found := subject.pattern.search(text):
            raise _unsupported(text, found.start(), found.end(), subject)
    crosses = list(_CROSS.finditer(text))
    if crosses and len(crosses) == len(re.findall("[xXC]", text)):
        left, letter, right = crosses[0].groups()
        product = f"binomial({left}, {right})" if letter == "C" else f"{left}*{right}"
        readings = f"{product} or {left}*{letter}{right}"
        message = f"'{crosses[0][0]}' can mean {readings}; write the one you mean"
        raise error_at(text, crosses[0].start(), message)


def _unsupported(text: str, start: int, stop: int, subject: Subject) -> ValueError:
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


class Refusals:
    """Makes the errors about places of ``text`` that can mean two things."""

    def __init__(self, text: str) -> None:
        self.text = text

    def _said(self, start: int, stop: int) -> str:
        return self.text[start:stop].strip()

    def _either(self, start: int, stop: int, one: str, other: str) -> ValueError:
        shown = self._said(start, stop)
        return error_at(self.text, start, f"'{shown}' can mean {one} or {other}; write the one you mean")

    def number(self, last: Item, item: Item, behind: Sequence[Item]) -> ValueError:
        """Refuse a number after another value."""
        before = self._said(last.start, last.stop)
        number = item.text
        stop = item.stop
        if last.kind == "number":
            if [other.kind for other in behind] == ["/", "number"]:
                number = f"{number}/{behind[1].text}"
                stop = behind[1].stop
            if "/" in number:
                return self._either(last.start, stop, f"{before} + {number}", f"{before}*{number}")
            return self._either(last.start, stop, f"{before}*{number}", before + number)
        if last.kind == "blank":
            return error_at(self.text, item.start, f"a number right after the blank; write {before}*{number}")
        return self._either(last.start, stop, f"{before}*{number}", f"{before}^{number}")

    def blanks(self, last: Item) -> ValueError:
        """Refuse two blanks with nothing between them."""
        return error_at(
            self.text, last.start, "two blanks side by side; write _*_ for a product, or _ for a single blank"
        )

    def argument(self, head: Head, start: int, stop: int, operator: str, more: int, end: int) -> ValueError:
        """Refuse a function's argument without brackets, from ``start`` to ``stop``, and what may be part of it."""
        inner = self._said(start, stop)
        factor = self._said(more, end)
        one = f"{head.name}({inner}){operator}{factor}"
        other = f"{head.name}({inner}{operator}{factor})"
        return self._either(head.start, end, one, other)

    def run(self, last: Item, operator: str, following: Item) -> ValueError:
        """Refuse ``ln xy/z``: letters side by side as an argument without brackets, and what may be part of it."""
        said = self._said(last.start, last.stop)
        factor = self._said(following.start, following.stop)
        name, _, inner = said.partition(" ")
        one = f"{name}({inner}){operator}{factor}"
        other = f"{name}({inner}{operator}{factor})"
        return self._either(last.start, following.stop, one, other)

    def root_of_power(self, head: Head, start: int, sign: Item, behind: Sequence[Item]) -> ValueError:
        """Refuse ``√x^2``."""
        last = next((item for item in behind if item.kind in OPERANDS), sign)
        inner = self._said(start, sign.start)
        exponent = self._said(sign.stop, last.stop)
        one = f"{head.name}({inner})^{exponent}"
        other = f"{head.name}({inner}^{exponent})"
        return self._either(head.start, last.stop, one, other)

    def quotient(self, term: int, slash: int, under: int, stop: int, more: int, end: int) -> ValueError:
        """Refuse ``1/2x``: a factor right after a denominator, which goes from ``under`` to ``stop``."""
        above = self._said(term, slash)
        below = self._said(under, stop)
        factor = self._said(more, end)
        return self._either(term, end, f"({above}/{below})*{factor}", f"{above}/({below}*{factor})")

    def power(self, base: Item, start: int, last: Item, item: Item) -> ValueError:
        """Refuse ``e^2x``: a factor right after an exponent, which goes from ``start`` to the end of ``last``."""
        raised = self._said(base.start, base.stop)
        exponent = self._said(start, last.stop)
        factor = self._said(item.start, item.stop)
        one = f"{raised}^({exponent}*{factor})"
        other = f"{raised}^{exponent}*{factor}"
        return self._either(base.start, item.stop, one, other)

    def root(self, base: Item, start: int, last: Item, under: Item) -> ValueError:
        """Refuse ``x^1/2``."""
        raised = self._said(base.start, base.stop)
        exponent = self._said(start, last.stop)
        one = f"{raised}^({exponent}/{under.text})"
        other = f"({raised}^{exponent})/{under.text}"
        return self._either(base.start, under.stop, one, other)

    def application(self, name: Item, group: Item) -> ValueError:
        """Refuse a name that occurs nowhere but before brackets."""
        stem = name.text.split("_")[0].rstrip("0123456789")
        if len(stem) > 1 and stem not in GREEK_COMMANDS and stem not in GREEK_LETTERS:
            hint = nearest(name.text, SPELLINGS)
            product = f"for a product write {name.text}*(...)"
            return error_at(self.text, name.start, f"unknown function '{name.text}' ({hint}); {product}")
        inner = re.sub(r"^(\\left)?\s*[(\[]|(\\right)?\s*[)\]]$", "", self._said(group.start, group.stop)).strip()
        said = self._said(name.start, name.stop)
        return self._either(name.start, group.stop, f"{said}*({inner})", f"the function {said} of {inner}")

    def comma(self, place: int, before: Item | None) -> ValueError:
        """Refuse a comma that parts no arguments."""
        if before is not None and before.kind in ("name", "word"):
            hint = nearest(before.text, SPELLINGS)
            return error_at(self.text, before.start, f"unknown function '{before.text}' ({hint})")
        left = re.search(r"(?<![.0-9])[0-9]+$", self.text[max(0, place - 20) : place])
        right = re.match(r"[0-9]+", self.text[place + 1 : place + 20])
        if left and right:
            start = place - len(left[0])
            stop = place + 1 + len(right[0])
            point = f"{left[0]}.{right[0]}"
            if len(right[0]) == 3:
                return self._either(start, stop, point, left[0] + right[0])
            shown = self.text[start:stop]
            return error_at(self.text, start, f"'{shown}' can mean {point} or two numbers; write {point}")
        return error_at(self.text, place, "unexpected ','; write a comma only between the arguments of a function")
