"""The order of a pass of message functions: which nodes are computed together, and which rows they read.

A **frontier** is a set of nodes that are computed at once: by default the nodes of one level, all of whose sources lie
in earlier frontiers. A plan renumbers nodes as rows, frontier after frontier, so that what a function returns for a
frontier is a slice. Within a frontier rows are sorted by in-degree: a mailbox of one degree is then a view of the
messages, (rows, degree, ...), since the edges of a frontier are sorted by the row that they lead to. What a frontier
reads of earlier ones is one gather for each of these (``gather_plan.py``). Edges of several types are **parts** of a
frontier, each with functions of its own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.dgl_graph import levels
from dgltree.batching.moving import Movable
from dgltree.batching.run_lengths import run_lengths
from dgltree.engine.gather_plan import GatherPlan, gather_plan
from dgltree.engine.message_graph import EdgeFields, EdgeType, MessageGraph, open_graph
from dgltree.engine.schedule import inverse
from dgltree.support.torch_internals import outside_transforms, version_of


class Bucket(NamedTuple):
    """The nodes of a frontier that have one in-degree."""

    degree: int
    rows: int
    """How many they are."""
    start: int
    """The first of them, counted from the frontier's first, in the order of its part."""


@dataclass
class FrontierPart:
    """The edges of one type that lead to a frontier. It has numbers alone: the tensors are the plan's."""

    etype: EdgeType
    edges: slice
    """The edges of the part among those of the plan."""
    buckets: list[Bucket]
    """The buckets by ascending degree."""
    turned: slice | None
    """The order of rows by this degree, among the ``turns`` of the plan; None where they lie in this order."""
    reader: int
    """The part's number among the readers of the plan's gathers."""

    @property
    def width(self) -> int:
        """The number of edges."""
        return self.edges.stop - self.edges.start


@dataclass
class Frontier:
    """Nodes of one type that are computed together."""

    ntype: str
    rows: slice
    """The nodes of the frontier among the rows of the plan."""
    parts: list[FrontierPart]
    """In the order in which their functions run."""

    def __len__(self) -> int:
        return self.rows.stop - self.rows.start


@dataclass(frozen=True)
class TopoPlan(Movable):
    """The frontiers of a graph, for :func:`dgltree.prop_nodes_topo`. Made by :func:`topo_plan`."""

    frontiers: list[Frontier]
    """First one for each node type, those that keep what they have, if any; the others are computed in order."""
    kept: int
    """How many are not computed: the number of node types."""
    is_typed: bool
    """Whether each edge type has functions of its own, which get the nodes that its edges lead to."""
    reverse: bool
    order: str | None
    leaves: bool
    by: str | None
    gathers: GatherPlan | None
    """Which rows each frontier reads of others; None for a single one that reads what was there before the pass."""
    nodes: Tensor
    """(N,) int64, the node of each row, counted in its type: by type, by frontier, by the degree of the frontier's
    first part, and by the first frontier that reads it. Of a single frontier, its nodes alone."""
    row: Tensor | None
    """(N,) int64, type after type the row of each node, counted from the first of its type; None for a single one."""
    types: dict[str, slice]
    """The rows of each node type."""
    edges: Tensor
    """(E',) int64, the ids of the edges along which messages go: part after part, in the order of the mailbox."""
    receiver: Tensor
    """(E',) int64, the row that each of these edges leads to, counted from its frontier's first."""
    turns: Tensor
    """(R,) int64, rows by degree, counted from the frontier's first, of the parts that need it."""
    source: Tensor
    """(E,) int64, the node that each edge of the graph leads from, type after type, by edge id."""
    target: Tensor
    """(E,) int64, the node that it leads to."""
    relations: dict[EdgeType, slice]
    """Where the edges of each type are among these, in the order in which their functions run."""

    def __repr__(self) -> str:
        frontiers = len(self.frontiers) - self.kept
        return f"<TopoPlan: {len(self.nodes)} nodes, {len(self.source)} edges, {frontiers} frontiers>"

    @property
    def device(self) -> torch.device:
        return self.nodes.device

    def map(self, function: Callable[[Tensor], Tensor]) -> "TopoPlan":
        mapped: dict[str, Any] = {
            name: function(value) for name, value in vars(self).items() if isinstance(value, Tensor)
        }
        gathers = self.gathers and self.gathers.map(function)
        return replace(self, **mapped, gathers=gathers)

    def check_for(self, graph: MessageGraph, etypes: Sequence[EdgeType] | None, **options: bool | str | None) -> None:
        """``ValueError`` if it was made for other edges, on another device, or with other options than those given."""
        if etypes is None and self.is_typed:
            raise ValueError(
                f"the plan needs functions for each edge type: give {{edge type: (message_func, reduce_func)}} for "
                f"{', '.join(map(str, self.relations))}"
            )
        if etypes is not None and (not self.is_typed or list(self.relations) != list(etypes)):
            raise ValueError(
                f"the plan is for the edge types {list(self.relations)}, but the functions are for {list(etypes)}: "
                "make the plan by topo_plan(graph, etypes=...), with the types of the functions in this order"
            )
        relations = [graph.relations[graph.etype(etype)] for etype in self.relations]
        nodes = sum(columns.count for columns in graph.nodes.values())
        edges = sum(len(relation.source) for relation in relations)
        if (len(self.nodes), len(self.source)) != (nodes, edges):
            raise ValueError(
                f"the plan has {len(self.nodes)} nodes and {len(self.source)} edges, but the graph has {nodes} nodes "
                f"and {edges} edges"
            )
        if self.device != graph.device:
            raise ValueError(f"the plan is on {self.device}, but the graph is on {graph.device}: use plan.to(device)")
        for name, value in options.items():
            planned = getattr(self, name)
            if value not in (OPTIONS[name], planned):
                raise ValueError(
                    f"the plan was made with {name}={planned!r}; leave out {name}, or make a new plan by topo_plan"
                )
        self._check_edges(relations)

    def _check_edges(self, relations: list[EdgeFields]) -> None:
        """``ValueError`` for other edges than the plan's; the same memory, unchanged, is not compared again.

        On a GPU a comparison waits for the device.
        """
        sources = [relation.source for relation in relations]
        targets = [relation.target for relation in relations]
        ends = sources + targets
        seen = vars(self).get("_seen")
        if seen is not None and all(_is_unchanged(*each) for each in zip(ends, seen, strict=True)):
            return
        with outside_transforms():
            source = torch.cat(sources) if len(sources) > 1 else sources[0]
            target = torch.cat(targets) if len(targets) > 1 else targets[0]
            is_same = len(source) == len(self.source)
            is_same = is_same and bool(((source == self.source) & (target == self.target)).all())  # one wait
        if not is_same:
            raise ValueError(
                "the plan was made for other edges, or the edges have changed since: make a new plan by topo_plan"
            )
        # Not a field, so it does not travel; a tensor that is kept cannot give its memory to another one.
        versions = [None if end.is_inference() else version_of(end) for end in ends]
        self.__dict__["_seen"] = tuple(zip(ends, versions, strict=True))


OPTIONS: dict[str, bool | str | None] = {"reverse": False, "order": None, "leaves": True, "by": None}
"""Options of a plan, as they are by default."""


def topo_plan(
    graph: Any,
    reverse: bool = False,
    *,
    order: str | None = None,
    leaves: bool = True,
    by: str | None = None,
    frontiers: Iterable[Any] | None = None,
    etypes: Iterable[str | EdgeType] | None = None,
) -> TopoPlan:
    """The order in which :func:`dgltree.prop_nodes_topo` runs a graph, made once for many passes.

    Examples:
        >>> import torch, dgltree
        >>> graph = (torch.tensor([[0, 1, 2], [2, 2, 3]]), {"h": torch.ones(4)})
        >>> dgltree.topo_plan(graph)
        <TopoPlan: 4 nodes, 3 edges, 3 frontiers>

    Args:
        graph, reverse, order, leaves, by: as of :func:`dgltree.prop_nodes_topo`.
        frontiers: the numbers of the nodes of each frontier, instead of levels; see :func:`dgltree.prop_nodes`.
        etypes: the edge types that have functions, in the order in which these run at a node; by default all that the
            graph has, if it has several. Edges of other types are left out.

    It depends on the edges alone, and on the fields that ``order`` and ``by`` name. It is made on the CPU, to which
    edges are copied once, and then is on the graph's device; ``.to(device)`` moves it. O((N + E) log N).

    Raises ``ValueError`` for a graph without nodes, or with a cycle, a node of which is named; for an edge type that is
    not there; for frontiers of numbers that are no nodes, of a node twice, and for a node that would be computed before
    one that it reads.
    """
    opened = open_graph(graph)
    is_typed = etypes is not None or len(opened.relations) > 1 or len(opened.nodes) > 1
    flat = _flat_graph(opened, etypes)
    source = flat.source
    target = flat.target
    relation = flat.relation
    n = len(flat.ntype)
    number = _levels(flat, reverse) + leaves if frontiers is None else _given_numbers(frontiers, flat)
    if by is not None:
        number = _numbers_by(number, _whole_numbers(opened, by))
    if is_typed:
        number = _numbers_by(number, flat.ntype)
        number = _numbers_by(number, _sets_of_relations(target, relation, n))
    kept = len(flat.starts)
    block = np.where(number > 0, number + kept - 1, flat.ntype)

    # By degree within a frontier a mailbox is one view (rows, degree, ...), and by first reader within that the rows
    # that a later frontier reads mostly lie next to each other: many gathers are then slices. Nodes of one type are
    # together, so that what is written of a field is one range.
    degree_of_edge, degree = _degrees(target, relation, n)
    reader = np.full(n, n + kept)
    np.minimum.at(reader, source, block[target])
    nodes = np.lexsort((reader, degree, block, flat.ntype))
    row = inverse(nodes)
    rows = _blocks(block[nodes], max(int(block.max()) + 1, kept), flat.starts)
    first_row = np.array([each.start for each in rows])
    names = list(opened.nodes)
    made = []
    for k, each in enumerate(rows):  # one for each type that keep what they have, and may be empty, then the frontiers
        ntype = k if k < kept else flat.ntype[nodes[each.start]]
        made.append(Frontier(names[ntype], each, []))

    slot = np.arange(len(source)) if order is None else _column(opened, flat.etypes, order)
    edges = np.lexsort((slot, row[target], degree_of_edge, block[target], relation))
    edges = edges[block[target[edges]] >= kept]
    above = block[target[edges]]
    below = block[source[edges]]
    receiver = row[target[edges]] - first_row[above]
    runs = run_lengths(relation[edges], above)
    etype_of_run = [flat.etypes[relation[edges[low]]] for low, _ in runs]
    turns = _add_parts(made, runs, above, receiver, etype_of_run)
    if not is_typed:  # functions get the nodes of a frontier whether edges lead there or not
        for frontier in made[kept:]:
            if not frontier.parts:
                without = [Bucket(degree=0, rows=len(frontier), start=0)]
                frontier.parts.append(FrontierPart(flat.etypes[0], slice(0, 0), without, turned=None, reader=0))
    readers = np.repeat(np.arange(len(runs)), [high - low for low, high in runs])
    gathers = gather_plan(max(len(made), len(runs)), below, row[source[edges]] - first_row[below], readers)
    own_start = flat.starts[flat.ntype]
    with outside_transforms():
        arrays = {
            "nodes": nodes - own_start[nodes],
            "row": row - own_start,
            "edges": edges - flat.first_edges[relation[edges]],
            "receiver": receiver,
            "turns": turns,
            "source": source - own_start[source],
            "target": target - own_start[target],
        }
        plan = TopoPlan(
            frontiers=made,
            kept=kept,
            is_typed=is_typed,
            reverse=reverse,
            order=order,
            leaves=leaves,
            by=by,
            gathers=gathers,
            types=dict(zip(names, _slices(flat.starts, n), strict=True)),
            relations=dict(zip(flat.etypes, _slices(flat.first_edges, len(source)), strict=True)),
            **{name: torch.from_numpy(array) for name, array in arrays.items()},
        )
        return plan.to(opened.device)


def single_frontier(
    graph: MessageGraph, ntype: str, nodes: np.ndarray, etype: EdgeType | None, edges: np.ndarray
) -> TopoPlan:
    """The plan of one frontier, whose edges read what was there before the pass, its own nodes included.

    Args:
        graph: any graph, which may have cycles.
        ntype: the type of its nodes.
        nodes: (n,) int64, each once.
        etype: of the edges; None if there are none, and no functions for them.
        edges: (e,) int64, ids of edges that lead to these nodes, each once, in the order of mailboxes.
    """
    targets = edges if etype is None else as_numpy(graph.relations[etype].target)[edges]
    row = np.full(graph.nodes[ntype].count, -1)
    row[nodes] = np.arange(len(nodes))
    degree = np.bincount(row[targets], minlength=len(nodes))
    order = np.argsort(degree, kind="stable")
    row[nodes[order]] = np.arange(len(nodes))
    receiver = row[targets]
    sort = np.argsort(receiver, kind="stable")
    parts = []
    if etype is not None:
        buckets = _buckets(degree[order])
        parts.append(FrontierPart(etype, slice(0, len(edges)), buckets, turned=None, reader=0))
    unused = nodes[:0]
    arrays = {
        "nodes": nodes[order],
        "edges": edges[sort],
        "receiver": receiver[sort],
        "turns": unused,
        "source": unused,
        "target": unused,
    }
    with outside_transforms():
        plan = TopoPlan(
            frontiers=[Frontier(ntype, slice(0, 0), []), Frontier(ntype, slice(0, len(nodes)), parts)],
            kept=1,
            is_typed=False,
            reverse=False,
            order=None,
            leaves=True,
            by=None,
            gathers=None,
            row=None,
            types={ntype: slice(0, len(nodes))},
            relations={part.etype: part.edges for part in parts},
            **{name: torch.from_numpy(array) for name, array in arrays.items()},
        )
        return plan.to(graph.device)


def topological_nodes_generator(graph: Any, reverse: bool = False) -> list[Any]:
    """The nodes level after level, each (nodes,) int64 on the graph's device, as DGL's, for :func:`dgltree.prop_nodes`.

    Examples:
        >>> import torch, dgltree
        >>> dgltree.topological_nodes_generator((torch.tensor([[0, 1, 2], [2, 2, 3]]), {"h": torch.ones(4)}))
        [tensor([0, 1]), tensor([2]), tensor([3])]

    Args:
        graph, reverse: as of :func:`dgltree.prop_nodes_topo`. Edges of all types count; of a graph with several types
            of nodes, a level is a dict of type to nodes.

    Raises ``ValueError`` for a graph without nodes, or with a cycle.
    """
    opened = open_graph(graph)
    flat = _flat_graph(opened, None)
    level = _levels(flat, reverse)
    levels_of_nodes: list[Any] = []
    for k in range(int(level.max()) + 1):
        nodes = np.flatnonzero(level == k)
        by_type = {}
        for number, name in enumerate(opened.nodes):
            of_type = nodes[flat.ntype[nodes] == number] - flat.starts[number]
            if len(of_type):
                by_type[name] = torch.from_numpy(of_type).to(opened.device)
        levels_of_nodes.append(by_type if len(opened.nodes) > 1 else next(iter(by_type.values())))
    return levels_of_nodes


class FlatGraph(NamedTuple):
    """The nodes of all types in one numbering, and the edges of some types between them."""

    ntype: np.ndarray
    """(N,) int64, the number of the type of each node."""
    starts: np.ndarray
    """The first node of each type."""
    ntypes: list[str]
    etypes: list[EdgeType]
    source: np.ndarray
    """(E,) int64, the node that each edge leads from, type after type."""
    target: np.ndarray
    """(E,) int64, the node that it leads to."""
    relation: np.ndarray
    """(E,) int64, the number of the type of each edge."""
    first_edges: np.ndarray
    """The first edge of each type."""

    def name(self, node: int) -> str:
        """A node, for messages."""
        number = node - self.starts[self.ntype[node]]
        if len(self.ntypes) == 1:
            return f"node {number}"
        return f"node {number} of type {self.ntypes[self.ntype[node]]!r}"


def _flat_graph(graph: MessageGraph, etypes: Iterable[str | EdgeType] | None) -> FlatGraph:
    counts = [columns.count for columns in graph.nodes.values()]
    if not sum(counts):
        raise ValueError("an empty graph: give at least one node")
    chosen = list(graph.relations) if etypes is None else [graph.etype(etype) for etype in etypes]
    if len(set(chosen)) < len(chosen) or not chosen:
        raise ValueError(f"etypes are {chosen}: give each edge type once, and at least one")
    starts = np.cumsum(counts) - counts
    start_of = dict(zip(graph.nodes, starts.tolist(), strict=True))
    ends = []
    for etype in chosen:
        relation = graph.relations[etype]
        with outside_transforms():
            both = torch.stack([relation.source, relation.target]).long().cpu().numpy()  # one copy from a GPU
        for end, ntype in zip(both, (etype[0], etype[2]), strict=True):
            count = graph.nodes[ntype].count
            if len(end) and not 0 <= end.min() <= end.max() < count:
                raise ValueError(f"an edge names a node that does not exist: there are {count} nodes, numbered from 0")
        starts_of_ends = np.array([start_of[etype[0]], start_of[etype[2]]])
        ends.append(both + starts_of_ends[:, None])
    sizes = [both.shape[1] for both in ends]
    source, target = np.concatenate(ends, 1)
    return FlatGraph(
        ntype=np.repeat(np.arange(len(counts)), counts),
        starts=starts,
        ntypes=list(graph.nodes),
        etypes=chosen,
        source=source,
        target=target,
        relation=np.repeat(np.arange(len(sizes)), sizes),
        first_edges=np.cumsum(sizes) - sizes,
    )


def _levels(flat: FlatGraph, reverse: bool) -> np.ndarray:
    nodes = len(flat.ntype)
    return levels(flat.target, flat.source, nodes) if reverse else levels(flat.source, flat.target, nodes)


def _degrees(target: np.ndarray, relation: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(E,) how many edges of its type lead where each edge leads; (n,) how many of a node's first type lead to it."""
    count = int(relation.max(initial=0)) + 1
    if count == 1:  # counting needs no sort
        degree = np.bincount(target, minlength=n)
        return degree[target], degree
    _, which, counts = np.unique(target * count + relation, return_inverse=True, return_counts=True)
    of_edge = counts[which]
    first = np.full(n, count)
    np.minimum.at(first, target, relation)
    is_first = relation == first[target]
    of_node = np.zeros(n, np.int64)
    of_node[target[is_first]] = of_edge[is_first]
    return of_edge, of_node


def _sets_of_relations(target: np.ndarray, relation: np.ndarray, n: int) -> np.ndarray:
    """(n,) int64, the same number for nodes to which edges of the same types lead."""
    number = np.zeros(n, np.int64)
    made = 1
    for k in range(int(relation.max(initial=-1)) + 1):
        nodes = np.unique(target[relation == k])
        before, which = np.unique(number[nodes], return_inverse=True)
        number[nodes] = made + which
        made += len(before)
    return number


def _blocks(block: np.ndarray, count: int, starts: np.ndarray) -> list[slice]:
    """The rows of each block, from the block of each row; those that keep what they have may be none."""
    rows = [slice(start, start) for start in starts.tolist()]
    rows += [slice(0, 0)] * (count - len(starts))
    for low, high in run_lengths(block):
        rows[block[low]] = slice(low, high)
    return rows


def _add_parts(
    frontiers: list[Frontier],
    runs: list[tuple[int, int]],
    above: np.ndarray,
    receiver: np.ndarray,
    etypes: list[EdgeType],
) -> np.ndarray:
    """Give frontiers the runs of edges that lead to them; return the order of rows by degree where it is another."""
    turns = [np.empty(0, np.int64)]
    turned = 0
    for number, ((low, high), etype) in enumerate(zip(runs, etypes, strict=True)):
        frontier = frontiers[above[low]]
        degree = np.bincount(receiver[low:high], minlength=len(frontier))
        part = FrontierPart(etype, slice(low, high), [], None, number)
        if (degree[1:] < degree[:-1]).any():
            order = np.argsort(degree, kind="stable")
            degree = degree[order]
            part.turned = slice(turned, turned + len(order))
            turned += len(order)
            turns.append(order)
        part.buckets = _buckets(degree)
        frontier.parts.append(part)
    return np.concatenate(turns)


def _buckets(degree: np.ndarray) -> list[Bucket]:
    """The buckets of rows by ascending degree."""
    return [Bucket(int(degree[low]), high - low, low) for low, high in run_lengths(degree)]


def _slices(starts: np.ndarray, stop: int) -> list[slice]:
    return [slice(low, high) for low, high in pairwise([*starts.tolist(), stop])]


def _given_numbers(frontiers: Iterable[Any], flat: FlatGraph) -> np.ndarray:
    """(N,) int64, the number of the frontier of each node, from 1 on; 0 for a node that is in none."""
    source = flat.source
    target = flat.target
    number = np.zeros(len(flat.ntype), np.int64)
    for k, given in enumerate(frontiers, 1):
        nodes = _flat_nodes(given, k - 1, flat)
        again = nodes[number[nodes] > 0]
        if len(again):
            raise ValueError(
                f"{flat.name(again[0])} is in frontier {number[again[0]] - 1} and in frontier {k - 1}, but a pass "
                "computes each node once: run two passes"
            )
        number[nodes] = k
    late = np.flatnonzero((number[target] > 0) & (number[source] >= number[target]))
    if len(late):
        a = source[late[0]]
        b = target[late[0]]
        raise ValueError(
            f"{flat.name(b)} of frontier {number[b] - 1} reads {flat.name(a)}, which is computed in frontier "
            f"{number[a] - 1}: order the frontiers so that each node is computed before it is read"
        )
    _, without_gaps = np.unique(np.append(number, 0), return_inverse=True)  # some frontier may have no node
    return without_gaps[:-1]


def _flat_nodes(given: Any, frontier: int, flat: FlatGraph) -> np.ndarray:
    """The nodes of a frontier, given by numbers, or by a dict of type to numbers."""
    if not isinstance(given, Mapping):
        if len(flat.ntypes) > 1:
            raise ValueError(
                f"frontier {frontier} is not a dict: give {{node type: nodes}} for a graph with several node types"
            )
        given = {flat.ntypes[0]: given}
    nodes = [np.empty(0, np.int64)]
    for ntype, numbers in given.items():
        if ntype not in flat.ntypes:
            raise ValueError(f"frontier {frontier} has the node type {ntype!r}; the graph has {', '.join(flat.ntypes)}")
        number = flat.ntypes.index(ntype)
        count = int((flat.ntype == number).sum())
        nodes.append(numbers_of(numbers, count, f"frontier {frontier}") + flat.starts[number])
    return np.concatenate(nodes)


def as_numpy(numbers: Tensor) -> np.ndarray:
    """The numbers of nodes, (n,) int64 on the CPU."""
    with outside_transforms():
        return numbers.long().cpu().numpy()


def numbers_of(given: Any, count: int, what: str, kind: str = "node", once: bool = True) -> np.ndarray:
    """(n,) int64, the nodes or edges that a call names, or the one.

    Raises ``ValueError`` for what are no numbers from 0 to count - 1, and for one that is there twice unless it may be.
    """
    with outside_transforms():
        numbers = torch.as_tensor(given).cpu().numpy()
    if numbers.ndim > 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise ValueError(f"{what} has shape {numbers.shape} and is {numbers.dtype}: give the numbers of its {kind}s")
    numbers = np.atleast_1d(numbers).astype(np.int64)
    wrong = numbers[(numbers < 0) | (numbers >= count)]
    if len(wrong):
        raise ValueError(f"{what} has {kind} {wrong[0]}: there are {count}, numbered from 0")
    different, counts = np.unique(numbers, return_counts=True)
    if once and len(different) < len(numbers):
        raise ValueError(f"{what} has {kind} {different[counts > 1][0]} twice")
    return numbers


def _numbers_by(number: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Numbers of frontiers in the same order, in each of which all nodes are of one kind."""
    kinds, which = np.unique(kind, return_inverse=True)
    is_computed = number > 0
    pairs = number * len(kinds) + which
    _, of_computed = np.unique(pairs[is_computed], return_inverse=True)
    divided = number.copy()
    divided[is_computed] = of_computed + 1
    return divided


def _is_unchanged(edges: Tensor, seen: tuple[Tensor, int | None]) -> bool:
    """Whether edges are the tensor that was seen, or the same view of one, and were not changed in place since.

    The same memory alone is not enough: tensors of one array of NumPy each count their own changes.
    """
    before, version = seen
    if version is None or version_of(edges) != version:
        return False
    if edges is before:
        return True
    if edges._base is None or edges._base is not before._base:
        return False
    where = edges.storage_offset(), edges.stride(), edges.shape
    return where == (before.storage_offset(), before.stride(), before.shape)


def _whole_numbers(graph: MessageGraph, name: str) -> np.ndarray:
    """A field of the nodes to divide them by. ``ValueError`` if it is not there or not a whole number for each."""
    columns = []
    for nodes in graph.nodes.values():
        column = nodes.data.get(name)
        if column is None or column.dim() != 1 or column.is_floating_point() or column.is_complex():
            raise ValueError(
                f"by={name!r}: the nodes have no such field with one whole number per node; their fields are "
                f"{list(nodes.data)}"
            )
        columns.append(column.cpu().numpy())
    return np.concatenate(columns)


def _column(graph: MessageGraph, etypes: list[EdgeType], name: str) -> np.ndarray:
    """A field of the edges to sort by. ``ValueError`` if it is not there or not one number for each edge."""
    columns = []
    for etype in etypes:
        edata = graph.relations[etype].data
        column = edata.get(name)
        if column is None or column.dim() != 1:
            raise ValueError(
                f"order={name!r}: the edges have no such field with one number per edge; their fields are {list(edata)}"
            )
        columns.append(column.detach().cpu().numpy())
    return np.concatenate(columns)
