"""The examples in docstrings run, and print what they show; the names that a user meets first have one."""

import doctest
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import dgltree

ROOT = Path(__file__).parents[1]
FILES = sorted(path for path in (ROOT / "dgltree").rglob("*.py") if ">>> " in path.read_text(encoding="utf-8"))
RETURNED = {"Checked", "Completion", "PlannedBatch", "Ranking", "TrainedModel", "Verification"}
"""They are in the examples of the names that return them."""
LIKE_ANOTHER = {"BLANK", "TreeEncoderTransformer", "load", "load_published", "rank"}
"""Their docstrings name another one, which has an example."""
MORE = ("encoders.make_encoder", "encoders.TreeEncoder", "cells.TreeLSTM", "cells.TreeSMU", "models.TreeModel")
NEEDS = {"estimators": "sklearn", "fitting": "lightning"}


@pytest.mark.parametrize("file", FILES, ids=[str(path.relative_to(ROOT / "dgltree")) for path in FILES])
@pytest.mark.filterwarnings("ignore:.*LeafSpec.*", "ignore:.*multi-threaded.*fork.*")
def test_the_examples_of_a_file_print_what_they_show(file: Path) -> None:
    for name, package in NEEDS.items():
        if file.stem == name:
            pytest.importorskip(package, reason="the train extra is not installed")
    module = import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
    found = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.attempted
    assert found.failed == 0


def test_the_names_that_a_user_meets_first_have_an_example() -> None:
    names = {name: getattr(dgltree, name) for name in {*dgltree.__all__} - RETURNED - LIKE_ANOTHER}
    for name in MORE:
        package, attribute = name.split(".")
        names[name] = getattr(import_module(f"dgltree.{package}"), attribute)
    assert [name for name, thing in names.items() if ">>> " not in (inspect.getdoc(thing) or "")] == []
