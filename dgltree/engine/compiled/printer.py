"""Programs printed as LLVM IR: one call for a pass forward, one for a pass backward, the same text for all widths."""

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, NamedTuple

from llvmlite import binding, ir

from dgltree.engine.compiled.sweeps import ACROSS_COLUMNS, Store, sweep
from dgltree.engine.compiled.values import Value, number_of, ordered

I1 = ir.IntType(1)
I8 = ir.IntType(8)
I32 = ir.IntType(32)
I64 = ir.IntType(64)
SUMMED = ("reassoc", "nsz")
"""Freedoms of sums, so that they are taken several columns at a time. All other arithmetic is as written: a value is
computed again in each loop that needs it, and an extreme must be equal to one of the numbers that it is of."""
LN_2 = Fraction("0.6931471805599453094172321214581765680755")
LIBRARY = {"erf": "erf", "expm1": "expm1", "log1p": "log1p"}
INTRINSIC = {"sqrt": "sqrt", "norm": "sqrt", "log": "log", "sin": "sin", "cos": "cos", "absolute": "fabs"}
FMA = {True: "llvm.fma.f64", False: "llvm.fma.f32"}
DEAR = {"exp", "expm1", "tanh", "sigmoid", "erf", "log", "log1p", "sin", "cos", "power", "divide", "sqrt", "norm"}
"""Operations that take longer than to write a number and read it again."""
COMPARED = {
    "greater": ">",
    "less": "<",
    "greater_equal": ">=",
    "less_equal": "<=",
    "equal": "==",
    "not_equal": "!=",
}


class Array(NamedTuple):
    """Memory of a pass."""

    name: str
    is_whole: bool
    """Whether it has int64, not the floats of the pass."""


class Printer:
    """A module of functions that share arrays.

    Args:
        is_double: whether floats are float64, not float32.
    """

    def __init__(self, is_double: bool) -> None:
        self.is_double = is_double
        self.float = ir.DoubleType() if is_double else ir.FloatType()
        self.module = ir.Module("pass")
        self.module.triple = binding.get_default_triple()
        self.arrays: dict[Array, int] = {}
        """The arrays that functions use, and their numbers."""
        self.sizes: list[int] = []
        """Numbers that depend on widths: arguments of the functions, so that the text does not."""
        self.scratch = 0
        """The most values that a function keeps in scratch memory."""
        self.widest = 1
        self.sizes.append(0)  # the widest value, known at the end
        self.exponentials = _Exponentials(self.module, self.float, is_double)

    def array(self, name: str, is_whole: bool = False) -> int:
        return self.arrays.setdefault(Array(name, is_whole), len(self.arrays))

    def size(self, number: int) -> int:
        """The place of a number among the sizes."""
        if number not in self.sizes[1:]:
            self.sizes.append(number)
        return self.sizes.index(number, 1)

    def rows_function(
        self, name: str, stores: Sequence[Store], place: Callable[[Value | Store], "Access"]
    ) -> ir.Function:
        """A function that computes what is stored for some rows."""
        made = _RowsFunction(self, name, stores, place)
        made.build()
        return made.function


class Access(NamedTuple):
    """Where a column lies: a row of an array."""

    array: str
    row: str
    """``row``, ``edge``, ``child``, ``part_child``, ``part_edge``, ``slot``, ``edge_slot``, ``one``, or ``table`` where
    a row is looked up."""
    part: int = 0
    rows: int = 1
    """Rows of each node or edge, for products and masks."""
    is_whole: bool = False
    skip: int = 0
    step: int = 0
    """What these are of a :class:`Location`."""

    @property
    def is_of_child(self) -> bool:
        return self.row in ("child", "part_child")


Columns = tuple[Access, int, int]
"""What is read or written of each row: the place, the first column and how many."""


class Scopes:
    """Which reads and writes of one call share no memory, so that loops over columns need not find out.

    Arrays are apart; in one array a node and its children, which are of earlier calls; the rows of products; in a row
    the columns that children have from those before and after; and columns that do not overlap.

    Args:
        accessed: all of a function.
    """

    def __init__(self, accessed: Iterable[Columns]) -> None:
        self._ranges: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
        """The columns of each group that may overlap, merged."""
        accessed = list(accessed)
        kinds: dict[tuple[str, bool], set[str]] = {}
        for access, _, _ in accessed:
            kinds.setdefault((access.array, access.is_of_child), set()).add(access.row)
        self._mixed = {key for key, rows in kinds.items() if len(rows) > 1}
        for access, first, width in sorted(accessed, key=lambda each: each[1]):
            ranges = self._ranges.setdefault(self._group(access), [])
            if self._group(access) in self._mixed:
                ranges[:] = [(0, sys.maxsize)]
            elif ranges and first < ranges[-1][1]:
                ranges[-1] = ranges[-1][0], max(ranges[-1][1], first + width)
            else:
                ranges.append((first, first + width))

    def _group(self, access: Access) -> tuple[Any, ...]:
        key = access.array, access.is_of_child
        return key if key in self._mixed else (*key, access.part, access.skip, access.step)

    def of(self, access: Access, first: int) -> str:
        """The scope of columns from a first one on."""
        group = self._group(access)
        number = next(k for k, (low, high) in enumerate(self._ranges[group]) if low <= first < high)
        return f"{' '.join(map(str, group))} {number}"


ARGUMENTS = {
    "low": I64,
    "high": I64,
    "slots": I64,
    "edge_slots": I64,
    "bases": I8.as_pointer().as_pointer(),
    "strides": I64.as_pointer(),
    "lengths": I64.as_pointer(),
    "sizes": I64.as_pointer(),
    "first_edge": I64.as_pointer(),
    "child": I64.as_pointer(),
    "scratch": I8.as_pointer(),
    "wrong": I64.as_pointer(),
}
"""Arguments of each function: rows from low to high, what is added to a row or an edge to get its slot among the rows
of products of its program, the arrays, their strides and how many rows they have, sizes, where the edges of each row
begin, the row of each edge's child, scratch memory, and what becomes 1 if a row is looked up that a table does not
have."""


class Function:
    """A function in progress, with what all of ours need."""

    def __init__(self, printer: Printer, name: str, is_internal: bool, arguments: dict[str, ir.Type]) -> None:
        self.printer = printer
        self.float = printer.float
        kind = ir.FunctionType(ir.VoidType(), list(arguments.values()))
        self.function = ir.Function(printer.module, kind, name)
        if is_internal:
            self.function.linkage = "internal"
        self.function.attributes.add("nounwind")
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.given = dict(zip(arguments, self.function.args, strict=True))

    def number(self, value: int) -> ir.Constant:
        return ir.Constant(I64, value)

    def at(self, array: ir.Value, index: ir.Value) -> ir.Value:
        """A number of a table that nobody changes during a call, so that loops need not read it at each turn."""
        number = self.builder.load(self.builder.gep(array, [index]))
        number.set_metadata("invariant.load", self.printer.module.add_metadata([]))
        return number

    @contextmanager
    def loop(self, low: ir.Value, high: ir.Value, down: bool = False) -> Iterator[ir.Value]:
        """``for i in range(low, high)``, or from high - 1 down to low."""
        builder = self.builder
        before = builder.block
        head, body, after = (self.function.append_basic_block(name) for name in ("head", "body", "after"))
        first, last = (builder.sub(high, self.number(1)), low) if down else (low, high)
        builder.branch(head)
        builder.position_at_end(head)
        index = builder.phi(I64)
        index.add_incoming(first, before)
        builder.cbranch(builder.icmp_signed(">=" if down else "<", index, last), body, after)
        builder.position_at_end(body)
        yield index
        index.add_incoming(builder.add(index, self.number(-1 if down else 1)), builder.block)
        builder.branch(head)
        builder.position_at_end(after)


Put = Callable[["_Memo", ir.Value, ir.Value], None]
"""What is done with the number of a value at a column."""


class _RowsFunction(Function):
    """Columns of nodes and edges, for the rows of a run."""

    def __init__(
        self, printer: Printer, name: str, stores: Sequence[Store], place: Callable[[Value | Store], Access]
    ) -> None:
        super().__init__(printer, name, True, ARGUMENTS)
        self.stores = stores
        self.place = place
        self.sweep = sweep(stores)
        self.slots = dict(self.sweep.scratch)
        """Where in scratch memory values lie."""
        self.used = len(self.sweep.scratch) + len(self.sweep.extremes)
        indices = [store.row_index for store in stores if store.row_index is not None]
        values = ordered([*(store.value for store in stores), *indices])
        printer.widest = max(printer.widest, *(value.width for value in values), *(store.width for store in stores))
        self.bases: dict[str, tuple[ir.Value, ir.Value]] = {}
        """Array to its memory and its stride."""
        self.sized: dict[int, ir.Value] = {}
        accessed = self._accessed(values)
        self.apart = Scopes(accessed)
        for access, _, _ in accessed:
            self._open(access)
        self.scopes: list[tuple[str, ir.Value]] = []
        """Reads and writes, and what each may share memory with."""
        self.function.attributes.add("noinline")
        self.row: ir.Value = self.number(0)
        self.edge = self.begin = self.degree = self.row

    def _accessed(self, values: Iterable[Value]) -> list[Columns]:
        loads = [value for value in values if value.operation in ("load", "look_up")]
        read = [(self.place(value), value.arguments[-1], value.width) for value in loads]
        return read + [(self.place(store), store.first, store.width) for store in self.stores]

    def _open(self, access: Access) -> None:
        if access.array in self.bases:
            return
        index = self.number(self.printer.array(access.array, access.is_whole))
        memory = self.at(self.given["bases"], index)
        kind = (I64 if access.is_whole else self.float).as_pointer()
        self.bases[access.array] = self.builder.bitcast(memory, kind), self.at(self.given["strides"], index)

    def size(self, number: int) -> ir.Value:
        """A number that depends on widths."""
        if number == 0:
            return self.number(0)
        place = self.printer.size(number)
        if place not in self.sized:
            with self.builder.goto_entry_block():
                self.sized[place] = self.at(self.given["sizes"], self.number(place))
        return self.sized[place]

    def build(self) -> None:
        scratch = self.builder.bitcast(self.given["scratch"], self.float.as_pointer())
        self.widest = self.at(self.given["sizes"], self.number(0))
        with self.loop(self.given["low"], self.given["high"]) as self.row:
            self.begin = self.at(self.given["first_edge"], self.row)
            end = self.at(self.given["first_edge"], self.builder.add(self.row, self.number(1)))
            self.degree = self.builder.sub(end, self.begin)
            self.scratch = scratch
            for part in self.sweep.rounds:
                self._columns(part.node_stores, part.kept, [])
                if not part.edge_stores and not part.folds:
                    continue
                for fold in part.folds:
                    self._begin_fold(fold)
                with self.loop(self.begin, end) as self.edge:
                    self._columns(part.edge_stores, [], part.folds)
        self.builder.ret_void()
        self._tell_scopes()
        self.printer.scratch = max(self.printer.scratch, self.used)

    # -----------------------------------------------------------------------------------------------------------------
    # Columns of one node or one edge.

    def _columns(self, stores: Sequence[Store], kept: Sequence[Value], folds: Sequence[Value]) -> None:
        """Computes what is stored, kept in scratch memory or folded over edges, in loops over columns."""
        jobs: list[tuple[int, Value, Put]] = []
        for store in stores:
            jobs.append((store.width, store.value, self._storing(store)))
        for value in kept:
            jobs.append((value.width, value, self._keeping(value)))
        for fold in folds:
            jobs.append((fold.arguments[0].width, fold.arguments[0], self._folding(fold)))
        known = self.sweep.scratch.keys() - set(kept)
        indices = [store.row_index for store in stores if store.row_index is not None]
        needed = ordered([*(value for _, value, _ in jobs), *indices], without=known)
        stage: dict[Value, int] = {}
        for value in needed:
            below = 0 if value in known else max((stage[each] for each in value.operands), default=0)
            stage[value] = below + (value not in known and value.operation in ACROSS_COLUMNS)
        rows = _Memo(self, known)
        sums = {value: stage[value] - 1 for value in needed if value.operation in ACROSS_COLUMNS and value not in known}
        roots: list[list[Value]] = [[] for _ in range(max(stage.values(), default=-1) + 1)]
        for _, value, _ in jobs:
            roots[stage[value]].append(value)
        for value, number in sums.items():
            roots[number].append(value.arguments[0])
        kept_by_stage = _needed_again(roots, {*known, *sums})
        for number in range(len(roots)):
            of_stage = [value for value in sums if sums[value] == number]
            mine = [job for job in jobs if stage[job[1]] == number]
            for value in kept_by_stage[number]:
                self.slots[value] = self.used
                self.used += 1
                mine.append((value.width, value, self._keeping(value)))
            self._stage(of_stage, mine, rows)
            rows.known |= kept_by_stage[number]

    def _stage(self, sums: Sequence[Value], mine: Sequence[tuple[int, Value, Put]], rows: "_Memo") -> None:
        """What can be computed when the column sums of earlier stages are known."""
        totals = {value: self._begin_sum(value) for value in sums}
        widths = sorted({value.arguments[0].width for value in sums} | {width for width, _, _ in mine})
        for width in widths:
            if width == 1:
                for _, value, put in (job for job in mine if job[0] == 1):
                    put(rows, rows.of(value, self.number(0)), self.number(0))
                continue
            with self.loop(self.number(0), self.size(width)) as column:
                memo = _Memo(self, rows.known, rows)
                for value in (each for each in sums if each.arguments[0].width == width):
                    self._add_to_sum(value, totals[value], memo.of(value.arguments[0], column), column)
                for _, value, put in (job for job in mine if job[0] == width):
                    put(memo, memo.of(value, column), column)
        for value, (total, place) in totals.items():
            found = self.builder.load(place if value.operation.startswith("which") else total)
            is_cut = value.kind == "whole" and found.type != I64
            rows.found[value] = self.builder.fptosi(found, I64) if is_cut else found

    def _alloca(self, kind: ir.Type) -> ir.Value:
        with self.builder.goto_entry_block():
            return self.builder.alloca(kind)

    def _begin_sum(self, value: Value) -> tuple[ir.Value, ir.Value]:
        """Memory for a sum or an extreme of columns, and for the column where the extreme is."""
        total = self._alloca(self.float)
        place = self._alloca(I64)
        self.builder.store(self._neutral(value.operation), total)
        self.builder.store(self.number(0), place)
        return total, place

    def _neutral(self, operation: str) -> ir.Constant:
        if operation.startswith("sum"):
            return ir.Constant(self.float, 0.0)
        return ir.Constant(self.float, -math.inf if "largest" in operation else math.inf)

    def _add_to_sum(self, value: Value, memory: tuple[ir.Value, ir.Value], number: ir.Value, column: ir.Value) -> None:
        total, place = memory
        number = self.as_float(number)
        before = self.builder.load(total)
        if value.operation == "sum_columns":
            self.builder.store(self.builder.fadd(before, number, flags=SUMMED), total)
            return
        beyond = self._beyond(value.operation, number, before)
        self.builder.store(self.builder.select(beyond, number, before), total)
        self.builder.store(self.builder.select(beyond, column, self.builder.load(place)), place)

    def _beyond(self, operation: str, number: ir.Value, before: ir.Value) -> ir.Value:
        """Whether a number is more extreme than all before; the first NaN is, and stays."""
        builder = self.builder
        is_more = builder.fcmp_ordered(">" if "largest" in operation else "<", number, before)
        is_first_nan = builder.and_(
            builder.fcmp_unordered("uno", number, number), builder.fcmp_ordered("ord", before, before)
        )
        return builder.or_(is_more, is_first_nan)

    # -----------------------------------------------------------------------------------------------------------------
    # Scratch memory and sums over edges.

    def _slot(self, slot: int, column: ir.Value) -> ir.Value:
        offset = self.builder.mul(self.number(slot), self.widest)
        return self.builder.gep(self.scratch, [self.builder.add(offset, column)])

    def kept(self, value: Value, column: ir.Value) -> ir.Value:
        """A value from scratch memory, which has floats alone."""
        slot = self.slots[value]
        number = self.read(self._slot(slot, column if value.width > 1 else self.number(0)), f"scratch {slot}")
        if value.kind == "whole":
            return self.builder.fptosi(number, I64)
        if value.kind == "truth":
            return self.builder.fcmp_ordered("!=", number, ir.Constant(self.float, 0.0))
        return number

    def _keeping(self, value: Value) -> "Put":
        def put(memo: _Memo, number: ir.Value, column: ir.Value) -> None:
            slot = self.slots[value]
            self.write(self.as_float(number), self._slot(slot, column), f"scratch {slot}")

        return put

    def _begin_fold(self, fold: Value) -> None:
        with self.loop(self.number(0), self.size(fold.width)) as column:
            for slot in self._of_fold(fold):
                self.write(self._neutral(fold.operation), self._slot(slot, column), f"scratch {slot}")

    def _of_fold(self, fold: Value) -> list[int]:
        """Scratch memory of a sum or an extreme; for the place of an extreme also that of the extreme itself."""
        slots = [self.sweep.extremes[fold]] if fold in self.sweep.extremes else []
        return [*slots, self.sweep.scratch[fold]]

    def _folding(self, fold: Value) -> "Put":
        """Adds an edge's number to a sum over edges, or takes it for the extreme."""

        def put(memo: _Memo, number: ir.Value, column: ir.Value) -> None:
            builder = self.builder
            number = self.as_float(number)
            slot, *places = self._of_fold(fold)
            memory = self._slot(slot, column)
            scope = f"scratch {slot}"
            before = self.read(memory, scope)
            if fold.operation == "sum_edges":
                self.write(builder.fadd(before, number, flags=SUMMED), memory, scope)
                return
            beyond = self._beyond(fold.operation, number, before)
            self.write(builder.select(beyond, number, before), memory, scope)
            for place in places:
                memory = self._slot(place, column)
                scope = f"scratch {place}"
                position = builder.sitofp(self.position(), self.float)
                self.write(builder.select(beyond, position, self.read(memory, scope)), memory, scope)

        return put

    def position(self) -> ir.Value:
        """The position of the edge in its mailbox."""
        return self.builder.sub(self.edge, self.begin)

    # -----------------------------------------------------------------------------------------------------------------
    # Memory of the pass.

    def read(self, memory: ir.Value, scope: str) -> ir.Value:
        """What is there, in memory that shares nothing with that of other scopes."""
        number = self.builder.load(memory)
        self.scopes.append((scope, number))
        return number

    def write(self, number: ir.Value, memory: ir.Value, scope: str) -> None:
        self.scopes.append((scope, self.builder.store(number, memory)))

    def _tell_scopes(self) -> None:
        """Says which memory is apart: LLVM would find out at every loop, and gives up where there are many arrays.

        It holds for the rows of one call, so these functions are never put into their caller, whose loop over frontiers
        would read what an earlier turn wrote.
        """
        module = self.printer.module
        domain = module.add_metadata([f"{self.function.name}"])
        names = sorted({scope for scope, _ in self.scopes})
        nodes = {name: module.add_metadata([name, domain]) for name in names}
        own = {name: module.add_metadata([nodes[name]]) for name in names}
        others = {}
        for name in names:
            others[name] = module.add_metadata([nodes[other] for other in names if other != name])
        for name, instruction in self.scopes:
            instruction.set_metadata("alias.scope", own[name])
            if len(names) > 1:
                instruction.set_metadata("noalias", others[name])

    def address(self, access: Access, first: int, column: ir.Value) -> ir.Value:
        builder = self.builder
        memory, stride = self.bases[access.array]
        start = builder.mul(self._row_of(access), stride)
        start = builder.add(start, self.size(first))
        if access.skip:
            start = builder.add(start, builder.mul(self.size(access.skip), self.degree))
        if access.step:
            start = builder.add(start, builder.mul(self.size(access.step), self.position()))
        return builder.gep(memory, [builder.add(start, column)])

    def table(self, access: Access, index: ir.Value, first: int, column: ir.Value) -> ir.Value:
        """The address of a column in the row of an index."""
        memory, stride = self.bases[access.array]
        start = self.builder.add(self.builder.mul(index, stride), self.size(first))
        return self.builder.gep(memory, [self.builder.add(start, column)])

    def checked(self, access: Access, index: ir.Value) -> ir.Value:
        """An index into a table; 0 instead of one that it does not have, which is reported in ``wrong``."""
        place = self.number(self.printer.array(access.array, access.is_whole))
        is_there = self.builder.icmp_unsigned("<", index, self.at(self.given["lengths"], place))
        with self.builder.if_then(self.builder.not_(is_there), likely=False):
            self.builder.store(self.number(1), self.given["wrong"])
        return self.builder.select(is_there, index, self.number(0))

    def _row_of(self, access: Access) -> ir.Value:
        builder = self.builder
        if access.row == "row":
            return self.row
        if access.row == "edge":
            return self.edge
        if access.row == "child":
            return self.at(self.given["child"], self.edge)
        if access.row in ("part_edge", "part_child"):
            edge = builder.add(self.begin, self.number(access.part))
            return edge if access.row == "part_edge" else self.at(self.given["child"], edge)
        if access.row == "one":
            return self.number(0)
        if access.row == "slot":
            slot = builder.add(self.row, self.given["slots"])
        else:
            slot = builder.add(self.edge, self.given["edge_slots"])
        return builder.add(builder.mul(slot, self.number(access.rows)), self.number(access.part))

    def _storing(self, store: Store) -> "Put":
        access = self.place(store)

        def put(memo: _Memo, number: ir.Value, column: ir.Value) -> None:
            builder = self.builder
            if store.row_index is None:
                memory = self.address(access, store.first, column)
            else:
                memory = self.table(access, memo.of(store.row_index, self.number(0)), store.first, column)
            scope = self.apart.of(access, store.first)
            if access.is_whole:
                self.write(self.as_whole(number), memory, scope)
                return
            number = self.as_float(number)
            if store.adds:
                number = builder.fadd(self.read(memory, scope), number, flags=SUMMED)
            self.write(number, memory, scope)

        return put

    def as_float(self, number: ir.Value) -> ir.Value:
        if number.type == I64:
            return self.builder.sitofp(number, self.float)
        return self.builder.uitofp(number, self.float) if number.type == I1 else number

    def as_whole(self, number: ir.Value) -> ir.Value:
        return self.builder.zext(number, I64) if number.type == I1 else number


def _needed_again(roots: Sequence[Sequence[Value]], known: Set[Value]) -> list[set[Value]]:
    """For each stage the values that later stages need, too, and that take longer to compute than to read again.

    Args:
        roots: of each stage, what is computed in it.
        known: what stages need not compute.
    """
    found: list[set[Value]] = [set() for _ in roots]
    first: dict[Value, int] = {}
    is_dear: dict[Value, bool] = {}
    for number, of_stage in enumerate(roots):
        stack = list(of_stage)
        seen = set[Value]()
        while stack:
            value = stack.pop()
            if value in seen or value in known:
                continue
            seen.add(value)
            before = first.get(value, number)
            if before < number and is_dear[value]:
                found[before].add(value)
                continue
            stack += value.operands
        for value in ordered(of_stage, without=known):
            first.setdefault(value, number)
            dear = value.operation in DEAR or any(is_dear.get(each, False) for each in value.operands)
            is_dear[value] = dear and value.width > 1 and value not in known
    return found


class _Memo:
    """Values of one column, each computed once.

    Args:
        function: that is built.
        known: values that lie in scratch memory.
        outer: those of the row, for values of width 1.
    """

    def __init__(self, function: _RowsFunction, known: Iterable[Value], outer: "_Memo | None" = None) -> None:
        self.function = function
        self.known = set(known)
        self.outer = outer
        self.found: dict[Value, ir.Value] = {}

    def of(self, value: Value, column: ir.Value) -> ir.Value:
        for each in ordered([value], without=self._is_known):
            if each not in self.found:
                self.found[each] = self._compute(each, column)
        return self.found[value]

    def _is_known(self, value: Value) -> bool:
        return value in self.found or value in self.known or (self.outer is not None and value in self.outer.found)

    def _compute(self, value: Value, column: ir.Value) -> ir.Value:
        if self.outer is not None and value in self.outer.found:
            return self.outer.found[value]
        if value in self.known:
            return self.function.kept(value, column)
        function = self.function
        builder = self.function.builder
        if value.width == 1:
            column = function.number(0)
        operation = value.operation
        kind = value.kind
        if operation == "constant":
            types = {"float": function.float, "whole": I64, "truth": I1}
            return ir.Constant(types[kind], number_of(value))
        if operation == "degree":
            return function.degree
        if operation == "position":
            return function.position()
        if operation == "column_numbers":
            return builder.add(column, function.size(value.arguments[0]))
        if operation == "load":
            access = function.place(value)
            first = value.arguments[1]
            number = function.read(function.address(access, first, column), function.apart.of(access, first))
            return builder.icmp_signed("!=", number, function.number(0)) if kind == "truth" else number
        if operation == "look_up":
            index, _, first = value.arguments
            access = function.place(value)
            row = function.checked(access, self.found[index])
            return function.read(function.table(access, row, first, column), function.apart.of(access, first))
        return _arithmetic(function, value, [self.found[each] for each in value.operands])


def _arithmetic(function: _RowsFunction, value: Value, given: list[ir.Value]) -> ir.Value:
    """An operation on numbers of one column."""
    builder = function.builder
    operation = value.operation
    if operation == "where":
        condition, x, y = given
        if value.kind == "float":
            x = function.as_float(x)
            y = function.as_float(y)
        return builder.select(condition, x, y)
    if operation in ("and", "or"):
        return (builder.and_ if operation == "and" else builder.or_)(*given)
    if operation == "not":
        return builder.not_(given[0])
    if operation in ("detach", "value_of"):
        return given[0]
    is_whole = all(number.type != function.float for number in given)
    if operation in COMPARED:
        if is_whole:
            return builder.icmp_signed(COMPARED[operation], *map(function.as_whole, given))
        compare = builder.fcmp_unordered if operation == "not_equal" else builder.fcmp_ordered
        return compare(COMPARED[operation], *map(function.as_float, given))
    if value.kind == "whole":
        return _whole_arithmetic(function, operation, [function.as_whole(number) for number in given])
    x, *rest = [function.as_float(number) for number in given]
    if operation in ("add", "subtract", "multiply", "divide"):
        names = {"add": builder.fadd, "subtract": builder.fsub, "multiply": builder.fmul, "divide": builder.fdiv}
        return names[operation](x, rest[0])
    if operation == "negative":
        return builder.fneg(x)
    if operation == "as_float":
        return x
    if operation in ("maximum", "minimum", "largest", "smallest"):
        sign = ">=" if operation in ("maximum", "largest") else "<="
        takes = builder.fcmp_ordered(sign, x, rest[0])
        return builder.select(builder.or_(takes, builder.fcmp_unordered("uno", x, x)), x, rest[0])
    if operation == "sign":
        zero = ir.Constant(function.float, 0.0)
        one = ir.Constant(function.float, 1.0)
        below = builder.select(builder.fcmp_ordered("<", x, zero), ir.Constant(function.float, -1.0), zero)
        return builder.select(builder.fcmp_ordered(">", x, zero), one, below)
    module = function.printer.module
    if operation == "power":
        power = module.declare_intrinsic("llvm.pow", [function.float])
        return builder.call(power, [x, ir.Constant(function.float, value.arguments[1])])
    if operation in INTRINSIC:
        return builder.call(module.declare_intrinsic(f"llvm.{INTRINSIC[operation]}", [function.float]), [x])
    if operation in LIBRARY:
        name = LIBRARY[operation] + ("" if function.printer.is_double else "f")
        known = module.globals.get(name)
        kind = ir.FunctionType(function.float, [function.float])
        return builder.call(known or ir.Function(module, kind, name), [x])
    return builder.call(function.printer.exponentials.named(operation), [x])


def _whole_arithmetic(function: _RowsFunction, operation: str, given: list[ir.Value]) -> ir.Value:
    builder = function.builder
    if operation == "negative":
        return builder.neg(given[0])
    if operation in ("maximum", "largest", "minimum", "smallest"):
        sign = ">=" if operation in ("maximum", "largest") else "<="
        return builder.select(builder.icmp_signed(sign, *given), *given)
    if operation in ("absolute", "sign"):
        raise NotImplementedError(operation)
    names = {"add": builder.add, "subtract": builder.sub, "multiply": builder.mul}
    return names[operation](*given)


class _Exponentials:
    """exp, sigmoid and tanh without branches, so that loops over columns are vectorised.

    A number is k ln 2 + f with whole k, and e^f a Taylor polynomial, whose error at |f| <= ln(2) / 2 is below a tenth
    of the last bit; the power of 2 is put into the exponent's bits.
    """

    def __init__(self, module: ir.Module, kind: ir.Type, is_double: bool) -> None:
        self.module = module
        self.kind = kind
        self.is_double = is_double
        self.floor = module.declare_intrinsic("llvm.floor", [kind])
        has_fma = "+fma" in binding.get_host_cpu_features().flatten().split(",")
        self.fma = ir.Function(module, ir.FunctionType(kind, [kind] * 3), FMA[is_double]) if has_fma else None
        self._made: dict[str, ir.Function] = {}

    def named(self, name: str) -> ir.Function:
        if name not in self._made:
            self._made[name] = {"exp": self._exp, "sigmoid": self._sigmoid, "tanh": self._tanh}[name]()
        return self._made[name]

    def _begin(self, name: str) -> tuple[ir.IRBuilder, ir.Value, ir.Function]:
        function = ir.Function(self.module, ir.FunctionType(self.kind, [self.kind]), f"columns.{name}")
        function.linkage = "internal"
        function.attributes.add("alwaysinline")
        return ir.IRBuilder(function.append_basic_block()), function.args[0], function

    def _number(self, number: float) -> ir.Constant:
        return ir.Constant(self.kind, number)

    def _clamped(self, builder: ir.IRBuilder, x: ir.Value, low: float, high: float) -> ir.Value:
        x = builder.select(builder.fcmp_ordered("<", x, self._number(low)), self._number(low), x)
        return builder.select(builder.fcmp_ordered(">", x, self._number(high)), self._number(high), x)

    def _reduced(self, builder: ir.IRBuilder, x: ir.Value, less: int = 0) -> tuple[ir.Value, ir.Value]:
        """2^(k - less), and f."""
        bits = 26 if self.is_double else 9  # so many of ln 2 that k times them is exact
        high = math.ldexp(math.floor(math.ldexp(math.log(2), bits)), -bits)
        low = float(LN_2 - Fraction(high))  # k times the error of a rounded ln 2 would be 100 last bits
        scaled = builder.fadd(builder.fmul(x, self._number(1 / math.log(2))), self._number(0.5))
        k = builder.call(self.floor, [scaled])
        f = builder.fsub(x, builder.fmul(k, self._number(high)))
        f = builder.fsub(f, builder.fmul(k, self._number(low)))
        whole = builder.fptosi(k, I32)
        if self.is_double:
            shifted = builder.shl(
                builder.add(builder.sext(whole, I64), ir.Constant(I64, 1023 - less)), ir.Constant(I64, 52)
            )
        else:
            shifted = builder.shl(builder.add(whole, ir.Constant(I32, 127 - less)), ir.Constant(I32, 23))
        return builder.bitcast(shifted, self.kind), f

    def _polynomial(self, builder: ir.IRBuilder, f: ir.Value, first: int) -> ir.Value:
        """The sum of f^(k - first) / k! from k = first on."""
        last = 14 if self.is_double else 7
        total = self._number(1 / math.factorial(last))
        for k in range(last - 1, first - 1, -1):
            total = self._multiply_add(builder, total, f, self._number(1 / math.factorial(k)))
        return total

    def _multiply_add(self, builder: ir.IRBuilder, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
        """x y + z, rounded once where the processor can do that."""
        if self.fma is not None:
            return builder.call(self.fma, [x, y, z])
        return builder.fadd(builder.fmul(x, y), z)

    def _exp(self) -> ir.Function:
        builder, x, function = self._begin("exp")
        low, high = (-708.0, 709.7) if self.is_double else (-86.9, 88.7)
        power, f = self._reduced(builder, self._clamped(builder, x, low, high), less=1)  # 2^k itself may be infinite
        found = builder.fmul(builder.fmul(self._polynomial(builder, f, 0), power), self._number(2.0))
        found = builder.select(builder.fcmp_ordered(">", x, self._number(high)), self._number(math.inf), found)
        found = builder.select(builder.fcmp_ordered("<", x, self._number(low)), self._number(0.0), found)
        builder.ret(builder.select(builder.fcmp_ordered("ord", x, x), found, x))
        return function

    def _sigmoid(self) -> ir.Function:
        builder, x, function = self._begin("sigmoid")
        limit = 700.0 if self.is_double else 86.0
        power, f = self._reduced(builder, self._clamped(builder, builder.fneg(x), -limit, limit))
        grown = builder.fmul(self._polynomial(builder, f, 0), power)
        found = builder.fdiv(self._number(1.0), builder.fadd(self._number(1.0), grown))
        builder.ret(builder.select(builder.fcmp_ordered("ord", x, x), found, x))
        return function

    def _tanh(self) -> ir.Function:
        """(e^2x - 1) / (e^2x + 1), where e^2x - 1 has no cancellation."""
        builder, x, function = self._begin("tanh")
        limit = 40.0 if self.is_double else 20.0
        power, f = self._reduced(builder, self._clamped(builder, builder.fadd(x, x), -limit, limit))
        less_one = builder.fmul(self._polynomial(builder, f, 1), f)
        grown = builder.fmul(less_one, power)
        grown = builder.fadd(grown, builder.fsub(power, self._number(1.0)))
        found = builder.fdiv(grown, builder.fadd(grown, self._number(2.0)))
        builder.ret(builder.select(builder.fcmp_ordered("ord", x, x), found, x))
        return function
