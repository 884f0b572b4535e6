"""Objects of any kind are read as a tree, each once and without recursion, by functions of one object."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")
LAST_POSITIONS = 10
"""Positions of a place in a message: all of a place that has no more, and the last ones of one that has."""


@dataclass
class _Unfinished(Generic[T]):
    """An object on the way from the root to what is read now, and what was built of its first children."""

    found: Any
    children: list[Any] = field(default_factory=list)
    built: list[T] = field(default_factory=list)


@dataclass(frozen=True)
class ObjectFields:
    """How the fields of an object are read: each by a function of it, or by the name of an attribute.

    Args:
        children: gives None or objects.
        function, token: give texts; without ``token`` no object has one.

    Raises ``TypeError`` for anything else.
    """

    children: str | Callable[[Any], Any]
    function: str | Callable[[Any], Any]
    token: str | Callable[[Any], Any] | None

    def __post_init__(self) -> None:
        for name, how in vars(self).items():
            left_out = how is None and name == "token"
            if not (left_out or isinstance(how, str) or callable(how)):
                raise TypeError(f"{name} is {how!r:.60}; give a function of an object, or the name of its attribute")


def build(root: Any, fields: ObjectFields, make: Callable[[Any, list[T], Any], T]) -> T:
    """The result of ``make(function, results of the children, token)`` for the root.

    Raises ``ValueError`` for an object that is below itself, for one without an attribute that is read, and for what
    are no children; and what ``make`` raises, with the place.
    """
    finished: dict[int, tuple[Any, T]] = {}  # with each object, because the id of one that is gone may come again
    path = [_Unfinished[T](root)]
    depths = {id(root): 0}  # of the objects of the path
    path[-1].children = _children(fields, path)
    while True:
        last = path[-1]
        if len(last.built) == len(last.children):
            made = _made(fields, path, make)
            finished[id(last.found)] = last.found, made
            del depths[id(last.found)]
            path.pop()
            if not path:
                return made
            path[-1].built.append(made)
            continue
        child = last.children[len(last.built)]
        if id(child) in finished:
            last.built.append(finished[id(child)][1])
            continue
        path.append(_Unfinished(child))
        if id(child) in depths:
            above = _place(path[: depths[id(child)] + 1])
            raise ValueError(f"a cycle: {_place(path)} is the same object as {above}, above it: {child!r:.60}")
        depths[id(child)] = len(path) - 1
        path[-1].children = _children(fields, path)


def _made(fields: ObjectFields, path: list[_Unfinished[T]], make: Callable[[Any, list[T], Any], T]) -> T:
    """The result of the object at the end of a path, whose children are finished."""
    function = _read("function", fields.function, path)
    token = None if fields.token is None else _read("token", fields.token, path)
    try:
        return make(function, path[-1].built, token)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{_place(path)}: {error}") from None


def _children(fields: ObjectFields, path: list[_Unfinished[T]]) -> list[Any]:
    """The children of the object at the end of a path."""
    given = _read("children", fields.children, path)
    if given is None:
        return []
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ValueError(f"the children of {_place(path)} are {given!r:.60}; expected a list of objects, or None")
    children = list(given)
    for i, child in enumerate(children):
        if child is None:
            raise ValueError(f"child {i} of {_place(path)} is None; leave out a child that there is not")
    return children


def _read(name: str, how: str | Callable[[Any], Any], path: list[_Unfinished[T]]) -> Any:
    """A field of the object at the end of a path. What a function raises is left as it is."""
    found = path[-1].found
    if not isinstance(how, str):
        return how(found)
    try:
        return getattr(found, how)
    except AttributeError:
        kind = type(found).__name__
        raise ValueError(
            f"{_place(path)}, of type {kind}, has no attribute {how!r} for its {name}; give the name of one that each "
            f"object has, or a function"
        ) from None


def _place(path: list[_Unfinished[T]]) -> str:
    """Where the object at the end of a path is."""
    positions = [str(len(each.built)) for each in path[:-1]]
    if not positions:
        return "the root"
    left_out = "..." if len(positions) > LAST_POSITIONS else ""
    last = ".".join(positions[-LAST_POSITIONS:])
    return f"the object at {left_out}{last}"
