"""DGL's message passing node by node and edge by edge, in plain loops: an oracle that needs no DGL and shares no code.

The module has the names of ``dgl`` that programs of topological propagation use. Each function gets one edge or one
node at a time. What only a whole frontier can tell (new fields of nodes without messages) is taken from the others.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from functools import cache
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

Fields = dict[str, Tensor]
EdgeType = tuple[str, str, str]


class Rows(MutableMapping[str, Tensor]):
    """Fields as programs see them, columns; kept as a list of rows each, (1, *shape)."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.rows: dict[str, list[Tensor]] = {}

    def __getitem__(self, name: str) -> Tensor:
        return torch.cat(self.rows[name])

    def __setitem__(self, name: str, column: Tensor) -> None:
        assert len(column) == self.count, name
        self.rows[name] = list(column.split(1))

    def __delitem__(self, name: str) -> None:
        del self.rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, number: int) -> Fields:
        """What one node or edge has; a function may change it."""
        return {name: rows[number].clone() for name, rows in self.rows.items()}

    def put(self, number: int, new: Fields) -> None:
        """Write one row; others get 0 where the field is new."""
        for name, row in new.items():
            if name not in self.rows:
                self.rows[name] = [torch.zeros_like(row) for _ in range(self.count)]
            self.rows[name][number] = row


class Nodes(SimpleNamespace):
    """One node, as reduce and apply functions see it."""

    def __len__(self) -> int:
        return 1

    def batch_size(self) -> int:
        return 1


class Fieldset(SimpleNamespace):
    """``graph.nodes`` and ``graph.edges``: by type, and called."""

    def __getitem__(self, name: Any) -> SimpleNamespace:
        return SimpleNamespace(data=self.get(name))

    def __call__(self) -> Any:
        return self.all()


class Graph:
    """Edges by type, sources and targets, and fields of nodes and edges."""

    def __init__(self, edges: Mapping[EdgeType, Any], num_nodes: Mapping[str, int]) -> None:
        self.ends = {etype: [(int(a), int(b)) for a, b in zip(*ends, strict=True)] for etype, ends in edges.items()}
        self.node_rows = {ntype: Rows(count) for ntype, count in num_nodes.items()}
        self.edge_rows = {etype: Rows(len(pairs)) for etype, pairs in self.ends.items()}
        self.nodes = Fieldset(get=lambda ntype: self.node_rows[ntype], all=lambda: torch.arange(self.num_nodes()))
        self.edges = Fieldset(get=lambda etype: self.edge_rows[self.etype(etype)])

    @property
    def ndata(self) -> Rows:
        [rows] = self.node_rows.values()
        return rows

    @property
    def edata(self) -> Rows:
        [rows] = self.edge_rows.values()
        return rows

    def num_nodes(self) -> int:
        return sum(rows.count for rows in self.node_rows.values())

    def etype(self, name: Any) -> EdgeType:
        [found] = [etype for etype in self.ends if name in (None, etype, etype[1])]
        return found

    def in_degrees(self, etype: Any = None) -> Tensor:
        etype = self.etype(etype)
        degrees = torch.zeros(self.node_rows[etype[2]].count, dtype=torch.long)
        for _, target in self.ends[etype]:
            degrees[target] += 1
        return degrees

    def in_edges(self, v: Any, etype: Any = None) -> tuple[Tensor, Tensor]:
        pairs = self.ends[self.etype(etype)]
        found = [pair for node in _numbers(v) for pair in pairs if pair[1] == node]
        return torch.tensor([a for a, _ in found]), torch.tensor([b for _, b in found])

    def _edge_ids(self, given: Any, etype: EdgeType) -> list[int]:
        if isinstance(given, tuple):
            return [self.ends[etype].index((int(a), int(b))) for a, b in zip(*given, strict=True)]
        return _numbers(given)

    def pull(self, v: Any, message: Any, reduce: Any, apply: Any = None, etype: Any = None) -> None:
        etype = self.etype(etype)
        nodes = _numbers(v)
        edges = [edge for edge, (_, target) in enumerate(self.ends[etype]) if target in set(nodes)]
        self._compute(nodes, edges, message, reduce, apply, etype)

    def send_and_recv(self, edges: Any, message: Any, reduce: Any, apply: Any = None, etype: Any = None) -> None:
        etype = self.etype(etype)
        ids = self._edge_ids(edges, etype)
        nodes = sorted({self.ends[etype][edge][1] for edge in ids})
        self._compute(nodes, ids, message, reduce, apply, etype)

    def apply_edges(self, function: Any, edges: Any, etype: Any = None) -> None:
        etype = self.etype(etype)
        ids = self._edge_ids(edges, etype)
        new = {edge: self._sent(function, edge, etype) for edge in ids}
        for edge, fields in new.items():
            self.edge_rows[etype].put(edge, fields)

    def apply_nodes(self, function: Any, v: Any, ntype: str | None = None) -> None:
        rows = self.ndata if ntype is None else self.node_rows[ntype]
        new = {node: function(self._node(node, rows.of(node), None, [])) for node in _numbers(v)}
        for node, fields in new.items():
            rows.put(node, fields)

    def prop_nodes(self, frontiers: Any, message: Any, reduce: Any, apply: Any = None) -> None:
        for frontier in frontiers:
            self.pull(frontier, message, reduce, apply)

    def _compute(
        self, nodes: list[int], edges: list[int], message: Any, reduce: Any, apply: Any, etype: EdgeType
    ) -> None:
        rows = self.node_rows[etype[2]]
        sources = [self.ends[etype][edge][0] for edge in edges]
        into: dict[int, list[int]] = {node: [] for node in nodes}
        for edge in edges:
            into[self.ends[etype][edge][1]].append(edge)
        reduced: dict[int, Fields] = {}
        for node in sorted(nodes, key=lambda node: len(into[node])):
            if into[node]:
                sent = [self._sent(message, edge, etype) for edge in into[node]]
                mail = {name: torch.stack([each[name] for each in sent], 1) for name in sent[0]}
                reduced[node] = _reduced(reduce, self._node(node, rows.of(node), mail, sources))
        lowest = next(iter(reduced.values()), {})
        if not reduced and not callable(reduce):  # its 0 has the shape of a message
            blank = {name: torch.zeros_like(each[0]) for name, each in rows.rows.items()}
            edge = {name: each.new_zeros(1, *each.shape[1:]) for name, each in self.edge_rows[etype].items()}
            mail = {name: row.unsqueeze(1) for name, row in _called(message, blank, blank, edge).items()}
            lowest = _reduced(reduce, self._node(0, blank, mail, sources))
        written = {}
        for node in nodes:
            new = {name: torch.zeros_like(row) for name, row in lowest.items()}
            new.update({name: row for name, row in reduced.get(node, {}).items() if name in lowest})
            if apply is not None:
                new = apply(self._node(node, {**rows.of(node), **new}, None, sources))
            written[node] = new
        for node, new in written.items():
            rows.put(node, new)

    def _sent(self, message: Any, edge: int, etype: EdgeType) -> Fields:
        source, target = self.ends[etype][edge]
        ends = self.node_rows[etype[0]].of(source), self.node_rows[etype[2]].of(target)
        return _called(message, *ends, self.edge_rows[etype].of(edge), etype)

    def _node(self, node: int, data: Fields, mailbox: Fields | None, sources: list[int]) -> Nodes:
        frontier = SimpleNamespace(srcnodes=lambda: torch.tensor(sources, dtype=torch.long))
        data = {name: row.clone() for name, row in data.items()}
        mailbox = mailbox and {name: mail.clone() for name, mail in mailbox.items()}
        [ntype] = self.node_rows if len(self.node_rows) == 1 else ["several"]
        return Nodes(data=data, mailbox=mailbox, nodes=lambda: torch.tensor([node]), ntype=ntype, _graph=frontier)


def graph(ends: Any, num_nodes: int) -> Graph:
    return Graph({("_N", "_E", "_N"): ends}, {"_N": num_nodes})


def topological_nodes_generator(graph: Graph, reverse: bool = False) -> list[Tensor]:
    """By a recursion: a node is one level above the highest of those that it reads."""
    below: list[list[int]] = [[] for _ in range(graph.num_nodes())]
    for pairs in graph.ends.values():
        for source, target in pairs:
            below[source if reverse else target].append(target if reverse else source)

    @cache
    def level(node: int) -> int:
        return max((level(other) + 1 for other in below[node]), default=0)

    found: list[list[int]] = [[] for _ in range(max(map(level, range(len(below)))) + 1)]
    for node in range(len(below)):
        found[level(node)].append(node)
    return [torch.tensor(nodes) for nodes in found]


def prop_nodes_topo(
    graph: Graph, message_func: Any, reduce_func: Any, reverse: bool = False, apply_node_func: Any = None
) -> None:
    graph.prop_nodes(topological_nodes_generator(graph, reverse), message_func, reduce_func, apply_node_func)


def prop_nodes(graph: Graph, frontiers: Any, message_func: Any, reduce_func: Any, apply_node_func: Any = None) -> None:
    graph.prop_nodes(frontiers, message_func, reduce_func, apply_node_func)


def _numbers(given: Any) -> list[int]:
    return torch.as_tensor(given).reshape(-1).tolist()


def _called(message: Any, source: Fields, target: Fields, edge: Fields, etype: Any = None) -> Fields:
    """What a message function, or a built-in one, says of one edge."""
    if callable(message):
        ends = [{name: row.clone() for name, row in fields.items()} for fields in (source, target, edge)]
        return message(SimpleNamespace(src=ends[0], dst=ends[1], data=ends[2], canonical_etype=etype))
    ends_by_letter = {"u": source, "v": target, "e": edge}
    first, operation, *last = message.name.split("_")
    if first == "copy":
        return {message.out_field: ends_by_letter[operation][message.in_field]}
    a, b = ends_by_letter[first][message.lhs_field], ends_by_letter[last[0]][message.rhs_field]
    while a.dim() < b.dim():
        a = a.unsqueeze(1)
    while b.dim() < a.dim():
        b = b.unsqueeze(1)
    both = {"mul": a * b, "add": a + b, "sub": a - b, "div": a / b, "dot": (a * b).sum(-1, True)}
    return {message.out_field: both[operation]}


def _reduced(reduce: Any, node: Nodes) -> Fields:
    if callable(reduce):
        return reduce(node)
    mail = node.mailbox[reduce.msg_field]
    found = {"sum": mail.sum(1), "mean": mail.mean(1), "max": mail.amax(1), "min": mail.amin(1)}
    return {reduce.out_field: found[reduce.name]}
