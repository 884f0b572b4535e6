"""Passes of cells by machine code that is made of their ``combine``, as that of message functions is of these."""

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.run_lengths import ranges
from dgltree.engine.autograd import generator_at
from dgltree.engine.compiled.cell_functions import (
    SLOT,
    CellFunctions,
    options_of,
    recorded_functions,
    sources_of,
    takes_any_number,
)
from dgltree.engine.compiled.cell_rows import CellRows, RowKind, rows_of
from dgltree.engine.compiled.held_tensors import ArityProgram, HeldByKinds, HeldTensors
from dgltree.engine.compiled.known_functions import KnownFunctions, Memory
from dgltree.engine.compiled.programs import NodeProgram
from dgltree.engine.compiled.recording import Kind, PassFunctions, kinds_of
from dgltree.engine.compiled.rows import Met, MetRows
from dgltree.engine.compiled.run_functions import check_tensors, code_of, compile_code, hindrance, tell
from dgltree.engine.compiled.tensors import NotAProgramError
from dgltree.engine.compiled.values import Space
from dgltree.engine.contract import CellBase, CellContract, Computed, State
from dgltree.engine.kernels.dispatch import mode_now, refuse_if_required
from dgltree.engine.schedule import Schedule
from dgltree.engine.typed_linear import matrices_of

if TYPE_CHECKING:
    from dgltree.engine.compiled.compiled_pass import PassCode

ByTorch = Callable[[Computed, Mapping[str, Tensor], bool], State]
"""A pass by torch's operations, from the states of the rows that it begins with, what steps read of rows, and whether
it recomputes steps."""
MOST_KNOWN = 64
"""Cells of ours, by their options, whose programs are known without a shadow run."""
_memory = Memory()
_lock = Lock()
_of_ours: dict[Any, tuple[KnownFunctions, dict[int | None, ArityProgram]]] = {}


class PreparedCell(NamedTuple):
    """All of a pass but its memory."""

    rows: CellRows
    code: "PassCode"
    programs: list[NodeProgram]
    """The program of each kind of rows."""
    held: HeldTensors
    fields: State
    """What is given, by ``node NAME``."""


def compiled_states(
    cell: CellBase,
    weights: Mapping[str, Tensor],
    schedule: Schedule,
    leaf: Computed,
    fields: Mapping[str, Tensor],
    by_torch: ByTorch,
    recompute: bool = False,
) -> State | None:
    """The states of all rows, part name to (R, *shape), as torch's operations would give them; None if these have to.

    Args:
        cell: any.
        weights: its ``map_weights``.
        schedule: of a batch.
        leaf: the states of the rows that a pass begins with.
        fields: (R, *shape) each, what a step reads of a row in addition, by the names in ``cell_functions``.
        by_torch: the same pass by torch's operations, for second derivatives.
        recompute: whether a backward pass computes the products once more.

    Raises :class:`NoKernelError` within ``kernels("required")``.
    """
    mode = mode_now()
    if mode == "off" or not schedule.steps:
        return None
    name = type(cell).__name__
    try:
        prepared = prepare_cell(cell, weights, schedule, leaf, fields)
    except NotAProgramError as error:
        tell(name, f"not compiled: {error}")
        refuse_if_required(f"a {name} is not compiled: {error}")
        return None
    if not compile_code(prepared.code, name, mode):
        return None
    from dgltree.engine.compiled.compiled_pass import FunctionPass, OutsideTableError

    def again(given: Mapping[str, Tensor]) -> list[Tensor]:
        begin = {part: given.get(f"node {part}", leaf[part])[: schedule.leaves] for part in cell.state}
        given_fields = {name: given.get(f"node {name}", rows) for name, rows in fields.items()}
        with generator_at(generator, schedule.device):
            # Without recomputation, which would run functions again where nobody replaces what they hold.
            states = by_torch(begin, given_fields, False)
        return [states[part] for part in prepared.code.states]

    rows = prepared.rows
    generator = None
    masks: list[list[Tensor]] = [[] for _ in rows.kinds]
    if any(program.masks for program in prepared.programs):
        generator = torch.get_rng_state()
        masks = drawn_masks(cell, rows, schedule, prepared.programs)
    passed = FunctionPass(
        code=prepared.code,
        rows=rows,
        runs=rows.runs,
        programs=prepared.programs,
        held=prepared.held,
        fields=prepared.fields,
        again=again,
        masks=masks,
        recompute=recompute,
    )
    try:
        return passed.run()
    except OutsideTableError:  # torch's operations say which row it is, and where
        return None


def drawn_masks(
    cell: CellBase, rows: CellRows, schedule: Schedule, programs: Sequence[NodeProgram]
) -> list[list[Tensor]]:
    """The masks of each kind of rows, drawn step after step, as torch's operations would."""
    by_edge = not isinstance(cell, CellContract)  # on the way down a step computes messages, one for each row
    of_arity = {kind.arity: program for kind, program in zip(rows.kinds, programs, strict=True)}
    drawn: dict[int | None, list[Tensor]] = {}
    for arity, program in of_arity.items():
        drawn[arity] = []
        for mask in program.masks:
            count = len(schedule.sources) if by_edge or mask.space == Space.EDGE else len(schedule)
            drawn[arity].append(torch.empty(count, mask.rows, mask.width, dtype=program.dtype))
    for step in schedule.steps:
        for mask, into in zip(of_arity[step.arity].masks, drawn[step.arity], strict=True):
            of_step = step.edges if by_edge or mask.space == Space.EDGE else slice(step.start, step.stop)
            into[of_step].bernoulli_(mask.probability)
    of_kinds: list[list[Tensor]] = []
    degrees = np.diff(rows.first_edge)
    for number, (kind, program) in enumerate(zip(rows.kinds, programs, strict=True)):
        of_kind = rows.runs.rows_of(number)
        edges = rows.edges[torch.from_numpy(ranges(rows.first_edge[of_kind], degrees[of_kind]))]
        nodes = rows.nodes[torch.from_numpy(of_kind)]
        masks = []
        for mask, of_all in zip(program.masks, drawn[kind.arity], strict=True):
            index = edges if by_edge or mask.space == Space.EDGE else nodes
            masks.append(of_all[index].flatten(0, 1))
        of_kinds.append(masks)
    return of_kinds


def hindrance_of(cell: CellBase, device: torch.device) -> str | None:
    """Why no pass of a cell on a device can be compiled now, whatever the batch."""
    why = hindrance(device)
    if why is not None:
        return why
    called = cell.called_maps()
    if called:
        return f"the map {min(called)!r} has hooks or a forward of its own"
    return "gates read positions" if getattr(cell, "positions", False) else None


def prepare_cell(
    cell: CellBase,
    weights: Mapping[str, Tensor],
    schedule: Schedule,
    leaf: Computed,
    fields: Mapping[str, Tensor],
) -> PreparedCell:
    """The programs of a pass and their code. Raises :class:`NotAProgramError`."""
    if (why := hindrance_of(cell, schedule.device)) is not None:
        raise NotAProgramError(why)
    rows = rows_of(schedule, cell)
    if rows.slot is not None:
        fields = {**fields, SLOT: rows.slot}
    kinds = {part: Kind(shape, leaf[part].dtype) for part, shape in cell.state.items()} | kinds_of(fields)
    given = {f"node {name}": rows_of_field for name, rows_of_field in fields.items()}
    for part in cell.state:
        if not _is_zero(leaf[part]):
            later = leaf[part].new_zeros(len(schedule) - len(leaf[part]), *leaf[part].shape[1:])
            given[f"node {part}"] = torch.cat([leaf[part], later])
    known, of_arity = programs_of(cell, weights, rows.degrees, kinds)
    programs = [of_arity[kind.arity].program for kind in rows.kinds]
    by_kinds = rows.held
    if by_kinds is None or by_kinds.of_arity is not of_arity:
        by_kinds = HeldByKinds(cell, of_arity, rows.kinds)
        if not any(of.outside for of in of_arity.values()):  # a plan keeps no tensor of a model
            rows.held = by_kinds
    held = by_kinds.tensors(cell, weights)
    check_tensors(given, programs, held)
    code = code_of(known, given, programs, held, reverse=False)
    return PreparedCell(rows, code, programs, held, given)


def programs_of(
    cell: CellBase, weights: Mapping[str, Tensor], degrees: Sequence[int], kinds: Mapping[str, Kind]
) -> tuple[KnownFunctions, dict[int | None, ArityProgram]]:
    """Functions and programs of rows with some numbers of children; a cell that takes any number has one for all."""
    options = options_of(cell)
    key = None if options is None else (options, *degrees, *kinds.items(), tuple(weights), torch.is_grad_enabled())
    known_before = None if key is None else _of_ours.get(key)
    if known_before is not None:
        return known_before
    recorded = recorded_functions(cell)
    matrices = matrices_of(cell.named_maps(), weights)
    functions = CellFunctions(cell, matrices, recorded)
    met = MetRows(
        met=[Met(degree, 0) for degree in degrees],
        which=np.empty(0, np.int64),
        has_leaves=False,
        has_late_leaves=False,
        by=None,
    )
    pass_functions = PassFunctions(functions.message, functions.reduce, False, None)
    known, bound = _memory.find(pass_functions, kinds, {}, met, cell, (type(cell), *recorded, options))
    if takes_any_number(cell) and len({each.known for each in bound if each is not None}) > 1:
        raise NotAProgramError("rows with different numbers of children have different programs")
    of_arity: dict[int | None, ArityProgram] = {}
    for arity, each in zip([None] if takes_any_number(cell) else degrees, bound, strict=False):
        assert each is not None
        sources = sources_of(cell, matrices, each.outside, RowKind(arity, recorded[arity]))
        of_arity[arity] = ArityProgram(each.known.program, sources, () if all(sources) else each.outside)
    if key is not None and all(all(program.sources) for program in of_arity.values()):
        with _lock:
            _of_ours[key] = known, of_arity
            if len(_of_ours) > MOST_KNOWN:
                del _of_ours[next(iter(_of_ours))]
    return known, of_arity


def _is_zero(rows: Tensor) -> bool:
    """Whether rows are one 0 that was expanded, as the memories of embedded leaves are."""
    is_one_number = not rows.requires_grad and not any(rows.stride()) and bool(rows.numel())
    return is_one_number and not rows[(0,) * rows.dim()].item()
