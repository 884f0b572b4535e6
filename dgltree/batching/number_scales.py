"""Scales of numbers by their place: a number is compared with the numbers that training had at the same place.

The place of a leaf is its function, the function above it and, where training has two such leaves under one node, its
position: in ``{"created": 1700000000, "at": [48.25, 11.5]}`` there are three, ``created`` and both positions of ``at``.
A position counts all siblings, as arguments are counted; but where a function has numeric leaves of several functions,
as an object has keys, it counts those of the leaf's own, because some keys may be absent.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import astuple, dataclass
from math import isfinite
from typing import Any, NamedTuple, Protocol, TypeVar

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
"""Spreads from the middle at most; also the largest number of which a median or a distance is taken, so that none
overflows."""
NO_PARENT = ""
"""The name above a root."""
BATCH_NODES = 2**40
"""More nodes than a batch has: the distance between the node numbers of two batches."""

_Ids = TypeVar("_Ids", int, np.ndarray, Tensor)


class NumberedNodes(Protocol):
    """The part of a ``TreeBatch`` that is read here; its own module imports this one."""

    @property
    def function(self) -> Tensor: ...
    @property
    def child_index(self) -> Tensor: ...
    @property
    def parent_index(self) -> Tensor: ...
    @property
    def slot(self) -> Tensor: ...
    @property
    def value(self) -> Tensor | None: ...
    @property
    def vocabulary(self) -> Any: ...


class PlaceName(NamedTuple):
    """A place by what it names; None: any. Without a leaf's function it has no parent, without a parent no position."""

    leaf: str | None = None
    parent: str | None = None
    position: int | None = None

    @property
    def wider(self) -> "PlaceName":
        """The place of one part less that this one is part of."""
        if self.position is not None:
            return PlaceName(self.leaf, self.parent)
        if self.parent is not None:
            return PlaceName(self.leaf)
        return PlaceName()


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
    """The smallest number."""
    high: float
    """The largest number."""

    def __post_init__(self) -> None:
        if not (self._names_a_place() and self._has_finite_numbers() and self.spread > 0):
            raise ValueError(
                f"the scale of a field must be four finite numbers with a spread above 0, not {astuple(self)!r:.80}"
            )

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
    def place(self) -> PlaceName:
        """The place without its numbers."""
        return PlaceName(self.leaf, self.parent, self.position)

    @property
    def name(self) -> str:
        """The place, for people: ``order.amount``, ``item.atom[0]``; of a leaf that is named by its path, this."""
        name = str(self.leaf)
        if self.parent and not name.startswith(self.parent):
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
        named = [scale.place for scale in self.places]
        is_complete = named[-1:] == [PlaceName()]
        if not is_complete or len(set(named)) < len(named):
            raise ValueError("the number scales must name each field once and end with the scale of all other leaves")

    @classmethod
    def of(cls, batches: Iterable[NumberedNodes]) -> "NumberScales | None":
        """The scales of training trees, each ``TreeBatch`` in its vocabulary; None if no leaf has a number.

        Each number counts once for each parent of its leaf. A place with too few numbers for a scale of its own leaves
        them to the next wider one.
        """
        names: dict[str, int] = {}
        numbers = _read_numbers(batches, names)
        if numbers is None:
            return None
        left_over = np.ones(len(numbers.value), bool)
        places = []
        for place, rows in _place_rows(numbers, list(names)):
            places.append(_scale(place, numbers.value[rows]))
            left_over[rows] = False
        others = numbers.value
        if left_over.any():
            others = others[left_over]
        places.append(_scale(PlaceName(), others))
        return cls(places)

    @property
    def narrowest(self) -> list[PlaceScale]:
        """The places that no narrower one of these is part of, without that of any leaf."""
        scales = self.places[:-1]
        wider = {scale.place.wider for scale in scales}
        return [scale for scale in scales if scale.place not in wider]

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
                raise ValueError(
                    "each scale of a vocabulary must be a list of seven items: a field in three parts and four numbers"
                )
        return cls(PlaceScale(*row) for row in rows)


@dataclass(frozen=True)
class _PlaceKeys:
    """A place is one whole number, its key, among the places that name as many parts.

    It is made of the numbers of names, from 0 to ``names`` - 1, and of the position. The key of a leaf's function alone
    is its number.
    """

    names: int

    def of_pair(self, leaf: _Ids, parent: _Ids) -> _Ids:
        """The key of a leaf's function and the one above."""
        return leaf * self.names + parent

    def parent_of(self, pair: np.ndarray) -> np.ndarray:
        """The function above in the key of a pair."""
        return pair % self.names

    def of_position(self, pair: _Ids, position: _Ids) -> _Ids:
        """The key of a pair and a position."""
        return pair * (POSITIONS + 1) + position


class _ScaleLevel(NamedTuple):
    """The places that name as many parts: their keys, ascending, and the row of each in the list of places."""

    keys: Tensor
    rows: Tensor

    @classmethod
    def of(cls, row_of_key: Mapping[int, int]) -> "_ScaleLevel":
        keys = sorted(row_of_key)
        rows = [row_of_key[key] for key in keys]
        return cls(torch.tensor(keys, dtype=torch.int64), torch.tensor(rows, dtype=torch.int64))

    def find(self, key: Tensor, default: Tensor) -> Tensor:
        """(K,) int64, the row of each key (K,), or the default (K,) of a key that is not there."""
        if not len(self.keys):
            return default
        last = len(self.keys) - 1
        index = torch.searchsorted(self.keys, key).clamp(max=last)
        is_there = self.keys[index] == key
        return torch.where(is_there, self.rows[index], default)


class _ScaleColumns(NamedTuple):
    """Columns of a table: of function ids, the last for none, of their names, and of places."""

    name: Tensor
    """(F + 1,) int64, the number of a function's name."""
    counts_ranks: Tensor
    """(names,) bool, whether positions under a function count the siblings of the leaf's function alone."""
    middle: Tensor
    """(places,) float64, as the next three."""
    spread: Tensor
    low: Tensor
    high: Tensor


class ScaleTable:
    """The scales of places by the ids of a vocabulary's functions.

    A leaf looks up the keys of its function, of that and its parent's, and of these and its position; the narrowest
    place that there is wins.

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
        self._columns = _ScaleColumns(
            name=torch.tensor([numbers[name] for name in function_names]),
            counts_ranks=_counts_ranks(scales, numbers),
            middle=_column(place.middle for place in scales.places),
            spread=_column(place.spread for place in scales.places),
            low=_column(place.low for place in scales.places),
            high=_column(place.high for place in scales.places),
        )
        self._keys = _PlaceKeys(len(numbers))
        self._levels = _scale_levels(scales, numbers, self._keys)
        self._last = len(scales.places) - 1
        self._moved: dict[torch.device, ScaleTable] = {}

    def on(self, device: torch.device) -> "ScaleTable":
        """This table on a device, copied there once."""
        if device == self._columns.name.device:
            return self
        if device not in self._moved:
            moved = copy(self)
            moved._moved = {}
            moved._columns = _on(device, self._columns)
            moved._levels = [_on(device, level) for level in self._levels]
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
        leaf = self._columns.name[leaf.long()]
        parent = self._columns.name[parent.long()]
        counts_ranks = self._columns.counts_ranks[parent]
        position = torch.where(counts_ranks, rank, position).clamp(max=POSITIONS)
        pair = self._keys.of_pair(leaf, parent)
        rows = torch.full_like(pair, self._last)
        # From the widest place to the narrowest, which so is the last to write its row.
        keys = (leaf, pair, self._keys.of_position(pair, position))
        for level, key in zip(self._levels, keys, strict=True):
            rows = level.find(key, default=rows)
        return rows

    def distances(self, values: Tensor, rows: Tensor) -> Tensor:
        """(K,) float64, ``(v - middle) / spread`` of numbers at places, at most FARTHEST from 0; NaN for NaN."""
        # Of halves, because the difference of two numbers near the largest may be above it.
        half_middle = self._columns.middle[rows] / 2
        half_difference = values / 2 - half_middle
        half_distance = half_difference / self._columns.spread[rows]
        return half_distance.clamp(-FARTHEST / 2, FARTHEST / 2) * 2

    def outside(self, values: Tensor, rows: Tensor) -> Tensor:
        """(K,) bool, which numbers are below or above all that training had at their places; NaN is not."""
        is_below = values < self._columns.low[rows]
        is_above = values > self._columns.high[rows]
        return is_below | is_above

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_moved": {}}


def _column(numbers: Iterable[float]) -> Tensor:
    return torch.tensor(list(numbers), dtype=torch.float64)


_Columns = TypeVar("_Columns", _ScaleLevel, _ScaleColumns)


def _on(device: torch.device, columns: _Columns) -> _Columns:
    """The columns on a device."""
    moved = [column.to(device) for column in columns]
    return type(columns)(*moved)


def _counts_ranks(scales: NumberScales, numbers: Mapping[str, int]) -> Tensor:
    """(names,) bool, which names have places of several leaves' functions under them, as an object has keys."""
    pairs = {(place.leaf, place.parent) for place in scales.places}
    leaves_below = Counter(parent for _, parent in pairs)  # places of any parent are counted at None
    return torch.tensor([leaves_below[name] > 1 for name in numbers])


def _scale_levels(
    scales: NumberScales,
    numbers: Mapping[str, int],
    keys: _PlaceKeys,
) -> list[_ScaleLevel]:
    """The places of a leaf's function, of that and a parent's, and of these and a position.

    A place of a function that the vocabulary lacks is left out.
    """
    of_leaf = {}
    of_pair = {}
    of_position = {}
    for row, place in enumerate(scales.places[:-1]):
        leaf = numbers.get(place.leaf or "")
        parent = numbers.get(place.parent or NO_PARENT)
        if leaf is None or parent is None:
            continue
        pair = keys.of_pair(leaf, parent)
        if place.parent is None:
            of_leaf[leaf] = row
        elif place.position is None:
            of_pair[pair] = row
        else:
            of_position[keys.of_position(pair, place.position)] = row
    return [_ScaleLevel.of(level) for level in (of_leaf, of_pair, of_position)]


def parents_of(batch: NumberedNodes) -> tuple[Tensor, Tensor, Tensor]:
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


def ranks_of(batch: NumberedNodes) -> Tensor:
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
    """(K,) int64, the number of its function's name."""
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


def _read_numbers(batches: Iterable[NumberedNodes], names: dict[str, int]) -> _Numbers | None:
    """The numbers of all batches; None if there are none. ``names`` gets a number for each name of a function."""
    blocks: list[_Numbers] = []
    for batch in batches:
        if batch.value is not None:
            first_node = len(blocks) * BATCH_NODES
            blocks.append(_numbers_of(batch, batch.value, first_node, names))
    if not any(len(numbers.value) for numbers in blocks):
        return None
    columns = zip(*blocks, strict=True)
    return _Numbers._make(map(np.concatenate, columns))


def _numbers_of(
    batch: NumberedNodes,
    values: Tensor,
    first_node: int,
    names: dict[str, int],
) -> _Numbers:
    """The numbers of one batch (N,), whose nodes above them are numbered from ``first_node``, roots backwards."""
    function_names = [name for name, _ in batch.vocabulary.functions]
    function_names.append(NO_PARENT)  # id -1
    for name in function_names:
        names.setdefault(name, len(names))
    name_of_id = np.array([names[name] for name in function_names], np.int64)
    value = values.numpy()
    function = batch.function.numpy()
    child = batch.child_index.numpy()
    parent = batch.parent_index.numpy()
    has_number = ~np.isnan(value)
    edges = np.flatnonzero(has_number[child])
    is_child = np.zeros_like(has_number)
    is_child[child] = True
    roots = np.flatnonzero(has_number & ~is_child)

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
        parent_node=parent_node + first_node,
        value=value[node],
    )


def _place_rows(numbers: _Numbers, names: Sequence[str]) -> Iterator[tuple[PlaceName, np.ndarray]]:
    """The places with enough numbers for a scale of their own, from the narrowest to the widest, each with its rows."""
    keys = _PlaceKeys(len(names))
    pair = keys.of_pair(numbers.leaf, numbers.parent)
    position = _positions(numbers, pair, keys)
    repeated = np.flatnonzero(_is_repeated(pair, numbers.parent_node))
    for rows in _groups(keys.of_position(pair, position), repeated):
        leaf, parent = _names_at(rows[0], numbers, names)
        yield PlaceName(leaf, parent, int(position[rows[0]])), rows
    every = np.arange(len(pair))
    for rows in _groups(pair, every):
        leaf, parent = _names_at(rows[0], numbers, names)
        yield PlaceName(leaf, parent), rows
    for rows in _groups(numbers.leaf, every):
        leaf, _ = _names_at(rows[0], numbers, names)
        yield PlaceName(leaf), rows


def _names_at(
    row: int,
    numbers: _Numbers,
    names: Sequence[str],
) -> tuple[str, str]:
    """The function of a number's leaf, and the one above."""
    return names[numbers.leaf[row]], names[numbers.parent[row]]


def _positions(
    numbers: _Numbers,
    pair: np.ndarray,
    keys: _PlaceKeys,
) -> np.ndarray:
    """(K,) int64, positions by the rule of this module, of numbers with the keys ``pair``."""
    pairs, occurrences = np.unique(pair, return_counts=True)
    parents = keys.parent_of(pairs[occurrences >= MIN_PLACE_NUMBERS])
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


def _scale(place: PlaceName, values: np.ndarray) -> PlaceScale:
    """The scale of the numbers of a place."""
    measures = measure(values)
    return PlaceScale(**place._asdict(), **measures._asdict())


class NumberMeasures(NamedTuple):
    """Robust measures of some numbers, as :class:`PlaceScale` describes them."""

    middle: float
    spread: float
    low: float
    high: float


def measure(values: np.ndarray) -> NumberMeasures:
    """Middle, spread, lowest and highest of some numbers (K,) float64; infinite ones count as the largest finite ones.

    The ends are those of the numbers as they are, so that none of them is outside of all that training had.
    """
    largest = sys.float_info.max
    ends = values.clip(-largest, largest)
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
        low=float(ends.min()),
        high=float(ends.max()),
    )
