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
        numbers = (self.middle, self.spread, self.low, self.high)
        given = [each is not None for each in (self.leaf, self.parent, self.position)]
        names = all(isinstance(name, str | None) for name in (self.leaf, self.parent))
        whole = self.position is None or (type(self.position) is int and 0 <= self.position <= POSITIONS)
        real = all(type(number) in (int, float) and isfinite(number) for number in numbers)
        if not (names and whole and real and given == sorted(given, reverse=True) and self.spread > 0):
            raise ValueError(f"not a scale for the numbers of a place: {astuple(self)!r:.80}")

    @property
    def name(self) -> str:
        """The place, for people: ``order.amount``, ``item.atom[0]``."""
        above = f"{self.parent}." if self.parent else ""
        return f"{above}{self.leaf}" + ("" if self.position is None else f"[{self.position}]")


class NumberScales:
    """The scales of all places of a training.

    Args:
        places: from those with a position to that of any leaf, which must be the last.

    Raises ``ValueError`` for places that occur twice, and without the last.
    """

    def __init__(self, places: Iterable[PlaceScale]) -> None:
        self.places = tuple(places)
        kinds = [(place.leaf, place.parent, place.position) for place in self.places]
        if not kinds or kinds[-1] != (None, None, None) or len(set(kinds)) < len(kinds):
            raise ValueError("the scales of numbers must name each place once, and the scale of all other leaves last")

    @classmethod
    def of(cls, batches: Iterable[Any]) -> "NumberScales | None":
        """Those of the numbers at leaves of training trees, each ``TreeBatch`` in its vocabulary; None if none has one.

        Each number counts once for each parent of its leaf.
        """
        columns = _columns(batches)
        if columns is None:
            return None
        names, leaf, parent, position, value, twice = columns
        pair, every = leaf * len(names) + parent, np.ones(len(value), bool)
        levels = ((pair * (POSITIONS + 1) + position, twice, 3), (pair, every, 2), (leaf, every, 1))
        places, alone = list[PlaceScale](), np.ones(len(value), bool)
        for key, may, parts in levels:
            for group in _groups(key, np.flatnonzero(may)):
                where = (names[leaf[group[0]]], names[parent[group[0]]], int(position[group[0]]))
                kept = [part if k < parts else None for k, part in enumerate(where)]
                places.append(PlaceScale(*kept, *measure(value[group])))  # type: ignore[arg-type, call-arg]
                alone[group] = False
        places.append(PlaceScale(None, None, None, *measure(value[alone] if alone.any() else value)))
        return cls(places)

    @property
    def narrowest(self) -> list[PlaceScale]:
        """The places that no narrower one of these is part of, without that of any leaf."""
        wider = {
            (place.leaf, None if place.position is None else place.parent)
            for place in self.places[:-1]
            if place.parent is not None
        }
        return [
            place for place in self.places[:-1] if place.position is not None or (place.leaf, place.parent) not in wider
        ]

    def __eq__(self, other: object) -> bool:
        return self.places == other.places if isinstance(other, NumberScales) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.places)

    def __repr__(self) -> str:
        return f"<NumberScales: {len(self.places)} places>"

    def to_json(self) -> list[list[Any]]:
        return [list(astuple(place)) for place in self.places]

    @classmethod
    def from_json(cls, data: Any) -> "NumberScales":
        """Inverse of :meth:`to_json`. Raises ``ValueError`` for anything else."""
        if not isinstance(data, list) or not all(isinstance(row, list) and len(row) == 7 for row in data):
            raise ValueError("each scale of a vocabulary must be a list of a place in three parts and four numbers")
        return cls(PlaceScale(*row) for row in data)


class ScaleTable:
    """The scales of places by the ids of a vocabulary's functions.

    Args:
        scales: by names.
        functions: the vocabulary's.
    """

    def __init__(self, scales: NumberScales, functions: Sequence[tuple[str, int | None]]) -> None:
        names = {name: i for i, name in enumerate(dict.fromkeys([*(name for name, _ in functions), NO_PARENT]))}
        self._count = len(names)
        self._name = torch.tensor([*(names[name] for name, _ in functions), names[NO_PARENT]])
        keys: list[list[tuple[int, int]]] = [[], [], []]
        pairs = {(place.leaf, place.parent) for place in scales.places if place.parent is not None}
        named = Counter(parent for _, parent in pairs)
        self._keyed = torch.tensor([named[name] > 1 for name in names])
        for row, place in enumerate(scales.places[:-1]):
            leaf, parent = names.get(place.leaf or ""), names.get(NO_PARENT if place.parent is None else place.parent)
            if leaf is not None and parent is not None:
                pair = leaf * self._count + parent
                level = (place.parent is not None) + (place.position is not None)
                keys[level].append(((leaf, pair, pair * (POSITIONS + 1) + (place.position or 0))[level], row))
        self._levels = [tuple(torch.tensor(sorted(level)).view(-1, 2).long().T.contiguous()) for level in keys]
        self._last = len(scales.places) - 1
        numbers = [(place.middle, place.spread, place.low, place.high) for place in scales.places]
        self._middle, self._spread, self._low, self._high = torch.tensor(numbers, dtype=torch.float64).unbind(1)
        self._moved: dict[torch.device, ScaleTable] = {}

    def on(self, device: torch.device) -> "ScaleTable":
        """The same on a device, copied there once."""
        if device == self._name.device:
            return self
        if device not in self._moved:
            moved = self._moved[device] = copy(self)
            moved._moved = {}
            moved._levels = [tuple(column.to(device) for column in level) for level in self._levels]
            for name in ("_name", "_keyed", "_middle", "_spread", "_low", "_high"):
                setattr(moved, name, getattr(self, name).to(device))
        return self._moved[device]

    def rows(self, leaf: Tensor, parent: Tensor, position: Tensor, rank: Tensor) -> Tensor:
        """(K,) int64, the numbers of the places of leaves.

        Args:
            leaf, parent: (K,) ids of their functions and of those above them, -1 above a root.
            position, rank: (K,) int64, how many siblings come before them, and how many of the same function.
        """
        leaf, parent = self._name[leaf.long()], self._name[parent.long()]
        position = torch.where(self._keyed[parent], rank, position)
        pair = leaf * self._count + parent
        found = torch.full_like(pair, self._last)
        for (keys, rows), key in zip(
            self._levels, (leaf, pair, pair * (POSITIONS + 1) + position.clamp(max=POSITIONS)), strict=True
        ):
            if len(keys):
                place = torch.searchsorted(keys, key).clamp(max=len(keys) - 1)
                found = torch.where(keys[place] == key, rows[place], found)
        return found

    def distances(self, values: Tensor, rows: Tensor) -> Tensor:
        """(K,) float64, ``(v - middle) / spread`` of numbers at places, never infinite; NaN for NaN."""
        middle, spread = self._middle[rows], self._spread[rows]
        # halves, so that the difference of two numbers near the largest is none above it
        return ((values / 2 - middle / 2) / spread).clamp(-FARTHEST, FARTHEST) * 2

    def outside(self, values: Tensor, rows: Tensor) -> Tensor:
        """(K,) bool, which numbers are below or above all that training had at their places; NaN is not."""
        return (values < self._low[rows]) | (values > self._high[rows])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_moved": {}}


def parents_of(batch: Any) -> tuple[Tensor, Tensor, Tensor]:
    """(N,) int64 each: the function above each node, -1 for a root, its position and its rank there.

    Of a node with several parents it is one of them.
    """
    parent = torch.full_like(batch.function, -1, dtype=torch.int64)
    zeros, child = torch.zeros_like(parent), batch.child_index.long()
    parent = parent.index_copy(0, child, batch.function.long()[batch.parent_index])
    return parent, zeros.index_copy(0, child, batch.slot), zeros.index_copy(0, child, ranks_of(batch))


def ranks_of(batch: Any) -> Tensor:
    """(E,) int64, how many siblings of the same function come before the child of each edge."""
    function = batch.function.long()[batch.child_index.long()]
    order = torch.argsort(function, stable=True)
    order = order[torch.argsort(batch.parent_index[order], stable=True)]
    function, parent, own = function[order], batch.parent_index[order], torch.arange(len(order), device=order.device)
    new = torch.ones_like(own, dtype=torch.bool)
    new[1:] = (function[1:] != function[:-1]) | (parent[1:] != parent[:-1])
    first = torch.where(new, own, 0).cummax(0).values if len(own) else own
    return torch.empty_like(own).index_copy(0, order, own - first)


class _Columns(NamedTuple):
    """The numbers of training, K of them."""

    names: list[str]
    leaf: np.ndarray
    """(K,) int64, the name of its function."""
    parent: np.ndarray
    """(K,) int64, that of the function above."""
    position: np.ndarray
    """(K,) int64, by the rule of this module."""
    value: np.ndarray
    twice: np.ndarray
    """(K,) bool, whether some parent has two numbers of this leaf and parent."""


def _columns(batches: Iterable[Any]) -> _Columns | None:
    """The numbers of all batches; None if there are none."""
    found = [_placed(batch) for batch in batches if batch.value is not None]
    if not sum(len(value) for *_, value in found):
        return None
    names = {name: i for i, name in enumerate(dict.fromkeys(name for of, *_ in found for name in of))}
    leaf, parent = (
        np.concatenate([np.array([names[name] for name in each[0]], np.int64)[each[k]] for each in found])
        for k in (1, 2)
    )
    position, rank, value = (np.concatenate([each[k] for each in found]) for k in (3, 4, 6))
    node = np.concatenate([each[5] + (i << 40) for i, each in enumerate(found)])  # nodes of other blocks are others
    pair = leaf * len(names) + parent
    pairs, counts = np.unique(pair, return_counts=True)
    keyed = _repeated(pairs[counts >= MIN_PLACE_NUMBERS] % len(names))
    position = np.where(np.isin(parent, keyed), rank, position)
    return _Columns(list(names), leaf, parent, position, value, np.isin(pair, _occurring_twice(pair, node)))


def _groups(key: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """The rows with each key, ascending, that are enough for a scale of their own."""
    order = rows[np.argsort(key[rows], kind="stable")]
    starts = np.flatnonzero(np.diff(key[order])) + 1
    return [group for group in np.split(order, starts) if len(group) >= MIN_PLACE_NUMBERS]


def _placed(batch: Any) -> tuple[Any, ...]:
    """The names of functions; and of each number those of the leaf and of its parent, position, rank, parent, value."""
    functions = [name for name, _ in batch.vocabulary.functions]
    names = list(dict.fromkeys([*functions, NO_PARENT]))
    number = {name: i for i, name in enumerate(names)}
    name = np.array([*(number[f] for f in functions), number[NO_PARENT]], np.int64)
    value, function = batch.value.numpy(), batch.function.numpy()
    child, parent, slot = batch.child_index.numpy(), batch.parent_index.numpy(), batch.slot.numpy()
    edge = np.flatnonzero(~np.isnan(value[child]))
    roots = np.flatnonzero(~np.isnan(value))
    roots = roots[~np.isin(roots, child)]
    node = np.concatenate([child[edge], roots])
    return (
        names,
        name[function[node]],
        name[np.concatenate([function[parent[edge]], np.full(len(roots), -1)])],
        *(np.concatenate([np.minimum(each[edge], POSITIONS), 0 * roots]) for each in (slot, ranks_of(batch).numpy())),
        np.concatenate([parent[edge], -1 - roots]),
        value[node],
    )


def _occurring_twice(pair: np.ndarray, node: np.ndarray) -> np.ndarray:
    """The pairs of a leaf's and a parent's function that some node has twice."""
    order = np.lexsort((node, pair))
    same = (pair[order][1:] == pair[order][:-1]) & (node[order][1:] == node[order][:-1])
    return np.unique(pair[order][1:][same])


def _repeated(numbers: np.ndarray) -> np.ndarray:
    different, counts = np.unique(numbers, return_counts=True)
    return different[counts > 1]


def measure(values: np.ndarray) -> tuple[float, float, float, float]:
    """Middle, spread, lowest and highest of some numbers, as :class:`PlaceScale` has them."""
    values = values.clip(-FARTHEST, FARTHEST)
    middle = float(np.median(values))
    distances = np.abs(values - middle)
    spread = NORMAL * float(np.median(distances))
    if not spread and (others := distances[distances > 0]).size:
        spread = NORMAL * float(np.median(others))
    return middle, spread or abs(middle) or 1.0, float(values.min()), float(values.max())
