"""Everything that follows from the contract of a downward cell: its weights, and its states on any engine."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, cast

import torch
from torch import nn

from dgltree.batching.vocabulary import ANY_ARITY
from dgltree.cells.downward.contract import DownwardContract
from dgltree.cells.downward.message_passing import DownwardMessagePassing
from dgltree.cells.positions import Positions
from dgltree.cells.step import State
from dgltree.cells.typed_linear import Affine, TypedLinear


class DownwardCell(DownwardMessagePassing):
    __doc__ = DownwardContract.__doc__  # what an author of a cell and its users read

    def forward(
        self,
        batch: Any,
        up: State | None = None,
        share: bool = False,
        trace: Sequence[str] = (),
        check: bool = False,
        recompute: bool = False,
    ) -> State:
        """States, as of ``dgltree.propagate(..., direction="down", up=up)``, which calls the cell."""
        engine = import_module("dgltree.engine.downward")  # by its name, as cells come before engines
        return cast(State, engine.downward_states(self, batch, up, share, trace, check, recompute))

    def build(self) -> None:
        """Make the parameters; a subclass calls it at the end of its ``__init__``, when its options are set."""
        n, width = self.hidden_size, sum(self.gates().values())
        base, count = self._places()
        self.register_buffer("place", torch.tensor(base, dtype=torch.long), persistent=False)
        self.maps = nn.ModuleDict()
        affine = ({"gates": Affine(n, width)} if width else {}) | self.products()
        for name, each in affine.items() if count else ():
            self.maps[self._name(name)] = TypedLinear(each, {kind: kind for kind in range(count)})
        if self.reads_up:
            own = {f: f if self.typed else 0 for f in range(len(base))}
            self.maps[self._name("input")] = TypedLinear(Affine(n, width, bias=False), own)
        if self.positions and width:
            self.position_map = Positions(width)
        self.reset_parameters()
        self.sign()

    def _places(self) -> tuple[list[int], int]:
        """The number of each function's first matrix, and how many there are."""
        functions, keys, count = self.vocabulary.functions, dict[Any, int](), 0
        base = []
        for name, arity in functions:
            if arity is ANY_ARITY and not self.positions:
                raise ValueError(
                    f"the vocabulary has functions of any arity, {name!r} for one; {type(self).__name__} has weights "
                    "for each place of a child: use positions=True, or a vocabulary with arities"
                )
            key = (name if self.typed else "") if self.positions else (name if self.typed else "", arity)
            if arity != 0 and key not in keys:
                keys[key], count = count, count + (1 if self.positions else arity or 0)
            base.append(keys.get(key, 0))
        return base, count

    def _name(self, name: str) -> str:
        return f"{name}_{self.key(None)}"
