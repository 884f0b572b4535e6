"""Peers that dgltree is compared with: the same mathematics as others run it, and the bare products as the limit."""

import math
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from dgltree import Tree, TreeBatch, Vocabulary
from dgltree.cells import Cell, TreeSMU
from dgltree.encoders.latent.ordered_memory.slots import allocate
from dgltree.engine.schedule import Schedule


class RecursiveTreeSMU(nn.Module):
    """Tree-SMU with no-op by plain recursion, one node at a time, as the published programs run it.

    A module for every gate and child, equations as in arXiv 1911.01545; ``like`` gives sizes and weights, so that the
    hidden states are those of our cell.
    """

    def __init__(self, like: TreeSMU) -> None:
        super().__init__()
        n, self.stack_size, self.vocabulary = like.hidden_size, like.stack_size, like.vocabulary
        self.hidden_size = n
        self.embedding = nn.Embedding.from_pretrained(like.embedding.weight.detach().clone(), freeze=False)
        self.gates = nn.ModuleDict()
        for function, (_, arity) in enumerate(like.vocabulary.functions):
            if arity:
                packed = like.maps[f"gates_{arity}"]
                weight, bias = (
                    getattr(packed, kind)[packed.position[function]].detach() for kind in ("weight", "bias")
                )
                self.gates[str(function)] = nn.ModuleList(map(_linear, weight.split(n), bias.split(n)))

    def forward(self, tree: Tree) -> tuple[Tensor, Tensor]:
        """h (n,) and S (p, n) of a tree."""
        if not tree.children:
            h = self.embedding.weight[self.vocabulary.token_id(tree.token)]
            return h, h.new_zeros(self.stack_size, self.hidden_size)
        states = [self(child) for child in tree.children]
        i = torch.cat([h for h, _ in states])
        gates = self.gates[str(self.vocabulary.function_id(tree.function, len(states)))]
        u, o, push, pop, noop, *g = (gate(i) for gate in gates)
        actions = torch.stack([torch.sigmoid(action) for action in (push, pop, noop)]).softmax(0)
        stack = sum(torch.sigmoid(g_k) * S for g_k, (_, S) in zip(g, states, strict=True))
        above = torch.cat([torch.tanh(u).unsqueeze(0), stack[:-1]])
        below = torch.cat([stack[1:], torch.zeros_like(stack[:1])])
        S = actions[0] * above + actions[1] * below + actions[2] * stack
        return torch.sigmoid(o) * torch.tanh(S[0]), S


def _linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    made = nn.Linear(weight.shape[1], weight.shape[0])
    with torch.no_grad():
        made.weight.copy_(weight)
        made.bias.copy_(bias)
    return made


def dgl_root_states(cell: Cell, trees: TreeBatch) -> Tensor:
    """``dgl.prop_nodes_topo`` with the cell's own functions, whose gates are packed; the graph is made beforehand."""
    import dgl

    graph = trees.graph
    cell.prepare(graph)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The input graph for the user-defined edge function")
        dgl.prop_nodes_topo(graph, cell.message_func, cell.reduce_func, apply_node_func=cell.apply_node_func)
    return graph.ndata["h"].index_select(0, trees.roots)


class BareProducts:
    """The matrix products of a training step and nothing else: forward and for the inputs step by step, for the weights
    one for each matrix. No program that computes the cell can be faster.
    """

    def __init__(self, cell: Cell, schedule: Schedule, device: str = "cpu") -> None:
        self.steps: list[tuple[Tensor, Tensor, Tensor]] = []
        rows: dict[tuple[str, int], int] = {}
        maps = cell.named_maps()
        for name, start, stop, matrix in _products(cell, schedule):
            weight = maps[name].weight[matrix].detach()
            v = torch.randn(stop - start, weight.shape[1], device=device)
            self.steps.append((v, weight, torch.randn(stop - start, weight.shape[0], device=device)))
            rows[name, matrix] = rows.get((name, matrix), 0) + stop - start
        self.weights = []
        self.inputs = list(_input_rows(cell, schedule, device))
        for (name, matrix), count in rows.items():
            out, inside = maps[name].weight[matrix].shape
            self.weights.append((torch.randn(count, out, device=device), torch.randn(count, inside, device=device)))

    def __call__(self) -> None:
        with torch.no_grad():
            for v, weight, _ in self.steps:
                torch.mm(v, weight.t())
            for _, weight, d_out in reversed(self.steps):
                torch.mm(d_out, weight)
            for d_out, v in self.weights:
                torch.mm(d_out.t(), v)
            for v, weight, d_out in self.inputs:  # whose own gradients nobody wants
                torch.mm(v, weight.t())
                torch.mm(d_out.t(), v)


def _products(cell: Cell, schedule: Schedule) -> Iterator[tuple[str, int, int, int]]:
    """(map, start, stop, matrix) of the typed products of gates, and of messages, step by step."""
    maps = cell.named_maps()
    for step in schedule.steps:
        for kind, segments in (("gates", step.segments), ("message", step.edge_segments)):
            name = f"{kind}_{cell.key(step.arity)}"
            for matrix, start, stop in maps[name].runs(segments) if name in maps else []:
                yield name, start, stop, matrix


def _input_rows(cell: Cell, schedule: Schedule, device: str) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """The products of x, one for each map over all nodes that read it: inputs, weight, and the outputs' gradients."""
    rows = {cell.key(step.arity): 0 for step in schedule.steps}
    for step in schedule.steps:
        rows[cell.key(step.arity)] += step.stop - step.start
    if cell.leaf == "gates":
        rows[cell.key(0)] = rows.get(cell.key(0), 0) + schedule.leaves
    for key, count in rows.items() if cell.input_size else []:
        weight = cell.named_maps()[f"input_{key}"].weight[0].detach()
        yield torch.randn(count, len(weight.T), device=device), weight, torch.randn(count, len(weight), device=device)


def child_sum_input(trees: list[Tree], vocabulary: Vocabulary, width: int) -> dict[str, Any]:
    """A batch for pytorch-tree-lstm: random vectors at all nodes, its own evaluation orders."""
    from treelstm import batch_tree_input, calculate_evaluation_orders

    from dgltree import batch

    made = []
    for tree in trees:
        flat = batch([tree], vocabulary)
        edges = torch.stack([flat.parent_index, flat.child_index], 1)
        if len(edges):
            node_order, edge_order = calculate_evaluation_orders(edges.numpy(), flat.num_nodes)
            made.append(
                {
                    "features": torch.randn(flat.num_nodes, width),
                    "node_order": torch.from_numpy(node_order),
                    "edge_order": torch.from_numpy(edge_order),
                    "adjacency_list": edges,
                }
            )
    return batch_tree_input(made)


class LiteralONLSTM(nn.Module):
    """One ON-LSTM layer as its equations are written (arXiv 1810.09536): a map for each gate, a step at a time.

    ``like`` gives the weights: a layer of :class:`dgltree.encoders.ONLSTM`.
    """

    def __init__(self, like: Any) -> None:
        super().__init__()
        chunks, n = like.chunks, like.hidden_size
        sizes = [chunks, chunks, n, n, n, n]
        self.chunk_size, self.hidden_size = like.chunk_size, n
        self.inputs = nn.ModuleList(map(_linear, like.input.weight.split(sizes), like.input.bias.split(sizes)))
        self.hidden = nn.ModuleList(map(_linear, like.hidden.weight.split(sizes), like.hidden.bias.split(sizes)))

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """(B, D), the state after the last word, from x (B, T, input) and lengths (B,)."""
        h = c = x.new_zeros(len(x), self.hidden_size)
        for t, x_t in enumerate(x.unbind(1)):
            master_f, master_i, f, i, o, c_hat = (w(x_t) + u(h) for w, u in zip(self.inputs, self.hidden, strict=True))
            f_tilde = master_f.softmax(-1).cumsum(-1).repeat_interleave(self.chunk_size, -1)
            i_tilde = 1 - master_i.softmax(-1).cumsum(-1).repeat_interleave(self.chunk_size, -1)
            omega = f_tilde * i_tilde
            f_hat = torch.sigmoid(f) * omega + (f_tilde - omega)
            i_hat = torch.sigmoid(i) * omega + (i_tilde - omega)
            new_c = f_hat * c + i_hat * torch.tanh(c_hat)
            new_h = torch.sigmoid(o) * torch.tanh(new_c)
            going = (t < lengths).unsqueeze(1)
            h, c = new_h.where(going, h), new_c.where(going, c)
        return h


def sequence_lstm(embedding: nn.Embedding, lstm: nn.LSTM, ids: Tensor, lengths: Tensor) -> Tensor:
    """(B, n), torch's own LSTM over packed sequences."""
    packed = nn.utils.rnn.pack_padded_sequence(embedding(ids), lengths, batch_first=True, enforce_sorted=False)
    return lstm(packed)[1][0][-1]


def kept_bytes(cell: TreeSMU, schedule: Schedule) -> int:
    """What a backward pass must keep of a training step in float32: states, and what the gates were before them."""
    n, p = cell.hidden_size, cell.stack_size
    bytes_ = 4 * len(schedule) * (n + p * n)
    for step in schedule.steps:
        gates = sum(cell.gates(step.arity or 1).values())
        bytes_ += 4 * (step.stop - step.start) * gates
    return bytes_ + 8 * math.prod(schedule.sources.shape)


class LiteralOrderedMemory(nn.Module):
    """Ordered Memory as the published program runs it (arXiv 1910.13466): every slot of every row at every step.

    ``like`` gives the weights: a :class:`dgltree.encoders.OrderedMemory` with the Gated Recursive Cell.
    """

    def __init__(self, like: Any, slots: int) -> None:
        super().__init__()
        self.slots, self.input, self.norm, self.attention = slots, like.input, like.norm, like.attention
        joined = torch.cat([like.cell.vertical.weight, like.cell.horizontal.weight], 1).detach()
        self.first, self.second = _linear(joined, like.cell.horizontal.bias.detach()), like.cell.second

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """(B, D), the last slot after the last word, from x (B, T, input) and lengths (B,)."""
        x = self.norm(self.input(x))
        rows, _, D = x.shape
        M = M_hat = x.new_zeros(rows, self.slots, D)
        pi, found = x.new_zeros(rows, self.slots), []
        for t, x_t in enumerate(x.unbind(1)):
            alpha = self.attention(self.attention.queries(x_t), M_hat, self.slots)
            p = allocate(alpha, pi, allowed_maximum=False) if t else torch.zeros_like(pi)
            left, pi = p.flip(1).cumsum(1).flip(1).unsqueeze(2), p.cumsum(1)
            M = M * (1 - left) + M_hat * left
            written, below = [], x_t
            for slot in range(self.slots):
                weight = pi[:, slot : slot + 1]
                below = x_t * (1 - weight) + self._cell(below, M[:, slot]) * weight
                written.append(below)
            M_hat = torch.stack(written, 1)
            found.append(below)
        return torch.stack(found, 1)[torch.arange(rows, device=x.device), lengths - 1]

    def _cell(self, h_1: Tensor, h_2: Tensor) -> Tensor:
        z = self.second(torch.relu(self.first(torch.cat([h_1, h_2], 1))))
        v, g, c, u = z.split(z.shape[1] // 4, 1)
        return self.norm(torch.sigmoid(v) * h_1 + torch.sigmoid(g) * h_2 + torch.sigmoid(c) * u)
