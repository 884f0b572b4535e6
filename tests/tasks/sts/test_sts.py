"""Vectors of sentences without labels: what is read, learnt and measured, on a few made-up sentences."""

import random
from pathlib import Path

import pytest
import torch

from tasks.sts import __main__ as program
from tasks.sts import speed
from tasks.sts.__main__ import count_pairs
from tasks.sts.data import SETS, corpus, pad, pairs, vocabulary_of, words_of

WORDS = ["the", "a", "cat", "dog", "man", "sat", "ran", "saw", "on", "by", "mat", "log", "tree"]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as the public files have it."""
    rng = random.Random(0)

    def sentence() -> str:
        return " ".join(rng.choice(WORDS) for _ in range(rng.randint(4, 8)))

    for folder in ("sts", "ud", "language"):
        (tmp_path / folder).mkdir()
    (tmp_path / "sts" / "small_train.txt").write_text("\n".join(sentence() for _ in range(40)), encoding="utf-8")
    lines = [f"# sent_id = {i}\n# text = {sentence()}\n1\tx\n" for i in range(10)]
    (tmp_path / "ud" / "ewt-train.conllu").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "language" / "ptb.train.txt").write_text(" the <unk> sat on a mat \n", encoding="utf-8")
    for name in SETS:
        rows = [f"{sentence()},{sentence()},{rng.random():.2f}" for _ in range(8)]
        (tmp_path / "sts" / f"{name}.csv").write_text("\n".join(["sent1,sent2,score", *rows]), encoding="utf-8")
    monkeypatch.setenv("DGLTREE_DATA", str(tmp_path))
    return tmp_path


def test_words_and_sentences_are_read_in_one_way(data: Path) -> None:
    assert words_of("It's 5.") == ["it", "'", "s", "N", "."]
    small = corpus(data, ["small"], 10**9)
    assert len(small) == 40
    assert len(corpus(data, ["small", "ud", "ptb"], 10**9)) == 51
    assert corpus(data, ["ptb"], 10**9) == [["the", "sat", "on", "a", "mat"]]
    counts = [len(sentence) for sentence in small[:9]]
    for most in (sum(counts) - 1, sum(counts)):
        assert corpus(data, ["small", "ud"], most) == small[:9]
    assert corpus(data, ["small", "ud"], sum(counts) + 1) == small[:10]
    with pytest.raises(ValueError, match="the corpus is 'web'; it must be small, ud or ptb"):
        corpus(data, ["web"], 10)
    vocabulary = vocabulary_of(small, 5)
    assert len(vocabulary.tokens) == 6
    ids, lengths = pad(small[:3], vocabulary)
    assert ids.shape == (3, int(lengths.max()))
    first, second, scores = pairs(data / "sts" / "stsb_test.csv")
    assert len(first) == len(second) == len(scores) == 8


def test_counted_vectors_are_near_for_words_in_one_company() -> None:
    sentences = [["red", "x", "y"], ["blue", "x", "y"], ["p", "q", "green"], ["q", "p", "green"]] * 5
    vocabulary = vocabulary_of(sentences, 20)
    table = torch.nn.functional.normalize(count_pairs(sentences, vocabulary, 4))
    red, blue, green = (table[vocabulary.token_id(word)] for word in ("red", "blue", "green"))
    assert float(red @ blue) > 0.9 > 0.5 > float(red @ green)


@pytest.mark.parametrize(
    "network",
    [pytest.param(name, marks=pytest.mark.slow) if name == "banyan_apart" else name for name in program.NETWORKS]
    + ["counts"],
)
def test_the_command_prints_a_row_of_correlations(network: str, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    width = "256" if network.startswith("banyan") else "32"
    program.main(["--network", network, "--epochs", "1", "--hidden-size", width, "--words", "150", "--limit", "6"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(rows) == (1 if network == "counts" else 2)
    assert all(len(row.split("|")) == 11 for row in rows)


def test_sentences_that_are_kept_aside_are_not_trained_on(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def learn(model: object, sweep: object, training: list[int], validation: list[int], *_: object, **__: object):
        assert (len(training), len(validation)) == (36, 4)
        assert sorted([*training, *validation]) == list(range(40))
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "learn", learn)
    with pytest.raises(KeyboardInterrupt):
        program.main(["--network", "self_strae", "--corpora", "small", "--hidden-size", "32"])


def test_the_times_are_printed(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    speed.main(["--sentences", "5", "--times", "1"])
    assert "up and down" in capsys.readouterr().out
