"""Passes as compiled calls, for the CPU: one forward; backward one each for the steps, the leaves and the weights."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.engine.generator import generator_at, generator_state
from dgltree.engine.kernels.blas import product_address
from dgltree.engine.kernels.cell_pass import BackwardResult, CellPass
from dgltree.engine.kernels.kernel import States
from dgltree.engine.kernels.layout import KEY, MAX_RUN_ROWS, Key, pieces_of
from dgltree.engine.kernels.operands import operand

if TYPE_CHECKING:
    from dgltree.engine.kernels.numba_pass import NumbaRuns

RECOMPUTED_ROWS = 4096
"""Rows whose gates are computed once more at a time."""
TOGETHER = 1024
"""Rows of one matrix whose inputs are gathered for its gradient at a time."""


class CompiledPass(CellPass):
    """Of cells that read their children one by one."""

    kernel: "type[NumbaRuns]"

    def inputs(self, batch: TreeBatch, weights: Mapping[str, Tensor]) -> list[Tensor | None]:
        """(slots, d), the x of the rows of each map, where these lie; None if none has one."""
        inputs = self._x(batch)
        for key, x in zip(self.maps, inputs, strict=True):
            name = self._input_name(key)
            if x is not None and (x.shape[1] != weights[name].shape[2] or x.dtype != weights[name].dtype):
                raise RuntimeError(
                    f"inputs are {tuple(x.shape)} of {x.dtype}, which {name}, {tuple(weights[name].shape)} of "
                    f"{weights[name].dtype}, cannot multiply"
                )
        return inputs

    def step_inputs(self, inputs: Sequence[Tensor | None], weights: Mapping[str, Tensor]) -> list[Tensor | None]:
        return super().step_inputs(self.input_products(inputs, weights), weights)

    def forward(
        self, leaf_h: Tensor, leaf_memory: Tensor, inputs: Sequence[Tensor | None], weights: Mapping[str, Tensor]
    ) -> States:
        self.generator = generator_state(self.cell) if self.recompute else None
        self._start(leaf_h, leaf_memory, inputs, weights)
        self.x = {key: operand(x) for key, x in self.given.items() if x is not None}
        if not self.recompute:
            self.pre = self._gates()
        for _ in self._pieces():
            self._runs(None).forward()
        if self.recompute:
            self.mask = self.mask[:0]
        return self.states

    def backward(self, d_h: Tensor, d_memory: Tensor, keep: bool) -> BackwardResult:
        states, gradients = self.states, dict[str, Tensor]()
        row_memory = torch.empty_like(states.memory) if keep else states.memory
        edge_h = d_h.new_empty(len(states.children), self.n)
        sent = self._sent(d_h, d_memory, edge_h, self._edge_gates(edge_h), row_memory)
        d_inputs = {key: torch.empty_like(x) for key, x in self.x.items() if self._wants(key)}
        if self.recompute:
            with generator_at(self.generator, d_h.device):
                self.mask = self._masks()
        for places in self._pieces(backward=True, keep=keep):
            if self.recompute:
                self._runs(None).forward()
            d_x = d_inputs if places is None else {key: torch.empty_like(self.x[key]) for key in d_inputs}
            named = self._addends()
            runs, *others = (self._runs(each, d_x) for each in named)
            runs.backward(sent)
            runs.gradients(TOGETHER, others)
            for name, further in chain.from_iterable(each.items() for each in named):
                gradients[name] = gradients[name].add_(further) if name in gradients else further
            for key, place in (places or {}).items():
                if key in d_x:
                    d_inputs[key][place] = d_x[key]
        leaf_h, leaf_memory = self._leaf_gradients(d_h)
        runs.leaves(leaf_h, leaf_memory)
        return BackwardResult(leaf_h, leaf_memory, [d_inputs.get(key) for key in self.maps], gradients)

    def _pieces(self, backward: bool = False, keep: bool = False) -> Iterator[dict[Key, Tensor] | None]:
        """The pass as a whole; or, if its gates are computed once more, piece after piece, and where their slots are.

        Meanwhile the layout, the gates and the inputs are those of the piece. With ``keep`` gates stay for another
        backward pass.
        """
        if not self.recompute:
            kept = self.pre
            if keep:
                self.pre = {key: gates.clone() for key, gates in kept.items()}
            yield None
            self.pre = kept
            return
        whole, x = self.layout, self.x
        pieces = pieces_of(whole, RECOMPUTED_ROWS)
        for piece in reversed(pieces) if backward else pieces:
            self.layout = piece.layout
            self.x = {key: rows.index_select(0, piece.places[key]) for key, rows in x.items()}
            self.pre = self._gates()
            yield piece.places
        self.layout, self.x, self.pre = whole, x, {}

    def _slots(self) -> dict[Key, int]:
        if not self.keep:
            return dict.fromkeys(self.maps, 0)
        rows = self.layout.rows
        return (
            {key: min(count, RECOMPUTED_ROWS + MAX_RUN_ROWS) for key, count in rows.items()} if self.recompute else rows
        )

    def _wants(self, key: Key) -> bool:
        """Whether the x of a map's rows gets gradients: asked of what was given, for a copy of it does not say."""
        x = self.given[key]
        return x is not None and x.requires_grad

    def _gates_for(self, key: Key, slots: int) -> Tensor:
        read = self.given[key] is not None
        width = self.weights[self._input_name(key)].shape[1] if read else self.maps[key].affine.fan_out
        return self._room(slots, width)

    def _addends(self) -> list[dict[str, Tensor]]:
        """What gradients of weights are added to, at first 0: of first, second, ... groups of rows of a matrix."""
        layout = self.layout
        numbers = layout.table[layout.order[layout.groups[:-1]], KEY].tolist()
        found = []
        for number in range(max(layout.addend, default=0) + 1):
            keys = {of for of, addend in zip(numbers, layout.addend, strict=True) if addend == number}
            names = [name for of, key in enumerate(self.maps) if of in keys for name in self._names(key)]
            found.append({name: torch.zeros_like(self.weights[name]) for name in names if name in self.wanted})
        return found

    def _names(self, key: Key) -> list[str]:
        """Of the tensors of a map that want gradients, or may."""
        name = f"gates_{self.cell.key(key)}"
        read = [self._input_name(key)] if key in self.x else []
        return [*read, f"{name}.weight", f"{name}.bias"]

    def _runs(self, gradients: Mapping[str, Tensor] | None, d_x: Mapping[Key, Tensor] | None = None) -> "NumbaRuns":
        """The compiled code for the gates where they lie now; in a backward pass with what it adds gradients to."""
        address = product_address(self.states.h.dtype)
        assert address is not None
        maps = torch.tensor([self._map(key, gradients or {}, d_x or {}) for key in self.maps])
        inputs = max(1, *(key or 1 for key in self.maps)) * self.n
        room = 0 if self.keep else max(gates.shape[1] for gates in self.pre.values())
        spaces = MAX_RUN_ROWS * inputs, MAX_RUN_ROWS * room
        options = self.fused.options
        return self.kernel(options, self.states, self.layout, maps, address, self.mask, spaces, self._more(gradients))

    def _map(self, key: Key, gradients: Mapping[str, Tensor], d_x: Mapping[Key, Tensor]) -> list[int]:
        """A row of the table of maps."""
        name, gates, x = f"gates_{self.cell.key(key)}", self.pre[key], self.x.get(key)
        weight, bias = self._of("gates", key)
        assert bias is not None
        own = [gates, weight, bias, *(gradients.get(f"{name}.{kind}") for kind in ("weight", "bias"))]
        if x is None:
            own += [None] * 4
        else:
            read = self._input_name(key)
            own += [x, self.weights[read], d_x.get(key), gradients.get(read)]
        matrices, fan_out, fan_in = weight.shape
        sizes = [1 if key is None else key, fan_in, fan_out, matrices, gates.shape[1], gates.shape[0]]
        width = 0 if x is None else x.shape[1]
        return [*sizes, width, *(0 if tensor is None else tensor.data_ptr() for tensor in own)]

    def _more(self, gradients: Mapping[str, Tensor] | None) -> tuple[Tensor, ...]:
        """What else the compiled code reads and writes."""
        return ()

    def _edge_gates(self, edge_h: Tensor) -> Tensor:
        """(edges, n), the gates that the children's memories went through; or room for them."""
        return torch.empty_like(edge_h)


class CompiledSumPass(CompiledPass):
    """Of cells that add up what their children send."""

    def forward(
        self, leaf_h: Tensor, leaf_memory: Tensor, inputs: Sequence[Tensor | None], weights: Mapping[str, Tensor]
    ) -> States:
        self.f = leaf_h.new_empty(len(self.schedule.children), self.n)
        return super().forward(leaf_h, leaf_memory, inputs, weights)

    def backward(self, d_h: Tensor, d_memory: Tensor, keep: bool) -> BackwardResult:
        self.d_f = torch.empty_like(self.f)
        return super().backward(d_h, d_memory, keep)

    def _names(self, key: Key) -> list[str]:
        name = f"message_{self.cell.key(key)}"
        return [*super()._names(key), f"{name}.weight", f"{name}.bias"]

    def _more(self, gradients: Mapping[str, Tensor] | None) -> tuple[Tensor, ...]:
        weight, bias = self._of("message", None)
        assert bias is not None
        name = f"message_{self.cell.key(None)}"
        if gradients is None:
            return self.f, self.f[:0], weight, bias, weight[:0], bias[:0]
        wanted = (gradients.get(f"{name}.weight", weight[:0]), gradients.get(f"{name}.bias", bias[:0]))
        return self.f, self.d_f, weight, bias, *wanted

    def _edge_gates(self, edge_h: Tensor) -> Tensor:
        return self.f
