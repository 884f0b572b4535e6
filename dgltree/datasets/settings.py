"""The settings by which a file of trees is read; a model's folder keeps them, so that later files are read alike.

With them come the readers of single fields: texts that do not break the lines of a table, numbers, dates, and labels
(which are missing, which are the same, and which are numbers in another spelling).
"""

import json
import re
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from functools import cache
from math import isfinite
from typing import Any, Literal

from dgltree.read.conllu import COLUMNS
from dgltree.read.json_schema import Schema, read_schema
from dgltree.read.leaf_values import NUMBER, number
from dgltree.read.notations import NOTATIONS
from dgltree.read.smiles import OPEN, TREES
from dgltree.read.text import CONTROL
from dgltree.support.arguments import check_types
from dgltree.support.lazy import cached_property

MISSING = "#N/A,#NA,<NA>,N/A,NA,NULL,NaN,NaT,None,n/a,nan,null"
"""How the tables of other programs write a value that is not there, separated by commas."""
_OTHER_SPELLINGS = re.compile(
    r"(?P<comma>[+-]?\d+,\d+([eE][+-]?\d+)?)"
    r"|(?P<percent>[+-]?(\d+[.,]?\d*|[.,]\d+)\s*%)"
    r"|(?P<thousands>[+-]?\d{1,3}([,.' \u00a0\u2009\u202f’]\d{3})+([.,]\d+)?)",
    re.ASCII,
)
MAX_FLOAT32 = (2 - 2.0**-23) * 2.0**127  # torch.finfo(torch.float32).max, without waiting for torch
DOCUMENTS = "json_object"
"""The notation of JSON documents, which are read by a schema."""
WHOLE_RECORD = "."
"""The value of ``tree`` by which each JSON record is itself a tree."""
SYNONYMS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("valid", "validation", "val", "dev"), "validation"),
    "test": "test",
}
"""The values allowed in a column of splits."""
MOST_LINE = 10**18
"""Bytes: what a file can be asked for in one piece."""


@dataclass(frozen=True)
class Reading:
    """The settings of a reader. What is None follows from the file.

    Args:
        notation: notation of the trees. Default: detected, and printed.
        tree: the column that holds the tree; "." if each JSON record is itself a tree, without its label, split, id and
            features.
        left: the column that holds the first tree of a pair.
        right: the column that holds the second tree of a pair.
        label: the column that holds the label; in a CoNLL-U file, the comment with this name.
        label_from: read the label from another field, given as COLUMN or COLUMN:REGEX. COLUMN is a column, a comment of
            a CoNLL-U sentence, or one of file, folder and id. The label is the match of REGEX or of its first group, or
            the name of the named group that matched, as in "text:(?P<question>[?]$)|(?P<statement>$)".
        missing: values that mean a missing label, separated by commas; "" for none.
        split: the column with the split: train, validation (or valid, val, dev) or test.
        split_from: read the split from another field, given as for label_from, such as "file:train|dev|test".
        group_by: put examples with the same value of a field into the same split; given as for label_from, such as
            "file" or "sent_id:(.*)-". Default: no groups; a warning names a file of a folder that is in two splits.
        features: tabular features, as columns separated by commas, such as "age,site". Numbers and dates are scaled;
            other strings are categories.
        id: the column with a unique name for each example; in a CoNLL-U file, the comment with this name, or else
            sent_id.
        drop: remove leaves whose whole token matches this regular expression, such as leaves that reveal the label.
        columns: the column names of a table without a header line, separated by commas.
        schema: the file with the schema of JSON documents, as inspect --schema-out writes it. Default: inferred from
            the training documents.
        keys: the JSON keys of a node's label, children and token, separated by commas. Keys other than the default
            imply the notation json.
        node: the CoNLL-U column used as a node's function.
        word: the CoNLL-U column used as a node's token.
        unit: read each "file" or each "function" of source code as a tree.
        numbers: read numeric leaves as numbers instead of tokens. Default: true for a cell if some of these numbers are
            not whole or most of the distinct numbers are rare.
        dates: read leaves that are dates, such as 2026-11-27 or 2026-11-27T15:04:05Z, as numbers (Unix times in
            seconds). Default: true if numbers are read.
        binarize: add nodes that branch to the "left" or "right", so that every node has at most two children.
        max_line: leave out and report each line, Parquet row, CoNLL-U sentence and source file of more bytes than this.
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
    schema: str | dict[str, Any] | None = None
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
        if self.schema is not None:
            self._take_schema(self.schema)
        if self.notation is not None and self.notation not in NOTATIONS:
            raise ValueError(f"the notation is {self.notation!r}; it must be one of {', '.join(NOTATIONS)}")
        for name in (self.node, self.word):
            if name not in COLUMNS:
                raise ValueError(f"a CoNLL-U file has no column {name!r}; its columns are {', '.join(COLUMNS)}")
        for name in ("label_from", "split_from", "group_by"):
            if (text := getattr(self, name)) is not None:
                ColumnPattern.of(name, text)
        if self.features is not None:
            self._check_features(names_of(self.features))
        if self.drop is not None:
            ColumnPattern.of("drop", f"token:{self.drop}")
        if len(self.keys.split(",")) != 3:
            raise ValueError(f"keys is {self.keys!r}; give three names, such as 'type,args,name'")
        if not 1 <= self.max_line <= MOST_LINE:
            raise ValueError(f"max_line is {self.max_line}; it must be a number of bytes from 1 to {MOST_LINE:,}")

    @cached_property
    def columns_next_to_tree(self) -> frozenset[str]:
        """The columns of the label, the split, the id and the features."""
        label = self.label if self.label_from is None else ColumnPattern.of("label_from", self.label_from).column
        split = self.split if self.split_from is None else ColumnPattern.of("split_from", self.split_from).column
        features = () if self.features is None else names_of(self.features)
        return frozenset((label, split, self.id, *features))

    def _take_schema(self, given: str | dict[str, Any]) -> None:
        """Keep the schema itself in the place of its file, so that a model's folder has it."""
        if self.notation not in (None, DOCUMENTS):
            raise ValueError(
                f"schema is for JSON documents, but the notation is {self.notation!r}: leave out schema or notation"
            )
        schema = read_schema(given) if isinstance(given, str) else Schema.from_json(given)
        object.__setattr__(self, "schema", schema.to_json())
        object.__setattr__(self, "notation", DOCUMENTS)

    def _check_features(self, names: tuple[str, ...]) -> None:
        kept = {self.tree: "trees", self.label: "labels", self.split: "splits"}
        for i, name in enumerate(names):
            if not name or name in names[:i]:
                raise ValueError(f"features is {self.features!r}; name each column once, as in 'age,site'")
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


def amounts_in(reading: Reading) -> dict[str, bool]:
    """Whether the schema of JSON documents may have numbers and dates, unless the settings say no."""
    return {"numbers": reading.numbers is not False, "dates": reading.dates is not False}


def names_of(features: str | None) -> tuple[str, ...]:
    """The columns that the setting ``features`` names."""
    return () if features is None else tuple(name.strip() for name in features.split(","))


@dataclass(frozen=True)
class ColumnPattern:
    """A column, and what of its text is meant: ``sent_id:^[a-z]+`` names what no column has alone."""

    column: str
    """A column of a table, a comment of a CoNLL-U sentence, or ``file``, ``folder``, ``id``."""
    pattern: re.Pattern[str] | None = None
    """Pattern whose first group, or match, is the value; of named groups, the name of the one that matched."""
    booleans: bool = False
    """Whether its value may be true or false, which are texts then."""

    @classmethod
    def of(cls, option: str, text: str, booleans: bool = False) -> "ColumnPattern":
        """Read ``COLUMN`` or ``COLUMN:REGEX``. Raises ``ValueError`` for what is not a regular expression."""
        column, colon, pattern = text.partition(":")
        try:
            return cls(column, re.compile(pattern) if colon else None, booleans)
        except (re.error, OverflowError, RecursionError) as error:  # the latter of repetitions and of nested groups
            shown = text if len(text) < 80 else f"{text[:80]}..."
            raise ValueError(
                f"{option} is {shown!r}: {shown.partition(':')[2]!r} is not a regular expression ({error})"
            ) from None

    def __call__(self, fields: Mapping[str, Any]) -> str | None:
        """The value in a record, None if there is none. ``ValueError`` for a value that is not a text or number."""
        value = fields.get(self.column)
        text = str(value).lower() if self.booleans and isinstance(value, bool) else text_of(fields, self.column)
        if text is None or self.pattern is None:
            return text
        match = self.pattern.search(text)
        if match is None:
            return None
        if self.pattern.groupindex:
            return match.lastgroup
        return match[1 if self.pattern.groups else 0] or None


def text_of(fields: Mapping[str, Any], column: str) -> str | None:
    """The value of a column; ``ValueError`` if it is not text or finite number, or would break the lines of a table."""
    value = fields.get(column)
    if value is None or value == "":
        return None
    if isinstance(value, bool | list | dict | bytes) or (isinstance(value, float) and not isfinite(value)):
        raise ValueError(f"{column}: found {_in_json(value)}; expected a string or a finite number")
    return printable(str(value), column)


def _in_json(value: Any) -> str:
    try:
        return json.dumps(value)
    except TypeError:  # bytes
        return repr(value)


def printable(text: str, what: str) -> str:
    """The text itself; ``ValueError`` if it would break the lines of a table, or do things to a terminal."""
    if CONTROL.search(text):
        raise ValueError(
            f"{what}: {text!r} contains a tab, a line break, another control character or half of a surrogate pair"
        )
    return text


def packed(values: Sequence[str | None]) -> str | None:
    """The texts of an example in all columns as one; None if it has none."""
    return None if all(value is None for value in values) else json.dumps(values)


def label_number(text: str) -> float | None:
    """The number that is to be predicted, which float32 has to hold; None for other text."""
    value = number(text.strip())
    return value if value is not None and -MAX_FLOAT32 <= value <= MAX_FLOAT32 else None


@cache
def missing_texts(spellings: str) -> frozenset[str]:
    """The spellings of missing labels, as the setting ``missing`` has them."""
    return frozenset(text.strip() for text in spellings.split(",") if text.strip())


def same(label: str) -> str:
    """A label without the blanks around it, and with letters and accents composed (Unicode's NFC)."""
    return unicodedata.normalize("NFC", label.strip())


def key_of(label: str) -> Hashable:
    """Equal for labels that are the same: as composed texts, as numbers (``0`` and ``0.0``) or as true and false."""
    text = same(label)
    if NUMBER.fullmatch(text):
        return Decimal(text)
    return text.casefold() if text.casefold() in ("true", "false") else text


def class_numbers(classes: Sequence[str]) -> Callable[[str], int | None]:
    """The number of the class that a label is, None if it is none of them."""
    exact = {name: i for i, name in enumerate(classes)}
    keys = {key_of(name): i for i, name in reversed(list(enumerate(classes)))}

    @cache
    def number_of(label: str) -> int | None:
        found = exact.get(label)
        return keys.get(key_of(label)) if found is None else found

    return number_of


def other_spelling(label: str) -> str | None:
    """How a label is a number that is not written as one: with a decimal comma, in percent, with thousands apart."""
    match = _OTHER_SPELLINGS.fullmatch(label.strip())
    names = {"comma": "a decimal comma", "percent": "a percent sign", "thousands": "thousands set apart"}
    return None if match is None else names[str(match.lastgroup)]


def merge_labels(labels: Iterable[Sequence[str | None]], classes: Sequence[str] = ()) -> dict[str, str]:
    """The labels to replace, each with its replacement: a given class, or the most frequent of those that are the same.

    A label that is a given class keeps its text.
    """
    counts: dict[str, int] = {}
    for column in labels:
        for label in column:
            if label is not None:
                counts[label] = counts.get(label, 0) + 1
    chosen: dict[Hashable, str] = {}
    for label in [*classes, *sorted(counts, key=lambda each: (-counts[each], len(each), each))]:
        chosen.setdefault(key_of(label), label if label in classes else same(label))
    return {label: chosen[key_of(label)] for label in counts if label not in classes and chosen[key_of(label)] != label}
