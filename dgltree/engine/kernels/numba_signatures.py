"""Numba compiles a function for the types of its arguments: what they are, and whether that is done."""

import logging
from functools import cache
from typing import Any

import numba
import torch

from dgltree.engine.kernels.kernel import Sent, States
from dgltree.engine.kernels.layout import COLUMNS

Arguments = tuple[Any, ...]
LOG = logging.getLogger(__name__)


class Nothing:
    """Tensors without entries, by whose types functions are compiled."""

    def __init__(self, dtype: torch.dtype) -> None:
        rows, memory = torch.empty(0, dtype=torch.int64), torch.empty(0, 0, 0, dtype=dtype)
        self.matrix = torch.empty(0, 0, dtype=dtype)
        self.table = torch.empty(0, COLUMNS, dtype=torch.int64)
        self.states = States(self.matrix, memory, 0, rows)
        self.sent = Sent(self.matrix, memory, rows, self.matrix, self.matrix, memory, rows, rows)


def is_compiled(function: Any, arguments: Arguments, compile_it: bool) -> bool:
    """Whether a function is there for arguments of these types."""
    signature = tuple(map(numba.typeof, arguments))
    if signature in function.overloads:
        return True
    if function._cache.load_overload(signature, function.targetctx) is None:
        if not compile_it:
            return False
        _say()
    function.compile(signature)  # or reads it
    return True


@cache
def _say() -> None:
    """Once a process: it may take longer than a first epoch."""
    LOG.info("compiling kernels for this machine, which takes up to a minute and is done once")
