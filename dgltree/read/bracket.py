"""Bracketed trees: the Penn Treebank, the Stanford Sentiment Treebank, and brackets without labels.

========== ============================= =============================================================
treebank   ``(S (DT the) (NN cat))``     ``Tree("S", (Tree("DT", token="the"), Tree("NN", token="cat")))``
sst        ``(3 (2 The) (4 Rock))``      ``Tree("phrase", (Tree("word", token="The", label=2), ...), label=3)``
unlabelled ``( not ( e ( or f ) ) )``    ``Tree("phrase", (Tree("word", token="not"), ...))``
========== ============================= =============================================================

In the first two forms a bracket holds a label and then either one word or further brackets. The words ``-LRB- -RRB-
-LCB- -RCB- -LSB- -RSB-`` and ``\\/ \\*`` stand for ``( ) { } [ ]`` and ``/ *``, also inside of longer words; traces
(words under ``-NONE-``) are kept as they are. In the unlabelled form every word is a leaf and nothing is escaped.

Only ASCII white space separates words: the published sentiment trees have no-break spaces inside of words.

Whatever a writer prints, its reader reads back to the same tree; a writer raises ``ValueError`` for a tree that its
form cannot say. Readers raise ``ValueError`` with the line and column, what was found and what was expected. All take
time linear in the text, at any depth.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dgltree.read.text import check_unfolded, error_at
from dgltree.trees.tree import Tree

_WORD = re.compile(r"[^()\s]+", re.ASCII)
_LABELLED = re.compile(r"\(\s*([^()\s]*)|\)|([^()\s]+)", re.ASCII)  # groups: the label of a bracket that opens, a word
_UNLABELLED = re.compile(r"\(()|\)|([^()\s]+)", re.ASCII)

_CHARS = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LCB-": "{",
    "-RCB-": "}",
    "-LSB-": "[",
    "-RSB-": "]",
    r"\/": "/",
    r"\*": "*",
}
_ESCAPES = {char: escape for escape, char in _CHARS.items()}
_ESCAPE = re.compile("|".join(map(re.escape, _CHARS)))
_CHAR = re.compile("|".join(map(re.escape, _ESCAPES)))
_TRACE = "-NONE-"


class _Form(NamedTuple):
    """The content that one notation puts between its brackets."""

    name: str
    example: str
    sayable: str
    """Which trees the form can say, for the writer's error."""
    node: Callable[[str, tuple[Tree, ...], str | None], Tree]
    """The tree that (label, children, token) stand for."""
    label: Callable[[Tree], str]
    """The label that a node is written with."""
    labelled: bool = True
    """Brackets begin with a label, and a word is escaped and alone in its bracket; else words are bare children."""
    labels: tuple[str, ...] | None = None
    """The labels that are allowed; None: any."""

    def escapes(self, label: str) -> bool:
        return self.labelled and label != _TRACE

    def read(self, label: str, children: tuple[Tree, ...], word: str | None) -> Tree:
        if word is not None and self.escapes(label):
            word = _ESCAPE.sub(lambda match: _CHARS[match[0]], word)
        return self.node(label, children, word)

    def write(self, node: Tree) -> tuple[str, str | None]:
        """The label and the word that say ``node``; ``ValueError`` if none do."""
        label = self.label(node)
        word = node.token
        if word is not None and self.escapes(label):
            word = _CHAR.sub(lambda match: _ESCAPES[match[0]], word)
        well_formed = (
            (word is None) == bool(node.children)
            and (word is None or _WORD.fullmatch(word))
            and (not self.labelled or _WORD.fullmatch(label))
            and (self.labels is None or label in self.labels)
        )
        # The reader has the last word: a literal "-LRB-", say, would come back as "(".
        if not well_formed or self.read(label, (), word).fields != node.fields:
            at = f"{node.replace(children=())} with {len(node.children)} children"
            raise ValueError(f"{at} cannot be written as {self.name}; this form allows {self.sayable}")
        return label, word


def _phrase_or_word(children: tuple[Tree, ...], word: str | None, label: int | None = None) -> Tree:
    return Tree("phrase" if word is None else "word", children, word, label=label)


_TREEBANK = _Form(
    name="a treebank tree",
    example="(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))",
    sayable="functions and tokens of one word, without brackets in a function or '-LRB-' and its like in a token; "
    "a token on every leaf and nowhere else; no values and no labels",
    node=Tree,
    label=lambda node: node.function,
)
_SST = _Form(
    name="a sentiment tree",
    example="(3 (2 The) (4 Rock))",
    sayable="a label from 0 to 4 on every node, 'phrase' nodes and 'word' leaves; "
    "a token of one word, without '-LRB-' and its like, on every leaf and nowhere else; no values",
    node=lambda label, children, word: _phrase_or_word(children, word, int(label)),
    label=lambda node: str(node.label),
    labels=("0", "1", "2", "3", "4"),
)
_BARE = _Form(
    name="unlabelled brackets",
    example="( not ( e ( or f ) ) )",
    sayable="'phrase' nodes and 'word' leaves; a token of one word, without brackets, on every leaf and nowhere else; "
    "no values and no labels",
    node=lambda _, children, word: _phrase_or_word(children, word),
    label=lambda node: "",
    labelled=False,
)


def read_treebank(text: str) -> Tree:
    """The one Penn Treebank tree in ``text``; an empty bracket around it, ``( (S ...) )``, is taken off.

    Raises ``ValueError`` for brackets that do not match or hold nothing, for words next to other words or brackets or
    outside of them, for a missing label, and for no tree or more than one.
    """
    return _only(text, _TREEBANK)


def iter_treebank(text: str) -> Iterator[Tree]:
    """The Penn Treebank trees in ``text``, wherever its lines break; errors as in :func:`read_treebank`."""
    return (tree for _, tree in _trees(text, _TREEBANK))


def write_treebank(tree: Tree) -> str:
    """``tree`` on one line. Raises ``ValueError`` naming the first node that has no such text."""
    return _write(tree, _TREEBANK)


def read_sst(text: str) -> Tree:
    """The one sentiment tree in ``text``; errors as in :func:`read_treebank`, and for labels other than 0 to 4."""
    return _only(text, _SST)


def iter_sst(text: str) -> Iterator[Tree]:
    """The sentiment trees in ``text``, wherever its lines break; errors as in :func:`read_sst`."""
    return (tree for _, tree in _trees(text, _SST))


def write_sst(tree: Tree) -> str:
    """``tree`` on one line. Raises ``ValueError`` naming the first node that has no such text."""
    return _write(tree, _SST)


def read_unlabelled(text: str) -> Tree:
    """The one tree in ``text``: brackets around one or more words and brackets, or a single word.

    Raises ``ValueError`` for brackets that do not match or hold nothing, and for no tree or more than one.
    """
    return _only(text, _BARE)


def write_unlabelled(tree: Tree) -> str:
    """``tree`` on one line. Raises ``ValueError`` naming the first node that has no such text."""
    return _write(tree, _BARE)


class _Bracket:
    """A bracket that is still open, and what it holds so far."""

    __slots__ = ("children", "label", "start", "word")

    def __init__(self, start: int, label: str) -> None:
        self.start = start
        self.label = label
        self.word: str | None = None
        self.children: list[Tree] = []


def _trees(text: str, form: _Form) -> Iterator[tuple[int, Tree]]:
    """Every tree in ``text`` with the offset at which it begins."""

    def error(offset: int, found: str, expected: str) -> ValueError:
        return error_at(text, offset, f"found {found}; expected {expected}, as in {form.example}")

    def close(bracket: _Bracket) -> Tree:
        if not bracket.children and bracket.word is None:
            found = f"nothing after the label {bracket.label!r}" if bracket.label else "empty brackets"
            raise error(bracket.start, found, "a word or more brackets inside")
        if bracket.label or not form.labelled:
            return form.read(bracket.label, tuple(bracket.children), bracket.word)
        if len(bracket.children) > 1:
            raise error(bracket.start, f"brackets without a label around {len(bracket.children)} trees", "a label")
        return bracket.children[0]

    stack: list[_Bracket] = []
    for match in (_LABELLED if form.labelled else _UNLABELLED).finditer(text):
        start = match.start()
        label = match[1]
        word = match[2]
        top = stack[-1] if stack else None
        if label is not None:
            if top and top.word is not None:
                raise error(start, f"'(' after the word {top.word!r}", "')'")
            if form.labels and label not in form.labels:
                raise error(start, f"the label {label!r}", f"one of {', '.join(form.labels)}")
            if top and form.labelled and not label:
                raise error(start, "brackets without a label inside a tree", "a label after '('")
            stack.append(_Bracket(start, label))
            continue
        if word is None:
            if not top:
                raise error(start, "')' where no bracket is open", "'('")
            stack.pop()
            start = top.start
            tree = close(top)
        elif not form.labelled:
            tree = form.read("", (), word)
        elif not top:
            raise error(start, f"{word!r} outside of brackets", "'('")
        elif top.children:
            raise error(start, f"the word {word!r} next to brackets", "'(' or ')'")
        elif top.word is not None:
            raise error(start, f"a second word, {word!r}, after {top.word!r}", "')'")
        else:
            top.word = word
            continue
        if stack:
            stack[-1].children.append(tree)
        else:
            yield start, tree
    if stack:
        raise error(stack[-1].start, "no end of the bracket that opens here", "')'")


def _only(text: str, form: _Form) -> Tree:
    trees = _trees(text, form)
    first = next(trees, None)
    if first is None:
        raise error_at(text, 0, f"found no tree; expected one, as in {form.example}")
    for start, _ in trees:
        raise error_at(text, start, "found a second tree; expected only one")
    return first[1]


def _write(tree: Tree, form: _Form) -> str:
    check_unfolded(tree)
    close = ")" if form.labelled else " )"
    parts: list[str] = []
    stack: list[Tree | None] = [tree]  # None closes a bracket
    while stack:
        node = stack.pop()
        if node is None:
            parts.append(close)
            continue
        label, word = form.write(node)
        if word is None:
            parts.append(f" ({label}")
            stack.append(None)
            stack.extend(reversed(node.children))
        else:
            parts.append(f" ({label} {word})" if form.labelled else f" {word}")
    return "".join(parts)[1:]
