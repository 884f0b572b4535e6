"""Contract between a cell and the engine: the rows that the engine gives, and what it asks of a cell."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar, Literal, NamedTuple, cast

from torch import Tensor, nn

from dgltree.batching.batch import TreeBatch
from dgltree.batching.vocabulary import Vocabulary, VocabularySigned
from dgltree.engine.aggregation import Aggregation
from dgltree.engine.typed_linear import Linear, Segments, TypedLinear
from dgltree.support.arguments import Configured

# ---------------------------------------------------------------------------------------------------------------------
# How a cell says by which kernel its options are covered.


class Fused(NamedTuple):
    """A kernel that computes what ``combine`` does, on a GPU, and for ranking's paths on a CPU; see
    ``dgltree/engine/kernels``.
    """

    family: str
    """"stack" or "lstm": a file of that name for each backend."""
    options: tuple[int, ...] = ()
    """The cell's options for the kernel, as its family expects them."""


# ---------------------------------------------------------------------------------------------------------------------
# One step: rows that a cell computes together, and the states of their children.
#
# Every engine runs :meth:`dgltree.cells.Cell.step` on rows of its own kind. The rows say where the states of children
# lie and which products they have in common; the cell says whether it reads its children one by one or added up.


State = dict[str, Tensor]
"""Part name to (rows, *shape): ``{"h": (rows, n), "S": (rows, p, n)}``."""
Children = Mapping[str, Sequence[Tensor]]
"""Part name to one tensor a child, (rows, *shape)."""
Computed = Mapping[str, Any]
"""A state, and what else was computed on the way: (rows, *shape), or one such tensor a child."""
Map = Callable[[Tensor], Tensor]
Shapes = dict[str, tuple[int, ...]]
"""Part name to its shape at one node."""
Widths = dict[str, int]
"""Name of a gate to the number of its pre-activations."""
Send = Callable[[State, Tensor, Tensor | None, Linear], State]
"""Children's states (edges, *shape), their positions among their siblings (edges,), what the parents' x adds to the
gates of messages, and maps: the messages."""


class StepRows(ABC):
    """Rows of one arity, or of any for cells that add up their children, sorted by function.

    Args:
        linear: the typed maps of these rows.
        x_pre: (rows, widths of all gates), what the inputs x add to the gates; None without inputs.
    """

    def __init__(self, linear: Linear, x_pre: Tensor | None) -> None:
        self.linear = linear
        self.x_pre = x_pre

    @abstractmethod
    def children(self) -> Children:
        """The children's states one by one; leading sizes may broadcast."""

    @abstractmethod
    def products(self, names: Sequence[str], drop: Map | None) -> list[Tensor]:
        """The maps of these names of ``i = [h_1; ...; h_N]``, which goes through ``drop`` first."""

    @abstractmethod
    def aggregated(
        self, send: Send, x_pre: Tensor | None, names: Sequence[str], aggregate: Aggregation
    ) -> tuple[State, State]:
        """The messages of each row's children, aggregated, of these names; and all that ``send`` gave, by edges."""


# ---------------------------------------------------------------------------------------------------------------------
# What the engine asks of a cell. It imports no cell, so these classes are all that it knows of one: ``CellBase`` of a
# cell of either direction (weights by name, one step of rows at a time), ``CellContract`` and ``DownwardContract`` of
# how a pass upwards or downwards begins and what it reads of nodes. The mathematics is stated in the classes that
# derive from these two, :class:`dgltree.cells.Cell` and :class:`dgltree.cells.DownwardCell`.


class CellBase(Configured, VocabularySigned, ABC):
    """A cell of either direction. It keeps its affine maps in ``maps``, and these three among its options."""

    vocabulary: Vocabulary
    hidden_size: int
    dropout: float
    maps: nn.ModuleDict

    @property
    @abstractmethod
    def state(self) -> Shapes:
        """Part name to its shape at one node; ``h``, (n,), is what other nodes and readouts read."""

    @abstractmethod
    def step(self, rows: StepRows) -> tuple[Computed, State]:
        """New states of rows and what else is computed, and what was sent to them, by edges, if anything."""

    @abstractmethod
    def key(self, arity: int | None) -> str:
        """The key of an arity's maps; None for rows of several arities."""

    @property
    def first_weight(self) -> nn.Parameter:
        """Any weight: all have its dtype and device. ``ValueError`` if an author's class did not make them."""
        weight = next(self.parameters(), None)
        if weight is None or "maps" not in self._modules:
            raise ValueError(f"{type(self).__name__} has no weights yet: its __init__ must end with self.build()")
        return weight

    def __setattr__(self, name: str, value: Any) -> None:
        """``TypeError`` for a module in the place of a method, which torch would keep and Python never find."""
        if isinstance(value, nn.Module) and hasattr(type(self), name):
            raise TypeError(
                f"{name} is a method of {type(self).__name__}, which a module of that name would not replace: give "
                f"the module another name, and set {name} to a function that calls the module"
            )
        super().__setattr__(name, value)

    def register_full_backward_hook(self, *_: Any, **__: Any) -> Any:
        """Refused: torch does not run it for a module that returns a dictionary."""
        raise TypeError(
            f"torch runs no backward hooks of {type(self).__name__}, which returns a dictionary: register the hook on "
            'a tensor, states["h"].register_hook(...), or on a map of cell.maps'
        )

    register_full_backward_pre_hook = register_backward_hook = register_full_backward_hook

    def reset_parameters(self) -> None:
        """Draw the parameters again, as the class docstring says."""
        for module in self.modules():
            reset = getattr(module, "reset_parameters", None)
            if module is not self and callable(reset):
                reset()

    def named_maps(self) -> dict[str, TypedLinear]:
        """``{name}_{key}`` to map: "gates_2" are the gates of nodes with two children."""
        return cast(dict[str, TypedLinear], dict(self.maps.items()))

    def map_weights(self) -> dict[str, Tensor]:
        """``{map}.weight`` and ``{map}.bias``, looked up once for a pass; those of maps that are called are left out.

        A pass computes their products itself, from these tensors and never from the module: a parametrization computes
        them once, and the gradients of a matrix are put together once.
        """
        called = self.called_maps()
        tensors = {}
        for name, linear in self.named_maps().items():
            if name in called:
                continue
            weight, bias = linear.weights()
            tensors[f"{name}.weight"] = weight
            if bias is not None:
                tensors[f"{name}.bias"] = bias
        return tensors

    @property
    def weight_names(self) -> list[str]:
        """The names of ``map_weights``, if no map is called, lacks its bias, or has one that it was made without."""
        names = []
        for name, linear in self.named_maps().items():
            names.append(f"{name}.weight")
            if linear.affine.bias:
                names.append(f"{name}.bias")
        return names

    def called_maps(self) -> dict[str, tuple[object, ...]]:
        """The maps that every engine calls as modules, because hooks or other code than ours is part of them."""
        called: dict[str, tuple[object, ...]] = {}
        for name, linear in self.maps.items():
            patches = linear.patches() if isinstance(linear, TypedLinear) else (linear,)
            if patches:
                called[name] = patches
        return called

    def patches(self) -> tuple[object, ...]:
        """Overrides on this one cell: functions in place of its class's, and reasons to call its maps."""
        overrides = (value for name, value in vars(self).items() if callable(value) and hasattr(type(self), name))
        return (*overrides, *chain.from_iterable(self.called_maps().values()))

    @property
    def drops(self) -> bool:
        """Whether training draws masks of dropout."""
        return self.dropout > 0

    def drop(self, v: Tensor) -> Tensor:
        """Dropout in training, for ``combine``."""
        return nn.functional.dropout(v, self.dropout, self.training) if self.dropout else v


Leaf = Literal["embedding", "network", "gates"]


class CellContract(CellBase):
    """A cell from the leaves to the roots. Its options are documented at :class:`dgltree.cells.Cell`."""

    input_size: int | None
    leaf: Leaf
    numbers: bool
    any_arity: ClassVar[bool] = False
    """Whether a node may have any number of children, because no weight belongs to an arity."""

    def fused(self) -> Fused | None:
        """The kernel that computes, for these options, what ``combine`` does; None: there is none.

        It holds for subclasses too, as long as they leave the mathematics as they are.
        """
        return None

    @abstractmethod
    def linear_for(self, arity: int | None, segments: Segments) -> Linear:
        """Return the maps of rows that have this arity and are sorted by function."""

    @abstractmethod
    def node_inputs(
        self, function: Tensor, token: Tensor | None, value: Tensor | None, x: Tensor | None
    ) -> Tensor | None:
        """Return the input vectors of nodes, (rows, d); None for a cell, or for rows, without inputs."""

    @abstractmethod
    def leaf_states(self, batch: TreeBatch, leaves: Tensor, segments: Segments) -> Computed:
        """Return the states of the leaves with these node numbers, sorted by function as ``segments`` says."""

    @abstractmethod
    def leaf_gates(self, rows: int, x_pre: Tensor | None, linear: Linear) -> Computed:
        """Return the states of leaves with gates, from what x adds to these."""


class DownwardContract(CellBase):
    """A cell from the roots to the leaves. Its options are documented at :class:`dgltree.cells.DownwardCell`."""

    reads_up: bool = False
    """Whether the gates of a message also read the child's own upward h."""

    @property
    @abstractmethod
    def kinds_of(self) -> tuple[bool, ...]:
        """The options that the numbers of matrices depend on: equal for cells that a plan is good for alike."""

    @abstractmethod
    def kinds(self, function: Tensor, slot: Tensor) -> Tensor:
        """Return (edges,) int64, the matrix of each edge, by its parent's function and the child's position."""

    @abstractmethod
    def start(self, up: State) -> State:
        """Return the states of nodes without parents from their upward states, part name to (rows, *shape)."""

    @abstractmethod
    def up_inputs(self, h: Tensor, function: Tensor) -> Tensor | None:
        """Return (rows, widths of the gates), what nodes' own upward h (rows, n) add to the gates of what they get."""
