"""Random trees, the edge cases, every cell with its options, and the recursive oracle."""

import random
from collections.abc import Callable

import torch
from torch import Tensor

from dgltree import Tree, TreeBatch, Vocabulary
from dgltree.cells import Cell, StackTreeLSTM, TreeLSTM, TreeRNN, TreeSMU

WIDE = 12
FUNCTIONS = [("sin", 1), ("neg", 1), ("add", 2), ("pow", 2), ("if", 3)]
TOKENS = ["x", "y", "z", "1", "2", *(f"w{k}" for k in range(WIDE))]
VOCABULARY = Vocabulary([("var", 0), ("num", 0), *FUNCTIONS, ("call", WIDE)], TOKENS)
N = 5  # hidden size of the cells below

CELLS: dict[str, Callable[[], Cell]] = {
    "tree_rnn": lambda: TreeRNN(VOCABULARY, N),
    "tree_rnn, two layers": lambda: TreeRNN(VOCABULARY, N, layers=2),
    "tree_rnn, tanh, leaf network": lambda: TreeRNN(VOCABULARY, N, activation="tanh", leaf="network"),
    "tree_rnn, leaf gates": lambda: TreeRNN(VOCABULARY, N, layers=2, input_size=3, leaf="gates"),
    "tree_lstm": lambda: TreeLSTM(VOCABULARY, N),
    "tree_lstm, inputs": lambda: TreeLSTM(VOCABULARY, N, input_size=3),
    "tree_lstm, leaf gates": lambda: TreeLSTM(VOCABULARY, N, input_size=3, leaf="gates"),
    "stack_tree_lstm": lambda: StackTreeLSTM(VOCABULARY, N, stack_size=3),
    "stack_tree_lstm, no_op without pop": lambda: StackTreeLSTM(VOCABULARY, N, stack_size=3, no_op=True, pop=False),
    "tree_smu": lambda: TreeSMU(VOCABULARY, N, stack_size=4),
    "tree_smu, no_op": lambda: TreeSMU(VOCABULARY, N, stack_size=4, no_op=True),
    "tree_smu, one row": lambda: TreeSMU(VOCABULARY, N, stack_size=1, no_op=True),
    "tree_smu, data gate": lambda: TreeSMU(VOCABULARY, N, stack_size=3, no_op=True, data_gate=True),
    "tree_smu, top_k": lambda: TreeSMU(VOCABULARY, N, stack_size=4, top_k=3, no_op=True),
    "tree_smu, gated top_k": lambda: TreeSMU(VOCABULARY, N, stack_size=4, top_k=3, gated_top_k=True),
    "tree_smu, leaf gates": lambda: TreeSMU(VOCABULARY, N, stack_size=3, no_op=True, input_size=3, leaf="gates"),
}


def make_cell(name: str, seed: int = 0) -> Cell:
    """A cell in float64, drawn from a seed."""
    torch.manual_seed(seed)
    return CELLS[name]().double()


def leaf(rng: random.Random) -> Tree:
    token = rng.choice(TOKENS[:5])
    return Tree("num" if token.isdigit() else "var", token=token)


def random_tree(depth: int, arity: int, seed: int) -> Tree:
    """A tree of exactly this depth: a spine with small trees beside it, some objects shared."""
    rng = random.Random(seed)
    tree, others = leaf(rng), [leaf(rng)]
    for _ in range(depth):
        function, width = rng.choice([f for f in FUNCTIONS if f[1] <= arity])
        children = [rng.choice(others) if rng.random() < 0.3 else leaf(rng) for _ in range(width)]
        children[rng.randrange(width)] = tree
        if tree.depth < 3 or rng.random() < 0.05:
            others.append(tree)  # a later node may take the same object as a second child
        tree = Tree(function, children)
    return tree


def with_inner_tokens(tree: Tree) -> Tree:
    """Every inner node carries a token too, as in a dependency tree."""
    return tree.fold(lambda node, children: node.replace(children=children, token=node.token or TOKENS[len(children)]))


def chain(depth: int, function: str = "sin") -> Tree:
    tree = Tree("var", token="x")
    for _ in range(depth):
        tree = Tree(function, (tree,))
    return tree


def square() -> Tree:
    """x * x with one leaf object: two edges between the same nodes."""
    x = Tree("var", token="x")
    return Tree("pow", (x, x))


def braid(depth: int) -> Tree:
    """A DAG in which every node is both children of the next: depth nodes, 2^depth unfolded."""
    tree = Tree("var", token="y")
    for k in range(depth):
        tree = Tree("add" if k % 2 else "pow", (tree, tree))
    return tree


EDGE_CASES: dict[str, list[Tree]] = {
    "one node": [Tree("var", token="x")],
    "only leaves": [Tree("var", token="x"), Tree("num", token="1"), Tree("var", token="x")],
    "chain": [chain(30)],
    "wide node": [Tree("call", [leaf(random.Random(k)) for k in range(WIDE)])],
    "unary chains of mixed depth": [chain(7), chain(3, "neg"), chain(1)],
    "mixed depths": [random_tree(depth, 3, depth) for depth in (9, 0, 1, 5, 2)],
    "batch of one": [random_tree(4, 3, 1)],
    "same tree twice": [random_tree(4, 2, 3), random_tree(4, 2, 3)],
    "x*x": [square()],
    "braid": [braid(20)],
}


def recursion(cell: Cell, batch: TreeBatch) -> dict[str, Tensor]:
    """The oracle: one node at a time, children first, from the equations as they stand in the papers.

    Slow and obvious; it shares nothing with the engines but the parameters and their order within the packed rows.
    """
    n, states = cell.hidden_size, {}
    pointer, child = batch.child_ptr.tolist(), batch.child_index.tolist()
    for j in torch.argsort(batch.level, stable=True).tolist():
        children = [states[k] for k in child[pointer[j] : pointer[j + 1]]]
        f, arity, token = int(batch.function[j]), len(children), int(batch.token[j])
        if not children and cell.leaf != "gates":
            h = cell.embedding.weight[token]
            if cell.leaf == "network":
                h = torch.sigmoid(cell.leaf_layer.weight @ torch.sigmoid(h + cell.leaf_bias) + cell.leaf_layer.bias)
            states[j] = {part: h if part == "h" else h.new_zeros(shape) for part, shape in cell.state.items()}
            continue
        place = cell.position[f]
        i = torch.cat([c["h"] for c in children]) if children else cell.weight["0"].new_empty(0)
        pre = cell.weight[str(arity)][place] @ i + cell.bias[str(arity)][place]
        if cell.input_size is not None:
            x = batch.x[j] if batch.x is not None else None
            if x is None and token >= 0:
                x = cell.input_embedding.weight[token]
            if x is not None:
                pre = pre + cell.input_weight[str(arity)][place] @ x
        equations = {TreeRNN: _tree_rnn, TreeLSTM: _tree_lstm, StackTreeLSTM: _stack, TreeSMU: _stack}[type(cell)]
        rows = [pre[k : k + n] for k in range(0, len(pre) // n * n, n)]
        states[j] = equations(cell, rows, pre, children, place)
    return {part: torch.stack([states[j][part] for j in range(batch.num_nodes)]) for part in cell.state}


def _tree_rnn(cell, rows, pre, children, place):
    act = getattr(torch, cell.activation)
    h = act(pre)
    if cell.layers == 2:
        key = f"second_{len(children)}"
        h = act(cell.product_weight[key][place] @ h + cell.product_bias[key][place])
    return {"h": h}


def _tree_lstm(cell, rows, pre, children, place):
    u, gate_in, o, *forget = rows
    c = torch.sigmoid(gate_in) * torch.tanh(u)
    for f_k, child in zip(forget, children, strict=True):
        c = c + torch.sigmoid(f_k) * child["c"]
    return {"h": torch.sigmoid(o) * torch.tanh(c), "c": c}


def _stack(cell, rows, pre, children, place):
    p, n, k, arity = cell.stack_size, cell.hidden_size, cell.top_k, len(children)
    u, o, *rest = rows
    a = dict(zip(cell.actions, [torch.sigmoid(row) for row in rest], strict=False))
    rest = rest[len(cell.actions) :]
    if cell.normalize:
        total = sum(torch.exp(a_) for a_ in a.values())
        a = {name: torch.exp(a_) / total for name, a_ in a.items()}
    g, rest = [torch.sigmoid(row) for row in rest[:arity]], rest[arity:]
    u = torch.tanh(u)
    if cell.data_gate:
        u, rest = torch.sigmoid(rest[0]) * u, rest[1:]
    zero = torch.zeros(n, dtype=u.dtype)
    Sc = [sum((g_k * child["S"][r] for g_k, child in zip(g, children, strict=True)), zero) for r in range(p)]
    S = []
    for r in range(p):
        above, below = (u if r == 0 else Sc[r - 1]), (Sc[r + 1] if r + 1 < p else zero)
        S.append(a["push"] * above + a.get("pop", zero) * below + a.get("noop", zero) * Sc[r])
    if k == 1:
        read = S[0]
    else:
        q = [torch.sigmoid(row) for row in (rest if cell.gated_top_k else pre[len(pre) - k :])]
        read = sum(q[r] * S[r] for r in range(k))
    return {"h": torch.sigmoid(o) * torch.tanh(read), "S": torch.stack(S)}


def cotangents(states: dict[str, Tensor]) -> dict[str, Tensor]:
    """A fixed random cotangent on every node and state part."""
    generator = torch.Generator().manual_seed(12)
    return {
        part: torch.randn(tensor.shape, generator=generator, dtype=torch.float64)
        for part, tensor in sorted(states.items())
    }


def assert_close(found: Tensor, expected: Tensor, what: str, tolerance: float = 1e-10) -> None:
    """Relative to the largest expected entry; what the oracle has as 0 throughout must be 0 throughout."""
    found, expected = found.detach(), expected.detach()
    largest = float(expected.abs().max()) if expected.numel() else 0.0
    difference = float((found - expected).abs().max()) if expected.numel() else 0.0
    assert found.shape == expected.shape, what
    assert difference <= tolerance * largest, f"{what}: {difference:.2e} off, largest entry {largest:.2e}"
