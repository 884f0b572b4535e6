"""Numbers of nodes and of messages that remember what they count, so that it is seen what functions ask of them."""

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


class CountQuestion(NamedTuple):
    """Something that a function asked about a count, such as ``mailbox.shape[1] == 1``."""

    counted: str
    """``rows``, ``degree`` or ``messages``, which is both multiplied."""
    asked: str
    """The name of a comparison, ``truth`` or ``hash``."""
    other: object
    """What it was compared with."""
    answer: object
    line: object
    """The line of the user's function; None if there is none."""


class Count(int):
    """A number of nodes, of messages of each, or of both. A whole number like any other, but what is asked is kept."""

    counted: str
    counts: "CountMode"

    def _asked(self, asked: str, other: object, answer: Any) -> Any:
        self.counts.questions.append(CountQuestion(self.counted, asked, other, answer, self.counts.line()))
        return answer

    def __eq__(self, other: object) -> bool:
        return self._asked("eq", other, int.__eq__(self, other))

    def __ne__(self, other: object) -> bool:
        return self._asked("ne", other, int.__ne__(self, other))

    def __lt__(self, other: Any) -> bool:
        return self._asked("lt", other, int.__lt__(self, other))

    def __le__(self, other: Any) -> bool:
        return self._asked("le", other, int.__le__(self, other))

    def __gt__(self, other: Any) -> bool:
        return self._asked("gt", other, int.__gt__(self, other))

    def __ge__(self, other: Any) -> bool:
        return self._asked("ge", other, int.__ge__(self, other))

    def __bool__(self) -> bool:
        return self._asked("truth", None, int.__bool__(self))

    def __hash__(self) -> int:
        return self._asked("hash", None, int.__hash__(self))


class CountMode(TorchFunctionMode):
    """While it is on, the sizes of tensors that are a number of nodes or of messages are a :class:`Count`.

    A number that is taken by other ways, such as ``len(mailbox)`` or ``range(mailbox.shape[1])``, is a plain one: what
    depends on it is found by recording again with other numbers.

    Args:
        rows, degree: how many nodes there are, and messages of each.
        line: gives the line of the user's function that runs.
    """

    def __init__(self, rows: int, degree: int, line: Callable[[], object]) -> None:
        super().__init__()
        self.counted = {degree: "degree", rows * degree: "messages", rows: "rows"}
        self.line = line
        self.questions: list[CountQuestion] = []

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.counted_sizes(function, function(*args, **(kwargs or {})))

    def counted_sizes(self, function: Any, result: Any) -> Any:
        """What a call of torch returned, with a :class:`Count` for a size that is one."""
        if isinstance(result, torch.Size):
            return torch.Size(map(self.of, result))
        return self.of(result) if function is Tensor.size else result

    def of(self, size: int) -> int:
        """A size, as a :class:`Count` if it is one."""
        counted = self.counted.get(operator.index(size))
        if counted is None or size < 2:  # any axis may have size 1
            return size
        count = Count(size)
        count.counted = counted
        count.counts = self
        return count
