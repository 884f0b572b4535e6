"""Aggregations: what a node sees of its children's messages, or a tree's vector of its nodes' states."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from dgltree.support.arguments import nearest

Messages = dict[str, Tensor]
"""``h`` (rows, n), and by name what else belongs to each row, (rows, *shape)."""


class Aggregation(nn.Module, ABC):
    """Many rows to one for each group: the messages of children to what their parent reads.

    A subclass states ``forward``; an own one is given to a cell as an object, and is differentiable torch.

    Args:
        size: n, the width of h.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    @property
    def width(self) -> int:
        """The numbers of h after it: n, unless a class says otherwise, which then only a :class:`SumCell` reads."""
        return self.size

    def __init_subclass__(cls) -> None:
        """A class with a ``forward`` of its own does not inherit what stands for another one's."""
        super().__init_subclass__()
        if "forward" in vars(cls):
            for name in ("of_mailbox", "of_slots"):
                if name not in vars(cls):
                    setattr(cls, name, vars(Aggregation)[name])

    @abstractmethod
    def forward(self, rows: Messages, group: Tensor, count: int) -> Messages:
        """Name to (count, *shape) from name to (rows, *shape), ``h`` among them; a group without rows has 0.

        Args:
            rows: what is aggregated.
            group: (rows,) int64, ascending: the group of each row.
            count: the number of groups.
        """

    def of_mailbox(self, rows: Messages) -> Messages:
        """Aggregate groups of equal size: name to (count, *shape) from name to (count, size, *shape)."""
        count, size = rows["h"].shape[:2]
        group = torch.arange(count, device=rows["h"].device).repeat_interleave(size, output_size=count * size)
        return self({name: each.flatten(0, 1) for name, each in rows.items()}, group, count)

    def of_slots(self, slots: Sequence[Messages]) -> Messages:
        """Aggregate groups of equal size, given slot by slot: name to (..., *shape); leading sizes broadcast."""
        lead = torch.broadcast_shapes(*(slot["h"].shape[:-1] for slot in slots))
        count = lead.numel()
        mailbox = {}
        for name, first in slots[0].items():
            shape = first.shape[slots[0]["h"].dim() - 1 :]
            columns = [slot[name].expand(*lead, *shape).reshape(count, 1, *shape) for slot in slots]
            mailbox[name] = torch.cat(columns, 1)
        return {name: rows.view(*lead, *rows.shape[1:]) for name, rows in self.of_mailbox(mailbox).items()}


class SumAggregation(Aggregation):
    r""":math:`\sum_k m_k`."""

    def forward(self, rows: Messages, group: Tensor, count: int) -> Messages:
        return {name: _sum(each, group, count) for name, each in rows.items()}

    def of_mailbox(self, rows: Messages) -> Messages:
        return {name: each.sum(1) for name, each in rows.items()}

    def of_slots(self, slots: Sequence[Messages]) -> Messages:
        """One by one: what is equal for many rows is added without being copied for each."""
        total = dict(slots[0])
        for slot in slots[1:]:
            total = {name: each + slot[name] for name, each in total.items()}
        return total


class MeanAggregation(Aggregation):
    r""":math:`\frac 1 N \sum_k m_k`."""

    def forward(self, rows: Messages, group: Tensor, count: int) -> Messages:
        share = 1 / _sum(rows["h"].new_ones(len(group)), group, count).clamp(min=1)
        return {name: _sum(each, group, count) * _like(share, each) for name, each in rows.items()}

    def of_mailbox(self, rows: Messages) -> Messages:
        return {name: each.mean(1) for name, each in rows.items()}


class MaxAggregation(Aggregation):
    r""":math:`\max_k m_k`, element by element; equal maxima share the gradient."""

    reduction = "amax"

    def forward(self, rows: Messages, group: Tensor, count: int) -> Messages:
        return {name: _extreme(each, group, count, self.reduction) for name, each in rows.items()}

    def of_mailbox(self, rows: Messages) -> Messages:
        return {name: getattr(each, self.reduction)(1) for name, each in rows.items()}


class MinAggregation(MaxAggregation):
    r""":math:`\min_k m_k`, element by element; equal minima share the gradient."""

    reduction = "amin"


class AttentionAggregation(Aggregation):
    r""":math:`\sum_k \alpha_k m_k` with :math:`\alpha = softmax_k(q \cdot h_k / \sqrt n)`, one weight for all of a row.

    Initialisation: q is U(-1, 1).
    """

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.query = nn.Parameter(torch.empty(size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.uniform_(self.query, -1, 1)

    def forward(self, rows: Messages, group: Tensor, count: int) -> Messages:
        score = rows["h"] @ self.query * self.size**-0.5
        highest = _extreme(score.detach(), group, count, "amax")
        weight = (score - highest.index_select(0, group)).exp()
        weight = weight / _sum(weight, group, count).index_select(0, group)
        return {name: _sum(_like(weight, each) * each, group, count) for name, each in rows.items()}

    def of_mailbox(self, rows: Messages) -> Messages:
        weight = (rows["h"] @ self.query * self.size**-0.5).softmax(1)
        aggregated = {}
        for name, each in rows.items():
            weights = weight.view(*weight.shape, *[1] * (each.dim() - 2))
            aggregated[name] = (weights * each).sum(1)
        return aggregated


class BagAggregation(Aggregation):
    r"""For the N messages of a bag :math:`[mean_k h_k;\ max_k h_k;\ \log\sum_k e^{h_k};\ \log(1 + N)]`, 3n + 1 numbers.

    The mean says what is usual in a bag, the maximum whether there is something, the logarithms how much there is; of
    an empty bag all are 0. These are the aggregations of hierarchical multi-instance networks (Pevný and Somol 2016,
    arXiv 1609.07257; Mandlík et al. 2021, arXiv 2105.09107), and a :class:`dgltree.cells.SumCell` with typed weights
    is one over trees whose functions are the places of a document. What else belongs to a message, such as a memory,
    is the mean of all.
    """

    @property
    def width(self) -> int:
        return 3 * self.size + 1

    def forward(self, rows: Messages, group: Tensor, count: int) -> Messages:
        h = rows["h"]
        sizes = _sum(h.new_ones(len(group)), group, count)
        share = 1 / sizes.clamp(min=1)
        means = {name: _sum(each, group, count) * _like(share, each) for name, each in rows.items()}
        highest = _extreme(h, group, count, "amax")
        # The terms are at most 1, and one of them is 1: no number of messages makes the logarithm inexact.
        base = highest.detach()
        total = _sum((h - base.index_select(0, group)).exp(), group, count)
        is_empty = (sizes == 0).unsqueeze(1)
        log_sum = base + total.masked_fill(is_empty, 1).log()
        means["h"] = torch.cat([means["h"], highest, log_sum, sizes.log1p().unsqueeze(1)], 1)
        return means

    def of_mailbox(self, rows: Messages) -> Messages:
        h = rows["h"]
        means = {name: each.mean(1) for name, each in rows.items()}
        highest = h.amax(1)
        base = highest.detach()
        log_sum = base + (h - base.unsqueeze(1)).exp().sum(1).log()
        sizes = torch.ones_like(h[..., :1]).sum(1)
        means["h"] = torch.cat([means["h"], highest, log_sum, sizes.log1p()], 1)
        return means


AGGREGATIONS: dict[str, type[Aggregation]] = {
    "sum": SumAggregation,
    "mean": MeanAggregation,
    "max": MaxAggregation,
    "min": MinAggregation,
    "attention": AttentionAggregation,
    "bag": BagAggregation,
}
"""Name to class: what ``aggregation`` of a :class:`dgltree.cells.SumCell` and ``pooling`` of an encoder take."""


def aggregation_named(given: str | Aggregation, size: int, widens: bool = False) -> Aggregation:
    """The aggregation of a name, for rows of this width, or the object that is given.

    Raises ``ValueError`` for another name, for an object of another width, and for what gives another width than it
    reads, unless ``widens``; ``TypeError`` for neither a name nor an object.
    """
    found = _aggregation(given, size)
    if found.width != size and not widens:
        raise ValueError(
            f"{given if isinstance(given, str) else type(given).__name__} turns {size} numbers into {found.width}, "
            "which only the gates of a child-sum cell can read: choose mean or max here"
        )
    return found


def _aggregation(given: str | Aggregation, size: int) -> Aggregation:
    if isinstance(given, Aggregation):
        if given.size != size:
            raise ValueError(f"{type(given).__name__} has size {given.size}, but the states have size {size}")
        return given
    if not isinstance(given, str):
        raise TypeError(f"an aggregation must be a name or an Aggregation, not {given!r}")
    if given not in AGGREGATIONS:
        raise ValueError(f"{given!r} is not an aggregation; {nearest(given, AGGREGATIONS)}")
    return AGGREGATIONS[given](size)


def name_of(aggregation: Aggregation) -> str | Aggregation:
    """The name of an aggregation, as options have it; an own one itself."""
    return next((name for name, kind in AGGREGATIONS.items() if kind is type(aggregation)), aggregation)


def _sum(rows: Tensor, group: Tensor, count: int) -> Tensor:
    return rows.new_zeros(count, *rows.shape[1:]).index_add(0, group, rows)


def _extreme(rows: Tensor, group: Tensor, count: int, reduction: str) -> Tensor:
    index = _like(group, rows).expand_as(rows)
    return rows.new_zeros(count, *rows.shape[1:]).scatter_reduce(0, index, rows, reduction, include_self=False)


def _like(column: Tensor, rows: Tensor) -> Tensor:
    """(rows,) as (rows, 1, ...), of as many dimensions as ``rows``."""
    return column.view(-1, *[1] * (rows.dim() - 1))
