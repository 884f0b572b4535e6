"""Recordings of functions: they are called once, on made-up nodes and messages, and each operation of torch is kept.

A recording belongs to one number of nodes and one degree. Whether a program that was made of one holds for others is
found by recording again and comparing operation by operation: the *skeleton* of a recording is all that must be equal,
and its *numbers* are those that may follow the number of nodes and the degree.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from linecache import getline
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, NoReturn

import torch
import torch.utils._python_dispatch
from torch import Tensor

from dgltree.engine.autograd import device_generator_state, restore_generator
from dgltree.engine.compiled.counts import CountMode, CountQuestion
from dgltree.engine.compiled.equations import Equations
from dgltree.engine.compiled.tensors import NotAProgramError
from dgltree.engine.frames import EdgeBatch, Frame, NodeBatch
from dgltree.engine.kernels.dispatch import kernels
from dgltree.engine.message_graph import EDGE, NODE

FEW_NUMBERS = 64
"""Numbers of a tensor that a function makes of a list at each call: it is known again by them."""
MOST_FIELDS = 200
"""Fields of nodes and edges together: each is one more argument of a program."""
OF_NODES = ("node", "target")
"""Arrays of the nodes that functions get, and of the nodes that their edges lead to, which are the same."""
DECIDES = {"_local_scalar_dense", "equal", "is_nonzero", "item", "masked_select", "nonzero", "unique", "_unique2"}
"""Operations whose results are for Python, or whose shape depends on values."""
OWN = (str(Path(torch.__file__).parent), str(Path(__file__).parent.parent))
"""Folders whose lines no user wrote."""


class UserLine(NamedTuple):
    """A line of a user's function."""

    file: str
    number: int

    def __str__(self) -> str:
        return f'"{getline(self.file, self.number).strip()}" ({Path(self.file).name}:{self.number})'


class Kind(NamedTuple):
    """The kind of a field: what its rows are."""

    shape: tuple[int, ...]
    dtype: torch.dtype


def kind_of(dtype: torch.dtype) -> str:
    """What numbers of a dtype are to a program: "truth", "float" or "whole"."""
    if dtype == torch.bool:
        return "truth"
    return "float" if dtype.is_floating_point else "whole"


def kinds_of(fields: Mapping[str, Tensor]) -> dict[str, Kind]:
    return {name: Kind(tuple(column.shape[1:]), column.dtype) for name, column in fields.items()}


class PassFunctions(NamedTuple):
    """What runs at each node: messages, what is reduced of them, what is applied to that."""

    message: Callable[[Any], Mapping[str, Tensor]]
    reduce: Callable[[Any], Mapping[str, Tensor]]
    reduces_all: bool
    """Whether nodes without messages are reduced too, as DGL's built-in functions do, which give them 0."""
    apply: Callable[[Any], Mapping[str, Tensor]] | None


class NodeKind(NamedTuple):
    """A whole number that a field has at all nodes that functions get at once, so that they may decide by it."""

    field: str
    number: int


class Situation(NamedTuple):
    """All but values that decides what the functions of a node compute."""

    nodes: Mapping[str, Kind]
    """The fields that nodes have by then."""
    degree: int
    zeros: Mapping[str, Kind] | None = None
    """What is reduced as 0 where others of a frontier have messages, and the node has none."""
    kind: NodeKind | None = None


class Ref(NamedTuple):
    """A tensor of a recording."""

    origin: str
    """``input``, ``result`` of an operation, or ``outside``: a parameter or what else the functions hold."""
    number: int
    """The number of the input, the operation or the tensor outside."""
    part: int = 0
    """Which of an operation's results."""


class Operation(NamedTuple):
    """One call of torch."""

    function: Any
    arguments: tuple[Any, ...]
    """Numbers, and refs in place of tensors."""
    options: dict[str, Any]
    results: tuple[Tensor, ...]
    line: UserLine | None

    @property
    def name(self) -> str:
        return self.function.overloadpacket.__name__


class Input(NamedTuple):
    """A field that the functions may read."""

    array: str
    """``node``, ``source`` or ``target`` (of the nodes that edges join) or ``edge``."""
    name: str
    kind: Kind


@dataclass
class Recording:
    """A run of message, reduce and apply functions on some nodes with equally many messages each."""

    rows: int
    degree: int
    inputs: list[Input]
    operations: list[Operation]
    outside: list[Tensor]
    """Tensors that the functions hold, in the order of their first use."""
    outputs: dict[str, Ref]
    """The fields that are written."""
    kinds: dict[str, Kind]
    """Kinds of the fields that are written."""
    reduced: dict[str, Kind]
    """What the reduce function returned."""
    questions: list[CountQuestion]
    """What the functions asked about numbers of nodes and messages."""
    asks_kind: bool
    """Whether they asked for the number that all nodes have."""
    fresh: frozenset[int] = field(init=False)
    """Which tensors of ``outside`` are made of a few numbers at each call."""
    skeleton: tuple[Any, ...] = field(init=False)
    """All that is equal in recordings of one program, except for the tensors that are held."""
    numbers: list[float] = field(init=False)
    """What may follow the numbers of nodes and messages: sizes, bounds of slices, factors."""

    def __post_init__(self) -> None:
        self.numbers = []
        bones: list[Any] = [self._bone(self.outputs), tuple(self.kinds.items()), tuple(self.reduced.items())]
        lifted = {operation.arguments[0] for operation in self.operations if operation.name.startswith("lift_fresh")}
        self.fresh = frozenset(
            number
            for number, tensor in enumerate(self.outside)
            if Ref("outside", number) in lifted and tensor.numel() <= FEW_NUMBERS
        )
        for number, tensor in enumerate(self.outside):
            numbers = str(tensor.tolist()) if number in self.fresh else ""
            bones.append((tensor.dtype, tuple(tensor.shape), numbers))
        for operation in self.operations:
            shapes = [tuple(result.shape) for result in operation.results]
            dtypes = tuple(result.dtype for result in operation.results)
            bone = self._bone((operation.arguments, operation.options, shapes))
            bones.append((operation.function, dtypes, bone))
        self.skeleton = tuple(bones)

    def read(self) -> list[Input]:
        """The fields that operations read."""
        arguments = [*self.outputs.values(), *((each.arguments, each.options) for each in self.operations)]
        numbers = {ref.number for ref in _refs(arguments) if ref.origin == "input"}
        return [self.inputs[number] for number in sorted(numbers)]

    def _bone(self, argument: Any) -> Any:
        """An argument without its numbers, which go into a list, and with inputs by their names."""
        if isinstance(argument, Ref):
            return self.inputs[argument.number] if argument.origin == "input" else argument
        if isinstance(argument, tuple | list):
            return tuple(self._bone(each) for each in argument)
        if isinstance(argument, dict):
            return tuple((name, self._bone(each)) for name, each in argument.items())
        if isinstance(argument, int | float) and not isinstance(argument, bool):
            self.numbers.append(argument)
            return type(argument).__name__
        return argument if argument is None or isinstance(argument, bool | str) else str(argument)

    def holds(self, outside: Sequence[Tensor]) -> bool:
        """Whether these are the tensors that it holds, except for those made at each call."""
        if len(outside) != len(self.outside):
            return False
        pairs = zip(self.outside, outside, strict=True)
        return all(own is other or number in self.fresh for number, (own, other) in enumerate(pairs))


def _refs(argument: Any) -> Iterator[Ref]:
    """The references within an argument."""
    if isinstance(argument, Ref):
        yield argument
    elif isinstance(argument, tuple | list):
        for each in argument:
            yield from _refs(each)
    elif isinstance(argument, dict):
        yield from _refs(list(argument.values()))


def record(functions: PassFunctions, situation: Situation, edges: Mapping[str, Kind], rows: int) -> Recording:
    """The operations of functions on ``rows`` nodes.

    Args:
        functions: of a pass.
        situation: of the nodes. Without messages the apply function runs alone.
        edges: the fields of edges.
        rows: how many nodes there are.

    Torch's random numbers are put back afterwards. Raises :class:`NotAProgramError`, with the user's line, for what
    cannot be recorded, and what the functions themselves raise.
    """
    nodes, degree, zeros, kind = situation
    if len(nodes) + len(edges) > MOST_FIELDS:
        raise NotAProgramError(f"{len(nodes) + len(edges)} fields; a program has at most {MOST_FIELDS}")
    inputs = read_fields(functions, nodes, edges, degree)
    counts = CountMode(rows, degree, user_line)
    recorder = _Recorder(kind)
    generator = device_generator_state(torch.device("cpu"))
    names: list[str] = []
    reduced: dict[str, Kind] = {}

    def run(*given: Tensor) -> tuple[Tensor, ...]:
        reduced.update(zeros or {})
        written = run_functions(functions, inputs, given, counts.of(rows), degree, reduced)
        names[:] = written
        return tuple(written.values())

    try:
        tensors = samples(inputs, rows, degree, kind)
        recorder.know(inputs, tensors)
        with counts, Equations(user_line), recorder:
            results = torch.func.functionalize(run, remove="mutations_and_views")(*tensors)
    finally:
        put_back(generator)
    operations = recorder.operations(tensors)
    refs = [recorder.ref(result) for result in results]
    row_kinds = [Kind(tuple(result.shape[1:]), result.dtype) for result in results]
    return Recording(
        rows=rows,
        degree=degree,
        inputs=inputs,
        operations=operations,
        outside=recorder.outside,
        outputs=dict(zip(names, refs, strict=True)),
        kinds=dict(zip(names, row_kinds, strict=True)),
        reduced=reduced,
        questions=counts.questions,
        asks_kind=recorder.asks_kind,
    )


def read_fields(
    functions: PassFunctions, nodes: Mapping[str, Kind], edges: Mapping[str, Kind], degree: int
) -> list[Input]:
    """The fields that functions may read at nodes of a degree."""
    inputs = [Input("node", name, kind) for name, kind in nodes.items()]
    if degree or functions.reduces_all:
        inputs += [Input(array, name, kind) for array in ("source", "target") for name, kind in nodes.items()]
        inputs += [Input("edge", name, kind) for name, kind in edges.items()]
    return inputs


def samples(inputs: Sequence[Input], rows: int, degree: int, kind: NodeKind | None) -> list[Tensor]:
    """Made-up rows of fields, of nodes and of the edges that lead to them."""
    edges = rows * max(degree, 1)
    found = [_sample(each.kind, rows if each.array == "node" else edges) for each in inputs]
    for each, tensor in zip(inputs, found, strict=True):
        if kind is not None and each.name == kind.field and each.array in OF_NODES:
            tensor.fill_(kind.number)
    return found


def _sample(kind: Kind, count: int) -> Tensor:
    """Rows of a field. Whole numbers are 0, which every table has."""
    if kind.dtype.is_floating_point:  # without the generator that other threads draw from
        return torch.randn(count, *kind.shape, dtype=kind.dtype, generator=torch.Generator().manual_seed(0))
    return torch.zeros(count, *kind.shape, dtype=kind.dtype)


def run_functions(
    functions: PassFunctions,
    inputs: Sequence[Input],
    given: Sequence[Tensor],
    rows: int,
    degree: int,
    reduced_kinds: dict[str, Kind],
) -> Mapping[str, Tensor]:
    """What the functions write. Each gets copies of its fields, as what it changes in place is its own.

    Passes within them are by torch's operations.
    """
    with kernels("off"):
        return _run_functions(functions, inputs, given, rows, degree, reduced_kinds)


def _run_functions(
    functions: PassFunctions,
    inputs: Sequence[Input],
    given: Sequence[Tensor],
    rows: int,
    degree: int,
    reduced_kinds: dict[str, Kind],
) -> Mapping[str, Tensor]:
    fields: dict[str, dict[str, Tensor]] = {"node": {}, "source": {}, "target": {}, "edge": {}}
    for each, tensor in zip(inputs, given, strict=True):
        fields[each.array][each.name] = tensor
    data = fields["node"]
    reduced: Mapping[str, Tensor] = {
        name: torch.zeros(rows, *kind.shape, dtype=kind.dtype) for name, kind in reduced_kinds.items()
    }
    if degree or functions.reduces_all:
        sent_to_each = max(degree, 1)  # without messages their shapes are needed
        messages = _messages(functions, fields, rows * sent_to_each)
        mailbox = {name: sent.view(rows, sent_to_each, *sent.shape[1:])[:, :degree] for name, sent in messages.items()}
        nodes = _node_batch(data, _frame(mailbox), rows)
        reduced = _checked("reduce_func", functions.reduce(nodes), rows)
        reduced_kinds |= {name: Kind(tuple(new.shape[1:]), new.dtype) for name, new in reduced.items()}
    if functions.apply is None:
        return reduced
    nodes = _node_batch({**data, **reduced}, None, rows)
    return _checked("apply_node_func", functions.apply(nodes), rows)


def _messages(functions: PassFunctions, fields: Mapping[str, dict[str, Tensor]], count: int) -> Mapping[str, Tensor]:
    """(count, *shape) each."""
    source, target, edge = (_frame(fields[array]) for array in ("source", "target", "edge"))
    return _checked(
        "message_func", functions.message(EdgeBatch(source, target, edge, count, _refuse_ends, EDGE)), count
    )


def _node_batch(fields: dict[str, Tensor], mailbox: Frame | None, rows: int) -> NodeBatch:
    numbers: Any = NumbersOfNodes(rows)
    return NodeBatch(_frame(fields), mailbox, rows, lambda: numbers, _refuse_ends, NODE)


def _frame(fields: Mapping[str, Tensor]) -> Frame:
    return Frame(fields, lambda name: fields[name], "functions", clone=True)


def _checked(function: str, returned: Any, count: int) -> Mapping[str, Tensor]:
    """What a function returned, if it is what a pass takes."""
    if not isinstance(returned, Mapping):
        raise NotAProgramError(f"{function} returned {type(returned).__name__}, not a dict of tensors")
    for name, rows in returned.items():
        if not isinstance(rows, Tensor) or [int(size) for size in rows.shape[:1]] != [int(count)]:
            raise NotAProgramError(f"{function} returned {name!r}, which is not a tensor with one row per node or edge")
    return returned


def _refuse_ends() -> NoReturn:
    raise NotAProgramError(f"the functions read the ends of edges: {user_line()}")


def put_back(generator: Tensor | None) -> None:
    """Torch's random numbers as they were, which is not done where nothing was drawn: other threads may draw."""
    device = torch.device("cpu")
    if generator is not None and not torch.equal(device_generator_state(device), generator):
        restore_generator(generator, device)


def user_line() -> UserLine | None:
    """The line of a user's function that runs."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OWN):
        frame = frame.f_back
    return None if frame is None else UserLine(frame.f_code.co_filename, frame.f_lineno)


class NumbersOfNodes:
    """The numbers of nodes, (rows,) int64, of which nothing but their count may be asked.

    Args:
        rows: how many there are.
    """

    device = torch.device("cpu")
    ndim = 1

    def __init__(self, rows: int) -> None:
        self.shape = torch.Size([rows])

    def size(self, axis: int | None = None) -> Any:
        return self.shape if axis is None else self.shape[axis]

    def dim(self) -> int:
        return self.ndim

    def numel(self) -> int:
        return self.shape[0]

    nelement = __len__ = numel

    def __getattr__(self, name: str) -> NoReturn:
        self.refuse()

    def __getitem__(self, place: object) -> NoReturn:
        self.refuse()

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> NoReturn:
        self.refuse()

    def refuse(self) -> NoReturn:
        raise NotAProgramError(f"the functions read node numbers: {user_line()}")


class _Recorder(torch.utils._python_dispatch.TorchDispatchMode):
    """Keeps each operation that runs while it is on, and its tensors, so that no other one takes their place."""

    def __init__(self, kind: NodeKind | None) -> None:
        super().__init__()
        self.kind = kind
        self.asks_kind = False
        self.calls: list[tuple[Any, Any, Any, Any, UserLine | None]] = []
        self.outside: list[Tensor] = []
        self._refs: dict[int, Ref] = {}
        self._fields: dict[int, set[str]] = {}
        """Ids of tensors that depend on whole numbers of nodes alone: the fields that have these."""

    def know(self, inputs: Sequence[Input], tensors: Sequence[Tensor]) -> None:
        """Takes what is given to the functions."""
        for each, tensor in zip(inputs, tensors, strict=True):
            if each.array in OF_NODES and kind_of(each.kind.dtype) != "float" and not each.kind.shape:
                self._fields[id(tensor)] = {each.name}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # otherwise the first call of a process imports SymPy, 1.3 s

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        line = user_line()
        fields = self._fields_of(function, (args, kwargs))
        if function.overloadpacket.__name__ in DECIDES:
            return self._decided(fields, function(*args, **(kwargs or {})), line)
        if function._schema.is_mutable:  # what functions made themselves was changed into new tensors before
            raise NotAProgramError(
                f"{function.overloadpacket.__name__} changes a tensor that outlives the call: {line}"
            )
        results = function(*args, **(kwargs or {}))
        self.calls.append((function, args, kwargs or {}, results, line))
        if fields is not None:
            self._fields |= {id(tensor): fields for tensor in _tensors(results)}
        return results

    def _fields_of(self, function: Any, given: Any) -> set[str] | None:
        """The whole numbers of nodes that a result depends on, if on nothing else."""
        tensors = _tensors(given)
        if function.overloadpacket.__name__.startswith("lift_fresh") and tensors[0].numel() <= FEW_NUMBERS:
            return set()  # which are compared
        known = [self._fields.get(id(tensor)) for tensor in tensors]
        if not known or None in known or torch.Tag.nondeterministic_seeded in function.tags:
            return None
        return set().union(*(each for each in known if each is not None))

    def _decided(self, fields: set[str] | None, result: Any, line: UserLine | None) -> Any:
        """A number for Python, if it is the same at all nodes. It is no operation: what follows has the number."""
        if fields and len(fields) == 1 and not isinstance(result, Tensor):
            [field] = fields
            if self.kind is not None and self.kind.field == field:
                self.asks_kind = True
                return result
            why = f"the functions branch on the field {field!r}, so pass by={field!r}: {line}"
            raise NotAProgramError(why, field)
        raise NotAProgramError(f"the functions branch on a value: {line}")

    def operations(self, inputs: list[Tensor]) -> list[Operation]:
        """The calls, with refs to the inputs, to results of earlier calls and to tensors from outside."""
        self._refs = {id(tensor): Ref("input", number) for number, tensor in enumerate(inputs)}
        found = []
        for number, (function, args, kwargs, results, line) in enumerate(self.calls):
            tensors = _tensors(results)
            found.append(Operation(function, self._named(args), self._named(kwargs), tuple(tensors), line))
            for part, result in enumerate(tensors):  # which may be an argument itself
                self._refs[id(result)] = Ref("result", number, part)
        return found

    def ref(self, tensor: Tensor) -> Ref:
        """The reference to any tensor, once the operations are known."""
        if id(tensor) not in self._refs:
            self._refs[id(tensor)] = Ref("outside", len(self.outside))
            self.outside.append(tensor)
        return self._refs[id(tensor)]

    def _named(self, argument: Any) -> Any:
        """An argument with refs in place of tensors."""
        if isinstance(argument, Tensor):
            return self.ref(argument)
        if isinstance(argument, dict):
            return {name: self._named(each) for name, each in argument.items()}
        if isinstance(argument, tuple | list):
            return type(argument)(self._named(each) for each in argument)
        return argument


def _tensors(given: Any) -> list[Tensor]:
    """The tensors within arguments or results."""
    if isinstance(given, Tensor):
        return [given]
    if isinstance(given, dict):
        given = given.values()
    elif not isinstance(given, tuple | list):
        return []
    return [tensor for each in given for tensor in _tensors(each)]
