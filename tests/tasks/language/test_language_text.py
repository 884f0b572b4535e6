"""Running text: streams in columns, parts, and what is no such text."""

from pathlib import Path

import pytest
import torch

pytest.importorskip("lightning", reason="the train extra is not installed")

from sample import write_text

from dgltree.datasets.batches import epoch_generator
from tasks.language.data import LanguageText, draw_lengths
from tasks.language.text import columns, parts, read_sentences, stream, vocabulary_of


def test_a_text_is_its_words_with_an_end_behind_each_line(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(" b a \n\n \na <unk>\n", encoding="utf-8")
    sentences = read_sentences(file)
    vocabulary = vocabulary_of(sentences)
    assert vocabulary.tokens == ("b", "a", "<eos>", "<unk>")
    assert stream(file, [["a", "new"], ["b"]], vocabulary).tolist() == [1, 3, 2, 0, 2]


def test_columns_are_stretches_and_parts_follow_one_another() -> None:
    text = columns(torch.arange(23), 3)
    assert text.tolist() == [list(range(7)), list(range(7, 14)), list(range(14, 21))]
    found = parts(text, [2, 3, 9, 9])
    assert torch.equal(torch.cat([words for words, _ in found], 1), text[:, :-1])
    assert torch.equal(torch.cat([following for _, following in found], 1), text[:, 1:])
    assert [words.shape[1] for words, _ in found] == [2, 3, 1]


def test_lengths_of_parts_are_those_of_the_paper_and_of_seed_and_epoch() -> None:
    lengths = torch.tensor(draw_lengths(200_000, 70, epoch_generator(0, 3))).double()
    assert lengths.sum() >= 200_000 > lengths[:-1].sum()
    halved = lengths < 52
    assert 0.03 < halved.double().mean() < 0.07
    assert abs(lengths[~halved].mean() - 69.5) < 0.5, "the noise is rounded down"
    assert 4.5 < lengths[~halved].std() < 5.5
    assert lengths.min() >= 5
    assert min(draw_lengths(1000, 2, epoch_generator(0, 0))) == 5
    assert draw_lengths(900, 70, epoch_generator(0, 1)) == draw_lengths(900, 70, epoch_generator(0, 1))
    assert draw_lengths(900, 70, epoch_generator(0, 1)) != draw_lengths(900, 70, epoch_generator(0, 2))


def test_a_last_word_alone_is_not_trained_on(tmp_path: Path) -> None:
    data = LanguageText(write_text(tmp_path), batch_size=2, part_length=6)
    data.trainer = type("Trainer", (), {"current_epoch": 0, "global_rank": 0, "world_size": 1})()  # type: ignore[assignment]
    data.train = torch.arange(2 * 8).view(2, 8)
    for epoch in range(20):
        data.trainer.current_epoch = epoch
        assert all(words.shape[1] > 1 for words, _ in data.train_dataloader())


def test_the_published_text_has_its_published_size(published: Path) -> None:
    data = LanguageText(published / "language")
    assert len(data.vocabulary.tokens) == 10_000
    assert (data.train.shape, data.validation.shape, data.test.shape) == ((20, 46479), (10, 7376), (1, 82430))


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("\n \n", "has no words; expected one sentence per line"),
        ("( (S (NP (DT the) (NN cat)) (VP (VBZ sleeps))) )", "line 1: a bracketed tree; expected words between spaces"),
        ("the cat\n" + "a" * 10_000, r"line 2: a word of 10,000 letters, 'a+ \.\.\. a+'; expected words"),
        (b"\x1f\x8b\x08\xff", "is not UTF-8 text"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, content: str | bytes, error: str) -> None:
    file = tmp_path / "ptb.train.txt"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=error) as refused:
        _ = LanguageText(tmp_path).vocabulary
    assert str(file) in str(refused.value)
    assert len(str(refused.value)) < 700


def test_other_files_and_sizes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match=r"ptb.train.txt: no such file; the folder holds NAME.train.txt"):
        _ = LanguageText(tmp_path).vocabulary
    with pytest.raises(ValueError, match=r"batch sizes and part_length are .*; 1 or more"):
        LanguageText(tmp_path, part_length=0)
    with pytest.raises(ValueError, match="a text of 7 words in 4 columns; expected two words or more in each"):
        columns(torch.arange(7), 4)
    monkeypatch.delenv("DGLTREE_DATA", raising=False)
    with pytest.raises(ValueError, match=r"no folder of data: give --data.folder, or set DGLTREE_DATA"):
        LanguageText()


def test_words_of_another_text_are_refused(tmp_path: Path) -> None:
    file, known = tmp_path / "b.txt", [["a", "<unk>", "b"]]
    with pytest.raises(ValueError, match=r"b.txt: 2 of 4 words are not in the training text, the first 'Der'"):
        stream(file, [["Der", "Hund", "a"]], vocabulary_of(known))
    with pytest.raises(ValueError, match="1 of 9 words are not in the training text, the first 'c'"):
        stream(file, [["a"] * 7 + ["c"]], vocabulary_of([["a", "b"]]))
