"""A cell's step as message functions, and the tensors that these hold for rows of each function.

A cell's step is recorded for each arity, with the maps of one function. Rows of another function have the same program
with other matrices, so the machine code of a cell grows with its arities alone.

What a program holds is found again by a shadow run, as for anyone's functions. A cell of ours that nobody has changed
needs none: its state follows from its options, and what it holds are its maps and parameters by their names.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import BuiltinFunctionType
from typing import Any

import torch
from torch import Tensor, nn

from dgltree.engine.aggregation import Aggregation
from dgltree.engine.compiled.cell_rows import RowKind, maps_of
from dgltree.engine.compiled.held_tensors import HeldSource
from dgltree.engine.contract import CellBase, CellContract, Children, Map, Send, State, StepRows
from dgltree.engine.kernels.dispatch import is_as_written
from dgltree.engine.typed_linear import Linear, Matrices
from dgltree.support.torch_internals import hooks_of

INPUT = "x of the node"
"""The field of inputs, next to the states of nodes, whose names are a cell's own."""
ADDED = "added to the gates"
"""The field of the way down of what a node's upward state adds to the gates."""
SLOT = "slot of the node"
"""The field of the way down of a node's position among its siblings."""
PLAIN = (int, float, bool, str, type(None), BuiltinFunctionType)
"""Attributes that say all that they do: torch's functions among them, but none of Python, which may read anything."""
OF_TORCH = ("dropout", "gelu", "layer_norm")
"""Functions of Python in torch that our cells call, which somebody may have replaced."""
WRITTEN = ("dgltree.", "torch.nn.")
"""Where modules lie that we or torch wrote."""
NOT_IN_STEPS = ("maps", "embedding", "input_embedding", "function_embedding")
"""Modules of a cell of which a step uses at most the weights."""


class MailboxRows(StepRows):
    """Rows with equally many children, whose states lie in a mailbox.

    Args:
        linear: the typed maps of these rows.
        x_pre: (rows, widths), what the inputs add to the gates; None without inputs.
        mailbox: part name to (rows, children, *shape).
        slot: (rows,), the place of each row among its siblings; None upwards, where its children have places.
    """

    def __init__(self, linear: Linear, x_pre: Tensor | None, mailbox: State, slot: Tensor | None = None) -> None:
        super().__init__(linear, x_pre)
        self._mailbox = mailbox
        self._slot = slot

    def children(self) -> Children:
        return {part: rows.unbind(1) for part, rows in self._mailbox.items()}

    def products(self, names: Sequence[str], drop: Map | None) -> list[Tensor]:
        i = self._mailbox["h"].flatten(1)
        if drop is not None:
            i = drop(i)
        return [self.linear(name, i) for name in names]

    def aggregated(
        self, send: Send, x_pre: Tensor | None, names: Sequence[str], aggregate: Aggregation
    ) -> tuple[State, State]:
        rows, count = self._mailbox["h"].shape[:2]
        children = {part: mail.flatten(0, 1) for part, mail in self._mailbox.items()}
        slot = self._slot
        if slot is None:
            slot = torch.arange(count).expand(rows, count).flatten()
        x_edge = None
        if x_pre is not None:
            x_edge = x_pre.unsqueeze(1).expand(-1, count, -1).flatten(0, 1)
        sent = send(children, slot, x_edge, self.linear)
        messages = {name: sent[name].unflatten(0, (rows, count)) for name in names}
        kind = type(aggregate) if _is_as_written(aggregate) else Aggregation
        return kind.of_mailbox(aggregate, messages), sent


class CellFunctions:
    """A cell's step as message and reduce functions, for rows of one function of each arity.

    Args:
        cell: that computes.
        matrices: of its maps.
        functions: by arity; by None for a cell that takes any number of children.
    """

    def __init__(self, cell: CellBase, matrices: Mapping[str, Matrices], functions: Mapping[int | None, int]) -> None:
        self.cell = cell
        self.matrices = matrices
        self.functions = functions
        self.maps = cell.named_maps()

    def message(self, edges: Any) -> State:
        """A child's state."""
        return {part: edges.src[part] for part in self.cell.state}

    def reduce(self, nodes: Any) -> State:
        """A node's state from those of its children, in the order of their slots."""
        mailbox = {part: nodes.mailbox[part] for part in self.cell.state}
        arity = None if takes_any_number(self.cell) else int(mailbox["h"].shape[1])
        function = self.functions[arity]
        key = self.cell.key(arity)

        def linear(name: str, v: Tensor) -> Tensor:
            name = f"{name}_{key}"
            m = self.maps[name].position[function]
            weight, bias = self.matrices[name]
            return torch.nn.functional.linear(v, weight[m], None if bias is None else bias[m])

        x_pre = linear("input", nodes.data[INPUT]) if INPUT in nodes.data else nodes.data.get(ADDED)
        computed, _ = self.cell.step(MailboxRows(linear, x_pre, mailbox, nodes.data.get(SLOT)))
        return {part: computed[part] for part in self.cell.state}


def takes_any_number(cell: CellBase) -> bool:
    """Whether rows with any number of edges have the same maps."""
    return not isinstance(cell, CellContract) or cell.any_arity


def recorded_functions(cell: CellBase) -> dict[int | None, int]:
    """The function of each arity with whose maps a cell is recorded, whatever there is in a batch."""
    if takes_any_number(cell):
        functions = (function for linear in maps_of(cell, None).values() for function in linear.position)
        return {None: next(functions, 0)}
    return {arity: cell.vocabulary.at_arity(arity)[0] for arity in cell.vocabulary.arities if arity}


# ---------------------------------------------------------------------------------------------------------------------
# What a program holds.


def sources_of(
    cell: CellBase, matrices: Mapping[str, Matrices], outside: Sequence[Tensor], kind: RowKind
) -> list[HeldSource | None]:
    """The sources of what a program holds that was recorded with the maps of a kind of rows; None for other tensors."""
    source_of = {id(parameter): HeldSource(name, None) for name, parameter in cell.named_parameters()}
    for name, linear in maps_of(cell, kind.arity).items():
        m = linear.position[kind.function]
        for which, tensors in matrices[name]._asdict().items():
            if tensors is not None:
                source_of[id(tensors[m])] = HeldSource(name, which)
    return [source_of.get(id(tensor)) for tensor in outside]


def options_of(cell: CellBase) -> tuple[Any, ...] | None:
    """All but tensors that the step of a cell of ours depends on; None for a cell that is not as we wrote it."""
    kind = type(cell)
    if not kind.__module__.startswith("dgltree.") or not is_as_written(kind) or cell.patches():
        return None
    options: list[Any] = [getattr(nn.functional, name) for name in OF_TORCH]
    for name, module in _modules_of_steps(cell):
        if module is not cell and not _is_as_written(module):
            return None
        options.append(type(module))
        for attribute, value in vars(module).items():
            if attribute.startswith("_") or attribute == "vocabulary":
                continue
            if isinstance(value, list):
                value = tuple(value)
            is_plain_tuple = isinstance(value, tuple) and all(isinstance(item, PLAIN) for item in value)
            if not isinstance(value, PLAIN) and not is_plain_tuple:
                return None
            options.append((name, attribute, type(value), value))
    return tuple(options)


def _modules_of_steps(cell: CellBase) -> Iterator[tuple[str, nn.Module]]:
    yield "", cell
    for name, child in cell.named_children():
        if name not in NOT_IN_STEPS:
            for inner, module in child.named_modules():
                yield f"{name}.{inner}", module


def _is_as_written(module: nn.Module) -> bool:
    """Whether we or torch wrote the class, and nobody has changed it or the module."""
    kind = type(module)
    forward = getattr(kind.forward, "__globals__", {}).get("__name__", "")
    is_known = kind.__module__.startswith(WRITTEN) and forward.startswith(WRITTEN)
    return is_known and not hooks_of(module) and "forward" not in vars(module)
