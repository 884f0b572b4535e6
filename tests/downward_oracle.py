"""The oracle of the second sweep: one node at a time, parents first, from the equations as they stand in the docs."""

from collections.abc import Callable

import torch
from oracle import State, aggregated, place
from torch import Tensor

from dgltree import TreeBatch
from dgltree.cells import DownwardBanyanCell, DownwardCell, DownwardStrAECell, DownwardTreeLSTM


def downward_recursion(cell: DownwardCell, batch: TreeBatch, up: State) -> State:
    """States of all nodes, part name to (N, *shape)."""
    parents: dict[int, list[tuple[int, int]]] = {j: [] for j in range(batch.num_nodes)}
    pointer, child = batch.child_ptr.tolist(), batch.child_index.tolist()
    for j in range(batch.num_nodes):
        for slot, k in enumerate(child[pointer[j] : pointer[j + 1]]):
            parents[k].append((j, slot))
    states: dict[int, State] = {}
    open_ = list(range(batch.num_nodes))
    while open_:
        ready = [j for j in open_ if all(p in states for p, _ in parents[j])]
        assert ready, "a cycle"
        for j in ready:
            if parents[j]:
                sent = [message(cell, batch, p, slot, j, states[p], up) for p, slot in parents[j]]
                hs = [each["h"] for each in sent]
                states[j] = {
                    part: aggregated(cell, hs, [each[part] for each in sent], torch.zeros_like(hs[0]))
                    for part in cell.state
                }
            else:
                states[j] = {part: up[part][j] if part in up else 0 * up["h"][j] for part in cell.state}
        open_ = [j for j in open_ if j not in states]
    return {part: torch.stack([states[j][part] for j in range(batch.num_nodes)]) for part in cell.state}


def message(cell: DownwardCell, batch: TreeBatch, p: int, slot: int, j: int, parent: State, up: State) -> State:
    """What node j gets from its parent p, whose child it is at this place."""
    f = int(batch.function[p])

    def mapped(name: str, v: Tensor) -> Tensor:
        at = matrix(cell, f, slot)
        return cell.maps[f"{name}_any"].weight[at] @ v + cell.maps[f"{name}_any"].bias[at]

    return MESSAGES[type(cell)](cell, mapped, slot, parent["h"], parent, up["h"][j], int(batch.function[j]))


def matrix(cell: DownwardCell, f: int, slot: int) -> int:
    """Counted up from the first function: a matrix for each place of each function, or of each arity, or for a name."""
    own: list[tuple[object, ...]] = []
    for name, arity in cell.vocabulary.functions:
        if arity == 0:
            continue
        who = (name,) if cell.typed else ()
        slots = [None] if cell.positions else range(arity)
        own += [(*who, k) if cell.positions else (*who, arity, k) for k in slots]
    name, arity = cell.vocabulary.functions[f]
    who = (name,) if cell.typed else ()
    return list(dict.fromkeys(own)).index((*who, None) if cell.positions else (*who, arity, slot))


def tree_lstm(
    cell: DownwardCell, mapped: Callable[..., Tensor], slot: int, h: Tensor, parent: State, u_j: Tensor, f_j: int
) -> State:
    n = cell.hidden_size
    own = cell.maps["input_any"].weight[f_j if cell.typed else 0]
    pre = mapped("gates", h) + own @ u_j
    if cell.positions:
        pre = pre + place(cell, slot)
    u, gate_in, o, f = (pre[k * n : (k + 1) * n] for k in range(4))
    c = torch.sigmoid(gate_in) * torch.tanh(u) + torch.sigmoid(f) * parent["c"]
    return {"h": torch.sigmoid(o) * torch.tanh(c), "c": c}


def strae(cell: DownwardCell, mapped: Callable[..., Tensor], slot: int, h: Tensor, *_: object) -> State:
    return {"h": torch.cat([mapped("theta", h[k : k + cell.unit]) for k in range(0, cell.hidden_size, cell.unit)])}


def banyan(cell: DownwardCell, mapped: Callable[..., Tensor], slot: int, h: Tensor, *_: object) -> State:
    theta, added = (each[slot].repeat(cell.channels) for each in (cell.weight, cell.bias))
    return {"h": h / (1 + torch.exp(-theta)) + added}


MESSAGES: dict[type[DownwardCell], Callable[..., State]] = {
    DownwardTreeLSTM: tree_lstm,
    DownwardStrAECell: strae,
    DownwardBanyanCell: banyan,
}
