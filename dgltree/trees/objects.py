"""Objects of any kind as a tree, by functions of one object.

The objects are walked depth first with an explicit stack, so that nothing recurses. The stack is the path from the
root to the object at hand; it also is what an error needs to say where that object is.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Make = Callable[[Any, list[T], Any], T]
LAST_POSITIONS = 10
"""Child indices of a position in a message: all of a shorter one, the last ones of a longer one."""


@dataclass
class _Unfinished(Generic[T]):
    """An object on the path from the root, and the results of its first children."""

    source: Any
    children: list[Any] = field(default_factory=list)
    results: list[T] = field(default_factory=list)


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
                raise TypeError(f"{name} is {how!r:.60}; give a function of an object, or the name of an attribute")


def build(
    root: Any,
    fields: ObjectFields,
    make: Make[T],
) -> T:
    """The result of ``make(function, results of the children, token)`` for the root.

    Raises ``ValueError`` for an object that is below itself, for one without an attribute that is read, and for what
    are no children; and what ``make`` raises, with the position.
    """
    # Keys are ids of objects. A finished object is kept next to its result, because the id of one that Python frees
    # may be given to the next.
    finished = {}
    depth_on_path = {id(root): 0}
    path = [_Unfinished[T](root)]
    path[0].children = _children(fields, path)
    while True:
        last = path[-1]
        if len(last.results) == len(last.children):
            function = _read("function", fields.function, path)
            token = None
            if fields.token is not None:
                token = _read("token", fields.token, path)
            try:
                result = make(function, last.results, token)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{_position(path)}: {error}") from None
            key = id(last.source)
            finished[key] = last.source, result
            del depth_on_path[key]
            path.pop()
            if not path:
                return result
            path[-1].results.append(result)
            continue
        child = last.children[len(last.results)]
        key = id(child)
        if key in finished:
            _, result = finished[key]
            last.results.append(result)
            continue
        path.append(_Unfinished(child))
        if key in depth_on_path:
            depth = depth_on_path[key]
            above = _position(path[: depth + 1])
            raise ValueError(f"a cycle: {_position(path)} is the same object as {above}, above it: {child!r:.60}")
        depth_on_path[key] = len(path) - 1
        path[-1].children = _children(fields, path)


def _children(fields: ObjectFields, path: list[_Unfinished[T]]) -> list[Any]:
    """The children of the object at the end of a path."""
    given = _read("children", fields.children, path)
    if given is None:
        return []
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ValueError(f"the children of {_position(path)} are {given!r:.60}; expected a list of objects, or None")
    children = list(given)
    for i, child in enumerate(children):
        if child is None:
            raise ValueError(f"child {i} of {_position(path)} is None; leave out missing children")
    return children


def _read(
    name: str,
    how: str | Callable[[Any], Any],
    path: list[_Unfinished[T]],
) -> Any:
    """A field of the object at the end of a path. What a function raises is left as it is."""
    source = path[-1].source
    if not isinstance(how, str):
        return how(source)
    try:
        return getattr(source, how)
    except AttributeError:
        kind = type(source).__name__
        raise ValueError(
            f"{_position(path)}, of type {kind}, has no attribute {how!r} for its {name}; name an attribute that each "
            "object has, or give a function"
        ) from None


def _position(path: list[_Unfinished[T]]) -> str:
    """Where the object at the end of a path is, for a message: the child indices from the root on."""
    # An object waits for the child after those that have a result, so their number is the child's index.
    child_indices = [str(len(unfinished.results)) for unfinished in path[:-1]]
    if not child_indices:
        return "the root"
    last = ".".join(child_indices[-LAST_POSITIONS:])
    if len(child_indices) > LAST_POSITIONS:
        last = f"...{last}"
    return f"the object at {last}"
