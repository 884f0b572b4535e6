"""The level engine: a cell along a schedule, step by step, with its own backward pass."""

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dgltree.batch import TreeBatch
from dgltree.cells.cell import Cell, State, grouped_linear
from dgltree.cells.check import check_batch
from dgltree.schedule import Schedule, Step, schedule

if TYPE_CHECKING:
    import dgl


def propagate(batch: "TreeBatch | dgl.DGLGraph", cell: Cell, share: bool = False) -> State:
    """States of all nodes, leaves first, each node after its children.

    Args:
        batch: a TreeBatch, or any DAG as a DGLGraph with ``ndata["function"]``, ``ndata["token"]`` and
            ``edata["slot"]``. Without a vocabulary of its own it is taken to use the cell's.
        cell: gives the mathematics and the weights.
        share: compute equal subtrees once. States and gradients are unchanged; every occurrence still has its state.

    Returns part name to (N, *shape) in public numbering, dtype and device of the cell's weights.

    Raises ``ValueError`` where the cell cannot run on the batch, for a cyclic graph, for sharing with dropout in
    training (equal subtrees would get equal masks), and for sharing with an ``x`` that requires gradients (only one of
    the equal rows would receive them).

    The backward pass adds up the gradients of the weights in place, one buffer for each, and costs O(N) memory. It can
    be repeated under ``retain_graph`` and is once differentiable; weights changed in place in between are noticed.
    """
    if not isinstance(batch, TreeBatch):
        batch = TreeBatch.from_graph(batch)
    check_batch(cell, batch)
    if share and cell.training and cell.dropout > 0:
        raise ValueError("share=True with dropout in training: equal subtrees would share one dropout mask")
    if share and batch.x is not None and batch.x.requires_grad:
        raise ValueError("share=True with an x that requires gradients: use share=False, or let the cell embed tokens")
    plan = schedule(batch, share)
    states = run_schedule(cell, plan, batch)
    return {part: tensor.index_select(0, plan.row) for part, tensor in states.items()}


def run_schedule(cell: Cell, plan: Schedule, batch: TreeBatch) -> State:
    """States in the schedule's own order, part name to (R, *shape)."""
    leaf = cell.leaf_states(batch, plan.node[: plan.leaves])
    inner = plan.node[plan.leaves :]
    inputs = cell.node_inputs(batch.token[inner], None if batch.x is None else batch.x[inner])
    x_pre = [] if inputs is None else [_input_product(cell, plan, step, inputs) for step in plan.steps]
    parameters = list(_parameters(cell).values())
    outputs = _LevelPass.apply(cell, plan, len(leaf), *leaf.values(), *x_pre, *parameters)
    return dict(zip(leaf, outputs, strict=True))


def _input_product(cell: Cell, plan: Schedule, step: Step, inputs: Tensor) -> Tensor:
    """(rows, out): what the nodes' own inputs add to the step's pre-activations."""
    rows = inputs[step.start - plan.leaves : step.stop - plan.leaves]
    weight = cell.input_weight[str(step.arity)]
    return grouped_linear(rows, [(weight[cell.position[f]], None, a, b) for f, a, b in step.segments])


def _parameters(cell: Cell) -> dict[tuple[str, str], Tensor]:
    """The parameters whose gradients the level pass makes itself."""
    kinds = ("weight", "bias", "product_weight", "product_bias")
    return {(kind, key): p for kind in kinds for key, p in getattr(cell, kind).items() if key != "0"}


class _Local(NamedTuple):
    """One step's own little graph, from its pre-activations and gathered children to its new states."""

    pre: Tensor
    children: State
    products: dict[tuple[str, int], tuple[Tensor, Tensor]]
    outputs: State


class _LevelPass(torch.autograd.Function):
    """All steps as one node of the autograd graph.

    The products are done by hand, so that the gradients of typed weights are added up in place instead of in full-size
    tensors of zeros, one a step; ``cell.combine`` is differentiated by autograd, step by step.
    """

    @staticmethod
    def forward(ctx: Any, cell: Cell, plan: Schedule, parts: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        leaf = dict(zip(cell.state, tensors[:parts], strict=True))
        parameters = _parameters(cell)
        x_pre = tensors[parts : len(tensors) - len(parameters)]
        record = any(ctx.needs_input_grad)
        states = {}
        for part, rows in leaf.items():
            states[part] = rows.new_empty(len(plan), *rows.shape[1:])
            states[part][: plan.leaves] = rows
        locals_ = []
        for k, step in enumerate(plan.steps):
            local = _forward_step(cell, step, states, x_pre[k] if x_pre else None, record)
            for part, buffer in states.items():
                buffer[step.start : step.stop] = local.outputs[part].detach()
            if record:
                locals_.append(local)
        ctx.save_for_backward(*parameters.values())  # only to notice weights that were changed in place
        ctx.cell, ctx.plan, ctx.locals, ctx.parts, ctx.has_x = cell, plan, locals_, parts, bool(x_pre)
        return tuple(states.values())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        parameters = dict(zip(_parameters(ctx.cell), ctx.saved_tensors, strict=True))
        gradients = {name: torch.zeros_like(p) for name, p in parameters.items()}
        state_gradients = dict(zip(ctx.cell.state, (g.clone() for g in grad_outputs), strict=True))
        x_gradients: list[Tensor | None] = []
        for step, local in zip(reversed(ctx.plan.steps), reversed(ctx.locals), strict=True):
            x_gradients.append(_backward_step(ctx.cell, step, local, parameters, gradients, state_gradients))
        leaf_gradients = [g[: ctx.plan.leaves] for g in state_gradients.values()]
        x_part = x_gradients[::-1] if ctx.has_x else []
        return None, None, None, *leaf_gradients, *x_part, *gradients.values()


class _Inject(torch.autograd.Function):
    """A scalar whose backward hands given gradients to its inputs.

    ``torch.autograd.grad(..., grad_outputs)`` would do, but it checks the shapes, at every call, by means of SymPy.
    """

    @staticmethod
    def forward(ctx: Any, gradients: list[Tensor], *outputs: Tensor) -> Tensor:
        ctx.gradients = gradients
        return outputs[0].new_zeros(())

    @staticmethod
    def backward(ctx: Any, _: Tensor) -> tuple[Tensor | None, ...]:
        return None, *ctx.gradients


def _forward_step(cell: Cell, step: Step, states: State, x_pre: Tensor | None, record: bool) -> _Local:
    rows, arity = step.stop - step.start, step.arity
    children = {}
    for part, buffer in states.items():
        children[part] = buffer.index_select(0, step.children).view(rows, arity, *buffer.shape[1:])
    pre = cell.pre_activations(children["h"].flatten(1), None, arity, step.segments)
    if x_pre is not None:
        pre += x_pre
    products: dict[tuple[str, int], tuple[Tensor, Tensor]] = {}

    def linear(name: str, v: Tensor) -> Tensor:
        """As ``cell.linear_for``, on slices of the weights that are leaves of this step's own graph."""
        groups = []
        for f, start, stop in step.segments:
            weight, bias = (d[f"{name}_{arity}"][cell.position[f]] for d in (cell.product_weight, cell.product_bias))
            pair = (weight.detach().requires_grad_(record), bias.detach().requires_grad_(record))
            weight, bias = products.setdefault((name, f), pair)
            groups.append((weight, bias, start, stop))
        return grouped_linear(v, groups)

    with torch.set_grad_enabled(record):
        pre.requires_grad_(record)
        for tensor in children.values():
            tensor.requires_grad_(record)
        slots = {part: tensor.unbind(1) for part, tensor in children.items()}
        outputs = cell.combine(cell.split(pre, arity), slots, linear)
    return _Local(pre, children, products, outputs)


def _backward_step(
    cell: Cell,
    step: Step,
    local: _Local,
    parameters: dict[tuple[str, str], Tensor],
    gradients: dict[tuple[str, str], Tensor],
    state_gradients: State,
) -> Tensor:
    """Add this step's gradients to ``gradients`` and to its children's rows; returns that of its pre-activations."""
    key = str(step.arity)
    products = [tensor for pair in local.products.values() for tensor in pair]
    received = [state_gradients[part][step.start : step.stop] for part in local.outputs]
    with torch.enable_grad():
        scalar = _Inject.apply(received, *local.outputs.values())
    found = torch.autograd.grad(
        scalar,
        [local.pre, *local.children.values(), *products],
        retain_graph=True,  # the pass itself may be repeated under retain_graph
        allow_unused=True,
        materialize_grads=True,
    )
    d_pre, d_children, d_products = found[0], found[1 : 1 + len(local.children)], found[1 + len(local.children) :]
    i, d_i = local.children["h"].detach().flatten(1), torch.empty_like(local.children["h"]).flatten(1)
    for f, start, stop in step.segments:
        position, d_rows = cell.position[f], d_pre[start:stop]
        gradients["weight", key][position].addmm_(d_rows.t(), i[start:stop])
        gradients["bias", key][position] += d_rows.sum(0)
        torch.mm(d_rows, parameters["weight", key][position], out=d_i[start:stop])
    for (name, f), d_weight, d_bias in zip(local.products, d_products[::2], d_products[1::2], strict=True):
        gradients["product_weight", f"{name}_{key}"][cell.position[f]] += d_weight
        gradients["product_bias", f"{name}_{key}"][cell.position[f]] += d_bias
    for part, d_child in zip(local.children, d_children, strict=True):
        if part == "h":
            d_child = d_child + d_i.view_as(d_child)
        state_gradients[part].index_add_(0, step.children, d_child.flatten(0, 1))
    return d_pre
