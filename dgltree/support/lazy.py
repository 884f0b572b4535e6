"""Facts that are found when they are first asked for, and kept."""

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, Generic, Self, TypeVar, overload

Value = TypeVar("Value")


@cache
def is_installed(package: str) -> bool:
    """Whether a package can be imported; to ask Python costs a fifth of a millisecond."""
    return find_spec(package) is not None


class cached_property(Generic[Value]):  # noqa: N801, as functools has it
    """A ``functools.cached_property`` without the lock that Python 3.11 holds while it computes one.

    That lock is one for all objects of a class. A thread that waits for another one while it computes a property, such
    as a search that gives way, would wait for ever if the other one reads the same property of another object. Two
    threads that read a property of one object at once may both compute it, as in Python 3.12.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> Self | Value:
        if instance is None:
            return self
        found = instance.__dict__[self._name] = self._function(instance)
        return found
