"""Spellings that people use: characters, functions, LaTeX's commands. Tables only."""

import unicodedata

from dgltree.read.functions import BY_NAME, INVERSE, RECORDS
from dgltree.read.notation import FUNCTIONS, OPERATORS

INVERSES = {name: inverse for name, inverse in INVERSE.items() if inverse == f"a{name}"}
"""Each function that has an inverse with a name, and that name."""

SHORT_SPELLINGS = {record.short: record.name for record in RECORDS if record.short}
"""Functions that are spelled so where an argument follows; elsewhere they are names."""
CALLED = {
    **{(name, max(record.arities)): record.name for record in RECORDS for name in record.called},
    **{(name, 2): "Pow" for name in ("pow", "power", "POW", "POWER", "Power")},
}
"""Functions that are spelled so where a bracket with so many arguments follows; elsewhere they are names."""
MODULES = ("np", "numpy", "jnp", "math", "cmath", "Math", "sp", "sympy", "torch", "scipy")
"""Prefixes that programs write before a function, with a dot."""

SPELLINGS = {
    **{name: name for name in (*FUNCTIONS, *OPERATORS, "cbrt", "log10", "log2", "lg")},
    **{f"{prefix}{name}": inverse for name, inverse in INVERSES.items() for prefix in ("arc", "ar", "arg")},
    **{f"{prefix}{short}": f"a{name}" for short, name in SHORT_SPELLINGS.items() for prefix in ("ar", "arg")},
    **{spelling: record.name for record in RECORDS for spelling in record.spellings},
    **{f"arc{word}": inverse for name, inverse in INVERSES.items() for word in BY_NAME[name].spellings},
}
"""The functions as they are spelled, each with its name here."""
LOGARITHMS = {"log10": "10", "lg": "10", "log2": "2"}
"""Functions that are ``log`` with a base."""


def function_named(text: str) -> str | None:
    """The function that ``text`` spells, in small letters or as ``Sin`` and ``SIN``; ``None`` for any other text."""
    return SPELLINGS.get(text) or (SPELLINGS.get(text.lower()) if len(text) > 1 and text[0].isupper() else None)


CONSTANTS = {
    "e": "e",
    "π": "pi",
    "pi": "pi",
    "Pi": "pi",
    "PI": "pi",
    "oo": "oo",
    "∞": "oo",
    "infinity": "oo",
    "nan": "nan",
}
"""The constants as they are spelled, each with its name in the strict notation."""

_GREEK_WORDS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon"
)
GREEK = (*_GREEK_WORDS.split(), "phi", "chi", "psi", "omega")
"""Greek letters as LaTeX's commands, small; a capital letter has a capital."""
GREEK_LETTERS = {
    letter: name if letter.islower() else name.capitalize()
    for name in GREEK
    for letter in (
        unicodedata.lookup(f"GREEK {case} LETTER {'LAMDA' if name == 'lambda' else name.upper()}")
        for case in ("SMALL", "CAPITAL")
    )
}
"""Each Greek letter with its name: ``θ`` is theta."""
VARIANTS = ("varphi", "vartheta", "varepsilon", "varrho", "varsigma", "ell", "hbar")
GREEK_COMMANDS = frozenset((*GREEK_LETTERS.values(), *VARIANTS))

_CHARACTERS = {
    "-": "−–—‐‑‒﹣",
    "*": "×·⋅∙•∗⁎✕✖\u2062",
    "/": "∕⁄",
    "|": "∣ǀ",
    "^": "ˆ",
    "e": "ℯ",
    "{": "〖",
    "}": "〗",
    " ": "\u2061\u200b\u200c\u200d\u2060\ufeff\u00ad",
    "□": "☐▢◻⬜▯",
    ":": "÷∶",
}
CHARACTERS = {ord(character): plain for plain, characters in _CHARACTERS.items() for character in characters}
"""Characters that stand for another one, which has their place in the text."""
# mathematical alphabets (what Word makes of letters), and full-width forms
for _code in (*range(0x1D400, 0x1D800), *range(0xFF01, 0xFF5F), 0x210E):
    _plain = unicodedata.normalize("NFKC", chr(_code))
    if len(_plain) == 1:
        CHARACTERS[_code] = _plain

FRACTIONS = {letter: unicodedata.normalize("NFKC", letter).replace("⁄", "/") for letter in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒"}
SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿˣʸⁱᵐᵏ", "0123456789+-nxyimk", strict=True))
SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))

COMMANDS = {
    **dict.fromkeys(["cdot", "times", "ast", "cdotp"], "*"),
    "div": ":",
    "slash": "/",
    **dict.fromkeys(["vert", "mid"], "|"),
    "lbrace": "{",
    "rbrace": "}",
    "{": "{",
    "}": "}",
    "lbrack": "[",
    "rbrack": "]",
    "over": "over",
    "sqrt": "root",
    "surd": "function",
    "choose": "choose",
    **dict.fromkeys(["frac", "dfrac", "tfrac", "cfrac", "nicefrac"], "frac"),
    **dict.fromkeys(["binom", "dbinom", "tbinom"], "binom"),
    "%": "percent",
    **dict.fromkeys(["circ", "degree", "deg"], "degree"),
    **dict.fromkeys(["square", "Box", "_", "blacksquare"], "blank"),
    **dict.fromkeys([" ", ",", ";", ":", "!", ">", "(", ")", "[", "]", "/", "quad", "qquad", "enspace"], "space"),
    **dict.fromkeys(["displaystyle", "textstyle", "limits", "nonumber", "notag", "thinspace", "rm"], "space"),
    **dict.fromkeys(["boxed", "fbox", "underline", "mathstrut"], "space"),
    **dict.fromkeys([size + side for size in ("big", "Big", "bigg", "Bigg") for side in ("", "l", "r", "m")], "space"),
}
"""LaTeX's commands without the backslash, each with what it stands for."""

_EQUATIONS_ONLY = "an equation is left = right"
_SIGNS = "stands for two equations; write one with + or one with -"
_DOTS = "can mean a blank or 'and so on'; write _ for a blank"
_ONE_NAME = "is read around one name only"
REASONS = {
    **dict.fromkeys([f"\\{name}" for name in ("mathrm", "mathit", "mathbf", "operatorname", "text")], _ONE_NAME),
    **dict.fromkeys("≈≅∼~⇒→⇔↔⟹", f"is not read; {_EQUATIONS_ONLY}"),
    **dict.fromkeys([*"≠<>≤≥≪≫", "!="], f"makes an inequality, which is not supported; {_EQUATIONS_ONLY}"),
    "->": f"is not read; {_EQUATIONS_ONLY}",
    **dict.fromkeys(["...", "…"], _DOTS),
    **dict.fromkeys([f"\\{name}" for name in ("dots", "ldots", "cdots", "vdots", "dotsc", "dotsb")], _DOTS),
    **dict.fromkeys(["±", "∓", "\\pm", "\\mp", "+-", "+/-"], _SIGNS),
    "'": "is not read; a derivative is not part of an equation here",
    "′": "is not read; a derivative is not part of an equation here",
    "’": "is not read; a derivative is not part of an equation here",
    "\\prime": "is not read; a derivative is not part of an equation here",
    "\\\\": "begins another line; write one equation at a time",
    **dict.fromkeys(
        [
            f"\\{name}"
            for name in ("neq", "ne", "leq", "le", "geq", "ge", "lt", "gt", "leqslant", "geqslant", "ll", "gg")
        ],
        f"makes an inequality, which is not supported; {_EQUATIONS_ONLY}",
    ),
    **dict.fromkeys(
        [f"\\{name}" for name in ("approx", "sim", "to")],
        f"is not read; {_EQUATIONS_ONLY}",
    ),
    **dict.fromkeys(
        [f"\\{name}" for name in ("Rightarrow", "implies", "iff", "Leftrightarrow", "rightarrow", "cong", "propto")],
        f"is not read; {_EQUATIONS_ONLY}",
    ),
    **dict.fromkeys(
        [f"\\{name}" for name in ("nabla", "max", "min", "sup", "inf")],
        "is not read; an equation is made of numbers, names, functions and + - * / ^",
    ),
    **dict.fromkeys("∇∆", "is not read; an equation is made of numbers, names, functions and + - * / ^"),
}
"""Symbols that have no place in an equation of trees, and the message about each."""
