"""How a file of trees is read: what a model's folder keeps, so that later files are read in the same way."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from dgltree.arguments import check_types
from dgltree.datasets.settings.column_pattern import ColumnPattern
from dgltree.datasets.settings.label_texts import MISSING
from dgltree.read.conllu import COLUMNS
from dgltree.read.notations import NOTATIONS
from dgltree.read.smiles import OPEN, TREES

MOST_LINE = 10**18
"""Bytes: what a file can be asked for in one piece."""


def names_of(features: str | None) -> tuple[str, ...]:
    """The columns that the setting ``features`` names."""
    return () if features is None else tuple(name.strip() for name in features.split(","))


@dataclass(frozen=True)
class Reading:
    """The settings of a reader. What is None follows from the file.

    Args:
        notation: notation of the trees. Default: detected, and printed.
        tree: the column that holds the tree.
        left: the column that holds the first tree of a pair.
        right: the column that holds the second tree of a pair.
        label: the column that holds the label; in a CoNLL-U file the comment of this name.
        label_from: read the label from another place, given as COLUMN or COLUMN:REGEX. COLUMN is a column, a comment of
            a CoNLL-U sentence, or one of file, folder and id. The label is what REGEX matches, or its first group, or
            the name of the named group that matched, as in "text:(?P<question>[?]$)|(?P<statement>$)".
        missing: labels that stand for a missing label, separated by commas; "" for none.
        split: the column with the split: train, validation (or valid, val, dev) or test.
        split_from: read the split from another place, given as for label_from, such as "file:train|dev|test".
        group_by: keep examples with the same value together in one split; given as for label_from, such as "file" or
            "sent_id:(.*)-". Default: no groups, with a warning if a file of a folder is in two splits.
        features: columns next to the tree that are read as well, separated by commas, such as "age,site": numbers
            and dates are scaled, other texts are categories.
        id: the column with a unique name for each example; in a CoNLL-U file the comment of this name, or
            else sent_id.
        drop: remove leaves whose whole token matches this regular expression, such as one that gives the label away.
        columns: the column names of a table without a header line, separated by commas.
        keys: the names that JSON trees have for label, children and token, separated by commas; other names imply the
            notation json.
        node: the CoNLL-U column used as a node's function.
        word: the CoNLL-U column used as a node's token.
        unit: whether a tree of source code is a whole "file" or one "function".
        numbers: read numeric leaves as numbers instead of tokens. Default: with a cell, if some of them are
            not whole or most distinct ones are rare.
        dates: read leaves that are dates, such as 2026-11-27 or 2026-11-27T15:04:05Z, as numbers (Unix times
            in seconds). Default: wherever numbers are read.
        binarize: give nodes at most two children, by adding nodes that branch to the "left" or "right".
        max_line: leave out and report lines, Parquet rows, CoNLL-U sentences and source files of more bytes than
            this.
    """

    notation: str | None = field(default=None, metadata={"choices": NOTATIONS})
    tree: str = "tree"
    left: str = "left"
    right: str = "right"
    label: str = "label"
    label_from: str | None = None
    missing: str = MISSING
    split: str = "split"
    split_from: str | None = None
    group_by: str | None = None
    features: str | None = None
    id: str = "id"
    drop: str | None = None
    columns: str | None = None
    keys: str = "label,children,token"
    node: str = "deprel"
    word: str = "form"
    unit: Literal["file", "function"] = "file"
    numbers: bool | None = None
    dates: bool | None = None
    binarize: Literal["left", "right"] | None = None
    max_line: int = 1_000_000

    def __post_init__(self) -> None:
        check_types(self)
        if self.notation is not None and self.notation not in NOTATIONS:
            raise ValueError(f"the notation is {self.notation!r}; it must be one of {', '.join(NOTATIONS)}")
        for name in (self.node, self.word):
            if name not in COLUMNS:
                raise ValueError(f"a CoNLL-U file has no column {name!r}; it has {', '.join(COLUMNS)}")
        for name in ("label_from", "split_from", "group_by"):
            if (text := getattr(self, name)) is not None:
                ColumnPattern.of(name, text)
        if self.features is not None:
            self._check_features(names_of(self.features))
        if self.drop is not None:
            ColumnPattern.of("drop", f"token:{self.drop}")
        if len(self.keys.split(",")) != 3:
            raise ValueError(f"keys is {self.keys!r}; it has three names, such as 'type,args,name'")
        if not 1 <= self.max_line <= MOST_LINE:
            raise ValueError(f"max_line is {self.max_line}; it must be a number of bytes from 1 to {MOST_LINE:,}")

    def _check_features(self, names: tuple[str, ...]) -> None:
        kept = {self.tree: "trees", self.label: "labels", self.split: "splits"}
        for i, name in enumerate(names):
            if not name or name in names[:i]:
                raise ValueError(f"features is {self.features!r}; it must be names of columns, each once: age,site")
            if name in kept:
                raise ValueError(f"features names {name!r}, which is the column of the {kept[name]}")

    @property
    def read_as(self) -> str:
        """``, read as infix``: the notation at the end of a line about a file; nothing if it has none."""
        how = " in lower case" if self.notation == "words" else ""
        return f", read as {self.notation}{how}" if self.notation else ""

    def but(self, **given: Any) -> "Reading":
        """These settings of a model with others that are given for the trees that it answers."""
        if given.get("notation") == OPEN and self.notation in TREES:
            del given["notation"]  # the training chose the tree of molecules, which the model knows
        return replace(self, **given)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
