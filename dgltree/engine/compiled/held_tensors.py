"""The tensors that the programs of a pass hold.

Maps of many functions lie in one tensor, (K, out, in), of which each program holds an entry. A pass reads entries by
their addresses and writes the gradients of all into one tensor, so nothing is taken apart and put together again.
"""

import operator
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from torch import Tensor

from dgltree.engine.compiled.known_functions import BoundProgram
from dgltree.engine.compiled.programs import NodeProgram
from dgltree.engine.contract import CellBase


class HeldPlace(NamedTuple):
    """What a program holds: a tensor, or an entry of one."""

    tensor: int
    """The tensor's number among those of the pass."""
    entry: int | None = None
    """The index of an entry along the first axis; None for the whole tensor."""


class HeldTensors(NamedTuple):
    """What all programs of a pass hold of tensors from outside."""

    tensors: list[Tensor]
    """Each once."""
    places: tuple[tuple[HeldPlace, ...], ...]
    """The places of each program, in the order of its tensors from outside."""

    @classmethod
    def whole(cls, bound: Sequence[BoundProgram]) -> "HeldTensors":
        """Collect the tensors of programs, which hold all of each."""
        tensors = {id(tensor): tensor for program in bound for tensor in program.outside}
        numbers = {key: number for number, key in enumerate(tensors)}
        places = []
        for program in bound:
            places.append(tuple(HeldPlace(numbers[id(tensor)]) for tensor in program.outside))
        return cls(list(tensors.values()), tuple(places))

    def entries(self, tensors: Sequence[Tensor], program: int) -> list[Tensor]:
        """What a program holds, of tensors in place of these."""
        found = []
        for number, entry in self.places[program]:
            found.append(tensors[number] if entry is None else tensors[number][entry])
        return found


# ---------------------------------------------------------------------------------------------------------------------
# What the programs of a cell's rows hold.


class HeldSource(NamedTuple):
    """Where a tensor that a program holds comes from."""

    name: str
    """The whole name of a map, or that of a parameter of the cell."""
    kind: str | None
    """"weight" or "bias" of a map; None for a parameter."""


class ArityProgram(NamedTuple):
    """The program of rows of an arity, and where what it holds comes from."""

    program: NodeProgram
    sources: list[HeldSource | None]
    outside: Sequence[Tensor]
    """What it holds for the function with which it was recorded; empty if all has a source."""


class HeldByKinds:
    """Which tensors the programs of all kinds of rows hold, whatever is in them.

    Args:
        cell: that computes.
        of_arity: its programs.
        kinds: the arity and the function of each.
    """

    def __init__(
        self, cell: CellBase, of_arity: Mapping[int | None, ArityProgram], kinds: Sequence[tuple[int | None, int]]
    ) -> None:
        self.of_arity = of_arity
        maps = cell.named_maps()
        numbers: dict[Any, int] = {}
        """Numbers of tensors by their source, or by the program that holds one without, and its place there."""
        places = []
        for arity, function in kinds:
            of_kind = []
            for number, source in enumerate(of_arity[arity].sources):
                tensor = numbers.setdefault(source or (arity, number), len(numbers))
                entry = None
                if source is not None and source.kind is not None:
                    entry = maps[source.name].position[function]
                of_kind.append(HeldPlace(tensor, entry))
            places.append(tuple(of_kind))
        self.keys = list(numbers)
        self.places = tuple(places)

    def tensors(self, cell: CellBase, weights: Mapping[str, Tensor]) -> HeldTensors:
        """Collect them from a cell, whose ``map_weights`` these are."""
        found = []
        for key in self.keys:
            if not isinstance(key, HeldSource):
                arity, number = key
                found.append(self.of_arity[arity].outside[number])
            elif key.kind is None:
                found.append(operator.attrgetter(key.name)(cell))
            else:
                found.append(weights[f"{key.name}.{key.kind}"])
        return HeldTensors(found, self.places)
