"""A pass of a cell that adds up what its children send, through a kernel."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dgltree.cells.typed import Runs, TypedLinear
from dgltree.engine.kernels.cell_pass import BackwardResult, CellPass, Gradients, gates_of, rows_of
from dgltree.engine.kernels.kernel import States, SumGates
from dgltree.engine.kernels.layout import table
from dgltree.engine.kernels.threads import Products
from dgltree.engine.schedule import Step

if TYPE_CHECKING:
    from dgltree.engine.kernels.numba_sum import SumKernel


class SummedPass(CellPass):
    """The gates are maps of the sum of the children's h, those of the messages maps of each child's own."""

    kernel: "type[SumKernel]"

    def forward(
        self, leaf_h: Tensor, leaf_memory: Tensor, inputs: Sequence[Tensor | None], weights: Mapping[str, Tensor]
    ) -> States:
        self._start(leaf_h, leaf_memory, inputs, weights)
        self.runs = self.layout.runs(self.keep)
        schedule, h, gates = self.schedule, self.states.h, self.pre[None][:, : 3 * self.n]
        self.f = h.new_empty(len(schedule.children), self.n)
        kernel = self.kernel(self.states, table(self.runs), self.layout.first_edge)
        weight, message = (self._of(name, None).weight.mT for name in ("gates", "message"))
        run, products, read = 0, Products(), int(self.given[None] is not None)
        for step, runs, mask in zip(schedule.steps, self.runs, self.masks, strict=True):
            total, sent = self._sums(kernel, step), self.f[step.edges]
            children = h.index_select(0, schedule.children[step.edges])
            for matrix, start, stop in self._edge_runs(step):
                products.add(children[start:stop], message[matrix], sent[start:stop])
            for own in runs:
                into = weight[own.matrix, : total.shape[1]]
                products.add(rows_of(total, own, step), into, gates_of(gates, own), read)
            products.run()
            kernel.forward(step.start, step.stop, self._gates(run, mask))
            run += len(runs)
        return self.states

    def backward(self, d_h: Tensor, d_memory: Tensor, keep: bool) -> BackwardResult:
        kept, schedule, states = self.pre, self.schedule, self.states
        if keep:
            self.pre = {key: gates.clone() for key, gates in kept.items()}
        row_memory = torch.empty_like(states.memory) if keep else states.memory
        edge_h, d_f = (d_h.new_empty(len(schedule.children), self.n) for _ in range(2))
        kernel = self.kernel(states, table(self.runs), self.layout.first_edge)
        kernel.start_backward(self._sent(d_h, d_memory, edge_h, self.f, row_memory))
        weight, message = (self._of(name, None).weight for name in ("gates", "message"))
        run, gates, products = sum(map(len, self.runs)), self.pre[None][:, : 3 * self.n], Products()
        for k in reversed(range(len(schedule.steps))):
            step, runs = schedule.steps[k], self.runs[k]
            run -= len(runs)
            kernel.backward(step.start, step.stop, self._gates(run, self.masks[k]), d_f)
            if not has_children(step):
                continue
            total, back, own_f = d_h.new_empty(step.stop - step.start, self.n), edge_h[step.edges], d_f[step.edges]
            for own in runs:
                products.add(gates_of(gates, own), weight[own.matrix], rows_of(total, own, step))
            products.run()
            torch.index_select(total, 0, schedule.parent[step.edges], out=back)
            for matrix, start, stop in self._edge_runs(step):
                products.add(own_f[start:stop], message[matrix], back[start:stop], 1)
            products.run()
        leaf_h, leaf_memory = self._leaf_gradients(d_h)
        kernel.leaves(leaf_h, leaf_memory)
        parameters = self._gate_parameters(kernel, gates) | self._message_parameters(d_f)
        found = BackwardResult(leaf_h, leaf_memory, self._input_gradients(), parameters)
        self.pre = kept
        return found

    def _sums(self, kernel: "SumKernel", step: Step) -> Tensor:
        """(rows, n), of the children's h; (rows, 0) of leaves."""
        total = self.states.h.new_empty(step.stop - step.start, self.n if has_children(step) else 0)
        if has_children(step):
            kernel.add_up(step.start, step.stop, total)
        return total

    @property
    def _message(self) -> TypedLinear:
        return self.cell.named_maps()[f"message_{self.cell.key(None)}"]

    def _edge_runs(self, step: Step) -> Runs:
        return self._message.runs(step.edge_segments)

    def _gates(self, run: int, mask: Tensor) -> SumGates:
        bias, edge_bias = (self._of(name, None).bias for name in ("gates", "message"))
        assert bias is not None and edge_bias is not None
        return SumGates(self.pre[None], bias, self.f, edge_bias, mask, run)

    def _gate_parameters(self, kernel: "SumKernel", d_pre: Tensor) -> dict[str, Tensor]:
        """The gradients of the gates' maps; the sums of the children's h are made again."""
        gradients = Gradients(f"gates_{self.cell.key(None)}", self)
        first = self.schedule.steps[0]
        leaves = 0 if has_children(first) else first.stop
        for matrix, runs in self._runs_of_matrices(None).items():
            for run in runs:
                rows = run.rows if run.start >= leaves else 0
                total = self.states.h.new_empty(rows, self.n)
                if rows:
                    kernel.add_up(run.start, run.stop, total)
                gradients.add(matrix, gates_of(d_pre, run), torch.arange(rows, device=total.device), total)
        return gradients.named

    def _message_parameters(self, d_f: Tensor) -> dict[str, Tensor]:
        gradients = Gradients(f"message_{self.cell.key(None)}", self)
        whole: dict[int, list[slice]] = {}
        for step in self.schedule.steps:
            for matrix, start, stop in self._edge_runs(step):
                whole.setdefault(matrix, []).append(slice(step.edges.start + start, step.edges.start + stop))
        for matrix, parts in whole.items():
            for edges in _joined(parts):
                gradients.add(matrix, d_f[edges], self.schedule.children[edges], self.states.h)
        return gradients.named


def has_children(step: Step) -> bool:
    """Whether its rows have some; those of leaves do not."""
    return step.edges.stop > step.edges.start


def _joined(parts: list[slice]) -> list[slice]:
    """The same, those that follow one another as one."""
    found: list[slice] = []
    for part in parts:
        start = found.pop().start if found and found[-1].stop == part.start else part.start
        found.append(slice(start, part.stop))
    return found
