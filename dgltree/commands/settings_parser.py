"""The parser of ``dgltree fit`` and ``compare``, whose errors are one line."""

import argparse
import re
import sys
from typing import Any, NoReturn

from jsonargparse import ArgumentParser

from dgltree.arguments import describe_kind
from dgltree.commands.options import describe_unknown

_OF_A_KEY = re.compile(r'Parser key "(?P<name>\w+)":\s*(?P<why>.*)', re.DOTALL)
_VALUE = re.compile(r"(?:Got value|Given value): (.*)", re.DOTALL)
_NOT_ACCEPTED = re.compile(r"Option '(\w+)' is not accepted")
_PAIR = re.compile(r"(\w+)=(.+)")


class SettingsParser(ArgumentParser):
    """Options with types, and a file of them."""

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Print what is wrong and what would be right, and exit with 2."""
        print(f"{self.prog}: error: {self._describe(message)}", file=sys.stderr)
        sys.exit(2)

    def _describe(self, message: str) -> str:
        flags = [flag for action in self._actions for flag in action.option_strings]
        if found := _NOT_ACCEPTED.match(message):
            return describe_unknown(_flag(found[1]), flags)
        if (found := _OF_A_KEY.match(message)) and (value := _VALUE.search(found["why"])):
            return self._describe_value(found["name"], value[1].strip())
        if found:
            return f"{_flag(found['name'])}: {' '.join(found['why'].split())}"
        if message.startswith("unrecognized arguments: "):
            return describe_unknown(message.partition(": ")[2], flags)
        return " ".join(message.split())

    def _describe_value(self, name: str, value: str) -> str:
        if name == "options":
            return describe_no_json(value)
        kinds = [action._typehint for action in self._actions if action.dest == name and hasattr(action, "_typehint")]
        wanted = f"; it must be {describe_kind(kinds[0])}" if kinds else ", which it cannot be"
        return f"{_flag(name)} is {value!r:.80}{wanted}"


def _flag(name: str) -> str:
    return "--" + name.strip("_").replace("_", "-")


def describe_no_json(text: str) -> str:
    """The message about a text of ``--options`` that is not a JSON object, with the way to write it."""
    found = _PAIR.fullmatch(text)
    example = f'{{"{found[1]}": {found[2]}}}' if found else '{"stack_size": 3}'
    return f"--options is {text!r:.80}; write it as a JSON object: --options '{example}'"


def make_parser(name: str, usage: str, description: str, examples: str) -> Any:
    """The parser of ``dgltree NAME``, without options yet."""
    return SettingsParser(
        prog=f"dgltree {name}",
        usage=f"dgltree {name} {usage}",
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
