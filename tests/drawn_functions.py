"""Random message, reduce and apply functions on random DAGs, as source text.

``draw_case(seed)`` writes the text of three functions as a user would write them, some 10 to 60 operations together,
and draws a graph, fields and parameters for them. What a case can do is in ``drawn_cases``.

The functions mean the same for any number of rows, which is what makes a recursion over single nodes their oracle:
``len(nodes)`` and ``size(0)`` are axes, never numbers. Three rules keep float64 comparable at 1e-11:

- states end in a bounded function of a scaled value, and whatever grows is squashed, so that depth is no chaos;
- what divides, or is under a root or a logarithm, is kept away from 0;
- a value has a ``nature``. Where a random value has a kink (``relu``, ``max``, a comparison), two engines agree, since
  it is never within a rounding of the kink. A "grid" value is a multiple of 1/4 and has real ties and zeros; only
  operations without rounding are done to it where kinks follow. A "smooth" one may be within a rounding of a tie (a
  difference to a mean, a grid value after ``tanh``) and never meets a kink again.
"""

import math
import random
import re
from collections.abc import Callable, Iterable
from dataclasses import replace

import torch
from drawn_cases import BuiltIn, DrawnCase, Fields, FunctionText, Statement, Value
from torch import Tensor, nn


def draw_case(seed: int) -> DrawnCase:
    """A graph of up to some 90 nodes, and functions for it, the same for the same seed."""
    return _CaseDrawing(seed).case()


class _CaseDrawing:
    """What the functions of a case have in common while they are drawn."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)
        self.features: set[str] = set()
        self.parameters: dict[str, nn.Module | nn.Parameter] = {}
        self.owner = self.rng.choice(["", "", "net."])
        self.node_values: dict[str, Value] = {}
        self.edge_values: dict[str, Value] = {}
        self.length = 0
        """Statements of the functions so far."""

    def numbers(self, *shape: int, scale: float = 1.0) -> Tensor:
        return torch.randn(*shape, generator=self.generator, dtype=torch.float64) * scale

    def note(self, feature: str) -> None:
        assert feature in FEATURES, feature
        self.features.add(feature)

    def width(self) -> int:
        return self.rng.choice(self.widths)

    def parameter(self, kind: str, *shape: int) -> str:
        """The text of a parameter: one that is there, if there is one of this kind and shape, or a new one."""
        size = "x".join(map(str, shape))
        alike = [name for name in self.parameters if name.startswith(f"{kind}_{size}_")]
        if alike and self.rng.random() < 0.4:
            return self.owner + self.rng.choice(alike)
        name = f"{kind}_{size}_{len(self.parameters)}"
        made = self._made(kind, shape)
        if self.rng.random() < 0.1:
            made.requires_grad_(False)
        self.parameters[name] = made
        return self.owner + name

    def _made(self, kind: str, shape: tuple[int, ...]) -> nn.Module | nn.Parameter:
        if kind in ("matrix", "vector"):
            scale = 0.8 / math.sqrt(shape[0]) if kind == "matrix" else 0.7
            return nn.Parameter(self.numbers(*shape, scale=scale))
        make: dict[str, Callable[..., nn.Module]] = {
            "linear": nn.Linear,
            "linear_without_bias": lambda a, b: nn.Linear(a, b, bias=False),
            "embedding": nn.Embedding,
            "norm": lambda width: nn.LayerNorm(width, eps=0.1),
            "norm_without_weights": lambda width: nn.LayerNorm(width, eps=0.05, elementwise_affine=False),
            "gru": nn.GRUCell,
            "lstm": nn.LSTMCell,
            "rnn": nn.RNNCell,
        }
        module = make[kind](*shape).double()
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.copy_(self.numbers(*parameter.shape, scale=0.8 / math.sqrt(parameter.shape[-1])))
        return module

    def case(self) -> DrawnCase:
        rng = self.rng
        self.widths = rng.sample(range(1, 10), rng.choice([1, 2, 2, 3]))
        edges, count = self._graph()
        self.ndata, self.edata = self._fields(count, len(edges[0]))
        message, messages = self._message()
        with_apply = rng.random() < 0.75
        reduce, reduced = self._reduce(messages, with_apply)
        apply = self._apply(reduced) if with_apply else None
        self.note("no apply" if apply is None else "apply")
        case = DrawnCase(
            seed=self.seed,
            edges=edges,
            ndata=self.ndata,
            edata=self.edata,
            parameters=self.parameters,
            message=message,
            reduce=reduce,
            apply=apply,
            features=frozenset(),
            owner=self.owner,
        )
        texts = "\n".join(text.source() for text in case.texts())
        words = set(re.findall(r"\w+", texts))
        read = {name: parameter for name, parameter in self.parameters.items() if name in words}
        if not all(tensor.requires_grad for tensor in replace(case, parameters=read).named_parameters().values()):
            self.note("a parameter without gradients")
        for feature, pattern in WRITTEN.items():
            if re.search(pattern, texts):
                self.note(feature)
        return replace(case, parameters=read, features=frozenset(self.features))

    # -- The graph and its fields --

    def _graph(self) -> tuple[tuple[Tensor, Tensor], int]:
        rng = self.rng
        shape = rng.choices(["dag", "chain", "no edges", "one node"], [30, 3, 1, 1])[0]
        self.note(shape)
        pairs: list[tuple[int, int]] = []
        count = 0
        components = 1 if shape == "one node" else rng.choice([1, 1, 2, 3])
        for _ in range(components):
            size = 1 if shape == "one node" else rng.choice([1, 2, 3, 5, 9, 14, 20, 30])
            reach = rng.choice([1, 3, 8, size])
            for node in range(1, size):
                degree = rng.choice([0, 1, 1, 2, 2, 2, 3, 4])
                if rng.random() < 0.06:
                    degree = rng.randrange(61)
                if shape == "chain":
                    degree = 1
                    reach = 1
                if shape == "no edges":
                    degree = 0
                low = max(0, node - reach)
                pairs += [(count + rng.randrange(low, node), count + node) for _ in range(degree)]
            count += size
        if components > 1:
            self.note("several components")
        if len(set(pairs)) < len(pairs):
            self.note("several edges between two nodes")
        into = [0] * count
        for _, target in pairs:
            into[target] += 1
        if max(into) > 10:
            self.note("a degree above 10")
        ends = {node for pair in pairs for node in pair}
        if len(ends) < count:
            self.note("a node without edges")
        rng.shuffle(pairs)
        numbers = rng.sample(range(count), count)
        sources = torch.tensor([numbers[source] for source, _ in pairs], dtype=torch.int64)
        targets = torch.tensor([numbers[target] for _, target in pairs], dtype=torch.int64)
        return (sources, targets), count

    def _shape(self) -> tuple[int, ...]:
        if self.rng.random() < 0.2:
            self.note("a field of two axes")
            return self.rng.choice([(2, 4), (2, 3), (3, 2), (2, self.width())])
        return (self.width(),)

    def _fields(self, nodes: int, edges: int) -> tuple[Fields, Fields]:
        rng = self.rng
        state = self._shape()
        wanted: list[tuple[str, tuple[int, ...], str]] = [("h", state, "random"), ("x", self._shape(), "random")]
        if rng.random() < 0.4:
            wanted.append(("c", rng.choice([state, self._shape()]), "random"))
        if rng.random() < 0.3:
            wanted.append(("z", (), "random"))
        if rng.random() < 0.3:
            wanted.append(("g", self._shape(), "random"))
        if rng.random() < 0.25:
            wanted.append(("q", rng.choice([(), (self.width(),)]), "grid"))
        ndata = {}
        for name, shape, nature in wanted:
            ndata[name] = self._column(nodes, shape, nature)
            self.node_values[name] = Value(name=name, axes="rows", shape=shape, nature=nature)
        if rng.random() < 0.5:
            ndata["token"] = torch.randint(0, TOKENS, (nodes,), generator=self.generator)
            self.node_values["token"] = Value(name="token", axes="rows", shape=(), dtype="int")
            self.note("a field of whole numbers")
        edata = {}
        for name, shapes, nature, share in (
            ("w", [(), (1,)], "random", 0.5),
            ("v", [(self.width(),), self._shape()], "random", 0.4),
            ("level", [(), (self.width(),)], "grid", 0.15),
        ):
            if rng.random() < share:
                shape = rng.choice(shapes)
                edata[name] = self._column(edges, shape, nature)
                self.edge_values[name] = Value(name=name, axes="rows", shape=shape, nature=nature)
        if rng.random() < 0.3:
            edata["kind"] = torch.randint(0, TOKENS, (edges,), generator=self.generator)
            self.edge_values["kind"] = Value(name="kind", axes="rows", shape=(), dtype="int")
        return ndata, edata

    def _column(self, count: int, shape: tuple[int, ...], nature: str) -> Tensor:
        if nature == "grid":
            self.note("a field with ties and gradients")
            column = torch.randint(-3, 4, (count, *shape), generator=self.generator).double() / 4
        else:
            column = self.numbers(count, *shape)
        return column.requires_grad_(self.rng.random() < 0.85)

    # -- The functions --

    def _message(self) -> tuple[FunctionText | BuiltIn, dict[str, Value]]:
        """The message function and what it sends."""
        if self.rng.random() < 0.2 and (made := self._built_in_message()) is not None:
            return made
        drawing = _FunctionDrawing(self, "message", "edges")
        drawing.read_more()
        drawing.draw(self.rng.randint(0, 7))
        self.length = len(drawing.statements)
        sent: dict[str, Value] = {}
        returned: list[tuple[str, str]] = []
        kept = []
        if self.rng.random() < 0.5:
            kept.append(self.rng.choice(drawing.unused() or drawing.values[:1]))
        grids = [value for value in drawing.values if value.nature == "grid"]
        if grids and self.rng.random() < 0.7:
            kept = [self.rng.choice(grids)]
        kept.insert(0, drawing.gathered())
        kept = [value for value in kept if value.dtype == "float"]
        whole = [each for each in drawing.values if each.dtype == "int" and each.axes == "rows"]
        if whole and self.rng.random() < 0.5:
            kept.append(self.rng.choice(whole))
            self.note("a message of whole numbers")
        for value, name in zip(kept, ("m", "k", "t"), strict=False):
            sent[name] = replace(value, name=name, axes="mail")
            returned.append((name, value.name))
        if len(kept) > 1:
            self.note("several messages")
        return drawing.text(returned), sent

    def _built_in_message(self) -> tuple[BuiltIn, dict[str, Value]] | None:
        rng = self.rng
        ends = {"u": self.node_values, "v": self.node_values, "e": self.edge_values}
        fields = [(end, each) for end, values in ends.items() for each in values.values() if each.dtype == "float"]
        end, first = rng.choice([pair for pair in fields if pair[0] == "u"])
        if rng.random() < 0.3:
            self.note("copy_u")
            return BuiltIn(name=f"copy_{end}", in_field=first.name, out_field="m"), {
                "m": replace(first, name="m", axes="mail", bound=3.0)
            }
        partners = [(other, each) for other, each in fields if other != "u" and _fits(each.shape, first.shape)]
        if not partners:
            return None
        other, second = rng.choice(partners)
        operations = ["add", "sub", "mul"]
        if len(second.shape) == len(first.shape) == 1 and first.shape == second.shape:
            operations.append("dot")
        operation = rng.choice(operations)
        shape = (1,) if operation == "dot" else first.shape
        nature = "random" if first.nature == second.nature == "random" else "smooth"
        self.note("u_mul_e and the like")
        made = BuiltIn(name=f"u_{operation}_{other}", lhs_field=first.name, rhs_field=second.name, out_field="m")
        return made, {"m": Value(name="m", axes="mail", shape=shape, nature=nature, bound=6.0)}

    def _reduce(self, messages: dict[str, Value], with_apply: bool) -> tuple[FunctionText | BuiltIn, dict[str, Value]]:
        """The reduce function and what it returns."""
        state = self.node_values["h"]
        mail = messages["m"]
        same_state = mail.shape == state.shape
        if self.rng.random() < 0.2 and (with_apply or (same_state and self.length >= 10)):
            name = self.rng.choice(["sum", "mean", "max", "min"])
            if mail.nature == "smooth" and name in ("max", "min"):
                name = "sum"
            field = "s" if with_apply else "h"
            if with_apply and same_state and self.rng.random() < 0.3:
                field = "h"
            self.note("a built-in reduce function")
            bound = 60 * mail.bound if name == "sum" else mail.bound
            return BuiltIn(name=name, msg_field="m", out_field=field), {
                field: replace(mail, name=field, axes="rows", bound=bound)
            }
        drawing = _FunctionDrawing(self, "reduce", "nodes")
        drawing.mailbox = messages
        drawing.read_more()
        drawing.draw(max(self.rng.randint(3, 11), 10 - self.length))
        self.length += len(drawing.statements)
        if not with_apply:
            return drawing.text(drawing.states()), {}
        kept: Value | None = None
        value = drawing.pick(("rows",))
        if value is not None and self.rng.random() < 0.3:
            kept = drawing.bounded(drawing.shaped(value, state.shape))
            drawing.used.add(kept.name)
        total = drawing.gathered()
        returned = [("s", total.name)]
        reduced = {"s": replace(total, name="s")}
        if kept is not None:
            returned.append(("h", kept.name))
            reduced["h"] = replace(kept, name="h")
        return drawing.text(returned), reduced

    def _apply(self, reduced: dict[str, Value]) -> FunctionText:
        """The apply function; what reduce alone makes is a field from the start, or asked for."""
        drawing = _FunctionDrawing(self, "apply", "nodes")
        for name in reduced:
            if name == "h":
                continue
            given = self.rng.random() < 0.6
            if given:
                count = len(self.ndata["h"])
                shape = reduced[name].shape
                self.ndata[name] = self.rng.choice([self.numbers(count, *shape), torch.zeros(count, *shape).double()])
            drawing.read_reduced(reduced[name], given)
        drawing.read_more()
        drawing.draw(max(self.rng.randint(1, 7), 10 - self.length))
        return drawing.text(drawing.states())


TOKENS = 5

WRITTEN = {
    "nn.Linear": r"\blinear_",
    "F.linear": r"F\.linear\(",
    "einsum": r"einsum\(",
    "a product with a bare matrix": r"@ [\w.]*matrix_|(addmm|mm|matmul)\(",
    "a function of parameters alone": r"(@ torch\.tanh\(|@ \(|softmax\()[\w.]*matrix_",
    "size(0) as an axis": r"\.(size\(0\)|shape\[0\])",
    "len(nodes) or batch_size() as an axis": r"len\((nodes|edges)\)|batch_size\(\)",
    "expand_as": r"expand_as\(",
}
"""Features that are seen in the text, since what writes them may be drawn and not taken."""


def _fits(narrow: tuple[int, ...], wide: tuple[int, ...]) -> bool:
    """Whether a value of the first shape is broadcast to the second, and not beyond it."""
    if len(narrow) > len(wide):
        return False
    aligned = wide[len(wide) - len(narrow) :]
    return all(a in (1, b) for a, b in zip(narrow, aligned, strict=True))


class _FunctionDrawing:
    """The text of one function, statement after statement."""

    def __init__(self, case: _CaseDrawing, name: str, argument: str) -> None:
        self.case = case
        self.rng = case.rng
        self.name = name
        self.argument = argument
        self.values: list[Value] = []
        self.statements: list[Statement] = []
        self.mailbox: dict[str, Value] = {}
        self.read: set[str] = set()
        self.used: set[str] = set()

    def append(self, statement: Statement, values: Iterable[Value]) -> None:
        self.used.update(re.findall(r"\b[ena]\d+(?:_\d+)?\b", "\n".join(statement.lines)))
        self.statements.append(statement)
        for value in values:
            self.used.discard(value.name)
            self.values.append(value)

    def unused(self) -> list[Value]:
        """Float values that nothing was made of yet."""
        return [value for value in self.values if value.dtype == "float" and value.name not in self.used]

    def text(self, returned: list[tuple[str, str]]) -> FunctionText:
        return FunctionText(
            name=self.name, argument=self.argument, statements=tuple(self.statements), returned=tuple(returned)
        )

    def draw(self, count: int) -> None:
        """At least so many more statements."""
        names = list(OPERATIONS)
        weights = [OPERATIONS[name] for name in names]
        until = len(self.statements) + count
        while len(self.statements) < until:
            name = self.rng.choices(names, weights)[0]
            is_drawn = getattr(self, name)()
            if not is_drawn and self.rng.random() < 0.1:
                self.read_more()

    # -- Reading fields --

    def read_more(self) -> None:
        """One more field, or two."""
        rng = self.rng
        nodes = self.case.node_values
        if self.name == "message":
            fields = [("src", "h")] if "src h" not in self.read else []
            fields += [("src", rng.choice(list(nodes))), ("dst", rng.choice([name for name in nodes if name != "h"]))]
            fields += [("data", name) for name in self.case.edge_values]
        elif self.name == "reduce":
            fields = [("mailbox", name) for name in self.mailbox]
            fields.append(("data", rng.choice(list(nodes))))
        else:
            fields = [("data", rng.choice(list(nodes))), ("data", rng.choice(list(nodes)))]
        for frame, name in fields if not self.read else rng.sample(fields, 1):
            if f"{frame} {name}" not in self.read:
                self._read(frame, name)

    def _read(self, frame: str, name: str) -> None:
        self.read.add(f"{frame} {name}")
        known = self.case.node_values
        if frame == "mailbox":
            known = self.mailbox
        if frame == "data" and self.name == "message":
            known = self.case.edge_values
            self.case.note("a field of the edges")
        if frame == "dst":
            self.case.note("a field of the edge's target")
        value = known[name]
        text = f'{self.argument}.{frame}["{name}"]'
        if value.dtype == "float" and self.rng.random() < 0.08 and value.nature == "random":
            self.case.note("a field changed in place")
            changed = {
                0: f"{text} += 0.25",
                1: f"{text}.mul_(0.5)",
                2: f"{text} *= 0.75",
                3: f"{text}[..., :1] += 0.5" if value.shape else f"{text} -= 0.125",
                4: f"{text}.tanh_()",
            }[self.rng.randrange(5)]
            self.emit(text, value.axes, value.shape, bound=value.bound, before=[changed])
            return
        self.emit(text, value.axes, value.shape, value.dtype, nature=value.nature, bound=value.bound)

    def read_reduced(self, value: Value, given: bool) -> None:
        """What reduce returned: at nodes without messages the field as it was given, or other numbers."""
        if given:
            self.emit(f'nodes.data["{value.name}"]', "rows", value.shape, nature=value.nature, bound=value.bound)
            return
        self.case.note("a field that only nodes with messages have")
        zeros = f'nodes.data["h"].new_zeros(len(nodes){"".join(f", {width}" for width in value.shape)})'
        name = value.name
        text = self.rng.choice([
            f'nodes.data["{name}"] if "{name}" in nodes.data else {zeros}',
            f'nodes.data.get("{name}", {zeros})',
        ])  # fmt: skip
        self.emit(text, "rows", value.shape, nature=value.nature, bound=value.bound)

    # -- Writing statements --

    def emit(
        self,
        text: str,
        axes: str,
        shape: tuple[int, ...],
        dtype: str = "float",
        *,
        nature: str = "random",
        bound: float = 2.0,
        before: Iterable[str] = (),
        after: Iterable[str] = (),
    ) -> Value:
        """A statement that gives a name to the text, squashed if it is large; {} in ``after`` is the name."""
        value = Value(
            name=f"{self.argument[0]}{len(self.statements)}" if self.name != "apply" else f"a{len(self.statements)}",
            axes=axes,
            shape=shape,
            dtype=dtype,
            nature=nature,
            bound=bound,
        )
        lines = [*before, f"{value.name} = {text}", *(line.replace("{}", value.name) for line in after)]
        self.append(Statement(tuple(lines), value), [value])
        if dtype == "float" and bound > 8:
            return self.squashed(value)
        return value

    def squashed(self, value: Value) -> Value:
        """The value, bounded by 1. Saturating functions would make ties of large values."""
        name = value.name
        text = self.rng.choice([f"F.softsign({name})", f"{name} / (1 + {name}.abs())", f"{name} / (1 + abs({name}))"])
        return self.emit(text, value.axes, value.shape, nature=_after_rounding(value.nature), bound=1.0)

    def pick(self, axes: Iterable[str] = ("rows", "mail"), *, kinked: bool = False, least: int = 0) -> Value | None:
        """A float value, one rather that was not used yet; one that may meet a kink; of so many axes at least."""
        suited = [
            value
            for value in self.values
            if value.dtype == "float"
            and value.axes in axes
            and (not kinked or value.nature != "smooth")
            and len(value.shape) >= least
        ]
        if not suited:
            return None
        unused = [value for value in suited if value.name not in self.used]
        return self.rng.choice(unused if unused and self.rng.random() < 0.6 else suited)

    def a_mail(self) -> Value | None:
        """Any float value of the mailbox, to ask for its sizes."""
        suited = [value for value in self.values if value.axes == "mail" and value.dtype == "float"]
        return self.rng.choice(suited) if suited else None

    def degree(self) -> str | None:
        mail = self.a_mail()
        if mail is None:
            return None
        name = mail.name
        return self.rng.choice([f"{name}.shape[1]", f"{name}.size(1)", f"{name}.size()[1]"])

    def rows(self) -> str:
        """The number of rows, which is an axis only."""
        texts = [f"len({self.argument})", f"{self.argument}.batch_size()"]
        value = self.pick()
        if value is not None:
            texts += [f"{value.name}.size(0)", f"{value.name}.shape[0]"]
        return self.rng.choice(texts)

    def shaped(self, value: Value, shape: tuple[int, ...]) -> Value:
        """The value's numbers in another shape, by a linear map where need be."""
        if value.shape == shape:
            return value
        rng = self.rng
        axes = value.axes
        size = math.prod(shape)
        nature = _after_rounding(value.nature)
        flat = value
        if not value.shape:
            flat = self.emit(f"{value.name}.unsqueeze(-1)", axes, (1,), nature=value.nature, bound=value.bound)
        elif len(value.shape) > 1:
            width = math.prod(value.shape)
            self.case.note("view, reshape or flatten")
            start = 2 if axes == "mail" else 1
            text = f"{value.name}.flatten({start})"
            if axes == "rows":
                text = rng.choice(
                    [text, f"{value.name}.reshape({self.rows()}, {width})", f"{value.name}.reshape(-1, {width})"]
                )
            flat = self.emit(text, axes, (width,), nature=value.nature, bound=value.bound)
        if flat.shape != (size,):
            text = self.mapped(flat.name, axes, flat.shape[0], size)
            flat = self.emit(text, axes, (size,), nature=nature, bound=2 * flat.bound)
        if shape == (size,):
            return flat
        sizes = ", ".join(map(str, shape))
        if not shape:
            return self.emit(f"{flat.name}.squeeze(-1)", axes, (), nature=flat.nature, bound=flat.bound)
        self.case.note("view, reshape or flatten")
        if axes == "mail":
            text = f"{flat.name}.reshape({flat.name}.size(0), {flat.name}.size(1), {sizes})"
        else:
            text = rng.choice([f"{flat.name}.reshape(-1, {sizes})", f"{flat.name}.reshape({self.rows()}, {sizes})"])
        return self.emit(text, axes, shape, nature=flat.nature, bound=flat.bound)

    def mapped(self, name: str, axes: str, width: int, to: int) -> str:
        """The text of a linear map of the last axis."""
        case = self.case
        kinds = ["linear", "linear", "linear_without_bias", "matrix", "matrix", "einsum", "F.linear", "of parameters"]
        if axes == "rows":
            kinds += ["addmm", "torch.mm"]
        kind = self.rng.choice(kinds)
        if kind in ("linear", "linear_without_bias"):
            return f"{case.parameter(kind, width, to)}({name})"
        matrix = case.parameter("matrix", width, to)
        if kind == "einsum":
            letters = "nk" if axes == "mail" else "n"
            return f'torch.einsum("{letters}h,hd->{letters}d", {name}, {matrix})'
        if kind == "F.linear":
            return f"F.linear({name}, {matrix}.t(), {case.parameter('vector', to)})"
        if kind == "of parameters":
            return self.rng.choice([
                f"{name} @ torch.tanh({matrix})",
                f"{name} @ ({matrix} * torch.sigmoid({case.parameter('vector', to)}))",
                f"{name} @ ({matrix} @ {case.parameter('matrix', to, to)})",
                f"F.linear({name}, torch.softmax({matrix}, 0).t())",
            ])  # fmt: skip
        if kind == "addmm":
            return f"torch.addmm({case.parameter('vector', to)}, {name}, {matrix})"
        if kind == "torch.mm":
            return f"torch.mm({name}, {matrix}) + {case.parameter('vector', to)}"
        return self.rng.choice([f"{name} @ {matrix}", f"torch.matmul({name}, {matrix})"])

    def aligned(self, a: Value, b: Value) -> tuple[str, str, str, tuple[int, ...]] | None:
        """Texts of two values that broadcast to each other, the result's axes and shape."""
        is_narrow = len(a.shape) < len(b.shape) or (len(a.shape) == len(b.shape) and not _fits(b.shape, a.shape))
        if is_narrow or (a.axes == "constant" and b.axes != "constant"):
            swapped = self._aligned(b, a)
            if swapped is None:
                return None
            right, left, axes, shape = swapped
            return left, right, axes, shape
        return self._aligned(a, b)

    def _aligned(self, wide: Value, narrow: Value) -> tuple[str, str, str, tuple[int, ...]] | None:
        if not _fits(narrow.shape, wide.shape):
            return None
        left = wide.name
        right = narrow.name
        if narrow.axes != "constant":
            for _ in range(len(wide.shape) - len(narrow.shape)):
                if narrow.shape:
                    return None
                right += ".unsqueeze(-1)"
        if wide.axes == "constant" and narrow.axes != "constant":
            return None
        if narrow.axes == "rows" and wide.axes == "mail":
            right = self.over_mailbox(right, wide)
        if narrow.axes == "mail" and wide.axes == "rows":
            left = self.over_mailbox(left, replace(narrow, shape=wide.shape))
        axes = "mail" if "mail" in (wide.axes, narrow.axes) else wide.axes
        return left, right, axes, wide.shape

    def over_mailbox(self, text: str, mail: Value) -> str:
        """A text of rows, with the axis of the mailbox."""
        self.case.note("a node's value with its messages")
        texts = [f"{text}.unsqueeze(1)", f"{text}.unsqueeze(1)", f"{text}[:, None]"]
        degree = f"{mail.name}.{self.rng.choice(['shape[1]', 'size(1)'])}"
        kept = ", -1" * len(mail.shape)
        if ".unsqueeze(-1)" not in text:
            texts.append(f"{text}.unsqueeze(1).expand(-1, {degree}{kept})")
            texts.append(f"{text}.unsqueeze(1).repeat(1, {degree}{', 1' * len(mail.shape)})")
        chosen = self.rng.choice(texts)
        if "expand" in chosen:
            self.case.note("expand along the mailbox")
        if "repeat" in chosen:
            self.case.note("repeat along the mailbox")
        return chosen

    # -- What a function returns --

    def gathered(self, shape: tuple[int, ...] | None = None) -> Value:
        """The sum, in this shape, of what was not used yet, without the axis of the mailbox."""
        rng = self.rng
        pending = self.unused()
        if not pending:
            pending = [rng.choice([value for value in self.values if value.dtype == "float"])]
        rng.shuffle(pending)
        total: Value | None = None
        for value in pending:
            if value.axes == "mail" and self.name == "reduce":
                value = self.without_mailbox(value)
            if total is None:
                total = value if shape is None else self.shaped(value, shape)
                continue
            pair = self.aligned(total, value)
            if pair is None or pair[3] != total.shape:
                value = self.shaped(value, total.shape)
                pair = self.aligned(total, value)
                assert pair is not None
            left, right, axes, kept = pair
            text = rng.choice([f"{left} + {right}", f"{left} - {right}", f"{left} + 0.5 * {right}"])
            if rng.random() < 0.2:
                text = f"{left} * torch.sigmoid({right})"
            bound = total.bound + value.bound
            total = self.emit(text, axes, kept, nature=_of_both(total, value), bound=bound)
        assert total is not None
        return total

    def without_mailbox(self, mail: Value) -> Value:
        x = mail.name
        texts = [f"{x}.sum(1)", f"{x}.mean(1)"]
        if mail.nature == "random":
            texts += [f"{x}.max(1).values", f"{x}.amax(1)"]
        text = self.rng.choice(texts)
        bound = mail.bound * 6 if "sum" in text else mail.bound
        return self.emit(text, "rows", mail.shape, nature=_after_rounding(mail.nature), bound=bound)

    def bounded(self, value: Value) -> Value:
        """The end of a state."""
        rng = self.rng
        scale = rng.choice(["0.5", "0.3", "0.7"])
        texts = [
            f"torch.tanh({value.name} * {scale})",
            f"torch.tanh({scale} * {value.name})",
            f"F.softsign({value.name})",
        ]
        same = [each for each in self.values if each.has_type_of(value) and each != value]
        if same:
            other = rng.choice(same[-4:]).name
            texts.append(f"torch.tanh({scale} * {value.name} + 0.25 * {other})")
            texts.append(f"0.5 * torch.tanh({value.name}) - 0.125 * torch.sigmoid({other})")
        return self.emit(rng.choice(texts), value.axes, value.shape, nature=_after_rounding(value.nature), bound=1.0)

    def states(self) -> list[tuple[str, str]]:
        """What is written: h, sometimes c, a new field, a whole number."""
        rng = self.rng
        known = self.case.node_values
        returned: list[tuple[str, str]] = []
        for name, field in known.items():
            share = {"h": 0.0, "c": 0.6}.get(name, 0.1)
            value = self.pick(("rows",))
            if value is None or field.dtype != "float" or field.nature == "grid" or rng.random() >= share:
                continue
            self.case.note("several states" if name == "c" else "an input that is written")
            returned.append((name, self.bounded(self.shaped(value, field.shape)).name))
        if rng.random() < 0.15:
            value = self.pick(("rows",))
            if value is not None:
                self.case.note("a new field")
                returned.append(("new", value.name))
        returned.insert(0, ("h", self.bounded(self.gathered(known["h"].shape)).name))
        whole = [each for each in self.values if each.dtype == "int" and each.axes == "rows"]
        if whole and rng.random() < 0.5:
            self.case.note("a state of whole numbers")
            name = "token" if "token" in known and rng.random() < 0.5 else "count"
            returned.append((name, rng.choice(whole).name))
        return returned

    # -- Operations: each writes one or more statements, or returns False if nothing suits it --

    def another_field(self) -> bool:
        self.read_more()
        return True

    def elementwise(self) -> bool:
        value = self.pick()
        if value is None:
            return False
        x = value.name
        feature, text, bound = self.rng.choice([
            ("tanh", f"torch.tanh({x})", 1.0),
            ("tanh", f"{x}.tanh()", 1.0),
            ("sigmoid", f"torch.sigmoid({x})", 1.0),
            ("exp", f"torch.exp(torch.tanh({x}))", 3.0),
            ("exp", f"(-{x} * {x}).exp()", 1.0),
            ("elu", f"F.elu({x})", value.bound),
            ("silu", f"F.silu({x})", value.bound),
            ("gelu", f"F.gelu({x})", value.bound),
            ("softplus", f"F.softplus({x})", value.bound + 1),
            ("sqrt", f"torch.sqrt({x} * {x} + 0.3)", value.bound + 1),
            ("sqrt", f"(1 + {x} ** 2).rsqrt()", 1.0),
            ("log", f"torch.log({x} * {x} + 0.5)", 4.0),
            ("log", f"torch.log1p({x}.pow(2))", 4.0),
            ("sin or cos", f"torch.sin({x})", 1.0),
            ("sin or cos", f"torch.cos({x})", 1.0),
            ("numbers in arithmetic", f"0.5 * {x} - 0.25", value.bound),
            ("numbers in arithmetic", f"1 - {x}", value.bound + 1),
            ("numbers in arithmetic", f"-{x}", value.bound),
            ("numbers in arithmetic", f"1 / (1.5 + {x} * {x})", 1.0),
            ("square", f"{x} ** 2", value.bound**2),
        ])  # fmt: skip
        self.case.note(feature)
        self.emit(text, value.axes, value.shape, nature=_after_rounding(value.nature), bound=bound)
        return True

    def kinked(self) -> bool:
        """Elementwise with a kink, without rounding."""
        value = self.pick(kinked=True)
        if value is None:
            return False
        x = value.name
        feature, text, bound, is_exact = self.rng.choice([
            ("relu", f"torch.relu({x})", value.bound, True),
            ("relu", f"F.relu({x})", value.bound, True),
            ("relu", f"{x}.relu()", value.bound, True),
            ("leaky_relu", f"F.leaky_relu({x}, 0.25)", value.bound, True),
            ("leaky_relu", f"F.leaky_relu({x})", value.bound, False),
            ("abs", f"{x}.abs()", value.bound, True),
            ("abs", f"abs({x})", value.bound, True),
            ("clamp", f"{x}.clamp(-0.5, 0.75)", 0.75, True),
            ("clamp", f"torch.clamp({x}, min=-0.25)", value.bound, True),
            ("clamp", f"{x}.clamp(max=0.5)", value.bound, True),
            ("hardtanh", f"F.hardtanh({x})", 1.0, True),
        ])  # fmt: skip
        self.case.note(feature)
        nature = value.nature
        if nature == "grid" and not is_exact:
            nature = "smooth"
        self.emit(text, value.axes, value.shape, nature=nature, bound=bound)
        return True

    def binary(self) -> bool:
        a = self.pick()
        b = self.pick()
        if self.rng.random() < 0.15 and a is not None and a.shape:
            self.case.note("a vector of parameters")
            b = Value(name=self.case.parameter("vector", *a.shape[-1:]), axes="constant", shape=a.shape[-1:])
        if a is None or b is None or a == b:
            return False
        pair = self.aligned(a, b)
        if pair is None:
            b = self.shaped(b, a.shape)
            pair = self.aligned(a, b)
            assert pair is not None
        left, right, axes, shape = pair
        nature = _of_both(a, b)
        feature, text, bound = self.rng.choice([
            ("add", f"{left} + {right}", a.bound + b.bound),
            ("add", f"{left} + {right}", a.bound + b.bound),
            ("add", f"torch.add({left}, {right}, alpha=0.5)", a.bound + b.bound),
            ("sub", f"{left} - {right}", a.bound + b.bound),
            ("mul", f"{left} * {right}", a.bound * b.bound),
            ("mul", f"{left} * torch.sigmoid({right})", a.bound),
            ("mul", f"torch.mul({left}, {right})", a.bound * b.bound),
            ("div", f"{left} / ({right} ** 2 + 0.75)", a.bound * 1.5),
            ("div", f"{left} / (1 + torch.exp(torch.tanh({right})))", a.bound),
            ("lerp", f"torch.sigmoid({left}) * {right} + (1 - torch.sigmoid({left})) * {left}", a.bound + b.bound),
        ])  # fmt: skip
        if a.nature == b.nature == "grid":
            nature = "grid" if feature in ("add", "sub") else "smooth"
        self.case.note(feature)
        self.emit(text, axes, shape, nature=nature, bound=bound)
        return True

    def extreme_of_two(self) -> bool:
        a = self.pick(kinked=True)
        b = self.pick(kinked=True)
        if a is None or b is None or a == b:
            return False
        pair = self.aligned(a, b)
        if pair is None:
            return False
        left, right, axes, shape = pair
        nature = _of_both(a, b)
        if a.nature == b.nature == "grid":
            nature = "grid"
        if nature == "smooth":
            return False
        self.case.note("maximum or minimum")
        function = self.rng.choice(["maximum", "minimum"])
        self.emit(f"torch.{function}({left}, {right})", axes, shape, nature=nature, bound=max(a.bound, b.bound))
        return True

    def where(self) -> bool:
        asked = self.pick(kinked=True)
        if asked is None:
            return False
        x = asked.name
        limit = self.rng.choice(["0", "0.25", "-0.5"])
        condition = self.rng.choice(
            [f"{x} > {limit}", f"{x} <= {limit}", f"({x} > -0.5) & ({x} < 0.5)", f"~({x} > {limit})"]
        )
        alike = [value for value in self.values if value.has_type_of(asked) and value.nature == asked.nature]
        a = self.rng.choice(alike)
        b = self.rng.choice(alike)
        text = self.rng.choice([
            f"torch.where({condition}, {a.name}, {b.name})",
            f"torch.where({condition}, {a.name}, 0.5 * {b.name})",
            f"torch.where({condition}, {a.name}, torch.zeros_like({a.name}))",
            f"{a.name}.masked_fill({condition}, 0.5)",
            f"({condition}).double() * {a.name} + {b.name}",
        ])  # fmt: skip
        self.case.note("where or masked_fill")
        bound = a.bound + b.bound
        self.emit(text, asked.axes, asked.shape, nature=_after_rounding(asked.nature), bound=bound)
        return True

    def linear_map(self) -> bool:
        value = self.pick(least=1)
        if value is None:
            return False
        to = self.case.width()
        axes = value.axes
        if len(value.shape) > 1:
            self.case.note("a linear map of two axes")
            text = f"{self.case.parameter('linear', value.shape[-1], to)}({value.name})"
        elif axes == "mail" and self.rng.random() < 0.2:
            self.case.note("a view that joins rows and messages")
            x = value.name
            joined = self.rng.choice([f"{x}.reshape(-1, {value.shape[0]})", f"{x}.flatten(0, 1)"])
            inner = self.mapped(joined, "rows", value.shape[0], to)
            if " + " in inner or " @ " in inner:
                inner = f"({inner})"
            text = f"{inner}.view({x}.size(0), {x}.shape[1], {to})"
        else:
            text = self.mapped(value.name, axes, value.shape[0], to)
        shape = (*value.shape[:-1], to)
        self.emit(text, axes, shape, nature=_after_rounding(value.nature), bound=2 * value.bound)
        return True

    def product_of_values(self) -> bool:
        """Products of node with node or message values: einsum, bmm, outer."""
        a = self.pick(("rows",), least=1)
        b = self.pick(("rows", "mail"), least=1)
        if a is None or b is None or len(a.shape) != 1 or len(b.shape) != 1:
            return False
        bound = a.bound * b.bound
        nature = _after_rounding(_of_both(a, b))
        width = a.shape[0]
        to = b.shape[0]
        matrix = self.case.parameter("matrix", width, to)
        letters = "nk" if b.axes == "mail" else "n"
        texts: list[tuple[str, str, tuple[int, ...], float]]
        texts = [(f'torch.einsum("na,ab,{letters}b->{letters}", {a.name}, {matrix}, {b.name})', b.axes, (), 2 * bound)]
        if width == to:
            texts.append((f'torch.einsum("na,{letters}a->{letters}", {a.name}, {b.name})', b.axes, (), 3 * bound))
        if width * to <= 24 and b.axes == "rows":
            texts.append((f"{a.name}.unsqueeze(-1) * {b.name}.unsqueeze(-2)", "rows", (width, to), bound))
            texts.append((f"torch.bmm({a.name}.unsqueeze(2), {b.name}.unsqueeze(1))", "rows", (width, to), bound))
        tables = [
            each for each in self.values if each.axes == "rows" and each.shape[1:] == a.shape and each.dtype == "float"
        ]
        for table in tables[-2:]:
            text = f"({table.name} @ {a.name}.unsqueeze(-1)).squeeze(-1)"
            texts.append((text, "rows", table.shape[:1], 3 * bound * table.bound))
        text, axes, shape, bound = self.rng.choice(texts)
        self.case.note("products of values with values")
        self.emit(text, axes, shape, nature=nature, bound=bound)
        return True

    def joined(self) -> bool:
        a = self.pick(least=1)
        if a is None:
            return False
        alike = [each for each in self.values if each.axes == a.axes and each.shape[:-1] == a.shape[:-1]]
        alike = [each for each in alike if each.shape and each.dtype == "float"]
        b = self.rng.choice(alike)
        if a.axes == "mail" and self.rng.random() < 0.4:
            rows = [
                each for each in self.values if each.axes == "rows" and each.shape == a.shape and each.dtype == "float"
            ]
            if rows:
                own = self.rng.choice(rows)
                name = f"{own.name}.unsqueeze(1).expand_as({a.name})"
                b = replace(own, name=name, axes="mail")
        nature = a.nature if a.nature == b.nature else "smooth"
        bound = max(a.bound, b.bound)
        if a.shape == b.shape and len(a.shape) == 1 and a.shape[0] < 6 and self.rng.random() < 0.5:
            self.case.note("stack")
            axis = self.rng.choice([-2, -1])
            shape = (2, *a.shape) if axis == -2 else (*a.shape, 2)
            self.emit(f"torch.stack([{a.name}, {b.name}], {axis})", a.axes, shape, nature=nature, bound=bound)
            return True
        width = a.shape[-1] + b.shape[-1]
        if math.prod(a.shape[:-1]) * width > 24:
            return False
        self.case.note("cat")
        axis = self.rng.choice([-1, len(a.shape) + (a.axes == "mail")])
        text = self.rng.choice(
            [f"torch.cat([{a.name}, {b.name}], {axis})", f"torch.cat(({a.name}, {b.name}), dim={axis})"]
        )
        self.emit(text, a.axes, (*a.shape[:-1], width), nature=nature, bound=bound)
        return True

    def parted(self) -> bool:
        """chunk, split, unbind: several names at once."""
        value = self.pick(least=1)
        if value is None or value.shape[-1] < 2:
            return False
        rng = self.rng
        width = value.shape[-1]
        axis = rng.choice([-1, len(value.shape) + (value.axes == "mail")])
        kind = rng.choice(["chunk", "split", "unbind"])
        if kind == "chunk" and width % 2:
            kind = "split"
        if kind == "unbind" and width > 3:
            kind = "split"
        count = 2
        if kind == "chunk":
            parts = [width // 2, width // 2]
            text = rng.choice([f"{value.name}.chunk(2, {axis})", f"torch.chunk({value.name}, 2, dim={axis})"])
        elif kind == "split":
            first = rng.randrange(1, width)
            parts = [first, width - first]
            text = f"{value.name}.split([{first}, {width - first}], {axis})"
        else:
            count = width
            parts = [0] * width
            text = f"{value.name}.unbind({axis})"
        self.case.note(kind)
        number = len(self.statements)
        names = [f"{self.argument[0]}{number}_{part}" for part in range(count)]
        made = []
        for name, part in zip(names, parts, strict=True):
            shape = value.shape[:-1] if kind == "unbind" else (*value.shape[:-1], part)
            made.append(replace(value, name=name, shape=shape))
        self.append(Statement((f"{', '.join(names)} = {text}",)), made)
        return True

    def sliced(self) -> bool:
        value = self.pick(least=1)
        if value is None:
            return False
        rng = self.rng
        x = value.name
        width = value.shape[-1]
        start = rng.randrange(width)
        stop = rng.randrange(start + 1, width + 1)
        cut = (*value.shape[:-1], stop - start)
        texts = [(f"{x}[..., {start}:{stop}]", cut), (f"{x}[..., {start}]", value.shape[:-1])]
        if len(value.shape) == 1:
            leading = ":, :, " if value.axes == "mail" else ":, "
            texts += [
                (f"{x}[{leading}{start}:{stop}]", cut),
                (f"{x}[{leading}-1]", ()),
                (f"{x}.select(-1, {start})", ()),
            ]
        else:
            texts.append((f"{x}.select(-2, {rng.randrange(value.shape[-2])})", (*value.shape[:-2], width)))
        text, shape = rng.choice(texts)
        self.case.note("select" if "select" in text else "slices")
        self.emit(text, value.axes, shape, nature=value.nature, bound=value.bound)
        return True

    def turned(self) -> bool:
        """view, reshape, permute, transpose, unsqueeze, squeeze, repeat of columns."""
        value = self.pick()
        if value is None:
            return False
        rng = self.rng
        x = value.name
        mail = value.axes == "mail"
        size = math.prod(value.shape)
        leading = [f"{x}.size(0)", f"{x}.shape[1]"] if mail else [self.rows()]
        texts: list[tuple[str, str, tuple[int, ...]]] = [
            ("unsqueeze or squeeze", f"{x}.unsqueeze(-1)", (*value.shape, 1)),
        ]
        if value.shape and value.shape[-1] == 1:
            texts.append(("unsqueeze or squeeze", f"{x}.squeeze(-1)", value.shape[:-1]))
        if len(value.shape) == 2:
            turned = (value.shape[1], value.shape[0])
            texts += [("transpose", f"{x}.transpose(-1, -2)", turned)] * 2
            texts.append(("permute", f"{x}.permute({'0, 1, 3, 2' if mail else '0, 2, 1'})", turned))
            # A built-in reduce function has the message function run on 0 edges, where -1 would be ambiguous.
            rest = size if self.name == "message" else -1
            texts.append(("view, reshape or flatten", f"{x}.reshape({', '.join(leading)}, {rest})", (size,)))
            texts.append(("view, reshape or flatten", f"{x}.flatten(-2)", (size,)))
        if len(value.shape) == 1 and size > 1:
            divisors = [number for number in range(1, size + 1) if size % number == 0]
            first = rng.choice(divisors)
            text = f"{x}.reshape({', '.join(leading)}, {first}, {size // first})"
            texts += [("view, reshape or flatten", text, (first, size // first))] * 2
        if len(value.shape) == 1 and size < 6:
            texts.append(("repeat of columns", f"{x}.repeat({'1, 1, 2' if mail else '1, 2'})", (2 * size,)))
        feature, text, shape = rng.choice(texts)
        if len(shape) > 2:
            return False
        self.case.note(feature)
        self.emit(text, value.axes, shape, nature=value.nature, bound=value.bound)
        return True

    def over_columns(self) -> bool:
        value = self.pick(least=1)
        if value is None or value.shape[-1] < 2:
            return False
        x = value.name
        width = value.shape[-1]
        less = value.shape[:-1]
        one = (*less, 1)
        choices = [
            ("sum over columns", f"{x}.sum(-1)", less, value.bound * 3),
            ("sum over columns", f"{x}.sum(-1, keepdim=True)", one, value.bound * 3),
            ("mean over columns", f"{x}.mean(-1, keepdim=True)", one, value.bound),
            ("mean over columns", f"torch.mean({x}, dim=-1)", less, value.bound),
            ("norm", f"({x} + 0.3).norm(dim=-1, keepdim=True)", one, value.bound * 3),
            ("norm", f"F.normalize({x}, dim=-1, eps=0.5)", value.shape, 1.0),
            ("norm", f"{x} / ({x}.norm(dim=-1, keepdim=True) + 1)", value.shape, 1.0),
            ("softmax over columns", f"torch.softmax({x}, -1)", value.shape, 1.0),
            ("softmax over columns", f"F.log_softmax({x}, dim=-1)", value.shape, 2 * value.bound + 2),
            ("layer norm", f"{self.case.parameter('norm', width)}({x})", value.shape, 3.0),
            ("layer norm", f"{self.case.parameter('norm_without_weights', width)}({x})", value.shape, 3.0),
            ("layer norm", f"F.layer_norm({x}, ({width},), eps=0.1)", value.shape, 3.0),
            ("logsumexp", f"torch.logsumexp({x}, -1)", less, value.bound + 2),
        ]
        if self.name != "message":  # which is run on 0 edges, too, where torch warns
            choices.append(("var", f"{x}.var(-1, unbiased=False)", less, value.bound**2))
            choices.append(("var", f"({x}.var(-1, keepdim=True) + 0.2).sqrt()", one, value.bound))
        feature, text, shape, bound = self.rng.choice(choices)
        self.case.note(feature)
        # Centred values are 0 but for rounding where columns are equal.
        nature = "smooth" if feature in ("layer norm", "var") else _after_rounding(value.nature)
        self.emit(text, value.axes, shape, nature=nature, bound=bound)
        return True

    def extreme_over_columns(self) -> bool:
        value = self.pick(kinked=True, least=1)
        if value is None or value.shape[-1] < 2:
            return False
        x = value.name
        less = value.shape[:-1]
        text, shape = self.rng.choice([
            (f"{x}.max(-1).values", less),
            (f"{x}.min(-1)[0]", less),
            (f"{x}.amax(-1)", less),
            (f"{x}.amin(-1, keepdim=True)", (*less, 1)),
            (f"torch.max({x}, dim=-1, keepdim=True)[0]", (*less, 1)),
        ])  # fmt: skip
        self.case.note("max or min over columns")
        if value.nature == "grid":
            self.case.note("max with real ties")
        self.emit(text, value.axes, shape, nature=value.nature, bound=value.bound)
        return True

    def over_mailbox_sum(self) -> bool:
        mail = self.a_mail()
        if mail is None:
            return False
        x = mail.name
        kept = "d" * len(mail.shape[:1]) + "e" * len(mail.shape[1:])
        degree = self.degree()
        nature = _after_rounding(mail.nature)
        feature, text, bound = self.rng.choice([
            ("sum over the mailbox", f"{x}.sum(1)", 6 * mail.bound),
            ("sum over the mailbox", f"torch.sum({x}, dim=1)", 6 * mail.bound),
            ("sum over the mailbox", f"{x}.sum(dim=1, keepdim=True).squeeze(1)", 6 * mail.bound),
            ("sum over the mailbox", f'torch.einsum("nk{kept}->n{kept}", {x})', 6 * mail.bound),
            ("mean over the mailbox", f"{x}.mean(1)", mail.bound),
            ("mean over the mailbox", f"torch.mean({x}, 1)", mail.bound),
            ("the degree in arithmetic", f"{x}.sum(1) / {degree}", mail.bound),
            ("the degree in arithmetic", f"{x}.sum(1) * (1 / {degree})", mail.bound),
            ("the degree in arithmetic", f"{x}.sum(1) / {degree} ** 0.5", 3 * mail.bound),
            ("the degree in arithmetic", f"{x}.sum(1) / (1 + {degree})", mail.bound),
            ("the degree in arithmetic", f"{x}.mean(1) + 0.1 * {degree}", mail.bound + 2),
            ("logsumexp", f"torch.logsumexp({x}, 1)", mail.bound + 4),
            ("var", f"{x}.var(1, unbiased=False)", mail.bound**2),
            ("var", f"(({x} - {x}.mean(1, keepdim=True)) ** 2).mean(1)", mail.bound**2),
        ])  # fmt: skip
        if feature == "var":
            nature = "smooth"
        if feature == "sum over the mailbox" and "einsum" not in text:
            nature = mail.nature
        self.case.note(feature)
        self.emit(text, "rows", mail.shape, nature=nature, bound=bound)
        return True

    def over_mailbox_all(self) -> bool:
        """Sums over messages and columns together, or over what follows the rows."""
        mail = self.pick(("mail",), least=1)
        if mail is None or len(mail.shape) > 1:
            return False
        x = mail.name
        self.case.note("sum over messages and columns")
        text = self.rng.choice([
            f"{x}.mean((1, 2))",
            f"{x}.sum(dim=(1, 2)) / {x}.shape[1]",
            f"{x}.flatten(1).mean(1)",
            f"{x}.reshape({x}.size(0), -1).mean(-1)",
            f"{x}.view({self.rows()}, -1).mean(1)" if f"{x} = " in self._contiguous() else f"{x}.mean(2).mean(1)",
        ])  # fmt: skip
        self.emit(text, "rows", (), nature=_after_rounding(mail.nature), bound=3 * mail.bound)
        return True

    def _contiguous(self) -> str:
        """The statements that read the mailbox itself, of which ``view`` can be taken."""
        lines = [line for statement in self.statements for line in statement.lines]
        return "\n".join(line for line in lines if "= nodes.mailbox[" in line)

    def flat_mailbox(self) -> bool:
        """``view(mailbox.size(0), -1)`` and back, as tree-LSTMs have it."""
        mail = self.pick(("mail",), least=1)
        if mail is None or len(mail.shape) > 1:
            return False
        x = mail.name
        self.case.note("view(size(0), -1) and back")
        text = self.rng.choice([
            f"torch.sigmoid({x}.reshape({x}.size(0), -1)).view(*{x}.size())",
            f"torch.sin({x}.reshape({self.rows()}, -1)).view({x}.size())",
            f"torch.tanh({x}.reshape({x}.shape[0], {x}.shape[1] * {mail.shape[0]})).view({x}.shape)",
            f"torch.cos({x}.flatten(1)).reshape({x}.shape[0], -1, {mail.shape[0]})",
        ])  # fmt: skip
        self.emit(text, "mail", mail.shape, nature=_after_rounding(mail.nature), bound=1.0)
        return True

    def extreme_over_mailbox(self) -> bool:
        mail = self.pick(("mail",), kinked=True)
        if mail is None:
            return False
        grids = [value for value in self.values if value.axes == "mail" and value.nature == "grid"]
        if grids and self.rng.random() < 0.5:
            mail = self.rng.choice(grids)
        x = mail.name
        if self.rng.random() < 0.2:
            self.case.note("relu before amax")
            x = f"torch.relu({x})"
        text = self.rng.choice([
            f"{x}.max(1).values",
            f"{x}.max(1)[0]",
            f"torch.max({x}, dim=1)[0]",
            f"{x}.min(1).values",
            f"{x}.amax(1)",
            f"{x}.amin(dim=1)",
        ])  # fmt: skip
        self.case.note("amax or amin over the mailbox" if ".am" in text else "max or min over the mailbox")
        if mail.nature == "grid":
            self.case.note("max with real ties")
        self.emit(text, "rows", mail.shape, nature=mail.nature, bound=mail.bound)
        return True

    def softmax_over_mailbox(self) -> bool:
        mail = self.pick(("mail",))
        if mail is None:
            return False
        x = mail.name
        self.case.note("softmax over the mailbox")
        text = self.rng.choice([f"torch.softmax({x}, 1)", f"F.softmax({x}, dim=1)", f"{x}.softmax(1)"])
        # With equal messages, or with one, it is a constant but for rounding.
        self.emit(text, "mail", mail.shape, nature="smooth", bound=1.0)
        return True

    def attention(self) -> bool:
        """A node's query, keys and contents of its messages."""
        mail = self.pick(("mail",), least=1)
        own = self.pick(("rows",), least=1)
        if mail is None or own is None or len(mail.shape) > 1 or len(own.shape) > 1:
            return False
        width = self.case.width()
        query = self.mapped(own.name, "rows", own.shape[0], width)
        keys = self.mapped(mail.name, "mail", mail.shape[0], width)
        contents = self.rng.choice([mail.name, self.mapped(mail.name, "mail", mail.shape[0], mail.shape[0])])
        vector = self.case.parameter("vector", width)
        number = f"{self.argument[0]}{len(self.statements)}"
        text, lines = self.rng.choice([
            (f"({number}w * ({contents})).sum(1)", [
                f"{number}w = (({query}).unsqueeze(1) * ({keys})).sum(-1, keepdim=True) / {width} ** 0.5",
                f"{number}w = torch.softmax({number}w, 1)",
            ]),
            (f"torch.bmm({number}w, {contents}).squeeze(1)", [
                f"{number}w = torch.bmm(({query}).unsqueeze(1), ({keys}).transpose(1, 2))",
                f"{number}w = torch.softmax({number}w / math.sqrt({width}), -1)",
            ]),
            (f'torch.einsum("nk,nkd->nd", {number}w, {contents})', [
                f'{number}w = torch.einsum("nd,nkd->nk", {query}, {keys})',
                f"{number}w = torch.softmax({number}w, -1)",
            ]),
            (f"({number}w.unsqueeze(-1) * ({contents})).sum(1)", [
                f"{number}w = torch.tanh(({query}).unsqueeze(1) + ({keys})) @ {vector}",
                f"{number}w = F.softmax({number}w, dim=1)",
            ]),
        ])  # fmt: skip
        self.case.note("attention over the mailbox")
        nature = _after_rounding(_of_both(mail, own))
        self.emit(text, "rows", mail.shape, nature=nature, bound=2 * mail.bound, before=lines)
        return True

    def attention_between_messages(self) -> bool:
        mail = self.pick(("mail",), least=1)
        if mail is None or len(mail.shape) > 1:
            return False
        self.case.note("attention between messages")
        x = mail.name
        number = f"{self.argument[0]}{len(self.statements)}"
        scores = f"{number}w = torch.softmax({x} @ {x}.transpose(1, 2), -1)"
        self.emit(f"({number}w @ {x})", "mail", mail.shape, nature="smooth", bound=mail.bound, before=[scores])
        return True

    def some_messages(self) -> bool:
        """The first, the last, all but the first."""
        mail = self.a_mail()
        if mail is None:
            return False
        x = mail.name
        text = self.rng.choice(
            [f"{x}[:, 0]", f"{x}[:, -1]", f"{x}[:, 1:].sum(1)", f"{x}[:, :1].squeeze(1)", f"{x}.select(1, 0)"]
        )
        if self.rng.random() < 0.3:
            degree = self.degree()
            text = self.rng.choice([
                f"{x}[:, {degree} - 1]",
                f"{x}[:, {degree} // 2]",
                f"{x}[:, : {degree} // 2 + 1].sum(1)",
                f"{x}[:, -min({degree}, 2) :].mean(1)",
            ])  # fmt: skip
            self.case.note("an index by the degree")
        self.case.note("some of the messages")
        self.emit(text, "rows", mail.shape, nature=mail.nature, bound=mail.bound * (6 if "sum" in text else 1))
        return True

    def padded_mailbox(self) -> bool:
        """The first messages side by side, with zeros where there are fewer, as N-ary cells have it."""
        mail = self.pick(("mail",), least=1)
        if mail is None or len(mail.shape) > 1:
            return False
        x = mail.name
        width = mail.shape[0]
        self.case.note("padded to some messages")
        to = self.case.width()
        few = f"{self.argument[0]}{len(self.statements)}w"
        lines = [
            f"{few} = {x}[:, :2].flatten(1)",
            f"{few} = torch.cat([{few}, {few}.new_zeros({self.rows()}, {2 * width} - {few}.shape[1])], 1)",
        ]
        text = f"{self.case.parameter('linear', 2 * width, to)}({few})"
        self.emit(text, "rows", (to,), nature=_after_rounding(mail.nature), bound=2 * mail.bound, before=lines)
        return True

    def branch_on_degree(self) -> bool:
        mail = self.a_mail()
        if mail is None:
            return False
        rng = self.rng
        x = mail.name
        degree = self.degree()
        texts = rng.sample([
            f"{x}[:, 0]",
            f"{x}.mean(1)",
            f"torch.tanh({x}.sum(1))",
            f"{x}[:, -1] * 0.5",
            f"({x} * {x}).mean(1)",
            f"torch.logsumexp({x}, 1)",
        ], 3)  # fmt: skip
        name = f"{self.argument[0]}{len(self.statements)}"
        condition = rng.choice([
            f"{degree} == 1", f"{degree} > 3", f"{degree} < 2", f"{degree} != 2", f"{degree} >= 4",
            f"1 < {degree} <= 3", f"{degree} in (1, 2)", f"{degree} > 10", f"{degree} == 7", f"{degree} % 2",
        ])  # fmt: skip
        self.case.note("a branch on the degree")
        if rng.random() < 0.3:
            text = f"{texts[0]} if {condition} else {texts[1]}"
            self.emit(text, "rows", mail.shape, nature="smooth", bound=mail.bound + 2)
            return True
        lines = [f"if {condition}:", f"    {name} = {texts[0]}"]
        if rng.random() < 0.3:
            self.case.note("three branches")
            lines += [f"elif {degree} == {rng.choice([2, 3])}:", f"    {name} = {texts[2]}"]
        lines += ["else:", f"    {name} = {texts[1]}"]
        value = Value(name=name, axes="rows", shape=mail.shape, nature="smooth", bound=mail.bound**2 + 2)
        self.append(Statement(tuple(lines), value), [value])
        if value.bound > 8:
            self.squashed(value)
        return True

    def branch_that_skips(self) -> bool:
        """``if`` without ``else``: a value of rows, changed for some degrees."""
        rows = self.pick(("rows",))
        degree = self.degree()
        if rows is None or degree is None:
            return False
        self.case.note("a branch on the degree")
        name = f"{self.argument[0]}{len(self.statements)}"
        change = self.rng.choice([f"{name} = {name} * 0.5", f"{name} = torch.tanh({name} + 0.5)", f"{name} = -{name}"])
        condition = self.rng.choice([f"{degree} > 1", f"{degree} == 2", f"not {degree} > 3"])
        after = [f"if {condition}:", f"    {change}"]
        self.emit(rows.name, "rows", rows.shape, nature="smooth", bound=rows.bound + 1, after=after)
        return True

    def branch_on_rows(self) -> bool:
        """A branch on the number of rows, both of whose ways mean the same."""
        value = self.pick(("rows",))
        if value is None:
            return False
        x = value.name
        count = self.rng.choice([f"len({self.argument})", f"{self.argument}.batch_size()", f"{x}.shape[0]"])
        condition = self.rng.choice([f"{count} == 1", f"{count} > 2", f"{count}"])
        self.case.note("a branch on the number of rows")
        self.emit(
            f"{x} * 2 if {condition} else {x} + {x}", "rows", value.shape, nature=value.nature, bound=2 * value.bound
        )
        return True

    def branch_on_fields(self) -> bool:
        """A branch on the fields that are there, always taken."""
        value = self.pick(("rows",))
        if value is None:
            return False
        frame = "edges.src" if self.name == "message" else "nodes.data"
        condition = self.rng.choice([f"len({frame})", f'"h" in {frame}', f"len({frame}) > 1", f'"none" not in {frame}'])
        self.case.note("a branch on the fields")
        x = value.name
        text = f"torch.tanh({x}) if {condition} else {x}"
        self.emit(text, "rows", value.shape, nature=_after_rounding(value.nature), bound=1.0)
        return True

    def loop_over_messages(self) -> bool:
        mail = self.a_mail()
        degree = self.degree()
        if mail is None or degree is None:
            return False
        self.case.note("a loop over range(degree)")
        x = mail.name
        name = f"{self.argument[0]}{len(self.statements)}"
        k = f"k{len(self.statements)}"
        step = self.rng.choice([
            f"{name} = torch.tanh(0.5 * {name} + {x}[:, {k}])",
            f"{name} = {name} * 0.5 + torch.sigmoid({x}[:, {k}])",
            f"{name} = {name} + {x}[:, {k}] / ({k} + 1)",
        ])  # fmt: skip
        start = self.rng.choice([f"torch.zeros_like({x}[:, 0])", f"{x}[:, 0]"])
        after = [f"for {k} in range({degree}):", f"    {step}"]
        self.emit(start, "rows", mail.shape, nature="smooth", bound=6 * mail.bound, after=after)
        return True

    def number_of_degree(self) -> bool:
        """The degree as a plain number: math, float, arange."""
        rows = self.pick(("rows",))
        mail = self.a_mail()
        degree = self.degree()
        if rows is None or mail is None or degree is None:
            return False
        y = rows.name
        self.case.note("the degree as a plain number")
        text = self.rng.choice([
            f"{y} / math.sqrt({degree})",
            f"{y} * math.log({degree} + 1)",
            f"{y} * (float({degree}) ** -0.5)",
            f"{y} * min({degree}, 3)",
            f"{y} * [0.25, 0.5, 0.75, 1.0][min({degree}, 3)]",
            f"{y} * {{1: 0.5, 2: 0.25}}.get({degree}, 0.75)",
            f"{y} / max({degree}, 2)",
        ])  # fmt: skip
        self.emit(text, "rows", rows.shape, nature=_after_rounding(rows.nature), bound=4 * rows.bound)
        return True

    def unpacked_sizes(self) -> bool:
        """Rows, degree and width of messages under names of their own."""
        mail = self.pick(("mail",), least=1)
        if mail is None or len(mail.shape) > 1:
            return False
        x = mail.name
        number = len(self.statements)
        rows, degree, width = f"rows{number}", f"degree{number}", f"width{number}"
        self.case.note("sizes under names of their own")
        text, axes = self.rng.choice([
            (f"torch.tanh({x}.reshape({rows} * {degree}, {width})).view({rows}, {degree}, {width})", "mail"),
            (f"{x}.sum(1) / {degree}", "rows"),
            (f"{x}.mean(1) * (0.5 if {degree} > 2 else 1.5)", "rows"),
            (f"({x}.sum(1) / ({degree} * {width})).reshape({rows}, {width})", "rows"),
        ])  # fmt: skip
        before = [f"{rows}, {degree}, {width} = {x}.{self.rng.choice(['shape', 'size()'])}"]
        nature = _after_rounding(mail.nature)
        self.emit(text, axes, mail.shape, nature=nature, bound=1.5 * mail.bound, before=before)
        return True

    def rank_of_messages(self) -> bool:
        """Messages weighted by where they stand."""
        mail = self.pick(("mail",))
        if mail is None or len(mail.shape) != 1:
            return False
        x = mail.name
        self.case.note("arange over the mailbox")
        rank = f"torch.arange(1, {x}.shape[1] + 1, dtype={x}.dtype, device={x}.device).view(1, -1, 1)"
        self.emit(f"{x} / {rank}", "mail", mail.shape, nature=_after_rounding(mail.nature), bound=mail.bound)
        return True

    def changed_in_place(self) -> bool:
        """A fresh value, changed as users change it; what was saved for gradients is left alone."""
        value = self.pick()
        if value is None:
            return False
        rng = self.rng
        x = value.name
        alike = [each for each in self.values if each.has_type_of(value)]
        other = rng.choice(alike)
        y = other.name
        parts = alike
        lines: list[str] = []
        start = rng.choice([f"{x}.clone()", f"{x} + 0.25", f"torch.zeros_like({x})", f"0.5 * {x}"])
        kinds = ["+=", "*=", "add_", "fill"]
        if value.shape and value.shape[-1] > 1:
            kinds += ["[...] +=", "[...] +=", "[...] =", "[...] =", "[:, ...] +="]
        if all(each.nature == "random" for each in parts):
            kinds.append("relu_")
        for kind in rng.sample(kinds, rng.choice([1, 1, 2])):
            width = value.shape[-1] if value.shape else 1
            a = rng.randrange(width)
            b = rng.randrange(a + 1, width + 1)
            colons = ":, :, " if value.axes == "mail" else ":, "
            cut = f"{colons}{a}:{b}" if len(value.shape) == 1 else f"..., {a}:{b}"
            lines.append({
                "+=": f"{{}} += {y}",
                "*=": "{} *= 0.75",
                "add_": f"{{}}.add_({y}, alpha=0.5)",
                "fill": f"{{}}.sub_({y})" if "zeros" not in start else f"{{}}.copy_({y})",
                "[...] +=": f"{{}}[{cut}] += {y}[{cut}]",
                "[...] =": f"{{}}[{cut}] = {y}[{cut}]",
                "[:, ...] +=": f"{{}}[{cut}] += 0.5",
                "relu_": "{}.relu_()",
            }[kind])  # fmt: skip
            if kind == "relu_":
                break
        self.case.note("relu_" if "relu_" in "".join(lines) else "a value changed in place")
        if "] " in "".join(lines):
            self.case.note("columns changed in place")
        if "zeros" in start:
            self.case.note("zeros, then filled")
        bound = value.bound + 2 * other.bound + 1
        self.emit(
            start,
            value.axes,
            value.shape,
            nature="smooth" if "relu_" not in "".join(lines) else "random",
            bound=bound,
            after=lines,
        )
        return True

    def field_written(self) -> bool:
        """A field of the batch, written and read again."""
        value = self.pick(("rows",))
        if value is None:
            return False
        frame = "edges.src" if self.name == "message" else "nodes.data"
        key = self.rng.choice(["buffer", "h", "x"])
        self.read |= {f"src {key}", f"data {key}"}
        self.case.note("a field of the batch written")
        before = [f'{frame}["{key}"] = {value.name}']
        if self.rng.random() < 0.3:
            before.append(f'{frame}["{key}"] = {frame}["{key}"] * 0.5')
        self.emit(f'{frame}["{key}"]', "rows", value.shape, nature=value.nature, bound=value.bound, before=before)
        return True

    def whole_numbers(self) -> bool:
        """Embeddings, comparisons and arithmetic of whole numbers."""
        suited = [value for value in self.values if value.dtype == "int"]
        if not suited:
            return False
        value = self.rng.choice(suited)
        t = value.name
        width = self.case.width()
        axes = value.axes
        kind = self.rng.choice(["embedding", "embedding", "arithmetic", "where", "mask", "double", "one_hot", "max"])
        if kind == "embedding":
            self.case.note("an embedding")
            table = self.case.parameter("embedding", TOKENS, width)
            self.emit(self.rng.choice([f"{table}({t})", f"F.embedding({t}, {table}.weight)"]), axes, (width,))
        elif kind == "arithmetic":
            self.case.note("arithmetic of whole numbers")
            texts = [f"({t} + 2) % {TOKENS}", f"{TOKENS - 1} - {t}", f"{t}.clamp(max=2)", f"{t} // 2"]
            if degree := self.degree():
                texts += [f"({t} + {degree}) % {TOKENS}", f"({t} * {degree}) % {TOKENS}"]
            self.emit(self.rng.choice(texts), axes, (), "int")
        elif kind == "where":
            alike = [
                each for each in self.values if each.axes == axes and len(each.shape) == 1 and each.dtype == "float"
            ]
            if not alike:
                return False
            a = self.rng.choice(alike)
            others = [each for each in alike if each.has_type_of(a)]
            b = self.rng.choice(others)
            self.case.note("where by whole numbers")
            condition = self.rng.choice([f"{t} > 1", f"{t} == 2", f"({t} < 3) | ({t} == 4)"])
            text = f"torch.where(({condition}).unsqueeze(-1), {a.name}, {b.name})"
            self.emit(text, axes, a.shape, nature="smooth", bound=max(a.bound, b.bound))
        elif kind == "mask":
            self.case.note("where by whole numbers")
            text = self.rng.choice([f"({t} == 1).double()", f"({t} > 2).to(torch.float64)", f"({t} != 0) * 0.5"])
            text = f"({text}).double()" if "* 0.5" in text else text
            self.emit(text, axes, (), nature="smooth", bound=1.0)
        elif kind == "double":
            self.case.note("arithmetic of whole numbers")
            self.emit(f"{t}.double() * 0.25", axes, (), nature="smooth", bound=1.0)
        elif kind == "one_hot":
            self.case.note("one_hot")
            self.emit(f"F.one_hot({t}, {TOKENS}).double()", axes, (TOKENS,), nature="smooth", bound=1.0)
        elif axes == "mail":
            self.case.note("max of whole numbers")
            self.emit(self.rng.choice([f"{t}.max(1).values", f"{t}.amax(1)", f"{t}[:, 0]"]), "rows", (), "int")
        else:
            return False
        return True

    def recurrent_cell(self) -> bool:
        """A GRU, LSTM or RNN cell of two values of rows."""
        a = self.pick(("rows",), least=1)
        b = self.pick(("rows",), least=1)
        if a is None or b is None or len(a.shape) > 1 or len(b.shape) > 1:
            return False
        kind = self.rng.choice(["gru", "lstm", "rnn"])
        self.case.note({"gru": "GRUCell", "lstm": "LSTMCell", "rnn": "RNNCell"}[kind])
        cell = self.case.parameter(kind, a.shape[0], b.shape[0])
        nature = _after_rounding(_of_both(a, b))
        text = f"{cell}({a.name}, {b.name})"
        if kind == "lstm":
            text = f"{cell}({a.name}, ({b.name}, {b.name} * 0.5))[{self.rng.choice([0, 1])}]"
        self.emit(text, "rows", b.shape, nature=nature, bound=b.bound + 1)
        return True

    def constant_of_rows(self) -> bool:
        """A vector of parameters in every row."""
        width = self.case.width()
        vector = self.case.parameter("vector", width)
        self.case.note("a vector of parameters")
        text = self.rng.choice([
            f"{vector}.expand({self.rows()}, -1)",
            f"{vector}.unsqueeze(0).repeat({self.rows()}, 1)",
            f"torch.sigmoid({vector}).unsqueeze(0).expand({self.rows()}, {width})",
        ])  # fmt: skip
        self.emit(text, "rows", (width,), nature="smooth", bound=2.0)
        return True

    def constant(self) -> bool:
        """A value of no field and no parameter."""
        value = self.pick(least=1)
        if value is None:
            return False
        x = value.name
        width = value.shape[-1]
        numbers = ", ".join(str(self.rng.choice([-0.5, 0.25, 0.5, 1.0])) for _ in range(width))
        self.case.note("a constant")
        texts = [
            f"{x} * torch.tensor([{numbers}], dtype=torch.float64)",
            f"{x} + {x}.new_tensor([{numbers}])",
            f"{x} - 0.5 * torch.ones_like({x})",
            f"{x} + torch.full_like({x}, 0.25)",
        ]
        if value.axes == "rows" and len(value.shape) == 1:
            texts.append(f"{x} + torch.ones({self.rows()}, {width}, dtype=torch.float64)")
            texts.append(f"{x} - torch.full(({self.rows()}, 1), 0.5, dtype=torch.float64)")
            texts.append(f"{x} + {x}.new_zeros({self.rows()}, {width})")
        nature = _after_rounding(value.nature)
        self.emit(self.rng.choice(texts), value.axes, value.shape, nature=nature, bound=value.bound + 1)
        return True


def _after_rounding(nature: str) -> str:
    """The nature of a value that an operation with rounding makes."""
    return "smooth" if nature == "grid" else nature


def _of_both(a: Value, b: Value) -> str:
    """The nature of a sum or product: ties of one may survive in it."""
    return "random" if a.nature == b.nature == "random" else "smooth"


OPERATIONS = {
    "another_field": 3,
    "elementwise": 16,
    "kinked": 6,
    "binary": 14,
    "extreme_of_two": 3,
    "where": 4,
    "linear_map": 9,
    "product_of_values": 3,
    "joined": 5,
    "parted": 4,
    "sliced": 3,
    "turned": 5,
    "over_columns": 6,
    "extreme_over_columns": 2,
    "over_mailbox_sum": 10,
    "over_mailbox_all": 1.5,
    "flat_mailbox": 2,
    "extreme_over_mailbox": 5,
    "softmax_over_mailbox": 2,
    "attention": 4,
    "attention_between_messages": 0.7,
    "some_messages": 3,
    "padded_mailbox": 1,
    "branch_on_degree": 2,
    "branch_that_skips": 1,
    "branch_on_rows": 0.3,
    "branch_on_fields": 0.7,
    "loop_over_messages": 0.5,
    "number_of_degree": 0.5,
    "unpacked_sizes": 1,
    "rank_of_messages": 0.4,
    "changed_in_place": 5,
    "field_written": 1.5,
    "whole_numbers": 8,
    "recurrent_cell": 2,
    "constant_of_rows": 2,
    "constant": 2,
}
"""Methods that draw operations, and how often."""

FEATURES = (
    # graphs and fields
    *("dag", "chain", "no edges", "one node", "several components", "several edges between two nodes"),
    *("a degree above 10", "a node without edges", "a field of two axes", "a field of whole numbers"),
    *("a field with ties and gradients", "a field of the edges", "a field of the edge's target"),
    # kinds of functions
    *("apply", "no apply", "copy_u", "u_mul_e and the like", "a built-in reduce function", "several messages"),
    *(
        "a message of whole numbers",
        "several states",
        "a new field",
        "an input that is written",
        "a parameter without gradients",
        "a state of whole numbers",
    ),
    "a field that only nodes with messages have",
    # elementwise
    *("add", "sub", "mul", "div", "lerp", "square", "numbers in arithmetic", "tanh", "sigmoid", "exp", "elu", "silu"),
    *("gelu", "softplus", "sqrt", "log", "sin or cos", "relu", "leaky_relu", "abs", "clamp", "hardtanh"),
    *("maximum or minimum", "where or masked_fill"),
    # parameters and products
    *("nn.Linear", "F.linear", "a product with a bare matrix", "einsum", "a function of parameters alone"),
    *("a vector of parameters", "a constant", "a linear map of two axes", "products of values with values"),
    *("GRUCell", "LSTMCell", "RNNCell", "an embedding"),
    # shapes
    *("cat", "stack", "chunk", "split", "unbind", "slices", "select", "unsqueeze or squeeze", "transpose", "permute"),
    *("view, reshape or flatten", "repeat of columns", "a view that joins rows and messages"),
    *("view(size(0), -1) and back", "size(0) as an axis", "len(nodes) or batch_size() as an axis"),
    # over columns
    *("sum over columns", "mean over columns", "norm", "softmax over columns", "layer norm", "var", "logsumexp"),
    "max or min over columns",
    # over the mailbox
    *("sum over the mailbox", "mean over the mailbox", "max or min over the mailbox", "amax or amin over the mailbox"),
    *("relu before amax", "max with real ties", "softmax over the mailbox", "attention over the mailbox"),
    *("attention between messages", "sum over messages and columns", "some of the messages", "padded to some messages"),
    *("a node's value with its messages", "expand along the mailbox", "repeat along the mailbox", "expand_as"),
    # the degree and the number of rows
    *(
        "the degree in arithmetic",
        "the degree as a plain number",
        "an index by the degree",
        "sizes under names of their own",
        "arange over the mailbox",
        "a branch on the degree",
    ),
    *("three branches", "a loop over range(degree)", "a branch on the number of rows", "a branch on the fields"),
    # changes in place
    *("a value changed in place", "columns changed in place", "zeros, then filled", "relu_"),
    *("a field changed in place", "a field of the batch written"),
    # whole numbers
    *("arithmetic of whole numbers", "where by whole numbers", "one_hot", "max of whole numbers"),
)
"""What a case may have, as ``DrawnCase.features`` calls it."""
