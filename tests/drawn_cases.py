"""A case of functions as source text: how it runs, what it means node by node, and how it is made small where it fails.

``DrawnCase.run`` gives graph, fields and functions to whatever propagates (``dgltree.prop_nodes_topo``, ``recursion``
below, a compiler) and returns states and gradients; ``difference`` compares two of these; ``minimise`` leaves out edges
and statements while a case still fails.
"""

import inspect
import linecache
import math
import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

Fields = dict[str, Tensor]
Runner = Callable[[tuple[Tensor, Tensor], Fields, Fields, Any, Any, Any], Any]
"""Gets edges, ndata, edata, message, reduce and apply, and writes states into ndata."""

# ---------------------------------------------------------------------------------------------------------------------
# What a case is.


@dataclass(frozen=True, kw_only=True)
class BuiltIn:
    """A built-in function as ``dgl.function`` makes it: a name and fields, not callable.

    ``copy_u`` and the like have ``in_field`` and ``out_field``, ``u_mul_e`` ``lhs_field``, ``rhs_field`` and
    ``out_field``, ``sum`` ``msg_field`` and ``out_field``.
    """

    name: str
    out_field: str
    in_field: str = ""
    lhs_field: str = ""
    rhs_field: str = ""
    msg_field: str = ""


@dataclass(frozen=True, kw_only=True)
class Value:
    """What the text of a function calls by a name: a tensor of one type in every run."""

    name: str
    axes: str
    """"mail": (rows, degree, *shape); "rows": (rows, *shape); "constant": shape alone, a parameter."""
    shape: tuple[int, ...]
    dtype: str = "float"
    """"float", "int" or "bool"."""
    nature: str = "random"
    """"random", "grid" or "smooth": whether a kink may follow; see the module."""
    bound: float = 2.0
    """About the largest absolute value."""

    def has_type_of(self, other: "Value") -> bool:
        return (self.axes, self.shape, self.dtype) == (other.axes, other.shape, other.dtype)


@dataclass(frozen=True)
class Statement:
    """Lines of a function that stand or fall together, and the value that they make, if any."""

    lines: tuple[str, ...]
    target: Value | None = None


@dataclass(frozen=True, kw_only=True)
class FunctionText:
    """A function as statements and the dict that it returns."""

    name: str
    argument: str
    statements: tuple[Statement, ...]
    returned: tuple[tuple[str, str], ...]
    """Keys and the names of what they hold."""

    def source(self) -> str:
        body = [line for statement in self.statements for line in statement.lines]
        entries = ", ".join(f'"{key}": {name}' for key, name in self.returned)
        body.append(f"return {{{entries}}}")
        return "\n".join([f"def {self.name}({self.argument}):", *(f"    {line}" for line in body)])


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Fields of all nodes after a pass, and gradients of one loss by fields and parameters."""

    states: Fields
    loss: Tensor
    gradients: Fields


@dataclass(frozen=True, kw_only=True)
class DrawnCase:
    """A graph, its fields, and functions for them."""

    seed: int
    edges: tuple[Tensor, Tensor]
    """Sources and targets, (E,) int64 each."""
    ndata: Fields
    edata: Fields
    parameters: dict[str, nn.Module | nn.Parameter]
    message: FunctionText | BuiltIn
    reduce: FunctionText | BuiltIn
    apply: FunctionText | None
    features: frozenset[str]
    """What occurs in it, by the names of ``FEATURES``."""
    owner: str = ""
    """"net." where functions read parameters as attributes of one module, "" where they close over each."""

    def texts(self) -> list[FunctionText]:
        return [each for each in (self.message, self.reduce, self.apply) if isinstance(each, FunctionText)]

    def source(self) -> str:
        """The text of a function that makes the functions; a traceback shows its lines."""
        words = set(re.findall(r"\w+", "\n".join(text.source() for text in self.texts())))
        names = ["net"] if self.owner else sorted(words & self.parameters.keys())
        lines = [f"def make_functions({', '.join(['torch', 'F', 'math', *names])}):"]
        for text in self.texts():
            lines += [f"    {line}" for line in text.source().split("\n")]
            lines.append("")
        made = ", ".join(f'"{text.name}": {text.name}' for text in self.texts())
        return "\n".join([*lines, f"    return {{{made}}}", ""])

    def functions(self) -> tuple[Any, Any, Any]:
        """The message, reduce and apply functions."""
        source = self.source()
        file = f"<drawn case {self.seed}, {zlib.crc32(source.encode()):08x}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        namespace: dict[str, Any] = {}
        exec(compile(source, file, "exec"), namespace)
        make_functions = namespace["make_functions"]
        net = nn.Module()
        for name, parameter in self.parameters.items():
            setattr(net, name, parameter)
        known = {"torch": torch, "F": nn.functional, "math": math, "net": net, **self.parameters}
        made = make_functions(**{name: known[name] for name in inspect.signature(make_functions).parameters})
        message = self.message if isinstance(self.message, BuiltIn) else made["message"]
        reduce = self.reduce if isinstance(self.reduce, BuiltIn) else made["reduce"]
        return message, reduce, made.get("apply")

    def named_parameters(self) -> Fields:
        found: Fields = {}
        for name, parameter in self.parameters.items():
            if isinstance(parameter, nn.Parameter):
                found[name] = parameter
            else:
                found |= {f"{name}.{part}": tensor for part, tensor in parameter.named_parameters()}
        return found

    def run(self, runner: Runner) -> Outcome:
        """States that the runner writes, and gradients of a loss that reads every float entry that was written."""
        ndata = {name: column.detach().requires_grad_(column.requires_grad) for name, column in self.ndata.items()}
        edata = {name: column.detach().requires_grad_(column.requires_grad) for name, column in self.edata.items()}
        given = dict(ndata)
        runner(self.edges, ndata, edata, *self.functions())
        generator = torch.Generator().manual_seed(self.seed)
        loss = torch.zeros((), dtype=torch.float64)
        for name in sorted(ndata):
            state = ndata[name]
            if state.is_floating_point() and state is not given.get(name):
                weight = torch.randn(state.shape, generator=generator, dtype=torch.float64)
                loss = loss + (weight * state).sum() + 0.5 * (state * state).sum()
        wanted = {f"node {name}": column for name, column in given.items() if column.requires_grad}
        wanted |= {f"edge {name}": column for name, column in edata.items() if column.requires_grad}
        parameters = self.named_parameters().items()
        wanted |= {f"parameter {name}": tensor for name, tensor in parameters if tensor.requires_grad}
        gradients: Fields = {name: torch.zeros_like(tensor) for name, tensor in wanted.items()}
        if loss.requires_grad:
            found = torch.autograd.grad(loss, list(wanted.values()), allow_unused=True, materialize_grads=True)
            gradients = dict(zip(wanted, found, strict=True))
        return Outcome(
            states={name: state.detach() for name, state in ndata.items()}, loss=loss.detach(), gradients=gradients
        )


def difference(found: Outcome, expected: Outcome) -> tuple[float, str]:
    """The largest difference of states and gradients, in units of a tensor's largest entry, and whose it is.

    A tensor whose entries are all below a thousandth of the largest state, or gradient, is measured by that: a
    gradient that is 0 but for rounding has no size of its own. Infinite where fields, shapes or dtypes differ.
    """
    worst = (0.0, "none")
    for kind in ("states", "gradients"):
        ours: Fields = getattr(found, kind)
        theirs: Fields = getattr(expected, kind)
        if ours.keys() != theirs.keys():
            return math.inf, f"{kind} of {sorted(ours)} and of {sorted(theirs)}"
        largest = max((_largest(rows) for rows in theirs.values()), default=0.0)
        for name, rows in theirs.items():
            if (ours[name].dtype, ours[name].shape) != (rows.dtype, rows.shape):
                return math.inf, f"{kind} of {name}: {ours[name].dtype} {tuple(ours[name].shape)}"
            scale = max(_largest(rows), 1e-3 * largest, 1e-300)
            off = _largest(ours[name].double() - rows.double()) / scale
            if not off <= worst[0]:
                worst = (math.inf if math.isnan(off) else off, f"{kind} of {name}")
    return worst


def _largest(rows: Tensor) -> float:
    return float(rows.detach().abs().max()) if rows.numel() else 0.0


# ---------------------------------------------------------------------------------------------------------------------
# The oracle: one node after the other, each message on its own.


class OneEdge:
    """One edge, as a message function sees it."""

    def __init__(self, src: Fields, dst: Fields, data: Fields) -> None:
        self.src = _copied(src)
        self.dst = _copied(dst)
        self.data = _copied(data)

    def __len__(self) -> int:
        return 1

    def batch_size(self) -> int:
        return 1


class OneNode:
    """One node, as a reduce or an apply function sees it."""

    def __init__(self, data: Fields, mailbox: Fields | None) -> None:
        self.data = _copied(data)
        self.mailbox = None if mailbox is None else _copied(mailbox)

    def __len__(self) -> int:
        return 1

    def batch_size(self) -> int:
        return 1


def recursion(
    edges: tuple[Tensor, Tensor], ndata: Fields, edata: Fields, message: Any, reduce: Any, apply: Any
) -> None:
    """Write states into ndata, node by node.

    A node gets its messages in the order of edge ids. Reduce is not called where there are none, except that a built-in
    one gives 0 there; apply is called at every node and reads what was reduced; only what it returns is written. A new
    field is 0 where nobody wrote it.
    """
    sources, targets = edges[0].tolist(), edges[1].tolist()
    count = len(next(iter(ndata.values())))
    nodes = [{name: column[node : node + 1] for name, column in ndata.items()} for node in range(count)]
    into: list[list[int]] = [[] for _ in range(count)]
    for edge, target in enumerate(targets):
        into[target].append(edge)
    written: Fields = {}
    for node in _in_topological_order(count, sources, into):
        sent = []
        for edge in into[node]:
            data = {name: column[edge : edge + 1] for name, column in edata.items()}
            sent.append(_message(message, OneEdge(nodes[sources[edge]], nodes[node], data)))
        reduced: Fields = {}
        if sent:
            mailbox = {name: torch.stack([each[name] for each in sent], 1) for name in sent[0]}
            reduced = _reduced(reduce, OneNode(nodes[node], mailbox))
        elif isinstance(reduce, BuiltIn):
            data = {name: column.new_zeros(1, *column.shape[1:]) for name, column in edata.items()}
            blank = _message(message, OneEdge(nodes[node], nodes[node], data))
            reduced = {reduce.out_field: torch.zeros_like(blank[reduce.msg_field])}
        if apply is not None:
            reduced = apply(OneNode({**nodes[node], **reduced}, None))
        nodes[node] = {**nodes[node], **reduced}
        written |= reduced
    for name, row in written.items():
        ndata[name] = torch.cat([fields.get(name, torch.zeros_like(row)) for fields in nodes])


def _copied(fields: Fields) -> Fields:
    return {name: rows.clone() for name, rows in fields.items()}


def _in_topological_order(count: int, sources: list[int], into: list[list[int]]) -> Iterable[int]:
    done: set[int] = set()
    pending = list(range(count))
    while pending:
        ready = [node for node in pending if all(sources[edge] in done for edge in into[node])]
        assert ready, "the graph has a cycle"
        yield from ready
        done.update(ready)
        pending = [node for node in pending if node not in done]


def _message(message: Any, edge: OneEdge) -> Fields:
    if not isinstance(message, BuiltIn):
        return message(edge)
    ends = {"u": edge.src, "v": edge.dst, "e": edge.data}
    if message.name.startswith("copy_"):
        return {message.out_field: ends[message.name[-1]][message.in_field]}
    left, operation, right = message.name.split("_")
    a = ends[left][message.lhs_field][0]
    b = ends[right][message.rhs_field][0]
    if operation == "dot":
        return {message.out_field: (a * b).sum(-1, keepdim=True).unsqueeze(0)}
    computed = {"add": a + b, "sub": a - b, "mul": a * b}[operation]
    return {message.out_field: computed.unsqueeze(0)}


def _reduced(reduce: Any, node: OneNode) -> Fields:
    if not isinstance(reduce, BuiltIn):
        return reduce(node)
    assert node.mailbox is not None
    messages = node.mailbox[reduce.msg_field]
    computed = {
        "sum": lambda: messages.sum(1),
        "mean": lambda: messages.mean(1),
        "max": lambda: messages.max(1).values,
        "min": lambda: messages.min(1).values,
    }[reduce.name]
    return {reduce.out_field: computed()}


# ---------------------------------------------------------------------------------------------------------------------
# Making a case that fails readable.


def minimise(case: DrawnCase, fails: Callable[[DrawnCase], bool]) -> DrawnCase:
    """The case with edges and statements left out while ``fails`` says that it still fails; print its ``source()``.

    Edges go first, in halves, quarters and so on. Then one statement at a time is left out, or gives its name to an
    earlier value of the same type. Cases that torch's operations refuse in the recursion do not count.
    """

    def still_fails(smaller: DrawnCase) -> bool:
        try:
            smaller.run(recursion)
        except Exception:  # whatever a function lacks whose statement is gone
            return False
        return fails(smaller)

    size = len(case.edges[0])
    while size:
        start = 0
        while start < len(case.edges[0]):
            smaller = _without_edges(case, start, start + size)
            if still_fails(smaller):
                case = smaller
            else:
                start += size
        size //= 2
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for role in ("apply", "reduce", "message"):
            number = 0
            while isinstance(text := getattr(case, role), FunctionText):
                simpler = _simpler(text, number)
                if simpler is None:
                    break
                found = next(filter(still_fails, (_with_text(case, role, each) for each in simpler)), None)
                if found is None:
                    number += 1
                else:
                    case = found
                    is_smaller = True
    return case


def _with_text(case: DrawnCase, role: str, text: FunctionText) -> DrawnCase:
    changed: dict[str, Any] = {role: text}
    return replace(case, **changed)


def _without_edges(case: DrawnCase, start: int, stop: int) -> DrawnCase:
    kept = [edge for edge in range(len(case.edges[0])) if not start <= edge < stop]
    sources, targets = case.edges
    edata = {name: column.detach()[kept].requires_grad_(column.requires_grad) for name, column in case.edata.items()}
    return replace(case, edges=(sources[kept], targets[kept]), edata=edata)


def _simpler(text: FunctionText, number: int) -> list[FunctionText] | None:
    """Texts without one part: the parts are what is returned, then statements from the last one. None after these.

    A statement is left out, or what it makes is called by the name of an earlier value of the same type.
    """
    if number < len(text.returned):
        returned = (*text.returned[:number], *text.returned[number + 1 :])
        return [replace(text, returned=returned)]
    last = len(text.statements) - 1 - (number - len(text.returned))
    if last < 0:
        return None
    before = text.statements[:last]
    after = text.statements[last + 1 :]
    texts = [replace(text, statements=(*before, *after))]
    target = text.statements[last].target
    for earlier in before:
        if target is None or earlier.target is None or not earlier.target.has_type_of(target):
            continue
        old, new = rf"\b{target.name}\b", earlier.target.name
        renamed = tuple(replace(each, lines=tuple(re.sub(old, new, line) for line in each.lines)) for each in after)
        returned = tuple((key, re.sub(old, new, name)) for key, name in text.returned)
        texts.append(replace(text, statements=(*before, *renamed), returned=returned))
    return texts
