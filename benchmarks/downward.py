"""Both sweeps over batches of trees, up and down, against recursion and DGL, and the way down next to the way up."""

import importlib.util
import warnings
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from benchmarks.inputs import equations
from benchmarks.propagate import squared_step
from benchmarks.row import Row, Skipped, against, in_turn
from dgltree import Tree, TreeBatch, Vocabulary, batch, plan, propagate
from dgltree.cells import DownwardTreeLSTM, TreeLSTM
from dgltree.engine.contract import State

RECURSIVE = 8
"""Equations that recursion is timed on: a batch is no faster than its equations one by one."""


def rows(device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The rows of the suite."""
    size = 256
    known = equations(size)
    sides = [side for equation in known for side in equation]
    vocabulary = Vocabulary.from_trees(sides)
    up, down = TreeLSTM(vocabulary, 50).to(device), DownwardTreeLSTM(vocabulary, 50).to(device)
    both = nn.ModuleDict({"up": up, "down": down})
    trees = batch(sides, vocabulary).to(device)
    planned = plan(trees, up, downward=down)
    recursive = TwoSweeps(up, down).to(device)
    few = sides[: 2 * RECURSIVE]
    steps: dict[str, Callable[[], object]] = {
        "ours": squared_step(both, lambda: _states(up, down, planned)),
        "way up": squared_step(up, lambda: propagate(planned, up)["h"]),
        "recursion": squared_step(recursive, lambda: torch.cat([recursive(tree) for tree in few])),
    }
    if importlib.util.find_spec("dgl") and device == "cpu":
        steps["dgl"] = squared_step(both, lambda: _by_dgl(up, down, trees))
    times = in_turn(steps, repeats, device)
    work = {"equations": size / times["ours"].median, "nodes": trees.num_nodes / times["ours"].median}
    name = f"Tree-LSTM n=50 up and down, training, {size} equations"
    yield against(name, "recursion", times, size / RECURSIVE, work=work)
    if "dgl" in steps:
        yield against(name, "dgl", times)
    else:
        yield Skipped(f"{name}, against DGL", "DGL is not installed, or this is no CPU")
    row = against(f"{name}, next to the way up alone", "way up", times, falling=True)
    row.ratio, row.unit = 1 / row.ratio, "times the way up"
    yield row


def _states(up: TreeLSTM, down: DownwardTreeLSTM, planned: object) -> Tensor:
    states: State = propagate(planned, up)  # type: ignore[arg-type]
    return propagate(planned, down, direction="down", up=states)["h"]  # type: ignore[arg-type]


def _by_dgl(up: TreeLSTM, down: DownwardTreeLSTM, trees: TreeBatch) -> Tensor:
    """``dgl.prop_nodes_topo`` on the graph, and on the reversed one; the first is made beforehand."""
    import dgl

    graph = trees.graph
    up.prepare(graph)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The input graph for the user-defined edge function")
        dgl.prop_nodes_topo(graph, up.message_func, up.reduce_func, apply_node_func=up.apply_node_func)
        reverse = dgl.reverse(graph, copy_ndata=True, copy_edata=True)
        down.prepare(reverse, {part: graph.ndata[part] for part in up.state})
        dgl.prop_nodes_topo(reverse, down.message_func, down.reduce_func, apply_node_func=down.apply_node_func)
    found: Tensor = reverse.ndata["h"]
    return found


class TwoSweeps(nn.Module):
    """Both sweeps by plain recursion, one node and one gate at a time; its weights are those of our cells."""

    def __init__(self, up: TreeLSTM, down: DownwardTreeLSTM) -> None:
        super().__init__()
        self.vocabulary, self.n = up.vocabulary, up.hidden_size
        self.embedding = nn.Embedding.from_pretrained(up.embedding.weight.detach().cpu().clone(), freeze=False)
        self.up, self.down, self.own = nn.ModuleDict(), nn.ModuleDict(), nn.ModuleList()
        for function, (_, arity) in enumerate(up.vocabulary.functions):
            own = down.named_maps()["input_any"].weight[down.named_maps()["input_any"].position[function]]
            self.own.append(self._gates(own, None))
            if not arity:
                continue
            packed = up.named_maps()[f"gates_{arity}"]
            at = packed.position[function]
            assert packed.bias is not None
            self.up[str(function)] = self._gates(packed.weight[at], packed.bias[at])
            for slot in range(arity):
                messages = down.named_maps()["gates_any"]
                kind = int(down.place[function]) + slot
                assert messages.bias is not None
                self.down[f"{function} {slot}"] = self._gates(messages.weight[kind], messages.bias[kind])

    def _gates(self, weight: Tensor, bias: Tensor | None) -> nn.ModuleList:
        """A linear map for each gate."""
        made = nn.ModuleList()
        for k in range(0, len(weight), self.n):
            linear = nn.Linear(weight.shape[1], self.n, bias=bias is not None)
            with torch.no_grad():
                linear.weight.copy_(weight[k : k + self.n])
                if bias is not None:
                    linear.bias.copy_(bias[k : k + self.n])
            made.append(linear)
        return made

    def forward(self, tree: Tree) -> Tensor:
        """(N, n), the downward h of the nodes in preorder."""
        states: dict[int, tuple[Tensor, Tensor]] = {}
        h, c = self._upwards(tree, states)
        found: list[Tensor] = []
        self._downwards(tree, h, c, states, found)
        return torch.stack(found)

    def _upwards(self, tree: Tree, states: dict[int, tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        if not tree.children:
            h = self.embedding.weight[self.vocabulary.token_id(str(tree.token))]
            c = torch.zeros_like(h)
        else:
            children = [self._upwards(child, states) for child in tree.children]
            i = torch.cat([h for h, _ in children])
            u, in_, o, *f = (gate(i) for gate in self._of(self.up, str(self._function(tree))))
            c = torch.sigmoid(in_) * torch.tanh(u)
            for f_k, (_, c_k) in zip(f, children, strict=True):
                c = c + torch.sigmoid(f_k) * c_k
            h = torch.sigmoid(o) * torch.tanh(c)
        states[id(tree)] = h, c
        return h, c

    def _downwards(
        self, tree: Tree, h: Tensor, c: Tensor, states: dict[int, tuple[Tensor, Tensor]], found: list[Tensor]
    ) -> None:
        found.append(h)
        for slot, child in enumerate(tree.children):
            own = self.own[self._function(child)]
            message = self._of(self.down, f"{self._function(tree)} {slot}")
            pairs = zip(message, own, strict=True)  # type: ignore[arg-type]
            u, in_, o, f = (gate(h) + of_child(states[id(child)][0]) for gate, of_child in pairs)
            c_j = torch.sigmoid(in_) * torch.tanh(u) + torch.sigmoid(f) * c
            self._downwards(child, torch.sigmoid(o) * torch.tanh(c_j), c_j, states, found)

    def _of(self, gates: nn.ModuleDict, key: str) -> nn.ModuleList:
        found = gates[key]
        assert isinstance(found, nn.ModuleList)
        return found

    def _function(self, tree: Tree) -> int:
        return self.vocabulary.function_id(tree.function, len(tree.children))
