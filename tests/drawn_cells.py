"""Random cells as source text: classes derived from ``Cell``, or ``SumCell``, as their authors write them.

``draw_cell(seed)`` writes the text of a class, and draws its options, a vocabulary, trees and inputs x. ``run`` gives
states and gradients by ``dgltree.propagate``, ``alone`` those of each tree by itself, for
``drawn_cases.difference``. Two rules keep float64 comparable at 1e-10, as in ``drawn_functions``:

- states end in a bounded function, and whatever grows is squashed;
- a value is "sharp" unless it may be within a rounding of a tie (a difference, a softmax, what is normed or detached).
  Only a sharp one meets a kink: ``relu``, ``amax``, a comparison. Real ties are those of zeros, whose gradients vanish.
"""

import linecache
import random
import re
import zlib
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import torch
from drawn_bodies import Body, Value
from drawn_cases import Fields, Outcome
from drawn_combines import CombineBody
from helpers import ANY, FUNCTIONS, TOKENS, random_dag, random_tree, with_inner_tokens
from torch import Tensor

import dgltree
from dgltree import Tree, TreeBatch, Vocabulary
from dgltree.cells import Cell
from dgltree.engine.kernels.dispatch import kernels

HEAD = """import torch
from torch import nn

from dgltree.cells import Affine, Cell, SumCell, concatenate

"""


@dataclass(frozen=True, kw_only=True)
class DrawnCell:
    """The text of a class, and all that a pass of it needs."""

    seed: int
    text: str
    options: dict[str, Any]
    vocabulary: Vocabulary
    trees: list[Tree]
    has_x: bool
    training: bool
    share: bool
    features: frozenset[str]
    """What occurs in it, by the names of ``FEATURES``."""

    def make(self) -> Cell:
        """The cell in float64, with the same weights in each call; a traceback shows the lines of the text."""
        file = f"<drawn cell {self.seed}, {zlib.crc32(self.text.encode()):08x}>"
        linecache.cache[file] = (len(self.text), None, self.text.splitlines(keepends=True), file)
        module = ModuleType(f"drawn_cell_{self.seed}")
        exec(compile(self.text, file, "exec"), vars(module))
        torch.manual_seed(self.seed)
        cell: Cell = module.Drawn(self.vocabulary, **self.options).double()
        with torch.no_grad():
            for name, parameter in cell.named_parameters():
                if name.startswith(("norm", "vector")):
                    parameter.add_(torch.randn_like(parameter), alpha=0.4)
        return cell.train(self.training)

    def batch(self) -> TreeBatch:
        plain = dgltree.batch(self.trees, self.vocabulary)
        if not self.has_x:
            return plain
        generator = torch.Generator().manual_seed(self.seed)
        x = torch.randn(plain.num_nodes, self.options["input_size"], generator=generator, dtype=torch.float64)
        if self.options["leaf"] != "gates":
            x = x * (plain.arity > 0).unsqueeze(-1)  # other leaves must have none
        return dgltree.batch(self.trees, self.vocabulary, x=x.requires_grad_())

    def run(self, mode: str) -> Outcome:
        """States of all nodes within ``kernels(mode)``, and gradients; each run draws the same masks of dropout."""
        cell = self.make()
        batch = self.batch()
        torch.manual_seed(self.seed)
        with kernels(mode):
            states = dgltree.propagate(batch, cell, share=self.share)
            return _outcome(cell, batch.x, states)

    def of_roots(self, alone: bool) -> Outcome:
        """States of the roots by torch's operations, and gradients; ``alone``: one pass for each tree."""
        cell = self.make().eval()
        batch = self.batch()
        with kernels("off"):
            if not alone:
                states = dgltree.propagate(batch, cell)
                return _outcome(cell, batch.x, {part: rows[batch.roots] for part, rows in states.items()})
            each = [batch[[tree]] for tree in range(len(batch))]
            found = [(one, dgltree.propagate(one, cell)) for one in each]
            roots = {part: torch.cat([states[part][one.roots] for one, states in found]) for part in cell.state}
            return _outcome(cell, batch.x, roots)


def _outcome(cell: Cell, x: Tensor | None, states: Fields) -> Outcome:
    """The gradients of a loss that reads every entry of the states."""
    generator = torch.Generator().manual_seed(12)
    loss = torch.zeros((), dtype=torch.float64)
    for name in sorted(states):
        weight = torch.randn(states[name].shape, generator=generator, dtype=torch.float64)
        loss = loss + (weight * states[name]).sum() + 0.5 * states[name].square().sum()
    wanted: Fields = dict(cell.named_parameters())
    if x is not None:
        wanted["x"] = x
    found = torch.autograd.grad(loss, list(wanted.values()), allow_unused=True, materialize_grads=True)
    gradients = dict(zip(wanted, found, strict=True))
    return Outcome(states={name: rows.detach() for name, rows in states.items()}, loss=loss, gradients=gradients)


def draw_cell(seed: int) -> DrawnCell:
    """A cell, its options and trees, the same for the same seed."""
    return _Drawing(seed).drawn()


# ---------------------------------------------------------------------------------------------------------------------
# The class, method by method, and what it runs on.


class _Drawing:
    """What the methods of a class have in common while they are drawn."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        rng = self.rng
        self.n = rng.randint(2, 9)
        self.is_sum = rng.random() < 0.12
        self.modules: dict[str, str] = {}
        self.products: dict[str, tuple[str, str, str]] = {}
        self.options = self._options()
        self.memory = rng.choice(["", "c"]) if self.is_sum else rng.choice(["", "c", "S"])
        self.stack_size = rng.randint(2, 4) if self.memory == "S" else 0

    def module(self, kind: str, text: str) -> str:
        alike = [name for name, made in self.modules.items() if made == text]
        if alike and self.rng.random() < 0.5:
            return self.rng.choice(alike)
        name = f"{kind}_{len(self.modules)}"
        self.modules[name] = text
        return name

    def product(self, fan_in: str, fan_out: str) -> str:
        alike = [name for name, made in self.products.items() if made[:2] == (fan_in, fan_out)]
        if alike and self.rng.random() < 0.4:
            return self.rng.choice(alike)
        name = f"map_{len(self.products)}"
        more = self.rng.choice(["", "", "", ", bias=False", ", shared=True"])
        self.products[name] = (fan_in, fan_out, more)
        return name

    def _options(self) -> dict[str, Any]:
        rng = self.rng
        options: dict[str, Any] = {"hidden_size": self.n, "typed": rng.random() < 0.7}
        if options["typed"] and rng.random() < 0.2:
            options["rank"] = 2
        if rng.random() < 0.4:
            options["input_size"] = rng.randint(1, 5)
            options["functions"] = rng.random() < 0.4
        leaves = ["embedding", "network", *(["gates"] * 2 if "input_size" in options else [])]
        options["leaf"] = rng.choice(leaves)
        options["dropout"] = rng.choice([0.0, 0.3])
        if self.is_sum:
            options["positions"] = rng.random() < 0.4
            options["aggregation"] = rng.choice(["sum", "sum", "mean", "max", "min", "attention"])
        return options

    def drawn(self) -> DrawnCell:
        rng = self.rng
        text = self._text()
        arity = rng.choices([2, 3, 6], [4, 6, 1])[0]
        trees = self._trees(arity)
        has_x = "input_size" in self.options and rng.random() < 0.4
        if "input_size" in self.options and rng.random() < 0.5:
            trees = [with_inner_tokens(tree) for tree in trees]
        training = rng.random() < 0.7
        share = not has_x and not (training and self.options["dropout"]) and rng.random() < 0.3
        functions = [function for function in FUNCTIONS if function[1] <= arity]
        vocabulary = Vocabulary([("var", 0), ("num", 0), *functions], TOKENS)
        if self.is_sum and rng.random() < 0.5:
            vocabulary = ANY
        drawn = DrawnCell(
            seed=self.seed,
            text=text,
            options=self.options,
            vocabulary=vocabulary,
            trees=trees,
            has_x=has_x,
            training=training,
            share=share,
            features=frozenset(),
        )
        written = f"{drawn}\n{text}"
        return replace(drawn, features=frozenset(name for name in FEATURES if re.search(FEATURES[name], written)))

    def _trees(self, arity: int) -> list[Tree]:
        rng = self.rng
        trees = []
        for _ in range(rng.randint(1, 4)):
            draw = rng.choice([random_tree, random_tree, random_dag])
            trees.append(draw(rng.randint(1, 6), arity, rng.randrange(10**6)))
        if rng.random() < 0.3:
            trees.append(Tree("add", (trees[0], trees[-1])))
        return trees

    def _text(self) -> str:
        message = self._message() if self.is_sum else []
        combine = self._combine()
        modules = [f"self.{name} = {text}" for name, text in self.modules.items()]
        products = [f'"{name}": Affine({a}, {b}{more})' for name, (a, b, more) in self.products.items()]
        shape = {"": "", "c": ', "c": (n,)', "S": f', "S": ({self.stack_size}, n)'}[self.memory]
        methods = [
            *_method("squash(self, v)", ["return 3 * torch.tanh(v / 3)"], needs_n=False),
            *_method("state(self)", [f'return {{"h": (n,){shape}}}'], is_property=True),
            *_method("gates(self, arity)", [f"return {self.gates}"]),
            *(_method("shared_gates(self, arity)", [f"return {self.shared}"]) if self.shared != "{}" else []),
            *(_method("products(self, arity)", [f"return {{{', '.join(products)}}}"]) if products else []),
            *message,
            *combine,
        ]
        start = ["super().__init__(vocabulary, hidden_size, **options)", "n = hidden_size", *modules, "self.build()"]
        made = _method("__init__(self, vocabulary, hidden_size, **options)", start, needs_n=False)
        drops = ["    drops_inputs = True", ""] if self.rng.random() < 0.25 else []
        name = f"class Drawn({'SumCell' if self.is_sum else 'Cell'}):"
        return HEAD + "\n".join([name, f'    """Drawn by seed {self.seed}."""', "", *drops, *made, *methods])

    def _message(self) -> list[str]:
        """The methods of what a child sends."""
        values = [Value('pre["a"]', self.n), Value('pre["b"]', self.n), Value('child["h"]', self.n)]
        if self.memory:
            values.append(Value('child["c"]', self.n))
        body = Body(self, values)
        body.draw(self.rng.randint(0, 4), body.of_columns())
        sent = f'{{"h": {body.gathered()}, "m": {body.gathered()}}}'
        return [
            *_method("messages(self)", ['return {"h": (n,), "m": (n,)}'], is_property=True),
            *_method("message_gates(self)", ['return {"a": n, "b": n}']),
            *_method("message(self, pre, child)", [*body.lines, f"return {sent}"]),
        ]

    def _combine(self) -> list[str]:
        """The method, and the gates that it reads."""
        rng = self.rng
        kinds = [
            "n",
            *(rng.choice(["n", "arity * n", "arity * n", "2 * n", "3", "1"]) for _ in range(rng.randint(0, 3))),
        ]
        named = dict(zip("abcd", kinds, strict=False))
        shared = {name for name in named if name != "a" and rng.random() < 0.15}
        self.gates, self.shared = (
            "{" + ", ".join(f'"{name}": {kind}' for name, kind in named.items() if (name in shared) == is_shared) + "}"
            for is_shared in (False, True)
        )
        widths = {"n": self.n, "2 * n": 2 * self.n, "3": 3, "1": 1}
        values = [Value(f'pre["{name}"]', widths[kind]) for name, kind in named.items() if kind in widths]
        of_children = [name for name, kind in named.items() if kind == "arity * n"]
        parts = ["h", *(["m"] if self.is_sum else ["c"] if self.memory == "c" else [])]
        guards = self.options["leaf"] == "gates" and not self.is_sum
        body = CombineBody(self, values, parts, of_children, self.stack_size, guards)
        body.draw(rng.randint(3, 8), body.ways())
        returned = {}
        if self.memory == "S":
            returned["S"] = body.stack()
            body.read_stack()
        if self.memory == "c":
            body.gated()
            body.add(body.gathered(), self.n, 3.0, True)
            returned["c"] = body.values[-1].name
        body.draw(rng.randint(2, 7), body.ways())
        returned["h"] = body.gathered()
        if rng.random() < 0.3:
            returned["traced"] = body.pick().name
        entries = ", ".join(f'"{name}": {text}' for name, text in returned.items())
        return _method("combine(self, pre, children, linear)", [*body.lines, f"return {{{entries}}}"])


def _method(head: str, body: list[str], *, is_property: bool = False, needs_n: bool = True) -> list[str]:
    """The lines of a method."""
    first = ["n = self.hidden_size"] if needs_n and any(re.search(r"\bn\b", line) for line in body) else []
    lines = [f"def {head}:", *(f"    {line}" for line in [*first, *body]), ""]
    return [f"    {line}" if line else "" for line in [*(["@property"] if is_property else []), *lines]]


FEATURES = {
    "SumCell": r"class Drawn\(SumCell",
    "positions": r"'positions': True",
    "no memory": r'return \{"h": \(n,\)\}',
    "a memory": r'"c": \(n,\)\}',
    "a stack": r'"S": \(\d, n\)\}',
    "shared weights": r"'typed': False",
    "own parts of rank 2": r"'rank': 2",
    "inputs": r"'input_size'",
    "x": r"has_x=True",
    "functions": r"'functions': True",
    "leaf gates": r"'leaf': 'gates'",
    "leaf network": r"'leaf': 'network'",
    "dropout in training": r"(?s)'dropout': 0.3.*training=True",
    "equal subtrees once": r"share=True",
    "dropped inputs": r"drops_inputs",
    "shared gates": r"def shared_gates",
    "a gate per child": r'"[bcd]": arity \* n',
    "a gate of one column": r'"[bcd]": 1\b',
    "a product": r"Affine\(",
    "a product without bias": r"bias=False",
    "a shared product": r"shared=True",
    "a product of all children": r"Affine\(arity \* n",
    "a product for each child": r", arity \* n",
    "a product of what was made of children": r", reset\)",
    "concatenate": r" concatenate\(children|, concatenate\(",
    "relu": r"torch\.relu",
    "gelu": r"gelu\(",
    "softplus": r"softplus",
    "exp": r"torch\.exp",
    "clamp": r"clamp\(",
    "where": r"torch\.where",
    "masked_fill": r"masked_fill",
    "detach": r"detach\(",
    "drop": r"self\.drop\(",
    "LayerNorm": r"nn\.LayerNorm",
    "layer_norm without weights": r"functional\.layer_norm",
    "a vector of parameters": r"nn\.Parameter",
    "a mean over columns": r"mean\(-1",
    "a sum over columns": r"sum\(-1",
    "a maximum over columns": r"max\(-1",
    "softmax over columns": r"v\d+\.softmax\(-1\)",
    "softmax over values": r"\]\)?, -\d\)\.softmax",
    "softmax over children": r"\)\.softmax\(-2\) \*",
    "a maximum over children": r'\(children\["\w"\], -2\)\.a?max',
    "torch.maximum": r"torch\.maximum",
    "a mean over children": r'\(children\["\w"\], -2\)\.mean',
    "chunk": r"\.chunk\(",
    "split": r"\.split\(\[",
    "slices": r"\[\.\.\., :",
    "transpose": r"\.transpose\(-1, -2\)\.flatten",
    "unflatten": r"\.unflatten\(",
    "unbind": r"\.unbind\(",
    "a branch on the number of children": r'if len\(children\["h"\]\)',
    "a loop over numbered children": r"enumerate\(",
    "one child alone": r'children\["\w"\]\[',
    "a push": r"\[\.\.\., :-1, :\]",
    "a pop": r"\[\.\.\., 1:, :\]",
    "something to trace": r'"traced"',
}
"""What cells have, by name: what is searched for in the text and options of a cell."""
