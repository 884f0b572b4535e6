"""A pass of message functions as one call forward and one backward."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltree.engine.compiled.catalogue import Catalogue
from dgltree.engine.compiled.derivative import Derivative, derivative
from dgltree.engine.compiled.driver import DRIVEN, RUN, PassPrinter, Wanted
from dgltree.engine.compiled.module import CompiledModule
from dgltree.engine.compiled.programs import NodeProgram
from dgltree.engine.compiled.recording import Kind
from dgltree.engine.compiled.rows import PlainGraph, bunches
from dgltree.engine.compiled.values import Space
from dgltree.engine.frontiers import TopoPlan
from dgltree.engine.kernels.blas import product_address

Numbers = np.ndarray[Any, np.dtype[np.int64]]


class ProgramRuns(NamedTuple):
    """A plan for compiled programs: rows of one frontier and one program, one after the other."""

    table: Numbers
    """(runs, 5): see :data:`dgltree.engine.compiled.driver.RUN`."""
    first_edge: Numbers
    """(N + 1,), where the edges that lead to each row begin."""
    child: Numbers
    """(E',), the row that each edge leads from."""
    first_out: Numbers
    """(N + 1,), where the edges that lead from each row begin among ``out_edges``."""
    out_edges: Numbers
    """(E',)"""
    slots: list[int]
    """Of each program: how many rows it has."""
    edge_slots: list[int]
    """How many edges lead to them."""


def runs_of(plan: TopoPlan, catalogue: Catalogue) -> tuple[ProgramRuns, list[NodeProgram]]:
    """The runs of a plan, and the programs by their numbers."""
    programs: list[NodeProgram] = []
    degrees = np.zeros(len(plan.nodes), np.int64)
    rows: list[tuple[int, int, int]] = []
    last = -1
    for bunch in bunches(plan):
        low, high = bunch.rows.start, bunch.rows.stop
        degrees[low:high] = bunch.degree
        program = catalogue.program(bunch.degree, bunch.others) if bunch.is_computed else None
        if program is not None and program not in programs:
            programs.append(program)
        which = -1 if program is None else programs.index(program)
        if rows and (bunch.frontier, which) == (last, rows[-1][2]):
            rows[-1] = (rows[-1][0], high, which)
        else:
            rows.append((low, high, which))
        last = bunch.frontier
    first_edge = np.concatenate([[0], np.cumsum(degrees)])
    assert plan.row is not None
    child = plan.row.numpy()[plan.source.numpy()[plan.edges.numpy()]]
    slots, edge_slots = [0] * len(programs), [0] * len(programs)
    table = np.empty((len(rows), len(RUN)), np.int64)
    for place, (low, high, which) in enumerate(rows):
        table[place] = low, high, which, 0, 0
        if which >= 0:
            table[place, 3:] = slots[which] - low, edge_slots[which] - first_edge[low]
            slots[which] += high - low
            edge_slots[which] += int(first_edge[high] - first_edge[low])
    out_edges = np.argsort(child, kind="stable")
    first_out = np.concatenate([[0], np.cumsum(np.bincount(child, minlength=len(plan.nodes)))])
    return ProgramRuns(table, first_edge, child, first_out, out_edges, slots, edge_slots), programs


@dataclass
class Compiled:
    """The code of some programs."""

    programs: list[tuple[NodeProgram, Derivative]]
    states: dict[str, Kind]
    """The fields that they write."""
    printer: PassPrinter
    module: CompiledModule

    @classmethod
    def of(cls, catalogue: Catalogue, programs: Sequence[NodeProgram], wanted: Wanted | None) -> "Compiled":
        pairs = [(program, derivative(program)) for program in programs]
        is_double = programs[0].dtype == torch.float64
        states = frozenset(catalogue.written)
        printer = PassPrinter(is_double, pairs, states, wanted)
        names = ("forward",) if wanted is None else ("forward", "backward")
        module = CompiledModule(str(printer.module), names)
        return cls(pairs, dict(catalogue.written), printer, module)


class Memory:
    """The arrays of a pass, (rows, columns) each, by their names."""

    def __init__(self, compiled: Compiled, runs: ProgramRuns) -> None:
        self.compiled, self.runs = compiled, runs
        self.dtype = compiled.programs[0][0].dtype
        self.arrays: dict[str, Tensor] = {}

    def new(self, name: str, rows: int, columns: int, zero: bool = False, is_whole: bool = False) -> Tensor:
        make = torch.zeros if zero else torch.empty
        self.arrays[name] = make(rows, columns, dtype=torch.int64 if is_whole else self.dtype)
        return self.arrays[name]

    def make_products(self, kinds: Sequence[str]) -> None:
        """Rows of all products: of what goes in (``input``), comes out (``product``), and of their gradients."""
        for number, (program, _) in enumerate(self.compiled.programs):
            for k, product in enumerate(program.products):
                slots = self.runs.edge_slots if product.space == Space.EDGE else self.runs.slots
                rows = slots[number] * len(product.rows)
                for kind in kinds:
                    width = product.fan_in if kind in ("input", "product_input") else product.fan_out
                    self.new(f"{kind} {number} {k}", rows, width)

    def call(self, name: str) -> None:
        printer, runs = self.compiled.printer, self.runs
        count = len(printer.arrays)
        bases, strides = np.zeros(count, np.int64), np.zeros(count, np.int64)
        for array, place in printer.arrays.items():
            tensor = self.arrays.get(array.name)
            if tensor is not None:
                bases[place], strides[place] = tensor.data_ptr(), tensor.shape[1]
        sizes = np.array(printer.sizes, np.int64)
        scratch = np.empty((max(printer.scratch, 1), max(printer.widest, 1)), np.float64)
        product = product_address(self.dtype)
        assert product is not None
        given = {
            "runs": runs.table,
            "bases": bases,
            "strides": strides,
            "sizes": sizes,
            "first_edge": runs.first_edge,
            "child": runs.child,
            "scratch": scratch,
            "out_edges": runs.out_edges,
            "first_out": runs.first_out,
        }
        addresses = {argument: array.ctypes.data for argument, array in given.items()}
        addresses |= {"count": len(runs.table), "product": product}
        self.compiled.module.call(name, *(addresses[argument] for argument in DRIVEN))


class FunctionPass(torch.autograd.Function):
    """What is written, of fields in the order of rows and of what is held."""

    @staticmethod
    def forward(
        context: Any, compiled: Compiled, runs: ProgramRuns, names: list[str], *given: Tensor
    ) -> tuple[Tensor, ...]:
        memory = Memory(compiled, runs)
        for name, tensor in zip(names, given, strict=True):
            memory.arrays[name] = _as_rows(name, tensor)
        count = len(runs.first_edge) - 1
        written = []
        for name, kind in compiled.states.items():
            initial = memory.arrays.get(f"node {name}")
            if initial is None:
                is_whole = not kind.dtype.is_floating_point
                state = memory.new(f"state {name}", count, prod(kind.shape), zero=True, is_whole=is_whole)
            else:
                state = memory.arrays[f"state {name}"] = initial.clone()
            written.append(state.view(count, *kind.shape))
        memory.make_products(("input", "product"))
        memory.call("forward")
        context.memory, context.names = memory, names
        context.kinds = [(tensor.shape, tensor.requires_grad) for tensor in given]
        context.mark_non_differentiable(*(each for each in written if not each.is_floating_point()))
        return tuple(written)

    @staticmethod
    def backward(context: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        memory: Memory = context.memory
        compiled, runs = memory.compiled, memory.runs
        count = len(runs.first_edge) - 1
        for (name, kind), gradient in zip(compiled.states.items(), gradients, strict=True):
            to = memory.new(f"d state {name}", count, prod(kind.shape), zero=gradient is None)
            if gradient is not None:
                to.copy_(gradient.reshape(to.shape))
        for name, (_, is_wanted) in zip(context.names, context.kinds, strict=True):
            rows, columns = memory.arrays[name].shape
            if is_wanted or name.startswith("held"):
                memory.new(f"d {name}", rows, columns, zero=True)
        for name, columns in compiled.printer.sent.items():
            memory.new(f"sent {name}", len(runs.child), columns, zero=True)
        memory.make_products(("product_input", "d product"))
        memory.call("backward")
        for number, (program, _) in enumerate(compiled.programs):
            for k, product in enumerate(program.products):
                weight = memory.arrays[f"d held {number} {product.weight}"].view(product.fan_in, product.fan_out)
                weight.addmm_(memory.arrays[f"input {number} {k}"].t(), memory.arrays[f"d product {number} {k}"])
        kept = torch.cat(
            [torch.arange(0), *(torch.arange(run[0], run[1]) for run in runs.table.tolist() if run[2] < 0)]
        )
        for name in compiled.states:
            to_node = memory.arrays.get(f"d node {name}")
            if to_node is not None:
                to_node[kept] += memory.arrays[f"d state {name}"][kept]
        return (
            None,
            None,
            None,
            *(
                memory.arrays[f"d {name}"].view(shape) if is_wanted else None
                for name, (shape, is_wanted) in zip(context.names, context.kinds, strict=True)
            ),
        )


def _as_rows(name: str, tensor: Tensor) -> Tensor:
    """(rows, columns) of a field; a held table as it is, and other held tensors as one row."""
    if tensor.dtype in (torch.bool, torch.int32, torch.int16, torch.int8, torch.uint8):
        tensor = tensor.long()
    tensor = tensor.detach().contiguous()
    if name.startswith("held"):
        return tensor if tensor.dim() == 2 else tensor.view(1, -1)
    return tensor.view(len(tensor), prod(tensor.shape[1:]))


def run(graph: PlainGraph, plan: TopoPlan, catalogue: Catalogue) -> dict[str, Tensor]:
    """What is written, (N, *shape) each."""
    runs, programs = runs_of(plan, catalogue)
    if not programs:
        return {}
    names, given = [], []
    for kind, fields, order in (("node", graph.ndata, plan.nodes), ("edge", graph.edata, plan.edges)):
        for name, column in fields.items():
            names.append(f"{kind} {name}")
            given.append(column.index_select(0, order))
    for number, program in enumerate(programs):
        for k, tensor in enumerate(program.hold()):
            names.append(f"held {number} {k}")
            given.append(tensor)
    wanted = None
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in given):
        wanted = Wanted(
            frozenset(name for name, column in graph.ndata.items() if column.requires_grad),
            frozenset(name for name, column in graph.edata.items() if column.requires_grad),
        )
    compiled = Compiled.of(catalogue, programs, wanted)
    written = FunctionPass.apply(compiled, runs, names, *given)
    assert plan.row is not None
    return {
        name: state.index_select(0, plan.row).to(catalogue.written[name].dtype)
        for name, state in zip(compiled.states, written, strict=True)
    }
