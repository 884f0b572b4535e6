"""The level engine from the roots down: a downward cell along a batch, from upward states."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from dgltree.batching.batch import TreeBatch, as_batch, check_vocabulary
from dgltree.batching.subtrees import twins
from dgltree.cells import DownwardCell
from dgltree.cells.check import check_device, check_finite, check_up, check_weights
from dgltree.cells.step import State
from dgltree.engine.downward_schedule import DownwardSchedule, downward_schedule
from dgltree.engine.level_pass import LevelPass, PassContext
from dgltree.engine.memory import check_downward_memory
from dgltree.engine.planned import PlannedBatch
from dgltree.engine.trace import Trace
from dgltree.torch_internals import exclude_from_compile, inside_transform, without_autocast

if TYPE_CHECKING:
    import dgl

EQUAL = 1e-3
"""Relative: equal subtrees have equal upward states except for rounding."""


@exclude_from_compile
def downward_states(
    cell: DownwardCell,
    batch: "TreeBatch | PlannedBatch | dgl.DGLGraph",
    up: State | None,
    share: bool,
    trace: Sequence[str],
    check: bool,
    recompute: bool,
) -> State:
    """What a call of the cell returns: ``dgltree.propagate(..., direction="down")`` without its hooks."""
    if inside_transform():
        raise RuntimeError(
            "torch.func's transforms (vmap, grad, jvp, ...) do not reach through dgltree's backward pass, which is "
            "made by hand: use torch.autograd.grad"
        )
    planned = batch if isinstance(batch, PlannedBatch) else None
    trees = as_batch(batch, "propagate") if not isinstance(batch, PlannedBatch) else batch.batch
    share = share if planned is None else planned.share
    if planned is not None:
        planned.check_unchanged()
    check_vocabulary(trees, cell.vocabulary, "cell")
    check_device(cell, trees)
    check_up(cell, trees, up)
    assert up is not None
    if share:
        _check_shared(cell, trees, up)
    traced = Trace(cell, trace)
    schedule = downward_schedule(trees, cell, share) if planned is None else planned.downward_for(cell)
    with without_autocast(trees.device):  # the buffers of states have one dtype, the cell's
        states = _run(cell, trees, schedule, up, traced, recompute)
    states = {part: rows.index_select(0, schedule.row) for part, rows in states.items()}
    if check:
        check_finite(cell, trees, states, schedule.row, "above")
    return states | traced.results(schedule, trees)


def _run(
    cell: DownwardCell, trees: TreeBatch, schedule: DownwardSchedule, up: State, traced: Trace, recompute: bool
) -> State:
    """States in the schedule's own order, part name to (R, *shape)."""
    weights, own = cell.map_weights(), cell.own_parameters()
    check_weights(cell, weights, trees.device)
    tensors = [*cell.parameters(), *weights.values(), *up.values()]
    record = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    check_downward_memory(cell, schedule, record)
    roots, others = schedule.node.tensor_split([schedule.leaves])
    first = cell.start({part: rows.index_select(0, roots) for part, rows in up.items()})
    added = None
    if cell.reads_up:
        added = cell.up_inputs(up["h"].index_select(0, others), trees.function.index_select(0, others))
    sizes = [step.stop - step.start for step in schedule.steps]
    x_pre = [] if added is None else added.split(sizes)
    run = PassContext(cell, schedule, traced, record, record and recompute, list(weights), list(own))
    states = [first[part] for part in cell.state]
    outputs = LevelPass.apply(run, *states, *x_pre, *own.values(), *weights.values())
    return dict(zip(cell.state, outputs, strict=True))


def _check_shared(cell: DownwardCell, trees: TreeBatch, up: State) -> None:
    """``ValueError`` if equal subtrees may not share a row."""
    if cell.training and cell.drops:
        raise ValueError("share=True with dropout in training: equal nodes would share one dropout mask")
    twin = torch.from_numpy(twins(trees)).to(trees.device)
    for part, rows in up.items():
        if rows.is_leaf and rows.requires_grad:
            raise ValueError(
                f"share=True with an up[{part!r}] that requires gradients: use share=False, or states that a cell gave"
            )
        known = rows.detach()
        if not torch.allclose(known, known.index_select(0, twin), rtol=EQUAL, atol=EQUAL * float(known.abs().max())):
            raise ValueError(f"share=True with an up[{part!r}] that differs between equal subtrees: use share=False")
