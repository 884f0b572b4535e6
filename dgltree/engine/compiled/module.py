"""Printed programs as machine code: compiled by LLVM in this process, and kept on disk for later ones."""

import ctypes
import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import llvmlite
from llvmlite import binding

MOST_BYTES = 200 * 2**20
"""Bytes of all files on disk; the ones that were used longest ago make room."""
LEVEL = 3
"""Level of LLVM's optimisation. 1 and 2 save little of half a second, and lose up to an eighth of the speed."""
_lock = Lock()
"""LLVM compiles in one thread at a time."""
_in_use: "WeakValueDictionary[str, CompiledModule]" = WeakValueDictionary()
"""Modules by the digests of their texts."""


class CompiledModule:
    """Functions of a module, by their names.

    Args:
        text: LLVM IR.
        arguments: how many each function has that is called, by their names: addresses and numbers.
    """

    def __init__(self, text: str, arguments: Mapping[str, int]) -> None:
        with _lock:
            machine = _machine()
            self._engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
            path = folder() / f"{_digest(text)}.o"
            code = _read(path)
            if code is None:
                code = _compiled(text, machine)
                _write(path, code)
            self._engine.add_object_file(binding.ObjectFileRef.from_data(code))
            self._engine.finalize_object()
            self.functions: dict[str, Callable[..., None]] = {}
            """Functions by their names; they run without Python's lock."""
            for name, count in arguments.items():
                kind = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * count)
                self.functions[name] = kind(self._engine.get_function_address(name))

    @classmethod
    def of(cls, text: str, arguments: Mapping[str, int]) -> "CompiledModule":
        """The one of a text that is in use already, or a new one: programs of other widths have the same text."""
        digest = _digest(text)
        found = _in_use.get(digest)
        if found is None:
            found = _in_use[digest] = cls(text, arguments)
        return found


def folder() -> Path:
    """Where compiled code lies: ``DGLTREE_CACHE``, or a folder of the user's cache. It may be removed at any time."""
    given = os.environ.get("DGLTREE_CACHE")
    home = Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    return home / "dgltree" / "compiled"


def is_known(text: str) -> bool:
    """Whether a text was compiled before, here or in another process."""
    return (folder() / f"{_digest(text)}.o").exists()


def _digest(text: str) -> str:
    """The digest of all that machine code depends on. Its last characters are one of the file, see :func:`_write`."""
    machine = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten(), LEVEL
    return hashlib.sha256(repr((text, machine, llvmlite.__version__, binding.llvm_version_info)).encode()).hexdigest()


@cache
def _target() -> Any:
    with suppress(RuntimeError):  # newer versions do it by themselves, and say so
        binding.initialize()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_default_triple()


def _machine() -> Any:
    return _target().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=LEVEL, jit=True
    )


def _compiled(text: str, machine: Any) -> bytes:
    module = binding.parse_assembly(text)
    module.verify()
    options = binding.create_pipeline_tuning_options(speed_level=LEVEL)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = True
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


def _read(path: Path) -> bytes | None:
    """What was written whole: a file begins with the digest of the rest."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    code = content[32:]
    if hashlib.sha256(code).digest() != content[:32]:
        return None
    with suppress(OSError):
        os.utime(path)  # the time of its last use
    return code


def _write(path: Path, code: bytes) -> None:
    """Writes another file and renames it, as two processes may write the same one. A read-only home has none."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(code).digest() + code)
        Path(name).replace(path)
        _make_room(path.parent)


def _make_room(where: Path) -> None:
    files = sorted(where.glob("*.o"), key=lambda path: path.stat().st_mtime)
    size = sum(path.stat().st_size for path in files)
    for path in files[:-1]:
        if size <= MOST_BYTES:
            return
        size -= path.stat().st_size
        path.unlink(missing_ok=True)
