"""Every entry of every registry has what belongs to it: the messages say what to add, and where.

docs/design.md has the same as a table; test_design.py adds an entry of each kind by that table alone.
"""

import importlib
import inspect
from pathlib import Path

import pytest
from off_default import OTHERS
from oracle import EQUATIONS
from rows import ENCODERS, ROWS

from dgltree.cells import AGGREGATIONS, CELLS, SWEEPS
from dgltree.datasets.formats import FORMATS
from dgltree.encoders import SEQUENCE_ENCODERS
from dgltree.models.checkpoint import READOUTS
from dgltree.read.functions import RECORDS
from dgltree.read.notations import NOTATIONS

ROOT = Path(__file__).parents[1]


def page(name: str) -> str:
    """The text of a page, where there is one: a copy of the package alone has none."""
    path = ROOT / "docs" / name
    return path.read_text(encoding="utf-8") if path.exists() else pytest.skip(f"no docs/{name} here")


def module(kind: type) -> str:
    """The folder or file of a class, as pages name it: ``dgltree/cells/tree_lstm.py``."""
    return str(Path(inspect.getfile(kind)).relative_to(Path(importlib.import_module("dgltree").__path__[0]).parent))


def described(kind: type, text: str) -> bool:
    """Whether a page names the file of a class, or the folder that it shares with nothing else."""
    path = Path(module(kind))
    return str(path.with_suffix("")) in text or ((path.parent / "__init__.py").exists() and f"{path.parent}/" in text)


@pytest.mark.parametrize("name", [*CELLS, *(f"downward {name}" for name in SWEEPS), *SEQUENCE_ENCODERS, *READOUTS])
def test_every_network_has_another_value_of_each_option(name: str) -> None:
    assert name in OTHERS, f'add "{name}" with another value of each option to OTHERS in tests/off_default.py'


@pytest.mark.parametrize("name", CELLS)
def test_every_cell_has_a_row_an_oracle_and_a_page(name: str) -> None:
    assert name in {row.split(",")[0] for row in ROWS}, f'add "{name}": {{}} to ROWS in tests/rows.py'
    message = f"add the slow statement of {CELLS[name].__name__} to EQUATIONS in tests/oracle.py"
    assert CELLS[name] in EQUATIONS, message
    assert described(CELLS[name], page("networks.md")), f"describe {module(CELLS[name])} in docs/networks.md"


@pytest.mark.parametrize("name", AGGREGATIONS)
def test_every_aggregation_has_a_row_and_a_page(name: str) -> None:
    rows = {options.get("aggregation", "sum") for row, options in ROWS.items() if row.startswith("child_sum")}
    assert name in rows, f"add a row with the aggregation {name!r} to ROWS in tests/rows.py"
    assert f'"{name}"' in page("cells.md"), f"describe the aggregation `{name}` in docs/cells.md"


@pytest.mark.parametrize("name", SEQUENCE_ENCODERS)
def test_every_sequence_encoder_has_a_row_and_a_page(name: str) -> None:
    core = SEQUENCE_ENCODERS[name]
    assert name in ENCODERS, f'add "{name}" with its options at width 12 to ENCODERS in tests/rows.py'
    assert described(core, page("networks.md")), f"describe {module(core)} in docs/networks.md"


@pytest.mark.parametrize("name", NOTATIONS)
def test_every_notation_has_a_page(name: str) -> None:
    assert f"`{name}`" in page("reading.md"), f"describe the notation `{name}` in docs/reading.md"


@pytest.mark.parametrize("name", [record.name for record in RECORDS if not record.inverts])
def test_every_function_has_a_page(name: str) -> None:
    assert f"`{name}`" in page("reading.md"), f"name the function `{name}` in docs/reading.md"


@pytest.mark.parametrize("kind", FORMATS)
def test_every_suffix_of_a_format_has_a_page(kind: type) -> None:
    missing = [suffix for suffix in kind.suffixes if f"`{suffix}`" not in page("own_trees.md")]
    assert not missing, f"describe {', '.join(missing)} ({kind.__name__}) in the table of docs/own_trees.md"


@pytest.mark.parametrize("name", READOUTS)
def test_every_readout_has_a_page(name: str) -> None:
    kind = READOUTS[name][0].__name__
    assert f"`{kind}(" in page("models.md"), f"describe {kind} in docs/models.md"


def test_every_compared_task_has_variants_configurations_tests_and_a_readme() -> None:
    compare = pytest.importorskip("tasks.compare", reason="the tasks need the train extra")
    for task in compare.TASKS:
        there = [*(ROOT / "tasks" / task / "configs").glob("*.yaml")]
        assert there, f"add a configuration to tasks/{task}/configs"
        for path in (f"tasks/{task}/variants.py", f"tasks/{task}/README.md", f"tests/tasks/{task}"):
            assert (ROOT / path).exists(), f"add {path}"
