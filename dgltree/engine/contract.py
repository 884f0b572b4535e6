"""Contract of a cell: its state, its gates, how they are combined, and what the engine asks of it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar, Literal, NamedTuple, cast

import torch
from torch import Tensor, nn

from dgltree.batching.batch import TreeBatch
from dgltree.batching.vocabulary import Vocabulary, VocabularySigned
from dgltree.engine.aggregation import Aggregation, aggregation_named, name_of
from dgltree.engine.positions import Positions
from dgltree.engine.typed_linear import Affine, Linear, Segments, TypedLinear, sort_rows, split
from dgltree.support.arguments import Configured, check_dropout, check_size

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
# Every engine runs :meth:`dgltree.cells.Cell.step` on rows of its own kind. The rows say where the children's states
# lie
# and which products they have in common; the cell says whether it reads its children one by one or added up.


State = dict[str, Tensor]
"""Part name to (rows, *shape): ``{"h": (rows, n), "S": (rows, p, n)}``."""
Children = Mapping[str, Sequence[Tensor]]
"""Part name to one tensor a child, (rows, *shape)."""
Computed = Mapping[str, Any]
"""A state, and what else was computed on the way: (rows, *shape), or one such tensor a child."""
Rows = Callable[[Tensor], Tensor]
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
        self.linear, self.x_pre = linear, x_pre

    @abstractmethod
    def children(self) -> Children:
        """The children's states one by one; leading sizes may broadcast."""

    @abstractmethod
    def products(self, names: Sequence[str], drop: Rows | None) -> list[Tensor]:
        """The maps of these names of ``i = [h_1; ...; h_N]``, which goes through ``drop`` first."""

    @abstractmethod
    def aggregated(
        self, send: Send, x_pre: Tensor | None, names: Sequence[str], aggregate: Aggregation
    ) -> tuple[State, State]:
        """Of each row's children the messages of these names, aggregated, and all that ``send`` gave, by edges."""


# ---------------------------------------------------------------------------------------------------------------------
# Base of the cells of both directions, as the level engine sees them: weights by name, one step of rows at a time.


class CellBase(Configured, VocabularySigned, ABC):
    """A cell as the engine sees it: :class:`dgltree.cells.Cell` upwards, :class:`dgltree.cells.DownwardCell` downwards.

    A subclass keeps its affine maps in ``maps``, and ``dropout`` and ``vocabulary`` among its options.
    """

    vocabulary: Vocabulary
    hidden_size: int
    dropout: float
    maps: nn.ModuleDict

    @property
    @abstractmethod
    def state(self) -> dict[str, tuple[int, ...]]:
        """Part name to its shape at one node; ``h``, (n,), is what other nodes and readouts read."""

    @abstractmethod
    def step(self, rows: StepRows) -> tuple[Computed, State]:
        """New states of rows and what else is computed, and what was sent to them, by edges, if anything."""

    @abstractmethod
    def key(self, arity: int | None) -> str:
        """The key of an arity's maps; None for rows of several arities."""

    def __setattr__(self, name: str, value: Any) -> None:
        """``TypeError`` for a module in the place of a method, which torch would keep and Python never find."""
        if isinstance(value, nn.Module) and hasattr(type(self), name):
            raise TypeError(
                f"{name} is a method of {type(self).__name__}, which a module of that name would not replace: give the "
                f"module another name, and set {name} to a function that calls it"
            )
        super().__setattr__(name, value)

    def register_full_backward_hook(self, *_: Any, **__: Any) -> Any:
        """Refused: torch does not run it for a module that returns a dictionary."""
        raise TypeError(
            f"torch runs no backward hooks of {type(self).__name__}, whose result is a dictionary: register one on a "
            'tensor of it, states["h"].register_hook(...), or on a map of cell.maps'
        )

    register_full_backward_pre_hook = register_backward_hook = register_full_backward_hook

    def reset_parameters(self) -> None:
        """Draw the parameters again, as the class docstring says."""
        for module in self.modules():
            if module is not self and callable(reset := getattr(module, "reset_parameters", None)):
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
        return {
            f"{name}.{kind}": tensor
            for name, linear in self.named_maps().items()
            if name not in called
            for kind, tensor in linear.weights()._asdict().items()
            if tensor is not None
        }

    @property
    def weight_names(self) -> list[str]:
        """Those of ``map_weights`` if no map is called and none lacks its bias, or has one that it was made without."""
        kinds = {False: ("weight",), True: ("weight", "bias")}
        return [f"{name}.{kind}" for name, linear in self.named_maps().items() for kind in kinds[linear.affine.bias]]

    def called_maps(self) -> dict[str, tuple[object, ...]]:
        """The maps that every engine calls as modules, because hooks or other code than ours is part of them."""
        found = {
            name: linear.patches() if isinstance(linear, TypedLinear) else (linear,)
            for name, linear in self.maps.items()
        }
        return {name: patches for name, patches in found.items() if patches}

    def patches(self) -> tuple[object, ...]:
        """Overrides on this one cell: functions in place of its class's, and reasons to call its maps."""
        own = (value for name, value in vars(self).items() if callable(value) and hasattr(type(self), name))
        return (*own, *chain.from_iterable(self.called_maps().values()))

    @property
    def drops(self) -> bool:
        """Whether training draws masks of dropout."""
        return self.dropout > 0

    def drop(self, v: Tensor) -> Tensor:
        """Dropout in training, for ``combine``."""
        return nn.functional.dropout(v, self.dropout, self.training) if self.dropout else v


# ---------------------------------------------------------------------------------------------------------------------
# The contract of a cell, which its author writes: its state, its gates, and how a node's state follows from them.
#
# A cell states its mathematics once (``state``, ``gates``, ``combine``). The level engine, the DGL functions, ranking,
# tracing and the tests' recursion all call the same ``combine``; they differ only in which rows they bring together.
# :class:`dgltree.cells.Cell`, from which cells derive, adds what follows from it.


Leaf = Literal["embedding", "network", "gates"]


class CellContract(CellBase):
    """A recursive cell. Its weights belong to a (function, arity) of the vocabulary, or to an arity.

    Args:
        vocabulary: the functions and tokens.
        hidden_size: n, the width of the hidden state h.
        typed: whether each function has weights of its own. Otherwise all functions of an arity share them.
        rank: 0, or of a typed cell the rank of what is a function's own: the matrix of each gate is W + U_f V_f, where
            all functions of an arity share W, and U_f has so many columns.
        input_size: d, the width of input vectors. Without it the cell has no inputs. With it every gate also gets
            ``W_f^x x_j``; x_j comes from the batch's ``x``, else it is the embedding of the node's token or number (0
            for a node without one).
        leaf: what a leaf's state is. "embedding": ``h = Embedding[token]``, other parts 0 (published). "network":
            ``h = sigma(W_2 sigma(W_1 onehot + b_1) + b_2)``, other parts 0 (Arabshahi et al. 2019, arXiv 1911.01545v1).
            "gates": the cell itself runs on x with no children (Tai et al. 2015, arXiv 1503.00075); it needs
            ``input_size``.
        functions: whether x_j is that plus the embedding of the name of the node's function. A cell whose
            functions share their weights sees functions in no other way. It needs ``input_size``.
        numbers: whether leaves may carry a number, which :class:`NumberEncoder` then turns into h (or x, for "gates").
        number_scale: (m, s), to read :math:`asinh((v - m) / s)` of a number v; None: v itself.
        dropout: probability, in training only; where it acts is stated by each cell.

    Initialisation: each product is a torch ``Linear`` of its own fan-in m: weights and biases U(-1/sqrt(m), 1/sqrt(m));
    embeddings N(0, 1). A cell that differs says so. ``torch.manual_seed`` before building gives the same weights.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        hidden_size: int,
        *,
        typed: bool = True,
        rank: int = 0,
        input_size: int | None = None,
        leaf: Leaf = "embedding",
        functions: bool = False,
        numbers: bool = False,
        number_scale: Sequence[float] | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_size("hidden_size", hidden_size)
        if input_size is not None:
            check_size("input_size", input_size)
        if leaf not in ("embedding", "network", "gates"):
            raise ValueError(f"leaf is {leaf!r}; it must be 'embedding', 'network' or 'gates'")
        if leaf == "gates" and input_size is None:
            raise ValueError("leaf='gates' runs the gates on a leaf's input: give input_size")
        if functions and input_size is None:
            raise ValueError("functions=True adds the embedding of a node's function to its input: give input_size")
        if number_scale is not None and (len(number_scale) != 2 or not number_scale[1] > 0):
            raise ValueError(f"number_scale is {number_scale!r}; it must be a middle and a spread above 0")
        if not isinstance(rank, int) or rank < 0 or (rank and not typed):
            raise ValueError(
                f"rank is {rank!r}; it must be a whole number, 0 or more, and 0 if functions share weights"
            )
        check_dropout(dropout)
        self.vocabulary = vocabulary
        self.hidden_size = hidden_size
        self.typed = typed
        self.rank = rank
        self.input_size = input_size
        self.leaf = leaf
        self.functions = functions
        self.numbers = numbers
        self.number_scale = None if number_scale is None else (number_scale[0], number_scale[1])
        self.dropout = dropout

    @abstractmethod
    def gates(self, arity: int) -> dict[str, int]:
        """Name to width of the pre-activations: affine maps of ``i_j = [h_c1; ...; h_cN]`` (and x_j)."""

    def shared_gates(self, arity: int) -> dict[str, int]:
        """The same for gates whose weights on i_j all functions share, even if the cell is typed."""
        return {}

    def products(self, arity: int) -> dict[str, Affine]:
        """The further maps that ``combine`` asks for through ``linear``."""
        return {}

    @abstractmethod
    def combine(self, pre: State, children: Children, linear: Linear) -> Computed:
        """A node's state from its pre-activations and its children's states: plain differentiable torch.

        Args:
            pre: name to (rows, width), as ``gates`` names them.
            children: part name to one tensor a child, (rows, *shape). Ranking passes (equations, fillers, ...) with
                leading sizes that broadcast, so index from the right.
            linear: the maps that ``products`` names.

        Returns the state. Whatever else is in the result (gates, actions) can be asked for by name from
        ``propagate(..., trace=...)`` and costs nothing otherwise.
        """

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

    def reachable(self, state: State, steps: int) -> State:
        """The part of a state that a readout ``steps`` cells further up can depend on; all of it unless overridden."""
        return state

    drops_inputs: ClassVar[bool] = False
    """Whether the dropout also acts on i_j before the gates read it."""
    any_arity: ClassVar[bool] = False
    """Whether a node may have any number of children, because no weight belongs to an arity."""


# ---------------------------------------------------------------------------------------------------------------------
# The contract of a downward cell, which its author writes: its state, its gates, and what a parent sends to a child.
#
# It states its mathematics once (``state``, ``gates``, ``send``): what a parent hands to one child. The level engine,
# the
# DGL functions and tracing bring together edges, from parents to children, and call the same ``send``.


class DownwardContract(CellBase):
    """A cell from the roots to the leaves: each node gets a state from those of its parents.

    A node without parents starts with its upward state (``start``). Every other node has the mean, or another
    ``aggregation``, of what its parents send to it: one message for each edge, two if it is both children of one.

    Args:
        vocabulary: the functions.
        hidden_size: n, the width of h, downwards and upwards.
        typed: whether the weights of a message belong to the parent's function at the child's place, and those for the
            child's own upward state to its function. Otherwise all functions of an arity share those of a place.
        positions: whether instead all places share their weights, and the gates of a message read the child's place
            (:class:`dgltree.engine.positions.Positions`); vocabularies may then have ``ANY_ARITY``.
        aggregation: of what several parents send: "mean", "sum", "max", "min", "attention", or an own
            :class:`dgltree.cells.Aggregation` of size n.
        dropout: probability, in training only; where it acts is stated by each cell.

    Initialisation: as of :class:`dgltree.cells.Cell`.

    Raises ``ValueError`` for a vocabulary with ``ANY_ARITY`` without ``positions``.
    """

    reads_up: bool = False
    """Whether the gates of a message also read the child's own upward h."""
    place: Tensor
    position_map: Positions

    def __init__(
        self,
        vocabulary: Vocabulary,
        hidden_size: int,
        *,
        typed: bool = True,
        positions: bool = False,
        aggregation: str | Aggregation = "mean",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_size("hidden_size", hidden_size)
        check_dropout(dropout)
        self.vocabulary, self.hidden_size, self.dropout = vocabulary, hidden_size, dropout
        self.typed, self.positions = typed, positions
        self.aggregate = aggregation_named(aggregation, hidden_size)

    @property
    def aggregation(self) -> str | Aggregation:
        """The name of the aggregation, or an own one itself."""
        return name_of(self.aggregate)

    @abstractmethod
    def gates(self) -> dict[str, int]:
        """Name to width of the pre-activations of a message: affine maps of the parent's h."""

    def products(self) -> dict[str, Affine]:
        """The further maps that ``send`` asks for through ``linear``, one for each place of each function."""
        return {}

    @abstractmethod
    def send(self, pre: State, parent: State, slot: Tensor, linear: Linear) -> State:
        """The state that each of some children gets from one of its parents: plain differentiable torch.

        Args:
            pre: name to (edges, width), as ``gates`` names them.
            parent: the parents' states, part name to (edges, *shape).
            slot: (edges,) int64, the child's place among its siblings, from 0.
            linear: the maps that ``products`` names.

        Returns the state. Whatever else is in the result can be traced, one row per edge.
        """

    def start(self, up: State) -> State:
        """The state of nodes without parents from their upward states (rows, *shape): those parts, others 0."""
        h = up["h"]
        return {
            part: up[part] if part in up and up[part].shape[1:] == shape else h.new_zeros(len(h), *shape)
            for part, shape in self.state.items()
        }

    def key(self, arity: int | None) -> str:
        return "any"

    @property
    def kinds_of(self) -> tuple[bool, ...]:
        """The options that the numbers of matrices depend on: equal for cells that a plan is good for alike."""
        return self.typed, self.positions, bool(self.maps)

    def kinds(self, function: Tensor, slot: Tensor) -> Tensor:
        """(edges,) int64, the matrix of each edge, by its parent's function and the child's place."""
        if not self.maps:
            return torch.zeros_like(slot)
        place: Tensor = self.place
        base = place.to(function.device)[function]
        return base if self.positions else base + slot

    def step(self, rows: StepRows) -> tuple[Computed, State]:
        return rows.aggregated(self.sent, rows.x_pre, list(self.state), self.aggregate)

    def sent(self, parent: State, slot: Tensor, x_pre: Tensor | None, linear: Linear) -> State:
        """Messages of edges, from the parents' states, and what the children's own upward states add to the gates."""
        widths, pre = self.gates(), {}
        if widths:
            v = linear("gates", parent["h"])
            v = v if x_pre is None else v + x_pre
            pre = split(v + self.position_map(slot) if self.positions else v, widths)
        return self.send(pre, parent, slot, linear)

    def linear_for(self, segments: Segments) -> Linear:
        """The maps of edges that are sorted by ``kinds``."""
        return lambda name, v: cast(Tensor, self.maps[f"{name}_{self.key(None)}"](v, segments))

    def up_inputs(self, h: Tensor, function: Tensor) -> Tensor | None:
        """(rows, widths of the gates), what nodes' own upward h (rows, n) add to the gates of what they get."""
        if not self.reads_up:
            return None
        order, segments, back = sort_rows(function)
        return self.linear_for(segments)("input", h[order])[back]
