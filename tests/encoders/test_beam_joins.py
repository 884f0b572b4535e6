"""A join of beams: the table of pairs gives by torch and by its kernel the same numbers, and those of lists."""

import random
from itertools import pairwise

import pytest
import torch

from dgltree.encoders.latent.choice import without
from dgltree.encoders.latent.nodes import NODE, UNBUILT, BeamNumbers, Choice, JoinedBeams, PairTable
from dgltree.engine.kernels.dispatch import kernels


def begun(table: PairTable, rows: list[list[list[int]]], counts: list[int]) -> BeamNumbers:
    """Beams of nodes, of which all pairs are numbered; those after a count have no meaning."""
    of_rows = torch.tensor(rows)
    pairs = torch.zeros_like(of_rows[:, :, 1:])
    for i, beams in enumerate(rows):
        for k, nodes in enumerate(beams):
            left = torch.tensor(nodes[: counts[i] - 1])
            right = torch.tensor(nodes[1 : counts[i]])
            pairs[i, k, : counts[i] - 1] = table.number(left, right)
    gaps = torch.arange(pairs.shape[2]).expand_as(pairs)
    return BeamNumbers(of_rows, pairs, gaps)


def drawn(seed: int) -> tuple[list[list[list[int]]], list[int], Choice]:
    """Beams of few nodes, so that pairs repeat, their counts, and a choice in each."""
    draw = random.Random(seed)
    size = draw.choice([2, 3, 5, 9])
    before = draw.choice([1, 2, 4])
    after = draw.choice([1, 3])
    counts = [draw.randint(2, size) for _ in range(draw.choice([1, 3]))]
    rows = [[[draw.randrange(4) for _ in range(size)] for _ in range(before)] for _ in counts]
    at = [[draw.randrange(count - 1) for _ in range(after)] for count in counts]
    parent = [[draw.randrange(before) for _ in range(after)] for _ in counts]
    alive = [[draw.random() < 0.8 for _ in range(after)] for _ in counts]
    return rows, counts, Choice(torch.tensor(at), torch.tensor(parent), torch.tensor(alive))


def joined(seed: int, mode: str) -> tuple[PairTable, JoinedBeams]:
    rows, counts, choice = drawn(seed)
    with kernels(mode):
        table = PairTable(1)
    join = table.join if table.kernel is None else table.join_by_kernel
    numbers = begun(table, rows, counts)
    return table, join(numbers, choice, torch.tensor(counts) - 1, 4)


@pytest.mark.parametrize("seed", range(60))
def test_a_join_replaces_two_nodes_by_what_they_become(seed: int) -> None:
    rows, counts, choice = drawn(seed)
    table, after = joined(seed, "off")
    for i, count in enumerate(counts):
        for k, index in enumerate(choice.at[i].tolist()):
            if not choice.alive[i, k]:
                continue
            nodes = rows[i][int(choice.parent[i, k])][:count]
            [node] = {row[NODE] for row in table.table.tolist() if row[:NODE] == nodes[index : index + 2]}
            assert node >= 4
            expected = [*nodes[:index], node, *nodes[index + 2 :]]
            assert after.numbers.rows[i, k, : count - 1].tolist() == expected
            neighbours = [[left, right] for left, right in pairwise(expected)]
            assert table.table[after.numbers.pairs[i, k, : count - 2], :NODE].tolist() == neighbours
            gaps = list(range(count - 1))
            assert after.closed[i, k] == gaps.pop(index)
            assert after.numbers.gaps[i, k, : count - 2].tolist() == gaps
    built = table.table[:, NODE]
    assert built[built != UNBUILT].tolist() == list(range(4, 4 + len(after.missing)))


@pytest.mark.parametrize("seed", range(60))
def test_the_kernel_gives_the_numbers_of_torch(seed: int) -> None:
    """Bits are equal, because both give whole numbers."""
    pytest.importorskip("numba")
    _, _, choice = drawn(seed)
    plain_table, plain = joined(seed, "off")
    table, after = joined(seed, "on")
    assert table.kernel is not None
    assert table.table.tolist() == plain_table.table.tolist()
    assert after.missing.tolist() == plain.missing.tolist()
    assert after.closed.tolist() == plain.closed.tolist()
    for part, expected in zip(after.numbers, plain.numbers, strict=True):
        assert part[choice.alive].tolist() == expected[choice.alive].tolist()


@pytest.mark.parametrize("shape", [(3,), (4, 6), (2, 3, 5)])
@pytest.mark.parametrize("columns", [0, 2])
def test_all_but_one_are_left(shape: tuple[int, ...], columns: int) -> None:
    draw = random.Random(0)
    lines = torch.Size(shape[:-1]).numel()
    at = [draw.randrange(shape[-1]) for _ in range(lines)]
    values = torch.arange(lines * shape[-1] * max(columns, 1)).view(*shape, *[columns] * (columns > 0))
    left = without(values, torch.tensor(at).view(shape[:-1]))
    for line, whole, index in zip(
        left.reshape(lines, shape[-1] - 1, -1).tolist(),
        values.reshape(lines, shape[-1], -1).tolist(),
        at,
        strict=True,
    ):
        whole.pop(index)
        assert line == whole
