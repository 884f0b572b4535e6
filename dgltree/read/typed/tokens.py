"""Typed text to tokens: Unicode and LaTeX become the same few kinds, every token knows its place."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from dgltree.arguments import nearest
from dgltree.read.notation import NUMBER
from dgltree.read.text import CONTROL, error_at
from dgltree.read.typed.formula import formula
from dgltree.read.typed.spelling import (
    CHARACTERS,
    COMMANDS,
    CONSTANTS,
    FRACTIONS,
    GREEK_COMMANDS,
    REASONS,
    SUBSCRIPTS,
    SUPERSCRIPTS,
    function_named,
)


class Token(NamedTuple):
    """A piece of the text."""

    kind: str
    """number, fraction, name, word (a name that is never split), constant, blank, function, an operator's own
    character, open, close, bar, frac, root (LaTeX's, with braces), over, sub (the base of a logarithm follows)"""
    text: str
    """As the strict notation has it."""
    start: int
    stop: int
    gap: bool
    """Whether white space stands before it."""


_MARKS = "".join((*SUPERSCRIPTS, *SUBSCRIPTS, *FRACTIONS, "π"))
_LETTER, _WORD = rf"(?![{_MARKS}])[^\W\d_]", rf"(?![{_MARKS}])\w"
_IN_BRACES = r"\{\s*(?:\\(?:mathrm|text|textrm)\{\s*([^\W_]+)\s*\}|\\?([^\W_]+))\s*\}"
_EMPTY = r"(?:\s|~|\?|_|\\_|\{\}|\\(?:q?quad|[ ,;:!])|\\(?:hspace|h?phantom)\*?\{[^{}]*\})*"

LATEX = re.compile(r"\\[A-Za-z(\[_{,]|\$|[\^_]\{")
"""What only LaTeX has."""
TOKENS = re.compile(
    rf"""
      (?P<space> (?:\s|[&$~])+ | \\(?:begin|end)\{{(?:equation|align|aligned|gather|gathered|split|math)\*?\}} )
    | (?P<dots> \.{{2,}} | … )
    | (?P<number> {NUMBER} )
    | (?P<fraction> [{"".join(FRACTIONS)}] )
    | (?P<superscript> [⁺⁻]?(?:[⁰¹²³⁴⁵⁶⁷⁸⁹]+|[{"".join(SUPERSCRIPTS)}]) )
    | (?P<subscript> [{"".join(SUBSCRIPTS)}]+ )
    | (?P<base> (?i:log)(?=_[^_\W]|_\{{|[{"".join(SUBSCRIPTS)}]) )
    | (?P<name> {_LETTER}(?:{_WORD})* )
    | (?P<constant> [π∞] ) | (?P<root> [√∛] )
    | (?P<blank> _+ | \?+ | □ )
    | (?P<frame> \\(?:underline|boxed|fbox|placeholder)\s*\{{{_EMPTY}\}} )
    | (?P<word> \\(?:operatorname\*?|mathrm|mathit|mathbf|mathsf|mathop|textrm|textit|text)\s*
                \{{\s*(?P<said>{_LETTER}(?:{_WORD}|\\_)*)\s*\}} )
    | (?P<side> \\(?:left|right)\s*(?:\\[lr]?(?:vert|brace|brack)|\\[{{}}]|[][()|.]) )
    | (?P<delimiter> \\[lr]vert )
    | (?P<command> \\(?:[A-Za-z]+|.) )
    | (?P<power> \*\*|\^ )
    | (?P<equals> ==?=? )
    | (?P<open> [(\[{{] ) | (?P<close> [)\]}}] ) | (?P<bar> \| )
    | (?P<sign> [-+*/,] )
    """,
    re.VERBOSE,
)
LATEX_NAME = re.compile(rf"{_LETTER}(?:(?!_){_WORD})*")
WORD_FUNCTION = re.compile(r"〖([^\W\d_]+)〗")
"""How Word writes the name of a function."""
SUBSCRIPT = re.compile(rf"_(?:{_IN_BRACES}|([^\W_]+))")
NAMED = re.compile(rf"_(?:([0-9]+)|\{{\s*([0-9]+)\s*\}})|([{''.join(SUBSCRIPTS)}]+)")


def tokens(text: str) -> list[Token]:
    """The tokens of ``text``. Raises ``ValueError`` with line, column and what would be right."""
    return list(_Lexer(text).run())


class _Lexer:
    def __init__(self, text: str) -> None:
        self.source = text
        # one character each: the places stay
        self.text = WORD_FUNCTION.sub(r"  \1", text).translate(CHARACTERS)
        self.latex = LATEX.search(text) is not None
        self.at, self.gap = 0, False
        self.last = Token("start", "", 0, 0, True)

    def run(self) -> Iterator[Token]:
        self.at, stop = formula(self.text)
        while self.at < stop:
            match = TOKENS.match(self.text, self.at, stop)
            if match is None:
                raise self.unread(self.at, self.text[self.at])
            kind = match.lastgroup or ""
            if kind == "space":
                self.at, self.gap = match.end(), True
            else:
                for token in getattr(self, f"_{kind}")(match):
                    yield token
                    self.last = token
                    self.at, self.gap = max(self.at, token.stop), False

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
        after = re.compile(r",[0-9]+|_[0-9]+").match(self.text, match.end())
        if after and after[0][0] == "_" and match[0].isdigit():
            raise self.either(match.start(), after.end(), match[0] + after[0][1:], f"{match[0]}*{after[0]}")

    def either(self, start: int, stop: int, one: str, other: str) -> ValueError:
        return self.error(start, f"'{self.source[start:stop]}' can mean {one} or {other}; write the one you mean")

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
        raise self.error(self.at, f"'{match[0]}' stands below nothing; a variable is written x_1")

    def _base(self, match: re.Match[str]) -> Iterator[Token]:
        yield self.token("function", "log", match.end())
        yield from self.base()

    def base(self) -> Iterator[Token]:
        """What stands below a logarithm."""
        if self.text[self.at : self.at + 1] == "_":
            yield Token("sub", "_", self.at, self.at + 1, False)
            self.one_only("_")
        elif found := re.compile(f"[{''.join(SUBSCRIPTS)}]+").match(self.text, self.at):
            yield Token("sub", "_", self.at, self.at, False)
            yield Token("number", "".join(SUBSCRIPTS[c] for c in found[0]), self.at, found.end(), False)

    def one_only(self, mark: str) -> None:
        """In LaTeX ``^`` and ``_`` take one character: refuse what they would tear apart."""
        found = re.compile(rf"\s*([0-9]{{2,}}|{_LETTER}(?:{_LETTER})+)").match(self.text, self.at)
        if self.latex and found:
            verb = "raises" if mark == "^" else "lowers"
            raise self.error(
                self.at - 1, f"in LaTeX '{mark}{found[1]}' {verb} the '{found[1][0]}' alone; write {mark}{{{found[1]}}}"
            )

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
        """The token of a name, with what stands below it."""
        if function := function_named(name):
            if function == "lg":
                raise self.error(self.at, "'lg' can mean log10 or log2; write the one you mean")
            yield self.token("function", function, stop)
            if function == "log":
                yield from self.base()
        elif name in CONSTANTS and not (self.latex and SUBSCRIPT.match(self.text, stop)):
            yield self.token("constant", CONSTANTS[name], stop)
        else:
            yield self.variable(name, stop, kind)

    def variable(self, name: str, stop: int, kind: str) -> Token:
        if below := re.compile(f"[{''.join(SUBSCRIPTS)}]+").match(self.text, stop):
            name, stop = f"{name}_{''.join(SUBSCRIPTS[c] for c in below[0])}", below.end()
        elif self.latex and (below := SUBSCRIPT.match(self.text, stop)):
            inside, bare = below[1] or below[2], below[3] or ""
            if len(bare) > 1 and not (bare[0].isdigit() and bare[1].isalpha()):
                raise self.error(stop, f"in LaTeX '_{bare}' lowers the '{bare[0]}' alone; write _{{{bare}}}")
            name, stop = f"{name}_{inside or bare[0]}", below.end() if inside else stop + 2
        elif name.endswith("_") or self.text[stop : stop + 1] == "_":
            shown = name.rstrip("_")
            raise self.error(
                self.at,
                f"'{shown}_' ends in '_'; write {shown}*_ for a product with the blank or {shown}_1 for a variable",
            )
        return self.token(kind, name, stop)

    def _blank(self, match: re.Match[str]) -> Iterator[Token]:
        after = NAMED.match(self.text, match.end() - (match[0] == "_"))
        if after:
            number = after[1] or after[2] or "".join(SUBSCRIPTS[c] for c in after[3])
            yield self.token("blank", f"_{number}", after.end())
            return
        yield self.token("blank", "_", match.end())
        following = re.compile(f"{_WORD}").match(self.text, match.end())
        if following:
            found = re.compile(rf"_+(?:{_WORD})*").match(self.text, match.start())
            name = found[0] if found else match[0] + following[0]
            rest = name.lstrip("_")
            raise self.error(match.start(), f"'{name}' can mean _*{rest} or a name; write _*{rest}")

    def _frame(self, match: re.Match[str]) -> Iterator[Token]:
        yield self.token("blank", "_", match.end())

    def _side(self, match: re.Match[str]) -> Iterator[Token]:
        kind = "open" if match[0].startswith("\\left") else "close"
        delimiter = match[0][len("\\left" if kind == "open" else "\\right") :].strip()
        plain = {"vert": "|", "brace": "{}"[kind == "close"], "brack": "[]"[kind == "close"]}
        text = plain.get(delimiter.lstrip("\\").lstrip("lr" if "\\" in delimiter else ""), delimiter[-1])
        if text == ".":
            raise self.error(self.at, f"'{match[0]}' is a bracket without a partner")
        yield self.token(kind, text, match.end())

    def _delimiter(self, match: re.Match[str]) -> Iterator[Token]:
        yield self.token("open" if match[0] == "\\lvert" else "close", "|", match.end())

    def _command(self, match: re.Match[str]) -> Iterator[Token]:
        name, stop = match[0][1:], match.end()
        meaning = COMMANDS.get(name)
        if match[0] in REASONS:
            raise self.unread(self.at, match[0])
        if meaning == "space":
            self.at, self.gap = stop, True
        elif meaning == "blank":
            yield from self.box(stop)
        elif meaning in ("{", "["):
            yield self.token("open", meaning, stop)
        elif meaning in ("}", "]"):
            yield self.token("close", meaning, stop)
        elif meaning == "|":
            yield self.token("bar", "|", stop)
        elif meaning in ("*", "/"):
            yield Token(meaning, meaning, self.at, stop, True)  # who writes \cdot sees it as wide
        elif meaning:
            if meaning == "frac" and re.compile(r"\s*\{\s*d\s*\}\s*\{\s*d\s*\w\s*\}").match(self.text, stop):
                end = self.text.index("}", self.text.index("}", stop) + 1) + 1
                raise self.error(self.at, f"'{self.source[self.at : end]}' is a derivative, which is not read")
            yield self.token(meaning, "sqrt" if meaning in ("root", "function") else meaning, stop)
        elif name == "infty":
            yield self.token("constant", "oo", stop)
        elif name in GREEK_COMMANDS or function_named(name):
            yield from self.named(name, stop, "word")
        else:
            known = {*COMMANDS, *GREEK_COMMANDS, "sin", "cos", "tan", "ln", "log", "operatorname"}
            hint = nearest(name, {word for word in known if len(word) > 1})
            raise self.error(self.at, f"unknown command '{match[0]}' ({hint})")

    def box(self, stop: int) -> Iterator[Token]:
        if more := re.compile(r"(?:\\_)+").match(self.text, stop):
            stop = more.end()
        named = NAMED.match(self.text, stop) or (
            re.compile(r"([0-9]+)()()").match(self.text, stop) if self.text[self.at : stop] == "\\_" else None
        )
        if named:
            number = named[1] or named[2] or "".join(SUBSCRIPTS[c] for c in named[3])
            yield self.token("blank", f"_{number}", named.end())
        else:
            yield self.token("blank", "_", stop)

    def _power(self, match: re.Match[str]) -> Iterator[Token]:
        yield self.token("^", "^", match.end())
        self.one_only("^")

    def _equals(self, match: re.Match[str]) -> Iterator[Token]:
        yield self.token("=", "=", match.end())

    def _open(self, match: re.Match[str]) -> Iterator[Token]:
        yield self.token("open", match[0], match.end())

    def _close(self, match: re.Match[str]) -> Iterator[Token]:
        yield self.token("close", match[0], match.end())

    def _bar(self, match: re.Match[str]) -> Iterator[Token]:
        yield self.token("bar", "|", match.end())

    def _sign(self, match: re.Match[str]) -> Iterator[Token]:
        yield self.token(match[0], match[0], match.end())
