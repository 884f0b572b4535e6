"""The data of lookup: counts, values by another way, and what training must not have."""

from collections import Counter
from functools import reduce
from pathlib import Path

import command_line
import pytest

from dgltree import TreeDataset
from dgltree.read.bracket import write_unlabelled
from tasks.lookup.__main__ import main
from tasks.lookup.data import TABLES, VALUES, Lookup, reserved_compositions

ROUTERS = sorted((Path(__file__).parents[3] / "tasks" / "lookup" / "configs").rglob("neural_data_router*.yaml"))


def words(data: TreeDataset, k: int) -> list[str]:
    written: str = write_unlabelled(data[k][0])  # type: ignore[arg-type]
    return written.replace("(", " ").replace(")", " ").split()


@pytest.mark.slow
def test_a_chain_has_the_value_of_its_functions_one_after_the_other_in_either_direction() -> None:
    assert TABLES["a"] == (6, 1, 5, 7, 0, 4, 2, 3)  # as published
    assert all(sorted(table) == list(range(8)) for table in TABLES.values())
    for direction, way in (("forward", 1), ("backward", -1)):
        data = Lookup(direction, count=50).sets().tests["test"]  # type: ignore[arg-type]
        for k in range(0, len(data), 97):
            chain = words(data, k)[::way]
            assert data[k][1] == VALUES[reduce(lambda value, name: TABLES[name][value], chain[1:], int(chain[0], 2))]


@pytest.mark.slow
def test_the_sets_of_chains_are_those_published() -> None:
    found = Lookup(count=2000).sets()
    test, named = found.tests["test"], {n: rows for n, rows in found.parts.items() if not n.startswith("functions")}
    assert {name: len(rows) for name, rows in named.items()} == {
        "basic": 88, "trained_lengths": 4000, "function_j": 1000, "function_k": 1000, "reserved": 608, "longer": 1000,
    }  # fmt: skip
    assert (len(found.train), len(found.validation), len(test)) == (88 + 2000 + 480, 1000, 7696)
    trained = {tuple(words(found.train, k)) for k in range(len(found.train))}
    compositions = {"".join(chain[1:]) for chain in trained if len(chain) > 2}
    assert not compositions & set(reserved_compositions())
    assert not any(set(one) & set("jk") for one in compositions)
    assert not {tuple(words(test, k)) for k in named["trained_lengths"]} & trained
    assert {len(words(test, k)) - 1 for k in named["longer"]} == {9, 10}
    assert {len(words(test, k)) - 1 for k in found.parts["functions_09"]} == {9}
    assert {len(words(found.validation, k)) - 1 for k in range(1000)} == {6, 7, 8}
    assert all(words(test, k).count("j") == 1 for k in named["function_j"])


@pytest.mark.slow
def test_a_seed_draws_the_same_chains_and_another_one_others() -> None:
    one, same, other = (Lookup(count=5, seed=seed).sets().validation for seed in (0, 0, 1))
    assert [words(one, k) for k in range(50)] == [words(same, k) for k in range(50)]
    assert [words(one, k) for k in range(50)] != [words(other, k) for k in range(50)]


def test_impossible_options_are_refused() -> None:
    with pytest.raises(ValueError, match="direction is 'sideways'; it must be forward or backward"):
        Lookup("sideways")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="count is 0; it must be from 1 to 53,136"):
        Lookup(count=0)
    with pytest.raises(ValueError, match="basic_copies is 0; it must be 1 or more"):
        Lookup(basic_copies=0)


@pytest.mark.slow
def test_single_lookups_are_trained_on_as_often_as_asked() -> None:
    once, thrice = (Lookup(count=5, basic_copies=copies).sets().train for copies in (1, 3))
    chains = Counter(tuple(words(once, k)) for k in range(len(once)))
    more = Counter(tuple(words(thrice, k)) for k in range(len(thrice)))
    assert more == chains + Counter({(value, name): 2 for value in VALUES for name in "abcdefghijk"})


@pytest.mark.slow
@pytest.mark.parametrize("config", ROUTERS, ids=lambda file: file.stem)
def test_the_command_trains_a_router(config: Path, tmp_path: Path) -> None:
    small = {"fit.hidden_size": 8, "fit.epochs": 1, "data.count": 200, "fit.options.num_layers": 2}
    found = command_line.fit(main, [config], tmp_path / "run", small)
    assert {"longer", "reserved", "functions_10"} <= set(found)
    assert all(0 < found[name] < 0.3 for name in ("longer", "trained_lengths"))
