"""CoNLL-U, the files of Universal Dependencies: one node for each word, its dependents as children in word order.

Multiword ranges (``1-2``) and empty nodes (``3.1``) are passed over: they are not part of the tree.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dgltree.support.arguments import MAX_LISTED_NAMES, nearest
from dgltree.trees.tree import Tree

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_ID, _FORM, _HEAD = (COLUMNS.index(name) for name in ("id", "form", "head"))
_PASSED_OVER = re.compile(r"[0-9]+[-.][0-9]+")
_NUMBER = re.compile("[0-9]{1,9}")


class Sentence(NamedTuple):
    """A sentence of a file: its tree, or why it has none."""

    line: int
    """The number of its first line, from 1."""
    comments: dict[str, str]
    """Values of the lines ``# key = value``, by key."""
    tree: Tree | ValueError


class _Word(NamedTuple):
    line: int
    columns: list[str]


def iter_conllu(
    lines: Iterable[str], function: str = "deprel", token: str = "form", first: int = 1
) -> Iterator[Sentence]:
    """The sentences of a file, one at a time; ``function`` and ``token`` name the columns that a node takes.

    ``first`` is the number of the first line.

    A bad sentence comes with a ``ValueError`` that names its line in place of its tree, and reading continues after the
    next blank line. Bad are a line without ten columns, ids that do not count from 1, a head that is not a word of the
    sentence, no root or several, a cycle, and no words at all. Raises ``ValueError`` at once for an unknown column.
    """
    for name in (function, token):
        if name not in COLUMNS:
            raise ValueError(f"unknown column {name!r} ({nearest(name, COLUMNS)})")
    return _sentences(lines, COLUMNS.index(function), COLUMNS.index(token), first)


def _sentences(lines: Iterable[str], function: int, token: int, start: int) -> Iterator[Sentence]:
    for first, block in _blocks(lines, start):
        comments = [line[1:].partition("=") for line in block if line.startswith("#")]
        tree: Tree | ValueError
        try:
            tree = _tree(_words(first, block), function, token)
        except ValueError as error:
            tree = error.with_traceback(None)  # it would keep the whole sentence in memory
        yield Sentence(first, {key.strip(): value.strip() for key, equals, value in comments if equals}, tree)


def _blocks(lines: Iterable[str], start: int) -> Iterator[tuple[int, list[str]]]:
    """The lines between blank ones, with the number of the first."""
    block: list[str] = []
    number = start
    for number, line in enumerate(lines, start):
        line = line.rstrip("\r\n")
        if line.strip():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []
    if block:
        yield number - len(block) + 1, block


def _words(first: int, block: list[str]) -> list[_Word]:
    words: list[_Word] = []
    for number, line in enumerate(block, first):
        if line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != len(COLUMNS):
            raise ValueError(f"line {number}: found {len(columns)} columns; expected {len(COLUMNS)}, separated by tabs")
        if _PASSED_OVER.fullmatch(columns[_ID]):
            continue
        if columns[_ID] != str(len(words) + 1):
            raise ValueError(f"line {number}: the id is {columns[_ID]!r:.60}; expected {len(words) + 1}")
        words.append(_Word(number, columns))
    if not words:
        raise ValueError(f"line {first}: found a sentence without words; expected at least one")
    return words


def _tree(words: list[_Word], function: int, token: int) -> Tree:
    heads = [_head(word, len(words)) for word in words]
    order = _from_the_root(words, heads)
    children: list[list[Tree]] = [[] for _ in range(len(words) + 1)]  # by word, from 1; 0 holds the root
    for i in reversed(order):  # children before their parents
        line, columns = words[i - 1]
        try:
            node = Tree(columns[function], children[i][::-1], columns[token])
        except ValueError as error:
            raise ValueError(f"line {line}: {error}") from None
        children[heads[i - 1]].append(node)
    return children[0][0]


def _head(word: _Word, count: int) -> int:
    head = word.columns[_HEAD]
    if not _NUMBER.fullmatch(head) or int(head) > count:
        raise ValueError(f"line {word.line}: the head is {head!r:.60}; expected a number from 0 to {count}")
    return int(head)


def _from_the_root(words: list[_Word], heads: list[int]) -> list[int]:
    """Every word's number, heads before dependents and dependents in word order."""
    dependents: list[list[int]] = [[] for _ in range(len(words) + 1)]
    for i, head in enumerate(heads, 1):
        dependents[head].append(i)
    if len(dependents[0]) != 1:
        roots = f"the roots {_named(words, dependents[0])}" if dependents[0] else "no root"
        raise ValueError(f"line {words[0].line}: found {roots}; expected one word with the head 0")
    order = list(dependents[0])
    for i in order:  # it grows on the way
        order.extend(dependents[i])
    if len(order) < len(words):
        cycle = _cycle(heads, min(set(range(1, len(words) + 1)) - set(order)))
        where = f"line {words[cycle[0] - 1].line}"
        raise ValueError(
            f"{where}: the heads of {_named(words, cycle)} form a cycle; expected heads that lead to the root"
        )
    return order


def _cycle(heads: list[int], word: int) -> list[int]:
    """The words on the cycle that ``word``'s heads lead to."""
    met: dict[int, None] = {}
    while word not in met:
        met[word] = None
        word = heads[word - 1]
    path = list(met)
    return sorted(path[path.index(word) :])


def _named(words: list[_Word], numbers: list[int]) -> str:
    names = [f"{i} {words[i - 1].columns[_FORM]!r:.60}" for i in numbers[:MAX_LISTED_NAMES]]
    return ", ".join(names + ["..."] * (len(numbers) > MAX_LISTED_NAMES))
