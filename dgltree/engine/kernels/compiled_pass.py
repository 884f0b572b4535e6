"""Passes as compiled calls, for the CPU: one forward; backward one each for the steps, the leaves and the weights."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dgltree.engine.kernels.blas import product_address
from dgltree.engine.kernels.cell_pass import BackwardResult, CellPass
from dgltree.engine.kernels.kernel import States
from dgltree.engine.kernels.layout import MOST, Key

if TYPE_CHECKING:
    from dgltree.engine.kernels.numba_pass import NumbaRuns

TOGETHER = 1024
"""Rows of one matrix whose inputs are gathered for its gradient at a time."""


class CompiledPass(CellPass):
    """Of cells that read their children one by one."""

    kernel: "type[NumbaRuns]"

    def forward(
        self, leaf_h: Tensor, leaf_memory: Tensor, x_pre: Sequence[Tensor | None], weights: Mapping[str, Tensor]
    ) -> States:
        whole = {name: tensor.contiguous() for name, tensor in weights.items()}
        self._start(leaf_h, leaf_memory, x_pre, whole)
        self.mask = torch.cat(self.masks)
        self._runs(None).forward()
        return self.states

    def backward(self, d_h: Tensor, d_memory: Tensor, keep: bool) -> BackwardResult:
        kept, states = self.pre, self.states
        if keep:
            self.pre = {key: gates.clone() for key, gates in kept.items()}
        row_memory = torch.empty_like(states.memory) if keep else states.memory
        gradients = {name: torch.zeros_like(self.weights[name]) for name in self._names() if name in self.wanted}
        runs = self._runs(gradients)
        edge_h = d_h.new_empty(len(states.children), self.n)
        runs.backward(self._sent(d_h, d_memory, edge_h, self._edge_gates(edge_h), row_memory))
        leaf_h, leaf_memory = self._leaf_gradients(d_h)
        runs.leaves(leaf_h, leaf_memory)
        runs.gradients(TOGETHER)
        found = BackwardResult(leaf_h, leaf_memory, self._input_gradients(), gradients)
        self.pre = kept
        return found

    def _slots(self) -> dict[Key, int]:
        return self.layout.rows if self.keep else dict.fromkeys(self.maps, 0)

    def _names(self) -> list[str]:
        """Of the tensors that want gradients, or may."""
        names = (f"gates_{self.cell.key(key)}" for key in self.maps)
        return [f"{name}.{kind}" for name in names for kind in ("weight", "bias")]

    def _runs(self, gradients: Mapping[str, Tensor] | None) -> "NumbaRuns":
        """The compiled code for the gates where they lie now; in a backward pass with what it adds gradients to."""
        address = product_address(self.states.h.dtype)
        assert address is not None
        maps = torch.tensor([self._map(key, gradients or {}) for key in self.maps])
        inputs = max(1, *(key or 1 for key in self.maps)) * self.n
        room = 0 if self.keep else max(gates.shape[1] for gates in self.pre.values())
        spaces = MOST * inputs, MOST * room
        options = self.fused.options
        return self.kernel(options, self.states, self.layout, maps, address, self.mask, spaces, self._more(gradients))

    def _map(self, key: Key, gradients: Mapping[str, Tensor]) -> list[int]:
        """A row of the table of maps."""
        name, gates = f"gates_{self.cell.key(key)}", self.pre[key]
        weight, bias = self._of("gates", key)
        assert bias is not None
        found = (gradients.get(f"{name}.{kind}") for kind in ("weight", "bias"))
        kinds = {tensor.dtype for tensor in (self.states.h, gates, weight, bias)}
        if len(kinds) > 1:  # compiled code sees addresses alone
            raise ValueError(f"the cell's weights and states have several dtypes: {', '.join(sorted(map(str, kinds)))}")
        addresses = [tensor.data_ptr() for tensor in (gates, weight, bias)]
        wanted = [0 if tensor is None else tensor.data_ptr() for tensor in found]
        matrices, fan_out, fan_in = weight.shape
        read = self.read[list(self.maps).index(key)]
        sizes = [1 if key is None else key, fan_in, fan_out, matrices, gates.shape[1], gates.shape[0]]
        return [*sizes, int(read), *addresses, *wanted]

    def _more(self, gradients: Mapping[str, Tensor] | None) -> tuple[Tensor, ...]:
        """What else the compiled code reads and writes."""
        return ()

    def _edge_gates(self, edge_h: Tensor) -> Tensor:
        """(edges, n), the gates that the children's memories went through; or room for them."""
        return torch.empty_like(edge_h)


class CompiledSumPass(CompiledPass):
    """Of cells that add up what their children send."""

    def forward(
        self, leaf_h: Tensor, leaf_memory: Tensor, x_pre: Sequence[Tensor | None], weights: Mapping[str, Tensor]
    ) -> States:
        self.f = leaf_h.new_empty(len(self.schedule.children), self.n)
        return super().forward(leaf_h, leaf_memory, x_pre, weights)

    def _names(self) -> list[str]:
        name = f"message_{self.cell.key(None)}"
        return [*super()._names(), f"{name}.weight", f"{name}.bias"]

    def _more(self, gradients: Mapping[str, Tensor] | None) -> tuple[Tensor, ...]:
        weight, bias = self._of("message", None)
        assert bias is not None
        name = f"message_{self.cell.key(None)}"
        if gradients is None:
            return self.f, self.f[:0], weight, bias, weight[:0], bias[:0]
        wanted = (gradients.get(f"{name}.weight", weight[:0]), gradients.get(f"{name}.bias", bias[:0]))
        return self.f, torch.empty_like(self.f), weight, bias, *wanted

    def _edge_gates(self, edge_h: Tensor) -> Tensor:
        return self.f
