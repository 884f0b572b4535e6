"""Sequences of similar lengths together."""

import torch
from torch import Tensor

from dgltree.encoders.sequence.core import in_groups, length_groups


def test_groups_end_at_powers_of_two_and_are_as_wide_as_their_longest() -> None:
    lengths = torch.tensor([9, 3, 1, 8, 2, 5, 4, 16, 17])
    found = {longest: sorted(lengths[rows].tolist()) for rows, longest in length_groups(lengths, lengths.device)}
    assert found == {1: [1], 2: [2], 4: [3, 4], 8: [5, 8], 16: [9, 16], 17: [17]}


def test_rows_come_back_in_their_order_with_no_more_padding_than_their_group_has() -> None:
    lengths = torch.tensor([5, 1, 3, 7, 1])
    ids = torch.arange(5).unsqueeze(1).expand(5, 7).contiguous()
    weights = torch.randn(5, 7, 2)
    widths = []

    def encode(rows: Tensor, own: Tensor, more: Tensor) -> Tensor:
        widths.append((rows.shape[1], more.shape[1], sorted(own.tolist())))
        return torch.stack([rows[:, 0], own, (more[:, 0, 0] * 100).round().long()], 1)

    found = in_groups(encode, ids, lengths, weights)
    assert found.tolist() == [
        [k, length, round(100 * float(weights[k, 0, 0]))] for k, length in enumerate(lengths.tolist())
    ]
    assert sorted(widths) == [(1, 1, [1, 1]), (3, 3, [3]), (7, 7, [5, 7])]
