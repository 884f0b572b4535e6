"""The options of commands: one look for all, and settings as options, with what their docstring says of them."""

import argparse
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from dgltree.datasets.settings.reading import Reading


class Option(NamedTuple):
    """One setting."""

    name: str
    type: Any
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    """The values that there are, where they are few."""

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def description(self) -> str:
        """The help text, with the choices where it does not name them, and the default."""
        unnamed = [choice for choice in self.choices if choice not in self.help]
        choices = f" One of {', '.join(self.choices)}." if unnamed else ""
        default = "" if self.default is None or self.type is bool else f" Default: {self.default}."
        return self.help + choices + default


def options_of(settings: type) -> Iterator[Option]:
    """The fields of a dataclass, each with what the class's docstring says of it.

    Its choices are those of a ``Literal``, or the keys of the registry that the field's metadata name.
    """
    texts, hints = _descriptions(settings), get_type_hints(settings)
    for field in fields(settings):
        kinds = (hints[field.name], *get_args(hints[field.name]))
        literal = next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), ())
        choices = literal or tuple(field.metadata.get("choices", ()))
        yield Option(field.name, hints[field.name], field.default, texts[field.name], choices)


def _descriptions(settings: type) -> dict[str, str]:
    docstring = inspect.getdoc(settings) or ""
    arguments = docstring[docstring.index("Args:") :]
    found = re.findall(r"^    (\w+): (.*(?:\n        .*)*)", arguments, re.MULTILINE)
    return {name: " ".join(text.split()).replace("%", "%%") for name, text in found}


def add_reading(parser: argparse.ArgumentParser, defaults: bool = False) -> None:
    """How trees are read; what is not given is left out of the parsed options.

    Args:
        parser: of a command.
        defaults: whether what is not given is as by default, instead of as in the training of a model.
    """
    title = "how the trees are read" + ("" if defaults else " (by default as in training)")
    group = parser.add_argument_group(title)
    for option in options_of(Reading):
        how: dict[str, Any] = {
            "default": argparse.SUPPRESS,
            "help": option.description if defaults else option.help.split(" Default: ")[0],
        }
        if option.type is bool:
            how["action"] = "store_true"
        elif option.type == bool | None:
            how["action"] = argparse.BooleanOptionalAction
        elif option.choices:
            how["choices"] = option.choices
        else:
            how |= {"type": option.type if option.type in (int, str) else str, "metavar": option.name.upper()}
        group.add_argument(option.flag, **how)


def given_reading(options: argparse.Namespace) -> dict[str, Any]:
    """Those of the settings that the command line gives."""
    return {name: value for name, value in vars(options).items() if name in {field.name for field in fields(Reading)}}


def option_parser(name: str, description: str, examples: str, usage: str | None = None) -> argparse.ArgumentParser:
    """Of ``dgltree NAME``, without options yet; ``usage`` is what follows the name, where argparse's is too long."""
    return argparse.ArgumentParser(
        prog=f"dgltree {name}",
        usage=usage and f"dgltree {name} {usage}",
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
