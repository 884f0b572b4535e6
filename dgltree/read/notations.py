"""The notations that hold one tree a text, by name, and which of them some texts are in."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Literal, NamedTuple

from dgltree.read.bracket import read_sst, read_treebank, read_unlabelled
from dgltree.read.code import read_code
from dgltree.read.graphs import read_node_link
from dgltree.read.infix import read_table_infix
from dgltree.read.json_fields import AST, is_ast, is_estree, read_syntax
from dgltree.read.json_schema import read_json_object
from dgltree.read.json_tree import NODE_LIST, read_json_tree
from dgltree.read.markup import is_xml, read_html, read_xml
from dgltree.read.newick import is_newick, read_newick
from dgltree.read.python import has_program, read_python
from dgltree.read.sexpr import read_sexpr
from dgltree.read.smiles import read_smiles, read_smiles_atoms
from dgltree.read.words import read_sentence
from dgltree.trees.tree import Tree

# ---------------------------------------------------------------------------------------------------------------------
# Notations that are not read, and the marks by which they are known. Others would read them, but not as meant.


_PHRASE = re.compile(r"\(\s*\((?:S|SBAR|SBARQ|SINV|SQ|FRAG|NP|VP|PP|ADJP|ADVP|INTJ|UCP|X|TOP|ROOT)(?:[-=|]\S*)?\s*\(")
_BRACKET = re.compile(r"[()]")


class UnsupportedNotation(NamedTuple):
    """A notation that is refused by name."""

    name: str
    """A name of such texts, and what would be right."""
    mark: Callable[[str], object]
    """Whether a text is in it."""
    around: Callable[[str], object] = lambda text: False
    """Whether a line is another one of its files, such as a header; it counts only next to one with the mark."""


def _several(text: str) -> bool:
    """Whether brackets without a label hold several trees of a treebank."""
    if not _PHRASE.match(text):
        return False
    depth = trees = 0
    for match in _BRACKET.finditer(text):
        depth += 1 if match[0] == "(" else -1
        trees += depth == 1 and match[0] == ")"
    return trees > 1


FOREIGN = (
    UnsupportedNotation(
        "AMR graphs; write each as a tree, an S-expression or JSON, without variables",
        re.compile(r"\s*\(\s*[^\s()]{1,40}\s*/\s*[^\s()]{1,200}[\s)]+:[A-Za-z]|\s+:ARG\d|# ::snt ").match,
        re.compile(r"# ::\w|\s*\(\s*[^\s()]{1,40} / |\s+:[A-Za-z][\w-]*\s").match,
    ),
    UnsupportedNotation(
        "dot-bracket structures of RNA; write each as a tree, for example as an S-expression",
        re.compile(r"(?=[^(]*\()[().\[\]{}<>]*\.[().\[\]{}<>]*(?:\s+\(?\s*-?[\d.]+\)?)?\s*$").match,
        re.compile(r">|[ACGUTN]{4,}\s*$", re.IGNORECASE).match,
    ),
    UnsupportedNotation(
        "trees of CCGbank; write each as a treebank's tree, (S (NP (N word)) ...)",
        re.compile(r"\s*\(<[TL] ").match,
        re.compile(r"ID=\S+ PARSER=").match,
    ),
    UnsupportedNotation(
        "S-expressions with Lisp's symbols in bars, |a b|, which are not supported; write such a symbol as "
        'a string, "a b", or as one word',
        re.compile(r"\s*\((?s:.*[\s(])?\|[^|()\s]+[ \t][^|()\"\n]*\|[\s)]").match,
    ),
    UnsupportedNotation(
        "treebank trees in which brackets without a label hold several trees; give these brackets a label, (ROOT (S "
        "...) (. .)), or name the notation: --notation sexpr reads the trees without labels",
        _several,
    ),
    UnsupportedNotation(
        "MathJSON, lists that begin with a function's name; write each as an S-expression, (Add x 1), or as infix",
        re.compile(r'\s*\[\s*"[A-Z]\w*"\s*,').match,
    ),
    UnsupportedNotation(
        "trees in quotation marks, as in a CSV file; call the file .csv (without a header: with --columns tree), or "
        "remove the quotation marks",
        re.compile(r"\s*([\"'])[^\"']*[({].*\1\s*$", re.DOTALL).match,
    ),
)


def find_unsupported(text: str) -> UnsupportedNotation | None:
    """The notation that is not read, but that a text has the marks of."""
    return next((each for each in FOREIGN if each.mark(text)), None)


def check_supported(texts: Sequence[str]) -> None:
    """``ValueError`` if half of some texts or more are in one notation that is not read."""
    for each in FOREIGN:
        marked = [text for text in texts if each.mark(text)]
        others = [text for text in texts if each.around(text)] if marked else []
        if marked and 2 * len({*marked, *others}) >= len({*texts}):
            raise ValueError(f"these are {each.name}")


_OPENING = re.compile(r"(?:\s|;[^\n]*\n)*\(")
_TIGHT = re.compile(r"[()](?=\S)")
_PLAIN = re.compile(
    r"\s*(?:\w[\w.]+(?:\s+--?[A-Za-z][\w-]*)+"  # a command with options, ls -l
    r"|[^\W\d_]{2,}(?:[-/][^\W\d_]{2,})+"  # words with hyphens, folders
    r"|\d{1,4}([-/])\d{1,2}\1\d{1,4})\s*"  # dates
)
"""Texts that read as a difference or quotient, and are none."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_COMMA = re.compile(r"[^\s(),],(?:\s|$)")
"""A comma that separates elsewhere would be the end of a leaf."""


def _no_list(text: str) -> bool:
    """Whether brackets have neither commas in them nor the marks of Newick or of a notation that is not read."""
    return not find_unsupported(text) and not is_newick(text) and not _COMMA.search(_STRING.sub("", text))


class Notation(NamedTuple):
    """How a tree is written, and when texts are read in this way."""

    read: Callable[[str], Tree]
    """The tree of a text; ``ValueError`` for a text that has none."""
    example: str
    detectable: Literal["always", "last", "never"] = "always"
    """Whether :func:`detect` finds it: "last", if no other notation reads half of the texts."""
    accepts: Callable[[str], object] = bool
    """Whether a text that it can read is meant so."""
    shown_by: Callable[[str], object] = bool
    """A test that one text of a sample must pass: a notation that reads every lone word shows in others."""
    least: int = 1
    """Texts that a sample must have in it to be detected."""


def _code(language: str, example: str) -> Notation:
    """Broken code is read as well, so that every text is one: that it is read says nothing."""
    return Notation(partial(read_code, language=language), example, detectable="never", accepts=lambda text: False)


NOTATIONS: dict[str, Notation] = {
    "node_link": Notation(
        read_node_link,
        '{"directed": true, "nodes": [{"id": 0, "function": "sin"}, {"id": 1, "function": "x"}], '
        '"edges": [{"source": 0, "target": 1}]}',
    ),
    "json": Notation(read_json_tree, '{"label": "add", "children": [{"label": "x"}, {"label": "2"}]}'),
    "node_list": Notation(
        partial(read_json_tree, keys=NODE_LIST),
        '[{"type": "Expr", "children": [1]}, {"type": "NameLoad", "value": "x"}]',
        accepts=lambda text: text.lstrip().startswith("["),
    ),
    "estree": Notation(
        read_syntax, '{"type": "Program", "body": [{"type": "Identifier", "name": "x"}]}', accepts=is_estree
    ),
    "ast_json": Notation(
        partial(read_syntax, label=AST), '{"_type": "Expr", "value": {"_type": "Name", "id": "x"}}', accepts=is_ast
    ),
    "json_object": Notation(
        read_json_object,
        '{"user": {"name": "Ann"}, "items": [{"price": 9.5}]}',
        detectable="last",  # every object is some
        least=2,  # a lone one may have the records in one of its keys
    ),
    "xml": Notation(read_xml, "<add><x/><y>2</y></add>", accepts=is_xml),
    "html": Notation(read_html, "<p>one <b>two</b>", detectable="never"),  # every text is some
    "newick": Notation(read_newick, "((A:0.1,B:0.2):0.5,'Homo sapiens');", accepts=is_newick),
    "sst": Notation(read_sst, "(3 (2 The) (4 Rock))"),
    "infix": Notation(read_table_infix, "sin(x)^2 + y", accepts=lambda text: not _PLAIN.fullmatch(text)),
    "brackets": Notation(
        read_unlabelled,
        "( not ( e ( or f ) ) )",
        accepts=lambda text: not _TIGHT.search(text),  # white space after every bracket, which labelled ones lack
        shown_by=_OPENING.match,
    ),
    "treebank": Notation(read_treebank, "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))", accepts=_no_list),
    "sexpr": Notation(read_sexpr, "(+ x (sin y))", accepts=_no_list, shown_by=_OPENING.match),
    "python": Notation(
        read_python,
        "def f(x): return x + 1",
        detectable="last",  # it reads much that is meant otherwise: x^2 is its "xor"
        accepts=has_program,
    ),
    "smiles": Notation(read_smiles, "c1ccccc1C(=O)O", detectable="never"),  # nearly every word of capital letters
    "smiles_rings": Notation(read_smiles, "c1ccccc1C(=O)O", detectable="never"),
    "smiles_atoms": Notation(read_smiles_atoms, "c1ccccc1C(=O)O", detectable="never"),
    "words": Notation(read_sentence, "The cat sleeps.", detectable="never", accepts=lambda text: False),
    "c": _code("c", "int f(int x) { return x + 1; }"),
    "cpp": _code("cpp", "template <class T> T f(T x) { return x + 1; }"),
    "java": _code("java", "class A { int f(int x) { return x + 1; } }"),
    "javascript": _code("javascript", "const f = x => x + 1;"),
}
"""In the order in which they are tried: what reads less comes first, because an S-expression could be nearly anything
with brackets around it."""

MAX_SNIFFED_LENGTH = 100_000
"""Characters that are looked at: a megabyte takes infix ten seconds."""


def detect(texts: Sequence[str]) -> str:
    """The name of the notation that the sample ``texts`` are in: the strictest that reads all but a few.

    Brackets without labels are recognised by the white space after every bracket. A lone word is read as
    such a tree or an S-expression only next to a text with brackets. Python is taken if no other notation reads
    half of the texts. Blank texts say nothing. Texts beyond some 100,000 characters altogether are not looked at, so
    that it takes a second or two; of longer ones alone the shortest is.

    Raises ``ValueError`` if half of the texts have the marks of a notation that is not read, naming it, if no
    notation reads any text, listing all with an example, and if none reads half of
    them, with how many each reads.
    """
    texts = _few_long([text for text in texts if text.strip()])
    check_supported(texts)
    counts: dict[str, int] = {}
    for name in _named("always"):
        counts[name] = _count(NOTATIONS[name], texts)
        if counts[name] and _few(len(texts) - counts[name], len(texts)):
            return name
    best = max(counts, key=lambda name: counts[name])
    if 2 * counts[best] < len(texts):
        counts |= {name: _count(NOTATIONS[name], texts) for name in _named("last")}
        best = max(counts, key=lambda name: counts[name])
    if counts[best] and 2 * counts[best] >= len(texts):
        return best
    if counts[best]:
        raise ValueError(f"no detectable notation can read half of {len(texts)} trees: {count_readable(texts)}")
    if len(texts) == 1 and _reads(NOTATIONS["json_object"], texts[0]):
        raise ValueError(
            "a lone JSON object: if it is one document, name --notation json_object; if it has the records in one of "
            "its keys, give a file with these alone"
        )
    known = "".join(f"\n  {name}: {notation.example}" for name, notation in NOTATIONS.items())
    found = f"none of {len(texts)} strings is in a known notation" if texts else "found no text"
    raise ValueError(f"{found}; choose one of these with --notation:{known}")


def notation_of(texts: Sequence[str]) -> str | None:
    """The notation that is detected, or else the first that reads every text; None if there is none."""
    try:
        return detect(texts)
    except ValueError:
        texts = _few_long(list(texts))
    for name, notation in NOTATIONS.items():
        with suppress(ModuleNotFoundError):  # of a package that only some need
            if texts and _count(notation, texts) == len(texts):
                return name
    return None


def count_readable(texts: Sequence[str]) -> str:
    """How many of the texts each notation reads, the one that reads most first, those that are never detected too."""
    counts: dict[str, int] = {}
    for name, notation in NOTATIONS.items():
        try:
            counts[name] = _count(notation, texts)
        except ModuleNotFoundError:  # of a package that only some need
            continue
    read = [f"{name} reads {count}" for name, count in sorted(counts.items(), key=lambda item: -item[1]) if count]
    *others, last = _named("never")
    by_name = f"; {', '.join(others)} and {last} are read only with --notation"
    return ", ".join(read or ["none reads any"]) + by_name


def _named(detectable: str) -> list[str]:
    """The notations of this kind. They are looked up at each call: a user may have added some."""
    return [name for name, notation in NOTATIONS.items() if notation.detectable == detectable]


def _few_long(texts: list[str]) -> list[str]:
    """The texts that the time suffices for; the shortest if it does for none."""
    kept = []
    room = MAX_SNIFFED_LENGTH
    for text in texts:
        if len(text) <= room:
            kept.append(text)
            room -= len(text)
    return kept or sorted(texts, key=len)[:1]


def _few(bad: int, texts: int) -> bool:
    """So few that a notation is taken although it does not read them: what reads less is seldom there by chance."""
    return 10 * bad <= texts or (bad == 1 and texts > 3)


def _count(notation: Notation, texts: Sequence[str]) -> int:
    """How many of ``texts`` are in the notation."""
    read = [text for text in texts if _reads(notation, text)]
    return len(read) if len(read) >= notation.least and any(map(notation.shown_by, read)) else 0


def _reads(notation: Notation, text: str) -> bool:
    if not notation.accepts(text):
        return False
    try:
        notation.read(text)
    except ValueError:
        return False
    return True
