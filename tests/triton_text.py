"""The text that Triton compiles kernels to, for GPUs that are not here; and the races that can be seen in it.

``python tests/triton_text.py triton_stack '{"POP": 1, ...}' all`` prints, for every architecture, shape and direction
(or for ``few`` of them), how many barriers there are, and the places that are written after they were read without a
barrier in between. Not with TRITON_INTERPRET.
"""

import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

ARCHITECTURES = (80, 90, 100)
"""An A100, an H100 and a B200."""
SHAPES = [(1, 8), (2, 8), (4, 8), (8, 8), (16, 8), (1, 64), (2, 128), (8, 64)]
"""Children and columns, each up to a power of two: those of the exactness table, and some of several warps."""
PLACES = ("runs", "children", "pointer", "edges", "parents")
FEW = [(2, 128), (8, 64), (16, 8)]
NUMBERS = ("start", "first", "base", "n", "width", "arity", "depth", "whole", "kept")


def compiled(function: Any, architecture: int, constants: dict[str, int], kind: str = "fp32") -> Any:
    """A function of a kernel, compiled with these constants and as many warps as a launch would give it."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    types = dict.fromkeys(function.arg_names, f"*{kind}")
    types |= {name: "*i64" for name in PLACES if name in types} | {name: "i32" for name in NUMBERS if name in types}
    given = {name: value for name, value in constants.items() if name in types}
    source = ASTSource(function, types | dict.fromkeys(given, "constexpr"), given)
    warps = min(8, max(1, constants["A"] * constants["B"] // 128))
    return triton.compile(source, target=GPUTarget("cuda", architecture, 32), options={"num_warps": warps})


def races(text: str, parameter: int) -> list[str]:
    """Lines of PTX that write to the memory of a parameter after it was read, without a barrier in between.

    Which memory an address is in is found by following registers back to the parameter that they are computed from;
    what is loaded is a number, and not followed. Lines are taken in their order: a loop comes back to other places.
    """
    lines = text.splitlines()
    of = _origins(lines, parameter)
    found, was_read = [], False
    for line in lines:
        if re.search(r"\bbar(rier)?(\.cta)?\.(warp\.)?sync", line):
            was_read = False
        access = re.search(r"\b(ld|st)\.global\S*", line)
        address = re.search(r"\[\s*(%rd\d+)", line)
        if access is None or address is None or address[1] not in of:
            continue
        if access[1] == "ld":
            was_read = True
        elif was_read:
            found.append(line.strip())
    return found


def _origins(lines: list[str], parameter: int) -> set[str]:
    """The registers of 64 bits that hold addresses in the memory of a parameter."""
    found: set[str] = set()
    before = -1
    while len(found) > before:  # a loop gives registers that were computed further down
        before = len(found)
        for line in lines:
            written = re.match(r"\s*(?:@!?%p\d+\s+)?[a-z][\w.]*\s+(%rd\d+),(.*);", line)
            if written is None or ".global" in line or ".shared" in line:
                continue
            if f"_param_{parameter}]" in written[2] or set(re.findall(r"%rd\d+", written[2])) & found:
                found.add(written[1])
    return found


def texts(module: str, options: dict[str, int], every: bool) -> Iterator[tuple[str, str, int]]:
    """What was compiled, its text, and the number of the parameter that is read and written in place."""
    own = import_module(f"dgltree.engine.kernels.{module}")
    for architecture in ARCHITECTURES if every else ARCHITECTURES[1:2]:
        for children, columns in SHAPES if every else FEW:
            for function in (own.forward, own.backward):
                constants = {**options, "A": children, "B": columns, "DROPPED": 1, "GIVEN": 1}
                kernel = compiled(function, architecture, constants)
                assert kernel.asm["cubin"]
                what = f"{function.fn.__name__} sm_{architecture} A={children} B={columns}"
                yield what, kernel.asm["ptx"], function.arg_names.index("pre")


if __name__ == "__main__":
    for what, text, parameter in texts(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3] == "all"):
        print(what, len(re.findall(r"\bbar\S*sync", text)), *races(text, parameter), sep="\t", flush=True)
