"""Targeted syntax: 19 rows, which sentence is compared with which, and unknown words."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
import torch

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree import Vocabulary
from dgltree.models import LanguageModel, save_language_model
from tasks.language.__main__ import main
from tasks.language.syntax import ROWS, SENTENCES, SyntaxItem, read_items, score_items


class Lengths(LanguageModel):
    """Longer sentences are more probable."""

    def log_probabilities(self, sentences):  # type: ignore[no-untyped-def]
        return torch.tensor([float(len(sentence)) for sentence in sentences])


@pytest.fixture
def model() -> LanguageModel:
    return Lengths(Vocabulary((), ["<eos>", "<unk>", "a", "b"], unk=True), "lstm", (4,))


def items() -> list[SyntaxItem]:
    return [
        SyntaxItem("simple_npi_anim", (["a"], ["a", "b"], ["a", "b", "c"])),
        SyntaxItem("simple_npi_inanim", (["a", "b", "a"], ["a", "b"], ["a"])),
        SyntaxItem("prep_anim", (["a", "b"], ["a"])),
        SyntaxItem("prep_inanim", (["a"], ["b"])),
        SyntaxItem("prep_inanim", (["a", "zz"], ["b"])),
    ]


def test_the_grammatical_sentence_must_be_the_more_probable(model: LanguageModel) -> None:
    scores = score_items(model, items())
    shares = {row.name: (scores.share(row), scores.share_of_known(row)) for row in ROWS if row.distance == "short"}
    for name in ("grammatical vs. intrusive", "intrusive vs. ungrammatical", "grammatical vs. ungrammatical"):
        assert shares[f"simple ({name})"] == (0.5, 1.0)
    [across] = [row for row in ROWS if row.name == "across a prepositional phrase"]
    assert (scores.share(across), scores.share_of_known(across)) == (pytest.approx(2 / 3), 0.5), "equal is not right"
    assert sum(scores.items.values()) - sum(scores.known.values()) == 2
    assert shares["short VP coordination"] == (None, None)


@pytest.mark.slow
def test_there_are_nineteen_rows_of_all_cases(published: Path) -> None:
    assert len(ROWS) == 19
    assert Counter(row.distance for row in ROWS) == {"short": 10, "long": 9}
    read = read_items(published / "language" / "syneval.jsonl.gz")
    assert len(read) == 158_084
    assert {item.case for item in read} == set(SENTENCES)


def test_the_command_prints_the_table(model: LanguageModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = LanguageModel(model.vocabulary, "lstm", (4,))
    save_language_model(plain, tmp_path / "m.safetensors")
    lines = [json.dumps({"case": item.case, "sentences": [" ".join(s) for s in item.sentences]}) for item in items()]
    (tmp_path / "items.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    main(["syntax", f"--model={tmp_path / 'm.safetensors'}", f"--items={tmp_path / 'items.jsonl.gz'}"])
    printed = capsys.readouterr().out
    assert printed.count("\n| ") == 19 + 1
    assert "2 of 5 items have a word that the model does not know" in printed


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("{", 'line 1: expected {"case": NAME, "sentences"'),
        ('{"case": "prep_anim", "sentences": [1, 2]}', "line 1: expected"),
        ('{"case": "prep_anim", "sentences": ["a"]}', "'prep_anim' with 1 sentences; cases are .*prep_anim with 2"),
        ('{"case": "other", "sentences": ["a", "b"]}', "line 1: 'other' with 2 sentences"),
        ("", "no items"),
    ],
)
def test_what_is_no_item_is_refused(tmp_path: Path, line: str, error: str) -> None:
    (tmp_path / "items.jsonl").write_text(line)
    with pytest.raises(ValueError, match=error):
        read_items(tmp_path / "items.jsonl")
