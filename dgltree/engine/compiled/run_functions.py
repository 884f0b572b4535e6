"""Passes of message functions by machine code, where there is some; else the reason why there is none."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dgltree.engine.compiled.catalogue import MOST_VALUES, check_values
from dgltree.engine.compiled.held_tensors import HeldTensors
from dgltree.engine.compiled.known_functions import BoundProgram, KnownFunctions, Memory
from dgltree.engine.compiled.programs import NodeProgram
from dgltree.engine.compiled.recording import PassFunctions, kinds_of
from dgltree.engine.compiled.rows import MetRows, Numbers, PlainGraph, ProgramRuns, plain_graph, rows_of
from dgltree.engine.compiled.tensors import NotAProgramError
from dgltree.engine.contract import CellBase
from dgltree.engine.frontiers import TopoPlan
from dgltree.engine.kernels.blas import product_address
from dgltree.engine.kernels.dispatch import mode_now, refuse_if_required
from dgltree.engine.message_graph import Fields, MessageGraph
from dgltree.support.lazy import is_installed
from dgltree.support.torch_internals import inside_dual_level, inside_mode, inside_transform

if TYPE_CHECKING:
    from dgltree.engine.compiled.compiled_pass import PassCode

WHOLE = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
"""Fields that are read as whole numbers."""
_logger = logging.getLogger("dgltree")
_memory = Memory()
_told: set[str] = set()


class Prepared(NamedTuple):
    """All of a pass but its memory."""

    code: "PassCode"
    programs: list[NodeProgram]
    held: HeldTensors
    which: Numbers
    """(bunches,), the program that rows of the plan have, bunch after bunch; -1 for none."""
    fields: Fields
    """What is read or written, by ``node NAME`` and ``edge NAME``."""


def compiled_fields(
    graph: MessageGraph, plan: TopoPlan, functions: PassFunctions, by_torch: Callable[[MessageGraph], Fields]
) -> Fields | None:
    """What a pass writes, (N, *shape) each, as torch's operations would; None where these have to.

    Args:
        graph, plan, functions: of the pass.
        by_torch: the same pass by torch's operations, for second derivatives.

    Raises :class:`NoKernelError` within ``kernels("required")``.
    """
    mode = mode_now()
    if mode == "off":
        return None
    name = ", ".join(map(_name, filter(None, (functions.message, functions.reduce, functions.apply))))
    try:
        prepared = prepare(graph, plan, functions)
    except NotAProgramError as error:
        tell(name, f"not compiled: {error}")
        refuse_if_required(f"not compiled: {error}")
        return None
    from dgltree.engine.compiled.compiled_pass import FunctionPass, OutsideTableError

    if not compile_code(prepared.code, name, mode):
        return None
    rows = rows_of(plan)
    passed = FunctionPass(
        code=prepared.code,
        rows=rows,
        runs=ProgramRuns.of(rows, prepared.which),
        programs=prepared.programs,
        held=prepared.held,
        fields=prepared.fields,
        again=lambda fields: _again(graph, list(prepared.code.states), fields, by_torch),
    )
    try:
        return passed.run()
    except OutsideTableError:  # torch's operations say which row it is, and where
        return None


def why_not_compiled(graph: MessageGraph, plan: TopoPlan, functions: PassFunctions) -> str | None:
    """The reason why torch's operations compute a pass; None for machine code."""
    if mode_now() == "off":
        return "not compiled: kernels are off"
    try:
        prepare(graph, plan, functions)
    except NotAProgramError as error:
        return f"not compiled: {error}"
    return None


def prepare(graph: MessageGraph, plan: TopoPlan, functions: PassFunctions) -> Prepared:
    """The programs of a pass and their code. Raises :class:`NotAProgramError`."""
    if (why := _hindrance(graph, plan)) is not None:
        raise NotAProgramError(why)
    owner = getattr(functions.message, "__self__", None)
    if isinstance(owner, CellBase):
        raise NotAProgramError(f"functions of a {type(owner).__name__}, which dgltree.propagate runs")
    plain = plain_graph(graph)
    met, known, programs = _find(plain, plan, functions)
    bound = list({each.known: each for each in programs if each is not None}.values())
    if not bound:
        raise NotAProgramError("no node is computed")
    places = {each.known: number for number, each in enumerate(bound)}
    which = np.array([*(-1 if each is None else places[each.known] for each in programs), -1])[met.which]
    found = [each.known.program for each in bound]
    held = HeldTensors.whole(bound)
    fields = _fields(plain, found)
    check_tensors(fields, found, held)
    code = code_of(known, fields, found, held, plan.reverse)
    [nodes] = graph.nodes.values()
    for name in code.states:
        if name not in nodes.data and nodes.initializer(name) is not None:
            raise NotAProgramError(f"the new field {name!r} has an initializer")
    return Prepared(code, found, held, which, fields)


def _find(
    graph: PlainGraph, plan: TopoPlan, functions: PassFunctions
) -> tuple[MetRows, KnownFunctions, list[BoundProgram | None]]:
    """What is met in a plan, and the programs of that.

    Where functions decide by a field, and each frontier has one number of it, it is as if the plan were made by it.
    """
    kinds = kinds_of(graph.ndata), kinds_of(graph.edata)
    try:
        met = rows_of(plan).met if plan.by is None else _by(graph, plan, plan.by)
        return met, *_memory.find(functions, *kinds, met)
    except NotAProgramError as error:
        if error.field is None or plan.by is not None:
            raise
        by = error.field
        why = error
    try:
        met = _by(graph, plan, by)
    except NotAProgramError:
        raise why from None
    return met, *_memory.find(functions, *kinds, met)


def _by(graph: PlainGraph, plan: TopoPlan, by: str) -> MetRows:
    """What is met in a plan, with the numbers that a field has now."""
    if by not in graph.ndata:
        raise NotAProgramError(f"the field {by!r} no longer exists")
    rows = rows_of(plan)
    return rows.by(by, graph.ndata[by][rows.nodes].long().numpy())


def _hindrance(graph: MessageGraph, plan: TopoPlan) -> str | None:
    """Why a pass cannot be by machine code, whatever the functions."""
    if plan.is_typed:
        return "functions of edge types"
    if plan.row is None:
        return "a single frontier is computed"
    return hindrance(graph.device)


def hindrance(device: torch.device) -> str | None:
    """Why nothing on a device can be computed by machine code now."""
    hindrances = {
        "llvmlite is not installed (pip install llvmlite)": not is_installed("llvmlite"),
        f"the graph is on {device}, but machine code runs only on CPUs": device.type != "cpu",
        "a torch.func transform is active": inside_transform() or inside_dual_level(),
        "a torch mode intercepts each operation": inside_mode(),
        "autocast is on": torch.is_autocast_enabled("cpu"),
    }
    return next((why for why, is_so in hindrances.items() if is_so), None)


def _fields(graph: PlainGraph, programs: Sequence[NodeProgram]) -> Fields:
    """What is read or written of fields that are there."""
    columns = {"node": graph.ndata, "edge": graph.edata}
    written = [("node", name) for program in programs for name in program.kinds]
    read = [field for program in programs for field in sorted(program.reads)]
    return {f"{kind} {name}": columns[kind][name] for kind, name in written + read if name in columns[kind]}


def check_tensors(fields: Mapping[str, Tensor], programs: Sequence[NodeProgram], held: HeldTensors) -> None:
    """:class:`NotAProgramError` for tensors that machine code does not read."""
    dtype = programs[0].dtype
    for program in programs:
        if program.dtype != dtype:
            raise NotAProgramError(f"numbers are {dtype} and {program.dtype}")
    for name, column in fields.items():
        if column.dtype != dtype and column.dtype not in WHOLE:
            raise NotAProgramError(
                f"the field {name.partition(' ')[2]!r} is {column.dtype}, but other fields are {dtype}"
            )
    for tensor in chain(fields.values(), held.tensors):
        if type(tensor) not in (Tensor, nn.Parameter) or tensor.layout != torch.strided:
            raise NotAProgramError(f"a tensor is a {type(tensor).__name__} of layout {tensor.layout}")
        if tensor.device.type != "cpu":
            raise NotAProgramError(f"a tensor is on {tensor.device}")
        if tensor.is_inference() and not torch.is_inference_mode_enabled():
            raise NotAProgramError("a tensor was made in inference mode")
    if product_address(dtype) is None:
        raise NotAProgramError("the BLAS library of this torch is unknown")


def code_of(
    known: KnownFunctions,
    fields: Mapping[str, Tensor],
    programs: Sequence[NodeProgram],
    held: HeldTensors,
    reverse: bool,
) -> "PassCode":
    """The code of programs for what needs gradients now. Raises :class:`NotAProgramError` for large ones."""
    from dgltree.engine.compiled.compiled_pass import PassCode
    from dgltree.engine.compiled.driver import Wanted

    wanted = None
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in chain(fields.values(), held.tensors)):
        names = [name for name, column in fields.items() if column.requires_grad]
        nodes = frozenset(name.removeprefix("node ") for name in names if name.startswith("node "))
        edges = frozenset(name.removeprefix("edge ") for name in names if name.startswith("edge "))
        wanted = Wanted(nodes, edges)
    forms = {program.form: program for program in dict.fromkeys(programs)}
    written = frozenset(name for program in forms.values() for name in program.kinds)
    read = frozenset(field for program in forms.values() for field in program.reads)
    # Code of more programs serves a pass of some of them, so that each number of children is compiled a few times, not
    # once with each set of others that a batch may have.
    alike: list[PassCode] = known.codes.setdefault((wanted, reverse, written, read), [])
    for code in list(alike):
        if forms.keys() <= code.forms.keys():
            return code
    check_values(forms.values())
    if alike and sum(program.size for program in (forms | alike[0].forms).values()) <= MOST_VALUES:
        forms = alike[0].forms | forms
    code = PassCode(forms, wanted, reverse)
    alike.insert(0, code)
    return code


def compile_code(code: "PassCode", name: str, mode: str) -> bool:
    """Makes machine code of functions of some name; False if there is none yet, and none may be made."""
    from dgltree.engine.compiled.module import is_known

    if code.module is not None:
        return True
    if mode == "cached" and not is_known(code.text) and code.module is None:
        return False
    start = perf_counter()
    code.compile()
    tell(name, f"compiled in {perf_counter() - start:.2f} s", logging.DEBUG)
    return True


def tell(name: str, what: str, level: int = logging.INFO) -> None:
    """A line in the log, once for each set of functions."""
    line = f"{name}: {what}"
    if line not in _told:
        _told.add(line)
        _logger.log(level, line)


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", type(function).__name__)


def _again(
    graph: MessageGraph, states: list[str], fields: Mapping[str, Tensor], by_torch: Callable[[MessageGraph], Fields]
) -> list[Tensor]:
    """What is written by torch's operations, from fields by ``node NAME`` and ``edge NAME``."""
    [(ntype, nodes)] = graph.nodes.items()
    [(etype, edges)] = graph.relations.items()
    data = {"node": dict(nodes.data), "edge": dict(edges.data)}
    for name, column in fields.items():
        kind, _, field = name.partition(" ")
        data[kind][field] = column
    replaced = MessageGraph(
        {ntype: replace(nodes, data=data["node"])}, {etype: replace(edges, data=data["edge"])}, graph.owner
    )
    written = by_torch(replaced)
    return [written[name] for name in states]
