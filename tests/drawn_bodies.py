"""Statements of the ``message`` and ``combine`` of a drawn cell, and the values that they make: see ``drawn_cells``."""

import math
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol


class Members(Protocol):
    """What the methods of a class have in common while they are drawn."""

    rng: random.Random
    n: int

    def module(self, kind: str, text: str) -> str:
        """The name of an attribute that is made by this text, an old one or a new one."""

    def product(self, fan_in: str, fan_out: str) -> str:
        """The name of a product of these widths, an old one or a new one."""


@dataclass(frozen=True)
class Value:
    """What a text calls by a name: (..., width), or (..., rows, width)."""

    name: str
    width: int
    bound: float = 3.0
    is_sharp: bool = True
    rows: int = 0


ACTIVATIONS: list[tuple[str, bool, Callable[[float], float]]] = [
    ("torch.sigmoid({})", False, lambda bound: 1.0),
    ("torch.tanh({})", False, lambda bound: 1.0),
    ("torch.relu({})", True, lambda bound: bound),
    ("nn.functional.gelu({})", False, lambda bound: bound),
    ('nn.functional.gelu({}, approximate="tanh")', False, lambda bound: bound),
    ("nn.functional.softplus({})", False, lambda bound: bound + 1),
    ("torch.exp(0.4 * {})", False, lambda bound: math.exp(0.4 * bound)),
    ("{}.clamp(-0.713, 0.919)", True, lambda bound: 1.0),
    ("{0}.masked_fill({0} < -0.437, 0.25)", True, lambda bound: bound),
]


class Body:
    """Statements of ``message`` or ``combine``, and the values so far."""

    def __init__(self, drawing: Members, values: list[Value]) -> None:
        self.drawing = drawing
        self.rng = drawing.rng
        self.n = drawing.n
        self.values = values
        self.used: set[str] = set()
        self.lines: list[str] = []
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def wide(self, width: int) -> str:
        """A width as an author writes it."""
        return {self.n: "n", 2 * self.n: "2 * n"}.get(width, str(width))

    def pick(self, fits: Callable[[Value], bool] = lambda value: True, rows: int = 0) -> Value:
        """``IndexError`` if there is none."""
        found = [value for value in self.values if value.rows == rows and fits(value)]
        unused = [value for value in found if value.name not in self.used]
        value = self.rng.choice(unused if unused and self.rng.random() < 0.6 else found)
        self.used.add(value.name)
        return value

    def pick_whole(self) -> Value:
        return self.pick(lambda value: value.width == self.n)

    def calm(self, value: Value) -> str:
        return value.name if value.bound < 4 else f"self.squash({value.name})"

    def add(self, text: str, width: int, bound: float, is_sharp: bool, rows: int = 0) -> None:
        name = self.name()
        self.lines.append(f"{name} = {text}")
        self.values.append(Value(name, width, bound, is_sharp, rows))

    def draw(self, statements: int, ways: list[Callable[[], None]]) -> None:
        for _ in range(statements):
            with suppress(IndexError):
                self.rng.choice(ways)()

    def of_columns(self) -> list[Callable[[], None]]:
        ways = [self.activation, self.activation, self.binary, self.binary, self.mixed, self.norm, self.vector]
        return [*ways, self.over_columns, self.cat, self.parts, self.regrouped, self.where, self.quiet, self.actions]

    def activation(self) -> None:
        text, has_kink, bound = self.rng.choice(ACTIVATIONS)
        value = self.pick(lambda value: value.is_sharp or not has_kink)
        self.add(text.format(self.calm(value)), value.width, bound(min(value.bound, 4)), value.is_sharp)

    def binary(self) -> None:
        a = self.pick()
        b = self.pick(lambda value: value.width in (1, a.width) and value != a)
        sign = self.rng.choice("+-**")
        bound = min(a.bound, 4) * min(b.bound, 4) if sign == "*" else a.bound + b.bound
        calm = (self.calm(a), self.calm(b)) if sign == "*" else (a.name, b.name)
        self.add(f"{calm[0]} {sign} {calm[1]}", a.width, bound, a.is_sharp and b.is_sharp and sign != "-")

    def mixed(self) -> None:
        a, b, gate = self.pick_whole(), self.pick_whole(), self.pick(lambda value: value.width in (1, self.n))
        name = self.name()
        self.lines.append(f"{name} = torch.sigmoid({gate.name})")
        self.values.append(Value(name, gate.width, 1.0, gate.is_sharp))
        self.add(f"{name} * {a.name} + (1 - {name}) * {b.name}", self.n, max(a.bound, b.bound), False)

    def norm(self) -> None:
        value = self.pick(lambda value: value.width > 1)
        width = self.wide(value.width)
        text = f"nn.functional.layer_norm({value.name}, ({width},), eps=0.1)"
        if self.rng.random() < 0.6:
            text = f"self.{self.drawing.module('norm', f'nn.LayerNorm({width}, eps=0.1)')}({value.name})"
        self.add(text, value.width, 3.0, False)

    def vector(self) -> None:
        value = self.pick()
        vector = self.drawing.module("vector", f"nn.Parameter(torch.ones({self.wide(value.width)}))")
        sign = self.rng.choice("+*")
        self.add(f"{value.name} {sign} self.{vector}", value.width, value.bound + 1, value.is_sharp)

    def over_columns(self) -> None:
        kind = self.rng.choice(["mean", "sum", "amax", "softmax", "max"])
        value = self.pick(lambda value: value.width > 1 and (value.is_sharp or "max" not in kind or kind == "softmax"))
        if kind == "softmax":
            self.add(f"{value.name}.softmax(-1)", value.width, 1.0, False)
        elif kind == "max":
            self.add(f"{value.name}.max(-1, keepdim=True).values", 1, value.bound, value.is_sharp)
        else:
            bound = value.bound * (value.width if kind == "sum" else 1)
            self.add(f"{value.name}.{kind}(-1, keepdim=True)", 1, bound, value.is_sharp)

    def cat(self) -> None:
        a, b = self.pick(), self.pick()
        self.add(
            f"torch.cat([{a.name}, {b.name}], -1)", a.width + b.width, max(a.bound, b.bound), a.is_sharp and b.is_sharp
        )

    def parts(self) -> None:
        """Some of the columns."""
        kind = self.rng.choice(["chunk", "split", "slice"])
        value = self.pick(lambda value: value.width > 1 and (kind != "chunk" or value.width % 2 == 0))
        half = value.width // 2
        if kind == "slice":
            text = self.rng.choice([f"[..., :{half}]", f"[..., -{half}:]", f"[..., :{2 * half}:2]"])
            self.add(value.name + text, half, value.bound, value.is_sharp)
            return
        names = self.name(), self.name()
        how = "chunk(2, -1)" if kind == "chunk" else f"split([{half}, {value.width - half}], -1)"
        self.lines.append(f"{', '.join(names)} = {value.name}.{how}")
        for name, width in zip(names, (half, value.width - half), strict=True):
            self.values.append(Value(name, width, value.bound, value.is_sharp))

    def regrouped(self) -> None:
        """Columns in another order, or those of several values side by side."""
        value = self.pick(lambda value: value.width % 2 == 0)
        half = value.width // 2
        pairs = f"{value.name}.unflatten(-1, (2, {half}))"
        ways = [
            (f"{pairs}.transpose(-1, -2).flatten(-2)", 2 * half, 1, value.is_sharp),
            (f"{pairs}.softmax(-2).flatten(-2)", 2 * half, 1, False),
            (f"{pairs}.sum(-2)", half, 2, value.is_sharp),
            (f"torch.stack([{value.name}, torch.tanh({value.name})], -1).flatten(-2)", 4 * half, 1, False),
        ]
        text, width, factor, is_sharp = self.rng.choice(ways)
        self.add(text, width, factor * value.bound, is_sharp)

    def where(self) -> None:
        asked = self.pick(lambda value: value.is_sharp and value.width > 1)
        a, b = (self.pick(lambda value: value.width in (1, asked.width)) for _ in range(2))
        text = f"torch.where({asked.name} > 0.137, {a.name}, {self.rng.choice([b.name, '0.5'])})"
        self.add(text, asked.width, max(a.bound, b.bound), False)

    def quiet(self) -> None:
        value = self.pick()
        if self.rng.random() < 0.5:
            self.add(f"self.drop({value.name})", value.width, 1.5 * value.bound, value.is_sharp)
        else:
            self.add(f"{value.name}.detach()", value.width, value.bound, False)

    def actions(self) -> None:
        """A softmax over several values, as of the actions of a stack."""
        a = self.pick()
        b = self.pick(lambda value: value.width == a.width and value != a)
        names = self.name(), self.name()
        axis = self.rng.choice([-1, -2])
        stacked = f"torch.stack([{self.calm(a)}, {self.calm(b)}], {axis})"
        self.lines.append(f"{names[0]}, {names[1]} = {stacked}.softmax({axis}).unbind({axis})")
        self.values += [Value(name, a.width, 1.0, False) for name in names]

    def whole(self, value: Value) -> str:
        """The text of n columns, or one, of a value."""
        if value.rows:
            return f"{value.name}.mean(-2)"
        if value.width in (1, self.n):
            return value.name
        return f"{value.name}[..., :n]" if value.width > self.n else f"{value.name}.sum(-1, keepdim=True)"

    def gathered(self) -> str:
        """A bounded value (..., n) of all that nothing has read."""
        unused = [value for value in self.values if value.name not in self.used]
        total = " + ".join([self.pick_whole().name, *(self.whole(value) for value in unused)])
        self.used |= {value.name for value in unused}
        ends = ["torch.tanh({} / 2)", "torch.sigmoid({})", "self.squash({})"]
        return self.rng.choice(ends).format(f"({total})").replace("(())", "()")
