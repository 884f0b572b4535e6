"""Failures that are the machine's: too little memory, no GPU, a full disk. In one line, with what would help."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib.metadata import PackageNotFoundError, requires
from typing import Any

NO_MEMORY = re.compile(
    "out of memory|can't allocate memory|cannot allocate memory|not enough memory|bad_alloc|size calculation overflow"
    "|killed by signal: Killed|Caught MemoryError"  # of a process that reads ahead
    "|can't start new thread",  # whose stack takes memory
    re.IGNORECASE,
)
NO_GPU = re.compile("no NVIDIA driver|No CUDA GPUs|not compiled with CUDA|no supported gpu|sees no CUDA", re.IGNORECASE)
LOST_PROCESS = re.compile(r"gloo.*(?:connection|error|timed out)|connection closed by peer|NCCL.*remote process", re.I)
"""Words of torch if another process of a training has ended."""
ASKED = re.compile(r"tried to allocate ([\d.]+) ?([kMGTP]i?B|bytes)", re.IGNORECASE)
DISTRIBUTIONS = {"sklearn": "scikit-learn", "yaml": "pyyaml"}
"""Modules that packages of other names bring."""
EXTRAS = ("train", "explore", "code")
"""Whose packages are asked for one by one if they are missing."""
HELP = {
    "fit": "use smaller batches (--batch-nodes), a smaller model (--hidden-size) or shorter records (--max-line)",
    "complete": "try fewer fillers (--fillers FILE) or a smaller equation",
    "check": "try a smaller equation",
    "verify": "try a smaller equation",
}
"""Ways to make a command need less memory; the other commands read files."""
STANDARD_OUTPUT = "standard output"


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
    asked = ASKED.search(text)
    more = f" ({_size(*asked.groups())} more were requested)" if asked else ""
    return f"out of memory{more}: {HELP.get(command, 'leave out long records (--max-line)')}"


def _size(number: str, unit: str) -> str:
    return f"{float(number) / 1e6:,.0f} MB" if unit == "bytes" else f"{number} {unit}"


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


@contextmanager
def naming_standard_output() -> Iterator[None]:
    """A block in which a full disk under standard output says so."""
    stream = _StandardOutput(sys.stdout)
    with redirect_stdout(stream):
        try:
            yield
        finally:
            stream.flush()
