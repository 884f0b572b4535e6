"""Shadow runs: what functions do at two made-up nodes, by which a program that is out of date is noticed.

A program is of functions as they were when they were recorded. Closures, training flags, replaced parameters and
counters change what they do without a word. So they run once more before each pass, which takes a tenth of the time of
a recording: torch's calls are compared one by one with those of the first time, and the tensors that the functions hold
are bound again. Functions that keep a tensor which they computed, such as the weights of an attention, have to run on
the true nodes: they are refused.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import ref

import torch
from torch import Tensor

from dgltree.engine.autograd import device_generator_state
from dgltree.engine.compiled.counts import CountMode
from dgltree.engine.compiled.recording import (
    Kind,
    PassFunctions,
    Situation,
    put_back,
    read_fields,
    run_functions,
    samples,
)
from dgltree.engine.compiled.tensors import NotAProgramError

ROWS = 2
PLAIN = {int, bool, str, type(None), torch.dtype, torch.device}
"""Arguments that are compared as they are."""


class Shadow:
    """A run of functions at made-up nodes, and what it is compared with later.

    Args:
        functions: as they are recorded.
        situation: of the nodes.
        edges: the fields of edges.
    """

    def __init__(self, functions: PassFunctions, situation: Situation, edges: Mapping[str, Kind]) -> None:
        self.situation = situation
        self.degree = situation.degree
        self.inputs = read_fields(functions, situation.nodes, edges, situation.degree)
        self.tensors: list[Tensor] = []
        self.first = self._run(functions)
        self.sources: list[int | Tensor] = []
        """What each tensor is that a program holds: its number among those held, or itself if it never changes."""
        self.kinds: list[Any] = []

    def trace(self, outside: Sequence[Tensor], fresh: frozenset[int]) -> bool:
        """Whether the tensors that functions hold were all seen, so that they can be found again.

        Args:
            outside: the tensors.
            fresh: which of them are made of a few numbers at each call, which are compared.
        """
        places = {id(tensor): place for place, tensor in enumerate(self.first.held)}
        for number, tensor in enumerate(outside):
            if number not in fresh and id(tensor) not in places:
                return False
            self.sources.append(tensor if number in fresh else places[id(tensor)])
        self.kinds = [None if isinstance(each, Tensor) else _kind(self.first.held[each]) for each in self.sources]
        self.first.held = []  # which would keep the model that they are of
        return True

    def bound(self, functions: PassFunctions) -> list[Tensor] | None:
        """The tensors that functions hold now; None if they do something else than they did.

        Raises :class:`NotAProgramError` for functions that keep a tensor which they computed.
        """
        try:
            now = self._run(functions)
        except NotAProgramError:
            raise
        except Exception:  # they do something else than they did, which recordings explain
            return None
        if now.calls != self.first.calls or now.asked() != self.first.asked():
            return None
        found = [each if isinstance(each, Tensor) else now.held[each] for each in self.sources]
        kinds = [None if isinstance(each, Tensor) else _kind(now.held[each]) for each in self.sources]
        return found if kinds == self.kinds else None

    def _run(self, functions: PassFunctions) -> "_Calls":
        generator = device_generator_state(torch.device("cpu"))
        python = random.getstate()
        calls = _Calls(ROWS, self.degree)
        try:
            self.tensors = self.tensors or samples(self.inputs, ROWS, self.degree, self.situation.kind)
            with calls:
                returned = run_functions(
                    functions, self.inputs, self.tensors, calls.of(ROWS), self.degree, dict(self.situation.zeros or {})
                )
                calls.calls.append(("returned", calls.plain(dict(returned))))
        finally:
            put_back(generator)
            random.setstate(python)
        made = [ref(tensor) for tensor in calls.made]
        calls.made = []
        returned = {}
        if any(each() is not None for each in made):
            raise NotAProgramError("the functions keep a computed tensor after the call")
        return calls


def _kind(tensor: Tensor) -> tuple[Any, ...]:
    return type(tensor), tensor.dtype, tensor.shape, tensor.device, tensor.layout


class _Calls(CountMode):
    """While it is on, torch's calls are kept, with numbers in place of tensors."""

    def __init__(self, rows: int, degree: int) -> None:
        super().__init__(rows, degree, lambda: None)
        self.calls: list[tuple[Any, ...]] = []
        self.held: list[Tensor] = []
        """Tensors that were there before, in the order of their first use."""
        self.made: list[Tensor] = []
        """Tensors that were computed."""
        self._places: dict[int, tuple[str, int]] = {}

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = self.counted_sizes(function, function(*args, **kwargs) if kwargs else function(*args))
        given = self.plain(args), self.plain(kwargs) if kwargs else ()
        self.calls.append((function, given, self.plain(result, is_made=True)))
        return result

    def asked(self) -> list[tuple[Any, ...]]:
        """What functions asked about counts, and the answers."""
        return [(each.counted, each.asked, self.plain(each.other), each.answer) for each in self.questions]

    def plain(self, argument: Any, is_made: bool = False) -> Any:
        """What an argument or a result is compared by: numbers as they are, tensors by their place."""
        kind = type(argument)
        if kind in PLAIN:
            return argument
        if isinstance(argument, Tensor):
            place = self._places.get(id(argument))
            if place is None:
                of, name = (self.made, "made") if is_made else (self.held, "held")
                place = self._places[id(argument)] = name, len(of)
                of.append(argument)
            return place
        if isinstance(argument, tuple | list):
            return tuple([self.plain(each, is_made) for each in argument])
        if isinstance(argument, dict):
            return tuple([(name, self.plain(each)) for name, each in argument.items()])
        if isinstance(argument, int):
            return int(argument)  # a count, which would be asked again
        if kind is float:
            return repr(argument)  # NaN is equal to itself
        if kind is slice:
            return "slice", self.plain((argument.start, argument.stop, argument.step))
        return id(argument)
