"""A pass of message functions as one call forward and one backward."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from dgltree.engine.autograd import differentiable_gradients
from dgltree.engine.compiled.driver import DRIVEN, OF_PROGRAM, PassPrinter, Wanted
from dgltree.engine.compiled.known_functions import BoundProgram
from dgltree.engine.compiled.module import CompiledModule
from dgltree.engine.compiled.programs import NodeProgram, Product
from dgltree.engine.compiled.recording import Kind
from dgltree.engine.compiled.rows import Numbers, PassRows, ProgramRuns
from dgltree.engine.compiled.spare_memory import Buffer, give_back, take
from dgltree.engine.compiled.values import Space
from dgltree.engine.kernels.blas import product_address
from dgltree.engine.kernels.threads import threads_of_torch, together
from dgltree.support.torch_internals import graph_is_kept, version_of

ALIGNED = 16
"""Numbers: where a product begins is a multiple of so many."""
MOST_COPIED = 2**22
"""Numbers that gradients of held tensors, such as tables, have in all copies: where there would be more, parts are
computed in turn."""


class OutsideTableError(Exception):
    """A look-up of a row that a table does not have."""


class PassCode:
    """The machine code of programs of some forms.

    Args:
        programs: one of each form.
        wanted: what needs a gradient, apart from what is held; None for a pass without gradients.
        reverse: whether edges lead from nodes that are computed later.
    """

    def __init__(self, programs: Sequence[NodeProgram], wanted: Wanted | None, reverse: bool) -> None:
        self.programs = list(programs)
        self.dtype = programs[0].dtype
        self.states: dict[str, Kind] = {}
        """The fields that are written."""
        for program in programs:
            self.states |= program.kinds
        is_double = self.dtype == torch.float64
        printed = PassPrinter(is_double, self.programs, frozenset(self.states), wanted, reverse)
        self.text = str(printed.module)
        """In LLVM's language, until it is compiled: text and printer are megabytes."""
        self.arrays, self.sent = list(printed.arrays), printed.sent
        self.sizes = np.array(printed.sizes, np.int64)
        self.scratch_shape = max(printed.scratch, 1), max(printed.widest, 1)
        self.calls = ("forward",) if wanted is None else ("forward", "backward")
        self.module: CompiledModule | None = None

        self.known_names: dict[tuple[int, ...], list[list[str]]] = {}

    def names(self, forms: Sequence[int]) -> list[list[str]]:
        """Of the arrays of the code, in the order of their numbers there, as each of some programs has them."""
        found = self.known_names.get(tuple(forms))
        if found is None:
            found = self.known_names[tuple(forms)] = [self._names(*each) for each in enumerate(forms)]
        return found

    def _names(self, number: int, form: int) -> list[str]:
        found = []
        for array in self.arrays:
            kind, *place = array.name.rsplit(" ", 2)
            if kind not in OF_PROGRAM:
                found.append(array.name)
            elif int(place[0]) == form:
                found.append(f"{kind} {number} {place[1]}")
            else:
                found.append("")
        return found

    def compile(self) -> None:
        """Makes machine code, or reads it from disk."""
        text = self.text  # read first: whoever finds none finds the module
        if self.module is None:
            self.module = CompiledModule.of(text, self.calls)
            self.text = ""


class FunctionPass:
    """One pass: the code, the rows, and the tensors that come in.

    Args:
        code: of the programs.
        rows: of the graph.
        runs: the same by program.
        bound: the programs, with what the functions hold.
        fields: (N, *shape) or (E, *shape) each, by ``node NAME`` and ``edge NAME``.
        again: the same pass by torch's operations: gives (N, *shape) of what is written, from the fields.
        masks: of each program, in the order of its slots, if they are drawn already; ``again`` then draws the same.
    """

    def __init__(
        self,
        code: PassCode,
        rows: PassRows,
        runs: ProgramRuns,
        bound: Sequence[BoundProgram],
        fields: Mapping[str, Tensor],
        again: Callable[[Mapping[str, Tensor]], list[Tensor]],
        masks: Sequence[Sequence[Tensor]] | None = None,
    ) -> None:
        self.code, self.rows, self.runs, self.again, self.masks = code, rows, runs, again, masks
        self.bound = bound
        self.programs = [each.known.program for each in bound]
        places = {program.form: number for number, program in enumerate(code.programs)}
        self.forms = np.array([*(places[program.form] for program in self.programs), -1])
        """Of each program, and of rows that have none."""
        self.table = runs.table.copy()
        self.table[:, 3] = self.forms[runs.table[:, 2]]
        self.names = list(fields)
        self.outside = list({id(tensor): tensor for program in bound for tensor in program.outside}.values())
        """What the functions hold, each once."""
        self.given = [*fields.values(), *self.outside]
        self.parts = len(runs.bounds) - 1
        self.copies = 1
        """How many gradients there are of what is held: one for each part, or for all."""
        self.arrays: dict[str, Tensor] = {}
        """The memory of the pass, (rows, columns) each, by name."""
        self.buffers: list[Buffer] = []
        """That of its products."""

    def run(self) -> dict[str, Tensor]:
        """(N, *shape) of each field that is written."""
        return dict(zip(self.code.states, Differentiable.apply(self, *self.given), strict=True))

    # -----------------------------------------------------------------------------------------------------------------
    # Forward.

    def forward(self, given: Sequence[Tensor]) -> list[Tensor]:
        """(N, *shape) of each field that is written.

        Raises :class:`OutsideTableError`.
        """
        fields, outside = given[: len(self.names)], given[len(self.names) :]
        for name, tensor in zip(self.names, fields, strict=True):
            columns = _as_columns(tensor)
            is_of_node = name.startswith("node ")
            self.arrays[name] = self.rows.of_nodes(columns) if is_of_node else columns.index_select(0, self.rows.edges)
        self.names_of = self.code.names(self.forms[:-1].tolist())
        for array in self.code.arrays:
            of, _, name = array.name.partition(" ")
            if of == "node" and array.name not in self.arrays:  # what nobody gave is 0 before it is written
                self._new(array.name, len(self.rows), prod(self.code.states[name].shape), array.is_whole)
        self._hold(outside)
        self._draw_masks()
        for name, kind in self.code.states.items():
            self._begin_state(name, kind)
        self._make_products(("input", "product"))
        self._call("forward")
        return [self._in_order(f"state {name}", kind) for name, kind in self.code.states.items()]

    def _in_order(self, name: str, kind: Kind) -> Tensor:
        """(N, *shape) of an array, a row for each node in the order of the graph."""
        return self.rows.to_nodes(self.arrays[name]).view(len(self.rows), *kind.shape).to(kind.dtype)

    def _hold(self, outside: Sequence[Tensor]) -> None:
        """What torch makes of the tensors that functions hold, with a graph of its own for their gradients."""
        with torch.enable_grad():
            self.leaves = [tensor.detach().requires_grad_(tensor.requires_grad) for tensor in outside]
            by_id = {id(tensor): leaf for tensor, leaf in zip(self.outside, self.leaves, strict=True)}
            self.held = [
                program.known.program.hold([by_id[id(each)] for each in program.outside]) for program in self.bound
            ]
        for number, held in enumerate(self.held):
            for k, tensor in enumerate(held):
                flat = tensor.detach().resolve_neg().contiguous()
                self.arrays[f"held {number} {k}"] = flat if flat.dim() == 2 else flat.view(1, -1)

    def _draw_masks(self) -> None:
        for number, program in enumerate(self.programs):
            for k, mask in enumerate(program.masks):
                if self.masks is not None:
                    self.arrays[f"mask {number} {k}"] = self.masks[number][k]
                    continue
                rows = self._slots(number, mask.space) * mask.rows
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

    def _bounds(self, program: int, space: Space) -> Numbers:
        """(parts + 1,), where the nodes of a program, or the edges that lead to them, begin part after part."""
        return (self.runs.edge_slots if space == Space.EDGE else self.runs.slots)[program]

    def _slots(self, program: int, space: Space) -> int:
        return int(self._bounds(program, space)[-1])

    def _new(self, name: str, rows: int, columns: int, is_whole: bool = False) -> Tensor:
        """Zeros."""
        self.arrays[name] = torch.zeros(rows, columns, dtype=torch.int64 if is_whole else self.code.dtype)
        return self.arrays[name]

    def _make_products(self, kinds: Sequence[str]) -> None:
        """Rows of all products: of what goes in (``input``), comes out (``product``), and of their gradients."""
        shapes = {
            f"{kind} {number} {k}": (
                self._slots(number, product.space) * len(product.rows),
                product.fan_in if kind in ("input", "product_input") else product.fan_out,
            )
            for number, program in enumerate(self.programs)
            for k, product in enumerate(program.products)
            for kind in kinds
        }
        if not shapes:
            return
        bounds = np.cumsum([0, *(-(-prod(shape) // ALIGNED) * ALIGNED for shape in shapes.values())]).tolist()
        size = max(bounds[-1], ALIGNED) * self.code.dtype.itemsize
        self.buffers.append(take(size))
        numbers = torch.from_numpy(self.buffers[-1][:size]).view(self.code.dtype)
        for (name, shape), first in zip(shapes.items(), bounds, strict=False):
            self.arrays[name] = numbers[first : first + prod(shape)].view(shape)

    def release(self) -> None:
        """Gives back the memory of products, which nothing reads any more."""
        self.arrays = {}
        for buffer in self.buffers:
            give_back(buffer)
        self.buffers = []

    def _call(self, name: str) -> None:
        """Computes all parts. Each has memory of its own for gradients of what is held, if there is enough."""
        found = self._addresses()
        parts = [partial(self._call_part, name, part, found) for part in range(self.parts)]
        if name == "forward" or self.copies == self.parts:
            together(parts)
        else:
            for part in parts:
                part()

    def _call_part(self, name: str, part: int, of_arrays: Numbers) -> None:
        runs = slice(*self.runs.bounds[part : part + 2])
        wrong = np.zeros(1, np.int64)
        scratch = np.empty(self.code.scratch_shape, np.float64)
        given = {
            "runs": self.table[runs],
            "bases": of_arrays[0] + of_arrays[3] * (part % self.copies),
            "strides": of_arrays[1],
            "lengths": of_arrays[2],
            "sizes": self.code.sizes,
            "first_edge": self.rows.first_edge,
            "child": self.rows.child,
            "scratch": scratch,
            "wrong": wrong,
            "out_edges": self.rows.out_edges,
            "first_out": self.rows.first_out,
        }
        addresses = {argument: array.ctypes.data for argument, array in given.items()}
        addresses |= {"count": len(given["runs"]), "arrays": len(self.code.arrays)}
        addresses["product"] = product_address(self.code.dtype) or 0
        assert self.code.module is not None
        self.code.module.call(name, *(addresses[argument] for argument in DRIVEN))
        if wrong[0]:
            raise OutsideTableError

    def _addresses(self) -> Numbers:
        """(4, programs, arrays): where each array begins, its columns, its rows, and the bytes from copy to copy."""
        places = {}
        for name, tensor in self.arrays.items():
            rows, columns = tensor.shape
            copies = self.copies if name.startswith("d held ") else 1
            places[name] = tensor.data_ptr(), columns, rows // copies, tensor.nbytes // copies if copies > 1 else 0
        missing = (0, 0, 0, 0)
        found = [[places.get(name, missing) for name in names] for names in self.names_of]
        return np.ascontiguousarray(np.array(found, np.int64).transpose(2, 0, 1))

    # -----------------------------------------------------------------------------------------------------------------
    # Backward.

    def backward(self, gradients: Sequence[Tensor | None], wanted: Sequence[bool]) -> list[Tensor | None]:
        """Those of all that was given."""
        for (name, kind), gradient in zip(self.code.states.items(), gradients, strict=True):
            if kind.dtype.is_floating_point:
                if gradient is None:
                    self._new(f"d state {name}", len(self.rows), prod(kind.shape))
                else:
                    given_rows = _as_columns(gradient)
                    own = self.rows.of_nodes(given_rows)  # to which gradients of later rows are added
                    self.arrays[f"d state {name}"] = own.clone() if own is given_rows else own
        fields = {f"d {name}" for name, is_wanted in zip(self.names, wanted, strict=False) if is_wanted}
        names = {name for names in self.names_of for name in names}
        for name in fields | {name for name in names if name.startswith(("d node ", "d edge "))}:
            self._new(name, *self.arrays[name.removeprefix("d ")].shape)
        held = {name: self.arrays[name.removeprefix("d ")].shape for name in names if name.startswith("d held ")}
        numbers = sum(rows * columns for rows, columns in held.values())
        self.copies = self.parts if numbers * self.parts <= MOST_COPIED else 1
        for name, (rows, columns) in held.items():
            self._new(name, self.copies * rows, columns)
        for name, columns in self.code.sent.items():
            self._new(f"sent {name}", len(self.rows.child), columns)
        self._make_products(("product_input", "d product"))
        self._call("backward")
        self._add_unwritten()
        found = [
            self._to_field(name, len(given)) if f"d {name}" in fields else None
            for name, given in zip(self.names, self.given, strict=False)
        ]
        return [*found, *self._to_outside()]

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
        """The gradients of what functions hold, through what torch made of it."""
        pairs: list[tuple[Tensor, Tensor]] = []
        to_leaves: dict[int, Tensor] = {}
        for number, program in enumerate(self.programs):
            to_held: dict[int, list[Tensor]] = {}
            for k in range(len(program.held)):
                if (gradient := self.arrays.get(f"d held {number} {k}")) is not None:
                    to_held[k] = list(gradient.view(self.copies, -1))
            for k, product in enumerate(program.products):
                if self.held[number][product.weight].requires_grad:
                    to_held.setdefault(product.weight, []).extend(self._to_weight(number, k, product))
            for k, gradients in to_held.items():
                held = self.held[number][k]
                if not held.requires_grad:
                    continue
                gradient = _sum_of(gradients).view(held.shape)
                if held.is_leaf:
                    to_leaves[id(held)] = to_leaves[id(held)] + gradient if id(held) in to_leaves else gradient
                else:
                    pairs.append((held, gradient))
        if pairs:
            leaves = [leaf for leaf in self.leaves if leaf.requires_grad]
            tensors, to = zip(*pairs, strict=True)
            found = torch.autograd.grad(tensors, leaves, to, retain_graph=True, allow_unused=True)
            for leaf, gradient in zip(leaves, found, strict=True):
                if gradient is not None:
                    to_leaves[id(leaf)] = to_leaves[id(leaf)] + gradient if id(leaf) in to_leaves else gradient
        return [to_leaves.get(id(leaf)) for leaf in self.leaves]

    def _to_weight(self, number: int, k: int, product: Product) -> list[Tensor]:
        """The gradient of a matrix, its numbers in a row, by each part."""
        rows, to_rows = self.arrays[f"input {number} {k}"], self.arrays[f"d product {number} {k}"]
        left, right = (to_rows, rows) if product.is_turned else (rows, to_rows)
        if self.parts == 1:
            return [torch.mm(left.t(), right).view(-1)]
        bounds = self._bounds(number, product.space) * len(product.rows)
        found = [rows.new_empty(product.shape) for _ in range(self.parts)]

        def multiply(part: int) -> None:
            of_part = slice(*bounds[part : part + 2])
            torch.mm(left[of_part].t(), right[of_part], out=found[part])

        together([partial(multiply, part) for part in range(self.parts)])
        return [each.view(-1) for each in found]

    def differentiable(self, saved: Sequence[Tensor], gradients: Sequence[Tensor | None]) -> list[Tensor | None]:
        """The gradients as values that autograd can differentiate, by torch's operations."""
        if self.masks is None and any(program.masks for program in self.code.programs):
            raise RuntimeError(
                "a second derivative of functions that draw a mask, such as dropout: compute the pass within "
                'dgltree.engine.kernels.dispatch.kernels("off")'
            )

        def compute(*given: Tensor) -> list[Tensor]:
            fields, outside = given[: len(self.names)], given[len(self.names) :]
            views = {id(own): view for own, view in zip(self.outside, outside, strict=True) if own.requires_grad}
            replaced = _Replaced(views)
            with replaced:
                written = self.again(dict(zip(self.names, fields, strict=True)))
            if not views.keys() <= replaced.met:
                raise RuntimeError("the functions hold other tensors than in the pass that is differentiated")
            return written

        return differentiable_gradients(compute, saved, gradients)


class Differentiable(torch.autograd.Function):
    """A pass, with a backward pass by hand."""

    @staticmethod
    def forward(context: Any, passed: FunctionPass, *given: Tensor) -> tuple[Tensor, ...]:
        with threads_of_torch(torch.device("cpu")):
            written = passed.forward(given)
        if "backward" not in passed.code.calls:
            passed.release()
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
            found = passed.backward(gradients, context.needs_input_grad[1:])
        if not graph_is_kept():
            passed.release()
            context.passed = context.fields = None
        pairs = zip(found, saved, strict=True)
        return None, *(None if gradient is None else gradient.view(given.shape) for gradient, given in pairs)


class _Replaced(TorchFunctionMode):
    """While it is on, functions compute with other tensors in place of those that they hold."""

    def __init__(self, tensors: Mapping[int, Tensor]) -> None:
        super().__init__()
        self.tensors = tensors
        """By the id of what they stand for."""
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


def _sum_of(tensors: Sequence[Tensor]) -> Tensor:
    """One after the other, so that the sum is the same for any number of threads."""
    total = tensors[0]
    for tensor in tensors[1:]:
        total = total + tensor
    return total


def _as_columns(tensor: Tensor) -> Tensor:
    """(rows, columns) of a field, whole numbers and truths as int64."""
    if not tensor.is_floating_point():
        tensor = tensor.long()
    return tensor.detach().resolve_neg().reshape(len(tensor), prod(tensor.shape[1:]))
