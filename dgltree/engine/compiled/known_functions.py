"""Functions that were recorded before: their programs are found again, with the tensors that they hold now."""

import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from threading import RLock
from types import CellType, MethodType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dgltree.engine.compiled.catalogue import Catalogue, KnownProgram
from dgltree.engine.compiled.recording import Kind, PassFunctions
from dgltree.engine.compiled.rows import Met, MetRows
from dgltree.engine.compiled.shadow import Shadow
from dgltree.engine.compiled.tensors import NotAProgramError

MOST_FUNCTIONS = 64
"""Sets of functions that are remembered."""
MOST_ALIKE = 4
"""What is remembered of one set of functions that do different things, as in training and in evaluation."""
MOST_RECORDED = 16
"""Times that one set of functions is recorded: what changes with every pass is not worth a compiled program."""


@contextmanager
def outside_inference() -> Iterator[None]:
    """Within it inference mode is off, and gradients are if it was on."""
    if not torch.is_inference_mode_enabled():
        yield
        return
    with torch.inference_mode(False), torch.no_grad():
        yield


class BoundProgram(NamedTuple):
    """A program, and the tensors that its functions hold in this pass."""

    known: KnownProgram
    outside: Sequence[Tensor]


class KnownFunctions:
    """What was found about functions that do one thing.

    Args:
        catalogue: of the functions.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.shadows: dict[KnownProgram, dict[int | None, Shadow]] = {}
        """For each number by which the functions decide."""
        self.refused: dict[Met, NotAProgramError] = {}
        """The reasons why there is no program."""
        self.codes: dict[Any, list[Any]] = {}
        """Machine code, the latest first, by what is wanted, written and read."""

    def programs(self, functions: PassFunctions, met: Sequence[Met]) -> list[BoundProgram | None] | None:
        """The program of each degree; None if the functions do something else than what was recorded.

        Raises :class:`NotAProgramError`.
        """
        catalogue = self.catalogue
        is_recorded = all(catalogue.has(*each) for each in met)
        known = [catalogue.entry(*each) for each in met] if is_recorded else catalogue.entries
        numbers = {each.number for each in met} if is_recorded else None
        for entry in dict.fromkeys(known):
            if entry in self.shadows and not self._bind(entry, functions, numbers):
                return None
        for error in (self.refused[each] for each in met if each in self.refused):
            raise _again(error)
        catalogue.functions = functions
        try:
            found = [self._recorded(each) for each in met]
            self._shadow_all(functions, dict(zip(met, found, strict=True)))
            return [None if entry is None else BoundProgram(entry, entry.outside) for entry in found]
        except NotAProgramError:  # what has no shadow run could not be bound again
            catalogue.keep(self.shadows)
            raise
        finally:  # what is kept holds no tensor of a model
            for entry in catalogue.entries:
                entry.outside = ()
            catalogue.functions = None

    def _bind(self, entry: KnownProgram, functions: PassFunctions, numbers: set[int | None] | None) -> bool:
        """Give a program the tensors that the functions hold now; return whether they do what was recorded.

        Each shadow run of the program has to find the same ones.
        """
        entry.outside = ()
        is_first = True
        for number, shadow in self.shadows[entry].items():
            if not (numbers is None or number is None or number in numbers):
                continue
            outside = shadow.bound(functions)
            if outside is None or not (is_first or _are_same(entry.outside, outside)):
                return False
            entry.outside = outside
            is_first = False
        return True

    def _recorded(self, met: Met) -> KnownProgram | None:
        try:
            return self.catalogue.entry(*met)
        except NotAProgramError as error:
            self.refused[met] = _again(error)
            raise

    def _shadow_all(self, functions: PassFunctions, met: Mapping[Met, KnownProgram | None]) -> None:
        """Shadow runs of what has none, or has one without a field that is there by now."""
        try:
            entries = [entry for entry in dict.fromkeys(met.values()) if entry is not None]
            self.catalogue.show_fields_of_others(entries)
            for entry in entries:
                self._shadow(functions, entry)
        except NotAProgramError as error:
            new = [each for each, entry in met.items() if entry is not None and entry not in self.shadows]
            self.refused |= dict.fromkeys(new or met, _again(error))
            raise

    def _shadow(self, functions: PassFunctions, entry: KnownProgram) -> None:
        made = {}
        for number, situation in entry.situations.items():
            before = self.shadows.get(entry, {}).get(number)
            if before is None or before.situation is not situation:
                made[number] = Shadow(functions, situation, self.catalogue.edges)
                if not made[number].trace(entry.outside, entry.fresh):
                    raise NotAProgramError(
                        "the functions create a new tensor in each call in a way that torch cannot trace"
                    )
        self.shadows[entry] = self.shadows.get(entry, {}) | made


class Memory:
    """All functions that were recorded in this process.

    Sets of functions that are written at the same places have one key. ``MOST_ALIKE`` that do different things are kept
    of each; after more refusals every other set of the key is refused, too, because recording takes longer than torch.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        """Functions that are recorded may run passes of their own."""
        self._known: OrderedDict[Any, list[KnownFunctions]] = OrderedDict()
        self._recorded: dict[Any, int] = {}
        self._refused: dict[Any, dict[Any, RefusedFunctions]] = {}
        """The reasons why functions have no program at all, by what they are: to run them again to see whether they do
        what they did would show those that write lists or files more made-up nodes."""

    def find(
        self,
        functions: PassFunctions,
        nodes: Mapping[str, Kind],
        edges: Mapping[str, Kind],
        rows: MetRows,
        owner: object = None,
        kind: Hashable = None,
    ) -> tuple[KnownFunctions, list[BoundProgram | None]]:
        """What is known of functions, and the programs of all that is met, recorded now if they were not before.

        Functions run as if inference mode were off, in which torch calls other operations for the same functions.
        Functions that are made for one pass have an ``owner``, by which they are told apart, of some ``kind``: those of
        one kind can be run wherever others of it can.

        Raises :class:`NotAProgramError`.
        """
        key = (
            rows.has_leaves,
            rows.has_late_leaves,
            rows.by,
            kind,
            *map(_code, (functions.message, functions.reduce, functions.apply)),
            functions.reduces_all,
            tuple(nodes.items()),
            tuple(edges.items()),
            torch.is_grad_enabled(),
        )
        with outside_inference():
            return self._find(functions, key, owner, nodes, edges, rows)

    def _find(
        self,
        functions: PassFunctions,
        key: Hashable,
        owner: object,
        nodes: Mapping[str, Kind],
        edges: Mapping[str, Kind],
        rows: MetRows,
    ) -> tuple[KnownFunctions, list[BoundProgram | None]]:
        """What is known by a key, or is recorded now."""
        met = rows.met
        made_of = (functions.message, functions.reduce, functions.apply) if owner is None else (owner,)
        identity = tuple(map(_identity, made_of))
        with self._lock:
            refused = self._refused.setdefault(key, {})
            for gone in [each for each, refusal in refused.items() if not refusal.is_alive()]:
                refused[object()] = refused.pop(gone)  # another function may get its ids
            if identity in refused:
                raise _again(refused[identity].error)
            if len(refused) > MOST_ALIKE:
                raise _again(next(iter(refused.values())).error)
            alike = self._known.setdefault(key, [])
            self._known.move_to_end(key)
            for place, known in enumerate(alike):
                programs = known.programs(functions, met)
                if programs is not None:
                    alike.insert(0, alike.pop(place))
                    return known, programs
            self._recorded[key] = self._recorded.get(key, 0) + 1
            if self._recorded[key] > MOST_RECORDED:
                raise NotAProgramError(f"the functions computed something different in each of {MOST_RECORDED} passes")
            new = KnownFunctions(Catalogue(functions, nodes, edges, rows.has_leaves, rows.has_late_leaves, rows.by))
            try:
                programs = new.programs(functions, met)
            except NotAProgramError as error:
                if not new.shadows:
                    refused[identity] = RefusedFunctions(_again(error), [_reference(each) for each in made_of])
                    raise
                alike.insert(0, new)
                raise
            finally:
                self._forget()
            assert programs is not None
            alike.insert(0, new)
            del alike[MOST_ALIKE:]
            return new, programs

    def _forget(self) -> None:
        """Forget, of too many functions, those that were used longest ago."""
        while len(self._known) > MOST_FUNCTIONS:
            oldest, _ = self._known.popitem(last=False)
            self._recorded.pop(oldest, None)
            self._refused.pop(oldest, None)


class RefusedFunctions(NamedTuple):
    """Why functions are no program, and whether they are still there: their ids are others' afterwards."""

    error: NotAProgramError
    references: list[Callable[[], Any]]

    def is_alive(self) -> bool:
        """Whether all of them are."""
        return all(reference() is not None for reference in self.references)


def _reference(function: Any) -> Callable[[], Any]:
    """A weak reference to a function, or of a method to its object; to what has none, one that keeps it."""
    held = function.__self__ if isinstance(function, MethodType) else function
    try:
        return weakref.ref(held)
    except TypeError:
        return lambda: held or True


def _again(error: NotAProgramError) -> NotAProgramError:
    """The error without the frames that it came through, which would keep tensors."""
    return NotAProgramError(str(error), error.field)


def _are_same(tensors: Sequence[Tensor], others: Sequence[Tensor]) -> bool:
    return all(tensor is other for tensor, other in zip(tensors, others, strict=True))


def _code(function: Any, depth: int = 3) -> Any:
    """What functions that are written at the same place have in common; what else they are shows in a shadow run.

    Functions that a function closes over count, so that those of one factory are told apart.
    """
    if isinstance(function, MethodType):
        return _code(function.__func__, depth)
    if isinstance(function, partial):
        return partial, _code(function.func, depth)
    code = getattr(function, "__code__", None)
    if code is None:
        return type(function)
    closure = getattr(function, "__closure__", None) or ()
    return code, *(_code(cell.cell_contents, depth - 1) for cell in closure if depth and _is_filled(cell))


def _is_filled(cell: CellType) -> bool:
    try:
        return callable(cell.cell_contents)
    except ValueError:  # a variable that has no value yet
        return False


def _identity(function: Any) -> tuple[int, ...]:
    """Ids of what a function is now; a method is another object whenever it is read."""
    if isinstance(function, MethodType):
        return id(function.__self__), id(function.__func__)
    return (id(function),)
