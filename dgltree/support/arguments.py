"""Checks of arguments, names like an unknown one, and classes whose options are those of their constructors."""

import difflib
from collections.abc import Iterable
from inspect import Parameter, signature
from typing import Any, ClassVar, Literal, Self, get_args, get_origin, get_type_hints

# ---------------------------------------------------------------------------------------------------------------------
# The names of the scales of labels, for options that are checked before torch is imported.


LabelScaleName = Literal["none", "log", "asinh", "rank"]


# ---------------------------------------------------------------------------------------------------------------------
# Checks of arguments, and the known names that are most like an unknown one.


MAX_LISTED_NAMES = 40  # names that a message may list
SYNONYMS = {
    "learning_rate": "lr",
    "max_epochs": "epochs",
    "num_epochs": "epochs",
    "n_epochs": "epochs",
    "random_state": "seed",
    "n_jobs": "threads",
    "early_stopping": "patience",
    "hidden_dim": "hidden_size",
    "embedding_dim": "input_size",
    "gradient_clip_val": "clip",
    "fp16": "precision",
}
"""Names of options in other libraries, which share no letters with ours."""
KINDS = {int: "a whole number", float: "a number", str: "a string", bool: "true or false", dict: "a mapping"}


def check_size(name: str, size: int) -> None:
    """``ValueError`` for what is not a whole number from 1."""
    if not isinstance(size, int) or size < 1:
        raise ValueError(f"{name} is {size!r}; it must be a whole number, 1 or more")


def check_choice(name: str, value: str, known: Iterable[str]) -> None:
    """``ValueError`` for a value that is not among the known ones."""
    names = list(known)
    if value not in names:
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(names)}")


def check_dropout(dropout: float, name: str = "dropout") -> None:
    """``ValueError`` for what is not a probability below 1."""
    if not 0 <= dropout < 1:
        raise ValueError(f"{name} is {dropout}; it must be a probability from 0 to below 1")


def check_types(settings: Any) -> None:
    """``ValueError`` for a field of a dataclass that is not of its type: from Python or JSON it may be."""
    for name, hint in get_type_hints(type(settings)).items():
        value = getattr(settings, name)
        kinds = _alternatives(hint)
        if not any(_is_a(value, kind) for kind in kinds):
            raise ValueError(f"{name} is {value!r}; it must be {describe_kind(hint)}")


def describe_kind(hint: Any) -> str:
    """``a whole number``: the values that a type has, in words."""
    return " or ".join(word for kind in _alternatives(hint) if kind is not type(None) for word in _words(kind))


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return (hint,) if get_origin(hint) in (None, Literal, dict) else get_args(hint)


def _is_a(value: Any, kind: Any) -> bool:
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else get_origin(kind) or kind)


def _words(kind: Any) -> list[str]:
    return [repr(each) for each in get_args(kind)] if get_origin(kind) is Literal else [KINDS[get_origin(kind) or kind]]


def nearest(name: str, known: Iterable[str]) -> str:
    """``nearest known: sin, sinh``: part of a message about an unknown ``name``; all of a few, if none is like it."""
    names = sorted(set(known))
    if SYNONYMS.get(name.lower()) in names:
        return f"nearest known: {SYNONYMS[name.lower()]}"
    near = difflib.get_close_matches(name.lower(), names)
    if not near and len(names) <= MAX_LISTED_NAMES:
        return f"known: {', '.join(names) or 'none'}"
    return f"nearest known: {', '.join(near or difflib.get_close_matches(name, names, cutoff=0.0))}"


def near(name: str, known: Iterable[str]) -> str:
    """``; nearest known: sin``: the end of a message that lists all known names, if one is like it; else nothing."""
    names = sorted(set(known))
    synonym = SYNONYMS.get(name.lower())
    found = [synonym] if synonym in names else difflib.get_close_matches(name.lower(), names)
    return f"; nearest known: {', '.join(map(str, found))}" if found else ""


# ---------------------------------------------------------------------------------------------------------------------
# Classes whose options are those of their constructors: listed by name, kept as attributes, and checked on a call.


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
