"""Trees of language models on the command line, and their F1 in validation."""

import json
import re
from pathlib import Path

import pytest
import torch

pytest.importorskip("lightning", reason="the train extra is not installed")

from sample import fit, write_text

from dgltree import Vocabulary
from dgltree.commands.main import main as dgltree_main
from dgltree.models import LanguageModel, save_language_model
from dgltree.read.bracket import read_unlabelled
from dgltree.read.words import words_of
from tasks.language.__main__ import main

TREES = """( (S (NP (DT The) (JJ old) (NN cat)) (VP (VBZ sleeps) (ADVP (RB now))) (. .)) )
( (S (NP (DT A) (NN dog)) (VP (VBZ eats) (NP (-NONE- *)))) )
( (X (-NONE- *)) )
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("trees")
    (made / "trees.mrg").write_text(TREES)
    torch.manual_seed(0)
    words = Vocabulary((), ["<eos>", "<unk>", "the", "old", "cat", "sleeps", "now", "N"], unk=True)
    for layers, options in (("on_lstm", {"chunk_size": 2}), ("lstm", None)):
        save_language_model(LanguageModel(words, layers, (8, 8, 8), options), made / f"{layers}.safetensors")
    return made


def test_layers_and_baselines_are_scored(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["parse", f"--model={folder / 'on_lstm.safetensors'}", f"--trees={folder / 'trees.mrg'}"])
    printed = capsys.readouterr().out
    assert "trees.mrg: 1 trees without a word are left out" in printed
    assert re.findall(r"^\| (layer \d)", printed, re.MULTILINE) == ["layer 1", "layer 2", "layer 3"]
    main(["parse", "--model", *[str(folder / "on_lstm.safetensors")] * 2, f"--trees={folder / 'trees.mrg'}"])
    assert len(re.findall(r"^\| layer \d \| [\d.]+ ± 0.0 \|", capsys.readouterr().out, re.MULTILINE)) == 3
    main(["baselines", f"--trees={folder}", "--longest=3"])
    printed = capsys.readouterr().out
    assert "1 sentences" in printed
    rows = dict(re.findall(r"^\| ([\w-]+) \| ([\d.]+) ", printed, re.MULTILINE))
    assert rows.keys() == {"balanced", "left-branching", "right-branching", "random"}
    assert (rows["left-branching"], rows["right-branching"]) == ("100.0", "0.0")


def test_f1_of_every_epoch_is_in_its_report(folder: Path, tmp_path: Path) -> None:
    fit(write_text(tmp_path), tmp_path / "run", trainer__max_epochs=1, data__trees=folder)
    [row] = [json.loads(line) for line in (tmp_path / "run" / "epochs.jsonl").read_text().splitlines()]
    assert {"f1_layer_1", "f1_layer_2"} <= row.keys()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["parse", "--model=lstm.safetensors", "--trees=trees.mrg"], "'lstm', which compute no distances; use on_lstm"),
        (["parse", "--model=on_lstm.safetensors", "--trees=none.mrg"], "none.mrg"),
        (["baselines", "--trees=trees.mrg", "--longest=2"], "none of 2 sentences has 2 words or fewer"),
    ],
)
def test_what_cannot_be_scored_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], error: str
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit, match=error):
        main(arguments)


def test_dgltree_parse_prints_and_draws_trees(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="the plot extra is not installed")
    file, model = tmp_path / "s.txt", str(folder / "on_lstm.safetensors")
    file.write_text(f"The old, fat cat sleeps 3 hours.\n\nCat!\n{'a' * 10_000} (cat)\n")
    assert dgltree_main(["parse", model, str(file), "--out", str(tmp_path / "pictures")]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert words_of(read_unlabelled(lines[0])) == ["The", "old", "fat", "cat", "sleeps", "3", "hours"]
    assert lines[1:3] == ["", "Cat"]
    assert len(words_of(read_unlabelled(lines[3]))) == 2
    assert len(lines[3]) < 100
    assert "3 sentences; 3 of 10 words unknown" in printed.err
    assert {path.name for path in (tmp_path / "pictures").iterdir()} == {
        f"{n}.{kind}" for n in (1, 2, 3) for kind in ("png", "svg")
    }
    lowest = [dgltree_main(["parse", model, str(file), "--layer", str(n)]) for n in (1, 3)]
    assert lowest == [0, 0]


@pytest.mark.parametrize(("layers", "middle"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_dgltree_parse_reads_the_middle_layer_unless_told_another(
    layers: int, middle: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.manual_seed(1)
    words = Vocabulary((), ["<eos>", "<unk>", *"abcdefgh"], unk=True)
    save_language_model(LanguageModel(words, "on_lstm", (8,) * layers, {"chunk_size": 1}), tmp_path / "model")
    (tmp_path / "text").write_text("a b c d e f g h\nh g f e d c b a\nb d a c f h e g\n", encoding="utf-8")
    given = ["parse", str(tmp_path / "model"), str(tmp_path / "text")]

    def printed(*options: str) -> str:
        assert dgltree_main([*given, *options]) == 0
        return capsys.readouterr().out

    of_layers = [printed("--layer", str(n)) for n in range(1, layers + 1)]
    assert len(set(of_layers)) == layers
    assert printed() == of_layers[middle - 1]


def test_dgltree_parse_refuses_in_one_line(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.txt"
    file.write_text(" \n--\n")
    model = str(folder / "on_lstm.safetensors")
    assert dgltree_main(["parse", model, str(file)]) == 1
    assert "no words; expected one sentence per line" in capsys.readouterr().err
    file.write_text("the cat")
    assert dgltree_main(["parse", model, str(file), "--layer", "4"]) == 1
    assert "--layer is 4; the model has layers 1 to 3" in capsys.readouterr().err
    assert dgltree_main(["parse", str(folder / "lstm.safetensors"), str(file)]) == 1
    assert "which compute no distances; use on_lstm" in capsys.readouterr().err


def test_parse_prints_the_trees_of_an_encoder_that_fit_trained_over_words_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nouns = [("cat", "a"), ("dog", "b")] * 15
    rows = [f"the {noun} sees the sentence w{i // 2}\t{label}" for i, (noun, label) in enumerate(nouns)]
    table = tmp_path / "sentences.tsv"
    table.write_text("tree\tlabel\n" + "\n".join(rows) + "\n")
    how = ["--notation", "words", "--hidden-size", "8", "--epochs", "1", "--no-baseline", "--no-cache"]
    for name in ("gumbel_tree", "tree_lstm"):
        more = ["--options", '{"typed": false}'] if name == "tree_lstm" else []
        assert dgltree_main(["fit", str(table), "--encoder", name, *how, *more, "--out", str(tmp_path / name)]) == 0
    (tmp_path / "new.txt").write_text("the sentence sees a cat\nthe dog\n")
    capsys.readouterr()
    assert dgltree_main(["parse", str(tmp_path / "gumbel_tree"), str(tmp_path / "new.txt")]) == 0
    trees = [words_of(read_unlabelled(line)) for line in capsys.readouterr().out.splitlines()]
    assert trees == [["the", "sentence", "sees", "<unk>", "cat"], ["the", "dog"]]
    for model, more, message in [
        ("tree_lstm", [], "its encoder induces no trees; use gumbel_tree, beam_tree or ordered_memory"),
        ("gumbel_tree", ["--layer", "1"], "--layer is for a language model"),
    ]:
        assert dgltree_main(["parse", str(tmp_path / model), str(tmp_path / "new.txt"), *more]) == 1
        assert message in capsys.readouterr().err
