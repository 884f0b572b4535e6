"""Triton: launches that cost the processor little, because most of what they need stays the same in a pass.

``function[grid](...)`` looks at every argument in each launch, to find the code that was compiled for such arguments:
10 microseconds of Python. Here that is done once a pass, and a launch by code from ``HANDLES`` takes 2.
"""

from typing import Any

import torch
from torch import Tensor

HANDLES: dict[tuple[Any, ...], Any] = {}
"""Compiled code by all that Triton compiles for: see :func:`kind_of`."""

Grid = tuple[int, int, int]


class Launch:
    """A kernel with its arguments, except for numbers at the front that differ from launch to launch.

    Those numbers have to be ``VARYING``, so that nothing is compiled for them.

    Args:
        function: of Triton, with constants at the end.
        arguments: tensors and numbers.
        constants: by name.
        warps: how many.
        stages: of loops whose loads are begun before they are needed; 1 for a kernel that reads what it has written,
            None for Triton's default.
    """

    def __init__(
        self,
        function: Any,
        arguments: tuple[Tensor | int, ...],
        constants: dict[str, Any],
        warps: int,
        stages: int | None = None,
    ) -> None:
        constants = {name: constants[name] for name in function.arg_names if name in constants}
        self._function, self._arguments, self._constants, self._warps = function, arguments, constants, warps
        device = next(each.device for each in arguments if isinstance(each, Tensor))
        self._key = function, device, warps, *constants.items(), *map(kind_of, arguments)
        self._stages = {} if stages is None else {"num_stages": stages}
        self._handle = HANDLES.get(self._key)
        self._all = *arguments, *constants.values()

    def __call__(self, grid: Grid, *numbers: int) -> None:
        if self._handle is not None:
            self._handle[grid](*numbers, *self._all)
            return
        options = {"num_warps": self._warps, "enable_fp_fusion": True, **self._stages}  # whatever Triton's default
        compiled = self._function[grid](*numbers, *self._arguments, **self._constants, **options)
        if compiled is not None:  # as it is where kernels are interpreted
            HANDLES[self._key] = self._handle = compiled


def kind_of(argument: Tensor | int) -> tuple[Any, ...]:
    """What code is compiled for: a tensor's dtype, and whether it begins at a multiple of 16 bytes, as a view may not;
    whether a number is 1, a multiple of 16, or long.
    """
    if isinstance(argument, Tensor):
        return argument.dtype, argument.dtype == torch.int64 or argument.data_ptr() % 16 == 0  # ``TABLES`` are int64
    return argument == 1, argument % 16 == 0, argument < 2**31
