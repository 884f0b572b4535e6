"""The level engine: a cell along a batch, from the leaves up or from the roots down.

A pass checks that the cell can run on the batch, and plans it (``schedule.py``) unless it comes with a plan. It begins
with the states of the leaves, or of the nodes without parents. All other rows are computed by the first of these that
there is: a kernel on a GPU (``kernels``), machine code made from the cell's own functions (``compiled``), or torch's
operations (``executor.py``), by which the other two are checked. Neither traces nor torch.func's transforms see what
is in a kernel or is compiled, so with them torch's operations compute. In the end rows are put into public order.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Literal, cast, get_args

import torch
from torch import Tensor, nn

from dgltree.batching.batch import TreeBatch, as_batch, check_vocabulary
from dgltree.batching.subtrees import twins
from dgltree.engine import executor
from dgltree.engine.checks import check_device, check_finite, check_first_states, check_up, check_weights
from dgltree.engine.compiled.cell_functions import ADDED, INPUT
from dgltree.engine.compiled.cell_pass import compiled_states
from dgltree.engine.contract import CellContract, Computed, DownwardContract, State
from dgltree.engine.kernels.dispatch import fused_pass
from dgltree.engine.kernels.fused_pass import FusedPass
from dgltree.engine.kernels.kernel import operand
from dgltree.engine.memory import check_downward_memory, check_memory
from dgltree.engine.planned import PlannedBatch, plan
from dgltree.engine.schedule import Schedule, downward_schedule
from dgltree.engine.trace import Trace
from dgltree.engine.typed_linear import Matrices, matrices_of, product
from dgltree.support.torch_internals import (
    exclude_from_compile,
    hooks_of,
    inside_transform,
    outside_transforms,
    without_autocast,
)

if TYPE_CHECKING:
    import dgl

Direction = Literal["up", "down"]


def propagate(
    batch: "TreeBatch | PlannedBatch | dgl.DGLGraph",
    cell: CellContract | DownwardContract,
    share: bool = False,
    trace: Sequence[str] = (),
    check: bool = False,
    recompute: bool = False,
    *,
    direction: Direction = "up",
    up: State | None = None,
) -> State:
    """States of all nodes, leaves first, each node after its children; or downwards, each node after its parents.

    Examples:
        >>> import dgltree
        >>> from dgltree.cells import TreeLSTM
        >>> trees = [dgltree.read_infix(text) for text in ("sin(x) + 3", "x*3")]
        >>> vocabulary = dgltree.Vocabulary.from_trees(trees)
        >>> batch = dgltree.batch(trees, vocabulary)
        >>> states = dgltree.propagate(batch, TreeLSTM(vocabulary, hidden_size=8))
        >>> states["h"].shape, states["h"][batch.roots].shape
        (torch.Size([7, 8]), torch.Size([2, 8]))

    Args:
        batch: a TreeBatch, or any DAG as a DGLGraph with ``ndata["function"]``, ``ndata["token"]`` and
            ``edata["slot"]``. Without a vocabulary of its own it is taken to use the cell's. A batch that is run more
            than once is better planned once, by :func:`dgltree.plan`.
        cell: gives the mathematics and the weights.
        share: compute equal subtrees once. States and gradients are unchanged; every occurrence still has its state.
            A planned batch shares as it was planned.
        trace: names of what else to return, of all that the cell computes on the way: gates, actions, stacks ("in",
            "o", "f", "push", ...), "*" for everything. An unknown name is an error that lists them.
        check: whether to look for states that are not finite.
        recompute: whether the backward pass computes each step once more, instead of keeping what it needs of the
            forward pass: the same gradients up to rounding, for a fraction of the memory and up to a half more time.
        direction: "up"; "down" for a :class:`dgltree.cells.DownwardCell`, which starts from ``up`` where nodes have no
            parents, and at a node with several takes the mean, or what the cell says, of what they send.
        up: the upward states of this batch, part name to (N, *shape), which gradients reach. With ``share``, equal
            subtrees in equal contexts are computed once.

    Returns part name to (N, *shape) in public numbering, dtype and device of the cell's weights, also under autocast,
    which does not reach into the pass (for bfloat16 use ``cell.bfloat16()``); under the names of
    ``trace`` (N, *shape), or for what belongs to a child (forget gates) (E, *shape), one row per edge in the order of
    ``batch.child_index``: detached, and NaN at nodes that do not compute it, such as embedded leaves.

    Raises ``ValueError`` if the cell cannot run on the batch, for a cyclic graph, for sharing with dropout in
    training (equal subtrees would get equal masks), for sharing with an ``x`` or ``up`` that requires gradients (only
    one of the equal rows would receive them), for a cell of the other direction, for upward states that are missing or
    of another batch, and with ``check`` naming the first node whose state is not finite; ``MemoryError`` for a batch
    that the device's memory cannot hold on the way up, with what it needs and what would help.

    The backward pass costs O(N) time and memory. It can be repeated under ``retain_graph``, and differentiated
    (``create_graph``), where kernels leave the second pass to torch's operations; weights changed in place in between
    are noticed. Under torch.func's transforms (grad, jvp, vmap, ...) torch's operations compute all of it, equal
    subtrees do not share rows on the way down, and the vectors of leaves are not checked.

    See also: :func:`dgltree.root_states` for the roots alone; :class:`dgltree.encoders.TreeEncoder` for a module of it.
    """
    if not isinstance(cell, CellContract | DownwardContract):
        raise TypeError(f"propagate takes a batch and a cell, but the cell is a {type(cell).__name__}")
    _check_direction(cell, direction, up)
    if hooks_of(cell):  # torch runs them around the cell's forward, which comes back to one of the two below
        more = {"up": up} if direction == "down" else {}
        return cast(State, cell(batch, share=share, trace=trace, check=check, recompute=recompute, **more))
    if isinstance(cell, DownwardContract):
        return downward_states(cell, batch, up, share, trace, check, recompute)
    return states_of(cell, batch, share, trace, check, recompute)


def _check_direction(cell: CellContract | DownwardContract, direction: str, up: State | None) -> None:
    """``ValueError`` for a cell that computes in the other direction, and for upward states on the way up."""
    own = "down" if isinstance(cell, DownwardContract) else "up"
    if direction not in get_args(Direction):
        raise ValueError(f"direction is {direction!r}; it must be 'up' or 'down'")
    if direction != own:
        kind = "a DownwardCell such as dgltree.cells.DownwardTreeLSTM" if own == "up" else "a Cell"
        raise ValueError(f"direction is {direction!r}, but a {type(cell).__name__} computes {own}wards: give {kind}")
    if own == "up" and up is not None:
        raise ValueError("up is the start of a downward cell; leave out up if direction is 'up'")


@exclude_from_compile
def states_of(
    cell: CellContract,
    batch: "TreeBatch | PlannedBatch | dgl.DGLGraph",
    share: bool,
    trace: Sequence[str],
    check: bool,
    recompute: bool,
) -> State:
    """What a call of the cell returns: :func:`propagate` without its hooks."""
    batch = batch if isinstance(batch, PlannedBatch) else as_batch(batch, "propagate")
    traced = Trace(cell, trace)
    planned, states = _planned_states(cell, batch, share, traced, recompute)
    states = {part: _public(tensor, planned.schedule) for part, tensor in states.items()}
    if check:
        check_finite(cell, planned.batch, states, planned.batch.level)
    return states | traced.results(planned.schedule, planned.batch)


def root_states(
    batch: "TreeBatch | PlannedBatch | dgl.DGLGraph", cell: CellContract, share: bool = False, recompute: bool = False
) -> Tensor:
    """(B, n), the hidden states of the roots alone, as :func:`dgltree.propagate` gives them; no other is copied.

    Examples:
        >>> import dgltree
        >>> from dgltree.cells import TreeLSTM
        >>> trees = [dgltree.read_infix(text) for text in ("sin(x) + 3", "x*3")]
        >>> vocabulary = dgltree.Vocabulary.from_trees(trees)
        >>> dgltree.root_states(dgltree.batch(trees, vocabulary), TreeLSTM(vocabulary, hidden_size=8)).shape
        torch.Size([2, 8])
    """
    batch = batch if isinstance(batch, PlannedBatch) else as_batch(batch, "root_states")
    if hooks_of(cell):
        roots = batch.batch.roots if isinstance(batch, PlannedBatch) else batch.roots
        return propagate(batch, cell, share, recompute=recompute)["h"].index_select(0, roots)
    planned, states = _planned_states(cell, batch, share, Trace(cell, ()), recompute)
    return states["h"].index_select(0, planned.schedule.row[planned.batch.roots])


@exclude_from_compile
def _planned_states(
    cell: CellContract, batch: TreeBatch | PlannedBatch, share: bool, traced: Trace, recompute: bool
) -> tuple[PlannedBatch, State]:
    """States in the order of the schedule, for a batch that the cell can run on."""
    if isinstance(batch, PlannedBatch):
        batch.check_for(cell)
        planned = batch
    else:
        check_device(cell, batch)
        planned = plan(batch, cell, share)
    x = planned.batch.x
    if planned.share and cell.training and cell.drops:
        raise ValueError("share=True with dropout in training: equal subtrees would share one dropout mask")
    if planned.share and x is not None and x.requires_grad:
        raise ValueError("share=True with an x that requires gradients: use share=False, or let the cell embed tokens")
    with without_autocast(planned.device):  # the buffers of states have one dtype, the cell's
        return planned, _run(cell, planned, traced, recompute)


def _run(cell: CellContract, planned: PlannedBatch, traced: Trace, recompute: bool) -> State:
    """States in the schedule's own order, part name to (R, *shape)."""
    schedule = planned.schedule
    batch = planned.batch
    weights = cell.map_weights()
    check_weights(cell, weights, planned.device)
    tensors = chain(weights.values(), cell.parameters(), [] if batch.x is None else [batch.x])
    record = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    if record and schedule.node.is_inference():
        raise ValueError(
            "the batch was planned within torch.inference_mode, through whose tensors no gradients pass: plan it "
            "outside, or compute within torch.no_grad()"
        )
    recompute = recompute and record
    is_seen = bool(traced.names) or inside_transform()
    kernel = None if is_seen or recompute else fused_pass(cell, weights, schedule, record, planned.layout)
    check_memory(cell, schedule, record, recompute, None if kernel is None else kernel.least_bytes)
    if kernel is not None:
        first = kernel.leaf_states(batch)
        check_first_states(cell, weights, first)
        laid_out = {name: operand(tensor) for name, tensor in weights.items()}
        inputs = *first, *kernel.inputs(batch, laid_out)
        h, memory = FusedPass.apply(kernel, list(weights), *inputs, *laid_out.values())
        return {"h": h, kernel.part: memory.view(len(memory), *cell.state[kernel.part])}
    leaf = cell.leaf_states(batch, schedule.node[: schedule.leaves], schedule.leaf_segments)
    check_first_states(cell, weights, [leaf[part] for part in cell.state])
    traced.keep(slice(0, schedule.leaves), leaf)
    x = _inner_inputs(cell, schedule, batch)
    fields: dict[str, Tensor] = {} if x is None else {INPUT: x}

    def by_torch(leaf: Computed, fields: Mapping[str, Tensor], recompute: bool) -> State:
        matrices = matrices_of(cell.named_maps(), weights)
        x_pre = _input_products(cell, schedule, matrices, fields.get(INPUT))
        return executor.run(
            cell, schedule, leaf, x_pre, weights, traced, record=record, recompute=recompute, matrices=matrices
        )

    states = None if is_seen else compiled_states(cell, weights, schedule, leaf, fields, by_torch, recompute)
    return by_torch(leaf, fields, recompute) if states is None else states


def _public(states: Tensor, schedule: Schedule) -> Tensor:
    """(N, *shape) in public numbering; states without the leaves' rows, (R - leaves, *shape), are 0 there."""
    if len(states) == len(schedule):
        return states.index_select(0, schedule.row)
    leaves = len(schedule) - len(states)
    row = schedule.row - leaves
    is_leaf = (row < 0).view(-1, *[1] * (states.dim() - 1))
    return states.index_select(0, row.clamp(min=0)).masked_fill_(is_leaf, 0)


def _inner_inputs(cell: CellContract, schedule: Schedule, batch: TreeBatch) -> Tensor | None:
    """(R, d), the inputs of all rows, 0 for leaves; None without inputs."""
    if cell.input_size is None:
        return None
    inner = schedule.node[schedule.leaves :]
    x = None if batch.x is None else batch.x.index_select(0, inner)
    token = batch.token.index_select(0, inner) if schedule.tokens_inside else None
    inputs = cell.node_inputs(batch.function.index_select(0, inner), token, None, x)
    return None if inputs is None else nn.functional.pad(inputs, (0, 0, schedule.leaves, 0))


def _input_products(
    cell: CellContract, schedule: Schedule, matrices: Mapping[str, Matrices], inputs: Tensor | None
) -> Sequence[Tensor | None]:
    """What x adds to the gates of each step, if anything: few products of many rows, ahead of the recursion."""
    if inputs is None:
        return [None] * len(schedule.steps)
    steps_of_arity: dict[int | None, list[int]] = {}
    for k, step in enumerate(schedule.steps):
        steps_of_arity.setdefault(step.arity, []).append(k)
    product_of_step: dict[int, Tensor] = {}
    for arity, numbers in steps_of_arity.items():
        parts = []
        segments = []
        first = 0  # where the rows of a step begin among those of all steps of this arity
        for k in numbers:
            step = schedule.steps[k]
            parts.append(inputs[step.start : step.stop])
            segments += [(function, first + start, first + stop) for function, start, stop in step.segments]
            first += len(parts[-1])
        rows = torch.cat(parts)
        name = f"input_{cell.key(arity)}"
        linear = cell.named_maps()[name]
        is_called = name not in matrices  # it has hooks, or a forward of its own
        products = linear(rows, segments) if is_called else product(rows, matrices[name], linear.runs(segments))
        sizes = [len(part) for part in parts]
        product_of_step |= zip(numbers, products.split(sizes), strict=True)
    return [product_of_step[k] for k in range(len(schedule.steps))]


# ---------------------------------------------------------------------------------------------------------------------
# The level engine from the roots down: a downward cell along a batch, from upward states.


EQUAL = 1e-3
"""Relative: equal subtrees have equal upward states except for rounding."""


@exclude_from_compile
def downward_states(
    cell: DownwardContract,
    batch: "TreeBatch | PlannedBatch | dgl.DGLGraph",
    up: State | None,
    share: bool,
    trace: Sequence[str],
    check: bool,
    recompute: bool,
) -> State:
    """What a call of the cell returns: ``dgltree.propagate(..., direction="down")`` without its hooks."""
    planned = batch if isinstance(batch, PlannedBatch) else None
    if isinstance(batch, PlannedBatch):
        batch.check_unchanged()
        trees = batch.batch
        share = batch.share
    else:
        trees = as_batch(batch, "propagate")
    if inside_transform():  # states that share a row are compared, which is no transform's business
        share = False
    check_vocabulary(trees, cell.vocabulary, "cell")
    check_device(cell, trees)
    check_up(cell, trees, up)
    assert up is not None
    if share:
        _check_shared(cell, trees, up)
    traced = Trace(cell, trace)
    with outside_transforms():
        if planned is not None and share == planned.share:
            schedule = planned.downward_for(cell)
        else:
            schedule = downward_schedule(trees, cell, share)
    with without_autocast(trees.device):  # the buffers of states have one dtype, the cell's
        states = _run_down(cell, trees, schedule, up, traced, recompute)
    states = {part: rows.index_select(0, schedule.row) for part, rows in states.items()}
    if check:
        check_finite(cell, trees, states, schedule.row, "above")
    return states | traced.results(schedule, trees)


def _run_down(
    cell: DownwardContract, trees: TreeBatch, schedule: Schedule, up: State, traced: Trace, recompute: bool
) -> State:
    """States in the schedule's own order, part name to (R, *shape)."""
    weights = cell.map_weights()
    check_weights(cell, weights, trees.device)
    tensors = [*cell.parameters(), *weights.values(), *up.values()]
    record = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    check_downward_memory(cell, schedule, record)
    roots, others = schedule.node.tensor_split([schedule.leaves])
    first = cell.start({part: rows.index_select(0, roots) for part, rows in up.items()})
    fields: dict[str, Tensor] = {}
    if cell.reads_up:
        added = cell.up_inputs(up["h"].index_select(0, others), trees.function.index_select(0, others))
        if added is not None:
            fields[ADDED] = nn.functional.pad(added, (0, 0, schedule.leaves, 0))
    recompute = recompute and record

    def by_torch(first: Computed, fields: Mapping[str, Tensor], recompute: bool) -> State:
        sizes = [step.stop - step.start for step in schedule.steps]
        added = fields.get(ADDED)
        x_pre = [None] * len(sizes) if added is None else added[schedule.leaves :].split(sizes)
        return executor.run(cell, schedule, first, x_pre, weights, traced, record=record, recompute=recompute)

    is_seen = bool(traced.names) or inside_transform()
    states = None if is_seen else compiled_states(cell, weights, schedule, first, fields, by_torch, recompute)
    return by_torch(first, fields, recompute) if states is None else states


def _check_shared(cell: DownwardContract, trees: TreeBatch, up: State) -> None:
    """``ValueError`` if equal subtrees may not share a row."""
    if cell.training and cell.drops:
        raise ValueError("share=True with dropout in training: equal nodes would share one dropout mask")
    first_equal = torch.from_numpy(twins(trees)).to(trees.device)
    for part, rows in up.items():
        if rows.is_leaf and rows.requires_grad:
            raise ValueError(
                f"share=True with an up[{part!r}] that requires gradients: use share=False, or states that a cell gave"
            )
        rows = rows.detach()
        equal = rows.index_select(0, first_equal)
        if not torch.allclose(rows, equal, rtol=EQUAL, atol=EQUAL * float(rows.abs().max())):
            raise ValueError(f"share=True with an up[{part!r}] that differs between equal subtrees: use share=False")
