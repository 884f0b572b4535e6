"""Failures that are the machine's: too little memory, no GPU. In one line, with what would help."""

import re

NO_MEMORY = re.compile(
    "out of memory|can't allocate memory|cannot allocate memory|not enough memory|bad_alloc|size calculation overflow"
    "|killed by signal: Killed",  # of a process that reads ahead
    re.IGNORECASE,
)
NO_GPU = re.compile("no NVIDIA driver|No CUDA GPUs|not compiled with CUDA|no supported gpu|sees no CUDA", re.IGNORECASE)
ASKED = re.compile(r"tried to allocate ([\d.]+) ?([kMGTP]i?B|bytes)", re.IGNORECASE)
HELP = {
    "fit": "smaller batches (--batch-nodes), a smaller model (--hidden-size) or shorter records (--max-line) need less",
    "complete": "fewer fillers (--fillers FILE) or a smaller equation need less",
    "verify": "a smaller equation needs less",
}
"""What makes a command need less memory; the others read files."""


def said_of(error: BaseException, command: str) -> str | None:
    """The one line, or None for another failure."""
    text = " ".join(str(error).split())
    if NO_GPU.search(text):
        return f"{text.split('. ')[0]}; without --device cuda it is computed on the CPU"
    if not isinstance(error, MemoryError) and (isinstance(error, ValueError) or not NO_MEMORY.search(text)):
        return None
    if type(error) is MemoryError and text:  # our own: it says by itself what helps
        return text
    asked = ASKED.search(text)
    more = f" ({_size(*asked.groups())} more were asked for)" if asked else ""
    return f"out of memory{more}: {HELP.get(command, 'leaving out long records (--max-line) needs less')}"


def _size(number: str, unit: str) -> str:
    return f"{float(number) / 1e6:,.0f} MB" if unit == "bytes" else f"{number} {unit}"
