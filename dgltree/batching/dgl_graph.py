"""TreeBatch to DGLGraph and back: the only file that imports DGL, and only when called."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.run_lengths import offsets, ranges
from dgltree.batching.vocabulary import NO_LABEL, NO_TOKEN, Vocabulary

if TYPE_CHECKING:
    import dgl


def to_dgl(
    edges: tuple[Tensor, Tensor],
    slot: Tensor,
    ndata: Mapping[str, Tensor],
    num_nodes: Tensor,
    num_edges: Tensor,
) -> "dgl.DGLGraph":
    """One DGLGraph of a whole batch, made from its flat arrays (``dgl.batch`` of small graphs is far slower).

    Args:
        edges: (E,) int64 each, the children and their parents.
        slot: (E,) int64, the child's position among its siblings.
        ndata: (N, ...) each, the fields of the nodes.
        num_nodes, num_edges: (B,) int64, of each tree.
    """
    graph = import_dgl().graph(edges, num_nodes=int(num_nodes.sum()))
    graph.edata["slot"] = slot
    graph.ndata.update(ndata)
    graph.set_batch_num_nodes(num_nodes)
    graph.set_batch_num_edges(num_edges)
    return graph


def import_dgl() -> Any:
    """The package dgl. Raises ``ModuleNotFoundError``, which says what works without it."""
    os.environ.setdefault("DGLBACKEND", "pytorch")  # else DGL prints and writes a file in the user's home
    try:
        import dgl
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(_no_dgl(str(error)), name=error.name) from None
    return dgl


def _no_dgl(reason: str) -> str:
    """Why there is no DGL, and what does without."""
    advice = "install dgl 1.1.3"
    if sys.version_info >= (3, 12):
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        advice = f"DGL has no wheels for Python {version}, only up to 3.11"
    return f".graph needs DGL ({reason}); {advice}; everything else works without it: propagate, encoders, fit, ranking"


def columns_of(graph: "dgl.DGLGraph", reverse: bool = False) -> dict[str, Any]:
    """The fields of the batch of a user's DAG, its vocabulary aside; see :meth:`TreeBatch.from_graph`."""
    if graph.num_nodes() == 0:
        raise ValueError("an empty graph: give at least one node")
    if "function" not in graph.ndata:
        raise ValueError('the graph has no ndata["function"]; give (N,) function ids')
    n = graph.num_nodes()
    device = graph.device
    sources, targets = graph.edges()
    if reverse:
        sources, targets = targets, sources
    child = sources.long().cpu().numpy()
    parent = targets.long().cpu().numpy()
    slot = np.arange(len(child))  # children in the order of their edges, as DGL sorts a mailbox
    if "slot" in graph.edata:
        slot = _whole(graph.edata, "slot").cpu().numpy()
    order = np.lexsort((slot, parent))
    child = child[order]
    parent = parent[order]
    pointer = offsets(np.bincount(parent, minlength=n))
    if "slot" in graph.edata:
        _check_slots(child, parent, slot[order], pointer)
    elif _seem_reversed(child, parent):
        raise ValueError(
            "no node has two children, and some have several parents: if edges lead from parents to children, give "
            'reverse=True, else edata["slot"], (E,) positions of the children, from 0'
        )
    is_root = np.ones(n, bool)
    is_root[child] = False
    roots = np.flatnonzero(is_root)

    token = torch.full((n,), NO_TOKEN, device=device)
    x = graph.ndata.get("x")
    if x is not None and _are_words(x, "token" in graph.ndata):
        token = _whole(graph.ndata, "x")
        x = None
    elif "token" in graph.ndata:
        token = _whole(graph.ndata, "token")
    value = graph.ndata.get("value")
    if value is not None:
        value = value.double()
    return {
        "function": _whole(graph.ndata, "function"),
        "token": token,
        "child_ptr": torch.from_numpy(pointer).to(device),
        "child_index": torch.from_numpy(child).to(device),
        "level": torch.from_numpy(levels(child, parent, n)).to(device),
        "roots": torch.from_numpy(roots).to(device),
        "sizes": _sizes(graph, child, parent, roots).to(device),
        "label": _labels(graph, device),
        "value": value,
        "x": x,
    }


def _are_words(x: Tensor, tokens: bool) -> bool:
    """Whether ``x`` has ids of words, (N,), and not vectors. ``ValueError`` for neither, and for words twice."""
    if x.is_floating_point() and x.dim() == 2:
        return False
    is_whole = not x.is_floating_point() and x.dtype != torch.bool
    if x.dim() != 1 or not is_whole:
        raise ValueError(
            f'the graph\'s "x" has shape {tuple(x.shape)} and is {x.dtype}; it must be (N, d) floating-point '
            "input vectors, or (N,) token ids, -1 for no token"
        )
    if tokens:
        raise ValueError('the graph\'s "x" and "token" both hold token ids; remove one, graph.ndata.pop("x")')
    return True


def _labels(graph: "dgl.DGLGraph", device: torch.device) -> Tensor:
    """(N,) int64, class numbers. Raises ``ValueError`` for other numbers, of which nearly all would be "no label"."""
    if "label" not in graph.ndata:
        y = graph.ndata.get("y")
        if y is None or not _are_classes(y):
            return torch.full((graph.num_nodes(),), NO_LABEL, device=device)
        classes = y.long()
        return classes.where(classes >= 0, NO_LABEL)
    label = graph.ndata["label"]
    if label.is_floating_point():
        raise ValueError(
            f'the graph\'s "label" is {label.dtype}; labels of a batch must be class numbers, such as torch.int64: '
            'rename regression targets, graph.ndata["target"] = graph.ndata.pop("label")'
        )
    return label.long()


def _are_classes(y: Tensor) -> bool:
    """Whether a field that a user named ``y`` has class numbers, (N,), and not what a regression predicts."""
    is_whole = not y.is_floating_point() and y.dtype != torch.bool
    return is_whole and y.dim() == 1


def _whole(data: Mapping[str, Tensor], name: str) -> Tensor:
    """(N,) int64, a field of numbers that count or number something. Raises ``ValueError`` for one of other numbers."""
    column = data[name]
    if column.is_floating_point() or column.dtype == torch.bool:
        raise ValueError(f"the graph's {name!r} is {column.dtype}; it must be whole numbers, such as torch.int64")
    return column.long()


def _sizes(
    graph: "dgl.DGLGraph",
    child: np.ndarray,
    parent: np.ndarray,
    roots: np.ndarray,
) -> Tensor:
    """(B,) int64, nodes of each tree.

    DGL's files do not keep them. They are counted again if a graph claims to be one, but consists of several, one after
    the other, each with its root.
    """
    given = graph.batch_num_nodes().long()
    if len(given) > 1 or len(roots) == 1:
        return given
    # A tree may begin at a node if no edge joins a node before it with it or one after it. The edges over each such
    # cut are counted by what each edge adds at its lower end and takes away at its upper one.
    n = graph.num_nodes()
    changes = np.zeros(n + 1, np.int64)
    lower = np.minimum(child, parent)
    upper = np.maximum(child, parent)
    np.add.at(changes, lower + 1, 1)
    np.add.at(changes, upper + 1, -1)
    edges_over_cut = np.cumsum(changes)[:n]
    starts = np.flatnonzero(edges_over_cut == 0)
    tree_of_root = np.searchsorted(starts, roots, side="right") - 1
    each_once = np.arange(len(starts))
    if not np.array_equal(tree_of_root, each_once):
        return given
    return torch.from_numpy(np.diff(np.append(starts, n)))


def _check_slots(
    child: np.ndarray,
    parent: np.ndarray,
    slot: np.ndarray,
    pointer: np.ndarray,
) -> None:
    """Raise ``ValueError`` unless edges sorted by (parent, slot) count 0, 1, ... for every parent."""
    expected = np.arange(len(slot)) - pointer[parent]
    wrong = np.flatnonzero(slot != expected)
    if not len(wrong):
        return
    edge = int(wrong[0])
    node = parent[edge]
    is_first = expected[edge] == 0
    if not is_first and slot[edge] < expected[edge]:  # the edges are sorted, so it is that of the edge before
        raise ValueError(f"node {node} has two children in slot {slot[edge]}")
    message = f"node {node} has a child in slot {slot[edge]}"
    message += f" but no child in slot {expected[edge]}"
    if _seem_reversed(child, parent):
        message += (
            "; edges must lead from children to parents: if your edges lead from parents to children, give reverse=True"
        )
    raise ValueError(message)


def _seem_reversed(child: np.ndarray, parent: np.ndarray) -> bool:
    """Whether edges seem to lead from parents to children: in such trees no node has two edges that end in it."""
    return len(child) > 0 and np.bincount(parent).max() == 1 and np.bincount(child).max() > 1


def levels(
    child: np.ndarray,
    parent: np.ndarray,
    n: int,
) -> np.ndarray:
    """(n,) int64: 0 for nodes without children, else one more than the highest child. ``ValueError`` for a cycle."""
    # The parents of each node, as lists one after another.
    parent_counts = np.bincount(child, minlength=n)
    parent_ptr = offsets(parent_counts)
    parent_index = parent[np.argsort(child, kind="stable")]
    missing_children = np.bincount(parent, minlength=n)
    level = np.zeros(n, np.int64)
    frontier = np.flatnonzero(missing_children == 0)
    height = 0
    while len(frontier):
        level[frontier] = height
        edges = ranges(parent_ptr[frontier], parent_counts[frontier])
        parents, finished_children = np.unique(parent_index[edges], return_counts=True)
        missing_children[parents] -= finished_children
        frontier = parents[missing_children[parents] == 0]
        height += 1
    if missing_children.any():
        node = _on_cycle(child, parent, missing_children > 0)
        raise ValueError(f"the graph has a cycle through node {node}; a DAG is needed")
    return level


def _on_cycle(
    child: np.ndarray,
    parent: np.ndarray,
    waits: np.ndarray,
) -> int:
    """A node on a cycle. A node that waits has a child that waits: walk down until a node comes again."""
    stuck = waits[parent] & waits[child]
    parents = parent[stuck].tolist()
    children = child[stuck].tolist()
    waiting_child = dict(zip(parents, children, strict=True))
    node = next(iter(waiting_child))
    visited = set[int]()
    while node not in visited:
        visited.add(node)
        node = waiting_child[node]
    return node


# ---------------------------------------------------------------------------------------------------------------------
# Heterographs of DGL to batches of trees and back: node types are functions, edge types are positions.


MISSING: dict[str, float] = {"token": NO_TOKEN, "label": NO_LABEL, "value": float("nan"), "x": 0}
"""A field of the nodes to what the nodes of a type get that lacks it."""


def has_types(graph: "dgl.DGLGraph") -> bool:
    """Whether functions are node types: several types, or one that has a name and no ``function``."""
    if len(graph.ntypes) > 1:
        return True
    if len(graph.canonical_etypes) > 1:
        return True
    return graph.ntypes != ["_N"] and "function" not in graph.ndata


def without_types(
    graph: "dgl.DGLGraph",
    vocabulary: Vocabulary | None,
    positions: Sequence[str] | None,
    reverse: bool,
) -> tuple["dgl.DGLGraph", Vocabulary]:
    """The nodes and edges of a heterograph, child to parent, in a graph of one type, and its vocabulary.

    Nodes are numbered tree after tree, in each tree type after type.
    """
    # DGL has the nodes type after type, in each type tree after tree: a stable sort by tree gives our order.
    sizes = [graph.batch_num_nodes(name) for name in graph.ntypes]
    tree = torch.cat([_tree_of_node(type_sizes) for type_sizes in sizes])
    order = tree.argsort(stable=True)
    new_number = torch.empty_like(order)
    new_number[order] = torch.arange(len(order), device=graph.device)
    numbers_by_type = new_number.split([graph.num_nodes(name) for name in graph.ntypes])
    numbers = dict(zip(graph.ntypes, numbers_by_type, strict=True))

    children = []
    parents = []
    slots = []
    for edge_type in graph.canonical_etypes:
        source, position, target = edge_type
        source_rows, target_rows = graph.edges(etype=edge_type)
        children.append(numbers[source][source_rows.long()])
        parents.append(numbers[target][target_rows.long()])
        slot = graph.edges[edge_type].data.get("slot")
        if slot is None:
            slot = torch.full_like(children[-1], _slot(position, positions))
        slots.append(slot)
    child = torch.cat(children)
    parent = torch.cat(parents)
    if reverse:
        child, parent = parent, child

    arity = torch.bincount(parent, minlength=len(order))
    arities = {name: arity[numbers[name]].tolist() for name in graph.ntypes}
    function, vocabulary = _functions(graph, arities, vocabulary)
    ndata = {"function": function[order]}
    for name in (*MISSING, "y"):
        column = _column(graph, name)
        if column is not None:
            ndata[name] = column[order]
    num_nodes = torch.stack(sizes).sum(0)
    num_edges = torch.bincount(tree[order][parent], minlength=graph.batch_size)
    single = to_dgl(
        (child, parent),
        torch.cat(slots),
        ndata,
        num_nodes,
        num_edges,
    )
    return single, vocabulary


def _tree_of_node(sizes: Tensor) -> Tensor:
    """(N,) int64, for each node its tree, of trees of these sizes (B,)."""
    return torch.repeat_interleave(torch.arange(len(sizes), device=sizes.device), sizes)


def _slot(position: str, positions: Sequence[str] | None) -> int:
    """The child index that an edge type names."""
    if positions is not None and position in positions:
        return list(positions).index(position)
    if positions is None and position.isdecimal():
        return int(position)
    raise ValueError(
        f'the edge type {position!r} is not a child index: name the edge types "0", "1", ..., list the names in order '
        'as positions=..., or give edata["slot"]'
    )


def _functions(
    graph: "dgl.DGLGraph",
    arities: Mapping[str, list[int]],
    vocabulary: Vocabulary | None,
) -> tuple[Tensor, Vocabulary]:
    """(N,) int64, ids of functions, type after type; of a vocabulary that is made of the types if there is none.

    ``arities`` has for each type a number of children per node.
    """
    keys = []
    for name, type_arities in arities.items():
        keys += [(name, arity) for arity in type_arities]
    functions = sorted(set(keys))
    if vocabulary is None:
        tokens = range(_count_tokens(graph))
        vocabulary = Vocabulary(functions, map(str, tokens))
    ids = {function: vocabulary.function_id(*function) for function in functions}
    function = torch.tensor([ids[key] for key in keys], device=graph.device)
    return function, vocabulary


def _count_tokens(graph: "dgl.DGLGraph") -> int:
    """One more than the largest token id of a heterograph."""
    count = 0
    for node_type in graph.ntypes:
        data = graph.nodes[node_type].data
        for name in ("token", "x"):
            ids = data.get(name)
            if ids is None or ids.dim() != 1:  # an x of vectors has two dimensions
                continue
            if len(ids):
                count = max(count, int(ids.max()) + 1)
    return count


def _column(graph: "dgl.DGLGraph", name: str) -> Tensor | None:
    """(N, ...) of a field, type after type; vectors are as wide as the widest, with 0 at the end of others."""
    columns = {}
    for node_type in graph.ntypes:
        if name in graph.nodes[node_type].data:
            columns[node_type] = graph.nodes[node_type].data[name]
    if not columns:
        return None
    if name == "y" and not all(map(_are_classes, columns.values())):
        return None
    widest = max(columns.values(), key=lambda column: column.shape[1:])
    are_words = name == "x" and widest.dim() == 1
    absent = NO_TOKEN if are_words else MISSING.get(name, NO_LABEL)
    parts = []
    for node_type in graph.ntypes:
        column = columns.get(node_type)
        if column is None:
            shape = (graph.num_nodes(node_type), *widest.shape[1:])
            column = widest.new_full(shape, absent)
        elif widest.dim() == 2:
            missing = widest.shape[1] - column.shape[1]
            column = torch.nn.functional.pad(column, [0, missing])
        parts.append(column)
    return torch.cat(parts)


def with_types(
    batch: Any,
    ndata: Mapping[str, Tensor],
    positions: Sequence[str] | None,
) -> "dgl.DGLGraph":
    """The heterograph of a batch that has a vocabulary; see :meth:`dgltree.TreeBatch.to_heterograph`."""
    function_names = [name for name, _ in batch.vocabulary.functions]
    node_types = sorted({function_names[number] for number in batch.function.unique().tolist()})
    numbers = {name: k for k, name in enumerate(node_types)}
    type_numbers = [numbers.get(name, -1) for name in function_names]
    node_type = torch.tensor(type_numbers, device=batch.device)[batch.function]
    # DGL numbers the nodes of each type from 0.
    nodes = {}
    number_in_type = torch.empty_like(node_type)
    for k, name in enumerate(node_types):
        rows = torch.nonzero(node_type == k).squeeze(1)
        number_in_type[rows] = torch.arange(len(rows), device=batch.device)
        nodes[name] = rows

    child = batch.child_index
    parent = batch.parent_index
    tree = _tree_of_node(batch.sizes)

    def per_tree(node_numbers: Tensor) -> Tensor:
        return torch.bincount(tree[node_numbers], minlength=len(batch.sizes))

    edge_keys = torch.stack([node_type[child], batch.slot, node_type[parent]], 1)
    edge_types, type_of_edge = edge_keys.unique(dim=0, return_inverse=True)
    edges = {}
    num_edges = {}
    # A heterograph needs an edge type, if only one without edges.
    for k, (source, slot, target) in enumerate(edge_types.tolist() or [[0, 0, 0]]):
        of_type = torch.nonzero(type_of_edge == k).squeeze(1)
        position = str(slot) if positions is None else positions[slot]
        key = node_types[source], position, node_types[target]
        parents = parent[of_type]
        edges[key] = number_in_type[child[of_type]], number_in_type[parents]
        num_edges[key] = per_tree(parents)
    counts = {name: len(rows) for name, rows in nodes.items()}
    graph = import_dgl().heterograph(edges, counts)
    graph.set_batch_num_nodes({name: per_tree(rows) for name, rows in nodes.items()})
    graph.set_batch_num_edges(num_edges)

    columns = {name: getattr(batch, name) for name in MISSING}
    columns.update(ndata)
    for name, rows in nodes.items():
        for field, column in columns.items():
            if column is not None:
                graph.nodes[name].data[field] = column[rows]
    return graph
