"""From a recording to a program: each operation of torch becomes one on tensors of values."""

from typing import Any

from dgltree.engine.compiled.follows import Follows
from dgltree.engine.compiled.programs import NodeProgram
from dgltree.engine.compiled.recording import Recording, Ref
from dgltree.engine.compiled.rules import RULES
from dgltree.engine.compiled.tensors import NotAProgramError
from dgltree.engine.compiled.translator import ValueTranslator


def translate(recording: Recording, followed: dict[int, Follows], by_child: bool) -> NodeProgram:
    """The program of a recording.

    Args:
        recording: of functions.
        followed: the places of its numbers that are others in other recordings, and how they follow.
        by_child: whether each message has values of its own.

    Raises :class:`NotAProgramError`, with the user's line.
    """
    translator = ValueTranslator(recording, followed, by_child, RULES)
    needed = _needed(recording)
    for number, operation in enumerate(recording.operations):
        try:
            translator.run(operation, number in needed)
        except NotAProgramError as error:
            raise NotAProgramError(f"{error}: {operation.line}") from None
    return translator.program()


def _needed(recording: Recording) -> set[int]:
    """The operations that something written depends on."""
    found: set[int] = set()
    rest: list[Any] = list(recording.outputs.values())
    while rest:
        argument = rest.pop()
        if isinstance(argument, dict):
            rest += argument.values()
        elif isinstance(argument, Ref):
            if argument.origin == "result" and argument.number not in found:
                found.add(argument.number)
                operation = recording.operations[argument.number]
                if not operation.name.endswith("_like") and not operation.name.startswith("new_"):  # of a shape alone
                    rest += [operation.arguments, operation.options]
        elif isinstance(argument, tuple | list):
            rest += argument
    return found
