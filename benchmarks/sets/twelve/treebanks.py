"""Sets of the treebanks: masked prepositions (Universal Dependencies), and what a phrase tells (Penn Treebank)."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.sets.records import LabelledRecord
from benchmarks.sets.twelve.as_json import as_json
from dgltree.read.bracket import iter_treebank
from dgltree.read.conllu import COLUMNS
from dgltree.trees.tree import Tree

PREPOSITIONS = ("of", "in", "to", "for", "on", "with", "at", "from")
ROLES = ("LOC", "TMP", "MNR", "DIR", "PRP", "CLR", "ADV", "EXT")
"""Function tags that are told apart: place, time, manner, direction, purpose, closely related, adverbial, extent."""
MOST_WORDS = 25
_FORM, _UPOS, _DEPREL = (COLUMNS.index(name) for name in ("form", "upos", "deprel"))
_UNSEEN = [COLUMNS.index(name) for name in ("lemma", "xpos", "feats", "misc")]


def prepositions(data: Path) -> Iterator[LabelledRecord]:
    """Sentences in CoNLL-U whose first preposition of eight is masked; a document is a group."""
    for split in ("train", "dev", "test"):
        for block in (data / "ud" / f"ewt-{split}.conllu").read_text(encoding="utf-8").split("\n\n"):
            lines = block.splitlines()
            rows = [line.split("\t") for line in lines if line[:1].isdigit()]
            rows = [row for row in rows if row[0].isdigit()]  # no ranges, no empty nodes
            masked = [row for row in rows if row[_DEPREL] == "case" and row[_FORM].lower() in PREPOSITIONS]
            if masked and 5 <= len(rows) <= MOST_WORDS:
                label, masked[0][_FORM] = masked[0][_FORM].lower(), "<preposition>"
                for row in rows:
                    for column in _UNSEEN:
                        row[column] = "_"
                document = next(line for line in lines if line.startswith("# sent_id")).rsplit("-", 1)[0]
                text = "".join("\t".join(row) + "\n" for row in rows)
                yield LabelledRecord(label, (text,), document.partition("= ")[2])


def phrases(data: Path) -> Iterator[LabelledRecord]:
    """Phrases of two words or more with one function tag of eight; their trees have none. A file is a group."""
    for file in sorted((data / "language" / "treebank_sample").glob("*.mrg")):
        for tree in iter_treebank(file.read_text(encoding="utf-8")):
            for node in tree.preorder():
                roles = [tag for tag in node.function.split("-")[1:] if tag in ROLES]
                plain = _plain(node)
                if len(roles) == 1 and plain is not None:
                    words = sum(not below.children for below in plain.preorder())
                    if 2 <= words <= MOST_WORDS:
                        yield LabelledRecord(roles[0], (as_json(plain),), file.stem)


def _plain(tree: Tree) -> Tree | None:
    """Without function tags, and without what is not said."""

    def plain(node: Tree, below: list[Tree | None]) -> Tree | None:
        children = tuple(child for child in below if child is not None)
        if node.function == "-NONE-" or (node.children and not children):
            return None
        name = node.function.split("-")[0].split("=")[0] or node.function
        return Tree(name, children, token=node.token and node.token.lower())

    return tree.fold(plain)
