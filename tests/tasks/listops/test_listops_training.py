"""The ListOps task at its smallest setting: every configuration, and what a run reports."""

import json
from pathlib import Path

import command_line
import pytest
import torch

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree.encoders import SEQUENCE_ENCODERS, InducingCore
from tasks.compare import _short
from tasks.listops import generate
from tasks.listops.__main__ import main
from tasks.listops.data import ListOps
from tasks.listops.files import write_expressions
from tasks.listops.operators import by_operator
from tasks.listops.variants import HEADS

CONFIGS = sorted((Path(__file__).parents[3] / "tasks" / "listops" / "configs").glob("*.yaml"))


@pytest.mark.parametrize("config", CONFIGS, ids=[file.stem for file in CONFIGS])
def test_every_configuration_runs_and_reports_by_length(tmp_path: Path, config: Path) -> None:
    given = {"data.count": 200, "data.batch_size": 50, "model.hidden_size": 16, "trainer.max_epochs": 1}
    command_line.run(main, "fit", [config], {**given, "trainer.default_root_dir": tmp_path})
    figures = json.loads((tmp_path / "test.json").read_text())
    assert {"accuracy", "length_20_accuracy", "length_40_accuracy"} <= figures.keys()
    core = SEQUENCE_ENCODERS.get(config.stem)
    assert ("f1" in figures) == (core is not None and issubclass(core, InducingCore))


def test_our_own_sets_are_tested_each_by_itself_and_the_table_says_so(tmp_path: Path) -> None:
    given = {"data.count": 100, "data.set_size": 5, "model.hidden_size": 4, "trainer.max_epochs": 1}
    sets = {"data.sets": "[length_200,arguments_10]", "trainer.default_root_dir": tmp_path}
    [config] = [file for file in CONFIGS if file.stem == "balanced_tree"]
    command_line.run(main, "fit", [config], {**given, **sets})
    figures = json.loads((tmp_path / "test.json").read_text())
    assert {"length_200_set", "arguments_10_set"} <= figures.keys()
    alone = json.loads((tmp_path / "test.json").read_text())["accuracy"]
    command_line.run(main, "fit", [config], {**given, "trainer.default_root_dir": tmp_path / "alone"})
    assert json.loads((tmp_path / "alone" / "test.json").read_text())["accuracy"] == alone
    assert _short("length_200_set", HEADS) == "200 to 300 words (our set, ± 1)"


def test_expressions_are_told_apart_by_the_operator_at_the_root_and_flat_lists_by_theirs() -> None:
    made = generate.expressions(300, seed=3)
    found = by_operator(ListOps(count=100).labelled(made).trees)
    for operator in ("min", "max", "med", "sm"):
        root = [text.startswith(f"[{operator.upper()} ") for text, _ in made]
        assert found[f"root_{operator}"].tolist() == root
        flat = [is_root and text.count("[") == 1 for (text, _), is_root in zip(made, root, strict=True)]
        assert found[f"flat_{operator}"].tolist() == flat
        assert 0 < sum(flat) < sum(root)


def test_the_accuracies_by_operator_add_up_to_that_of_all_lists(tmp_path: Path) -> None:
    made = [expression for expression in generate.expressions(150, seed=3) if expression.length > 1]
    write_expressions(tmp_path / "test.tsv", made)
    [config] = [file for file in CONFIGS if file.stem == "tree_lstm"]
    given = {"data.count": 200, "data.test": tmp_path / "test.tsv", "model.hidden_size": 4, "trainer.max_epochs": 1}
    command_line.run(main, "fit", [config], {**given, "trainer.default_root_dir": tmp_path})
    figures = json.loads((tmp_path / "test.json").read_text())
    parts = by_operator(ListOps(count=100).labelled(made).trees)
    right = sum(figures[name] * float(rows.sum()) for name, rows in parts.items() if name.startswith("root_"))
    assert right == pytest.approx(figures["accuracy"] * len(made), abs=1e-3)
    assert torch.stack([rows for name, rows in parts.items() if name in figures]).any(0).all()
