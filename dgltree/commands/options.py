"""The options of commands have one look; settings become options, with what their docstring says of them.

Errors are one line; ``fit`` and ``compare`` have a parser with types. Paths are checked before what takes seconds
is imported; what is wrong with one is an error of one line.
"""

import argparse
import inspect
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, get_args, get_origin, get_type_hints

from dgltree.support.arguments import near
from dgltree.support.files import check_exists

STDIN = "-"
_PAIR = re.compile(r"(\w+)=(.+)")


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
        return flag_of(self.name)

    @property
    def description(self) -> str:
        """The help text, with the choices if it does not name them, and the default."""
        unnamed = [choice for choice in self.choices if choice not in self.help]
        choices = f" One of {', '.join(self.choices)}." if unnamed else ""
        default = "" if self.default is None or self.type is bool else f" Default: {self.default}."
        return self.help + choices + default


def flag_of(name: str) -> str:
    """The option of a setting."""
    return "--" + name.strip("_").replace("_", "-")


def options_of(settings: type) -> Iterator[Option]:
    """The fields of a dataclass, each with what the class's docstring says of it.

    Its choices are those of a ``Literal``, or the keys of the registry that the field's metadata name.
    """
    texts = _descriptions(settings)
    hints = get_type_hints(settings)
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


class OptionParser(argparse.ArgumentParser):
    """A parser whose errors are one line, and that names the nearest options to one that it lacks."""

    def error(self, message: str) -> NoReturn:
        unknown = message.removeprefix("unrecognized arguments: ")
        exit_with(self.prog, message if unknown == message else describe_unknown(unknown, self._option_string_actions))


def exit_with(prog: str, message: str) -> NoReturn:
    """Print in one line what is wrong with a command line and where its options are, and exit with 2."""
    print(f"{prog}: error: {message}; see {prog} --help", file=sys.stderr)
    sys.exit(2)


def describe_unknown(arguments: str, flags: Iterable[str]) -> str:
    """The message about arguments that a command does not have, with the options that are most like the first."""
    first = arguments.split()[0].split("=")[0]
    if not first.startswith("--"):
        return f"unexpected argument: {arguments}"
    names = [flag[2:] for flag in flags if flag.startswith("--")]
    return f"there is no option {first}{near(first[2:], names).replace(': ', ': --').replace(', ', ', --')}"


def option_parser(name: str, description: str, examples: str, usage: str | None = None) -> argparse.ArgumentParser:
    """The parser of ``dgltree NAME``, without options yet.

    ``usage`` is what follows the name, if argparse's is too long.
    """
    return OptionParser(**describe_command(name, description, examples, usage))


def describe_command(name: str, description: str, examples: str, usage: str | None) -> dict[str, Any]:
    """The arguments of a parser's constructor."""
    return {
        "prog": f"dgltree {name}",
        "usage": usage and f"dgltree {name} {usage}",
        "description": description,
        "epilog": examples,
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "allow_abbrev": False,
    }


def config_first(arguments: list[str]) -> list[str]:
    """The options with the configuration before all others, because a later one has the last word."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config", action="append", default=[])
    known, others = parser.parse_known_args(arguments)
    return [*(f"--config={file}" for file in known.config), *others]


def describe_no_json(text: str) -> str:
    """The message about a text of ``--options`` that is not a JSON object, with the way to write it."""
    found = _PAIR.fullmatch(text)
    example = f'{{"{found[1]}": {found[2]}}}' if found else '{"stack_size": 3}'
    return f"--options is {text!r:.80}; write it as a JSON object: --options '{example}'"


def check_input(path: str | None, advice: str = "") -> None:
    """``FileNotFoundError`` for a file that does not exist; ``advice`` ends its message."""
    if path is None or path == STDIN:
        return
    try:
        check_exists(path)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{error}{advice}") from None


def check_cell(text: str | None) -> None:
    """``FileNotFoundError`` if the file of ``FILE.py:CLASS`` is not there."""
    if text and text.rpartition(":")[0]:
        check_exists(text.rpartition(":")[0])


def check_output_folder(path: str | Path | None) -> None:
    """``NotADirectoryError`` for the path of a file, or one below it: a missing folder is made."""
    if path is None:
        return
    for each in (Path(path), *Path(path).parents):
        if os.path.lexists(each):
            if not each.is_dir():
                raise NotADirectoryError(f"{each} is a file; the output goes to a folder")
            return


def check_output_file(path: str | Path | None) -> None:
    """``FileNotFoundError`` if the folder of the file is not there, ``IsADirectoryError`` if the path is a folder."""
    if path is None:
        return
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder; the output goes to a file")
    if not Path(path).parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {Path(path).parent}")
