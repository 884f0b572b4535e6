"""A pass step by step, as on a GPU: products of torch, and a kernel for each step."""

from collections.abc import Mapping, Sequence
from itertools import chain

import torch
from torch import Tensor

from dgltree.engine.kernels.cell_pass import BackwardResult, CellPass
from dgltree.engine.kernels.kernel import Gates, Kernel, States
from dgltree.engine.kernels.layout import COLUMNS, Key, MatrixRun
from dgltree.engine.schedule import Step

TOGETHER = 8192
"""Rows of one matrix whose weight gradients are one product: more would only take memory."""


class ConcatenatedPass(CellPass):
    """The gates are maps of ``i = [h_1; ...; h_N]``, which is gathered for the products and not kept."""

    kernel: type[Kernel]

    def forward(
        self, leaf_h: Tensor, leaf_memory: Tensor, inputs: Sequence[Tensor | None], weights: Mapping[str, Tensor]
    ) -> States:
        self._start(leaf_h, leaf_memory, inputs, weights)
        self.pre = self._gates()
        self.runs = self.layout.runs(self.keep)
        schedule, h = self.schedule, self.states.h
        kernel = self.kernel(self.fused.options, self.states, table(self.runs))
        columns = {key: self._of("gates", key).weight.mT.unbind() for key in self.maps}
        run = 0
        read = {key: int(x_pre is not None) for key, x_pre in self.given.items()}
        for step, runs in zip(schedule.steps, self.runs, strict=True):
            i = h.index_select(0, schedule.children[step.edges]).view(
                step.stop - step.start, (step.arity or 0) * self.n
            )
            weight, gates = columns[step.arity], self.pre[step.arity]
            for own in runs:
                into = gates_of(gates, own)
                torch.addmm(into, rows_of(i, own, step), weight[own.matrix], beta=read[step.arity], out=into)
            kernel.forward(step.start, step.stop, self._step_gates(step, run))
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
        run = sum(map(len, self.runs))
        for k in reversed(range(len(schedule.steps))):
            step, runs = schedule.steps[k], self.runs[k]
            run -= len(runs)
            kernel.backward(step.start, step.stop, self._step_gates(step, run))
            d_i = edge_h[step.edges].view(step.stop - step.start, (step.arity or 0) * self.n)
            weight, gates = self._of("gates", step.arity).weight, self.pre[step.arity]
            for own in runs:
                torch.mm(gates_of(gates, own), weight[own.matrix], out=rows_of(d_i, own, step))
        leaf_h, leaf_memory = self._leaf_gradients(d_h)
        kernel.leaves(leaf_h, leaf_memory)
        found = BackwardResult(leaf_h, leaf_memory, self._input_gradients(), self._parameters())
        self.pre = kept
        return found

    def _step_gates(self, step: Step, run: int) -> Gates:
        first = self.schedule.steps[0].start
        mask = self.mask[step.start - first : step.stop - first] if len(self.mask) else self.mask
        bias = self._of("gates", step.arity).bias
        assert step.arity is not None and bias is not None
        return Gates(self.pre[step.arity], bias, mask, step.arity, run)

    def _parameters(self) -> dict[str, Tensor]:
        """Their gradients, of all steps at once; the inputs of the products are gathered again."""
        found = dict[str, Tensor]()
        for key in self.maps:
            gradients = Gradients(f"gates_{self.cell.key(key)}", self)
            for matrix, runs in self._runs_of_matrices(key).items():
                self._multiply(gradients, matrix, runs, key)
            found |= gradients.named
        return found

    def _multiply(self, gradients: "Gradients", matrix: int, runs: list[MatrixRun], key: Key) -> None:
        arity = key or 0
        d_pre = self.pre[key][runs[0].slot : runs[-1].slot + runs[-1].rows]
        places = [self.schedule.children[run.edge : run.edge + run.rows * arity] for run in runs]
        gradients.add(matrix, d_pre, torch.cat(places) if len(places) > 1 else places[0], self.states.h)


def table(steps: list[list[MatrixRun]]) -> Tensor:
    """(runs, 6) int64, of the runs of some steps."""
    return torch.tensor(list(chain.from_iterable(steps)), dtype=torch.int64).view(-1, COLUMNS)


class Gradients:
    """Of the tensors of one map, of those that want one."""

    def __init__(self, name: str, steps: CellPass) -> None:
        own = (f"{name}.weight", f"{name}.bias")
        self.named = {each: torch.zeros_like(steps.weights[each]) for each in own if each in steps.wanted}
        self._weight, self._bias = (self.named.get(f"{name}.{kind}") for kind in ("weight", "bias"))

    def add(self, matrix: int, d_out: Tensor, places: Tensor, h: Tensor) -> None:
        """Of a product: the gradients of its outputs (rows, out), and where its inputs lie in h (R, n), side by side.

        Inputs are gathered for some thousands of rows at a time; of leaves there are none.
        """
        arity = len(places) // len(d_out)
        if self._bias is not None:
            self._bias[matrix] += d_out.sum(0)
        if self._weight is not None and arity:
            for rows, own in zip(d_out.split(TOGETHER), places.split(TOGETHER * arity), strict=True):
                self._weight[matrix].addmm_(rows.t(), h.index_select(0, own).view(len(rows), -1))


def rows_of(tensor: Tensor, run: MatrixRun, step: Step) -> Tensor:
    """A run's rows of those of its step."""
    return tensor[run.start - step.start : run.stop - step.start]


def gates_of(tensor: Tensor, run: MatrixRun) -> Tensor:
    """A run's rows of the gates of its map."""
    return tensor[run.slot : run.slot + run.rows]
