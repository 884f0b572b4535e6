"""A labelled tree of a data set, and the file of many."""

import json
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import NamedTuple

from dgltree.support.files import replacing


class LabelledRecord(NamedTuple):
    """A tree, or two, with its label and with what it must stay together with in splits."""

    label: str
    trees: tuple[str, ...]
    group: str


def sample(records: Iterable[LabelledRecord], most: int) -> list[LabelledRecord]:
    """At most so many, in an order by chance that is always the same."""
    found = list(records)
    Random(5).shuffle(found)
    return found[:most]


def write(path: Path, records: Iterable[LabelledRecord]) -> None:
    """JSON lines, or sentences of CoNLL-U, by the suffix of the path; an existing file is replaced at once."""
    text = _sentence if path.suffix == ".conllu" else _row
    with replacing(path) as beside:
        beside.write_text("".join(map(text, records)), encoding="utf-8")


def _sentence(record: LabelledRecord) -> str:
    return f"# label = {record.label}\n# group = {record.group}\n{record.trees[0]}\n"


def _row(record: LabelledRecord) -> str:
    names = ("tree",) if len(record.trees) == 1 else ("left", "right")
    of_trees = dict(zip(names, record.trees, strict=True))
    return json.dumps({"label": record.label, "group": record.group, **of_trees}) + "\n"
