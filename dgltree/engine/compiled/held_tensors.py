"""The tensors that the programs of a pass hold.

Maps of many functions lie in one tensor, (K, out, in), of which each program holds an entry. A pass reads entries by
their addresses and writes the gradients of all into one tensor, so nothing is taken apart and put together again.
"""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from dgltree.engine.compiled.known_functions import BoundProgram


class HeldPlace(NamedTuple):
    """What a program holds: a tensor, or an entry of one."""

    tensor: int
    """Its number among those of the pass."""
    entry: int | None = None
    """Of an entry, its index along the first axis; None for the whole tensor."""


class HeldTensors(NamedTuple):
    """What all programs of a pass hold of tensors from outside."""

    tensors: list[Tensor]
    """Each once."""
    places: tuple[tuple[HeldPlace, ...], ...]
    """Of each program, in the order of its tensors from outside."""

    @classmethod
    def whole(cls, bound: Sequence[BoundProgram]) -> "HeldTensors":
        """Collect the tensors of programs, which hold all of each."""
        tensors = {id(tensor): tensor for program in bound for tensor in program.outside}
        numbers = {key: number for number, key in enumerate(tensors)}
        places = tuple(tuple(HeldPlace(numbers[id(tensor)]) for tensor in program.outside) for program in bound)
        return cls(list(tensors.values()), places)

    def entries(self, tensors: Sequence[Tensor], program: int) -> list[Tensor]:
        """What a program holds, of tensors in place of these."""
        found = []
        for number, entry in self.places[program]:
            found.append(tensors[number] if entry is None else tensors[number][entry])
        return found
