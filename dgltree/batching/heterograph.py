"""Heterographs of DGL to batches of trees and back: node types are functions, edge types are positions."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from dgltree.batching.dgl_graph import import_dgl, to_dgl
from dgltree.batching.vocabulary import NO_LABEL, NO_TOKEN, Vocabulary

if TYPE_CHECKING:
    import dgl

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
