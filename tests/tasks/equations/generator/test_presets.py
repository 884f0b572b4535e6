"""The sizes of data sets."""

import pytest

from tasks.equations.generator.presets import PAPER_TEST, PAPER_TRAIN, PRESETS, Shape, part_of


def test_the_papers_training_set_has_their_counts_and_shares() -> None:
    assert sum(PAPER_TRAIN.counts.values()) == 41_894
    assert PAPER_TRAIN.counts[5] == 9_442
    quotas = PAPER_TRAIN.quotas()
    for depth, count in PAPER_TRAIN.counts.items():
        assert quotas[1, depth] + quotas[0, depth] == count
        assert quotas[1, depth] / count == pytest.approx(PAPER_TRAIN.correct[depth], abs=0.03)
    assert PAPER_TEST.counts[19] == 11_500


@pytest.mark.parametrize("total", [1, 7, 100, 10_000, 2_000_000])
def test_a_scaled_shape_is_proportional_and_whole(total: int) -> None:
    scaled = PAPER_TRAIN.scaled(total)
    assert sum(scaled.counts.values()) == sum(scaled.quotas().values()) == total
    for depth, count in scaled.counts.items():
        assert abs(count - PAPER_TRAIN.counts[depth] * total / 41_894) < 1


def test_the_largest_remainders_are_rounded_up() -> None:
    shape = Shape({1: 10, 2: 11, 3: 12}, {1: 0.5, 2: 0.5, 3: 0.5})
    assert shape.scaled(10).counts == {1: 3, 2: 3, 3: 4}
    assert Shape({1: 1, 2: 0}, {1: 0.0, 2: 0.5}).quotas() == {(0, 1): 1}


def test_presets_have_the_sizes_of_their_names() -> None:
    sizes = {name: {part: sum(s.counts.values()) for part, s in sets.items()} for name, sets in PRESETS.items()}
    assert sizes == {
        "paper-train": {"train": 41_894},
        "paper-test": {"test": 199_800},
        "small": {"train": 10_000, "test": 20_000},
        "large": {"train": 2_000_000},
    }


def test_the_parts_divide_all_equations() -> None:
    assert [part_of(digest, 1) for digest in range(4)] == ["test", "train", "train", "train"]
    assert [part_of(digest, 3) for digest in range(4)] == ["test", "test", "train", "train"]
