"""Refusals say what is wrong with an input; internal errors are faults of this program at one input of many."""

import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

LOG = logging.getLogger(__name__)
P = ParamSpec("P")
Result = TypeVar("Result")


class Refusal(ValueError):  # noqa: N818 - the input is at fault
    """An input that is not answered: the message says what is wrong with it, and what would be right."""


class InternalError(ValueError):
    """A fault of this program at one input: ``internal error KeyError``.

    It holds the name of the error alone, which can be sent to another process.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = f"internal error {name}"

    def __str__(self) -> str:
        return f"undecided: {self.name}"


def attempt(function: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result | Refusal | InternalError:
    """The result for one input of many, or why there is none, so that the others are answered.

    What is not the input's fault ends all: a file that is not there, a package that is missing, too little memory.
    """
    try:
        return function(*args, **kwargs)
    except Refusal as error:
        return error
    except (OSError, ImportError, MemoryError):
        raise
    except Exception as error:
        LOG.debug("an internal error", exc_info=True)
        return InternalError(type(error).__name__)
