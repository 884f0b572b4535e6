"""The parts of the published logic data: how many pairs each split trains, validates and tests on."""

from pathlib import Path

import pytest

pytest.importorskip("lightning", reason="the train extra is not installed")

from tasks.logic.data import LogicPairs, Split, contains, divide, for_test, keep_pairs
from tasks.logic.files import PARTS, Pair, read_pairs
from tasks.logic.generate import PUBLISHED


@pytest.fixture(scope="module")
def folder(published: Path) -> Path:
    return published / "logic"


@pytest.mark.data
@pytest.mark.parametrize(
    ("split", "pairs", "validation", "dropped", "long"),
    [
        ("full", 135_529, 13_552, 0, 13_445),
        ("A", 128_969, 12_896, 6_560, 1_369),
        ("B", 87_948, 8_794, 47_581, 9_257),
        ("C", 51_896, 5_189, 83_633, 12_757),
    ],
)
def test_the_splits_have_the_published_numbers_of_pairs(
    folder: Path, split: Split, pairs: int, validation: int, dropped: int, long: int
) -> None:
    data = LogicPairs(folder, split)
    assert (len(data.train) + len(data.validation), len(data.validation)) == (pairs, validation)
    numbers = [pair.operators for pair in data.test]
    assert numbers == sorted(numbers)
    assert (sum(k <= 6 for k in numbers), sum(k > 6 for k in numbers)) == (dropped, long)
    assert max(pair.operators for pair in data.train) == 6
    assert not {*data.train, *data.validation} & {*data.test}
    assert not {*data.train} & {*data.validation}


@pytest.mark.data
def test_the_published_files_have_the_numbers_that_own_data_is_shaped_by(folder: Path) -> None:
    for part in PARTS:
        assert tuple(len(read_pairs(folder, part, k)) for k in range(13)) == PUBLISHED[part]


def pair(left: str, right: str = "b", operators: int = 3) -> Pair:
    return Pair("#", left, right, operators)


@pytest.mark.parametrize(
    ("text", "splits"),
    [
        ("( b ( and ( not a ) ) )", "ABC"),
        ("( b ( and ( not c ) ) )", "BC"),
        ("( b ( and ( not ( not a ) ) ) )", "BC"),
        ("( b ( or ( not a ) ) )", "C"),
        ("( ( not a ) ( and b ) )", ""),
        ("( b ( and ( a ( or ( not a ) ) ) ) )", "C"),
        ("( b ( or ( a ( and b ) ) ) )", ""),
    ],
)
def test_a_split_leaves_out_its_patterns_in_either_formula(text: str, splits: str) -> None:
    for given in (pair(text), pair("b", text)):
        assert "".join(split for split in ("full", "A", "B", "C") if contains(given, split)) == splits


def test_what_is_left_out_of_training_is_tested_with_the_long_pairs_of_its_kind() -> None:
    negated, plain = "( b ( and ( not a ) ) )", "( b ( and a ) )"
    files = {
        (part, k): [pair(negated, part, k), pair(plain, part, k), pair("b", negated, k)]
        for part in PARTS
        for k in range(13)
    }

    def read(part, k):
        return files[part, k]

    assert keep_pairs(read, "A") == [pair(plain, "train", k) for k in range(7)]
    assert for_test(read, "A") == [
        with_it
        for part, numbers in (("train", range(7)), ("test", range(7, 13)))
        for k in numbers
        for with_it in (pair(negated, part, k), pair("b", negated, k))
    ]
    assert for_test(read, "full") == [pair for k in range(7, 13) for pair in files["test", k]]


def test_every_tenth_pair_is_for_validation() -> None:
    train, validation = divide([pair("a", operators=k) for k in range(1, 36)])
    assert [p.operators for p in validation] == [10, 20, 30]
    assert [p.operators for p in train] == [k for k in range(1, 36) if k % 10]
