"""A pass of a cell that reads its children one by one, through a kernel: products and fused steps, both ways."""

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor

from dgltree.cells import Cell
from dgltree.cells.fused import Fused
from dgltree.cells.typed import TypedLinear
from dgltree.engine.kernels.kernel import Gates, Kernel, Sent, States
from dgltree.engine.kernels.layout import Key, Run, layout
from dgltree.engine.schedule import Schedule, Step

TOGETHER = 8192
"""Rows of one matrix whose weight gradients are one product: more would only take memory."""


class ConcatenatedPass:
    """The steps of a pass. Between them, for each run of rows with one matrix, stands a product of torch.

    What is kept for the backward pass are the states and the gates. Unless the graph is kept, that pass writes the
    gradients of the gates in their place, and those of the memories too.

    Args:
        cell: which says that it is covered.
        fused: what it says.
        plan: the schedule, of one step at least.
        kernel: the class of kernels.
        record: whether a backward pass may follow.
    """

    def __init__(self, cell: Cell, fused: Fused, plan: Schedule, kernel: type[Kernel], record: bool) -> None:
        self.cell, self.fused, self.plan, self.kernel = cell, fused, plan, kernel
        [(self.part, shape)] = [(part, shape) for part, shape in cell.state.items() if part != "h"]
        self.depth, self.n = prod(shape[:-1]), shape[-1]
        arities = sorted({step.arity or 0 for step in plan.steps})
        self.maps: dict[Key, TypedLinear] = {
            arity: cell.named_maps()[f"gates_{cell.key(arity)}"] for arity in arities
        }
        self.layout = layout(plan, self.maps, record)
        self.record, self.masks = record, list[Tensor]()
        self.base = 0 if cell.leaf == "gates" else plan.leaves

    def forward(self, leaf_h: Tensor, leaf_memory: Tensor, x_pre: Sequence[Tensor]) -> States:
        """The states of all rows, from those of the leaves, whose memory is not read where it is all zeros."""
        plan, n = self.plan, self.n
        h = leaf_h.new_empty(len(plan), n)
        memory = leaf_h.new_empty(len(plan) - self.base, self.depth, n)
        h[: plan.leaves] = leaf_h
        if not self.base:
            memory[: plan.leaves] = leaf_memory.view(-1, self.depth, n)
        self.states = States(h, memory, self.base, plan.children)
        self.pre = {key: h.new_empty(rows, self.maps[key].affine.fan_out) for key, rows in self.layout.rows.items()}
        kernel = self.kernel(self.fused.options, self.states, self.layout.table())
        weights = {key: linear.weight.detach().mT.unbind() for key, linear in self.maps.items()}
        run = 0
        for k, (step, runs) in enumerate(zip(plan.steps, self.layout.steps, strict=True)):
            i = h.index_select(0, plan.children[step.edges]).view(step.stop - step.start, -1)
            for own in runs:
                v, out = _rows(i, own, step), _gates(self.pre[step.arity], own)
                if x_pre:
                    torch.addmm(_rows(x_pre[k], own, step), v, weights[step.arity][own.matrix], out=out)
                else:
                    torch.mm(v, weights[step.arity][own.matrix], out=out)
            kernel.forward(step.start, step.stop, self._gates_of(step, run, self._mask(step)), self.depth, self.depth)
            run += len(runs)
        return self.states

    def backward(
        self, d_h: Tensor, d_memory: Tensor, keep: bool, inputs: bool
    ) -> tuple[Tensor, Tensor, list[Tensor], dict[str, Tensor]]:
        """Gradients of the leaves' h and memory, of what x added to each step, and of the maps by name.

        Args:
            d_h: (R, n), what the loss gives.
            d_memory: (R - base, depth, n), or (0, depth, n) for nothing.
            keep: whether there may be another backward pass.
            inputs: whether x added anything.
        """
        plan, states = self.plan, self.states
        pre = self.pre
        if keep:
            self.pre = {key: gates.clone() for key, gates in pre.items()}
        row_memory = torch.empty_like(states.memory) if keep else states.memory
        edge_h, edge_gates = (d_h.new_empty(len(plan.children), self.n) for _ in range(2))
        kernel = self.kernel(self.fused.options, states, self.layout.table())
        kernel.start_backward(Sent(d_h, d_memory, self._parents(), edge_h, edge_gates, row_memory))
        run, d_x = sum(map(len, self.layout.steps)), list[Tensor]()
        for k in reversed(range(len(plan.steps))):
            step, runs = plan.steps[k], self.layout.steps[k]
            run -= len(runs)
            mask = self.masks[k] if self.masks else d_h.new_empty(0, self.n)
            kernel.backward(step.start, step.stop, self._gates_of(step, run, mask))
            d_i = edge_h[step.edges].view(step.stop - step.start, -1)
            weight, gates = self.maps[step.arity].weight.detach(), self.pre[step.arity]
            for own in runs:
                torch.mm(_gates(gates, own), weight[own.matrix], out=_rows(d_i, own, step))
            if inputs:
                d_x.append(torch.cat([_gates(gates, own) for own in runs]))
        d_leaf_h = d_h.new_empty(plan.leaves, self.n)
        d_leaf_memory = d_h.new_empty(0 if self.base else plan.leaves, self.depth, self.n)
        kernel.leaves(d_leaf_h, d_leaf_memory)
        gradients = self._weights()
        self.pre = pre
        return d_leaf_h, d_leaf_memory, d_x[::-1], gradients

    def _mask(self, step: Step) -> Tensor:
        """What dropout multiplies u by, as ``combine`` would draw it."""
        h, cell = self.states.h, self.cell
        if not (cell.training and cell.dropout):
            return h.new_empty(0, self.n)
        mask = cell.drop(h.new_ones(step.stop - step.start, self.n))
        if self.record:
            self.masks.append(mask)
        return mask

    def _gates_of(self, step: Step, run: int, mask: Tensor) -> Gates:
        assert step.arity is not None
        bias = self.maps[step.arity].bias
        assert bias is not None
        return Gates(self.pre[step.arity], bias.detach(), mask, step.arity, run)

    def _parents(self) -> Tensor:
        plan = self.plan
        starts = torch.tensor([step.start for step in plan.steps], device=plan.parent.device)
        edges = torch.tensor([step.edges.stop - step.edges.start for step in plan.steps], device=plan.parent.device)
        return plan.parent + starts.repeat_interleave(edges)

    def _weights(self) -> dict[str, Tensor]:
        """The gradients of weights and biases, of all steps at once; the inputs of the products are gathered again."""
        found: dict[str, Tensor] = {}
        for key, linear in self.maps.items():
            weight, bias = (
                torch.zeros_like(parameter) if parameter is not None and parameter.requires_grad else None
                for parameter in (linear.weight, linear.bias)
            )
            name = f"gates_{self.cell.key(key)}"
            found |= {f"{name}.{kind}": d for kind, d in (("weight", weight), ("bias", bias)) if d is not None}
            for matrix, runs in _by_matrix(self.layout.sorted(self.plan, key)):
                d_pre = self.pre[key][runs[0].slot : runs[-1].slot + runs[-1].stop - runs[-1].start]
                if bias is not None:
                    torch.sum(d_pre, 0, out=bias[matrix])
                if weight is not None:
                    self._add_products(weight[matrix], d_pre, runs, key or 0)
        return found

    def _add_products(self, weight: Tensor, d_pre: Tensor, runs: list[Run], arity: int) -> None:
        places = [self.plan.children[run.edge : run.edge + (run.stop - run.start) * arity] for run in runs]
        together = torch.cat(places) if len(places) > 1 else places[0]
        for rows, own in zip(d_pre.split(TOGETHER), together.split(TOGETHER * arity), strict=True):
            weight.addmm_(rows.t(), self.states.h.index_select(0, own).view(len(rows), -1))


def _rows(of: Tensor, run: Run, step: Step) -> Tensor:
    return of[run.start - step.start : run.stop - step.start]


def _gates(of: Tensor, run: Run) -> Tensor:
    return of[run.slot : run.slot + run.stop - run.start]


def _by_matrix(runs: list[Run]) -> list[tuple[int, list[Run]]]:
    """Runs that lie one after another."""
    found: dict[int, list[Run]] = {}
    for run in runs:
        found.setdefault(run.matrix, []).append(run)
    return list(found.items())
