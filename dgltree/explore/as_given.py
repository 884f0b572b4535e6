"""Trees as their file has them: the text of a record, a subtree in its notation, and the names of nodes."""

from collections.abc import Callable, Sequence

from dgltree.datasets.formats import open_format
from dgltree.datasets.settings.read_settings import Reading
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.explore.tree_drawing import name_of
from dgltree.read.bracket import write_sst, write_treebank, write_unlabelled
from dgltree.read.brief import brief
from dgltree.read.infix_writer import write_infix
from dgltree.read.sexpr import write_sexpr
from dgltree.read.text import one_line
from dgltree.trees.tree import Tree
from dgltree.trees.tree import name_of as full_name

MAX_TEXT_LENGTH = 160
"""Characters of a text in a list."""
WRITERS: dict[str, Callable[[Tree], str]] = {
    "infix": write_infix,
    "sexpr": write_sexpr,
    "treebank": write_treebank,
    "sst": write_sst,
    "brackets": write_unlabelled,
}
"""By notation; trees of others, such as JSON and code, are written with brackets."""


def write_tree(tree: Tree, reading: Reading) -> str:
    """A tree in the notation of its file, as far as it is shown; with brackets if that has no text for it."""
    write = WRITERS.get(reading.notation or "", brief)
    try:
        return shorten(write(tree))
    except ValueError:  # a number at a leaf, an unknown word, or a node that made others binary
        return shorten(brief(tree))


def shorten(text: str) -> str:
    """A text on one line, without the end of a long one."""
    line = " ".join(text.split())
    return one_line(line if len(line) <= MAX_TEXT_LENGTH else f"{line[:MAX_TEXT_LENGTH]} ...", 2 * MAX_TEXT_LENGTH)


def read_texts(file: str, data: TreeDataset) -> list[str | None]:
    """How the trees of each example are written in the file; None of a pipe, which is read once.

    Args:
        file: that the examples are of, or a folder.
        data: the examples, read from there.
    """
    opened = open_format(file, data.reading)
    if opened.source.stream is not None:
        return [None] * len(data)
    wanted = {(data.files[i], data.lines[i]): i for i in range(len(data))}
    found: list[str | None] = [None] * len(data)
    for place, line, texts in opened.texts():
        if (i := wanted.get((place, line))) is not None:
            found[i] = " · ".join(map(shorten, texts))
    return found


def node_names(trees: Sequence[Tree], reading: Reading) -> Callable[[Tree], str]:
    """The text in a node: signs for operators in formulas, tags and relations with their words."""
    if reading.notation == "infix":
        return name_of
    if reading.notation in ("sst", "brackets"):
        return _phrase_or_word
    dependencies = any(node.children and node.token is not None for tree in trees for node in tree.distinct())
    return _with_word if dependencies or reading.notation == "treebank" else full_name


def _phrase_or_word(node: Tree) -> str:
    said = [str(part) for part in (node.label, node.token) if part is not None]
    return " ".join(said) or "·"


def _with_word(node: Tree) -> str:
    return node.function if node.token is None else f"{node.function} {node.token}"
