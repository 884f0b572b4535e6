"""Typed text is cut into tokens: Unicode, LaTeX and the spellings of programs become the same few kinds.

Every token knows its place in the text. ``tokens`` first leaves out what was copied with the equation, a box around it
or a full stop after it; then one pattern, ``TOKENS``, names the kind of the next token, and the lexer has a method for
each kind.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from dgltree.equations.typed.spelling import (
    CALLED,
    CHARACTERS,
    COMMANDS,
    CONSTANTS,
    FRACTIONS,
    GREEK_COMMANDS,
    MODULES,
    REASONS,
    SHORT_SPELLINGS,
    SUBSCRIPTS,
    SUPERSCRIPTS,
    function_named,
)
from dgltree.read.notation import NUMBER
from dgltree.read.text import CONTROL, error_at
from dgltree.support.arguments import nearest


class Token(NamedTuple):
    """A piece of the text."""

    kind: str
    """number, fraction, name, word (a name that is never split), constant, blank, function, an operator's own
    character, open, close, bar, frac, root (LaTeX's, with braces), over, sub (the base of a logarithm follows)"""
    text: str
    """The spelling that the strict notation has."""
    start: int
    stop: int
    gap: bool
    """Whether there is white space before it."""


# Patterns

MARKS = "".join((*SUPERSCRIPTS, *SUBSCRIPTS, *FRACTIONS, "π"))
LETTER, WORD = rf"(?![{MARKS}])[^\W\d_]", rf"(?![{MARKS}])\w"
_IN_BRACES = r"\{\s*(?:\\(?:mathrm|text|textrm)\{\s*([^\W_]+)\s*\}|\\?([^\W_]+))\s*\}"
_EMPTY = r"(?:\s|~|\?|_|\\_|\{\}|\\(?:q?quad|[ ,;:!])|\\(?:hspace|h?phantom)\*?\{[^{}]*\})*"

LATEX = re.compile(r"\\[A-Za-z(\[_{,]|\$|[\^_]\{")
"""Signs that only LaTeX has."""
TOKENS = re.compile(  # each group is a method of the lexer
    rf"""
      (?P<space> (?:\s|[&$~])+ | \\(?:begin|end)\{{(?:equation|align|aligned|gather|gathered|split|math)\*?\}} )
    | (?P<dots> \.{{2,}} | … )
    | (?P<braced> [0-9]+\{{,\}}[0-9]+ )
    | (?P<thousands> [1-9][0-9]{{0,2}}(?:,[0-9]{{3}}){{2,}}(?![0-9,]) )
    | (?P<repeating> [0-9]*\.[0-9]*(?:\([0-9]+\)|\\overline\s*\{{\s*[0-9]+\s*\}}) )
    | (?P<number> {NUMBER} )
    | (?P<fraction> [{"".join(FRACTIONS)}] )
    | (?P<superscript> [⁺⁻]?(?:[⁰¹²³⁴⁵⁶⁷⁸⁹]+|[{"".join(SUPERSCRIPTS)}]) )
    | (?P<subscript> [{"".join(SUBSCRIPTS)}]+ )
    | (?P<base> (?i:log)(?=_[^_\W]|_\{{|[{"".join(SUBSCRIPTS)}]) )
    | (?P<degree> [°º] | (?:(?<=[0-9])|(?<=[0-9]\s))deg(?:rees?)?(?!\w) )
    | (?P<percent> % ) | (?P<unequal> != ) | (?P<factorial> ! )
    | (?P<module> (?<![\w.])(?:{"|".join(MODULES)})\.(?=[^\W\d_])(?:[eE](?!\w))? ) | (?P<called> [pP][iI]\(\s*\) )
    | (?P<name> {LETTER}(?:{WORD})* )
    | (?P<constant> [π∞] ) | (?P<root> [√∛] )
    | (?P<blank> _+ | \?+ | □ )
    | (?P<placeholder> \\placeholder\s*(?:\[(?P<id>[^][]*)\])?\s*\{{{_EMPTY}\}} )
    | (?P<frame> \\(?:underline|boxed|fbox)\s*\{{{_EMPTY}\}} | \[\s*\]
                | \\(?:text|textrm|mathrm|mbox)\s*\{{\s*(?:\?|_|\\_|□)+\s*\}} )
    | (?P<word> \\(?:operatorname\*?|mathrm|mathit|mathbf|mathsf|mathop|textrm|textit|text)\s*
                \{{\s*(?P<said>{LETTER}(?:{WORD}|\\_)*)\s*\}} )
    | (?P<side> \\m?(?P<way>left|right)\s*(?P<delimiter>\\[lr]?(?:vert|brace|brack)|\\[{{}}]|[][()|.]) )
    | (?P<rule> \\[lr]vert )
    | (?P<command> \\(?:[A-Za-z]+|.) )
    | (?P<power> \*\*|\^ )
    | (?P<equals> ==?=? )
    | (?P<open> [(\[{{] ) | (?P<close> [)\]}}] ) | (?P<bar> \| )
    | (?P<arrow> -> ) | (?P<either> \+/?- ) | (?P<sign> [-+*/,:;] )
    """,
    re.VERBOSE,
)
LATEX_NAME = re.compile(rf"{LETTER}(?:(?!_){WORD})*")
WORD_FUNCTION = re.compile(r"〖([^\W\d_]+)〗")
"""How Word writes the name of a function."""
SUBSCRIPT = re.compile(rf"_(?:{_IN_BRACES}|([^\W_]+))")
NAMED = re.compile(rf"_(?:([0-9]+)|\{{\s*([0-9]+)\s*\}})|([{''.join(SUBSCRIPTS)}]+)")
"""The suffix that gives a blank a name."""
SUBSCRIPT_DIGITS = re.compile(f"[{''.join(SUBSCRIPTS)}]+")
TORN = re.compile(rf"\s*([0-9]{{2,}}|{LETTER}(?:{LETTER})+)")
"""Text that ``^`` and ``_`` would split in LaTeX, if they take one character."""
COEFFICIENT = re.compile("[0-9]+/[0-9]+")
"""A factor by itself if a space follows it: ``1/2 x``."""
SCIENTIFIC = re.compile(r"(?<=[0-9])(\s*)[xX](?=\s*10\s*(?:\^|\*\*|[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]))")
"""The x of 3.0x10^8."""
INDEXED_ROOT = re.compile(r"\[[^][]*\]\s*\{")
"""An index of a root, and its argument in braces."""
GROUPED = re.compile("[0-9]+(_[0-9]+)")
"""A number as Python groups it."""
UNNAMED = re.compile(rf"[_?□]+(?!_){WORD}(?:{WORD})*")
"""A blank with a name that is not a number."""
ARGUMENT = re.compile(rf"\s*(?:[(\[^|²³⁻]|\\left)|\s+(?:\\|[√π]|{WORD})")
"""How the argument of a function begins."""
MATHEMATICA = re.compile(r"(?<!\w)(?:[A-Z][A-Za-z]+\[|Pi(?!\w))|(?<!\w)I\s*[* ]\s*pi(?!\w)")
"""Spellings that only Mathematica, or SymPy, uses."""
ESCAPED_BLANK = re.compile(r"(?:\\_)+([0-9]*)")
EULER_POWER = re.compile(r"\s*(?:\^|\*\*)\s*(\{[^{}]*\}|\([^()]*\)|[^\W\d_]\w*|-\s*\w+)")
"""A capital E that is raised, to what is not a whole number."""
EULER_ELSEWHERE = re.compile(r"(?<!\w)E(?!\w)(?!\s*(?:\^|\*\*))|(?<!\w)E\s*(?:\^|\*\*)\s*[0-9]")
"""A capital E that is a variable."""

_LOWERED = re.compile(r"_\s*\{?\s*[^\W\d_]+\s*\}?")
"""A subscript of letters."""

# The place of the equation in what was copied

END = re.compile(r"(?<![.\\])[.,;]?(?:\s|\\\\|\$|\\[)\]]|\\end\{[a-z]+\*?\})*\Z")
"""Signs that a sentence or LaTeX puts after an equation."""
LONGEST_END = 80
WIKIPEDIA = re.compile(r"\{\\displaystyle(?![A-Za-z])")
"""Wikipedia copies an equation twice: as broken text, and after it in LaTeX."""
BOX = re.compile(r"(?:\s|\$|\\[(\[])*\\f?boxe?d?\s*(?=\{)")
LEADING = re.compile(r"\s*=(?=\s*[^\s=])")
BRACE = re.compile(r"[{}]")


def formula(text: str) -> tuple[int, int]:
    """The place where the equation in ``text`` begins, and the one after its end."""
    start = 0
    stop = _end(text)
    leading = LEADING.match(text)  # a formula of a table begins with its sign: =SQRT(2) = _
    if leading and "=" in text[leading.end() :]:
        start = leading.end()
    found = WIKIPEDIA.search(text)
    if found and _closing(text, found.start()) == stop - 1:
        return found.end(), _end(text[: stop - 1])
    found = BOX.match(text)
    if found and "=" in text and _closing(text, found.end()) == stop - 1:
        return found.end() + 1, _end(text[: stop - 1])
    return start, stop


def _end(text: str) -> int:
    """The place after the equation, without the signs that a sentence or LaTeX puts there."""
    found = END.search(text, max(0, len(text.rstrip()) - LONGEST_END))
    return found.start() if found else len(text)


def _closing(text: str, start: int) -> int:
    """Where the brace that opens at ``start`` is closed; -1 if it is not."""
    depth = 0
    for brace in BRACE.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.start()
    return -1


# The lexer


def tokens(text: str) -> list[Token]:
    """The tokens of ``text``. Raises ``ValueError`` with line, column and what would be right."""
    return list(_Lexer(text).run())


class _Lexer:
    def __init__(self, text: str) -> None:
        self.source = text
        # one character each: the places stay
        self.text = SCIENTIFIC.sub(r"\1·", WORD_FUNCTION.sub(r"  \1", text)).translate(CHARACTERS)
        self.latex = LATEX.search(text) is not None
        self.mathematica = MATHEMATICA.search(text) is not None
        self.ids: dict[str, str] = {}
        """The names of blanks that have other ones in the text."""
        self.at = 0
        self.gap = False

    def run(self) -> Iterator[Token]:
        self.at, stop = formula(self.text)
        while self.at < stop:
            match = TOKENS.match(self.text, self.at, stop)
            if match is None:
                raise self.unread(self.at, self.text[self.at])
            kind = match.lastgroup or ""
            if kind == "space":
                if "~" in match[0] and not self.latex:
                    raise self.unread(self.at + match[0].index("~"), "~")
                self.at = match.end()
                self.gap = True
            else:
                for token in getattr(self, f"_{kind}", self.plain)(match):
                    yield token
                    self.at = max(self.at, token.stop)
                    self.gap = False

    def error(self, start: int, message: str) -> ValueError:
        return error_at(self.source, start, message)

    def unread(self, start: int, what: str) -> ValueError:
        shown = what if CONTROL.search(what) else self.source[start : start + len(what)]
        reason = REASONS.get(what, "is not read; an equation is made of numbers, names, functions and + - * / ^")
        return self.error(start, f"'{shown}' {reason}")

    def token(self, kind: str, text: str, stop: int) -> Token:
        return Token(kind, text, self.at, stop, self.gap)

    def _dots(self, match: re.Match[str]) -> Iterator[Token]:
        raise self.unread(self.at, "…" if match[0] == "…" else "...")

    def _number(self, match: re.Match[str]) -> Iterator[Token]:
        yield self.token("number", match[0], match.end())
        if grouped := GROUPED.match(self.text, match.start()):
            number = grouped[0].replace("_", "")
            shown = f"{match[0]}*{grouped[1]}"
            message = f"'{grouped[0]}' can mean {number} or {shown}; write the one you mean"
            raise self.error(match.start(), message)

    def _thousands(self, match: re.Match[str]) -> Iterator[Token]:
        yield self.token("number", match[0].replace(",", ""), match.end())  # 1,000,000

    def _repeating(self, match: re.Match[str]) -> Iterator[Token]:
        """``0.1(6)`` and ``0.1\\overline{6}`` are 1/6."""
        whole, _, rest = match[0].partition(".")
        [*fixed, repeated] = re.findall("[0-9]+", rest)
        places = len("".join(fixed))
        period = Fraction(int(repeated), 10**places * (10 ** len(repeated) - 1))
        value = Fraction(f"{whole or 0}.{''.join(fixed) or 0}") + period
        yield self.token("number" if value.denominator == 1 else "fraction", str(value), match.end())

    def _either(self, match: re.Match[str]) -> Iterator[Token]:
        """``+-2`` is no minus; ``x^2+-5`` can be one."""
        if self.gap or not self.at or match[0] == "+/-" or self.text[self.at - 1] in "=([{,":
            raise self.unread(self.at, match[0])
        yield self.token("+", "+", self.at + 1)
        yield Token("-", "-", self.at, match.end(), False)

    def _fraction(self, match: re.Match[str]) -> Iterator[Token]:
        yield self.token("fraction", FRACTIONS[match[0]], match.end())

    def _superscript(self, match: re.Match[str]) -> Iterator[Token]:
        start, stop = match.span()
        yield Token("^", "^", start, start, self.gap)
        yield Token("open", "{", start, start, False)
        for place, character in enumerate(match[0], start):
            plain = SUPERSCRIPTS[character]
            if plain.isdigit():
                digits = "".join(SUPERSCRIPTS[c] for c in self.text[place:stop])
                yield Token("number", digits, place, stop, False)
                break
            yield Token(plain if plain in "+-" else "name", plain, place, place + 1, False)
        yield Token("close", "}", stop, stop, False)

    def _subscript(self, match: re.Match[str]) -> Iterator[Token]:
        raise self.error(self.at, f"'{match[0]}' does not belong to a name; write a variable as x_1")

    def _base(self, match: re.Match[str]) -> Iterator[Token]:
        yield self.token("function", "log", match.end())
        yield from self.base()

    def base(self) -> Iterator[Token]:
        """The base of a logarithm."""
        if self.text[self.at : self.at + 1] == "_":
            yield Token("sub", "_", self.at, self.at + 1, False)
            self.one_only("_")
        elif found := SUBSCRIPT_DIGITS.match(self.text, self.at):
            yield Token("sub", "_", self.at, self.at, False)
            yield Token("number", lift_subscripts(found[0]), self.at, found.end(), False)

    def one_only(self, mark: str) -> None:
        """Refuse what ``^`` and ``_`` would tear apart: in LaTeX they take one character."""
        found = TORN.match(self.text, self.at)
        if self.latex and found:
            raise self.torn(mark, found[1], self.at - 1)

    def torn(self, mark: str, said: str, start: int) -> ValueError:
        verb = "raises" if mark == "^" else "lowers"
        return self.error(start, f"in LaTeX '{mark}{said}' {verb} the '{said[0]}' alone; write {mark}{{{said}}}")

    def _name(self, match: re.Match[str]) -> Iterator[Token]:
        found = LATEX_NAME.match(self.text, self.at) if self.latex else match
        assert found is not None  # what matched with underscores matches without
        yield from self.named(found[0], found.end(), "name")

    def _constant(self, match: re.Match[str]) -> Iterator[Token]:
        yield self.token("constant", CONSTANTS[match[0]], match.end())

    def _root(self, match: re.Match[str]) -> Iterator[Token]:
        yield self.token("function", "sqrt" if match[0] == "√" else "cbrt", match.end())

    def _word(self, match: re.Match[str]) -> Iterator[Token]:
        yield from self.named(match["said"].replace("\\_", "_"), match.end(), "word")

    def named(self, name: str, stop: int, kind: str) -> Iterator[Token]:
        """The token of a name, with what is below it."""
        if name == "sqrt" and INDEXED_ROOT.match(self.text, stop):
            yield self.token("root", "sqrt", stop)  # sqrt[3]{8} without its backslash
        elif name in ("Re", "Im") and self.text[stop : stop + 1] == "(":
            part = {"Re": "real", "Im": "imaginary"}[name]
            message = f"'{name}(...)' can mean the {part} part (not supported) or a product; write {name}*(...)"
            raise self.error(self.at, message)
        elif function := function_named(name) or self.called(name, stop):
            yield self.token("function", function, stop)
            if function == "log":
                yield from self.base()
        elif name == "E" and self.text[stop:].lstrip()[:1] in ("^", "*") and self.is_euler(stop):
            yield self.token("constant", "e", stop)
        elif name in CONSTANTS and not (self.latex and SUBSCRIPT.match(self.text, stop)):
            yield self.token("constant", CONSTANTS[name], stop)
        else:
            yield self.variable(name, stop, kind)

    def called(self, name: str, stop: int) -> str | None:
        """The function that a name spells because of what follows it."""
        if name in SHORT_SPELLINGS:
            ordinal = name == "th" and self.text[: self.at].endswith(tuple("0123456789"))
            return SHORT_SPELLINGS[name] if ARGUMENT.match(self.text, stop) and not ordinal else None
        count = arguments(self.text, stop) if (name, 1) in CALLED or (name, 2) in CALLED else 0
        return CALLED.get((name, count))

    def variable(self, name: str, stop: int, kind: str) -> Token:
        if below := SUBSCRIPT_DIGITS.match(self.text, stop):
            name = f"{name}_{lift_subscripts(below[0])}"
            stop = below.end()
        elif self.latex and (below := SUBSCRIPT.match(self.text, stop)):
            inside = below[1] or below[2]
            bare = below[3] or ""
            if len(bare) > 1 and not (bare[0].isdigit() and bare[1].isalpha()):
                raise self.torn("_", bare, stop)
            name = f"{name}_{inside or bare[0]}"
            stop = below.end() if inside else stop + 2
        elif name.endswith("_") or self.text[stop : stop + 1] == "_":
            shown = name.rstrip("_")
            hint = f"write {shown}*_ for a product with the blank or {shown}_1 for a variable"
            raise self.error(self.at, f"'{shown}_' ends in '_'; {hint}")
        return self.token(kind, name, stop)

    def is_euler(self, stop: int) -> bool:
        """Whether a capital E that is raised is the number e: no whole number follows."""
        raised = EULER_POWER.match(self.text, stop)
        if raised is None or self.mathematica:
            return raised is not None
        if EULER_ELSEWHERE.search(self.text):
            return False
        shown = f"E^{raised[1]}"
        raise self.error(
            self.at, f"'{shown}' can mean e^{raised[1]} or a power of a variable E; write the one you mean"
        )

    def _module(self, match: re.Match[str]) -> Iterator[Token]:
        """``np.sin`` is sin, and ``math.e`` is e."""
        if match[0][-1] in "eE":
            yield self.token("constant", "e", match.end())
        else:
            self.at = match.end()

    def _called(self, match: re.Match[str]) -> Iterator[Token]:
        yield self.token("constant", "pi", match.end())

    def _braced(self, match: re.Match[str]) -> Iterator[Token]:
        """``2{,}5``, as LaTeX sets a comma in a number."""
        left, right = match[0].split("{,}")
        if len(right) == 3 and left != "0":
            raise self.error(self.at, f"'{match[0]}' can mean {left}.{right} or {left}{right}; write the one you mean")
        yield self.token("number", f"{left}.{right}", match.end())

    def _unequal(self, match: re.Match[str]) -> Iterator[Token]:
        if self.gap:
            raise self.unread(self.at, match[0])
        raise self.error(self.at, "'!=' can mean a factorial and '=', or an inequality; write n! = 6 for a factorial")

    def _factorial(self, match: re.Match[str]) -> Iterator[Token]:
        yield self.token("!", "!", match.end())

    def _arrow(self, match: re.Match[str]) -> Iterator[Token]:
        raise self.unread(self.at, match[0])

    def _placeholder(self, match: re.Match[str]) -> Iterator[Token]:
        """A blank of MathLive; the same one has the same id."""
        known = match["id"] or ""
        number = known if known.isdigit() else self.ids.setdefault(known, str(len(self.ids) + 1))
        yield self.token("blank", f"_{number}" if known else "_", match.end())

    def _blank(self, match: re.Match[str]) -> Iterator[Token]:
        lowered = self.latex and not self.gap and self.text[self.at - 1 : self.at] in ("}", "|")
        if lowered and (found := _LOWERED.match(self.text, match.start())):
            raise self.error(self.at, f"the subscript '{found[0]}' does not belong to a name; write a variable as x_1")
        if after := NAMED.match(self.text, match.end() - (match[0] == "_")):
            yield self.named_blank(after)
        elif found := UNNAMED.match(self.text, match.start()):
            rest = found[0].lstrip("_?□")
            raise self.error(match.start(), f"'{found[0]}' can mean _*{rest} or a name; write _*{rest}")
        else:
            yield self.token("blank", "_", match.end())

    def named_blank(self, number: re.Match[str]) -> Token:
        return self.token("blank", f"_{number[1] or number[2] or lift_subscripts(number[3])}", number.end())

    def _frame(self, match: re.Match[str]) -> Iterator[Token]:
        yield self.token("blank", "_", match.end())

    def _side(self, match: re.Match[str]) -> Iterator[Token]:
        left = match["way"] == "left"
        name = match["delimiter"].lstrip("\\")
        text = {"vert": "|", "brace": "{}"[not left], "brack": "[]"[not left]}.get(name.lstrip("lr"), name)
        if text not in ("([{|" if left else ")]}|"):
            raise self.error(self.at, f"'{match[0]}' is a bracket without a match")
        yield self.token("open" if left else "close", text, match.end())

    def _rule(self, match: re.Match[str]) -> Iterator[Token]:
        yield self.token("open" if match[0] == "\\lvert" else "close", "|", match.end())

    def _command(self, match: re.Match[str]) -> Iterator[Token]:
        name = match[0][1:]
        stop = match.end()
        meaning = COMMANDS.get(name)
        if match[0] in REASONS:
            raise self.unread(self.at, match[0])
        if meaning == "space":
            self.at = stop
            self.gap = True
        elif meaning == "blank":
            yield self.box(stop)
        elif meaning in ("*", "/", ":"):
            yield Token(meaning, meaning, self.at, stop, True)  # who writes \cdot sees it as wide
        elif meaning:
            kind = {"{": "open", "[": "open", "}": "close", "]": "close", "|": "bar"}.get(meaning, meaning)
            yield self.token(kind, "sqrt" if kind in ("root", "function") else meaning, stop)
        elif name in ("exponentialE", "imaginaryI"):
            yield self.token(*(("constant", "e") if name == "exponentialE" else ("name", "i")), stop)
        elif name == "infty":
            yield self.token("constant", "oo", stop)
        elif name in GREEK_COMMANDS or function_named(name):
            yield from self.named(name, stop, "word")
        else:
            known = {*COMMANDS, *GREEK_COMMANDS, "sin", "cos", "tan", "ln", "log", "operatorname"}
            hint = nearest(name, {word for word in known if len(word) > 1})
            raise self.error(self.at, f"unknown command '{match[0]}' ({hint})")

    def box(self, stop: int) -> Token:
        """The blank of a command, which ends at ``stop``."""
        escaped = ESCAPED_BLANK.match(self.text, self.at)
        if escaped and escaped[1]:
            return self.token("blank", f"_{escaped[1]}", escaped.end())
        stop = escaped.end() if escaped else stop
        number = NAMED.match(self.text, stop)
        return self.named_blank(number) if number else self.token("blank", "_", stop)

    def plain(self, match: re.Match[str]) -> Iterator[Token]:
        """Operators and brackets."""
        kinds = {"power": "^", "equals": "=", "sign": match[0]}
        kind = kinds.get(match.lastgroup or "", match.lastgroup or "")
        yield self.token(kind, match[0] if kind in ("open", "close", "bar") else kind, match.end())
        if kind == "^":
            self.one_only("^")


def arguments(text: str, start: int) -> int:
    """How many arguments are in the bracket that opens at ``start``; 0 if none opens there."""
    if text[start : start + 1] not in ("(", "["):
        return 0
    depth = 0
    count = 1
    for character in text[start:]:
        depth += (character in "([{") - (character in ")]}")
        count += depth == 1 and character in ",;"
        if not depth:
            return count
    return 0


def lift_subscripts(digits: str) -> str:
    """Return subscript digits as plain ones."""
    return "".join(SUBSCRIPTS[digit] for digit in digits)
