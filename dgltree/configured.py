"""Classes whose options are those of their constructors: listed by name, kept as attributes, and checked on a call."""

from inspect import Parameter, signature
from typing import Any, ClassVar, Self

from dgltree.arguments import nearest


class Configured:
    """A class that keeps each of its options as an attribute, and passes those that it does not know to its base class.

    A call with an option that no class of the chain knows raises ``TypeError``, which names the class that was called.
    """

    fixed: ClassVar[frozenset[str]] = frozenset()
    """Options of a base class that this one sets itself."""

    def __new__(cls, *_: Any, **given: Any) -> Self:
        check_options(cls.__name__, given, option_names(cls))
        return super().__new__(cls)

    @property
    def config(self) -> dict[str, Any]:
        """Option to value: what makes the object again, except for its weights, and what a model's file has of it."""
        kept = set(dir(self))
        for name in option_names(type(self)):
            if name not in kept:
                raise TypeError(
                    f"{type(self).__name__} does not store its option {name!r}: set self.{name} in its constructor"
                )
        return {name: getattr(self, name) for name in option_names(type(self))}


def option_names(cls: type) -> list[str]:
    """The options of a class, those of its base classes first, as far up as each constructor passes options on.

    An option can be given by keyword; ``vocabulary`` and what a caller can only give by position are none.
    """
    chain = []
    for each in cls.__mro__:
        if "__init__" in vars(each) and issubclass(each, Configured):
            parameters = signature(vars(each)["__init__"]).parameters.values()
            chain.append([p.name for p in list(parameters)[1:] if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)])
            if not any(p.kind is Parameter.VAR_KEYWORD for p in parameters):
                break
    fixed = {name for each in cls.__mro__ for name in vars(each).get("fixed", ())} | {"vocabulary"}
    return [name for name in dict.fromkeys(name for own in reversed(chain) for name in own) if name not in fixed]


def check_options(caller: str, given: Any, known: list[str]) -> None:
    """``TypeError`` for the first option that is not known, with the nearest that is."""
    for name in given:
        if name not in known and name != "vocabulary":
            raise TypeError(f"{caller} has no option {name!r}; {nearest(name, known)}")
