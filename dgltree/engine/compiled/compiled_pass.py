"""A pass of message functions as one call forward and one backward.

Machine code reads and writes by address, and knows no tensor. A pass gives it tables of addresses: of fields in the
order of rows, of what programs hold, and of the rows of products, which lie in regions that ``PassMemory`` divides.
Each **part**, a set of trees that touches no other part's rows, is a call of its own, which any thread may take.

**Equal bits for any number of threads.** Parts depend on the graph alone, and no two write to one place. What all rows
add to, such as the gradient of a table, has a copy for each part; copies are added in their order. The gradient of a
matrix is a product over all rows, or a sum of products over chunks of them: one thread computes each product, and
chunks are added in their order.

**Limits.** Second derivatives come from torch's operations, which compute the pass once more (``differentiable``).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from math import prod
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from dgltree.engine.autograd import differentiable_gradients
from dgltree.engine.compiled.driver import DRIVEN, OF_PROGRAM, WEIGHT_DRIVEN, PassPrinter, Wanted
from dgltree.engine.compiled.held_tensors import HeldPlace, HeldTensors
from dgltree.engine.compiled.module import CompiledModule
from dgltree.engine.compiled.pass_memory import (
    ALIGNED,
    BACKWARD,
    BASE,
    CHUNKS,
    COPY,
    FORWARD,
    INTO,
    LENGTH,
    STRIDE,
    PassMemory,
)
from dgltree.engine.compiled.programs import NodeProgram
from dgltree.engine.compiled.recording import Kind
from dgltree.engine.compiled.rows import (
    EDGE_SLOTS,
    FORM,
    LOW,
    PROGRAM,
    SLOTS,
    Numbers,
    PassRows,
    ProgramRuns,
    RunsPiece,
)
from dgltree.engine.compiled.spare_memory import Buffer, give_back, take
from dgltree.engine.compiled.values import Space
from dgltree.engine.kernels.blas import product_address
from dgltree.engine.kernels.threads import thread_count, threads_of_torch, together
from dgltree.support.torch_internals import graph_is_kept, version_of

RECOMPUTED_ROWS = 4096
"""Rows whose products are computed once more at a time: enough that a piece costs nothing next to them."""
LINE = 64
"""Bytes of a cache line, at one of which regions begin: a BLAS may round otherwise where rows lie otherwise."""
MOST_CALLS = 8
"""Calls of the function of products that are gradients of matrices: what threads share."""
MOST_COPIED = 2**22
"""Numbers that gradients of held tensors, such as tables, have in all copies: where there would be more, parts are
computed in turn."""


class OutsideTableError(Exception):
    """A look-up of a row that a table does not have."""


class PassCode:
    """The machine code of programs of some forms.

    Args:
        forms: a program of each.
        wanted: what needs a gradient, apart from what is held; None for a pass without gradients.
        reverse: whether edges lead from nodes that are computed later.
    """

    def __init__(self, forms: Mapping[Any, NodeProgram], wanted: Wanted | None, reverse: bool) -> None:
        self.forms = dict(forms)
        self.numbers = {form: number for number, form in enumerate(forms)}
        programs = list(forms.values())
        self.dtype = programs[0].dtype
        self.states: dict[str, Kind] = {}
        """The fields that are written."""
        for program in programs:
            self.states |= program.kinds
        is_double = self.dtype == torch.float64
        printed = PassPrinter(is_double, programs, frozenset(self.states), wanted, reverse)
        self.text = str(printed.module)
        """In LLVM's language, until it is compiled: text and printer are megabytes."""
        self.arrays = list(printed.arrays)
        self.sent = printed.sent
        self.sizes = np.array(printed.sizes, np.int64)
        self.scratch_shape = max(printed.scratch, 1), max(printed.widest, 1)
        self.is_differentiable = wanted is not None
        self.module: CompiledModule | None = None
        self._compiling = Lock()
        self.known_names: dict[tuple[int, ...], list[list[str]]] = {}

    def names(self, forms: Sequence[int]) -> list[list[str]]:
        """The names of the code's arrays, in the order of their numbers there, as each of some programs has them."""
        names = self.known_names.get(tuple(forms))
        if names is None:
            names = [self._names(number, form) for number, form in enumerate(forms)]
            self.known_names[tuple(forms)] = names
        return names

    def _names(self, number: int, form: int) -> list[str]:
        names = []
        for array in self.arrays:
            kind, *place = array.name.rsplit(" ", 2)
            if kind not in OF_PROGRAM:
                names.append(array.name)
            elif int(place[0]) == form:
                names.append(f"{kind} {number} {place[1]}")
            else:
                names.append("")
        return names

    def compile(self) -> None:
        """Makes machine code, or reads it from disk."""
        with self._compiling:  # a module that another one replaced would be freed while it runs
            if self.module is not None:
                return
            calls = {"forward": len(DRIVEN)}
            if self.is_differentiable:
                calls |= {"backward": len(DRIVEN), "weights": len(WEIGHT_DRIVEN)}
            self.module = CompiledModule.of(self.text, calls)
            self.text = ""


class PassKey(NamedTuple):
    """What tells where the arrays of programs lie: a plan keeps one :class:`PassMemory` for each."""

    code: PassCode
    forms: tuple[int, ...]
    """The form of each program."""
    places: tuple[tuple[HeldPlace, ...], ...]
    """What each program holds."""
    shapes: tuple[tuple[int, ...], ...]
    """The shapes of what programs hold."""


class RecomputedPiece(NamedTuple):
    """Runs whose products are computed once more together."""

    runs: RunsPiece
    memory: PassMemory


class FunctionPass:
    """One pass: the code, the rows, and the tensors that come in.

    Args:
        code: of the programs.
        rows: of the graph.
        runs: the same by program.
        programs: one for each number in ``runs``.
        held: what their functions hold.
        fields: (N, *shape) or (E, *shape) each, by ``node NAME`` and ``edge NAME``.
        again: the same pass by torch's operations: gives (N, *shape) of what is written, from the fields.
        masks: of each program, in the order of its slots, if they are drawn already; ``again`` then draws the same.
        recompute: whether rows of products are computed once more in the backward pass, piece after piece, instead of
            being kept. Pieces are computed by one thread.
    """

    def __init__(
        self,
        code: PassCode,
        rows: PassRows,
        runs: ProgramRuns,
        programs: Sequence[NodeProgram],
        held: HeldTensors,
        fields: Mapping[str, Tensor],
        again: Callable[[Mapping[str, Tensor]], list[Tensor]],
        masks: Sequence[Sequence[Tensor]] | None = None,
        recompute: bool = False,
    ) -> None:
        self.recompute = recompute and code.is_differentiable
        self.code = code
        self.rows = rows
        self.runs = runs
        self.again = again
        self.masks = masks
        self.programs = programs
        self.held = held
        forms = [code.numbers[program.form] for program in programs]
        self.table = runs.table.copy()
        form_of_program = np.array([*forms, -1])  # rows without a program have the number -1
        self.table[:, FORM] = form_of_program[runs.table[:, PROGRAM]]
        self.names_of = code.names(forms)
        self.forms = tuple(forms)
        self.names = list(fields)
        self.given = [*fields.values(), *held.tensors]
        self.parts = len(runs.bounds) - 1
        self.copies = 1
        """How many gradients there are of what rows add to: one for each part, or for all."""
        self.arrays: dict[str, Tensor] = {}
        """Memory of the pass, (rows, columns) each, by name: all but what ``memory`` places."""
        self.regions: dict[int, Tensor] = {}
        """What ``memory`` places, by region."""
        self.buffers: list[Buffer] = []
        """The memory of products."""

    def run(self) -> dict[str, Tensor]:
        """(N, *shape) of each field that is written."""
        if self.code.is_differentiable:
            written: Sequence[Tensor] = Differentiable.apply(self, *self.given)
        else:
            with threads_of_torch(torch.device("cpu")):
                written = self.forward(self.given)
            self.release()
        return dict(zip(self.code.states, written, strict=True))

    # -----------------------------------------------------------------------------------------------------------------
    # Forward.

    def forward(self, given: Sequence[Tensor]) -> list[Tensor]:
        """(N, *shape) of each field that is written.

        Raises :class:`OutsideTableError`.
        """
        fields = given[: len(self.names)]
        outside = given[len(self.names) :]
        for name, tensor in zip(self.names, fields, strict=True):
            columns = _as_columns(tensor)
            is_of_node = name.startswith("node ")
            self.arrays[name] = self.rows.of_nodes(columns) if is_of_node else columns.index_select(0, self.rows.edges)
        for array in self.code.arrays:
            of, _, name = array.name.partition(" ")
            if of == "node" and array.name not in self.arrays:  # what nobody gave is 0 before it is written
                self._new(array.name, len(self.rows), prod(self.code.states[name].shape), array.is_whole)
        self._hold(outside)
        self._draw_masks()
        for name, kind in self.code.states.items():
            self._begin_state(name, kind)
        if self.recompute:
            for piece in self.pieces:
                with self._computing(piece):
                    self._call("forward")
        else:
            self._take_region(FORWARD)
            self._call("forward")
        return [self._in_order(f"state {name}", kind) for name, kind in self.code.states.items()]

    def _in_order(self, name: str, kind: Kind) -> Tensor:
        """(N, *shape) of an array, a row for each node in the order of the graph."""
        rows = self.rows.to_nodes(self.arrays[name])
        if self.recompute and rows is self.arrays[name]:  # which is written again
            rows = rows.clone()
        return rows.view(len(self.rows), *kind.shape).to(kind.dtype)

    def _hold(self, outside: Sequence[Tensor]) -> None:
        """Take what functions hold, and what torch makes of it, with a graph of its own for its gradients."""
        self.tensors = list(outside)
        """All that programs hold: what is from outside, then what torch made."""
        self.leaves: list[Tensor] = []
        """What it made that of."""
        places = []
        for number, program in enumerate(self.programs):
            of_program = self.held.places[number]
            if not program.needed:
                places.append(tuple(of_program[ref.number] for ref in program.held))
                continue
            with torch.enable_grad():
                if not self.leaves:
                    self.leaves = [tensor.detach().requires_grad_(tensor.requires_grad) for tensor in outside]
                made = program.hold(self.held.entries(self.leaves, number))
            held = []
            for ref, tensor in zip(program.held, made, strict=True):
                if ref.origin == "outside":
                    held.append(of_program[ref.number])
                else:
                    held.append(HeldPlace(len(self.tensors)))
                    self.tensors.append(tensor)
            places.append(tuple(held))
        shapes = tuple(tuple(tensor.shape) for tensor in self.tensors)
        key = PassKey(self.code, self.forms, tuple(places), shapes)
        if self.recompute:
            self.pieces = self._pieces(key)
            self.memory = self.pieces[0].memory
        else:
            self.memory = self._placed(self.runs, key)
        for number, tensor in enumerate(self.tensors):
            self.regions[self.memory.held_region(number)] = tensor.detach().resolve_neg().contiguous()

    def _placed(self, runs: ProgramRuns, key: PassKey) -> PassMemory:
        """Where arrays of programs lie, found once for a plan."""
        is_kept = self.code.is_differentiable or any(program.masks for program in self.programs)
        if not is_kept:  # a run begins at the first slot
            self.table[:, SLOTS] = -self.table[:, LOW]
            self.table[:, EDGE_SLOTS] = -self.rows.first_edge[self.table[:, LOW]]
        memory: PassMemory | None = runs.known.get(key)
        if memory is None:
            memory = PassMemory(self.programs, self.names_of, runs, key.places, key.shapes, is_kept)
            runs.known[key] = memory
        return memory

    def _pieces(self, key: PassKey) -> list[RecomputedPiece]:
        """The pass in pieces, found once for a plan."""
        pieces: list[RunsPiece] | None = self.runs.known.get(RECOMPUTED_ROWS)
        if pieces is None:
            pieces = self.runs.known[RECOMPUTED_ROWS] = self.runs.pieces(RECOMPUTED_ROWS)
        return [RecomputedPiece(each, self._placed(each.runs, key)) for each in pieces]

    @contextmanager
    def _computing(self, piece: RecomputedPiece, backward: bool = False) -> Iterator[None]:
        """Within it the pass is a piece, and there is memory for its products."""
        table = self.table
        all_runs = self.runs
        arrays = self.arrays
        parts = self.parts
        runs = piece.runs.runs
        last = piece.runs.first + len(runs.table)
        self.table = runs.table.copy()
        self.table[:, FORM] = table[piece.runs.first : last, FORM]
        self.runs = runs
        self.parts = 1
        self.memory = piece.memory
        self.arrays = {**arrays, **self._masks_of(piece.runs)}
        for region in (FORWARD, BACKWARD) if backward else (FORWARD,):
            self._take_region(region)
        try:
            yield
        finally:
            self.table = table
            self.runs = all_runs
            self.arrays = arrays
            self.parts = parts
            for region in (FORWARD, BACKWARD, CHUNKS):
                self.regions.pop(region, None)
            self._give_back_buffers()

    def _masks_of(self, piece: RunsPiece) -> dict[str, Tensor]:
        """The rows of masks that a piece reads."""
        masks = {}
        for number, program in enumerate(self.programs):
            for k, mask in enumerate(program.masks):
                name = f"mask {number} {k}"
                begin = piece.begins[number][mask.space == Space.EDGE] * mask.rows
                count = piece.runs.size(number, mask.space) * mask.rows
                masks[name] = self.arrays[name][begin : begin + count]
        return masks

    def _draw_masks(self) -> None:
        for number, program in enumerate(self.programs):
            for k, mask in enumerate(program.masks):
                if self.masks is not None:
                    self.arrays[f"mask {number} {k}"] = self.masks[number][k]
                    continue
                rows = self.runs.size(number, mask.space) * mask.rows
                chances = torch.full((rows, mask.width), mask.probability, dtype=self.code.dtype)
                self.arrays[f"mask {number} {k}"] = torch.bernoulli(chances)

    def _begin_state(self, name: str, kind: Kind) -> None:
        """Makes room for a field that is written, with what was there before."""
        initial = self.arrays.get(f"node {name}")
        if initial is None:
            self._new(f"state {name}", len(self.rows), prod(kind.shape), not kind.dtype.is_floating_point)
        else:  # its rows are a copy already, which another is made of only where what was there before is read
            is_read = any(f"node {name}" in names for names in self.names_of)
            self.arrays[f"state {name}"] = initial.clone() if is_read else initial

    def _new(self, name: str, rows: int, columns: int, is_whole: bool = False) -> Tensor:
        """Zeros."""
        self.arrays[name] = torch.zeros(rows, columns, dtype=torch.int64 if is_whole else self.code.dtype)
        return self.arrays[name]

    def _take_region(self, region: int) -> None:
        """Takes memory for a region of products."""
        numbers = self.memory.sizes[region] * (1 if self.memory.keeps else self.parts)
        size = max(numbers, ALIGNED) * self.code.dtype.itemsize
        buffer = take(size + LINE)
        self.buffers.append(buffer)
        begin = -buffer.ctypes.data % LINE
        self.regions[region] = torch.from_numpy(buffer[begin : begin + size]).view(self.code.dtype)

    def release(self) -> None:
        """Gives back the memory of products, which nothing reads any more."""
        self.arrays = {}
        self.regions = {}
        self._give_back_buffers()

    def _give_back_buffers(self) -> None:
        for buffer in self.buffers:
            give_back(buffer)
        self.buffers = []

    def _call(self, name: str) -> None:
        """Computes all parts. Each has memory of its own for gradients to which rows add, if there is enough."""
        addresses = self._addresses()
        parts = [partial(self._call_part, name, part, addresses) for part in range(self.parts)]
        if name == "forward" or self.copies == self.parts:
            together(parts)
        else:
            for part in parts:
                part()

    def _call_part(self, name: str, part: int, of_arrays: Numbers) -> None:
        runs = slice(*self.runs.bounds[part : part + 2])
        wrong = np.zeros(1, np.int64)
        scratch = np.empty(self.code.scratch_shape, np.float64)
        of_part = of_arrays[BASE] + of_arrays[COPY] * part
        arrays = {
            "runs": self.table[runs],
            "bases": of_part,
            "strides": of_arrays[STRIDE],
            "lengths": of_arrays[LENGTH],
            "sizes": self.code.sizes,
            "scratch": scratch,
            "wrong": wrong,
        }
        addresses = {argument: array.ctypes.data for argument, array in arrays.items()} | self.rows.addresses
        addresses |= {"count": runs.stop - runs.start, "arrays": len(self.code.arrays)}
        addresses["product"] = product_address(self.code.dtype) or 0
        assert self.code.module is not None
        self.code.module.functions[name](*(addresses[argument] for argument in DRIVEN))
        if wrong[0]:
            raise OutsideTableError

    def _addresses(self) -> Numbers:
        """(4, programs, arrays): see :class:`PassMemory`."""
        memory = self.memory
        table = memory.table.copy()
        begin = self._begins()
        copies = np.zeros(memory.regions, np.int64)
        if not memory.keeps:
            copies[FORWARD] = memory.sizes[FORWARD] * self.code.dtype.itemsize
        if self.copies > 1:
            for region in memory.added & self.regions.keys():
                copies[region] = self.regions[region].nbytes // self.copies
        table[BASE] = begin[memory.region]
        table[BASE] += memory.offset * (table[BASE] != 0)
        table[COPY] = copies[memory.region]
        for name, tensor in self.arrays.items():
            if name not in memory.index:  # no function reads it
                continue
            index = memory.index[name]
            table[BASE][index] = tensor.data_ptr()
            table[LENGTH][index], table[STRIDE][index] = tensor.shape
        return table

    def _begins(self) -> Numbers:
        """(regions,), their addresses, 0 for what is not there."""
        begins = np.zeros(self.memory.regions, np.int64)
        for region, tensor in self.regions.items():
            begins[region] = tensor.data_ptr()
        return begins

    # -----------------------------------------------------------------------------------------------------------------
    # Backward.

    def backward(self, gradients: Sequence[Tensor | None], wanted: Sequence[bool]) -> list[Tensor | None]:
        """The gradients of all that was given."""
        for (name, kind), gradient in zip(self.code.states.items(), gradients, strict=True):
            if kind.dtype.is_floating_point:
                if gradient is None:
                    self._new(f"d state {name}", len(self.rows), prod(kind.shape))
                else:
                    given_rows = _as_columns(gradient)
                    own = self.rows.of_nodes(given_rows)  # to which gradients of later rows are added
                    self.arrays[f"d state {name}"] = own.clone() if own is given_rows else own
        fields = {f"d {name}" for name, is_wanted in zip(self.names, wanted, strict=False) if is_wanted}
        for name in fields.union(self.memory.fields):
            self._new(name, *self.arrays[name.removeprefix("d ")].shape)
        for name, columns in self.code.sent.items():
            self._new(f"sent {name}", len(self.rows.child), columns)
        self._make_room_for_held()
        if self.recompute:
            for piece in reversed(self.pieces):
                with self._computing(piece, backward=True):
                    self._call("forward")
                    self._call("backward")
                    self._multiply_weights()
        else:
            self._take_region(BACKWARD)
            self._call("backward")
            self._multiply_weights()
        self._add_unwritten()
        to_fields: list[Tensor | None] = []
        for name, given in zip(self.names, self.given, strict=False):
            to_fields.append(self._to_field(name, len(given)) if f"d {name}" in fields else None)
        return [*to_fields, *self._to_outside()]

    def _make_room_for_held(self) -> None:
        """Makes zeros for the gradients of what is held, as many copies as there are parts that add to it."""
        memory = self.memory
        numbers = sum(self.tensors[memory.gradients[region]].numel() for region in memory.added)
        self.copies = self.parts if numbers * self.parts <= MOST_COPIED and not self.recompute else 1
        for region, number in memory.gradients.items():
            is_added = region in memory.added  # by code that does not know whether somebody wants it
            if is_added or self.tensors[number].requires_grad:
                copies = self.copies if is_added else 1
                self.regions[region] = torch.zeros(copies, *memory.shapes[number], dtype=self.code.dtype)

    def _multiply_weights(self) -> None:
        """Adds the gradients of matrices, each by one thread."""
        memory = self.memory
        if memory.chunks:
            self.regions[CHUNKS] = torch.zeros(memory.sizes[CHUNKS], dtype=self.code.dtype)
        table = memory.weights.table(self._begins())
        bounds = [0, len(table)]
        if thread_count() > 1:
            starts = np.flatnonzero(np.diff(table[:, INTO], prepend=0)).tolist()
            bounds = sorted({*starts[:: -(-len(starts) // MOST_CALLS) or 1], len(table)})
        together([partial(self._call_weights, table[low:high]) for low, high in pairwise(bounds)])
        for chunk in memory.chunks:
            if chunk.region in self.regions:
                into = self.regions[chunk.region].view(-1)[chunk.into : chunk.into + chunk.size]
                into += self.regions[CHUNKS][chunk.first : chunk.first + chunk.size]

    def _call_weights(self, table: Numbers) -> None:
        assert self.code.module is not None
        self.code.module.functions["weights"](table.ctypes.data, len(table), product_address(self.code.dtype) or 0)

    def _to_field(self, name: str, count: int) -> Tensor:
        """The gradient of a field, (N, columns) or (E, columns), of so many rows."""
        gradient = self.arrays[f"d {name}"]
        if name.startswith("node "):
            return self.rows.to_nodes(gradient)
        return gradient.new_zeros(count, gradient.shape[1]).index_copy_(0, self.rows.edges, gradient)

    def _add_unwritten(self) -> None:
        """Gives fields the gradients of rows that no program wrote."""
        for name in self.code.states:
            to_node = self.arrays.get(f"d node {name}")
            if to_node is None:
                continue
            kept = self.runs.kept(tuple(name in program.kinds for program in self.programs))
            to_node.index_add_(0, kept, self.arrays[f"d state {name}"].index_select(0, kept))

    def _to_outside(self) -> list[Tensor | None]:
        """The gradients of what functions hold, also through what torch made of it."""
        to_held: list[Tensor | None] = [None] * len(self.tensors)
        for region, number in self.memory.gradients.items():
            if region in self.regions and self.tensors[number].requires_grad:
                _add_to(to_held, number, _sum_of(self.regions[region].unbind(0)))
        count = len(self.held.tensors)
        made = [number for number in range(count, len(self.tensors)) if to_held[number] is not None]
        if made:
            numbers = [number for number, leaf in enumerate(self.leaves) if leaf.requires_grad]
            gradients = torch.autograd.grad(
                [self.tensors[number] for number in made],
                [self.leaves[number] for number in numbers],
                [to_held[number] for number in made],
                retain_graph=True,
                allow_unused=True,
            )
            for number, gradient in zip(numbers, gradients, strict=True):
                if gradient is not None:
                    _add_to(to_held, number, gradient)
        return to_held[:count]

    def differentiable(self, saved: Sequence[Tensor], gradients: Sequence[Tensor | None]) -> list[Tensor | None]:
        """The gradients as values that autograd can differentiate, by torch's operations."""
        if self.masks is None and any(program.masks for program in self.programs):
            raise RuntimeError(
                "a second derivative of functions that draw a mask, such as dropout: compute the pass within "
                'dgltree.engine.kernels.dispatch.kernels("off")'
            )

        def compute(*given: Tensor) -> list[Tensor]:
            fields = given[: len(self.names)]
            outside = given[len(self.names) :]
            pairs = zip(self.held.tensors, outside, strict=True)
            views = {id(own): view for own, view in pairs if own.requires_grad}
            replaced = _Replaced(views)
            with replaced:
                written = self.again(dict(zip(self.names, fields, strict=True)))
            if not views.keys() <= replaced.met:
                raise RuntimeError("the functions hold different tensors than in the pass that is differentiated")
            return written

        return differentiable_gradients(compute, saved, gradients)


class Differentiable(torch.autograd.Function):
    """A pass, with a backward pass by hand."""

    @staticmethod
    def forward(context: Any, passed: FunctionPass, *given: Tensor) -> tuple[Tensor, ...]:
        with threads_of_torch(torch.device("cpu")):
            written = passed.forward(given)
        context.passed = passed
        fields = len(passed.names)
        context.save_for_backward(*given[fields:])  # also to notice what was changed or freed
        context.fields = given[:fields]
        context.versions = [version_of(field) for field in context.fields]
        context.set_materialize_grads(False)
        context.mark_non_differentiable(*(each for each in written if not each.is_floating_point()))
        return tuple(written)

    @staticmethod
    def backward(context: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        saved = context.fields + context.saved_tensors
        passed: FunctionPass = context.passed
        if torch.is_grad_enabled():
            if context.versions != [version_of(field) for field in context.fields]:  # first derivatives have copies
                raise RuntimeError(
                    "a field was modified by an inplace operation before a second derivative of the pass"
                )
            return None, *passed.differentiable(saved, gradients)
        with threads_of_torch(torch.device("cpu")):
            of_given = passed.backward(gradients, context.needs_input_grad[1:])
        if not graph_is_kept():
            passed.release()
            context.passed = context.fields = None
        pairs = zip(of_given, saved, strict=True)
        return None, *(None if gradient is None else gradient.view(given.shape) for gradient, given in pairs)


class _Replaced(TorchFunctionMode):
    """While it is on, functions compute with other tensors in place of those that they hold."""

    def __init__(self, tensors: Mapping[int, Tensor]) -> None:
        super().__init__()
        self.tensors = tensors
        """Tensors by the id of what they stand for."""
        self.met: set[int] = set()

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*self._given(args), **self._given(kwargs or {}))

    def _given(self, argument: Any) -> Any:
        if isinstance(argument, Tensor):
            if id(argument) in self.tensors:
                self.met.add(id(argument))
            return self.tensors.get(id(argument), argument)
        if type(argument) in (tuple, list):
            return type(argument)(self._given(each) for each in argument)
        if isinstance(argument, dict):
            return {name: self._given(each) for name, each in argument.items()}
        return argument


def _add_to(gradients: list[Tensor | None], number: int, gradient: Tensor) -> None:
    before = gradients[number]
    gradients[number] = gradient if before is None else before + gradient


def _sum_of(tensors: Sequence[Tensor]) -> Tensor:
    """The sum of tensors, one after the other, so that it is the same for any number of threads."""
    total = tensors[0]
    for tensor in tensors[1:]:
        total = total + tensor
    return total


def _as_columns(tensor: Tensor) -> Tensor:
    """(rows, columns) of a field, whole numbers and truths as int64."""
    if not tensor.is_floating_point():
        tensor = tensor.long()
    return tensor.detach().resolve_neg().reshape(len(tensor), prod(tensor.shape[1:]))
