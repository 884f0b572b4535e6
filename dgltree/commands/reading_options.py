"""The options that say how trees are read."""

import argparse
from collections.abc import Collection
from dataclasses import fields
from typing import Any

from dgltree.commands.options import options_of
from dgltree.datasets.settings import Reading


def add_reading(parser: argparse.ArgumentParser, defaults: bool = False, without: Collection[str] = ()) -> None:
    """How trees are read; what is not given is left out of the parsed options.

    Args:
        parser: of a command.
        defaults: whether what is not given is as by default, instead of as in the training of a model.
        without: settings that are no options of the command.
    """
    title = "how the trees are read" + ("" if defaults else " (by default as in training)")
    group = parser.add_argument_group(title)
    for option in options_of(Reading):
        if option.name in without:
            continue
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


def read_given(options: argparse.Namespace) -> dict[str, Any]:
    """The settings that the command line gives."""
    return {name: value for name, value in vars(options).items() if name in {field.name for field in fields(Reading)}}
