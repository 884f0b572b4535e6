"""A pass of a cell that reads its children one by one, through a kernel."""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from dgltree.engine.kernels.cell_pass import CellPass, Found, Gradients, gates_of, rows_of
from dgltree.engine.kernels.kernel import Gates, Kernel, Sent, States
from dgltree.engine.kernels.layout import Key, Run
from dgltree.engine.kernels.threads import Products, each
from dgltree.engine.schedule import Step


class ConcatenatedPass(CellPass):
    """The gates are maps of ``i = [h_1; ...; h_N]``, which is gathered for the products and not kept."""

    kernel: type[Kernel]

    def forward(self, leaf_h: Tensor, leaf_memory: Tensor, x_pre: Sequence[Tensor]) -> States:
        self._start(leaf_h, leaf_memory)
        plan, h = self.plan, self.states.h
        kernel = self.kernel(self.fused.options, self.states, self.layout.table())
        weights = {key: linear.weight.detach().mT.unbind() for key, linear in self.maps.items()}
        run, products = 0, Products()
        for k, (step, runs) in enumerate(zip(plan.steps, self.layout.steps, strict=True)):
            i = h.index_select(0, plan.children[step.edges]).view(step.stop - step.start, -1)
            for own in runs:
                out = gates_of(self.pre[step.arity], own)
                if x_pre:
                    out.copy_(rows_of(x_pre[k], own, step))
                products.add(rows_of(i, own, step), weights[step.arity][own.matrix], out, int(bool(x_pre)))
            products.run()
            kernel.forward(step.start, step.stop, self._gates(step, run, self._draw(step)), self.depth, self.depth)
            run += len(runs)
        return self.states

    def backward(self, d_h: Tensor, d_memory: Tensor, keep: bool, inputs: bool) -> Found:
        kept, plan, states = self.pre, self.plan, self.states
        if keep:
            self.pre = {key: gates.clone() for key, gates in kept.items()}
        row_memory = torch.empty_like(states.memory) if keep else states.memory
        edge_h, edge_gates = (d_h.new_empty(len(plan.children), self.n) for _ in range(2))
        kernel = self.kernel(self.fused.options, states, self.layout.table())
        kernel.start_backward(Sent(d_h, d_memory, self._parents(), edge_h, edge_gates, row_memory))
        run, d_x, products = sum(map(len, self.layout.steps)), list[Tensor](), Products()
        for k in reversed(range(len(plan.steps))):
            step, runs = plan.steps[k], self.layout.steps[k]
            run -= len(runs)
            kernel.backward(step.start, step.stop, self._gates(step, run, self._drawn(k)))
            d_i = edge_h[step.edges].view(step.stop - step.start, -1)
            weight, gates = self.maps[step.arity].weight.detach(), self.pre[step.arity]
            for own in runs:
                products.add(gates_of(gates, own), weight[own.matrix], rows_of(d_i, own, step))
            products.run()
            if inputs:
                d_x.append(torch.cat([gates_of(gates, own) for own in runs]))
        leaf_h, leaf_memory = self._leaf_gradients(d_h)
        kernel.leaves(leaf_h, leaf_memory)
        found = Found(leaf_h, leaf_memory, d_x[::-1], self._parameters())
        self.pre = kept
        return found

    def _gates(self, step: Step, run: int, mask: Tensor) -> Gates:
        bias = self.maps[step.arity].bias
        assert step.arity is not None and bias is not None
        return Gates(self.pre[step.arity], bias.detach(), mask, step.arity, run)

    def _parameters(self) -> dict[str, Tensor]:
        """Their gradients, of all steps at once; the inputs of the products are gathered again."""
        found, tasks = dict[str, Tensor](), list[Callable[[], None]]()
        for key, linear in self.maps.items():
            gradients = Gradients(f"gates_{self.cell.key(key)}", linear)
            for matrix, runs in self._runs_of_matrices(key).items():
                tasks.append(partial(self._multiply, gradients, matrix, runs, key))
            found |= gradients.named
        each(tasks)
        return found

    def _multiply(self, gradients: Gradients, matrix: int, runs: list[Run], key: Key) -> None:
        arity = key or 0
        d_pre = self.pre[key][runs[0].slot : runs[-1].slot + runs[-1].stop - runs[-1].start]
        places = [self.plan.children[run.edge : run.edge + (run.stop - run.start) * arity] for run in runs]
        gradients.add(matrix, d_pre, torch.cat(places) if len(places) > 1 else places[0], self.states.h)
