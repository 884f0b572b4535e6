"""TreeBatch to DGLGraph and back: the only file that imports DGL, and only when called."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.vocabulary import NO_LABEL, NO_TOKEN, Vocabulary

if TYPE_CHECKING:
    import dgl


def to_dgl(
    edges: tuple[Tensor, Tensor], slot: Tensor, ndata: Mapping[str, Tensor], num_nodes: Tensor, num_edges: Tensor
) -> "dgl.DGLGraph":
    """One DGLGraph of a whole batch, made from its flat arrays (``dgl.batch`` of small graphs is far slower).

    Args:
        edges: (E,) int64 each, the children and their parents.
        slot: (E,) int64, the child's position among its siblings.
        ndata: (N, ...) each, the fields of the nodes.
        num_nodes, num_edges: (B,) int64, of each tree.
    """
    graph: dgl.DGLGraph = import_dgl().graph(edges, num_nodes=int(num_nodes.sum()))
    graph.edata["slot"] = slot
    graph.ndata.update(ndata)
    graph.set_batch_num_nodes(num_nodes)
    graph.set_batch_num_edges(num_edges)
    return graph


def import_dgl() -> Any:
    """The package. ``ModuleNotFoundError`` says what works without it."""
    os.environ.setdefault("DGLBACKEND", "pytorch")  # else DGL prints and writes a file in the user's home
    try:
        import dgl
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(_no_dgl(str(error)), name=error.name) from None
    return dgl


def _no_dgl(reason: str) -> str:
    """Why there is no DGL, and what does without."""
    own = ".".join(map(str, sys.version_info[:2]))
    help_ = (
        f"DGL has no wheels for Python {own}, only up to 3.11" if sys.version_info >= (3, 12) else "install dgl 1.1.3"
    )
    return f".graph needs DGL ({reason}); {help_}; everything else works without it: propagate, encoders, fit, ranking"


def columns_of(graph: "dgl.DGLGraph", reverse: bool = False) -> dict[str, Any]:
    """The fields of the batch of a user's DAG, its vocabulary aside; see :meth:`TreeBatch.from_graph`."""
    if graph.num_nodes() == 0:
        raise ValueError("an empty graph: give at least one node")
    if "function" not in graph.ndata:
        raise ValueError('the graph has no ndata["function"], (N,) ids of the functions')
    if graph.num_edges() and "slot" not in graph.edata:
        raise ValueError('the graph has no edata["slot"], (E,) positions of the children, from 0')
    ends = [end.long().cpu().numpy() for end in graph.edges()]
    child, parent = reversed(ends) if reverse else ends
    slot = _whole(graph.edata, "slot").cpu().numpy() if graph.num_edges() else np.empty(0, np.int64)
    n = graph.num_nodes()
    order = np.lexsort((slot, parent))
    child, parent, slot = child[order], parent[order], slot[order]
    pointer = np.concatenate(([0], np.cumsum(np.bincount(parent, minlength=n))))
    _check_slots(child, parent, slot, pointer)
    device = graph.device

    def column(name: str, missing: int) -> Tensor:
        return _whole(graph.ndata, name) if name in graph.ndata else torch.full((n,), missing, device=device)

    is_root = np.ones(n, bool)
    is_root[child] = False
    value, x = graph.ndata.get("value"), graph.ndata.get("x")
    words = x is not None and _are_words(x, "token" in graph.ndata)
    return {
        "function": _whole(graph.ndata, "function"),
        "token": column("x" if words else "token", NO_TOKEN),
        "child_ptr": torch.from_numpy(pointer).to(device),
        "child_index": torch.from_numpy(child).to(device),
        "level": torch.from_numpy(levels(child, parent, n)).to(device),
        "roots": torch.from_numpy(np.flatnonzero(is_root)).to(device),
        "sizes": _sizes(graph, child, parent, np.flatnonzero(is_root)).to(device),
        "label": _labels(graph, device),
        "value": None if value is None else value.double(),
        "x": None if words else x,
    }


def _are_words(x: Tensor, tokens: bool) -> bool:
    """Whether ``x`` has ids of words, (N,), and not vectors. ``ValueError`` for neither, and for words twice."""
    if x.is_floating_point() and x.dim() == 2:
        return False
    if x.dim() != 1 or x.is_floating_point() or x.dtype == torch.bool:
        raise ValueError(
            f'the graph\'s "x" has shape {tuple(x.shape)} and is {x.dtype}; it must be (N, d) input vectors of '
            "floating-point numbers, or (N,) whole numbers of tokens, -1 for none"
        )
    if tokens:
        raise ValueError('the graph\'s "x" and "token" are both numbers of tokens; give one, graph.ndata.pop("x")')
    return True


def _labels(graph: "dgl.DGLGraph", device: torch.device) -> Tensor:
    """(N,) int64. ``ValueError`` for numbers: read as class numbers, all of them would be "no label"."""
    if "label" not in graph.ndata:
        return torch.full((graph.num_nodes(),), NO_LABEL, device=device)
    label = graph.ndata["label"]
    if label.is_floating_point():
        raise ValueError(
            f'the graph\'s "label" is {label.dtype}; labels of a batch are class numbers, such as torch.int64: keep '
            'what a regression predicts under another name, graph.ndata["target"] = graph.ndata.pop("label")'
        )
    return label.long()


def _whole(data: Mapping[str, Tensor], name: str) -> Tensor:
    """A field of numbers that count or number something; ``ValueError`` for one of another dtype."""
    if data[name].is_floating_point() or data[name].dtype == torch.bool:
        raise ValueError(f"the graph's {name!r} is {data[name].dtype}; it must be whole numbers, such as torch.int64")
    return data[name].long()


def _sizes(graph: "dgl.DGLGraph", child: np.ndarray, parent: np.ndarray, roots: np.ndarray) -> Tensor:
    """(B,) int64, nodes of each tree. DGL's files do not keep them. They are counted again if a graph claims to be
    one, but consists of several, one after the other, each with its root."""
    said = graph.batch_num_nodes().long()
    if len(said) > 1 or len(roots) == 1:
        return said
    n = graph.num_nodes()
    spans = np.zeros(n + 1, np.int64)  # of the cut before each node: the edges over it
    np.add.at(spans, np.minimum(child, parent) + 1, 1)
    np.add.at(spans, np.maximum(child, parent) + 1, -1)
    begins = np.flatnonzero(np.cumsum(spans)[:n] == 0)
    if not np.array_equal(np.searchsorted(begins, roots, side="right"), np.arange(1, len(begins) + 1)):
        return said
    return torch.from_numpy(np.diff(np.append(begins, n)))


def _check_slots(child: np.ndarray, parent: np.ndarray, slot: np.ndarray, pointer: np.ndarray) -> None:
    """Edges sorted by (parent, slot) must count 0, 1, ... for every parent. In trees whose edges lead from
    parents to children, no node has two edges that end in it.
    """
    wrong = np.flatnonzero(slot != np.arange(len(slot)) - pointer[parent])
    if not len(wrong):
        return
    e = int(wrong[0])
    if e and parent[e] == parent[e - 1] and slot[e] == slot[e - 1]:
        raise ValueError(f"node {parent[e]} has two children in slot {slot[e]}")
    expected = e - int(pointer[parent[e]])
    message = f"node {parent[e]} has a child in slot {slot[e]} but none in slot {expected}"
    if np.bincount(parent).max() == 1 and np.bincount(child).max() > 1:
        message += "; edges lead from children to parents: if these lead from parents to children, give reverse=True"
    raise ValueError(message)


def levels(child: np.ndarray, parent: np.ndarray, n: int) -> np.ndarray:
    """(n,) int64: 0 for nodes without children, else one more than the highest child. ``ValueError`` for a cycle."""
    by_child = np.argsort(child, kind="stable")
    out_ptr = np.concatenate(([0], np.cumsum(np.bincount(child, minlength=n))))
    waiting = np.bincount(parent, minlength=n)
    level = np.zeros(n, np.int64)
    frontier = np.flatnonzero(waiting == 0)
    depth = 0
    while len(frontier):
        level[frontier] = depth
        starts, counts = out_ptr[frontier], np.diff(out_ptr)[frontier]
        inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        above, finished = np.unique(parent[by_child[np.repeat(starts, counts) + inside]], return_counts=True)
        waiting[above] -= finished
        frontier = above[waiting[above] == 0]
        depth += 1
    if waiting.any():
        raise ValueError(f"the graph has a cycle through node {_on_cycle(child, parent, waiting)}; a DAG is needed")
    return level


def _on_cycle(child: np.ndarray, parent: np.ndarray, waiting: np.ndarray) -> int:
    """A node on a cycle: from any node still waiting, walk to children that wait until one comes back."""
    stuck = (waiting[parent] > 0) & (waiting[child] > 0)
    below = dict(zip(parent[stuck].tolist(), child[stuck].tolist(), strict=True))
    node, seen = next(iter(below)), set[int]()
    while node not in seen:
        seen.add(node)
        node = below[node]
    return node


# ---------------------------------------------------------------------------------------------------------------------
# Heterographs of DGL to batches of trees and back: node types are functions, edge types are positions.


MISSING: dict[str, float] = {"token": NO_TOKEN, "label": NO_LABEL, "value": float("nan"), "x": 0}
"""A field of the nodes to what the nodes of a type get that lacks it."""


def has_types(graph: "dgl.DGLGraph") -> bool:
    """Whether functions are node types: several types, or one that has a name and no ``function``."""
    several = len(graph.ntypes) > 1 or len(graph.canonical_etypes) > 1
    return several or (graph.ntypes != ["_N"] and "function" not in graph.ndata)


def without_types(
    graph: "dgl.DGLGraph", vocabulary: Vocabulary | None, positions: Sequence[str] | None, reverse: bool
) -> tuple["dgl.DGLGraph", Vocabulary]:
    """The same nodes and edges, child to parent, in a graph of one type, tree after tree, in each type after type; and
    its vocabulary."""
    sizes = {name: graph.batch_num_nodes(name) for name in graph.ntypes}
    tree = torch.cat([_owners(each) for each in sizes.values()])
    order = tree.argsort(stable=True)
    number = torch.empty_like(order).index_copy(0, order, torch.arange(len(order), device=graph.device))
    rows = dict(zip(graph.ntypes, number.split([graph.num_nodes(name) for name in graph.ntypes]), strict=True))
    child, parent, slot = [], [], []
    for source, position, target in graph.canonical_etypes:
        kind = source, position, target
        ends = graph.edges(etype=kind)
        child.append(rows[source][ends[0].long()])
        parent.append(rows[target][ends[1].long()])
        given = graph.edges[kind].data.get("slot")
        slot.append(torch.full_like(child[-1], _slot(position, positions)) if given is None else given)
    children, parents = torch.cat(child), torch.cat(parent)
    if reverse:
        children, parents = parents, children
    arity = torch.bincount(parents, minlength=len(order))
    function, vocabulary = _functions(graph, {name: arity[rows[name]].tolist() for name in rows}, vocabulary)
    columns = {name: _column(graph, name) for name in MISSING}
    ndata = {"function": function, **{name: column for name, column in columns.items() if column is not None}}
    ndata = {name: column[order] for name, column in ndata.items()}
    num_nodes = torch.stack([*sizes.values()]).sum(0)
    num_edges = torch.bincount(tree[order][parents], minlength=graph.batch_size)
    return to_dgl((children, parents), torch.cat(slot), ndata, num_nodes, num_edges), vocabulary


def _owners(sizes: Tensor) -> Tensor:
    return torch.repeat_interleave(torch.arange(len(sizes), device=sizes.device), sizes)


def _slot(position: str, positions: Sequence[str] | None) -> int:
    if positions is not None and position in positions:
        return list(positions).index(position)
    if positions is None and position.isdecimal():
        return int(position)
    raise ValueError(
        f'the edge type {position!r} is not a position: name edge types "0", "1", ..., give positions=, their names in '
        'order, or edata["slot"]'
    )


def _functions(
    graph: "dgl.DGLGraph", arities: Mapping[str, list[int]], vocabulary: Vocabulary | None
) -> tuple[Tensor, Vocabulary]:
    """(N,) int64, ids of functions, type after type; of a vocabulary that is made of the types if there is none."""
    functions = sorted({(name, arity) for name, each in arities.items() for arity in each})
    if vocabulary is None:
        data = [graph.nodes[name].data for name in graph.ntypes]
        given = [each[field] for each in data for field in ("token", "x") if field in each]
        tokens = [each for each in given if each.dim() == 1]  # x of vectors has two
        count = int(torch.cat(tokens).max()) + 1 if tokens else 0
        vocabulary = Vocabulary(functions, map(str, range(count)))
    ids = {function: vocabulary.function_id(*function) for function in functions}
    numbers = [ids[name, arity] for name, each in arities.items() for arity in each]
    return torch.tensor(numbers, device=graph.device), vocabulary


def _column(graph: "dgl.DGLGraph", name: str) -> Tensor | None:
    """(N, ...) of a field, type after type; vectors are as wide as the widest, with 0 at the end of others."""
    given = {kind: graph.nodes[kind].data[name] for kind in graph.ntypes if name in graph.nodes[kind].data}
    if not given:
        return None
    like = max(given.values(), key=lambda column: column.shape[1:])
    absent = NO_TOKEN if name == "x" and like.dim() == 1 else MISSING[name]
    parts = []
    for kind in graph.ntypes:
        rows = like.new_full((graph.num_nodes(kind), *like.shape[1:]), absent)
        if (column := given.get(kind)) is not None:
            missing = [0, like.shape[1] - column.shape[1]] if like.dim() == 2 else []
            rows = torch.nn.functional.pad(column, missing)
        parts.append(rows)
    return torch.cat(parts)


def with_types(batch: Any, ndata: Mapping[str, Tensor], positions: Sequence[str] | None) -> "dgl.DGLGraph":
    """The heterograph of a batch that has a vocabulary; see :meth:`dgltree.TreeBatch.to_heterograph`."""
    names, trees = [name for name, _ in batch.vocabulary.functions], len(batch.sizes)
    kinds = sorted({names[k] for k in batch.function.unique().tolist()})
    numbers = [kinds.index(name) if name in kinds else -1 for name in names]
    kind = torch.tensor(numbers, device=batch.device)[batch.function]
    nodes = {name: torch.nonzero(kind == k).squeeze(1) for k, name in enumerate(kinds)}
    place = torch.empty_like(kind)
    for rows in nodes.values():
        place[rows] = torch.arange(len(rows), device=batch.device)
    child, parent, tree = batch.child_index, batch.parent_index, _owners(batch.sizes)
    types, of_edge = torch.stack([kind[child], batch.slot, kind[parent]], 1).unique(dim=0, return_inverse=True)
    edges, counts = {}, {}
    for k, (source, slot, target) in enumerate(types.tolist() or [[0, 0, 0]]):
        among = torch.nonzero(of_edge == k).squeeze(1)
        key = kinds[source], str(slot) if positions is None else positions[slot], kinds[target]
        edges[key] = place[child[among]], place[parent[among]]
        counts[key] = torch.bincount(tree[parent[among]], minlength=trees)
    graph = import_dgl().heterograph(edges, {name: len(rows) for name, rows in nodes.items()})
    graph.set_batch_num_nodes({name: torch.bincount(tree[rows], minlength=trees) for name, rows in nodes.items()})
    graph.set_batch_num_edges(counts)
    columns = {name: column for name in MISSING if (column := getattr(batch, name)) is not None}
    for name, rows in nodes.items():
        graph.nodes[name].data.update({field: column[rows] for field, column in {**columns, **ndata}.items()})
    return graph
