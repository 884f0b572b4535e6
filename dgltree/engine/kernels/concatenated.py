"""A pass of a cell that reads its children one by one, through a kernel."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
from torch import Tensor

from dgltree.engine.kernels.cell_pass import BackwardResult, CellPass, Gradients, gates_of, rows_of
from dgltree.engine.kernels.kernel import Gates, Kernel, States
from dgltree.engine.kernels.layout import Key, MatrixRun, table
from dgltree.engine.kernels.threads import Products, each
from dgltree.engine.schedule import Step


class ConcatenatedPass(CellPass):
    """The gates are maps of ``i = [h_1; ...; h_N]``, which is gathered for the products and not kept."""

    kernel: type[Kernel]

    def forward(
        self, leaf_h: Tensor, leaf_memory: Tensor, inputs: Sequence[Tensor | None], weights: Mapping[str, Tensor]
    ) -> States:
        self._start(leaf_h, leaf_memory, inputs, weights)
        self.runs = self.layout.runs(self.keep)
        schedule, h = self.schedule, self.states.h
        kernel = self.kernel(self.fused.options, self.states, table(self.runs))
        columns = {key: self._of("gates", key).weight.mT.unbind() for key in self.maps}
        run, products = 0, Products()
        read = {key: int(x_pre is not None) for key, x_pre in self.given.items()}
        for step, runs, mask in zip(schedule.steps, self.runs, self.masks, strict=True):
            i = h.index_select(0, schedule.children[step.edges]).view(
                step.stop - step.start, (step.arity or 0) * self.n
            )
            weight, gates = columns[step.arity], self.pre[step.arity]
            for own in runs:
                products.add(rows_of(i, own, step), weight[own.matrix], gates_of(gates, own), read[step.arity])
            products.run()
            kernel.forward(step.start, step.stop, self._gates(step, run, mask))
            run += len(runs)
        return self.states

    def backward(self, d_h: Tensor, d_memory: Tensor, keep: bool) -> BackwardResult:
        kept, schedule, states = self.pre, self.schedule, self.states
        if keep:
            self.pre = {key: gates.clone() for key, gates in kept.items()}
        row_memory = torch.empty_like(states.memory) if keep else states.memory
        edge_h, edge_gates = (d_h.new_empty(len(schedule.children), self.n) for _ in range(2))
        kernel = self.kernel(self.fused.options, states, table(self.runs))
        kernel.start_backward(self._sent(d_h, d_memory, edge_h, edge_gates, row_memory))
        run, products = sum(map(len, self.runs)), Products()
        for k in reversed(range(len(schedule.steps))):
            step, runs = schedule.steps[k], self.runs[k]
            run -= len(runs)
            kernel.backward(step.start, step.stop, self._gates(step, run, self.masks[k]))
            d_i = edge_h[step.edges].view(step.stop - step.start, (step.arity or 0) * self.n)
            weight, gates = self._of("gates", step.arity).weight, self.pre[step.arity]
            for own in runs:
                products.add(gates_of(gates, own), weight[own.matrix], rows_of(d_i, own, step))
            products.run()
        leaf_h, leaf_memory = self._leaf_gradients(d_h)
        kernel.leaves(leaf_h, leaf_memory)
        found = BackwardResult(leaf_h, leaf_memory, self._input_gradients(), self._parameters())
        self.pre = kept
        return found

    def _gates(self, step: Step, run: int, mask: Tensor) -> Gates:
        bias = self._of("gates", step.arity).bias
        assert step.arity is not None and bias is not None
        return Gates(self.pre[step.arity], bias, mask, step.arity, run)

    def _parameters(self) -> dict[str, Tensor]:
        """Their gradients, of all steps at once; the inputs of the products are gathered again."""
        found, tasks = dict[str, Tensor](), list[Callable[[], None]]()
        for key in self.maps:
            gradients = Gradients(f"gates_{self.cell.key(key)}", self)
            for matrix, runs in self._runs_of_matrices(key).items():
                tasks.append(partial(self._multiply, gradients, matrix, runs, key))
            found |= gradients.named
        each(tasks)
        return found

    def _multiply(self, gradients: Gradients, matrix: int, runs: list[MatrixRun], key: Key) -> None:
        arity = key or 0
        d_pre = self.pre[key][runs[0].slot : runs[-1].slot + runs[-1].rows]
        places = [self.schedule.children[run.edge : run.edge + run.rows * arity] for run in runs]
        gradients.add(matrix, d_pre, torch.cat(places) if len(places) > 1 else places[0], self.states.h)
