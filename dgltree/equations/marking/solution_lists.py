"""Lists of solutions as pupils write them: ``2, 3``, ``x = 2 or x = 3``, ``±2``, ``L = {2; -2}``, ``no solution``."""

import enum
import re
from collections.abc import Collection, Iterator
from unicodedata import normalize

from dgltree.support.refusal import Refusal


class Claim(enum.Enum):
    """An answer that names no number."""

    NONE = "none"
    ALL = "all"


NONE, ALL = Claim.NONE, Claim.ALL
_NONE = re.compile(
    r"(?:there (?:is|are) |(?:(?:the|this) equation |it |x )?has )?no (?:real )?(?:solutions?|answers?|roots?|numbers?)"
    r"|none|dne|does not exist|impossible|undefined|not possible|never|n/a|∅|\\emptyset|\\varnothing|\\?\{\s*\\?\}"
    r"|(?:es gibt |(?:(?:die|diese) gleichung |sie |x )?hat )?keine (?:reellen? )?(?:lösung(?:en)?|loesung(?:en)?)"
    r"|keine|(?:nicht|un)\s?lösbar|leere menge"
    r"|(?:il n'y a |(?:(?:l'|cette )équation |elle )?n'a )?(?:pas de|aucune) solutions?(?: réelles?| reelles?)?"
    r"|aucune|ensemble vide|n'existe pas"
    r"|(?:(?:(?:la|esta) ecuación |x )?no (?:tiene|hay|existe)(?: ninguna)?|sin) soluci(?:ón|on|ones)(?: real(?:es)?)?"
    r"|no existe|ninguna(?: soluci[oó]n)?|imposible|incompatible|conjunto vac[ií]o",
    re.IGNORECASE,
)
_ALL = re.compile(
    r"(?:all|every|any) (?:real )?(?:numbers?|reals?|values?|x)|infinitely many(?: solutions)?|always"
    r"|(?:x ?(?:∈|\\in|in) ?)?(?:ℝ|(?-i:R)|\\mathbb\{?R\}?)"
    r"|(?:alle|jede) (?:reellen? )?(?:zahl(?:en)?|x)|(?:jedes|alle) (?:reelle )?x|unendlich viele(?: lösungen)?|immer"
    r"|(?:tous|tout) (?:les )?(?:nombres? )?r[ée]els?|une infinité de solutions|toujours"
    r"|todos los (?:números )?reales|(?:cualquier|todo) (?:número(?: real)?|real|x)|infinitas soluciones|siempre",
    re.IGNORECASE,
)
_BUT = re.compile(
    r"\\setminus(?![A-Za-z])|[\\∖−-](?=\s*\\?\{)|\b(?:except(?: for)?|other than|but(?: not)?|without)\b", re.IGNORECASE
)
_UNEQUAL = re.compile(r"\s*([^\W\d]\w*)\s*(?:≠|!=|<>|\\neq?(?![A-Za-z]))")
_WORDS = r"\s(?:or|and|oder|und|∨|∧)\s|\\(?:lor|vee|land|wedge|text\{\s*(?:or|and)\s*\})"
_CONJUNCTIONS = {"ou": "or", "et": "and", "o": "or", "y": "and", "v": "or"}
"""French, Spanish, and the sign of logic as people type it."""
_FOREIGN = re.compile(r"(?<=[\w)}°%])\s(?:ou|et|o|y|v|V)\s(?=\s*[\w({√+\\−±-])")
_BETWEEN = re.compile(rf"(?<!\\);|(?<!\\),|{_WORDS}")
_LOOSE = re.compile(rf"(?<!\\),(?=\s)|{_WORDS}")
_TIGHT = re.compile(r"[0-9],[0-9]")
_SEMICOLON = re.compile(r"(?<!\\);")
_PAIR = re.compile(r"\s*[(\[][^()\[\]]*[,;][^()\[\]]*[)\]]\s*")
_DECIMAL = re.compile(r"\s*[-−]?\s*[0-9]+,[0-9]+\s*")
_THOUSANDS = re.compile(r"\s*[-−]?\s*[1-9][0-9]{0,2}(?:,[0-9]{3})+\s*")
_BRACES = re.compile(r"\s*\\?\{(.*?)\\?\}\s*", re.DOTALL)
_SET = re.compile(
    r"\s*(?:(?:I?L|S|M|𝕃|\\mathbb\{?L\}?)\s*[=:]|(?i:(?:the )?solution set(?: is)?)\s*[=:]?"
    r"|([^\W\d]\w*)\s*(?:∈|\\in(?![A-Za-z])|in(?=\s*\\?\{)))"
    r"\s*(?=\\?\{|∅|\\emptyset|\\varnothing|ℝ|\\mathbb\{?R|R\s*$)"
)
"""The name of a set of solutions, or the unknown that is in one."""
_NAMED_BEHIND = re.compile(r"(?<=\})\s*=\s*(?:I?L|S|M|𝕃|\\mathbb\{?L\}?)\s*$")
_UNION = re.compile(r"\\?\}\s*(?:∪|\\cup(?![A-Za-z]))\s*\\?\{")
_MULTIPLICITY = re.compile(
    r"\s*\(\s*(?:(?:a )?(?:double|twofold|repeated)(?: (?:root|solution|zero))?|(?:with )?multiplicity \d|twice)\s*\)",
    re.IGNORECASE,
)
_BRACES_OF_LATEX = re.compile(r"\\(?:left|right)\s*(?=\\[{}])")
_COUNTER = re.compile(
    r"\s*(?:[,;|:(]|\\mid(?![A-Za-z]))?\s*(?:for (?:all |any )?)?([knm])\s*"
    r"(?:(?:∈|\\in(?![A-Za-z]))\s*(?:ℤ|\\mathbb\s*\{?Z\}?|Z)|(?:is |an? )*(?:integers?|whole(?: numbers?)?))"
    r"\s*\)?(?=\s*\\?\}?\s*$)"
)
"""A remark that a letter of a periodic answer is any whole number."""
_GLUED_COUNTER = re.compile(r"(?<![\w\\])([knm])([0-9]+)(?=\s*(?:\\pi|π|pi)(?![A-Za-z]))")
"""k2π is k*2π."""
_BOTH = re.compile(r"±|\\pm(?![A-Za-z])|\+/-|\+-")
_NAME = re.compile(r"\s*([^\W\d]\w*?)(?:_?\{?[0-9₀-₉]+\}?)?\s*=(?!=)")


def with_english_words(text: str, letters: Collection[str]) -> str:
    """``2 or 3`` of ``2 ou 3``, ``2 o 3`` and ``x = 2 v x = 3``; a word that is a variable stays.

    Args:
        text: an answer that lists solutions.
        letters: the variables of its question.
    """

    def plain(found: re.Match[str]) -> str:
        word = found[0].strip()
        return found[0] if word in letters else found[0].replace(word, _CONJUNCTIONS[word.lower()])

    return _FOREIGN.sub(plain, text)


def parse_claim(text: str) -> Claim | None:
    """The claim of an answer in words."""
    said = " ".join(normalize("NFC", text).replace("’", "'").strip().rstrip(".!").split())
    if _NONE.fullmatch(said):
        return NONE
    return ALL if _ALL.fullmatch(said) else None


def split_set(text: str, unknown: str, names: Collection[str]) -> str:
    """``{2; 3}`` of ``L = {2; 3}`` and ``x ∈ {2; 3}``, and ``kπ`` of ``kπ, k ∈ ℤ``.

    Raises ``ValueError`` for a k that is a letter of the equation.
    """
    text = _MULTIPLICITY.sub("", _BRACES_OF_LATEX.sub("", text)).strip().removesuffix(".")
    text = _UNION.sub(";" if ";" in text else ",", _NAMED_BEHIND.sub("", text))
    text = _GLUED_COUNTER.sub(lambda glued: glued[0] if glued[1] in names else f"{glued[1]}*{glued[2]}", text)
    counter = _COUNTER.search(text)
    if counter and counter[1] in (unknown, *names):
        raise Refusal(f"{counter[1]} is a letter of the question; write another letter for whole numbers, as in 2*n*pi")
    if counter:
        text = text[: counter.start()] + text[counter.end() :]
    found = _SET.match(text)
    return text[found.end() :] if found and found[1] in (None, unknown) else text


def exceptions(text: str, unknown: str) -> list[str] | None:
    """``["0"]`` of ``ℝ \\ {0}``, ``all numbers except 0`` and ``x ≠ 0``; None of an answer without exceptions."""
    if (but := _BUT.search(text)) and parse_claim(text[: but.start()]) is ALL:
        behind = text[but.end() :]
        ways = listings(behind, unknown)
        return ways[0] if _LOOSE.search(behind) or _BOTH.search(behind) else ways[-1]
    parts = [part for part in _BETWEEN.split(text) if part.strip() and parse_claim(part) is not ALL]
    found = [_UNEQUAL.match(part) for part in parts]
    if not found or found[0] is None or any(one is not None and one[1] != unknown for one in found):
        return None
    return [each for part, one in zip(parts, found, strict=True) for each in _both(part[one.end() :] if one else part)]


def inside(text: str) -> str:
    """``2,5`` of ``{2,5}``."""
    found = _BRACES.fullmatch(text)
    return found[1] if found else text


def bare(text: str, unknown: str | None, names: Collection[str]) -> str:
    """``15`` of ``=15``, and of ``x = 15`` if x is asked for, or is not a name of the equation; of ``15 = x``, too.

    Raises ``ValueError`` for a chain, ``x = 30/2 = 15``.
    """
    text = re.sub(r"^\s*=(?!=)", "", text)
    found = _NAME.match(text)
    if found and _is_asked(found[1], unknown, names):
        if text.count("=") == 1:
            return text[found.end() :]
        if (chain := [part.strip() for part in text.split("=")])[-1] and all(
            _base(part) == found[1] for part in chain[:-1]
        ):
            return chain[-1]  # x1 = x2 = 1
        if not _BETWEEN.search(text) and not _SEMICOLON.search(text):
            last = text.rpartition("=")[2].strip()
            raise Refusal(f"'{text.strip()}' has several '='; write the value alone: {found[1]} = {last}")
    value, sign, name = text.rpartition("=")
    return value if sign and "=" not in value and unknown is not None and name.strip() == unknown else text


def _base(name: str) -> str | None:
    """``x`` of ``x_1``."""
    found = _NAME.fullmatch(f"{name}=")
    return found[1] if found else None


def _is_asked(name: str, unknown: str | None, names: Collection[str]) -> bool:
    return name in (unknown, *swapped(unknown, names)) if unknown is not None else name not in names


def swapped(unknown: str, names: Collection[str]) -> list[str]:
    """X if x is asked for, and X is no letter of the question."""
    return [unknown.swapcase()] if unknown.swapcase() not in names else []


def is_decimal(text: str) -> bool:
    """Whether ``2,3`` may be one decimal."""
    return _DECIMAL.fullmatch(text) is not None


def thousands(text: str) -> str | None:
    """``1000`` of ``1,000``; None of what has no such commas."""
    return text.replace(",", "") if _THOUSANDS.fullmatch(text) else None


def listings(text: str, unknown: str) -> list[list[str]]:
    """The solutions of a list, one by one, both of ``±2``, in each way that it can be read.

    Next to semicolons, commas are those of decimals; else those between digits may be.

    Raises ``ValueError`` for ``(2, 3)`` and ``[2, 3]``, a pair or an interval.
    """
    if found := _BRACES.fullmatch(text):
        text = found[1].replace("|", ";") if found[1].count("|") == 1 else found[1]
    if _PAIR.fullmatch(text):
        inside = text.strip()[1:-1].strip()
        raise Refusal(f"'{text.strip()}' can mean an interval or a pair; write {inside} for two solutions")
    ways = [_SEMICOLON] if _SEMICOLON.search(text) else [_BETWEEN]
    if ways == [_BETWEEN] and _TIGHT.search(text):
        ways = [_LOOSE, _BETWEEN]
    lists = []
    for between in ways:
        parts = [part for part in between.split(text) if part.strip()] or [text]
        lists.append([one for part in parts for one in _both(bare(part, unknown, ()))])
    return lists


def _both(text: str) -> Iterator[str]:
    if not (found := _BOTH.search(text)):
        yield text
        return
    before = text[: found.start()]
    behind = text[found.end() :]
    for sign in "+-" if before.strip() else ("", "-"):
        yield f"{before} {sign} {behind}" if before.strip() else f"{sign}{behind.strip()}"
