"""A folder is of one training: each option and each part of the data, changed alone, makes it another one's.

The same values tell whether each option of the command reaches the training.
"""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgltree import Tree, TreeDataset
from dgltree.commands import compare, fit
from dgltree.commands.reading_options import read_given
from dgltree.datasets.settings import Reading
from dgltree.training.folder import SETTINGS_FILE, WEIGHTS, digest_of, is_finished
from dgltree.training.options import FitOptions

OTHERS: dict[str, Any] = {
    "encoder": "lstm", "hidden_size": 7, "input_size": 5, "options": {"num_layers": 2}, "task": "pair", "nodes": True,
    "label_scale": "log", "readout": "gelu_pair", "readout_size": 3, "dropout": 0.25, "input_dropout": 0.25,
    "token_dropout": 2.0, "min_count": 3, "unk": False, "token_parts": True, "epochs": 3, "patience": 2, "lr": 0.5,
    "warmup": 4, "halve_after": 3, "weight_decay": 0.5, "optimizer": "sgd", "beta1": 0.5, "eps": 0.5, "clip": 2.0,
    "averaging": 0.5, "token_range": 0.5, "vectors": "words.txt", "from_": "runs/other", "frozen": True,
    "batch_nodes": 99, "seed": 5, "batch_size": 9, "device": "cpu", "devices": 2, "machines": 2, "threads": 3,
    "precision": "bf16-mixed",
    "accumulate": 2, "max_time": "00:00:01:00", "class_weights": "balanced", "threshold": "a=0.5", "log": "csv",
    "baseline": "fast", "no_baseline": True, "split_of": "runs/other",
}  # fmt: skip
TOGETHER = {"schedule": {"schedule": "cosine", "epochs": 3}, "batch_words": {"batch_words": 50, "batch_size": 9}}
"""Options that need another one."""
CONTINUED = {
    *("threads", "epochs", "max_time", "log", "baseline", "no_baseline", "split_of", "threshold", "devices", "machines")
}
"""Options that may change when a training continues: they change none of its epochs."""


def test_every_option_is_here() -> None:
    assert {*OTHERS, *TOGETHER} == {field.name for field in fields(FitOptions)}
    plain = FitOptions()
    assert [name for name, value in OTHERS.items() if getattr(plain, name) == value] == []


@pytest.mark.parametrize("name", [*OTHERS, *TOGETHER])
def test_an_option_alone_makes_another_training_or_continues_it(name: str, tmp_path: Path) -> None:
    first, changed = FitOptions(), FitOptions(**TOGETHER.get(name, {name: OTHERS.get(name)}))
    assert not is_finished(tmp_path, first, "digest")
    (tmp_path / WEIGHTS).touch()
    before = (tmp_path / SETTINGS_FILE).read_bytes()
    if name in CONTINUED:
        assert not is_finished(tmp_path, changed, "digest")
    else:
        with pytest.raises(ValueError, match=rf"holds another training run \(.*{name}[ .].*\); give another --out"):
            is_finished(tmp_path, changed, "digest")
    assert (tmp_path / SETTINGS_FILE).read_bytes() == before


def spelt(given: dict[str, Any]) -> list[str]:
    """The arguments of a command."""
    arguments = []
    for option, value in given.items():
        flag = option.strip("_").replace("_", "-")
        if isinstance(value, bool):
            arguments.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            arguments += [f"--{flag}", json.dumps(value) if isinstance(value, dict) else str(value)]
    return arguments


@pytest.mark.parametrize("name", [*OTHERS, *TOGETHER])
def test_an_option_of_the_command_reaches_the_training(name: str) -> None:
    given = TOGETHER.get(name, {name: OTHERS.get(name)})
    settings = fit._settings(fit._parse(["trees.tsv", *spelt(given)]))
    assert FitOptions(**settings) == FitOptions(**given)


READ: dict[str, Any] = {
    "notation": "json", "tree": "a", "left": "a", "right": "a", "label": "a", "label_from": "a", "missing": "a",
    "split": "a", "split_from": "a", "group_by": "a", "features": "a", "id": "a", "drop": "a", "columns": "a",
    "schema": "a.json", "keys": "type,args,name", "node": "upos", "word": "lemma", "unit": "function",
    "numbers": False, "dates": False, "binarize": "left", "max_line": 9,
}  # fmt: skip


@pytest.mark.parametrize("name", [field.name for field in fields(Reading)])
def test_a_setting_of_reading_reaches_fit_and_compare(name: str) -> None:
    arguments = ["trees.tsv", *spelt({name: READ[name]})]
    expected = {**{field.name: field.default for field in fields(Reading)}, name: READ[name]}
    assert read_given(fit._parse(arguments)) == expected
    assert read_given(compare._parse([*arguments, "--encoders", "grc,tree_rnn"])) == expected


PLAIN = {"function": "f", "token": "a", "value": 1.0, "at node": None, "label": "yes", "id": "1", "group": "g"}
OTHER_PARTS = {"function": "g", "token": "b", "value": 2.0, "at node": "x", "label": "no", "id": "3", "group": "h"}


def data(**changed: Any) -> TreeDataset:
    """Two trees, with one part that is another."""
    part = PLAIN | changed
    leaves = Tree("w", token=part["token"]), Tree("n", value=part["value"], label=part["at node"])
    trees, groups = [Tree(part["function"], leaves), Tree("w", token="b")], [part["group"], "h"]
    made = TreeDataset(trees, [part["label"], "no"], ids=[part["id"], "2"], groups=groups)
    made.weights = np.array([part.get("weight", 1.0), 1.0])
    return made


@pytest.mark.parametrize(("part", "value"), [*OTHER_PARTS.items(), ("weight", 2.0)])
def test_a_part_of_the_data_alone_makes_it_other_data(part: str, value: Any) -> None:
    assert digest_of({"train": data()}) == digest_of({"train": data()})
    assert digest_of({"train": data()}) != digest_of({"train": data(**{part: value})})


def test_the_order_of_examples_and_their_splits_make_it_other_data() -> None:
    first, second = data(), data(token="b")
    ways = [{"train": first, "test": second}, {"train": second, "test": first}, {"train": first, "validation": second}]
    ways += [{"train": first.select([1, 0]), "test": second}, {"train": first}]
    assert len({digest_of(splits) for splits in ways}) == len(ways)
