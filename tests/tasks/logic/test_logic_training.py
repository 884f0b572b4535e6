"""The logic task at its smallest setting: every configuration, what a run leaves, resuming, comparing, showing."""

import json
from pathlib import Path

import command_line
import pytest
import torch

pytest.importorskip("lightning", reason="the train extra is not installed")

import dgltree
from dgltree import batch
from dgltree.encoders.bracket_scores import InducedBrackets
from dgltree.models import PairModel
from dgltree.read.bracket import read_unlabelled
from dgltree.trees.logic import RELATIONS
from tasks.fit_cli import NEVER, read_results
from tasks.logic import generate, show
from tasks.logic.__main__ import main
from tasks.logic.files import write_pairs
from tasks.logic.language import VOCABULARY

CONFIGS = sorted((Path(__file__).parents[3] / "tasks" / "logic" / "configs").glob("*.yaml"))
MEMORY = next(file for file in CONFIGS if file.stem == "ordered_memory")
SMALL = {"data.train_pairs": 60, "fit.batch_size": 20, "fit.hidden_size": 8, "fit.epochs": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logic")
    for (part, k), pairs in generate.pairs(seed=0, scale=0.002).items():
        write_pairs(folder, part, k, pairs)
    return folder


def run(folder: Path, out: Path, config: Path = MEMORY, **options: object) -> dict[str, float]:
    given = {name.replace("__", "."): value for name, value in options.items()}
    return command_line.fit(main, [config], out, {"data.folder": folder, **SMALL, **given})


@pytest.fixture(scope="module")
def trained(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained")
    run(folder, out)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=[file.stem for file in CONFIGS])
def test_every_configuration_runs(folder: Path, tmp_path: Path, config: Path) -> None:
    assert 0 <= run(folder, tmp_path, config, fit__epochs=1)["accuracy"] <= 1


@pytest.mark.slow
def test_a_run_leaves_its_curve_its_figures_and_its_model(folder: Path, trained: Path) -> None:
    epochs = [json.loads(line) for line in (trained / "epochs.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in epochs] == [0, 1]
    assert {"accuracy", "loss", "seconds"} < epochs[0].keys()
    found = read_results(trained)
    assert [key for key in found if "_" in key] == [f"operators_{k:02}" for k in range(7, 13)]
    assert "f1" in found
    assert (trained / "config.yaml").exists()
    model = dgltree.load(trained / "model.safetensors")
    assert isinstance(model, PairModel)
    assert model.classes == RELATIONS
    right = total = 0
    for (part, k), pairs in generate.pairs(seed=0, scale=0.002).items():
        if part == "test" and k > 6:
            trees = batch([read_unlabelled(text) for pair in pairs for text in pair[1:3]], VOCABULARY)
            given = model(trees).argmax(1).tolist()
            right += sum(pair.relation == RELATIONS[i] for pair, i in zip(pairs, given, strict=True))
            total += len(pairs)
    assert found["accuracy"] == pytest.approx(right / total)


@pytest.mark.slow
def test_a_run_of_fewer_epochs_continues_to_the_same_weights(folder: Path, trained: Path, tmp_path: Path) -> None:
    run(folder, tmp_path, fit__epochs=1)
    run(folder, tmp_path)
    ends = [torch.load(out / "last.ckpt", weights_only=True) for out in (tmp_path, trained)]
    assert all(torch.equal(a, b) for a, b in zip(*(end["state_dict"].values() for end in ends), strict=True))
    assert [json.loads(line)["epoch"] for line in (tmp_path / "epochs.jsonl").read_text().splitlines()] == [0, 1]


def test_the_training_is_that_of_the_paper(trained: Path) -> None:
    options = json.loads((trained / "card.json").read_text())["options"]
    given = {"optimizer": "adam", "beta1": 0.0, "eps": 1e-9, "weight_decay": 1.2e-6, "lr": 1e-3, "clip": 1.0}
    assert given.items() <= options.items()
    assert (options["halve_after"], options["batch_words"]) == (2, NEVER)


def test_brackets_are_those_of_the_words_without_the_bracket_tokens() -> None:
    class Right:
        """An encoder and a parse that find the tree that is given, with the brackets as tokens in it."""

        order = "unlabelled"

        def words(self, flat: dgltree.TreeBatch) -> list[dgltree.Tree]:
            return dgltree.unbatch(flat)

        def trees(self, given: list[dgltree.Tree]) -> list[dgltree.Tree]:
            return [
                tree.fold(lambda node, c: node if not c else dgltree.Tree("phrase", (word("("), *c, word(")"))))
                for tree in given
            ]

    def word(token: str) -> dgltree.Tree:
        return dgltree.Tree("word", token=token)

    found, trees = InducedBrackets(), [read_unlabelled("( ( not a ) ( and b ) )"), read_unlabelled("a")]
    found.update(Right(), batch(trees, VOCABULARY), Right())
    assert found.f1 == 1


def test_show_prints_the_tree_and_the_relation_and_draws(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="the plot extra is not installed")
    show.main(["( a ( and ( not b ) ) )", "a", f"--model={trained / 'model.safetensors'}", f"--out={tmp_path / 'out'}"])
    first, second, relations = capsys.readouterr().out.splitlines()
    assert first.endswith("of 3 brackets)")
    assert second == "a  (0 of 0 brackets)"
    probabilities = dict(pair.split(" ") for pair in relations.split("  "))
    assert probabilities.keys() == {*RELATIONS}
    assert sum(map(float, probabilities.values())) == pytest.approx(1, abs=0.01)
    kinds = [f"{n}-{what}.{kind}" for n in (1, 2) for what in ("attention", "trees") for kind in ("png", "svg")]
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == kinds


def test_a_model_that_reads_pairs_as_one_sequence_is_saved_and_shown(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = next(file for file in CONFIGS if file.stem == "transformer")
    run(folder, tmp_path, config, fit__epochs=1, fit__readout_size=8)
    model = dgltree.load(tmp_path / "model.safetensors")
    assert model.encoder.config["joint"]
    assert model.classes == RELATIONS
    capsys.readouterr()
    show.main(["a", "( not a )", f"--model={tmp_path / 'model.safetensors'}"])
    [relations] = capsys.readouterr().out.splitlines()
    assert {pair.split(" ")[0] for pair in relations.split("  ")} == {*RELATIONS}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["( a and b )"], "'( a and b )' is not a formula: a to f"),
        (["( a ( and g ) )"], "is not a formula"),
        (["a", "b", "c"], "3 formulas; give one, or two to compare"),
        (["a", "--model=nothing.safetensors"], "nothing.safetensors: no such file"),
    ],
)
def test_show_says_what_is_wrong(arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        show.main(arguments)
    assert error in f"{stopped.value}{capsys.readouterr().err}"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"fit__encoder": "memory"}, "the encoder is 'memory'; it must be one of"),
        (
            {"fit__options": "{order: unlabelled, num_slots: 0}"},
            "num_slots is 0; it must be a whole number, 1 or more",
        ),
        ({"fit__options": "{order: unlabelled, color: 3}"}, "has no option 'color'; its options are"),
        ({"fit__options": "{max_length: 5}"}, "has length .*; this encoder takes max_length=5"),
        (
            {"fit__options": "{joint: true}", "fit__encoder": "tree_lstm"},
            "tree_lstm has no option 'joint'; its options are",
        ),
    ],
)
def test_impossible_settings_are_refused(folder: Path, tmp_path: Path, options: dict[str, str], error: str) -> None:
    with pytest.raises(SystemExit, match=error):
        run(folder, tmp_path, **options)
