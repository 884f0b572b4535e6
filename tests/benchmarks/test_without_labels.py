"""What vectors without labels save in labels, and tags in context: the commands run on a few trees."""

import random
from pathlib import Path

import pytest
import torch
from own_trees import QUIET, table

from benchmarks.sets import few_labels, tags, word_tags

pytest.importorskip("lightning", reason="the train extra is not installed")
pytestmark = QUIET


@pytest.mark.slow
def test_few_labels_prints_a_row_for_each_share(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trees.tsv"
    path.write_text(table(300), encoding="utf-8")
    few_labels.main([str(path), "--embed-epochs", "1", "--epochs", "1", "--draws", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert sum("of the labels" in line for line in lines) == 2
    assert sum(line.startswith(("  fit: ", "  fit --from: ")) for line in lines) == 4


def test_words_are_counted_without_dropout() -> None:
    torch.manual_seed(0)
    tagger = word_tags.Tagger("word", 40, 6, 8).train()
    ids = [torch.randint(2, 40, (12,)) for _ in range(20)]
    with torch.no_grad():
        tags = [scores.argmax(1) for scores in tagger.eval()(torch.stack(ids), torch.full((20,), 12))]
    assert word_tags._accuracy(tagger.train(), word_tags.Sentences(ids, tags)) == 1


@pytest.mark.slow
def test_tags_are_learnt_with_and_without_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(0)
    (tmp_path / "ud").mkdir()
    words = {"DET": ["the", "a"], "NOUN": ["cat", "dog", "mat"], "VERB": ["sat", "saw"]}
    for name, count in (("train", 30), ("dev", 10), ("test", 10)):
        blocks = []
        for _ in range(count):
            tagged = [("DET", 2), ("NOUN", 3), ("VERB", 0), ("DET", 5), ("NOUN", 3)][: rng.choice((3, 5))]
            rows = [
                f"{i}\t{rng.choice(words[tag])}\t_\t{tag}\t_\t_\t{head}\t{'dep' if head else 'root'}\t_\t_"
                for i, (tag, head) in enumerate(tagged, 1)
            ]
            blocks.append("\n".join(rows) + "\n")
        (tmp_path / "ud" / f"ewt-{name}.conllu").write_text("\n".join(blocks), encoding="utf-8")
    # roots of one tag alone are no two classes: half of them are nouns
    for name in ("train", "dev", "test"):
        path = tmp_path / "ud" / f"ewt-{name}.conllu"
        text = path.read_text(encoding="utf-8")
        path.write_text(text + "\n" + "1\tcat\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n" * 20, encoding="utf-8")
    monkeypatch.setenv("DGLTREE_DATA", str(tmp_path))
    tags.main(["--epochs", "1", "--hidden-size", "8"])
    out = "".join(capsys.readouterr())
    assert "3 tags" in out
    assert out.count("node_accuracy") == 2
    word_tags.main(["--epochs", "40", "--hidden-size", "16"])
    lines = capsys.readouterr().out.splitlines()
    last = [line for line in lines if "test" in line]
    assert [line.split(":")[0] for line in last] == list(word_tags.WAYS.values())
    assert all(float(line.split("test ")[1].split(",")[0]) > 0.9 for line in last), "a word has one tag here"
