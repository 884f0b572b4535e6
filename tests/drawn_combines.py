"""Statements of the ``combine`` of a drawn cell, of its children, stacks and products: see ``drawn_cells``."""

import re
from collections.abc import Callable

from drawn_bodies import Body, Members, Value


class CombineBody(Body):
    """Statements that also read children, and the maps that ``products`` names.

    Args:
        parts: the parts of a child's state that are (..., n).
        gates: the names of gates of arity * n columns.
        stack_size: the rows of S, 0 without one.
        guards: whether there may be no children.
    """

    def __init__(
        self, drawing: Members, values: list[Value], parts: list[str], gates: list[str], stack_size: int, guards: bool
    ) -> None:
        super().__init__(drawing, values)
        self.parts_of_children = parts
        self.gates_of_children = gates
        self.stack_size = stack_size
        self.guards = guards

    def ways(self) -> list[Callable[[], None]]:
        of_children = [self.gated, self.gated, self.folded, self.stacked, self.attended, self.mapped, self.joined]
        ways = [*self.of_columns(), *of_children, self.branch, self.one_child, *[self.mapped_value] * 4]
        return [*ways, self.read_stack] if self.stack_size else ways

    def of_children(self, lines: list[str], bound: float, is_sharp: bool = True, needs_one: bool = True) -> None:
        """Lines that make a value (..., n) called "it"; 0 where there are no children but one is needed."""
        name = self.name()
        lines = [re.sub(r"\bit\b", name, line) for line in lines]
        if needs_one and self.guards:
            zero = f'{name} = torch.zeros_like(pre["a"])'
            lines = [zero, 'if children["h"]:', *(f"    {line}" for line in lines)]
        self.lines += lines
        self.values.append(Value(name, self.n, bound, is_sharp))

    def raw_gates(self) -> str:
        """The text of arity * n columns."""
        if self.gates_of_children and self.rng.random() < 0.6:
            return f'pre["{self.rng.choice(self.gates_of_children)}"]'
        value = self.pick()
        return f'linear("{self.drawing.product(self.wide(value.width), "arity * n")}", {self.calm(value)})'

    def child_gates(self) -> str:
        """The text of one gate per child; any number of children may be 0."""
        text = self.rng.choice(["torch.sigmoid({})", "torch.tanh({})", "{}"]).format(self.raw_gates())
        if self.guards or self.rng.random() < 0.6:
            return f"{text}.split(n, -1)"
        return f'{text}.unflatten(-1, (len(children["h"]), n)).unbind(-2)'

    def gated(self) -> None:
        part = self.rng.choice(self.parts_of_children)
        each = f'for g_k, c_k in zip({self.child_gates()}, children["{part}"]):'
        inner = [self.rng.choice(["it = it + g_k * c_k", "it = it + torch.tanh(g_k + c_k)"])]
        if self.rng.random() < 0.25:
            inner = ["reset = g_k * c_k", f'it = it + linear("{self.drawing.product("n", "n")}", reset)']
        lines = ['it = torch.zeros_like(pre["a"])', each, *(f"    {line}" for line in inner)]
        self.of_children(lines, 4.5, needs_one=False)

    def folded(self) -> None:
        vector = self.drawing.module("vector", "nn.Parameter(torch.ones(n))")
        steps = [
            f"torch.tanh(it + self.{vector} * h_k)",
            "torch.maximum(it, h_k)",
            'it + h_k / len(children["h"])',
            "0.5 * it + torch.relu(h_k)",
            "it + h_k / (k + 1)",
        ]
        step = self.rng.choice(steps)
        part = self.rng.choice(self.parts_of_children)
        each = f'for h_k in children["{part}"]:'
        if "(k + 1)" in step:
            each = f'for k, h_k in enumerate(children["{part}"]):'
        lines = ['it = torch.zeros_like(pre["a"])', each, f"    it = {step}"]
        self.of_children(lines, 4.5, is_sharp="/ len" not in step, needs_one=False)

    def stacked(self) -> None:
        how = self.rng.choice(["mean(-2)", "sum(-2)", "amax(-2)", "max(-2).values"])
        part = self.rng.choice(self.parts_of_children)
        self.of_children([f'it = torch.stack(children["{part}"], -2).{how}'], 4.5, is_sharp="max" in how)

    def attended(self) -> None:
        """A mean of children by a softmax over them."""
        rows = f'torch.stack(children["{self.rng.choice(self.parts_of_children)}"], -2)'
        weights = f'{self.raw_gates()}.unflatten(-1, (len(children["h"]), n))'
        if self.rng.random() < 0.5:
            name = self.drawing.product("n", self.rng.choice(["1", "n"]))
            weights = f'torch.stack([linear("{name}", h_k) for h_k in children["h"]], -2)'
        self.of_children([f"it = ({weights}.softmax(-2) * {rows}).sum(-2)"], 3.0, is_sharp=False)

    def mapped(self) -> None:
        name = self.drawing.product("n", "n")
        step = self.rng.choice(['torch.tanh(linear("{}", h_k))', 'linear("{}", torch.relu(h_k))']).format(name)
        lines = ['it = torch.zeros_like(pre["a"])', 'for h_k in children["h"]:', f"    it = it + {step}"]
        self.of_children(lines, 4.5, needs_one=False)

    def joined(self) -> None:
        name = self.drawing.product("arity * n", "n")
        rows = self.rng.choice(['torch.cat(tuple(children["h"]), -1)', 'concatenate(children["h"])'])
        self.of_children([f'it = linear("{name}", {rows})'], 3.0)

    def branch(self) -> None:
        other = self.pick_whole()
        ways = [
            ("== 2", 'children["h"][0] * children["h"][1]'),
            ("> 1", 'torch.tanh(children["h"][0] - children["h"][-1])'),
            ("== 1", 'torch.sigmoid(children["h"][0])'),
        ]
        asked, text = self.rng.choice(ways)
        lines = [f'if len(children["h"]) {asked}:', f"    it = {text}", "else:", f"    it = {other.name}"]
        self.of_children(lines, max(4.0, other.bound), is_sharp=False, needs_one=False)

    def one_child(self) -> None:
        place = self.rng.choice([0, -1])
        part = self.rng.choice(self.parts_of_children)
        self.of_children([f'it = children["{part}"][{place}] * 1.0'], 3.0)

    def mapped_value(self) -> None:
        """A further product, also of a product."""
        value = self.pick()
        width = self.rng.choice([self.n, self.n, 2 * self.n, 1, 3])
        name = self.drawing.product(self.wide(value.width), self.wide(width))
        self.add(f'linear("{name}", {self.calm(value)})', width, 0.7 * min(value.bound, 4) + 1, value.is_sharp)

    def read_stack(self) -> None:
        value = self.pick(rows=self.stack_size)
        ways = [
            (f"{value.name}[..., 0, :]", self.n),
            (f"{value.name}[..., :2, :].flatten(-2)", 2 * self.n),
            (f"{value.name}.amax(-2)", self.n),
            (f"{value.name}.transpose(-1, -2)[..., 1]", self.n),
            (f"{value.name}.unbind(-2)[1]", self.n),
            (f"{value.name}.sum(-1)", self.stack_size),
        ]
        text, width = self.rng.choice(ways)
        self.add(text, width, value.bound * (width if "sum" in text else 1), value.is_sharp)

    def combined_stacks(self) -> str:
        """The children's stacks as one, each times its gate."""
        name = self.name()
        self.lines.append(f'{name} = torch.stack([torch.zeros_like(pre["a"])] * {self.stack_size}, -2)')
        if self.rng.random() < 0.6:
            self.lines.append(f'for g_k, S_k in zip({self.child_gates()}, children["S"]):')
            self.lines.append(f'    {name} = {name} + torch.sigmoid(g_k).unsqueeze(-2) * S_k / len(children["S"])')
        else:
            self.lines.append('if children["S"]:')
            self.lines.append(f'    {name} = torch.stack(children["S"], -3).mean(-3)')
        return name

    def stack(self) -> str:
        """The name of a new stack: one that is pushed, popped or kept."""
        old = self.combined_stacks()
        top, pushed, popped = self.name(), self.name(), self.name()
        self.lines += [
            f"{top} = torch.tanh({self.pick_whole().name}).unsqueeze(-2)",
            f"{pushed} = torch.cat([{top}, {old}[..., :-1, :]], -2)",
            f"{popped} = torch.cat([{old}[..., 1:, :], torch.zeros_like({old}[..., :1, :])], -2)",
        ]
        if self.rng.random() < 0.3:
            self.lines.append(f"{popped} = torch.stack([{top}[..., 0, :], *{old}.unbind(-2)[1:]], -2)")
        gate = self.pick(lambda value: value.width in (1, self.n)).name
        actions = f"torch.stack([{gate}, torch.tanh({gate}), -{gate}], -1).softmax(-1)"
        push, pop, keep = self.name(), self.name(), self.name()
        self.lines.append(f"{push}, {pop}, {keep} = {actions}.unsqueeze(-3).unbind(-1)")
        total = f"{push} * {pushed} + {pop} * {popped}"
        self.add(self.rng.choice([total, f"{total} + {keep} * {old}"]), self.n, 1.0, True, self.stack_size)
        return self.values[-1].name
