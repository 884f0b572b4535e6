"""The ``dgltree`` command.

Exit codes: 0 all answered; 1 an equation, a file, a setting, or a record for predict or encode was bad, or memory or a
GPU was missing; 2 the command line was bad; 130 interrupted; 143 terminated. fit, evaluate and inspect report the
records that they leave out, and continue.

Imports are placed where Ctrl-C is handled: they take longer than a person may wait before pressing it.

Failures that are the machine's (too little memory, no GPU, a full disk) are one line, with what would help.
"""

import atexit
import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires
from typing import Any, NoReturn

STANDARD_OUTPUT = "standard output"
EXAMPLES = """\
examples:
  dgltree complete "sin(x)^2 + _ = 1"
  dgltree verify "sin(2x) = 2 sin x cos x" "-x = x"
  dgltree sample > trees.tsv
  dgltree inspect trees.tsv
  dgltree fit trees.tsv --encoder tree_lstm --out runs/trees
  dgltree predict runs/trees new.tsv > answers.tsv
  dgltree encode runs/trees new.tsv --out vectors.npy

dgltree COMMAND --help shows all options of a command.
"""
COMMANDS = {
    "complete": ("complete", "find expressions that fill the blank _"),
    "verify": ("verify", "decide where an equation holds"),
    "check": ("check", "mark answers to an equation with a blank"),
    "sample": ("sample", "print a table of labeled trees to try the commands on"),
    "inspect": ("inspect", "describe a file of trees"),
    "fit": ("fit", "train a model on your own trees"),
    "compare": ("compare", "compare several encoders on your own trees"),
    "probe": ("probe", "test what an encoder can learn, on generated sets of one rule each"),
    "embed": ("embed", "learn vectors of trees and subtrees without labels"),
    "predict": ("apply", "predict a label for each tree of a file"),
    "encode": ("apply", "write a vector for each tree of a file or each node"),
    "evaluate": ("apply", "compare a model's predictions with the labels of a file"),
    "explain": ("explain", "show which subtrees a model's prediction depends on"),
    "parse": ("parse", "find trees over plain sentences"),
    "explore": ("explore", "explore networks and trees in your browser"),
    "export": ("export", "write a model as an ONNX graph, which runs without Python"),
    "similar": ("similar", "find the trees of a file that are most similar to a given tree"),
}
"""The module of each command in :mod:`dgltree.commands`, and what it does.

A module has ``prepare(name, arguments)``, which refuses what the command line alone shows to be wrong, paths included,
and gives the options; ``NEEDS``, the modules that take seconds to import; and ``run(name, options)``, which gives the
exit code. It imports none of ``NEEDS`` by itself.
"""


def console() -> NoReturn:
    """Run the command as a process of its own, which ends with its exit code."""
    from dgltree.commands.signals import INTERRUPTED, TERMINATED, leave_at_once_from_now_on

    code = main()
    if code not in (INTERRUPTED, TERMINATED):  # after one signal the next ends it, whatever Python does
        leave_at_once_from_now_on()
    # As Python exits, but nothing is freed: meanwhile no signal had its line, and torch without memory crashed.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    _open_closed_streams()
    try:
        return _main(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:  # outside a command, which has Interrupted
        return _interrupted()


def _open_closed_streams() -> None:
    """Put the null device in place of a closed standard stream; else the next file that is opened would be it."""
    from pathlib import Path

    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - as long as the process


def _main(given: list[str]) -> int:
    import warnings

    from dgltree.commands.signals import TERMINATED, Interrupted, Terminated

    warnings.formatwarning = lambda message, *_, **__: f"dgltree: {message}\n"
    _log_to_stderr()
    name = ""
    try:
        with naming_standard_output():
            name = _command(given)
            return _run(name, given[1:])
    except BrokenPipeError:  # the reader, head perhaps, has seen enough
        _discard_the_rest()
        return 0
    except ModuleNotFoundError as error:
        print(f"dgltree {name}: {error}; install it with: pip install {packages_for(error.name)}", file=sys.stderr)
        return 1
    except (OSError, ValueError, MemoryError, RuntimeError, AssertionError, ImportError) as error:
        text = describe_failure(error, name) or (str(error) if isinstance(error, (OSError, ValueError)) else None)
        if text is None:  # a mistake of ours, which is to be seen
            raise
        if isinstance(error, OSError) and error.filename == STANDARD_OUTPUT:
            _discard_the_rest()
        print(f"dgltree: {text}", file=sys.stderr)
        return 1
    except Interrupted:
        return _interrupted()
    except Terminated:
        print("dgltree: terminated", file=sys.stderr)
        return TERMINATED


def _command(given: list[str]) -> str:
    import argparse

    from dgltree.commands.options import OptionParser
    from dgltree.support.arguments import near

    class _Version(argparse.Action):
        """Looks the version up if it is asked for: that takes a moment."""

        def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
            print(f"dgltree {import_module('dgltree').__version__}")
            parser.exit()

    parser = OptionParser(
        prog="dgltree",
        description="Recursive neural networks: complete equations, and train models on your own trees.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    for name, (_, what) in COMMANDS.items():
        commands.add_parser(name, help=what, add_help=False)
    if given and not given[0].startswith("-") and given[0] not in COMMANDS:
        parser.error(f"there is no command {given[0]!r:.40}{near(given[0], COMMANDS)}")
    return str(parser.parse_args(given[:1]).command)


def _run(name: str, arguments: list[str]) -> int:
    from dgltree.commands.signals import interruptible, leaving_at_once, unwinding

    with leaving_at_once():
        command = import_module(f"dgltree.commands.{COMMANDS[name][0]}")
        options = command.prepare(name, arguments)
        for module in command.NEEDS:
            import_module(module)
    with unwinding(), interruptible():
        code: int = command.run(name, options)
    return code


def _interrupted() -> int:
    from dgltree.commands.signals import INTERRUPTED

    print("dgltree: interrupted", file=sys.stderr)
    return INTERRUPTED


def _discard_the_rest() -> None:
    """Nothing more goes to standard output: Python would try again as it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _log_to_stderr() -> None:
    import logging

    class Stderr(logging.StreamHandler):
        """Writes to what stderr is at that time: whoever calls ``main`` may redirect it."""

        stream = property(lambda self: sys.stderr, lambda self, _: None)

    logger = logging.getLogger("dgltree")
    handler = Stderr()
    handler.setFormatter(logging.Formatter("dgltree: %(message)s"))
    logger.handlers = [handler]
    logger.propagate = False
    logger.setLevel(logging.INFO)


@contextmanager
def naming_standard_output() -> Iterator[None]:
    """A block in which a full disk under standard output says so."""
    stream = _StandardOutput(sys.stdout)
    with redirect_stdout(stream):
        try:
            yield
        finally:
            stream.flush()


class _StandardOutput:
    """A stream whose failures name it, as those of files do."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with _naming(STANDARD_OUTPUT):
            return int(self._stream.write(text))

    def flush(self) -> None:
        with _naming(STANDARD_OUTPUT):
            self._stream.flush()


@contextmanager
def _naming(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, name) from None  # a BrokenPipeError stays one


NO_MEMORY = re.compile(
    "out of memory|can't allocate memory|cannot allocate memory|not enough memory|bad_alloc|size calculation overflow"
    "|killed by signal: Killed|Caught MemoryError"  # of a process that reads ahead
    "|failed to map segment from shared object"  # of a library
    "|can't start new thread",  # whose stack takes memory
    re.IGNORECASE,
)
NO_GPU = re.compile(
    "no NVIDIA driver|No CUDA GPUs|not compiled with CUDA|no supported gpu|finds no CUDA", re.IGNORECASE
)
LOST_PROCESS = re.compile(r"gloo.*(?:connection|error|timed out)|connection closed by peer|NCCL.*remote process", re.I)
"""Words of torch if another process of a training has ended."""
ASKED = re.compile(r"tried to allocate ([\d.]+) ?([kMGTP]i?B|bytes)", re.IGNORECASE)
HELP = {
    "fit": "use smaller batches (--batch-nodes), a smaller model (--hidden-size) or shorter records (--max-line)",
    "complete": "try fewer fillers (--fillers FILE) or a smaller equation",
    "check": "try a smaller equation",
    "verify": "try a smaller equation",
}
"""Ways to make a command need less memory; the other commands read files."""


def describe_failure(error: BaseException, command: str) -> str | None:
    """The one line, or None for another failure."""
    text = " ".join(str(error).split())
    if isinstance(error, UnicodeEncodeError):
        letters = error.object[error.start : error.end]
        return f"{letters!a:.40} cannot be written in {error.encoding}; set PYTHONUTF8=1, or a locale with UTF-8"
    if NO_GPU.search(text):
        return f"{text.split('. ')[0]}; without --device cuda the CPU is used"
    if isinstance(error, RuntimeError) and LOST_PROCESS.search(text):
        return "another process of this training ended or was killed; the same command resumes from the last epoch"
    if not isinstance(error, MemoryError) and (isinstance(error, ValueError) or not NO_MEMORY.search(text)):
        return None
    if type(error) is MemoryError and text and not NO_MEMORY.search(text):  # our own: it says by itself what helps
        return text
    if isinstance(error, ImportError):
        return f"out of memory while loading libraries ({text}); allow the process more memory (ulimit -v)"
    asked = ASKED.search(text)
    more = f" ({_size(*asked.groups())} more were requested)" if asked else ""
    return f"out of memory{more}: {HELP.get(command, 'leave out long records (--max-line)')}"


def _size(number: str, unit: str) -> str:
    return f"{float(number) / 1e6:,.0f} MB" if unit == "bytes" else f"{number} {unit}"


DISTRIBUTIONS = {"sklearn": "scikit-learn", "yaml": "pyyaml"}
"""Modules that packages of other names bring."""
EXTRAS = ("train", "explore", "code", "export")
"""Whose packages are asked for one by one if they are missing."""


def packages_for(module: str | None) -> str:
    """Packages to install if a module is missing: all those of an extra in ``EXTRAS`` if it is one of them."""
    try:
        needed = requires("dgltree") or []
    except PackageNotFoundError:  # run from a checkout that was not installed
        needed = []
    name = DISTRIBUTIONS.get(str(module), str(module))
    for extra in EXTRAS:
        packages = [line.split(";")[0].strip() for line in needed if f"extra == '{extra}'" in line.replace('"', "'")]
        if any(re.match(rf"{re.escape(name)}\b", package) for package in packages):
            return " ".join(f"'{package}'" for package in packages)
    return name


if __name__ == "__main__":
    console()
