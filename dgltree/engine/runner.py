"""Message, reduce and apply functions along any DAG, as DGL runs them: without DGL, on any device, in O(N)."""

import re
from collections.abc import Callable, Mapping
from typing import Any
import torch
from torch import Tensor
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from dgltree.support.torch_internals import version_of
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from dgltree.engine.frontiers import Bucket, Frontier, TopoPlan, topo_plan
from dgltree.engine.frontiers import Fields, Graph, MessageGraph, open_graph
from dgltree.support.torch_internals import exclude_from_compile

# ---------------------------------------------------------------------------------------------------------------------
# DGL's built-in message and reduce functions, known by their names: ``dgl.function.copy_u("h", "m")`` and the like.


OPERATIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "dot": lambda a, b: (a * b).sum(-1, keepdim=True),
}
REDUCED: dict[str, Callable[[Tensor], Tensor]] = {
    "sum": lambda mail: mail.sum(1),
    "mean": lambda mail: mail.sum(1) / mail.shape[1],
    "max": lambda mail: mail.max(1).values,
    "min": lambda mail: mail.min(1).values,
}
"""(rows, degree, *shape) to (rows, *shape)."""


def message_function(given: Any) -> Callable[[Any], Mapping[str, Tensor]]:
    """A message function as it is, or the one that a built-in stands for. ``TypeError`` for anything else."""
    if callable(given):
        return given
    name = str(getattr(given, "name", ""))
    if copied := re.fullmatch("copy_([uve])", name):
        return lambda edges: {given.out_field: _end(edges, copied[1])[given.in_field]}
    if two := re.fullmatch(f"([uve])_({'|'.join(OPERATIONS)})_([uve])", name):
        left, operation, right = two.groups()

        def message(edges: Any) -> dict[str, Tensor]:
            a, b = _end(edges, left)[given.lhs_field], _end(edges, right)[given.rhs_field]
            width = max(a.dim(), b.dim())
            a, b = (each.view(len(each), *(1,) * (width - each.dim()), *each.shape[1:]) for each in (a, b))
            return {given.out_field: OPERATIONS[operation](a, b)}

        return message
    raise TypeError(
        f"message_func is a {type(given).__name__}: give a function of edges, or a built-in one of dgl.function"
    )


def reduce_function(given: Any) -> tuple[Callable[[Any], Mapping[str, Tensor]], bool]:
    """A reduce function, and whether it is a built-in, which gives 0 to nodes without a message."""
    if callable(given):
        return given, False
    operation = REDUCED.get(str(getattr(given, "name", "")))
    if operation is None:
        raise TypeError(
            f"reduce_func is a {type(given).__name__}: give a function of nodes, or a built-in one of dgl.function"
        )

    def reduce(nodes: Any) -> dict[str, Tensor]:
        mail = nodes.mailbox[given.msg_field]
        return {given.out_field: operation(mail) if mail.shape[1] else mail.new_zeros(len(mail), *mail.shape[2:])}

    return reduce, True


def _end(edges: Any, letter: str) -> Any:
    return {"u": edges.src, "v": edges.dst, "e": edges.data}[letter]


# ---------------------------------------------------------------------------------------------------------------------
# Batches of edges and of nodes as message, reduce and apply functions see them: fields are gathered when read.


class MissingFieldError(KeyError):
    """A field that nobody gave or wrote."""

    __str__ = Exception.__str__  # KeyError's is a repr


class Frame(Mapping[str, Tensor]):
    """Fields of a batch of nodes or edges, each gathered when it is first read."""

    def __init__(self, names: Collection[str], gather: Callable[[str], Tensor], place: str) -> None:
        self._names, self._gather, self.place = names, gather, place
        self._read: dict[str, Tensor] = {}
        self._versions: dict[str, int] = {}

    def __getitem__(self, name: str) -> Tensor:
        rows = self._read.get(name)
        if rows is None:
            if name not in self._names:
                raise MissingFieldError(
                    f"{self.place}: there is no field {name!r}; the fields are {', '.join(self._names)}"
                )
            rows = self._gather(name)
            rows = self._read[name] = rows.clone() if rows.is_inference() else rows  # torch counts no changes of those
            self._versions[name] = version_of(rows)
        return rows

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def check_unchanged(self, function: str) -> None:
        """``ValueError`` if a field was changed in place since it was read: others may read the same memory."""
        for name, rows in self._read.items():
            if version_of(rows) != self._versions[name]:
                raise ValueError(
                    f"{self.place}: the {function} function changed {name!r} in place; return a new tensor"
                )


@dataclass
class EdgeBatch:
    """The edges that lead to a frontier, as a message function sees them; (E', *shape) a field."""

    src: Frame
    dst: Frame
    data: Frame
    count: int
    edges: Callable[[], tuple[Tensor, Tensor, Tensor]]
    """Gives their sources, targets and ids, (E',) each."""

    def batch_size(self) -> int:
        return self.count

    __len__ = batch_size


@dataclass
class NodeBatch:
    """Nodes of one frontier, and for a reduce function of one in-degree; (N', *shape) a field."""

    data: Frame
    mailbox: Frame | None
    """(N', degree, *shape) a message; an apply function has none."""
    count: int
    nodes: Callable[[], Tensor]
    """Gives their numbers, (N',)."""

    def batch_size(self) -> int:
        return self.count

    __len__ = batch_size


__all__ = ["Graph", "prop_nodes_topo"]

Kind = tuple[torch.dtype, torch.Size, torch.device]
"""Of a field: its dtype, the shape of a row and its device."""
MessageFunction = Callable[[EdgeBatch], Mapping[str, Tensor]]
NodeFunction = Callable[[NodeBatch], Mapping[str, Tensor]]


@exclude_from_compile
def prop_nodes_topo(
    graph: Any,
    message_func: MessageFunction | Any,
    reduce_func: NodeFunction | Any,
    reverse: bool = False,
    apply_node_func: NodeFunction | None = None,
    *,
    order: str | None = None,
    plan: TopoPlan | None = None,
) -> Fields:
    """As ``dgl.prop_nodes_topo``: messages, reduce and apply functions of your own, frontier after frontier of a DAG.

    Examples:
        >>> import torch, dgltree
        >>> nodes = {"h": torch.tensor([1.0, 2.0, 0.0])}
        >>> graph = (torch.tensor([[0, 1], [2, 2]]), nodes)
        >>> written = dgltree.prop_nodes_topo(
        ...     graph, lambda edges: {"m": edges.src["h"]}, lambda nodes: {"h": nodes.mailbox["m"].sum(1)}
        ... )
        >>> nodes["h"]
        tensor([1., 2., 3.])

    Args:
        graph: a DAG: a ``dgl.DGLGraph``, batched or not; a :class:`dgltree.TreeBatch` or
            :class:`dgltree.engine.Graph`; a ``Data`` of PyG; or ``(edges, ndata)`` or ``(edges, ndata, edata)``, where
            edges are (2, E), sources and targets, and the others dicts of tensors.
        message_func: gets the edges that lead to a frontier (``edges.src``, ``.dst``, ``.data``, ``.edges()``,
            ``.batch_size()``), returns a dict of messages, (E', ...) each.
        reduce_func: gets nodes of one in-degree, 1 or more (``nodes.data``, ``.nodes()``, ``.batch_size()``, and
            ``.mailbox`` with (N', degree, ...) a message), returns a dict of fields, (N', ...) each.
        reverse: whether the order of the nodes is turned: from nodes without out-edges to those without in-edges. As
            in DGL, messages still go along the edges, so a node gets what its sources had before the pass.
        apply_node_func: gets the nodes of a frontier, with what was reduced; what it returns is written instead.
        order: a field of the edges, such as ``"slot"``, that sorts each mailbox; by default edge ids do.
        plan: what :func:`dgltree.topo_plan` made for this graph, else it is made here. With one, no value is read from
            the device. ``reverse`` and ``order`` are the plan's.

    Built-in functions of ``dgl.function`` are taken by name. As in DGL they write 0 where a node gets no message, at
    leaves too; a field that is new is 0 where nobody wrote it; and the fields that the reduce function returns for the
    lowest degree of a frontier are written, so it must return them for the others too.

    Returns the fields that were written, (N, ...) each, which also are in the graph's ``ndata`` (or in the ``Data``, or
    the dict; a TreeBatch stays as it is). Gradients flow to all fields and parameters. Time and memory are O(N + E): a
    frontier gathers the rows that its edges lead from, and what was written is joined at the end.

    Raises ``ValueError`` for an empty graph, a cycle, rows of a different number, dtype or shape, and a function that
    changes what it reads in place; ``KeyError`` for a field that is not there, ``TypeError`` for what is no function or
    graph. Messages name frontier, degree and field. Nothing is written then.

    See also: :func:`dgltree.propagate`, which runs a cell, and is faster.
    """
    if not isinstance(reverse, bool):
        raise TypeError(f"reverse is a {type(reverse).__name__}; pass a function to apply as apply_node_func=...")
    if apply_node_func is not None and not callable(apply_node_func):
        raise TypeError(f"apply_node_func is a {type(apply_node_func).__name__}: give a function of nodes, or None")
    if plan is not None and not isinstance(plan, TopoPlan):
        raise TypeError(f"plan is a {type(plan).__name__}: make one by dgltree.topo_plan(graph)")
    opened = open_graph(graph)
    if plan is None:
        plan = topo_plan(graph, reverse, order=order)
    else:
        plan.check_for(opened, reverse, order)
    written = _Pass(opened, plan, message_func, reduce_func, apply_node_func).run()
    opened.write(written)
    return written


class _Pass:
    """One run over a graph: what was given, and what was written, a block of rows for each frontier."""

    def __init__(self, graph: MessageGraph, plan: TopoPlan, message: Any, reduce: Any, apply: Any) -> None:
        self.graph, self.plan = graph, plan
        self.message, self.apply = message_function(message), apply
        self.reduce, self.reduces_all = reduce_function(reduce)
        self.kinds = {name: _kind(column) for name, column in graph.ndata.items()}
        """Of all fields of the nodes."""
        self.blocks: list[Fields] = [{} for _ in plan.frontiers]
        self.written: dict[str, None] = {}
        """The names of what is in the blocks."""
        self.pieces: dict[tuple[str, int], list[Tensor | None]] = {}
        """Of a field and a frontier: the rows for each reader that has not read them yet."""
        self.nodes = _Columns(graph.ndata, plan.nodes, [each.rows for each in plan.frontiers])
        self.edges = _Columns(graph.edata, plan.edges, [each.edges for each in plan.frontiers])

    def run(self) -> Fields:
        """The fields that were written, (N, *shape) each."""
        for number in range(len(self.blocks)):
            self.blocks[number] = rows = self._compute(number)
            for name in rows:
                if name not in self.written:
                    self.written[name] = None
                    self.kinds.setdefault(name, _kind(rows[name]))
        return {name: self._join(name) for name in self.written}

    def _compute(self, number: int) -> Fields:
        """What is written at a frontier."""
        frontier = self.plan.frontiers[number]
        data = Frame(self.kinds, lambda name: self._rows(name, number), f"frontier {number}")
        reduced: Fields = {}
        if frontier.width or self.reduces_all:
            reduced = self._reduce(frontier, data, self._messages(number, data))
        if self.apply is None:
            return reduced
        given = Frame(
            {**self.kinds, **reduced}, lambda name: reduced[name] if name in reduced else data[name], data.place
        )
        nodes = NodeBatch(given, None, len(frontier), partial(self._ids, frontier.rows.start, len(frontier)))
        rows = _checked("apply", self.apply(nodes), len(frontier), self.kinds, data.place)
        given.check_unchanged("apply")
        return rows

    def _messages(self, number: int, data: Frame) -> Fields:
        """(E', *shape) each, in the order of the mailbox."""
        frontier, receiver = self.plan.frontiers[number], self.plan.receiver
        src = Frame(self.kinds, lambda name: self._sources(name, number), data.place)
        dst = Frame(self.kinds, lambda name: data[name].index_select(0, receiver[frontier.edges]), data.place)
        along = Frame(self.graph.edata, lambda name: self.edges.rows(name, number), data.place)
        edges = EdgeBatch(src, dst, along, frontier.width, lambda: self._ends(frontier))
        rows = _checked("message", self.message(edges), frontier.width, {}, data.place)
        for frame in (src, dst, along, data):
            frame.check_unchanged("message")
        return rows

    def _reduce(self, frontier: Frontier, data: Frame, messages: Fields) -> Fields:
        """What the reduce function returns, bucket after bucket; 0 for nodes without messages, which it never gets."""
        buckets = frontier.buckets
        sent = cache(lambda name: messages[name].split([bucket.degree * bucket.rows for bucket in buckets]))
        own = cache(lambda name: data[name].split([bucket.rows for bucket in buckets]))
        kinds = {} if self.apply else dict(self.kinds)
        parts: dict[str, list[Tensor]] = {}
        for k, bucket in enumerate(buckets):
            if not bucket.degree and not self.reduces_all:
                continue
            place = f"{data.place}, degree {bucket.degree}"
            mailbox = Frame(messages, lambda name, k=k: _by_node(sent(name)[k], buckets[k]), place)  # type: ignore[misc]
            nodes = Frame(self.kinds, lambda name, k=k: own(name)[k], place)  # type: ignore[misc]
            batch = NodeBatch(nodes, mailbox, bucket.rows, partial(self._ids, bucket.start, bucket.rows))
            reduced = _checked("reduce", self.reduce(batch), bucket.rows, kinds, place)
            mailbox.check_unchanged("reduce")
            nodes.check_unchanged("reduce")
            if not parts:
                parts = {name: [] for name in reduced}
                kinds |= {name: _kind(new) for name, new in reduced.items()}
            elif missing := parts.keys() - reduced:
                raise ValueError(f"{place}: the reduce function returned no {min(missing)!r}, which a lower degree has")
            for name, part in parts.items():
                part.append(reduced[name])
        skipped = [] if buckets[0].degree or self.reduces_all else [buckets[0].rows]
        return {name: _together([_zeros(kinds[name], n) for n in skipped] + part) for name, part in parts.items()}

    def _rows(self, name: str, number: int) -> Tensor:
        """(frontier, *shape) of a field: what was written, else what was given, else 0."""
        if name in self.blocks[number]:
            return self.blocks[number][name]
        if name in self.graph.ndata:
            return self.nodes.rows(name, number)
        return _zeros(self.kinds[name], len(self.plan.frontiers[number]))

    def _sources(self, name: str, number: int) -> Tensor:
        """(E', *shape), the field at the nodes that edges lead from: pieces of the frontiers that are read."""
        frontier = self.plan.frontiers[number]
        if name not in self.written and not self.graph.ndata[name].requires_grad:
            source = self.graph.source.index_select(0, self.plan.edges[frontier.edges])
            return self.graph.ndata[name].index_select(0, source)
        if not frontier.width:
            return _zeros(self.kinds[name], 0)
        rows = _together([self._piece(name, read, which) for read, which in frontier.sources])
        return rows if frontier.sorted else rows.index_select(0, self.plan.place[frontier.edges])

    def _piece(self, name: str, number: int, which: int) -> Tensor:
        """The rows of a frontier that one other reads. One operation gathers them for all, and so their gradients."""
        if (name, number) not in self.pieces:
            frontier, rows = self.plan.frontiers[number], self._rows(name, number)
            if not frontier.whole:
                rows = rows.index_select(0, self.plan.sent[frontier.sent])
            sizes = frontier.sizes
            rest = len(rows) - sum(sizes)
            self.pieces[name, number] = [*(rows.split([*sizes, rest]) if rest or len(sizes) > 1 else [rows])]
        pieces = self.pieces[name, number]
        piece, pieces[which] = pieces[which], None
        assert piece is not None
        return piece

    def _join(self, name: str) -> Tensor:
        """(N, *shape), a field that was written."""
        rows = _together([self._rows(name, number) for number in range(len(self.blocks))])
        for block in self.blocks:
            block.pop(name, None)
        return rows.index_select(0, self.plan.row)

    def _ids(self, start: int, count: int) -> Tensor:
        return self.plan.nodes[start : start + count].to(self.graph.source.dtype)

    def _ends(self, frontier: Frontier) -> tuple[Tensor, Tensor, Tensor]:
        """(E',) each: source, target and id of the edges that lead to a frontier."""
        edges = self.plan.edges[frontier.edges]
        source, target = (ends.index_select(0, edges) for ends in (self.graph.source, self.graph.target))
        return source, target, edges.to(source.dtype)


class _Columns:
    """Columns that were given, read frontier by frontier.

    To gather rows of a column for each frontier would cost a column of gradients for each. So where there are
    gradients, the rows of the frontiers after the first are gathered together: leaves alone often hold a field.
    """

    def __init__(self, columns: Fields, order: Tensor, bounds: Sequence[slice]) -> None:
        self.columns, self.order, self.bounds = columns, order, bounds
        self.later: dict[str, Sequence[Tensor]] = {}

    def rows(self, name: str, number: int) -> Tensor:
        column = self.columns[name]
        if not number or not column.requires_grad:
            return column.index_select(0, self.order[self.bounds[number]])
        if name not in self.later:
            sizes = [bounds.stop - bounds.start for bounds in self.bounds[1:]]
            self.later[name] = column.index_select(0, self.order[self.bounds[0].stop :]).split(sizes)
        return self.later[name][number - 1]


def _kind(rows: Tensor) -> Kind:
    return rows.dtype, rows.shape[1:], rows.device


def _zeros(kind: Kind, count: int) -> Tensor:
    return torch.zeros(count, *kind[1], dtype=kind[0], device=kind[2])


def _together(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _by_node(messages: Tensor, bucket: Bucket) -> Tensor:
    """(rows, degree, *shape) of (rows * degree, *shape)"""
    return messages.view(bucket.rows, bucket.degree, *messages.shape[1:])


def _checked(function: str, rows: Any, count: int, kinds: Mapping[str, Kind], place: str) -> Fields:
    """What a function returned. ``ValueError`` unless it is a dict of tensors, (count, *shape) of the fields' kinds."""
    if not isinstance(rows, Mapping):
        raise ValueError(f"{place}: the {function} function returned {type(rows).__name__}, not a dict of tensors")
    for name, new in rows.items():
        if not isinstance(new, Tensor) or not new.dim() or len(new) != count:
            what = f"{tuple(new.shape)}" if isinstance(new, Tensor) else type(new).__name__
            raise ValueError(f"{place}: the {function} function returned {name!r} as {what}; it must have {count} rows")
        if name in kinds and _kind(new) != kinds[name]:
            kind, right = (f"{dtype} {tuple(shape)} on {device}" for dtype, shape, device in (_kind(new), kinds[name]))
            raise ValueError(
                f"{place}: the {function} function returned rows of {name!r} as {kind}; others are {right}"
            )
    return dict(rows)
