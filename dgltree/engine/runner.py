"""Message, reduce and apply functions along any DAG, as DGL runs them: without DGL, on any device, in O(N)."""

import dis
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, lru_cache, partial
from types import CellType, CodeType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dgltree.engine.autograd import device_generator_state, restore_generator
from dgltree.engine.compiled.recording import PassFunctions
from dgltree.engine.compiled.run_functions import compiled_fields, why_not_compiled
from dgltree.engine.frames import ChangedInPlaceError, EdgeBatch, Frame, MessageFunction, NodeBatch, NodeFunction
from dgltree.engine.frontiers import Bucket, Frontier, FrontierPart, TopoPlan, topo_plan
from dgltree.engine.function import message_function, reduce_function
from dgltree.engine.kernels.dispatch import refuse_if_required
from dgltree.engine.message_graph import EdgeType, Fields, MessageGraph, open_graph
from dgltree.support.torch_internals import exclude_from_compile


def check_reads_no_graph(name: str, function: Any, graph: object) -> None:
    """``ValueError`` for a function that can read the graph of its pass, in which new fields are written at the end.

    Seen are the variables that it closes over, its defaults, and the globals that its code names, also in functions
    within it.
    """
    while isinstance(function, partial):
        function = function.func
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        return
    closure = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    seen = {variable: cell.cell_contents for variable, cell in closure.items() if _is_filled(cell)}
    for variable in _globals_of(code):
        if variable in function.__globals__:
            seen[variable] = function.__globals__[variable]
    defaults = function.__defaults__ or ()
    positional = code.co_varnames[: code.co_argcount]
    seen |= dict(zip(positional[len(positional) - len(defaults) :], defaults, strict=True))
    seen |= function.__kwdefaults__ or {}
    for variable, value in seen.items():
        if value is graph:
            raise ValueError(
                f"{name} reads the graph {variable!r}, whose fields do not change during the pass: read edges.src, "
                "edges.dst, edges.data or nodes.data, or read constants from the graph before the pass"
            )


def _is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # a variable that has no value yet
        return False


@lru_cache(256)
def _globals_of(code: CodeType) -> frozenset[str]:
    """The global names that a piece of code reads, and what is defined within it."""
    names = {each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _globals_of(constant)
    return frozenset(names)


class FieldKind(NamedTuple):
    """What a field is: tensors of one field have one kind."""

    dtype: torch.dtype
    shape: torch.Size
    """The shape of a row."""
    device: torch.device

    @staticmethod
    def of(rows: Tensor) -> "FieldKind":
        return FieldKind(rows.dtype, rows.shape[1:], rows.device)

    def zeros(self, rows: int) -> Tensor:
        """(rows, *shape)."""
        return torch.zeros(rows, *self.shape, dtype=self.dtype, device=self.device)

    def __str__(self) -> str:
        return f"{self.dtype} {tuple(self.shape)} on {self.device}"


@exclude_from_compile
def prop_nodes_topo(
    graph: Any,
    message_func: MessageFunction | Any,
    reduce_func: NodeFunction | Any = None,
    reverse: bool = False,
    apply_node_func: NodeFunction | None = None,
    *,
    order: str | None = None,
    leaves: bool = True,
    by: str | None = None,
    plan: TopoPlan | None = None,
) -> Fields:
    """``dgl.prop_nodes_topo``: messages, reduce and apply functions of your own, frontier after frontier of a DAG.

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
            ``.batch_size()``), returns a dict of messages, (E', ...) each. Or a dict of edge types to
            ``(message_func, reduce_func)`` or ``(message_func, reduce_func, apply_node_func)``: these get the nodes of
            a frontier to which edges of the type lead, type after type in the order of the dict, and a later one reads
            what an earlier one wrote. Edges of other types are left out.
        reduce_func: gets nodes of one in-degree, 1 or more (``nodes.data``, ``.nodes()``, ``.batch_size()``, and
            ``.mailbox`` with (N', degree, ...) a message), returns a dict of fields, (N', ...) each.
        reverse: whether the order of the nodes is turned: from nodes without out-edges to those without in-edges. As
            in DGL, messages still go along the edges, so a node gets what its sources had before the pass.
        apply_node_func: gets the nodes of a frontier, with what was reduced; what it returns is written instead.
        order: a field of the edges, such as ``"slot"``, that sorts each mailbox; by default edge ids do.
        leaves: whether nodes without in-edges are computed, too, by the apply function alone. Otherwise they keep what
            they have.
        by: a field of the nodes, whole numbers, such as ``"function"``: functions then get nodes, and edges to nodes,
            of one number at a time.
        plan: what :func:`dgltree.topo_plan` made for this graph, else it is made here. With one, no value is read from
            the device, except once to compare edges that lie in other memory than before. ``reverse``, ``order``,
            ``leaves`` and ``by`` are the plan's.

    Built-in functions of ``dgl.function`` are taken by name. As in DGL they write 0 where a node gets no message, at
    leaves too; a new field is 0 where nobody wrote it, or what ``set_n_initializer`` says; and the fields that the
    reduce function returns for the lowest degree of a frontier are written, so it must return them for the others too.

    Returns the fields that were written, (N, ...) each, which also are in the graph's ``ndata`` (or in the ``Data``, or
    the dict; a TreeBatch stays as it is); a dict of node types to such fields if there are several. Gradients flow to
    all fields and parameters. Time and memory are O(N + E): a frontier gathers the rows that its edges lead from, and
    what was written is joined at the end.

    On a CPU functions run as machine code where they can be compiled (:func:`dgltree.engine.why_not`), with the same
    results up to rounding. They then also run on made-up nodes, before they are compiled and once before each pass, so
    what they print, count or append is more than there are frontiers.

    A function may change what it reads in place (``nodes.data["x"][:, :3] += y``, ``relu_``). The first time that one
    does, the pass starts again from its inputs and the same random numbers, and functions get copies.

    Raises ``ValueError`` for an empty graph, a cycle, an edge type that is not there, a plan of other edges, rows of a
    different number, dtype or shape, and for a function that reads ``graph`` itself, which has the fields from before
    the pass until it ends; ``KeyError`` for a field that is not there, ``TypeError`` for what is no function or graph.
    Messages name frontier, degree and field. Nothing is written then.

    See also: :func:`dgltree.prop_nodes` for frontiers of your own; :func:`dgltree.propagate`, which runs a cell, and is
    faster.
    """
    if not isinstance(reverse, bool):
        raise TypeError(f"reverse is a {type(reverse).__name__}; pass an apply function as apply_node_func=...")
    if plan is not None and not isinstance(plan, TopoPlan):
        raise TypeError(f"plan is a {type(plan).__name__}: make one by dgltree.topo_plan(graph)")
    opened = open_graph(graph)
    functions, apply, etypes = _functions_by_type(opened, message_func, reduce_func, apply_node_func)
    if plan is None:
        plan = topo_plan(graph, reverse, order=order, leaves=leaves, by=by, etypes=etypes)
    else:
        plan.check_for(opened, etypes, reverse=reverse, order=order, leaves=leaves, by=by)
    return run_plan(opened, plan, functions, apply)


@exclude_from_compile
def prop_nodes(
    graph: Any,
    frontiers: Iterable[Any] | TopoPlan,
    message_func: MessageFunction | Any,
    reduce_func: NodeFunction | Any = None,
    apply_node_func: NodeFunction | None = None,
    *,
    order: str | None = None,
    by: str | None = None,
) -> Fields:
    """``dgl.prop_nodes``: frontiers of your own, one after the other. Nodes in none of them keep what they have.

    Examples:
        >>> import torch, dgltree
        >>> nodes = {"h": torch.tensor([1.0, 2.0, 0.0, 0.0])}
        >>> graph = (torch.tensor([[0, 1, 2], [2, 2, 3]]), nodes)
        >>> order = dgltree.topological_nodes_generator(graph)
        >>> written = dgltree.prop_nodes(
        ...     graph, order[1:], lambda edges: {"m": edges.src["h"]}, lambda nodes: {"h": nodes.mailbox["m"].sum(1)}
        ... )
        >>> nodes["h"]
        tensor([1., 2., 3., 3.])

    Args:
        graph, message_func, reduce_func, apply_node_func, order, by: as of :func:`dgltree.prop_nodes_topo`. The apply
            function gets all nodes of a frontier.
        frontiers: the numbers of the nodes of each, such as :func:`dgltree.topological_nodes_generator` gives them (of
            several node types a dict of type to numbers); or a plan of ``topo_plan(graph, frontiers=...)``, whose
            ``order`` and ``by`` it has.

    Returns and raises what :func:`dgltree.prop_nodes_topo` does; ``ValueError``, too, for numbers that are no nodes,
    for a node twice, and for a node that would be computed before one that it reads, or together with it.
    """
    opened = open_graph(graph)
    functions, apply, etypes = _functions_by_type(opened, message_func, reduce_func, apply_node_func)
    if isinstance(frontiers, TopoPlan):
        frontiers.check_for(opened, etypes, order=order, by=by)
        plan = frontiers
    else:
        plan = topo_plan(graph, order=order, by=by, frontiers=frontiers, etypes=etypes)
    return run_plan(opened, plan, functions, apply)


@exclude_from_compile
def why_not(
    graph: Any,
    message_func: MessageFunction | Any,
    reduce_func: NodeFunction | Any = None,
    apply_node_func: NodeFunction | None = None,
    *,
    plan: TopoPlan | None = None,
) -> str | None:
    """Why :func:`dgltree.prop_nodes_topo` computes these functions by torch's operations; None for machine code.

    Examples:
        >>> import torch
        >>> from dgltree.engine import why_not
        >>> graph = torch.tensor([[0, 1], [2, 2]]), {"h": torch.tensor([1.0, 2.0, 0.0])}
        >>> send = lambda edges: {"m": edges.src["h"]}
        >>> print(why_not(graph, send, lambda nodes: {"h": nodes.mailbox["m"].sum(1)}))
        None
        >>> why_not(graph, send, lambda nodes: {"h": nodes.mailbox["m"].sort(1).values[:, 0]})[:12]
        'not compiled'

    Args:
        graph, message_func, reduce_func, apply_node_func, plan: as of :func:`dgltree.prop_nodes_topo`.

    The functions run on made-up nodes, and nothing is written. The line has the reason, and the line of the function
    that it comes from.
    """
    opened = open_graph(graph)
    functions, _, etypes = _functions_by_type(opened, message_func, reduce_func, apply_node_func)
    if plan is None:
        plan = topo_plan(graph, etypes=etypes)
    if len(functions) > 1 or etypes is not None:
        return "not compiled: functions of edge types"
    [own] = functions.values()
    return why_not_compiled(opened, plan, own.pass_functions)


class EdgeFunctions:
    """What runs where edges of one type lead.

    Raises ``TypeError`` for what is no function, ``ValueError`` for one that can read ``graph``.
    """

    def __init__(self, graph: MessageGraph, message_func: Any, reduce_func: Any, apply_node_func: Any) -> None:
        self.message = message_function(message_func)
        self.reduce, self.reduces_all = reduce_function(reduce_func)
        self.apply = apply_function(graph, apply_node_func)
        check_reads_no_graph("message_func", message_func, graph.owner)
        check_reads_no_graph("reduce_func", reduce_func, graph.owner)

    @property
    def pass_functions(self) -> PassFunctions:
        """The functions as the compiler takes them."""
        return PassFunctions(self.message, self.reduce, self.reduces_all, self.apply)


def apply_function(graph: MessageGraph, given: Any) -> NodeFunction | None:
    """An apply function, or None. ``TypeError`` for anything else, ``ValueError`` for one that can read ``graph``."""
    if given is not None and not callable(given):
        raise TypeError(f"apply_node_func is a {type(given).__name__}: give a function of nodes, or None")
    check_reads_no_graph("apply_node_func", given, graph.owner)
    return given


def _functions_by_type(
    graph: MessageGraph, message: Any, reduce: Any, apply: Any
) -> tuple[dict[EdgeType, EdgeFunctions], NodeFunction | None, list[EdgeType] | None]:
    """The functions of each edge type, that of all nodes, and the edge types if functions were given by type."""
    if not isinstance(message, Mapping):
        if len(graph.relations) > 1 or len(graph.nodes) > 1:
            raise ValueError(
                f"the graph has several node types or edge types: give {{edge type: (message_func, reduce_func)}} as "
                f"message_func; the edge types are {', '.join(map(str, graph.relations))}"
            )
        [etype] = graph.relations
        return {etype: EdgeFunctions(graph, message, reduce, apply)}, None, None
    if reduce is not None:
        raise TypeError("message_func is a dict, which also contains the reduce functions: leave out reduce_func")
    functions = {}
    for name, given in message.items():
        if not isinstance(given, tuple) or len(given) not in (2, 3):
            raise TypeError(
                f"the functions of edge type {name!r} are {given!r}: give (message_func, reduce_func) or "
                "(message_func, reduce_func, apply_node_func)"
            )
        functions[graph.etype(name)] = EdgeFunctions(graph, *given, *[None][: 3 - len(given)])
    if len(functions) < len(message):
        raise ValueError(f"the edge types {list(message)} name one of the graph's types twice: {list(functions)}")
    return functions, apply_function(graph, apply), list(functions)


def run_plan(
    graph: MessageGraph,
    plan: TopoPlan,
    functions: Mapping[EdgeType, EdgeFunctions],
    apply: NodeFunction | None,
    call: str | None = None,
) -> Any:
    """What is written, also into the graph, when all of it is there: fields, by node type if there are several.

    ``call`` names what a single frontier is computed for, in messages.
    """

    def by_torch(graph: MessageGraph) -> dict[str, Fields]:
        return _restarting(plan, lambda clone: _Pass(graph, plan, functions, apply, clone, call).run())

    written = _compiled(graph, plan, functions, by_torch) or by_torch(graph)
    for ntype, fields in written.items():
        graph.nodes[ntype].write(fields)
    return written if len(graph.nodes) > 1 else written.get(next(iter(graph.nodes)), {})


def _compiled(
    graph: MessageGraph,
    plan: TopoPlan,
    functions: Mapping[EdgeType, EdgeFunctions],
    by_torch: Callable[[MessageGraph], dict[str, Fields]],
) -> dict[str, Fields] | None:
    """What is written, by node type, if there is machine code for the functions."""
    if len(functions) != 1 or len(graph.nodes) > 1:
        refuse_if_required("not compiled: functions of edge types, or of nodes alone")
        return None
    [ntype] = graph.nodes
    [own] = functions.values()
    fields = compiled_fields(graph, plan, own.pass_functions, lambda given: by_torch(given)[ntype])
    return None if fields is None else {ntype: fields}


def send_messages(
    graph: MessageGraph, plan: TopoPlan, functions: Mapping[EdgeType, EdgeFunctions], call: str
) -> Fields:
    """(E', *shape) each, what the message function of a single frontier returns, in the order of the plan's edges."""
    return _restarting(plan, lambda clone: _Pass(graph, plan, functions, None, clone, call).send())


def _restarting(plan: TopoPlan, run: Callable[[bool], Any]) -> Any:
    """What a pass returns; it gets whether functions need copies, since one changes in place what others may read."""
    devices = [torch.device("cpu")]
    if plan.device.type == "cuda":
        devices.append(plan.device)
    generators = {device: device_generator_state(device) for device in devices}
    try:
        return run(False)
    except ChangedInPlaceError:
        pass
    except RuntimeError as error:  # torch's, of views that autograd records
        if "modified inplace" not in str(error) and "in-place operation" not in str(error):
            raise
    for device, state in generators.items():  # the rows of some frontier are spoilt, which later ones would read
        restore_generator(state, device)
    return run(True)


class _Pass:
    """One run over a graph: what was given, and what was written, a block of rows for each frontier."""

    def __init__(
        self,
        graph: MessageGraph,
        plan: TopoPlan,
        functions: Mapping[EdgeType, EdgeFunctions],
        apply: NodeFunction | None,
        clone: bool,
        call: str | None,
    ) -> None:
        self.graph = graph
        self.plan = plan
        self.functions = functions
        self.apply = apply
        self.clone = clone
        self.call = call
        self.kinds = {ntype: _kinds_of(nodes.data) for ntype, nodes in graph.nodes.items()}
        """The kinds of all fields, by node type."""
        self.blocks: list[Fields] = [{} for _ in plan.frontiers]
        self.written: dict[tuple[str, str], None] = {}
        """The types and names of what is in the blocks."""
        self.pieces: dict[tuple[str, int], list[Tensor | None]] = {}
        """Field and frontier to the rows for each reader that has not read them yet."""
        self.initial: dict[tuple[str, str], Tensor] = {}
        """New fields as their initializers make them."""
        self.numbers: dict[str, list[int]] = {ntype: [] for ntype in plan.types}
        """The frontiers of each node type."""
        parts: dict[EdgeType, dict[int, slice]] = {etype: {} for etype in plan.relations}
        for number, frontier in enumerate(plan.frontiers):
            self.numbers[frontier.ntype].append(number)
            for part in frontier.parts:
                if part.width:
                    parts[part.etype][part.reader] = part.edges
        self.nodes = {}
        for ntype, numbers in self.numbers.items():
            rows = {number: plan.frontiers[number].rows for number in numbers}
            # Those that keep what they have, and leaves, which alone often hold a field, are read apart from others.
            self.nodes[ntype] = _Columns(graph.nodes[ntype].data, plan.nodes, rows, apart=2)
        self.edges = {
            etype: _Columns(graph.relations[etype].data, plan.edges, edges, apart=0) for etype, edges in parts.items()
        }

    def run(self) -> dict[str, Fields]:
        """The fields that were written, (N, *shape) each, by node type."""
        for number in range(self.plan.kept, len(self.blocks)):
            self._compute(number)
        written: dict[str, Fields] = {}
        for ntype, name in self.written:
            written.setdefault(ntype, {})[name] = self._join(ntype, name)
        return written

    def send(self) -> Fields:
        """The messages of the only frontier."""
        number = self.plan.kept
        [part] = self.plan.frontiers[number].parts
        kinds = _kinds_of(self.graph.relations[part.etype].data)
        return self._messages(part, number, self._data(number, self.call or ""), kinds)

    def _compute(self, number: int) -> None:
        """Fill the block of a frontier: part after part, then by the function of all nodes."""
        frontier = self.plan.frontiers[number]
        frontier_place = self.call or f"frontier {number - self.plan.kept}"
        for part in frontier.parts:
            functions = self.functions[part.etype]
            place = f"{frontier_place}, edges {part.etype[1]!r}" if self.plan.is_typed else frontier_place
            data = self._data(number, place)
            new: Fields = {}
            if part.width or functions.reduces_all:
                new = self._reduce(part, frontier, data, self._messages(part, number, data, {}))
            if functions.apply is not None:
                new = self._applied(functions.apply, frontier, [part], data, new)
            self._keep(number, new)
        if self.apply is not None:
            data = self._data(number, frontier_place)
            self._keep(number, self._applied(self.apply, frontier, frontier.parts, data, {}))

    def _data(self, number: int, place: str) -> Frame:
        """The fields of the nodes of a frontier."""
        kinds = self.kinds[self.plan.frontiers[number].ntype]
        return self._frame(kinds, lambda name: self._rows(name, number), place)

    def _keep(self, number: int, new: Fields) -> None:
        """Put rows of new fields into the block of a frontier."""
        ntype = self.plan.frontiers[number].ntype
        self.blocks[number].update(new)
        for name, rows in new.items():
            if (ntype, name) not in self.written:
                self.written[ntype, name] = None
                self.kinds[ntype].setdefault(name, FieldKind.of(rows))

    def _applied(
        self, apply: NodeFunction, frontier: Frontier, parts: list[FrontierPart], data: Frame, reduced: Fields
    ) -> Fields:
        """What an apply function returns for a frontier, of what it has and what was reduced."""
        kinds = self.kinds[frontier.ntype]

        def field(name: str) -> Tensor:
            return reduced[name] if name in reduced else data[name]

        given = self._frame({**kinds, **reduced}, field, data.place)
        ids = partial(self._ids, frontier, None, 0, len(frontier))
        nodes = NodeBatch(given, None, len(frontier), ids, lambda: self._ends(parts), frontier.ntype)
        rows = _checked("apply", apply(nodes), len(frontier), kinds, data.place)
        given.check_unchanged()
        return rows

    def _messages(self, part: FrontierPart, number: int, data: Frame, kinds: Mapping[str, FieldKind]) -> Fields:
        """(E', *shape) each, in the order of the mailbox; fields of some kinds must be of these."""
        source_type, _, target_type = part.etype
        edata = self.graph.relations[part.etype].data
        columns = self.edges[part.etype]

        def of_target(name: str) -> Tensor:
            return data[name].index_select(0, self.plan.receiver[part.edges])

        def along_edges(name: str) -> Tensor:
            return columns.rows(name, part.reader) if part.width else edata[name][:0]

        src = self._frame(self.kinds[source_type], lambda name: self._sources(name, part), data.place)
        dst = self._frame(self.kinds[target_type], of_target, data.place)
        along = self._frame(edata, along_edges, data.place)
        edges = EdgeBatch(src, dst, along, part.width, lambda: self._ends([part]), part.etype)
        rows = _checked("message", self.functions[part.etype].message(edges), part.width, kinds, data.place)
        for frame in (src, dst, along, data):
            frame.check_unchanged()
        return rows

    def _reduce(self, part: FrontierPart, frontier: Frontier, data: Frame, messages: Fields) -> Fields:
        """What the reduce function returns, bucket after bucket; 0 for nodes without messages, which it never gets."""
        functions = self.functions[part.etype]
        buckets = part.buckets
        turn = None if part.turned is None else self.plan.turns[part.turned]
        sizes = [bucket.rows for bucket in buckets]
        mail_sizes = [bucket.degree * bucket.rows for bucket in buckets]
        sent = cache(lambda name: messages[name].split(mail_sizes))
        own = cache(lambda name: _turned(data[name], turn).split(sizes))
        all_kinds = self.kinds[frontier.ntype]
        kinds = {} if functions.apply else dict(all_kinds)
        parts: dict[str, list[Tensor]] = {}
        for k, bucket in enumerate(buckets):
            if not bucket.degree and not functions.reduces_all:
                continue
            place = f"{data.place}, degree {bucket.degree}"
            mailbox = self._frame(messages, lambda name, k=k: _by_node(sent(name)[k], buckets[k]), place)  # type: ignore[misc]
            nodes = self._frame(all_kinds, lambda name, k=k: own(name)[k], place)  # type: ignore[misc]
            ids = partial(self._ids, frontier, turn, bucket.start, bucket.rows)
            batch = NodeBatch(nodes, mailbox, bucket.rows, ids, lambda: self._ends([part]), frontier.ntype)
            reduced = _checked("reduce", functions.reduce(batch), bucket.rows, kinds, place)
            mailbox.check_unchanged()
            nodes.check_unchanged()
            if not parts:
                parts = {name: [] for name in reduced}
                kinds |= _kinds_of(reduced)
            elif missing := parts.keys() - reduced:
                raise ValueError(
                    f"{place}: the reduce function returned no {min(missing)!r}, although it did for nodes with fewer "
                    "children"
                )
            for name, rows in parts.items():
                rows.append(reduced[name])
        back = None if turn is None else turn.argsort()
        fields = {}
        for name, rows in parts.items():
            if not buckets[0].degree and not functions.reduces_all:
                rows.insert(0, kinds[name].zeros(buckets[0].rows))
            fields[name] = _turned(_together(rows), back)
        return fields

    def _frame(self, names: Collection[str], gather: Callable[[str], Tensor], place: str) -> Frame:
        return Frame(names, gather, place, self.clone)

    def _rows(self, name: str, number: int) -> Tensor:
        """(frontier, *shape) of a field: what was written, else what was given, else 0."""
        frontier = self.plan.frontiers[number]
        ntype = frontier.ntype
        if name in self.blocks[number]:
            return self.blocks[number][name]
        if name in self.graph.nodes[ntype].data:
            return self.nodes[ntype].rows(name, number)
        if self.graph.nodes[ntype].initializer(name) is None:
            return self.kinds[ntype][name].zeros(len(frontier))
        return self._initial(ntype, name).index_select(0, self.plan.nodes[frontier.rows])

    def _initial(self, ntype: str, name: str) -> Tensor:
        """(N, *shape), what a new field has before it is written."""
        if (ntype, name) not in self.initial:
            nodes = self.graph.nodes[ntype]
            kind = self.kinds[ntype][name]
            initializer = nodes.initializer(name)
            if initializer is None:
                rows = kind.zeros(nodes.count)
            else:
                rows = initializer((nodes.count, *kind.shape), kind.dtype, kind.device, slice(0, nodes.count))
            self.initial[ntype, name] = rows
        return self.initial[ntype, name]

    def _sources(self, name: str, part: FrontierPart) -> Tensor:
        """(E', *shape), the field at the nodes that edges lead from: pieces of the frontiers that are read."""
        ntype = part.etype[0]
        gathers = self.plan.gathers
        if not part.width:
            return self.kinds[ntype][name].zeros(0)
        column = self.graph.nodes[ntype].data.get(name)
        is_given = column is not None and (ntype, name) not in self.written
        if column is not None and (gathers is None or (is_given and not column.requires_grad)):
            source = self.graph.relations[part.etype].source.index_select(0, self.plan.edges[part.edges])
            return column.index_select(0, source)
        assert gathers is not None
        pieces = [self._piece(name, read, which) for read, which in gathers.blocks[part.reader].pieces]
        return gathers.join(part.reader, pieces)

    def _piece(self, name: str, number: int, which: int) -> Tensor:
        """The rows of a frontier that one other reads: gathered for all its readers when the first one asks."""
        if (name, number) not in self.pieces:
            assert self.plan.gathers is not None
            self.pieces[name, number] = [*self.plan.gathers.split(number, self._rows(name, number))]
        pieces = self.pieces[name, number]
        piece = pieces[which]
        pieces[which] = None  # each is read once
        assert piece is not None
        return piece

    def _join(self, ntype: str, name: str) -> Tensor:
        """(N, *shape), a field that was written."""
        if self.plan.row is None:
            column = self.graph.nodes[ntype].data.get(name)
            before = self._initial(ntype, name) if column is None else column
            return before.index_copy(0, self.plan.nodes, self.blocks[self.plan.kept][name])
        rows = _together([self._rows(name, number) for number in self.numbers[ntype]])
        for number in self.numbers[ntype]:
            self.blocks[number].pop(name, None)
        return rows.index_select(0, self.plan.row[self.plan.types[ntype]])

    def _ids(self, frontier: Frontier, turn: Tensor | None, start: int, count: int) -> Tensor:
        nodes = _turned(self.plan.nodes[frontier.rows], turn)
        return nodes[start : start + count].to(self.graph.id_dtype)

    def _ends(self, parts: list[FrontierPart]) -> tuple[Tensor, Tensor, Tensor]:
        """(E',) each: source, target and id of the edges of some parts."""
        ends = [self.plan.edges.new_empty(3, 0)]
        for part in parts:
            relation = self.graph.relations[part.etype]
            edges = self.plan.edges[part.edges]
            ends.append(torch.stack([relation.source[edges].long(), relation.target[edges].long(), edges]))
        source, target, edges = torch.cat(ends, 1).to(self.graph.id_dtype)
        return source, target, edges


class _Columns:
    """Columns that were given, read slice by slice.

    To gather rows of a column for each slice would cost a column of gradients for each. So where there are gradients,
    the rows of all slices but the first are gathered together, which lie one after the other.

    Args:
        columns: (N, *shape) each.
        order: the row of a column that each row of the plan is.
        slices: which rows of the plan, by number.
        apart: how many of the first are gathered on their own.
    """

    def __init__(self, columns: Fields, order: Tensor, slices: Mapping[int, slice], apart: int) -> None:
        self.columns = columns
        self.order = order
        self.slices = slices
        self.together = list(slices)[apart:]
        self.gathered: dict[str, dict[int, Tensor]] = {}

    def rows(self, name: str, number: int) -> Tensor:
        column = self.columns[name]
        if not column.requires_grad or not self.together or number < self.together[0]:
            return column.index_select(0, self.order[self.slices[number]])
        if name not in self.gathered:
            slices = [self.slices[each] for each in self.together]
            rows = column.index_select(0, self.order[slices[0].start : slices[-1].stop])
            parts = rows.split([each.stop - each.start for each in slices])
            self.gathered[name] = dict(zip(self.together, parts, strict=True))
        return self.gathered[name][number]


def _turned(rows: Tensor, turn: Tensor | None) -> Tensor:
    return rows if turn is None else rows.index_select(0, turn)


def _kinds_of(fields: Mapping[str, Tensor]) -> dict[str, FieldKind]:
    return {name: FieldKind.of(rows) for name, rows in fields.items()}


def _together(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _by_node(messages: Tensor, bucket: Bucket) -> Tensor:
    """(rows, degree, *shape) of (rows * degree, *shape)"""
    return messages.view(bucket.rows, bucket.degree, *messages.shape[1:])


def _checked(function: str, rows: Any, count: int, kinds: Mapping[str, FieldKind], place: str) -> Fields:
    """What a function returned. ``ValueError`` unless it is a dict of tensors, (count, *shape) of the fields' kinds."""
    if not isinstance(rows, Mapping):
        raise ValueError(f"{place}: the {function} function returned {type(rows).__name__}, not a dict of tensors")
    for name, new in rows.items():
        if not isinstance(new, Tensor) or not new.dim() or len(new) != count:
            what = f"{tuple(new.shape)}" if isinstance(new, Tensor) else type(new).__name__
            raise ValueError(f"{place}: the {function} function returned {name!r} as {what}; it must have {count} rows")
        if name in kinds and kinds[name] != FieldKind.of(new):
            raise ValueError(
                f"{place}: the {function} function returned rows of {name!r} as {FieldKind.of(new)}, but other rows "
                f"are {kinds[name]}"
            )
    return dict(rows)
