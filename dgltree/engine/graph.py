"""A graph with DGL's methods and without DGL: fields of nodes and edges, and one frontier at a time."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.batching.run_lengths import ranges
from dgltree.engine.frames import MessageFunction, NodeFunction
from dgltree.engine.frontiers import as_numpy, numbers_of, single_frontier
from dgltree.engine.message_graph import (
    EDGE,
    NODE,
    EdgeFields,
    EdgeType,
    Fields,
    MessageGraph,
    NodeFields,
    batch_fields,
    open_graph,
)
from dgltree.engine.runner import EdgeFunctions, apply_function, prop_nodes, run_plan, send_messages
from dgltree.support.torch_internals import exclude_from_compile, outside_transforms


class TypeFields(NamedTuple):
    """What ``graph.nodes[ntype]`` and ``graph.edges[etype]`` give."""

    data: Fields


class Graph:
    """What message functions and the programs around them touch of a DGLGraph. It needs no DGL.

    Its fields are dicts of tensors, one row for each node or edge: ``ndata`` and ``edata``, or of several types
    ``nodes[ntype].data`` and ``edges[etype].data``. Its methods have DGL's names, arguments and results. They compute
    one frontier each, from what was there before the call, so edges may form cycles;
    :func:`dgltree.prop_nodes_topo` computes all frontiers of a DAG.

    Examples:
        >>> import torch
        >>> from dgltree.engine import Graph
        >>> graph = Graph({("n", "net", "n"): ([0, 1], [2, 2]), ("n", "cell", "n"): ([2], [3])})
        >>> graph.ndata["h"] = torch.tensor([1.0, 2.0, 0.0, 0.0])
        >>> send, add = lambda edges: {"m": edges.src["h"]}, lambda nodes: {"h": nodes.mailbox["m"].sum(1)}
        >>> graph.pull([2], send, add, etype="net")
        >>> graph.pull([3], send, add, etype="cell")
        >>> graph.ndata["h"]
        tensor([1., 2., 3., 3.])

    Args:
        graph: a batch of trees, whose fields it gets under the names that ``batch.graph`` uses, in the same order of
            edges; or edges, (2, E) or a pair of (E,), whole numbers; or a dict of edge types, ``(node type, name, node
            type)``, to edges, as ``dgl.heterograph`` takes it.
        reverse: whether its edges lead the other way, from parents to children in trees, as those of ``dgl.reverse``.
            (The ``reverse`` of :func:`dgltree.prop_nodes_topo` turns the order of the nodes alone.)
        num_nodes: how many nodes there are, or a dict of node types to numbers; by default one more than the highest
            that an edge names.

    Raises ``ValueError`` for edges that are no pairs of whole numbers, or name a node that is not there.
    """

    def __init__(
        self, graph: TreeBatch | Any, reverse: bool = False, num_nodes: int | Mapping[str, int] | None = None
    ) -> None:
        self.batch = graph if isinstance(graph, TreeBatch) else None
        fields: Fields = {}
        if isinstance(graph, TreeBatch):  # whose edges need no check, which would read them from a device
            fields = batch_fields(graph)
            given = [EdgeFields(EDGE, graph.child_index, graph.parent_index, {"slot": graph.slot})]
            counts = {NODE: graph.num_nodes}
        elif hasattr(graph, "edges"):
            raise TypeError(
                f"a {type(graph).__name__} is run as it is, or give Graph(graph.edges()) and copy its fields"
            )
        else:
            by_type: Mapping[EdgeType, Any] = graph if isinstance(graph, Mapping) else {EDGE: graph}
            given = [EdgeFields(_checked_etype(etype), *_ends(etype, ends), {}) for etype, ends in by_type.items()]
            counts = _counts(given, num_nodes)
        if reverse:
            given = [EdgeFields(each.etype[::-1], each.target, each.source, each.data) for each in given]
        nodes = {ntype: NodeFields(count, dict(fields)) for ntype, count in counts.items()}
        relations = {each.etype: each for each in given}
        self.message_graph = MessageGraph(nodes, relations, self)
        self._sorted: dict[tuple[EdgeType, bool], tuple[np.ndarray, np.ndarray]] = {}

    def __repr__(self) -> str:
        nodes = ", ".join(f"{nodes.count} {ntype}" for ntype, nodes in self.message_graph.nodes.items())
        edges = ", ".join(f"{len(edges.source)} {etype[1]}" for etype, edges in self.message_graph.relations.items())
        return f"<Graph: nodes {nodes}; edges {edges}>"

    @property
    def ntypes(self) -> list[str]:
        """The names of the node types."""
        return list(self.message_graph.nodes)

    @property
    def canonical_etypes(self) -> list[EdgeType]:
        """The edge types, each with the node types that it leads from and to."""
        return list(self.message_graph.relations)

    @property
    def etypes(self) -> list[str]:
        """The names of the edge types."""
        return [etype[1] for etype in self.message_graph.relations]

    @property
    def ndata(self) -> Fields:
        """The fields of the nodes, (N, ...) each. ``ValueError`` if there are several node types."""
        return self.nodes[None].data

    @property
    def edata(self) -> Fields:
        """The fields of the edges, (E, ...) each. ``ValueError`` if there are several edge types."""
        return self.edges[None].data

    @property
    def nodes(self) -> "NodeView":
        """``nodes()`` and ``nodes(ntype)`` are (N,) int64, ``nodes[ntype].data`` are fields."""
        return NodeView(self.message_graph)

    @property
    def edges(self) -> "EdgeView":
        """``edges()`` and ``edges(etype=...)`` are the ends, (E,) each, ``edges[etype].data`` are fields."""
        return EdgeView(self.message_graph)

    @property
    def device(self) -> torch.device:
        """Where the edges are."""
        return self.message_graph.device

    def batch_num_nodes(self) -> Tensor:
        """(B,) int64, how many nodes each tree of the batch has; of edges alone all nodes are one."""
        if self.batch is not None:
            return self.batch.sizes
        return torch.tensor([self.num_nodes()], device=self.device)

    def num_nodes(self, ntype: str | None = None) -> int:
        """How many nodes there are, of one type or of all."""
        nodes = self.message_graph.nodes
        if ntype is None:
            return sum(each.count for each in nodes.values())
        return nodes[self.message_graph.ntype(ntype)].count

    def num_edges(self, etype: str | EdgeType | None = None) -> int:
        """How many edges there are, of one type or of all."""
        relations = self.message_graph.relations
        if etype is None:
            return sum(len(each.source) for each in relations.values())
        return len(relations[self.message_graph.etype(etype)].source)

    def in_degrees(self, v: Any = None, etype: str | EdgeType | None = None) -> Tensor:
        """(n,) int64, how many edges of a type lead to nodes, by default to each."""
        return self._degrees(v, etype, into=True)

    def out_degrees(self, u: Any = None, etype: str | EdgeType | None = None) -> Tensor:
        """(n,) int64, how many edges of a type lead from nodes, by default from each."""
        return self._degrees(u, etype, into=False)

    def _degrees(self, nodes: Any, etype: str | EdgeType | None, into: bool) -> Tensor:
        key = self.message_graph.etype(etype)
        relation = self.message_graph.relations[key]
        count = self.message_graph.nodes[key[2 if into else 0]].count
        degrees = (relation.target if into else relation.source).long().bincount(minlength=count)
        if nodes is None:
            return degrees
        with outside_transforms():
            which = torch.from_numpy(numbers_of(nodes, count, "v" if into else "u")).to(degrees.device)
        return degrees.index_select(0, which)

    def in_edges(self, v: Any, form: str = "uv", etype: str | EdgeType | None = None) -> Any:
        """The edges that lead to nodes ``v``, node after node, as ``find_edges`` names them.

        ``form`` is "uv" for sources and targets, "eid" for ids, "all" for these three; (n,) each.
        """
        return self._found_edges(v, form, etype, into=True)

    def out_edges(self, u: Any, form: str = "uv", etype: str | EdgeType | None = None) -> Any:
        """The edges that lead from nodes ``u``, as :meth:`in_edges` gives those that lead to nodes."""
        return self._found_edges(u, form, etype, into=False)

    def _found_edges(self, nodes: Any, form: str, etype: str | EdgeType | None, into: bool) -> Any:
        if form not in ("uv", "eid", "all"):
            raise ValueError(f"form is {form!r}; give 'uv', 'eid' or 'all'")
        key = self.message_graph.etype(etype)
        relation = self.message_graph.relations[key]
        with outside_transforms():
            found = torch.from_numpy(self._edges_at(key, nodes, into)).to(self.device)
        ids = found.to(relation.source.dtype)
        if form == "eid":
            return ids
        ends = relation.source.index_select(0, found), relation.target.index_select(0, found)
        return ends if form == "uv" else (*ends, ids)

    @exclude_from_compile
    def pull(
        self,
        v: Any,
        message_func: MessageFunction | Any,
        reduce_func: NodeFunction | Any,
        apply_node_func: NodeFunction | None = None,
        etype: str | EdgeType | None = None,
    ) -> None:
        """Compute nodes ``v`` from all edges of a type that lead to them.

        Args:
            v: the numbers of nodes, or one number.
            message_func, reduce_func, apply_node_func: as of :func:`dgltree.prop_nodes_topo`. Nodes without edges get 0
                where others get a field, and the apply function gets them too.
            etype: of the edges, a name or a whole type; not needed if there is one.

        Raises ``ValueError`` for a node twice, a number that is no node, and an edge type that is not there; and as
        :func:`dgltree.prop_nodes_topo` does for functions. Nothing is written then.
        """
        key = self.message_graph.etype(etype)
        nodes = numbers_of(v, self.message_graph.nodes[key[2]].count, "v")
        edges = self._edges_at(key, nodes, into=True)
        self._compute("pull", key, nodes, edges, (message_func, reduce_func, apply_node_func))

    @exclude_from_compile
    def push(
        self,
        u: Any,
        message_func: MessageFunction | Any,
        reduce_func: NodeFunction | Any,
        apply_node_func: NodeFunction | None = None,
        etype: str | EdgeType | None = None,
    ) -> None:
        """Compute the nodes to which edges of a type lead from nodes ``u``, from these edges alone.

        The other arguments, and what it raises, are those of :meth:`pull`.
        """
        key = self.message_graph.etype(etype)
        nodes = numbers_of(u, self.message_graph.nodes[key[0]].count, "u")
        edges = self._edges_at(key, nodes, into=False)
        functions = message_func, reduce_func, apply_node_func
        self._compute("push", key, self._targets(key, edges), edges, functions)

    @exclude_from_compile
    def send_and_recv(
        self,
        edges: Any,
        message_func: MessageFunction | Any,
        reduce_func: NodeFunction | Any,
        apply_node_func: NodeFunction | None = None,
        etype: str | EdgeType | None = None,
    ) -> None:
        """Compute the nodes to which some edges lead, from these edges alone.

        ``edges`` are ids of edges, one id, or a pair of (n,) sources and targets. The other arguments, and what it
        raises, are those of :meth:`pull`; ``ValueError``, too, for an edge twice, and for nodes without an edge.
        """
        key = self.message_graph.etype(etype)
        ids = self._edge_ids(key, edges)
        functions = message_func, reduce_func, apply_node_func
        self._compute("send_and_recv", key, self._targets(key, ids), ids, functions)

    @exclude_from_compile
    def update_all(
        self,
        message_func: MessageFunction | Any,
        reduce_func: NodeFunction | Any,
        apply_node_func: NodeFunction | None = None,
        etype: str | EdgeType | None = None,
    ) -> None:
        """Compute all nodes that edges of a type can lead to, from all these edges at once, as :meth:`pull` does."""
        key = self.message_graph.etype(etype)
        nodes = np.arange(self.message_graph.nodes[key[2]].count)
        edges = np.arange(len(self.message_graph.relations[key].source))
        self._compute("update_all", key, nodes, edges, (message_func, reduce_func, apply_node_func))

    @exclude_from_compile
    def prop_nodes(
        self,
        nodes_generator: Iterable[Any],
        message_func: MessageFunction | Any,
        reduce_func: NodeFunction | Any,
        apply_node_func: NodeFunction | None = None,
        etype: str | EdgeType | None = None,
    ) -> None:
        """Compute frontiers of nodes, one after the other.

        If there is one edge type, this is :func:`dgltree.prop_nodes`, one pass; of several, one :meth:`pull` along
        ``etype`` for each frontier. It raises what they do.
        """
        if len(self.message_graph.relations) == 1 == len(self.message_graph.nodes):
            self.message_graph.etype(etype)
            prop_nodes(self, nodes_generator, message_func, reduce_func, apply_node_func)
            return
        for nodes in nodes_generator:
            self.pull(nodes, message_func, reduce_func, apply_node_func, etype)

    @exclude_from_compile
    def apply_nodes(self, func: NodeFunction, v: Any = None, ntype: str | None = None) -> None:
        """Write what a function returns for nodes, by default for all of a type, (n, ...) a field.

        Raises ``ValueError`` for a node twice, a number that is no node, and a node type that is not there.
        """
        graph = open_graph(self)
        name = graph.ntype(ntype)
        if func is None:
            raise TypeError("func is None: give a function of nodes")
        count = graph.nodes[name].count
        nodes = np.arange(count) if v is None else numbers_of(v, count, "v")
        if len(nodes):
            plan = single_frontier(graph, name, nodes, None, nodes[:0])
            run_plan(graph, plan, {}, apply_function(graph, func), "apply_nodes")

    @exclude_from_compile
    def apply_edges(self, func: MessageFunction | Any, edges: Any = None, etype: str | EdgeType | None = None) -> None:
        """Write what a function returns for edges, by default for all of a type, (n, ...) a field.

        ``func`` may be a built-in message function; ``edges`` are as of :meth:`send_and_recv`. Raises ``ValueError``
        for an edge twice, one that is not there, and rows whose number, dtype or shape is wrong.
        """
        graph = open_graph(self)
        key = graph.etype(etype)
        relation = graph.relations[key]
        ids = np.arange(len(relation.source)) if edges is None else self._edge_ids(key, edges)
        plan = single_frontier(graph, key[2], self._targets(key, ids), key, ids)
        functions = EdgeFunctions(graph, func, _no_reduce, None)
        for name, rows in send_messages(graph, plan, {key: functions}, "apply_edges").items():
            before = relation.data.get(name)
            if before is None:
                before = rows.new_zeros(len(relation.source), *rows.shape[1:])
            relation.data[name] = before.index_copy(0, plan.edges, rows)

    def _compute(
        self, call: str, etype: EdgeType, nodes: np.ndarray, edges: np.ndarray, functions: tuple[Any, Any, Any]
    ) -> None:
        graph = open_graph(self)
        given = EdgeFunctions(graph, *functions)
        if len(nodes):
            run_plan(graph, single_frontier(graph, etype[2], nodes, etype, edges), {etype: given}, None, call)

    def _edges_at(self, etype: EdgeType, nodes: Any, into: bool) -> np.ndarray:
        """(n,) int64, the ids of the edges that lead to nodes, or from them, by node and by id."""
        relation = self.message_graph.relations[etype]
        count = self.message_graph.nodes[etype[2 if into else 0]].count
        which = numbers_of(nodes, count, "v" if into else "u")
        if (etype, into) not in self._sorted:
            ends = as_numpy(relation.target if into else relation.source)
            order = np.argsort(ends, kind="stable")
            self._sorted[etype, into] = order, np.searchsorted(ends[order], np.arange(count + 1))
        order, first = self._sorted[etype, into]
        return order[ranges(first[which], first[which + 1] - first[which])]

    def _targets(self, etype: EdgeType, edges: np.ndarray) -> np.ndarray:
        """The nodes that edges lead to, each once."""
        return np.unique(as_numpy(self.message_graph.relations[etype].target)[edges])

    def _edge_ids(self, etype: EdgeType, edges: Any) -> np.ndarray:
        """(n,) int64, of ids or sources and targets: a pair that is there k times means the first k such edges."""
        relation = self.message_graph.relations[etype]
        if not isinstance(edges, tuple):
            return numbers_of(edges, len(relation.source), "edges", "edge")
        source_count, target_count = (self.message_graph.nodes[etype[k]].count for k in (0, 2))
        source = numbers_of(edges[0], source_count, "edges[0]", once=False)
        target = numbers_of(edges[1], target_count, "edges[1]", once=False)
        if len(source) != len(target):
            raise ValueError(f"edges are {len(source)} sources and {len(target)} targets: give as many of both")
        there = as_numpy(relation.source) * target_count + as_numpy(relation.target)
        order = np.argsort(there, kind="stable")
        wanted = source * target_count + target
        sort = np.argsort(wanted, kind="stable")
        wanted = wanted[sort]
        repeated = np.arange(len(wanted)) - np.searchsorted(wanted, wanted)
        place = np.searchsorted(there[order], wanted) + repeated
        missing = np.flatnonzero(np.append(there[order], -1)[np.minimum(place, len(there))] != wanted)
        if len(missing):
            k = sort[missing[0]]
            raise ValueError(
                f"edges contains the edge from node {source[k]} to node {target[k]} {repeated[missing[0]] + 1} times, "
                f"but the graph has {repeated[missing[0]]} such edges of type {etype}"
            )
        found = np.empty_like(place)
        found[sort] = order[place]
        return found


class NodeView:
    """The nodes of a graph: called, their numbers; indexed by a type, their fields."""

    def __init__(self, graph: MessageGraph) -> None:
        self._graph = graph

    def __call__(self, ntype: str | None = None) -> Tensor:
        """(N,) of the dtype of the edges' ends."""
        count = self._graph.nodes[self._graph.ntype(ntype)].count
        return torch.arange(count, device=self._graph.device, dtype=self._graph.id_dtype)

    def __getitem__(self, ntype: str | None) -> TypeFields:
        return TypeFields(self._graph.nodes[self._graph.ntype(ntype)].data)


class EdgeView:
    """The edges of a graph: called, their ends; indexed by a type, their fields."""

    def __init__(self, graph: MessageGraph) -> None:
        self._graph = graph

    def __call__(self, etype: str | EdgeType | None = None) -> tuple[Tensor, Tensor]:
        """(E,) each: the nodes that edges of a type lead from, and to, by edge id."""
        relation = self._graph.relations[self._graph.etype(etype)]
        return relation.source, relation.target

    def __getitem__(self, etype: str | EdgeType | None) -> TypeFields:
        return TypeFields(self._graph.relations[self._graph.etype(etype)].data)


def _no_reduce(nodes: Any) -> Fields:
    return {}


def _checked_etype(etype: Any) -> EdgeType:
    if not isinstance(etype, tuple) or len(etype) != 3 or not all(isinstance(name, str) for name in etype):
        raise ValueError(f"the edge type {etype!r} is not a tuple (node type, name, node type)")
    return etype


def _ends(etype: EdgeType, given: Any) -> tuple[Tensor, Tensor]:
    """(E,) int32 or int64 each. ``ValueError`` for what are no pairs of numbers."""
    if len(given) != 2:
        raise ValueError(f"the edges of type {etype} have {len(given)} rows: give two, their sources and their targets")
    with outside_transforms():
        source, target = (torch.as_tensor(each) for each in given)
    if not len(source) and not len(target):
        return source.long(), target.long()
    for end in (source, target):
        if end.dim() != 1 or end.dtype not in (torch.int32, torch.int64):
            raise ValueError(
                f"the edges of type {etype} are {tuple(end.shape)} {end.dtype}: give (E,) torch.int64 or torch.int32"
            )
    if len(source) != len(target):
        raise ValueError(f"the edges of type {etype} have {len(source)} sources and {len(target)} targets")
    return source, target


def _counts(relations: list[EdgeFields], given: int | Mapping[str, int] | None) -> dict[str, int]:
    """How many nodes of each type there are. ``ValueError`` for fewer than edges name."""
    counts: dict[str, int] = {}
    for relation in relations:
        etype = relation.etype
        for ntype, ends in ((etype[0], relation.source), (etype[2], relation.target)):
            numbers = as_numpy(ends)
            if numbers.min(initial=0) < 0:
                raise ValueError(f"an edge of type {etype} names node {numbers.min()}: nodes are numbered from 0")
            counts[ntype] = max(counts.get(ntype, 0), int(numbers.max(initial=-1)) + 1)
    if not counts:
        raise ValueError("the graph has no edge types: give {(node type, name, node type): edges}")
    if given is None:
        return counts
    if not isinstance(given, Mapping):
        if len(counts) > 1:
            raise ValueError(f"num_nodes is {given}: give a dict, since there are the node types {', '.join(counts)}")
        given = dict.fromkeys(counts, given)
    for ntype, count in counts.items():
        if given.get(ntype, count) < count:
            raise ValueError(f"an edge names node {count - 1} of {ntype!r}, but num_nodes is {given[ntype]}")
    return {**counts, **given}
