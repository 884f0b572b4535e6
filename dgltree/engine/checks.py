"""Inputs that a cell refuses: batches of another vocabulary, and inputs that it would lose."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch, check_vocabulary, place, shares_numbers
from dgltree.batching.number_scales import ranks_of
from dgltree.batching.vocabulary import NO_TOKEN
from dgltree.engine.contract import CellBase, CellContract, State
from dgltree.support.torch_internals import inside_transform


def check_batch(cell: CellContract, batch: TreeBatch) -> None:
    """``ValueError`` for a batch of another vocabulary, or with inputs that the cell cannot read; on any device."""
    check_vocabulary(batch, cell.vocabulary, "cell")
    if batch.x is not None:
        _check_x(cell, batch, batch.x, cell.first_weight.dtype)


def check_device(cell: CellBase, batch: TreeBatch) -> None:
    """``ValueError`` for a batch that is on another device than the cell."""
    own = cell.first_weight.device
    if own != batch.device:
        raise ValueError(f"the batch is on {batch.device}, but the cell is on {own}: use batch.to(...)")


def check_weights(cell: CellBase, weights: Mapping[str, Tensor], device: torch.device) -> None:
    """``RuntimeError``, as torch's operations raise it, naming a map whose tensors no pass on this device can multiply.

    Compiled code reads by address: behind a short tensor it would read whatever lies there.
    """
    maps = cell.named_maps()
    for name, tensor in weights.items():
        linear, kind = name.rsplit(".", 1)
        shape = maps[linear].shapes[kind]
        if tensor.shape != shape:
            raise RuntimeError(f"{name} has shape {tuple(tensor.shape)}; this cell's map needs {shape}")
        if tensor.device != device:
            raise RuntimeError(
                f"{name} is on {tensor.device}, but the batch is on {device}: move the whole cell by cell.to(...)"
            )
    if len({tensor.dtype for tensor in weights.values()}) > 1:
        dtypes = ", ".join(f"{name} {tensor.dtype}" for name, tensor in weights.items())
        raise RuntimeError(f"the maps have different dtypes: {dtypes}; convert the cell by cell.to(dtype)")


def check_first_states(cell: CellBase, weights: Mapping[str, Tensor], states: Iterable[Tensor]) -> None:
    """``RuntimeError`` if the states that a pass begins with, (rows, *shape), have not the cell's shape or dtype."""
    dtype = next((tensor.dtype for tensor in weights.values()), None)
    for (part, shape), rows in zip(cell.state.items(), states, strict=True):
        if rows.shape[1:] != shape:
            raise RuntimeError(
                f"leaves have a state {part} of shape {tuple(rows.shape[1:])}; this cell needs shape {shape}"
            )
        if dtype is not None and rows.dtype != dtype:
            raise RuntimeError(
                f"leaves have a state {part} of dtype {rows.dtype}, but the maps have dtype {dtype}: convert the "
                "whole cell by cell.to(...)"
            )


def read_of(cell: CellContract) -> tuple[object, ...]:
    """The parts of nodes that a cell reads: equal for cells that :func:`check_nodes` treats alike."""
    return cell.numbers, cell.leaf, cell.input_size


def check_nodes(cell: CellContract, batch: TreeBatch) -> None:
    """``ValueError`` if a cell would lose something that a node carries, or lacks something at one."""
    inner = batch.arity > 0
    token = batch.token != NO_TOKEN

    def refuse(wrong: Tensor, what: str) -> None:
        if wrong.any():
            raise ValueError(f"{place(batch, int(torch.nonzero(wrong)[0]))} {what}")

    carries = token
    if batch.value is not None:
        number = ~batch.value.isnan()
        carries = token | number
        refuse(number & inner, "is an inner node with a number; only leaves may carry numbers")
        refuse(number & token, "has a token and a number; a leaf may carry only one of the two")
        if cell.vocabulary.scales is not None and shares_numbers(batch):
            refuse(
                _at_places_of_other_scales(cell, batch),
                "carries a number, whose scale depends on its parent: give each parent its own leaf",
            )
        if not cell.numbers:
            refuse(number, "carries a number; build the cell with numbers=True")
        if cell.input_size is not None and cell.leaf == "gates" and batch.x is not None:
            refuse(number, "has a number and an input vector, but a cell with leaf='gates' reads only one of the two")
    if cell.leaf != "gates":
        refuse(
            ~(inner | carries),
            f"is a leaf without a token or number, but leaf={cell.leaf!r} embeds tokens and numbers; "
            "leaf='gates' reads vectors",
        )
    if cell.input_size is None:
        refuse(inner & token, "is an inner node with a token, which a cell without input_size ignores")
    if cell.leaf != "gates" and batch.x is not None and not inside_transform():  # which hides values of x
        refuse(
            ~inner & (batch.x != 0).any(1),
            f"is a leaf with an input vector, which leaf={cell.leaf!r} would ignore: use leaf='gates', or set the "
            "vector to 0",
        )


def _at_places_of_other_scales(cell: CellContract, batch: TreeBatch) -> Tensor:
    """(N,), whether a leaf is read as different numbers under several parents."""
    batch = batch.within(cell.vocabulary)
    table = cell.vocabulary.scale_table
    assert batch.numbers is not None and batch.value is not None and table is not None
    table = table.on(batch.device)
    child = batch.child_index
    rows = table.rows(batch.function[child], batch.function[batch.parent_index], batch.slot, ranks_of(batch))
    read = table.distances(batch.value[child], rows).asinh()  # the number that each parent reads
    is_other = (read != batch.numbers[child]) & ~read.isnan()
    return torch.zeros_like(batch.function, dtype=torch.bool).index_fill(0, child[is_other], True)


def _check_x(cell: CellContract, batch: TreeBatch, x: Tensor, dtype: torch.dtype) -> None:
    if cell.input_size is None:
        raise ValueError("the batch carries input vectors x, but this cell has no input_size and would ignore them")
    if x.shape != (batch.num_nodes, cell.input_size):
        expected = f"({batch.num_nodes} nodes, input_size {cell.input_size})"
        raise ValueError(f"x has shape {tuple(x.shape)}; this batch and cell need {expected}")
    if x.dtype != dtype:
        raise ValueError(f"x is {x.dtype}, but the cell's weights are {dtype}")
    if x.device != batch.device:
        raise ValueError(f"x is on {x.device}, but the batch is on {batch.device}: use batch.to(...)")


def check_finite(cell: CellBase, batch: TreeBatch, states: State, order: Tensor, before: str = "below") -> None:
    """``ValueError`` naming the first node, by ``order`` (N,), whose state is not finite, and what is not finite there.

    ``before`` is where the nodes lie that come earlier.
    """
    is_bad = {part: ~tensor.detach().flatten(1).isfinite().all(1) for part, tensor in states.items()}
    wrong = torch.nonzero(torch.stack(list(is_bad.values())).any(0)).squeeze(-1)
    if not len(wrong):
        return
    j = int(wrong[order[wrong].argmin()])
    parts = ", ".join(part for part, rows in is_bad.items() if rows[j])
    name, _ = cell.vocabulary.functions[int(batch.function[j])]
    cause = "its inputs are finite: check the cell's weights"
    if batch.x is not None and not bool(batch.x[j].isfinite().all()):
        cause = "its input vector x is not finite"
    raise ValueError(f"{place(batch, j)} ({name!r}): {parts} is not finite, but all nodes {before} are finite; {cause}")


def check_up(cell: CellBase, batch: TreeBatch, up: State | None) -> None:
    """``ValueError`` for upward states that a downward cell cannot start from."""
    if up is None or "h" not in up:
        what = "missing" if up is None else "without h"
        raise ValueError(
            f"up is {what}: a {type(cell).__name__} starts from upward states, up=dgltree.propagate(batch, an upward "
            "cell)"
        )
    weight = next(cell.parameters(), up["h"])
    for part, rows in up.items():
        needed = f"{batch.num_nodes} rows"
        fits = len(rows) == batch.num_nodes
        if part == "h":
            needed += f" of hidden_size {cell.hidden_size}"
            fits = rows.shape == (batch.num_nodes, cell.hidden_size)
        if not fits:
            raise ValueError(f"up[{part!r}] has shape {tuple(rows.shape)}; this batch and cell need {needed}")
        if rows.dtype != weight.dtype or rows.device != weight.device:
            raise ValueError(
                f"up[{part!r}] is {rows.dtype} on {rows.device}, but the cell is {weight.dtype} on {weight.device}"
            )
