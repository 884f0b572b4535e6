"""Reading, generating and batching pairs of formulas."""

import subprocess
import sys
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree.read.bracket import read_unlabelled
from dgltree.trees.logic import RELATIONS
from tasks.logic import generate
from tasks.logic.data import LogicPairs, data_of
from tasks.logic.files import Pair, read_pairs, write_pairs
from tasks.logic.language import TABLES, VARIABLES, is_formula, operators

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def own() -> dict:
    return generate.pairs(seed=0, scale=0.01)


def relation_of(pair: Pair) -> str:
    return TABLES.relation(*(TABLES.of(read_unlabelled(text)) for text in (pair.left, pair.right)))


@pytest.mark.slow
@pytest.mark.data
def test_the_relations_of_published_pairs_are_those_of_their_truth_tables(published: Path) -> None:
    for part, k in product(("train", "test"), range(13)):
        pairs = read_pairs(published / "logic", part, k)
        for pair in pairs[:: len(pairs) // 40 or 1]:
            assert relation_of(pair) == pair.relation, pair


def test_a_truth_table_has_a_bit_for_each_assignment() -> None:
    texts = {
        "( a ( and ( not f ) ) )": lambda v: v["a"] and not v["f"],
        "( ( not ( b ( or c ) ) ) ( or ( d ( and e ) ) ) )": lambda v: not (v["b"] or v["c"]) or (v["d"] and v["e"]),
        "( not ( not a ) )": lambda v: v["a"],
    }
    for text, holds in texts.items():
        table = TABLES.of(read_unlabelled(text))
        for row in range(64):
            values = {name: bool(row >> k & 1) for k, name in enumerate(VARIABLES)}
            assert bool(table >> row & 1) == bool(holds(values))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("a", "( not ( not a ) )", "="),
        ("a", "( not a )", "^"),
        ("( a ( and b ) )", "a", "<"),
        ("a", "( a ( and b ) )", ">"),
        ("( a ( and b ) )", "( not a )", "|"),
        ("( a ( or b ) )", "( not a )", "v"),
        ("a", "b", "#"),
    ],
)
def test_the_seven_relations(left: str, right: str, expected: str) -> None:
    assert relation_of(Pair("", left, right, 0)) == expected


def test_own_pairs_are_what_they_say(own: dict) -> None:
    for (_, k), pairs in own.items():
        for pair in pairs:
            assert max(operators(pair.left), operators(pair.right)) == k == pair.operators
            assert is_formula(pair.left)
            assert is_formula(pair.right)
            assert relation_of(pair) == pair.relation
            tables = [TABLES.of(read_unlabelled(text)) for text in pair[1:3]]
            assert not {*tables} & {0, TABLES.always}
            assert len({*pair.left.split(), *pair.right.split()} & {*VARIABLES}) <= 4


def test_the_longer_formula_is_on_either_side_as_often(own: dict) -> None:
    sides = [(operators(pair.left), operators(pair.right)) for pairs in own.values() for pair in pairs]
    longer = [left > right for left, right in sides if left != right]
    assert 0.45 < sum(longer) / len(longer) < 0.55


def test_own_pairs_come_once_and_by_seed(own: dict) -> None:
    everything = [pair for pairs in own.values() for pair in pairs]
    assert len(set(everything)) == len(everything)
    assert len(own["train", 6]) == 330
    assert generate.pairs(seed=0, scale=0.01 + 1e-9) == own, "a scale of as many pairs, which are made anew"
    assert generate.pairs(seed=1, scale=0.01)["train", 6] != own["train", 6]
    assert {pair.relation for pair in everything} == {*RELATIONS}


@pytest.mark.parametrize("scale", [0.0, 1.5])
def test_impossible_scales_are_refused(scale: float) -> None:
    with pytest.raises(ValueError, match=r"scale is .*; it must be above 0 and at most 1"):
        generate.pairs(0, scale)


@pytest.mark.slow
def test_the_command_writes_files_that_are_read_back(tmp_path: Path, own: dict) -> None:
    command = [sys.executable, "-m", "tasks.logic.generate", "--out", str(tmp_path), "--scale", "0.01"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == f"{sum(map(len, own.values())):,} pairs in 26 files -> {tmp_path}\n"
    assert len(list(tmp_path.iterdir())) == 26
    assert {key: read_pairs(tmp_path, *key) for key in own} == own
    data = LogicPairs(tmp_path, "A")
    assert sum(map(len, (data.train, data.validation))) + sum(p.operators <= 6 for p in data.test) == sum(
        len(own["train", k]) for k in range(7)
    )


def write(folder: Path, line: str) -> Path:
    (folder / "train1").write_text(f"=\t( not a )\t( not a )\n{line}\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("=\ta", r"train1, line 2: found 2 fields; expected relation, left and right"),
        ("=\ta\t( not b )\t", r"train1, line 2: found 4 fields"),
        ("", r"train1, line 2: found 1 fields"),
        ("%\ta\t( not b )", r"train1, line 2: found the relation '%'; expected one of # < = > \^ v |"),
        ("=\ta\t( not b", r"train1, line 2, right formula: column 1: found no end of the bracket that opens here"),
        ("=\t( nor a )\tb", r"train1, line 2, left formula: found '\( nor a \)'; expected a to f, \( not F \)"),
        ("=\t( a ( not b ) )\tb", r"train1, line 2, left formula: found '\( a \( not b \) \)'; expected a to f"),
        ("=\ta\t( not  b )", r"train1, line 2, right formula: .*with single spaces"),
        ("=\ta\tb", r"train1, line 2: the longer formula has 0 operators; expected 1, as the file's name says"),
    ],
)
def test_malformed_lines_are_refused_by_file_and_line(tmp_path: Path, line: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        read_pairs(write(tmp_path, line), "train", 1)


def test_missing_and_empty_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"test3: no such file; the folder holds train0 to train12 and test0 to"
    ):
        read_pairs(tmp_path, "test", 3)
    (tmp_path / "test3").touch()
    with pytest.raises(ValueError, match=r"test3 is empty; expected lines such as"):
        read_pairs(tmp_path, "test", 3)


def test_the_last_file_takes_longer_formulas_too(tmp_path: Path) -> None:
    long = "a"
    for _ in range(14):
        long = f"( not {long} )"
    write_pairs(tmp_path, "test", 12, [Pair("=", "a", long, 12)])
    assert read_pairs(tmp_path, "test", 12) == (Pair("=", "a", long, 12),)


def test_a_pair_has_two_trees_and_its_relation() -> None:
    pairs = [Pair("<", "( a ( and b ) )", "a", 1), Pair("#", "c", "d", 0)]
    data = data_of(pairs)
    assert [trees for trees, _ in map(data.__getitem__, range(2))] == [
        tuple(read_unlabelled(text) for text in pair[1:3]) for pair in pairs
    ]
    assert data.labels == ["<", "#"]
    assert data.leaves.tolist() == [3, 1]


def test_what_is_tested_is_also_tested_by_operators_and_what_a_split_left_out_in_two_sets(folder: Path) -> None:
    for split, names in (
        ("full", [f"operators_{k:02}" for k in range(7, 13)]),
        ("B", ["operators_06", "operators_07"]),
    ):
        data = LogicPairs(folder, split, train_pairs=10)
        sets = data.sets()
        assert list(sets.tests) == ["test"] and list(sets.parts) == names
        assert sorted(i for rows in sets.parts.values() for i in rows) == list(range(len(data.test)))
    longest = max(pair.operators for pair in data.test)
    assert longest > 7, "which is in the set of 7"


@pytest.fixture(scope="module")
def folder(own: dict, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logic")
    for (part, k), pairs in own.items():
        write_pairs(folder, part, k, pairs)
    return folder


def test_which_training_pairs_are_taken_follows_from_the_seed_and_their_order_is_that_of_the_file() -> None:
    def taken(count: int, seed: int) -> list[int]:
        data = LogicPairs(train_pairs=count, seed=seed)
        data.__dict__["_known"] = SimpleNamespace(train=list(range(100)))
        return data.train

    chosen = [taken(30, seed) for seed in (0, 1, 2, 7)]
    assert len(set(map(tuple, chosen))) == 4
    for seed, found in zip((0, 1, 2, 7), chosen, strict=True):
        assert found == sorted(set(found)) == taken(30, seed)
        assert len(found) == 30 and set(found) < set(taken(60, seed))
    assert taken(100, 3) == list(range(100))


def test_more_training_pairs_hold_the_fewer_and_leave_the_rest_as_it_is(folder: Path) -> None:
    whole, few, fewer = (LogicPairs(folder, train_pairs=count) for count in (None, 100, 30))
    assert [len(data.train) for data in (few, fewer)] == [100, 30]
    assert {*fewer.train} < {*few.train} < {*whole.train}
    assert fewer.validation == whole.validation
    assert fewer.test == whole.test


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"split": "D"}, "split is 'D'; it must be one of full, A, B, C"),
        ({"train_pairs": 0}, "train_pairs is 0; there are 1,"),
        ({"train_pairs": 10**6}, "train_pairs is 1000000; there are 1,"),
    ],
)
def test_impossible_options_are_refused(folder: Path, options: dict, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        LogicPairs(folder, **options).sets()
