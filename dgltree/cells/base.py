"""Base of the cells of both directions, as the level engine sees them: weights by name, one step of rows at a time."""

from abc import ABC, abstractmethod
from itertools import chain
from typing import Any, ClassVar, cast

from torch import Tensor, nn

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells.step import Computed, State, StepRows
from dgltree.cells.typed_linear import TypedLinear
from dgltree.cells.vocabulary_signature import VocabularySigned
from dgltree.configured import Configured


class CellBase(Configured, VocabularySigned, ABC):
    """A cell as the engine sees it: :class:`dgltree.cells.Cell` upwards, :class:`dgltree.cells.DownwardCell` downwards.

    A subclass keeps its affine maps in ``maps``, and ``dropout`` and ``vocabulary`` among its options.
    """

    vocabulary: Vocabulary
    hidden_size: int
    dropout: float
    maps: nn.ModuleDict
    apart: ClassVar[tuple[str, ...]] = ()
    """Modules that no step reads."""

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

        A pass computes their products itself, and its backward pass reads these tensors, never the module: they may be
        what a parametrization computed, or what ``torch.func.functional_call`` put there for the time of a call.
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

    def own_parameters(self) -> dict[str, Tensor]:
        """A step's tensors in addition to ``map_weights``: parameters of ``combine`` (a LayerNorm), and of maps called.

        Under ``torch.func.functional_call`` these are the tensors that it was given.
        """
        ours = [*self.apart, *(f"maps.{name}" for name in self.maps.keys() - self.called_maps())]
        beginnings = tuple(f"{name}." for name in ours)
        return {name: p for name, p in self.named_parameters() if not name.startswith(beginnings)}

    @property
    def drops(self) -> bool:
        """Whether training draws masks of dropout."""
        return self.dropout > 0

    def drop(self, v: Tensor) -> Tensor:
        """Dropout in training, for ``combine``."""
        return nn.functional.dropout(v, self.dropout, self.training) if self.dropout else v
