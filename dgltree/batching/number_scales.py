"""Scales of numbers by their place: a number is compared with the numbers that training had at the same place.

The place of a leaf is its function, the function above it and, where training has two such leaves under one node, its
position: in ``{"created": 1700000000, "at": [48.25, 11.5]}`` there are three, ``created`` and both positions of ``at``.
A position counts all siblings, as arguments are counted; but where a function has numeric leaves of several functions,
as an object has keys, it counts those of the leaf's own, because some keys may be absent.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import astuple, dataclass
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.run_lengths import starts_segment

POSITIONS = 8
"""Positions among siblings that are places of their own; later ones are one place."""
MIN_PLACE_NUMBERS = 10
"""Training numbers that a place needs for a scale of its own. With fewer, those of the leaf's function under this
parent, then those of its function are taken together, and last all that are left over."""
NORMAL = 1.4826
"""Deviations of a normal distribution in one median distance from its median (Huber 1981, section 5.1)."""
FARTHEST = 1e300
"""Spreads from the middle at most, and the largest number from which a distance is taken without overflow."""
NO_PARENT = ""
"""The name above a root."""


@dataclass(frozen=True)
class PlaceScale:
    """The numbers of a place in training: ``asinh((v - middle) / spread)`` is read in the place of a number v."""

    leaf: str | None
    """The function of the leaves; None: any."""
    parent: str | None
    """The function above them, ``NO_PARENT`` for roots; None: any."""
    position: int | None
    """Their position under it, from 0 to POSITIONS, by the rule of this module; None: any."""
    middle: float
    """The median."""
    spread: float
    """The median distance from it in units of a normal deviation; of numbers most of which are equal that of the
    others, of numbers that are all equal their size, or 1."""
    low: float
    high: float

    def __post_init__(self) -> None:
        if not (self._names_a_place() and self._has_finite_numbers() and self.spread > 0):
            raise ValueError(f"not a scale for the numbers of a place: {astuple(self)!r:.80}")

    def _names_a_place(self) -> bool:
        # A place without a leaf's function has no parent's either, and one without a parent's has no position.
        if self.leaf is None and self.parent is not None:
            return False
        if self.position is not None:
            if self.parent is None or type(self.position) is not int:
                return False
            if not 0 <= self.position <= POSITIONS:
                return False
        return isinstance(self.leaf, str | None) and isinstance(self.parent, str | None)

    def _has_finite_numbers(self) -> bool:
        for number in (self.middle, self.spread, self.low, self.high):
            if type(number) not in (int, float) or not isfinite(number):
                return False
        return True

    @property
    def name(self) -> str:
        """The place, for people: ``order.amount``, ``item.atom[0]``."""
        name = str(self.leaf)
        if self.parent:
            name = f"{self.parent}.{name}"
        if self.position is not None:
            name = f"{name}[{self.position}]"
        return name


class NumberScales:
    """The scales of all places of a training.

    Args:
        places: from those with a position to that of any leaf, which must be the last.

    Raises ``ValueError`` for places that occur twice, and without the last.
    """

    def __init__(self, places: Iterable[PlaceScale]) -> None:
        self.places = tuple(places)
        kinds = [(place.leaf, place.parent, place.position) for place in self.places]
        is_complete = kinds[-1:] == [(None, None, None)]
        if not is_complete or len(set(kinds)) < len(kinds):
            raise ValueError("the scales of numbers must name each place once, and the scale of all other leaves last")

    @classmethod
    def of(cls, batches: Iterable[Any]) -> "NumberScales | None":
        """The scales of training trees, each ``TreeBatch`` in its vocabulary; None if no leaf has a number.

        Each number counts once for each parent of its leaf. A place with too few numbers for a scale of its own leaves
        them to the next wider one.
        """
        names: dict[str, int] = {}
        numbers = _read_numbers(batches, names)
        if numbers is None:
            return None
        pair = numbers.leaf * len(names) + numbers.parent
        position = _positions(numbers, pair, len(names))
        with_position = pair * (POSITIONS + 1) + position
        repeated = np.flatnonzero(_is_repeated(pair, numbers.parent_node))
        every = np.arange(len(pair))
        levels = ((with_position, repeated, 3), (pair, every, 2), (numbers.leaf, every, 1))
        name_of = list(names)
        left_over = np.ones(len(pair), bool)
        places = []
        for key, rows, parts in levels:
            for group in _groups(key, rows):
                row = group[0]
                leaf = name_of[numbers.leaf[row]]
                parent = name_of[numbers.parent[row]]
                place = (leaf, parent, int(position[row]))
                places.append(_scale(place[:parts], numbers.value[group]))
                left_over[group] = False
        others = numbers.value
        if left_over.any():
            others = others[left_over]
        places.append(_scale((), others))
        return cls(places)

    @property
    def narrowest(self) -> list[PlaceScale]:
        """The places that no narrower one of these is part of, without that of any leaf."""
        wider = set()
        for place in self.places[:-1]:
            if place.position is not None:
                wider.add((place.leaf, place.parent))
            elif place.parent is not None:
                wider.add((place.leaf, None))
        narrowest = []
        for place in self.places[:-1]:
            if place.position is not None or (place.leaf, place.parent) not in wider:
                narrowest.append(place)
        return narrowest

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NumberScales):
            return NotImplemented
        return self.places == other.places

    def __hash__(self) -> int:
        return hash(self.places)

    def __repr__(self) -> str:
        return f"<NumberScales: {len(self.places)} places>"

    def to_json(self) -> list[list[Any]]:
        return [list(astuple(place)) for place in self.places]

    @classmethod
    def from_json(cls, data: Any) -> "NumberScales":
        """Inverse of :meth:`to_json`. Raises ``ValueError`` for anything else."""
        rows = data if isinstance(data, list) else [data]
        for row in rows:
            if not isinstance(row, list) or len(row) != 7:
                raise ValueError("each scale of a vocabulary must be a list of a place in three parts and four numbers")
        return cls(PlaceScale(*row) for row in rows)


class _ScaleLevel(NamedTuple):
    """The places that name as many parts: their keys, ascending, and the row of each in the list of places."""

    keys: Tensor
    rows: Tensor


class ScaleTable:
    """The scales of places by the ids of a vocabulary's functions.

    A place is one whole number, its key: the number of the leaf's name, that and the parent's, or these and the
    position. A leaf looks its three keys up, and the narrowest place that there is wins.

    Args:
        scales: by names.
        functions: the vocabulary's.
    """

    def __init__(self, scales: NumberScales, functions: Sequence[tuple[str, int | None]]) -> None:
        function_names = [name for name, _ in functions]
        function_names.append(NO_PARENT)  # id -1
        numbers: dict[str, int] = {}
        for name in function_names:
            numbers.setdefault(name, len(numbers))
        self._count = len(numbers)
        self._name = torch.tensor([numbers[name] for name in function_names])
        pairs = {(place.leaf, place.parent) for place in scales.places}
        leaves_below = Counter(parent for _, parent in pairs)  # places of any parent are counted at None
        is_keyed = [leaves_below[name] > 1 for name in numbers]
        self._keyed = torch.tensor(is_keyed)
        keys: list[list[tuple[int, int]]] = [[], [], []]
        for row, place in enumerate(scales.places[:-1]):
            leaf = numbers.get(place.leaf or "")
            parent = numbers.get(place.parent or NO_PARENT)
            if leaf is None or parent is None:
                continue  # a function that this vocabulary lacks
            pair = leaf * self._count + parent
            if place.parent is None:
                keys[0].append((leaf, row))
            elif place.position is None:
                keys[1].append((pair, row))
            else:
                key = pair * (POSITIONS + 1) + place.position
                keys[2].append((key, row))
        self._levels = []
        for level in keys:
            level.sort()
            keys_of_level = torch.tensor([key for key, _ in level], dtype=torch.int64)
            rows_of_level = torch.tensor([row for _, row in level], dtype=torch.int64)
            self._levels.append(_ScaleLevel(keys_of_level, rows_of_level))
        self._last = len(scales.places) - 1
        self._middle = _column(place.middle for place in scales.places)
        self._spread = _column(place.spread for place in scales.places)
        self._low = _column(place.low for place in scales.places)
        self._high = _column(place.high for place in scales.places)
        self._moved: dict[torch.device, ScaleTable] = {}

    def on(self, device: torch.device) -> "ScaleTable":
        """This table on a device, copied there once."""
        if device == self._name.device:
            return self
        if device not in self._moved:
            moved = copy(self)
            moved._moved = {}
            moved._levels = []
            for level in self._levels:
                columns = [column.to(device) for column in level]
                moved._levels.append(_ScaleLevel(*columns))
            for name in ("_name", "_keyed", "_middle", "_spread", "_low", "_high"):
                setattr(moved, name, getattr(self, name).to(device))
            self._moved[device] = moved
        return self._moved[device]

    def rows(
        self,
        leaf: Tensor,
        parent: Tensor,
        position: Tensor,
        rank: Tensor,
    ) -> Tensor:
        """(K,) int64, the numbers of the places of leaves.

        Args:
            leaf, parent: (K,) ids of their functions and of those above them, -1 above a root.
            position, rank: (K,) int64, how many siblings come before them, and how many of the same function.
        """
        leaf = self._name[leaf.long()]
        parent = self._name[parent.long()]
        position = torch.where(self._keyed[parent], rank, position).clamp(max=POSITIONS)
        pair = leaf * self._count + parent
        rows = torch.full_like(pair, self._last)
        # From the widest place to the narrowest, which so is the last to write its row.
        keys = (leaf, pair, pair * (POSITIONS + 1) + position)
        for level, key in zip(self._levels, keys, strict=True):
            if len(level.keys):
                last = len(level.keys) - 1
                index = torch.searchsorted(level.keys, key).clamp(max=last)
                is_there = level.keys[index] == key
                rows = torch.where(is_there, level.rows[index], rows)
        return rows

    def distances(self, values: Tensor, rows: Tensor) -> Tensor:
        """(K,) float64, ``(v - middle) / spread`` of numbers at places, never infinite; NaN for NaN."""
        # Of halves, because the difference of two numbers near the largest may be above it.
        half_middle = self._middle[rows] / 2
        half_difference = values / 2 - half_middle
        half_distance = half_difference / self._spread[rows]
        return half_distance.clamp(-FARTHEST, FARTHEST) * 2

    def outside(self, values: Tensor, rows: Tensor) -> Tensor:
        """(K,) bool, which numbers are below or above all that training had at their places; NaN is not."""
        is_below = values < self._low[rows]
        is_above = values > self._high[rows]
        return is_below | is_above

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_moved": {}}


def _column(numbers: Iterable[float]) -> Tensor:
    return torch.tensor(list(numbers), dtype=torch.float64)


def parents_of(batch: Any) -> tuple[Tensor, Tensor, Tensor]:
    """(N,) int64 each: the function above each node, -1 for a root, its position and its rank there.

    Of a node with several parents it is one of them.
    """
    child = batch.child_index.long()
    zeros = torch.zeros_like(batch.function, dtype=torch.int64)
    function_above = batch.function.long()[batch.parent_index]
    parent = (zeros - 1).index_copy(0, child, function_above)
    position = zeros.index_copy(0, child, batch.slot)
    rank = zeros.index_copy(0, child, ranks_of(batch))
    return parent, position, rank


def ranks_of(batch: Any) -> Tensor:
    """(E,) int64, how many siblings of the same function come before the child of each edge."""
    function = batch.function.long()[batch.child_index.long()]
    # Sorted by parent and function, edges of one rank 0, 1, ... are next to each other, and a rank is the distance
    # from the first edge of its segment. Both sorts are stable, so the order of siblings is kept.
    order = torch.argsort(function, stable=True)
    order = order[torch.argsort(batch.parent_index[order], stable=True)]
    function = function[order]
    parent = batch.parent_index[order]
    edge = torch.arange(len(order), device=order.device)
    if not len(edge):
        return edge
    is_first = torch.ones_like(edge, dtype=torch.bool)
    is_first[1:] = function[1:] != function[:-1]
    is_first[1:] |= parent[1:] != parent[:-1]
    first = torch.where(is_first, edge, 0).cummax(0).values
    return torch.empty_like(edge).index_copy(0, order, edge - first)


class _Numbers(NamedTuple):
    """The numbers of training, K of them, one for each parent of a leaf with a number."""

    leaf: np.ndarray
    """(K,) int64, the name of its function."""
    parent: np.ndarray
    """(K,) int64, that of the function above."""
    slot: np.ndarray
    """(K,) int64, how many siblings come before it, at most POSITIONS."""
    rank: np.ndarray
    """(K,) int64, how many of them have its function, at most POSITIONS."""
    parent_node: np.ndarray
    """(K,) int64, different for different nodes above, in whatever batch."""
    value: np.ndarray
    """(K,) float64."""


def _read_numbers(batches: Iterable[Any], names: dict[str, int]) -> _Numbers | None:
    """The numbers of all batches; None if there are none. ``names`` gets a number for each name of a function."""
    blocks: list[_Numbers] = []
    for batch in batches:
        if batch.value is not None:
            blocks.append(_numbers_of(batch, len(blocks), names))
    if not any(len(numbers.value) for numbers in blocks):
        return None
    return _Numbers(*map(np.concatenate, zip(*blocks, strict=True)))


def _numbers_of(
    batch: Any,
    block: int,
    names: dict[str, int],
) -> _Numbers:
    """The numbers of one batch, the ``block``-th."""
    function_names = [name for name, _ in batch.vocabulary.functions]
    function_names.append(NO_PARENT)  # id -1
    for name in function_names:
        names.setdefault(name, len(names))
    name_of_id = np.array([names[name] for name in function_names], np.int64)
    value = batch.value.numpy()
    function = batch.function.numpy()
    child = batch.child_index.numpy()
    parent = batch.parent_index.numpy()
    has_number = ~np.isnan(value)
    edges = np.flatnonzero(has_number[child])
    has_number[child] = False
    roots = np.flatnonzero(has_number)

    # The edges come first, then the roots: they have function -1 above them, and position 0.
    node = np.concatenate([child[edges], roots])
    no_parent = np.full(len(roots), -1)
    parent_function = np.concatenate([function[parent[edges]], no_parent])
    parent_node = np.concatenate([parent[edges], -1 - roots])
    first_positions = np.zeros(len(roots), np.int64)
    slot = np.minimum(batch.slot.numpy()[edges], POSITIONS)
    rank = np.minimum(ranks_of(batch).numpy()[edges], POSITIONS)
    return _Numbers(
        leaf=name_of_id[function[node]],
        parent=name_of_id[parent_function],
        slot=np.concatenate([slot, first_positions]),
        rank=np.concatenate([rank, first_positions]),
        parent_node=parent_node + (block << 40),  # nodes of different blocks are different
        value=value[node],
    )


def _positions(
    numbers: _Numbers,
    pair: np.ndarray,
    count: int,
) -> np.ndarray:
    """(K,) int64, positions by the rule of this module; ``pair`` is ``leaf * count + parent``."""
    pairs, occurrences = np.unique(pair, return_counts=True)
    parents = pairs[occurrences >= MIN_PLACE_NUMBERS] % count
    parents, leaf_functions = np.unique(parents, return_counts=True)
    keyed = parents[leaf_functions > 1]
    return np.where(np.isin(numbers.parent, keyed), numbers.rank, numbers.slot)


def _is_repeated(pair: np.ndarray, parent_node: np.ndarray) -> np.ndarray:
    """(K,) bool, which numbers have a leaf's and a parent's function that some node has twice."""
    order = np.lexsort((parent_node, pair))
    pairs = pair[order]
    is_first = starts_segment(pairs, parent_node[order])
    return np.isin(pair, pairs[~is_first])


def _groups(key: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """The rows with each key, ascending, that are enough for a scale of their own."""
    order = rows[np.argsort(key[rows], kind="stable")]
    starts = np.flatnonzero(np.diff(key[order])) + 1
    groups = np.split(order, starts)
    return [group for group in groups if len(group) >= MIN_PLACE_NUMBERS]


def _scale(place: tuple[Any, ...], values: np.ndarray) -> PlaceScale:
    """The scale of some numbers. ``place`` has up to three parts: function, function above, position."""
    leaf, parent, position = (*place, None, None, None)[:3]
    measures = measure(values)
    return PlaceScale(
        leaf,
        parent,
        position,
        measures.middle,
        measures.spread,
        measures.low,
        measures.high,
    )


class NumberMeasures(NamedTuple):
    """Robust measures of some numbers, as :class:`PlaceScale` describes them."""

    middle: float
    spread: float
    low: float
    high: float


def measure(values: np.ndarray) -> NumberMeasures:
    """Middle, spread, lowest and highest of some numbers (K,) float64."""
    values = values.clip(-FARTHEST, FARTHEST)
    middle = float(np.median(values))
    distances = np.abs(values - middle)
    spread = NORMAL * float(np.median(distances))
    if not spread and distances.any():
        others = distances[distances > 0]
        spread = NORMAL * float(np.median(others))
    if not spread:
        spread = abs(middle) or 1.0
    return NumberMeasures(
        middle=middle,
        spread=spread,
        low=float(values.min()),
        high=float(values.max()),
    )
