"""The processor's work for a GPU, on a machine without one: the kernels' launches are counted and do nothing.

Triton finds the code for a launch as it would on an H100, but compiles nothing. Torch's operations run: on the device
"meta", where they compute shapes alone, they can be counted; on the CPU they cost the processor about what a GPU's do
without their launch, if there is little to compute.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import CompiledKernel
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from dgltree.engine.kernels.dispatch import BACKENDS, TRITON, Backend, kernels

LAUNCHES: Counter[str] = Counter()
"""Of kernels, by name, since it was emptied."""


class Driver:
    """Triton's, of an H100 that is not there."""

    def get_current_device(self) -> int:
        return -1  # the number of no other, for which code may have been compiled

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)


class Code:
    """What stands for compiled code: its launches are counted."""

    __getitem__, launch_metadata = CompiledKernel.__getitem__, CompiledKernel.launch_metadata
    function = packed_metadata = src = None

    def __init__(self, name: str, attributes: Any) -> None:
        self.name, self.attributes = name, attributes

    def _init_handles(self) -> None:
        pass

    def run(self, *arguments: Any) -> None:
        LAUNCHES[self.name] += 1


@contextmanager
def no_device() -> Iterator[Counter[str]]:
    """Within it cells on "meta" and on the CPU run through the kernels for GPUs, whose launches are counted by name."""

    def compile_nothing(
        self: Any, key: Any, signature: Any, device: Any, constants: Any, options: Any, attributes: Any, *_: Any
    ) -> Code:
        code = self.device_caches[device][0][key] = Code(self.fn.__name__, attributes)
        return code

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(driver, "_active", Driver()))
        stack.enter_context(mock.patch.object(JITFunction, "_do_compile", compile_nothing))
        stack.enter_context(mock.patch.object(Backend, "kernel", lambda self, family, *_: self.load(family)))
        stack.enter_context(mock.patch.dict(BACKENDS, cpu=TRITON, meta=TRITON))
        stack.enter_context(mock.patch("torch.optim.adam._device_dtype_check_for_fused"))
        stack.enter_context(kernels("on"))
        LAUNCHES.clear()
        yield LAUNCHES


if triton.knobs.runtime.interpret:
    raise RuntimeError("TRITON_INTERPRET is set: nothing would be launched")
