"""The ListOps task at its smallest setting: every configuration, and what a run reports."""

from pathlib import Path

import command_line
import pytest
import yaml

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree.encoders import SEQUENCE_ENCODERS, InducingCore
from tasks.compare import _short
from tasks.listops import generate
from tasks.listops.__main__ import main
from tasks.listops.data import ROOTS, ListOps
from tasks.listops.files import write_expressions
from tasks.listops.variants import HEADS

CONFIGS = sorted((Path(__file__).parents[3] / "tasks" / "listops" / "configs").glob("*.yaml"))


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=[file.stem for file in CONFIGS])
def test_every_configuration_runs_and_reports_by_length(tmp_path: Path, config: Path) -> None:
    given = {"data.count": 200, "fit.batch_size": 50, "fit.hidden_size": 16, "fit.epochs": 1}
    figures = command_line.fit(main, [config], tmp_path, given)
    assert {"accuracy", "length_020", "length_040"} <= figures.keys()
    core = SEQUENCE_ENCODERS.get(yaml.safe_load(config.read_text("utf-8"))["fit"]["encoder"])
    assert ("f1" in figures) == (core is not None and issubclass(core, InducingCore))


def test_our_own_sets_are_tested_each_by_itself_and_the_table_says_so(tmp_path: Path) -> None:
    given = {"data.count": 100, "data.set_size": 5, "fit.hidden_size": 4, "fit.epochs": 1}
    [config] = [file for file in CONFIGS if file.stem == "balanced_tree"]
    figures = command_line.fit(main, [config], tmp_path / "more", {**given, "data.sets": "[length_200,arguments_10]"})
    assert {"length_200_set", "arguments_10_set"} <= figures.keys()
    alone = command_line.fit(main, [config], tmp_path / "alone", given)
    assert alone["accuracy"] == figures["accuracy"]
    assert _short("length_200_set", HEADS) == "200 to 300 words (our set, ± 1)"
    assert _short("length_200", HEADS) == "200"


def test_expressions_are_told_apart_by_length_by_the_operator_at_the_root_and_flat_lists_by_theirs(
    tmp_path: Path,
) -> None:
    made = [expression for expression in generate.expressions(300, seed=3) if expression.length > 1]
    write_expressions(tmp_path / "test.tsv", made)
    sets = ListOps(count=100, test=tmp_path / "test.tsv").sets()
    test, parts = sets.tests["test"], sets.parts
    texts = [
        [node.token for node in tree.preorder() if node.token] for tree, _ in map(test.__getitem__, range(len(made)))
    ]
    assert sorted(texts) == sorted(text.split() for text, _ in made)
    assert [len(words) for words in texts] == sorted(map(len, texts))
    for operator in ("min", "max", "med", "sm"):
        root = [text for text, _ in made if text.startswith(f"[{operator.upper()} ")]
        assert len(parts[f"root_{operator}"]) == len(root)
        assert len(parts[f"flat_{operator}"]) == sum(text.count("[") == 1 for text in root)
    assert sum(len(parts[name]) for name in parts if name.startswith("length_")) == len(made)
    short = sum(expression.length <= 20 for expression in made)
    assert len(parts["length_020"]) == short


def test_the_accuracies_by_operator_add_up_to_that_of_all_lists(tmp_path: Path) -> None:
    made = [expression for expression in generate.expressions(150, seed=3) if expression.length > 1]
    write_expressions(tmp_path / "test.tsv", made)
    [config] = [file for file in CONFIGS if file.stem == "tree_lstm"]
    given = {"data.count": 200, "data.test": tmp_path / "test.tsv", "fit.hidden_size": 4, "fit.epochs": 1}
    found = command_line.fit(main, [config], tmp_path / "run", given)
    counts = {name: sum(text.startswith(f"{word} ") for text, _ in made) for name, word in ROOTS.items()}
    assert sum(found[name] * count for name, count in counts.items() if count) == pytest.approx(
        found["accuracy"] * len(made), abs=1e-3
    )
