"""A pass step by step, as on a GPU: a few launches for each step, whatever the number of its rows and matrices."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dgltree.engine.kernels.cell_pass import BackwardResult, CellPass
from dgltree.engine.kernels.kernel import Gates, States
from dgltree.engine.kernels.layout import Key

if TYPE_CHECKING:
    from dgltree.engine.kernels.triton_kernel import TritonKernel


class StepwisePass(CellPass):
    """The gates are maps of ``[h_1; ...; h_N]``, which the products gather, and nobody else."""

    kernel: "type[TritonKernel]"

    def forward(
        self, leaf_h: Tensor, leaf_memory: Tensor, inputs: Sequence[Tensor | None], weights: Mapping[str, Tensor]
    ) -> States:
        self._start(leaf_h, leaf_memory, inputs, weights)
        self.pre, self.tiles = self._gates(), self.layout.with_tiles()
        self.precision = product_precision(leaf_h.dtype)
        with torch.cuda.device_of(self.states.h):
            kernel, gates = self._kernel(), self._maps()
            for step, (first, last) in zip(self.schedule.steps, pairwise(self.tiles.steps), strict=True):
                kernel.forward(step.start, step.stop, first, last, gates[step.arity])
        return self.states

    def backward(self, d_h: Tensor, d_memory: Tensor, keep: bool) -> BackwardResult:
        kept, schedule, states = self.pre, self.schedule, self.states
        if keep:
            self.pre = {key: gates.clone() for key, gates in kept.items()}
        row_memory = torch.empty_like(states.memory) if keep else states.memory
        edge_h, edge_gates = (d_h.new_empty(len(schedule.sources), self.n) for _ in range(2))
        leaf_h, leaf_memory = self._leaf_gradients(d_h)
        with torch.cuda.device_of(states.h):
            kernel, gates = self._kernel(), self._maps()
            kernel.start_backward(self._sent(d_h, d_memory, edge_h, edge_gates, row_memory))
            tiles = [*pairwise(self.tiles.steps)]
            for step, (first, last) in zip(reversed(schedule.steps), reversed(tiles), strict=True):
                kernel.backward(step.start, step.stop, first, last, gates[step.arity])
            if len(leaf_h):
                kernel.leaves(leaf_h, leaf_memory)
            parameters = self._parameters(kernel, gates)
        found = BackwardResult(leaf_h, leaf_memory, self._input_gradients(), parameters)
        self.pre = kept
        return found

    def _kernel(self) -> "TritonKernel":
        return self.kernel(self.fused.options, self.states, self.tiles, self.mask, self.keep, self.precision)

    def _maps(self) -> dict[Key, Gates]:
        """The gates of all maps where they lie now."""
        found = dict[Key, Gates]()
        for key, pre in self.pre.items():
            weight, bias = self._of("gates", key)
            assert bias is not None
            found[key] = Gates(pre, weight, bias, key or 0, self.given[key] is not None)
        return found

    def _parameters(self, kernel: "TritonKernel", gates: Mapping[Key, Gates]) -> dict[str, Tensor]:
        """The gradients of weights and biases, of all steps at once; the inputs of the products are gathered again."""
        found = dict[str, Tensor]()
        for chunks, (key, own) in zip(self.tiles.maps, gates.items(), strict=True):
            names = [f"gates_{self.cell.key(key)}.{kind}" for kind in ("weight", "bias")]
            if not self.wanted.isdisjoint(names):
                both = zip(names, kernel.gradients(chunks, own), strict=True)
                found |= {name: gradient for name, gradient in both if name in self.wanted}
        return found


def product_precision(dtype: torch.dtype) -> str:
    """How kernels multiply, in Triton's words: as torch is set to (``torch.set_float32_matmul_precision``)."""
    if dtype != torch.float32:
        return "ieee"
    setting = getattr(torch.backends.cuda.matmul, "fp32_precision", None)  # to ask an older one's name is an error
    if setting is None:  # before torch 2.9
        return "ieee" if torch.get_float32_matmul_precision() == "highest" else "tf32"
    return "tf32" if setting == "tf32" else "ieee"
