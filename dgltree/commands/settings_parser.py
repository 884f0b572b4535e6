"""Options with types, and a file of them, by jsonargparse, which takes a tenth of a second to load."""

import argparse
import re
from typing import NoReturn

from jsonargparse import ArgumentParser

from dgltree.commands.options import describe_command, describe_no_json, describe_unknown, exit_with, flag_of
from dgltree.support.arguments import describe_kind

_NOT_ACCEPTED = re.compile(r"Option '(\w+)' is not accepted")
_OF_A_KEY = re.compile(r'Parser key "(?P<name>\w+)":\s*(?P<why>.*)', re.DOTALL)
_VALUE = re.compile(r"(?:Got value|Given value): (.*)", re.DOTALL)


class SettingsParser(ArgumentParser):
    """Options with types, and a file of them."""

    def options(self, arguments: list[str]) -> argparse.Namespace:
        """The options by their names: jsonargparse keeps ``keys``, as a method of its own is called, under another."""
        return argparse.Namespace(**self.parse_args(arguments).as_dict())

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Print what is wrong and what would be right, and exit with 2."""
        exit_with(self.prog, self._describe(message))

    def _describe(self, message: str) -> str:
        flags = [flag for action in self._actions for flag in action.option_strings]
        if found := _NOT_ACCEPTED.match(message):
            return describe_unknown(flag_of(found[1]), flags)
        if (found := _OF_A_KEY.match(message)) and (value := _VALUE.search(found["why"])):
            return self._describe_value(found["name"], value[1].strip())
        if found:
            return f"{flag_of(found['name'])}: {' '.join(found['why'].split())}"
        if message.startswith("unrecognized arguments: "):
            return describe_unknown(message.partition(": ")[2], flags)
        return " ".join(message.split())

    def _describe_value(self, name: str, value: str) -> str:
        if name == "options":
            return describe_no_json(value)
        kinds = [action._typehint for action in self._actions if action.dest == name and hasattr(action, "_typehint")]
        wanted = f"; it must be {describe_kind(kinds[0])}" if kinds else ", which it cannot be"
        return f"{flag_of(name)} is {value!r:.80}{wanted}"


def make_parser(name: str, usage: str, description: str, examples: str) -> SettingsParser:
    """The parser of ``dgltree NAME`` for settings with types, without options yet."""
    return SettingsParser(**describe_command(name, description, examples, usage))
