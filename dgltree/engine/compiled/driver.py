"""The functions of a pass: forward over its runs in their order, backward from the last to the first, and the products
that are the gradients of its matrices.

A program is functions of rows with products of matrices between them: rows of one **level** wait for the products of
the level before. A run is taken through all levels of its program before the next run begins, so what it stores in
between stays in the cache.

**Gradients are pulled.** A row's gradient has a part for each row that read it. A backward function does not add its
part to the row that it read, which other edges may lead from, too: it writes to an edge's own memory (``sent``). Before
a run's backward pass its rows add up what lies at the edges that lead from them (``_pull``), in the order of these
edges. So functions write to rows and edges of their own alone, as the printer tells LLVM (``Scopes``).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from llvmlite import ir

from dgltree.engine.compiled.derivative import derivative
from dgltree.engine.compiled.printer import ARGUMENTS, I8, I64, Access, Function, Printer
from dgltree.engine.compiled.programs import NodeProgram, Product, Segment
from dgltree.engine.compiled.rows import RUN
from dgltree.engine.compiled.sweeps import Store
from dgltree.engine.compiled.values import Location, Space, Value, is_load, ordered

OF_PROGRAM = ("held", "d held", "input", "product", "product_input", "d product", "mask")
"""Arrays that each program has for itself. Others are of the pass."""
DRIVEN = {
    "runs": I64.as_pointer(),
    "count": I64,
    **{name: kind for name, kind in ARGUMENTS.items() if name not in RUN},
    "out_edges": I64.as_pointer(),
    "first_out": I64.as_pointer(),
    "arrays": I64,
    "product": I64,
}
"""Arguments of both functions: the table, how many runs it has, the arrays of each program, the edges that lead from
each row, how many arrays a program has, and the address of BLAS's product."""
WEIGHT_PRODUCT = ("left", "right", "into", "rows", "left_columns", "right_columns")
"""Columns of the table of products that are gradients of matrices: ``into += left^T right``, by addresses."""
WEIGHT_DRIVEN = {"table": I64.as_pointer(), "count": I64, "product": I64}
"""Arguments of the function of these products: the table, its rows, and the address of BLAS's product."""
ARRAYS = ("bases", "strides", "lengths")
"""Arguments that have an entry for each array, program after program."""


class Wanted(NamedTuple):
    """What needs a gradient, apart from fields that are written."""

    nodes: frozenset[str]
    edges: frozenset[str]


class PassPrinter(Printer):
    """The module of a pass.

    Args:
        is_double: whether floats are float64.
        programs: one of each form, by number.
        states: the fields that they write.
        wanted: None for a pass without gradients.
        reverse: whether edges lead from nodes that are computed later, so that what is read of these is what they had
            before the pass.
    """

    def __init__(
        self,
        is_double: bool,
        programs: Sequence[NodeProgram],
        states: frozenset[str],
        wanted: Wanted | None,
        reverse: bool,
    ) -> None:
        super().__init__(is_double)
        self.states = states
        self.wanted = wanted
        self.reverse = reverse
        self.read_states = frozenset() if reverse else states
        """The states of which edges bring what was written."""
        loads = (load.arguments[0] for program in programs for load in program.loads() if load.operation == "load")
        sources = {place.name for place in loads if place.array in ("source", "child")}
        self.pulled = frozenset() if reverse else sources - states
        """Fields whose gradient has come along edges when the node's own functions add to it."""
        self.sent: dict[str, int] = {}
        """Fields whose gradient goes along edges, and how many columns they have."""
        forward = [self._forward(number, program) for number, program in enumerate(programs)]
        _Driver(self, "forward", forward, {}, is_backward=False).build()
        if wanted is not None:
            backward = [self._backward(number, program) for number, program in enumerate(programs)]
            _Driver(self, "backward", backward, self.sent, is_backward=True).build()
            _WeightDriver(self, "weights").build()
        self.sizes[0] = self.widest

    def _placed(self, number: int, program: NodeProgram) -> Callable[[Value | Store], Access]:
        """Where a program's loads and stores are."""

        def place(of: Value | Store) -> Access:
            if isinstance(of, Store):
                name = of.location.name
                if of.row_index is not None:
                    return Access(f"d held {number} {name}", "table")
                is_whole = of.location.array == "state" and not program.kinds[str(name)].dtype.is_floating_point
                return self._access(number, program, of.location, is_whole)
            if of.operation == "look_up":
                return Access(f"held {number} {of.arguments[1]}", "table")
            return self._access(number, program, of.arguments[0], of.kind != "float")

        return place

    def _access(self, number: int, program: NodeProgram, location: Location, is_whole: bool) -> Access:
        array = location.array
        name = location.name
        field = "state" if name in self.read_states else "node"
        if array in ("product", "d product", "input", "product_input", "mask"):
            kind = program.masks[name] if array == "mask" else program.products[name]  # type: ignore[index]
            count = kind.rows if array == "mask" else len(kind.rows)  # type: ignore[arg-type]
            row = "edge_slot" if kind.space == Space.EDGE else "slot"
            memory = f"{array} {number} {name}"
            return Access(memory, row, location.part, count, skip=location.skip, step=location.step)  # type: ignore[arg-type]
        rows = {
            "node": (f"node {name}", "row"),
            "state": (f"state {name}", "row"),
            "given": (f"d state {name}", "row"),
            "source": (f"{field} {name}", "child"),
            "child": (f"{field} {name}", "part_child"),
            "edge": (f"edge {name}", "edge"),
            "child_edge": (f"edge {name}", "part_edge"),
            "held": (f"held {number} {name}", "one"),
            "d node": (f"d node {name}", "row"),
            "d edge": (f"d edge {name}", "edge"),
            "d child_edge": (f"d edge {name}", "part_edge"),
            "d source": (f"sent {name}", "edge"),
            "d child": (f"sent {name}", "part_edge"),
            "d held": (f"d held {number} {name}", "one"),
        }
        memory, row = rows[array]
        return Access(memory, row, location.part, 1, is_whole, location.skip, location.step)

    def _forward(self, number: int, program: NodeProgram) -> list["DriverStep"]:
        """Functions of rows and products of matrices, in their order."""
        place = self._placed(number, program)
        levels = program.levels()
        steps = []
        for level in range(max(levels, default=-1) + 1):
            mine = [k for k, of in enumerate(levels) if of == level]
            stores: list[Store] = []
            for k in mine:
                stores += _of_product("input", k, program.products[k], program.products[k].rows)
            steps.append(self._rows(f"inputs {number} {level}", stores, place))
            steps += [DriverStep(None, number, k, program.products[k]) for k in mine]
        stores = []
        for name, segments in program.outputs.items():
            location = Location("state", name)
            stores += [Store(location, Space.NODE, each.first, each.width, each.value) for each in segments]
        steps.append(self._rows(f"states {number}", stores, place))
        return [step for step in steps if step is not None]

    def _rows(self, name: str, stores: list[Store], place: Callable[[Value | Store], Access]) -> "DriverStep | None":
        return DriverStep(self.rows_function(name, stores, place), 0, 0, None) if stores else None

    def _backward(self, number: int, program: NodeProgram) -> list["DriverStep"]:
        gradients = derivative(program)
        place = self._placed(number, program)
        levels = program.levels()
        to_loads = [store for loaded, gradient in gradients.loads for store in self._gradient(loaded, gradient)]
        by_level: dict[int, list[Store]] = {}
        for store in to_loads:
            added = store._replace(adds=self._is_added_to(store, to_loads))
            by_level.setdefault(_known_after(store.value, levels), []).append(added)
        # Nobody wants the gradient of a product's rows where they are inputs without a gradient.
        asked = [store.value for store in to_loads]
        asked += [segment.value for rows in gradients.products for row in rows for segment in row]
        read = {each.arguments[0].name for each in ordered(asked) if is_load(each, "product_input")}
        steps = []
        for level in reversed(range(max(levels, default=-1) + 1)):
            mine = [k for k, of in enumerate(levels) if of == level]
            stores: list[Store] = []
            for k in mine:
                stores += _of_product("d product", k, program.products[k], gradients.products[k])
            stores += by_level.get(level + 1, [])
            steps.append(self._rows(f"gradients {number} {level}", stores, place))
            steps += [DriverStep(None, number, k, program.products[k]) for k in mine if k in read]
        steps.append(self._rows(f"loads {number}", by_level.get(0, []), place))
        return [step for step in steps if step is not None]

    def _is_added_to(self, store: Store, stores: Sequence[Store]) -> bool:
        """Whether a gradient has other parts; otherwise it is written without reading what is there."""
        array = store.location.array
        name = store.location.name
        if array == "d held" or (array == "d node" and name in self.pulled):
            return True
        for other in stores:
            if other.location.name != name or other is store:
                continue
            if other.location.array != array:
                return True
            overlaps = other.first < store.first + store.width and store.first < other.first + other.width
            if overlaps and other.location.part == store.location.part:
                return True
        return False

    def _gradient(self, loaded: Value, gradient: Value) -> list[Store]:
        """Adds a gradient to that of what was loaded, if it is wanted."""
        assert self.wanted is not None
        space = max(loaded.space, Space.NODE)
        if loaded.operation == "look_up":
            index, held, first = loaded.arguments
            return [Store(Location("d held", held), space, first, loaded.width, gradient, True, index)]
        location, first = loaded.arguments
        array = location.array
        name = location.name
        if array in ("source", "child"):
            is_wanted = name in self.read_states or name in self.wanted.nodes
            if is_wanted:
                self.sent[name] = max(self.sent.get(name, 0), first + loaded.width)
        else:
            is_wanted = array == "held" or name in (self.wanted.nodes if array == "node" else self.wanted.edges)
        store = Store(location._replace(array=f"d {array}"), space, first, loaded.width, gradient, True)
        return [store] if is_wanted else []


def _of_product(array: str, number: int, product: Product, rows: Sequence[Sequence[Segment]]) -> Iterator[Store]:
    """Columns of the rows that go into a product, or of the gradients of those that come out."""
    for part, row in enumerate(rows):
        for segment in row:
            space = Space.EDGE if segment.step else product.space
            location = segment.location(array, number, part)
            yield Store(location, space, segment.first, segment.width, segment.value)


def _known_after(gradient: Value, levels: Sequence[int]) -> int:
    """The level of products whose backward pass a gradient waits for, one above the last for none.

    What is known early is written next to the gradients of products, with which it shares most of what it is made of.
    """
    waits = [levels[each.arguments[0].name] for each in ordered([gradient]) if is_load(each, "product_input")]
    return min(waits, default=max(levels, default=-1) + 1)


class DriverStep(NamedTuple):
    """A call: of a function of rows, or of a product that programs of a form have."""

    function: ir.Function | None
    form: int
    number: int
    product: Product | None


class _Multiplying(Function):
    """A function that calls BLAS, whose arguments lie in memory."""

    def __init__(self, printer: Printer, name: str, arguments: dict[str, ir.Type]) -> None:
        super().__init__(printer, name, False, arguments)
        entry = self.builder
        self.letters = [entry.alloca(I8) for _ in range(2)]
        self.whole = [entry.alloca(I64) for _ in range(6)]
        self.factors = [entry.alloca(self.float) for _ in range(2)]

    def multiply(
        self, letters: str, sizes: Sequence[ir.Value], left: ir.Value, right: ir.Value, factor: float, into: ir.Value
    ) -> None:
        """``into = left right + factor into``, as BLAS has it, whose matrices lie column by column.

        Args:
            letters: "T" for a matrix that is turned, "N" for another, left and right.
            sizes: m, n, k, and the strides of left, right and into.
            left, right, into: their memory.
            factor: 0 or 1.
        """
        builder = self.builder
        for memory, letter in zip(self.letters, letters, strict=True):
            builder.store(ir.Constant(I8, ord(letter)), memory)
        for memory, size in zip(self.whole, sizes, strict=True):
            builder.store(size, memory)
        one, kept = self.factors
        builder.store(ir.Constant(self.float, 1.0), one)
        builder.store(ir.Constant(self.float, factor), kept)
        *mnk, left_stride, right_stride, into_stride = self.whole
        arguments = [*self.letters, *mnk, one, left, left_stride, right, right_stride, kept, into, into_stride]
        kind = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
        builder.call(builder.inttoptr(self.given["product"], kind.as_pointer()), arguments)


class _WeightDriver(_Multiplying):
    """A loop over the products that are gradients of matrices, each added to what is there."""

    def __init__(self, printer: PassPrinter, name: str) -> None:
        super().__init__(printer, name, WEIGHT_DRIVEN)

    def build(self) -> None:
        builder = self.builder
        with self.loop(self.number(0), self.given["count"]) as row:
            begin = builder.mul(row, self.number(len(WEIGHT_PRODUCT)))
            columns = [builder.add(begin, self.number(k)) for k in range(len(WEIGHT_PRODUCT))]
            numbers = [self.at(self.given["table"], column) for column in columns]
            left, right, into = (builder.inttoptr(address, self.float.as_pointer()) for address in numbers[:3])
            rows, left_columns, right_columns = numbers[3:]
            # Rows lie one after another, so to BLAS each matrix is its transpose, and so is the result.
            sizes = [right_columns, left_columns, rows, right_columns, left_columns, right_columns]
            self.multiply("NT", sizes, right, left, 1.0, into)
        builder.ret_void()


class _Driver(_Multiplying):
    """A loop over runs, each by the steps of its program."""

    def __init__(
        self,
        printer: PassPrinter,
        name: str,
        steps: Sequence[list[DriverStep]],
        sent: dict[str, int],
        is_backward: bool,
    ) -> None:
        super().__init__(printer, name, DRIVEN)
        self.pass_printer = printer
        self.steps = steps
        self.sent = sent
        self.is_backward = is_backward

    def build(self) -> None:
        builder = self.builder
        with self.loop(self.number(0), self.given["count"], down=self.is_backward) as run:
            of_run = self._columns(run, RUN)
            first = builder.mul(of_run["program"], self.given["arrays"])
            of_run |= {name: builder.gep(self.given[name], [first]) for name in ARRAYS}
            if self.is_backward and not self.pass_printer.reverse:
                self._pull(of_run["low"], of_run["high"])
            for number, steps in enumerate(self.steps):
                with builder.if_then(builder.icmp_signed("==", of_run["form"], self.number(number))):
                    for step in steps:
                        self._take(step, of_run)
        if self.is_backward and self.pass_printer.reverse:
            with self.loop(self.number(0), self.given["count"]) as run:
                bounds = self._columns(run, ("low", "high"))
                self._pull(bounds["low"], bounds["high"])
        builder.ret_void()

    def _columns(self, run: ir.Value, names: Sequence[str]) -> dict[str, ir.Value]:
        """What the table of runs has of a run in its first columns."""
        begin = self.builder.mul(run, self.number(len(RUN)))
        columns = [self.builder.add(begin, self.number(k)) for k in range(len(names))]
        return {name: self.at(self.given["runs"], column) for name, column in zip(names, columns, strict=True)}

    def _take(self, step: DriverStep, of_run: dict[str, ir.Value]) -> None:
        if step.function is not None:
            arguments = {**self.given, **of_run}
            self.builder.call(step.function, [arguments[name] for name in ARGUMENTS])
        elif step.product is not None:
            self._multiply(step, of_run, step.product)

    def _memory(self, name: str, arrays: dict[str, ir.Value]) -> tuple[ir.Value, ir.Value]:
        index = self.number(self.printer.array(name))
        memory = self.builder.bitcast(self.at(arrays["bases"], index), self.float.as_pointer())
        return memory, self.at(arrays["strides"], index)

    def _multiply(self, step: DriverStep, of_run: dict[str, ir.Value], product: Product) -> None:
        """Rows times a matrix."""
        builder = self.builder
        low = of_run["low"]
        high = of_run["high"]
        shift = of_run["slots"]
        if product.space == Space.EDGE:
            low = self.at(self.given["first_edge"], low)
            high = self.at(self.given["first_edge"], high)
            shift = of_run["edge_slots"]
        count = self.number(len(product.rows))
        first = builder.mul(builder.add(low, shift), count)
        rows = builder.mul(builder.sub(high, low), count)
        given_name, result_name = ("d product", "product_input") if self.is_backward else ("input", "product")
        given, fan_in = self._memory(f"{given_name} {step.form} {step.number}", of_run)
        result, fan_out = self._memory(f"{result_name} {step.form} {step.number}", of_run)
        weight, _ = self._memory(f"held {step.form} {product.weight}", of_run)
        given_rows = builder.gep(given, [builder.mul(first, fan_in)])
        into = builder.gep(result, [builder.mul(first, fan_out)])
        # To BLAS our matrices are their transposes: weights (fan_in, fan_out) of the product forward, turned backward.
        is_turned = self.is_backward != product.is_turned
        sizes = [fan_out, rows, fan_in, fan_in if is_turned else fan_out, fan_in, fan_out]
        with builder.if_then(builder.icmp_signed(">", rows, self.number(0))):
            self.multiply("TN" if is_turned else "NN", sizes, weight, given_rows, 0.0, into)

    def _pull(self, low: ir.Value, high: ir.Value) -> None:
        """Adds to the gradient of each row what was sent along the edges that lead from it."""
        builder = self.builder
        for name in self.sent:
            sent, stride = self._memory(f"sent {name}", self.given)
            kind = "d state" if name in self.pass_printer.read_states else "d node"
            gradient, width = self._memory(f"{kind} {name}", self.given)
            with self.loop(low, high) as row:
                begin = self.at(self.given["first_out"], row)
                end = self.at(self.given["first_out"], builder.add(row, self.number(1)))
                to = builder.gep(gradient, [builder.mul(row, width)])
                with self.loop(begin, end) as place:
                    edge = self.at(self.given["out_edges"], place)
                    start = builder.gep(sent, [builder.mul(edge, stride)])
                    with self.loop(self.number(0), stride) as column:
                        memory = builder.gep(to, [column])
                        number = builder.load(builder.gep(start, [column]))
                        total = builder.fadd(builder.load(memory), number)
                        builder.store(total, memory)
