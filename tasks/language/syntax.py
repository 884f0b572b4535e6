"""``python -m tasks.language syntax --model FILE``: targeted syntactic evaluation (Marvin & Linzen 2018).

Counts how often a grammatical sentence is more probable than a sentence that differs only in grammar. The rows are
those of table 3 of the ON-LSTM paper (Shen et al. 2019, arXiv 1810.09536).
"""

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from tqdm import tqdm

from dgltree.models import LanguageModel, load_language_model
from tasks.data import data_folder
from tasks.tables import table

BLOCK = 2000
"""Items that are scored together."""
FULL_STOP = "."
PAIR = (0, 1)
"""The grammatical and the ungrammatical sentence; an item with three has the intrusive one between them."""
NPI = {
    "grammatical vs. intrusive": (0, 1),
    "intrusive vs. ungrammatical": (1, 2),
    "grammatical vs. ungrammatical": (0, 2),
}


class SyntaxRow(NamedTuple):
    """A row of the table: of which cases, and which two sentences of an item are compared."""

    distance: str
    phenomenon: str
    name: str
    cases: tuple[str, ...]
    compared: tuple[int, int] = PAIR


def _both(case: str) -> tuple[str, ...]:
    return f"{case}_anim", f"{case}_inanim"


def _rows() -> Iterator[SyntaxRow]:
    agreement = "subject-verb agreement"
    reflexives = "reflexive anaphora"
    npi = "negative polarity items"
    yield SyntaxRow("short", agreement, "simple", ("simple_agrmt",))
    yield SyntaxRow("short", agreement, "in a sentential complement", ("sent_comp",))
    yield SyntaxRow("short", agreement, "short VP coordination", ("vp_coord",))
    yield SyntaxRow("short", agreement, "in an object relative clause", _both("obj_rel_within"))
    yield SyntaxRow("short", agreement, "in an object relative (no that)", _both("obj_rel_no_comp_within"))
    yield SyntaxRow("short", reflexives, "simple", ("simple_reflexives",))
    yield SyntaxRow("short", reflexives, "in a sentential complement", ("reflexive_sent_comp",))
    for name, compared in NPI.items():
        yield SyntaxRow("short", npi, f"simple ({name})", _both("simple_npi"), compared)
    yield SyntaxRow("long", agreement, "long VP coordination", ("long_vp_coord",))
    yield SyntaxRow("long", agreement, "across a prepositional phrase", _both("prep"))
    yield SyntaxRow("long", agreement, "across a subject relative clause", ("subj_rel",))
    yield SyntaxRow("long", agreement, "across an object relative clause", _both("obj_rel_across"))
    yield SyntaxRow("long", agreement, "across an object relative (no that)", _both("obj_rel_no_comp_across"))
    yield SyntaxRow("long", reflexives, "across a relative clause", ("reflexives_across",))
    for name, compared in NPI.items():
        yield SyntaxRow("long", npi, f"across a relative clause ({name})", _both("npi_across"), compared)


ROWS = tuple(_rows())
SENTENCES = {case: 1 + max(row.compared[1] for row in ROWS if case in row.cases) for row in ROWS for case in row.cases}
"""How many each item of a case has."""


class SyntaxItem(NamedTuple):
    """Sentences that differ in grammar alone, the grammatical one first."""

    case: str
    sentences: tuple[list[str], ...]


@dataclass
class Scores:
    """How often the first of two compared sentences was the more probable one, by row, and what was in the items."""

    items: dict[str, int]
    """Items by case."""
    known: dict[str, int]
    """Items without an unknown word, by case."""
    right: dict[SyntaxRow, int]
    right_of_known: dict[SyntaxRow, int]

    def share(self, row: SyntaxRow) -> float | None:
        """0 to 1; None for a row without an item."""
        return _share(row, self.right, self.items)

    def share_of_known(self, row: SyntaxRow) -> float | None:
        return _share(row, self.right_of_known, self.known)


def read_items(file: Path) -> list[SyntaxItem]:
    """The items of a file of JSON lines ``{"case": ..., "sentences": [...]}``, which may be packed by gzip.

    Raises ``ValueError`` with the line for what is not an item or has an unknown case, and ``FileNotFoundError``.
    """
    items = []
    with _opened(file) as lines:
        for number, line in enumerate(lines, 1):
            try:
                read = json.loads(line)
                case = read["case"]
                sentences = tuple(sentence.split() for sentence in read["sentences"])
            except (ValueError, TypeError, KeyError, AttributeError):
                raise ValueError(
                    f'{file}, line {number}: expected {{"case": NAME, "sentences": [TEXT, TEXT]}}'
                ) from None
            if SENTENCES.get(case) != len(sentences) or not all(sentences):
                expected = ", ".join(f"{name} with {count}" for name, count in SENTENCES.items())
                raise ValueError(
                    f"{file}, line {number}: {case!r} with {len(sentences)} sentences; cases are {expected}"
                )
            items.append(SyntaxItem(case, sentences))
    if not items:
        raise ValueError(f"{file}: no items")
    return items


def _opened(file: Path) -> IO[str]:
    return gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8")


def score_items(model: LanguageModel, items: Sequence[SyntaxItem]) -> Scores:
    """Score the sentences, with a final full stop if the model knows it; each distinct one once."""
    end = [FULL_STOP] if model.vocabulary.knows_token(FULL_STOP) else []
    distinct = list({tuple(sentence): None for item in items for sentence in item.sentences})
    log_probability: dict[tuple[str, ...], float] = {}
    for start in tqdm(range(0, len(distinct), BLOCK), unit="block", disable=None):
        block = distinct[start : start + BLOCK]
        log_probability.update(zip(block, model.log_probabilities([[*s, *end] for s in block]).tolist(), strict=True))
    found = Scores(Counter(), Counter(), Counter(), Counter())
    rows = {case: [row for row in ROWS if case in row.cases] for case in SENTENCES}
    for item in items:
        known = not any(map(model.unknown, item.sentences))
        found.items[item.case] += 1
        found.known[item.case] += known
        scores = [log_probability[tuple(sentence)] for sentence in item.sentences]
        for row in rows[item.case]:
            right = scores[row.compared[0]] > scores[row.compared[1]]
            found.right[row] += right
            found.right_of_known[row] += right and known
    return found


def report(scores: Scores) -> list[str]:
    """A Markdown table, with the items of each row and the share of those of known words alone."""
    body = []
    for row in ROWS:
        counts = [sum(of[case] for case in row.cases) for of in (scores.items, scores.known)]
        shares = [_text(scores.share(row)), f"{counts[0]:,}", _text(scores.share_of_known(row)), f"{counts[1]:,}"]
        body.append([f"{row.distance}, {row.phenomenon}: {row.name}", *shares])
    return table(["case", "accuracy", "items", "known words only", "items"], body)


def main(_: str, arguments: list[str]) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tasks.language syntax", description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="model.safetensors of a training")
    parser.add_argument("--items", type=Path, help="syneval.jsonl.gz (default: the one in the folder of DGLTREE_DATA)")
    options = parser.parse_args(arguments)
    scores = score_items(
        load_language_model(options.model), read_items(options.items or data_folder("language") / "syneval.jsonl.gz")
    )
    print("\n".join(report(scores)))
    items = sum(scores.items.values())
    known = sum(scores.known.values())
    print(f"\n{items - known:,} of {items:,} items have a word that the model does not know, and read it as <unk>")


def _share(row: SyntaxRow, right: dict[SyntaxRow, int], items: dict[str, int]) -> float | None:
    count = sum(items[case] for case in row.cases)
    return right[row] / count if count else None


def _text(share: float | None) -> str:
    return "" if share is None else f"{share:.2f}"
