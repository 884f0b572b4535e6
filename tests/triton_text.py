"""The text that Triton compiles kernels to, for GPUs that are not here; and the races that can be seen in it.

``python tests/triton_text.py triton_stack '{"POP": 1, ...}' all`` prints, for every architecture, shape and direction
(or for ``few`` of them), how many barriers there are, how many registers a thread has, how many bytes of them are kept
in memory because there are not enough, and the places that are written after they were read without a barrier in
between. ``triton_products`` takes {"PRECISION": "ieee"}; ``fp64`` after ``all`` or ``few`` compiles for that. Not with
TRITON_INTERPRET.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from typing import Any

ARCHITECTURES = (80, 90, 100)
"""An A100, an H100 and a B200."""
SHAPES = [(1, 8), (2, 8), (4, 8), (8, 8), (16, 8), (1, 64), (2, 128), (8, 64)]
"""Children and columns, each up to a power of two: those of the exactness table, and some of several warps."""
FEW = [(2, 128), (8, 64), (16, 8)]
OF_A_STEP = ["first", "start", "base", "keep", "read", "chunk", "slots", "matrix", "earlier"]
OF_A_STEP += ["count_earlier", "opened", "later", "count_later", "opens"]
NUMBERS = dict.fromkeys([*OF_A_STEP, "n", "width", "arity", "depth", "size", "count"], "i32")
BYTES = ("present", "attends")
PRODUCTS = {"products": "pre", "sends": "sent", "sums": "partial", "add_up": "d_weight"}
"""The kernels around those of rows, and what they write."""
LAYERS = {"forward": ("gates", "states", "cells"), "backward": ("d_states", "d_cells", "d_gates")}
"""The kernels of an ON-LSTM's layer, and what they write."""
CHUNKS = [(4, 4), (128, 16), (1024, 1), (2, 512)]
"""Chunks and units of a chunk, each up to a power of two."""
MEMORIES = {
    "triton_attention": {"attend": ("M", "pi", "p"), "attend_back": ("d_M", "d_M_hat", "d_pi", "d_key")},
    "triton_slots": {
        "write": ("M_hat", "hidden", "active", "gates", "below", "normal"),
        "write_back": ("d_M_hat", "d_x", "d_M", "d_pi", "d_hidden", "d_gates", "d_h", "d_below"),
    },
}
"""The kernels of Ordered Memory, and what they write and read; of their tiles the sizes are below."""
TILES = {"triton_attention": [(4, 4), (16, 64), (32, 32)], "triton_slots": [(16, 16), (16, 64)]}
SIDES = (16, 64)
"""Columns of a program of a product."""


def compiled(
    function: Any, architecture: int, constants: dict[str, Any], warps: int, kind: str = "fp32", **more: int
) -> Any:
    """A function of a kernel, compiled with these constants."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from dgltree.engine.kernels.triton_parts import TABLES

    own = [parameter.name for parameter in function.params if parameter.is_constexpr]
    types = {name: NUMBERS.get(name, f"*{kind}") for name in function.arg_names}
    types |= {name: "*i64" for name in TABLES if name in types} | {name: "*u8" for name in BYTES if name in types}
    types |= dict.fromkeys(own, "constexpr")
    source = ASTSource(function, types, {name: constants[name] for name in own})
    options = {"num_warps": warps, "enable_fp_fusion": True, **more}
    return triton.compile(source, target=GPUTarget("cuda", architecture, 32), options=options)


def resources(kernel: Any, architecture: int) -> tuple[int, int]:
    """The registers of a thread, and how many bytes of them have to be kept in memory, by the assembler."""
    from triton.knobs import nvidia

    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(kernel.asm["ptx"])
        file.flush()
        target = f"sm_{architecture}{'a' if architecture >= 90 else ''}"
        tool = nvidia.ptxas_blackwell if architecture >= 100 else nvidia.ptxas
        command = [tool.path, "-v", f"-arch={target}", file.name, "-o", "/dev/null"]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    spilled = re.search(r"(\d+) bytes spill stores", told)
    used = re.search(r"Used (\d+) registers", told)
    assert spilled is not None
    assert used is not None
    return int(used[1]), int(spilled[1])


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


def texts(module: str, options: dict[str, Any], every: bool, kind: str) -> Iterator[tuple[str, int, Any, list[int]]]:
    """What was compiled, for which architecture, the code, and the numbers of the parameters that are written."""
    own = import_module(f"dgltree.engine.kernels.{module}")
    for architecture in ARCHITECTURES if every else ARCHITECTURES[1:2]:
        if module == "triton_products":
            for side in SIDES:
                constants = {**options, "T": 16, "K": 16, "B": side}
                for name, written in PRODUCTS.items():
                    function = getattr(own, name)
                    code = compiled(function, architecture, constants, 4, kind)
                    yield f"{name} sm_{architecture} B={side}", architecture, code, [function.arg_names.index(written)]
            continue
        if module == "triton_on_lstm":
            for K, C in CHUNKS if every else CHUNKS[1:2]:
                for name, written in LAYERS.items():
                    function = getattr(own, name)
                    code = compiled(function, architecture, {"K": K, "C": C}, own.warps(K * C), kind)
                    what = f"{name} sm_{architecture} {K} x {C}"
                    yield what, architecture, code, [function.arg_names.index(each) for each in written]
            continue
        if module in MEMORIES:
            for rows, columns in TILES[module] if every else TILES[module][1:2]:
                sizes = {"S": rows, "T": rows, "B": columns, "K": 16, "EPS": 1e-5, "SCALE": 0.125}
                warps = own.WARPS if module == "triton_slots" else min(8, max(1, rows * columns // 128))
                for name, written in MEMORIES[module].items():
                    function = getattr(own, name)
                    code = compiled(function, architecture, {**options, **sizes}, warps, kind, num_stages=1)
                    what = f"{name} sm_{architecture} {rows} x {columns}"
                    yield what, architecture, code, [function.arg_names.index(each) for each in written]
            continue
        for children, columns in SHAPES if every else FEW:
            warps = min(8, max(1, children * columns // 128))  # as a launch gives it
            for function in (own.forward, own.backward):
                constants = {**options, "A": children, "B": columns, "DROPPED": 1, "GIVEN": 1}
                code = compiled(function, architecture, constants, warps, kind)
                what = f"{function.fn.__name__} sm_{architecture} A={children} B={columns}"
                yield what, architecture, code, [function.arg_names.index("pre")]


if __name__ == "__main__":
    for what, architecture, code, parameters in texts(
        sys.argv[1], json.loads(sys.argv[2]), sys.argv[3] == "all", (sys.argv[4:] or ["fp32"])[0]
    ):
        text = code.asm["ptx"]
        assert code.asm["cubin"]
        barriers = len(re.findall(r"\bbar\S*sync", text))
        found = [line for parameter in parameters for line in races(text, parameter)]
        print(what, barriers, *resources(code, architecture), *found, sep="\t", flush=True)
