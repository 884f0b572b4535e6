"""Sets of the published data of the papers and of Universal Dependencies."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.sets.records import LabelledRecord
from dgltree.read.conllu import COLUMNS

MAX_WORDS = 120
"""Words of a ListOps expression."""
PRESENT = {"VerbForm": "Fin", "Tense": "Pres", "Person": "3"}
MOST_WORDS = 60
_FORM, _FEATS = (COLUMNS.index(name) for name in ("form", "feats"))
_UNSEEN = [COLUMNS.index(name) for name in ("lemma", "xpos", "feats", "misc")]


def listops(data: Path) -> Iterator[LabelledRecord]:
    """ListOps with its many arguments next to each other."""
    for number, line in enumerate((data / "listops" / "test_d20s.tsv").read_text(encoding="utf-8").splitlines()):
        label, text = line.split("\t")
        words = [word for word in text.split() if word not in "()"]
        if len(words) <= MAX_WORDS:
            yield LabelledRecord(label, (" ".join(words).replace("[", "(").replace("]", ")"),), str(number))


def logic(data: Path) -> Iterator[LabelledRecord]:
    """Pairs of logic with two to four operators; what has one left side is a group."""
    for operators in (2, 3, 4):
        for line in (data / "logic" / f"train{operators}").read_text(encoding="utf-8").splitlines():
            label, left, right = line.split("\t")
            yield LabelledRecord(label, (left, right), left)


def agreement(data: Path) -> Iterator[LabelledRecord]:
    """Sentences in CoNLL-U whose first finite verb in the present, third person, is masked, and its number.

    A document is a group.
    """
    for split in ("train", "dev", "test"):
        for block in (data / "ud" / f"ewt-{split}.conllu").read_text(encoding="utf-8").split("\n\n"):
            lines = block.splitlines()
            rows = [line.split("\t") for line in lines if line[:1].isdigit()]
            rows = [row for row in rows if row[0].isdigit()]  # no ranges, no empty nodes
            features = [dict(one.split("=") for one in row[_FEATS].split("|") if "=" in one) for row in rows]
            finite = [i for i, of in enumerate(features) if PRESENT.items() <= of.items() and "Number" in of]
            if finite and len(rows) <= MOST_WORDS:
                rows[finite[0]][_FORM] = "<verb>"
                for row in rows:
                    for column in _UNSEEN:
                        row[column] = "_"
                document = next(line for line in lines if line.startswith("# sent_id")).rsplit("-", 1)[0]
                text = "".join("\t".join(row) + "\n" for row in rows)
                yield LabelledRecord(features[finite[0]]["Number"], (text,), document.partition("= ")[2])
