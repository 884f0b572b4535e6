"""The options of commands: one look for all, and settings as options, with what their docstring says of them."""

import argparse
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints


class Option(NamedTuple):
    """One setting."""

    name: str
    type: Any
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    """The values that there are, if they are few."""

    @property
    def flag(self) -> str:
        return "--" + self.name.strip("_").replace("_", "-")

    @property
    def description(self) -> str:
        """The help text, with the choices if it does not name them, and the default."""
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


def option_parser(name: str, description: str, examples: str, usage: str | None = None) -> argparse.ArgumentParser:
    """Of ``dgltree NAME``, without options yet; ``usage`` is what follows the name, if argparse's is too long."""
    return argparse.ArgumentParser(
        prog=f"dgltree {name}",
        usage=usage and f"dgltree {name} {usage}",
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def config_first(arguments: list[str]) -> list[str]:
    """The options with the configuration before all others, because a later one has the last word."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config", action="append", default=[])
    known, others = parser.parse_known_args(arguments)
    return [*(f"--config={file}" for file in known.config), *others]
