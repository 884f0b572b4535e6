"""The oracle: one node at a time, children first, from the equations of the papers.

Slow and obvious; it shares nothing with the engines but the parameters and their order within the packed rows.

``recursion(cell, batch)`` gives the states that every engine must give. It calls the function of the cell's class in
``EQUATIONS`` for each node, which gets a ``Node``: the states of its children and the affine maps of its function. No
operation is over several nodes, and gradients come from autograd. A new cell gets one such function.
"""

import functools
import math
from collections.abc import Callable

import torch
from torch import Tensor

from dgltree import TreeBatch
from dgltree.cells import (
    GRC,
    BanyanCell,
    Cell,
    ChildSumTreeLSTM,
    StackTreeLSTM,
    StackTreeRNN,
    StrAECell,
    SumCell,
    TreeCell,
    TreeLSTM,
    TreeRNN,
    TreeSMU,
)

State = dict[str, Tensor]


def recursion(cell: Cell, batch: TreeBatch) -> State:
    """States of all nodes, part name to (N, *shape)."""
    states: dict[int, State] = {}
    pointer, child = batch.child_ptr.tolist(), batch.child_index.tolist()
    for j in torch.argsort(batch.level, stable=True).tolist():
        children = [states[k] for k in child[pointer[j] : pointer[j + 1]]]
        if children or cell.leaf == "gates":
            states[j] = EQUATIONS[type(cell)](Node(cell, batch, j, children))
        else:
            h = embedded(cell.embedding, batch, j)
            if type(cell) is GRC:
                h = normed(cell.embedding.norm, cell.embedding.affine.weight @ h + cell.embedding.affine.bias)
            states[j] = {part: h if part == "h" else h.new_zeros(shape) for part, shape in cell.state.items()}
    return {part: torch.stack([states[j][part] for j in range(batch.num_nodes)]) for part in cell.state}


def embedded(embedding: torch.nn.Module, batch: TreeBatch, j: int) -> Tensor | None:
    """The vector of a node's number or token, if it has one."""
    token = int(batch.token[j])
    if batch.value is not None and not batch.value[j].isnan():
        first, second = embedding.number.linear1, embedding.number.linear2
        v = batch.value[j]
        if embedding.number.scale is not None:
            v = torch.asinh((v - embedding.number.scale[0]) / embedding.number.scale[1])
        inside = torch.sigmoid(first.weight[:, 0] * v.to(first.weight.dtype) + first.bias)
        return torch.sigmoid(second.weight @ inside + second.bias)
    if token < 0:
        return None
    row = embedding.weight[token]
    if embedding.bias is None:
        return row
    return torch.sigmoid(embedding.layer.weight @ torch.sigmoid(row + embedding.bias) + embedding.layer.bias)


def fixed_dropout(v: Tensor, p: float, training: bool = True) -> Tensor:
    """In place of torch's: every third entry goes, one after the other, whatever the row."""
    keep = torch.arange(v.shape[-1]) % 3 != 0
    return v * keep / (1 - p) if training and p else v


class Node:
    """A node with its children's states, and the affine maps of its function."""

    def __init__(self, cell: Cell, batch: TreeBatch, j: int, children: list[State]) -> None:
        self.cell, self.children = cell, children
        functions, f = cell.vocabulary.functions, int(batch.function[j])
        self.key = "any" if isinstance(cell, SumCell) else str(len(children))
        if not cell.typed:
            self.place = 0
        elif isinstance(cell, SumCell):
            inner = [name for name, arity in functions if arity != 0 or cell.leaf == "gates"]
            self.place = list(dict.fromkeys(inner)).index(functions[f][0])
        else:
            self.place = [g for g, (_, arity) in enumerate(functions) if arity == len(children)].index(f)
        self.x = None
        if cell.input_size is not None:
            self.x = batch.x[j] if batch.x is not None else embedded(cell.input_embedding, batch, j)
        if cell.functions:
            names = list(dict.fromkeys(name for name, _ in functions))
            own = cell.function_embedding.weight[names.index(functions[f][0])]
            self.x = own if self.x is None else own + self.x

    def map(self, name: str, v: Tensor, place: int | None = None) -> Tensor:
        linear = self.cell.maps[f"{name}_{self.key}"]
        place = self.place if place is None else place
        weight = linear.weight[0 if linear.rank else place]
        if linear.rank:
            weight = weight + linear.own_out[place] @ linear.own_in[place]
        out = weight @ v
        return out if linear.bias is None else out + linear.bias[place]

    def inputs(self) -> Tensor | float:
        return 0.0 if self.x is None else self.map("input", self.x)

    def concatenated(self) -> Tensor:
        empty = self.cell.maps[f"gates_{self.key}"].weight.new_empty(0)
        return torch.cat([c["h"] for c in self.children]) if self.children else empty

    def gates(self) -> Tensor:
        """The packed pre-activations of all gates, shared ones last."""
        i = self.concatenated()
        i = self.drop(i) if type(self.cell) is TreeCell else i
        pre = self.map("gates", i)
        if f"shared_gates_{self.key}" in self.cell.maps:
            pre = torch.cat([pre, self.map("shared_gates", i, place=0)])
        return pre + self.inputs()

    def drop(self, v: Tensor) -> Tensor:
        """Dropout as the tests fix it: by a mask that depends on the place in the vector alone."""
        return fixed_dropout(v, self.cell.dropout, self.cell.training)

    def rows(self, pre: Tensor) -> list[Tensor]:
        n = self.cell.hidden_size
        return [pre[k : k + n] for k in range(0, len(pre) // n * n, n)]


def tree_rnn(node: Node) -> State:
    act = getattr(torch, node.cell.activation)
    h = act(node.gates())
    return {"h": node.drop(act(node.map("second", h)) if node.cell.num_layers == 2 else h)}


def tree_lstm(node: Node) -> State:
    u, gate_in, o, *forget = node.rows(node.gates())
    c = torch.sigmoid(gate_in) * node.drop(torch.tanh(u))
    for f_k, child in zip(forget, node.children, strict=True):
        c = c + torch.sigmoid(f_k) * child["c"]
    return {"h": torch.sigmoid(o) * torch.tanh(c), "c": c}


def child_sum(node: Node) -> State:
    n = node.cell.hidden_size
    total = torch.zeros(n, dtype=node.cell.maps["gates_any"].weight.dtype)
    x = node.inputs()
    x_gates, x_forget = (0.0, 0.0) if node.x is None else (x[: 3 * n], x[3 * n :])
    messages = [node.map("message", child["h"]) + x_forget for child in node.children]
    if node.cell.positions:
        messages = [m + place(node.cell, slot) for slot, m in enumerate(messages)]
    hs = [
        torch.sigmoid(message[n:]) * child["h"] if node.cell.positions else child["h"]
        for message, child in zip(messages, node.children, strict=True)
    ]
    total = bag(hs, total) if node.cell.aggregation == "bag" else aggregated(node.cell, hs, hs, total)
    u, gate_in, o = node.rows(node.map("gates", total) + x_gates)
    kept = [torch.sigmoid(message[:n]) * child["c"] for message, child in zip(messages, node.children, strict=True)]
    c = torch.sigmoid(gate_in) * node.drop(torch.tanh(u)) + aggregated(node.cell, hs, kept, torch.zeros_like(u))
    return {"h": torch.sigmoid(o) * torch.tanh(c), "c": c}


def aggregated(cell: Cell, hs: list[Tensor], rows: list[Tensor], none: Tensor) -> Tensor:
    """The children's rows as one, by the definition of each aggregation."""
    if not rows:
        return none
    match cell.aggregation:
        case "sum":
            return sum(rows, none)
        case "mean" | "bag":  # h apart
            return sum(rows, none) / len(rows)
        case "max":
            return functools.reduce(torch.maximum, rows)
        case "min":
            return functools.reduce(torch.minimum, rows)
    scores = torch.stack([(cell.aggregate.query * h).sum() / len(h) ** 0.5 for h in hs])
    return sum((weight * row for weight, row in zip(scores.softmax(0), rows, strict=True)), none)


def bag(hs: list[Tensor], none: Tensor) -> Tensor:
    """Mean, maximum, logarithm of the sum of exponentials, and that of one more than there are; all 0 for none."""
    if not hs:
        return torch.cat([none, none, none, none[:1]])
    summed = sum((torch.exp(h) for h in hs), none)
    number = none[:1] + math.log(1 + len(hs))
    return torch.cat([sum(hs, none) / len(hs), functools.reduce(torch.maximum, hs), torch.log(summed), number])


def place(cell: Cell, slot: int) -> Tensor:
    """What the position of a child adds to the gates of its message: of sines and cosines of 16 frequencies."""
    weight = cell.position_map.weight
    angles = [slot / 10000 ** (2 * i / 32) for i in range(16)]
    waves = [wave for angle in angles for wave in (math.sin(angle), math.cos(angle))]
    return weight @ torch.tensor(waves, dtype=weight.dtype)


def tree_cell(node: Node) -> State:
    return gated(node, torch.clamp(node.gates(), min=0))


def grc(node: Node) -> State:
    z = node.gates()
    return gated(node, z * (1 + torch.erf(z / 2**0.5)) / 2)


def gated(node: Node, activated: Tensor) -> State:
    z = node.map("out", node.drop(activated))
    *g, c, u = node.rows(z)
    h = torch.sigmoid(c) * u
    for g_k, child in zip(g, node.children, strict=True):
        h = h + torch.sigmoid(g_k) * child["h"]
    return {"h": normed(node.cell.norm, h)}


def normed(norm: torch.nn.LayerNorm, h: Tensor) -> Tensor:
    centred = h - h.sum() / len(h)
    return norm.weight * centred / torch.sqrt((centred**2).sum() / len(h) + 1e-5) + norm.bias


def updated(node: Node, g: list[Tensor], u: Tensor, a: dict[str, Tensor]) -> list[Tensor]:
    """The rows of a node's stack."""
    p, zero = node.cell.stack_size, torch.zeros_like(u)
    Sc = [sum((g_k * child["S"][r] for g_k, child in zip(g, node.children, strict=True)), zero) for r in range(p)]
    S = []
    for r in range(p):
        above, below = (u if r == 0 else Sc[r - 1]), (Sc[r + 1] if r + 1 < p else zero)
        S.append(a["push"] * above + a.get("pop", zero) * below + a.get("noop", zero) * Sc[r])
    return S


def actions_of(cell: Cell) -> list[str]:
    options = cell.config
    return ["push"] + ["pop"] * options["pop"] + ["noop"] * options["no_op"]


def stack_tree_lstm(node: Node) -> State:
    cell, pre, arity = node.cell, node.gates(), len(node.children)
    k, actions = cell.top_k, actions_of(cell)
    u, o, *rest = node.rows(pre)
    a = dict(zip(actions, [torch.sigmoid(row) for row in rest], strict=False))
    rest = rest[len(actions) :]
    if cell.normalize:
        total = sum(torch.exp(a_) for a_ in a.values())
        a = {name: torch.exp(a_) / total for name, a_ in a.items()}
    g, rest = [torch.sigmoid(row) for row in rest[:arity]], rest[arity:]
    u = node.drop(torch.tanh(u))
    if cell.data_gate:
        u, rest = torch.sigmoid(rest[0]) * u, rest[1:]
    S = updated(node, g, u, a)
    if k == 1:
        read = S[0]
    else:
        q = [torch.sigmoid(row) for row in (rest if cell.gated_top_k else pre[len(pre) - k :])]
        read = sum(q[r] * S[r] for r in range(k))
    return {"h": torch.sigmoid(o) * torch.tanh(read), "S": torch.stack(S)}


def stack_tree_rnn(node: Node) -> State:
    cell, pre, n = node.cell, node.gates(), node.cell.hidden_size
    act, actions = getattr(torch, cell.config["activation"]), actions_of(cell)
    z, u, scores = pre[:n], act(pre[n : 2 * n]), torch.exp(pre[2 * n : 2 * n + len(actions)])
    a = dict(zip(actions, scores / scores.sum(), strict=True))
    g = [torch.sigmoid(row) for row in node.rows(pre[2 * n + len(actions) :])]
    S = updated(node, g, u, a)
    if cell.read == "self":
        z = z + node.map("read", torch.cat(S[: cell.top_k]))
    elif node.children:
        z = z + node.map("read", torch.cat([child["S"][0] for child in node.children]))
    return {"h": node.drop(act(z)), "S": torch.stack(S)}


def strae(node: Node) -> State:
    width = node.cell.unit
    channels = range(0, node.cell.hidden_size, width)
    parts = [torch.cat([child["h"][at : at + width] for child in node.children]) for at in channels]
    return {"h": node.drop(torch.cat([node.map("phi", part) for part in parts]))}


def banyan(node: Node) -> State:
    phi, added = (each.repeat(1, node.cell.channels) for each in (node.cell.weight, node.cell.bias.unsqueeze(0)))
    h = added[0]
    for k, child in enumerate(node.children):
        h = h + child["h"] / (1 + torch.exp(-phi[k]))
    return {"h": node.drop(h)}


EQUATIONS: dict[type[Cell], Callable[[Node], State]] = {
    TreeRNN: tree_rnn,
    TreeLSTM: tree_lstm,
    ChildSumTreeLSTM: child_sum,
    TreeCell: tree_cell,
    GRC: grc,
    StackTreeRNN: stack_tree_rnn,
    StackTreeLSTM: stack_tree_lstm,
    TreeSMU: stack_tree_lstm,
    StrAECell: strae,
    BanyanCell: banyan,
}
