"""Functions that each have one feature of what people write, on one DAG of in-degrees 0 to 6, in float64."""

import random
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from interpreter import interpret
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812, as torch has it

import dgltree
from dgltree.engine.compiled.catalogue import Catalogue
from dgltree.engine.compiled.tensors import NotAProgramError
from dgltree.engine.frontiers import topo_plan
from dgltree.engine.kernels.dispatch import kernels
from dgltree.engine.message_graph import open_graph

H = 8
NODES = 60
Fields = dict[str, Tensor]


class BuiltIn(NamedTuple):
    """As DGL's built-in functions, which are taken by their names."""

    name: str
    in_field: str = ""
    out_field: str = ""
    lhs_field: str = ""
    rhs_field: str = ""
    msg_field: str = ""


class Net(nn.Module):
    """Layers that the functions share."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.q = (nn.Linear(H, H) for _ in range(3))
        self.gru, self.lstm, self.rnn = nn.GRUCell(H, H), nn.LSTMCell(H, H), nn.RNNCell(H, H, nonlinearity="relu")
        self.norm, self.batch_norm = nn.LayerNorm(H), nn.BatchNorm1d(H)
        self.embedding = nn.Embedding(9, H, padding_idx=0)
        self.matrix = nn.Parameter(torch.randn(H, H) / 3)
        self.heads = nn.Parameter(torch.randn(2, 4, 4) / 2)
        self.scale, self.shift = nn.Parameter(torch.ones(1)), nn.Parameter(torch.randn(H) / 3)
        self.score = nn.Linear(2 * H, 1)
        self.odd, self.wide, self.gates = nn.Linear(H, 3 + H + 5), nn.Linear(3 * H, H), nn.Linear(H, 4 * H)
        self.sequence = nn.LSTM(H, H, batch_first=True)
        self.dropout = nn.Dropout(0.5)


torch.manual_seed(0)
NET = Net().double()
NET.batch_norm.eval()


def drawn_graph(nodes: int = NODES, seed: int = 1) -> tuple[Tensor, Tensor]:
    """(E,) each: sources and targets of a DAG."""
    draw = random.Random(seed)
    pairs = [
        (source, target)
        for target in range(nodes // 4, nodes)
        for source in draw.sample(range(max(0, target - 15), target), draw.randint(0, 6))
    ]
    source, target = torch.tensor(pairs).T
    return source.contiguous(), target.contiguous()


EDGES = drawn_graph()


def fields() -> tuple[Fields, Fields]:
    """Of nodes and of edges, the same at each call; all but the tokens have gradients."""
    draw = torch.Generator().manual_seed(3)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=draw).requires_grad_()

    count = len(EDGES[0])
    nodes = {"h": drawn(NODES, H), "c": drawn(NODES, H), "x": drawn(NODES, H), "two": drawn(NODES, 2, 4)}
    nodes["token"] = torch.randint(0, 9, (NODES,), generator=draw)
    return nodes, {"weight": drawn(count, 1), "wide": drawn(count, H)}


def copy(edges: Any) -> Fields:
    return {"m": edges.src["h"]}


def summed(function: Callable[[Tensor, Any], Tensor]) -> Callable[[Any], Fields]:
    """A reduce function: a function of the sum of the messages, and of the nodes."""
    return lambda nodes: {"h": torch.tanh(function(nodes.mailbox["m"].sum(1), nodes) + nodes.data["x"])}


def each(function: Callable[[Tensor, Any], Tensor]) -> Callable[[Any], Fields]:
    """A reduce function: a function of the mailbox, (rows, degree, H) to (rows, H)."""
    return lambda nodes: {"h": torch.tanh(function(nodes.mailbox["m"], nodes) + nodes.data["x"])}


def attention(mail: Tensor, nodes: Any) -> Tensor:
    own = nodes.data["x"].unsqueeze(1).expand_as(mail)
    return (torch.softmax(NET.score(torch.cat([mail, own], -1)), 1) * NET.b(mail)).sum(1)


def dot_attention(mail: Tensor, nodes: Any) -> Tensor:
    scores = (NET.q(nodes.data["x"]).unsqueeze(1) * NET.a(mail)).sum(-1, keepdim=True) / H**0.5
    return (torch.softmax(scores, 1) * NET.b(mail)).sum(1)


def product_attention(mail: Tensor, nodes: Any) -> Tensor:
    scores = torch.bmm(NET.q(nodes.data["x"]).unsqueeze(1), mail.transpose(1, 2))
    return torch.bmm(torch.softmax(scores, -1), NET.b(mail)).squeeze(1)


def in_heads(mail: Tensor, nodes: Any) -> Tensor:
    rows = mail.sum(1).view(-1, 2, 4).transpose(0, 1)
    return torch.bmm(rows, NET.heads).transpose(0, 1).reshape(-1, H)


def long_short(nodes: Any) -> Fields:
    h, c = NET.lstm(nodes.data["x"], (nodes.mailbox["m"].sum(1), nodes.mailbox["c"].sum(1)))
    return {"h": h, "c": c}


def split_unevenly(total: Tensor, nodes: Any) -> Tensor:
    few, all_, some = NET.odd(total).split([3, H, 5], 1)
    return all_ * torch.sigmoid(few.sum(1, keepdim=True)) + some.mean(1, keepdim=True)


def padded(mail: Tensor, nodes: Any) -> Tensor:
    flat = mail.flatten(1)
    return NET.wide(torch.cat([flat, mail.new_zeros(len(flat), 6 * H - flat.shape[1])], 1)[:, : 3 * H])


def changed_in_place(nodes: Any) -> Fields:
    x = nodes.data["x"]
    x[:, 2:5] += nodes.mailbox["m"].sum(1)[:, :3]
    nodes.data["two"][:, 1].relu_()
    return {"h": torch.tanh(NET.a(x) + nodes.data["two"].flatten(1))}


def activations(total: Tensor, nodes: Any) -> Tensor:
    x = nodes.data["x"]
    return F.silu(total) + F.gelu(x) + F.gelu(x, approximate="tanh") + F.softplus(x) + F.elu(total) + F.leaky_relu(x)


def more_activations(total: Tensor, nodes: Any) -> Tensor:
    x = nodes.data["x"]
    first = F.logsigmoid(x) + torch.log1p(x * x) + torch.log(x * x + 1) + torch.sqrt(x * x + 0.1) + torch.erf(total)
    return first + torch.sin(x) * torch.cos(x) + torch.expm1(0.1 * x) + (x.abs() + 1) ** -0.5 + torch.exp(-x * x)


def extremes(mail: Tensor, nodes: Any) -> Tensor:
    x = nodes.data["x"]
    of_columns = x.max(1, keepdim=True).values - x.min(1, keepdim=True).values
    two = nodes.data["two"]
    of_few = (two.max(1).values - two.min(1).values).sum(1, keepdim=True) * torch.sign(x)
    return torch.maximum(mail.max(1).values, x) - torch.minimum(mail.min(1).values, x) + of_columns * of_few


def ties(mail: Tensor, nodes: Any) -> Tensor:
    return torch.relu(mail).amax(1) + torch.maximum(torch.relu(nodes.data["x"]), torch.zeros(1, dtype=mail.dtype))


def mapped(total: Tensor, nodes: Any) -> Tensor:
    is_late = nodes.data["token"].unsqueeze(1) > 4
    return torch.where(is_late & ~(total > 2), NET.a(total), total.masked_fill(total < 0, 0.5).clamp(-1, 2))


def by_degree(nodes: Any) -> Fields:
    mail = nodes.mailbox["m"]
    if mail.shape[1] == 1:
        return {"h": torch.tanh(NET.a(mail[:, 0]))}
    if mail.size(1) > 3:
        return {"h": torch.tanh(NET.b(mail.mean(1)))}
    return {"h": torch.tanh(mail.sum(1) / mail.shape[1] ** 0.5)}


def sorted_mailbox(mail: Tensor, nodes: Any) -> Tensor:
    return mail.sort(1).values[:, 0]


def chosen_by_a_value(nodes: Any) -> Fields:
    return {"h": nodes.mailbox["m"].sum(1) if int(nodes.data["token"][0]) else nodes.data["x"]}


def rows_of_a_mask(nodes: Any) -> Fields:
    out = torch.zeros(len(nodes), H, dtype=torch.float64)
    chosen = nodes.data["token"] > 4
    out[chosen] = NET.a(nodes.mailbox["m"].sum(1)[chosen])
    return {"h": out}


def layer_norm(nodes: Any) -> Fields:
    total = nodes.data["s"] if "s" in nodes.data else nodes.data["x"]
    return {"h": NET.norm(torch.relu(total) + nodes.data["x"])}


class Feature(NamedTuple):
    """Functions, and what the compiler makes of them."""

    message: Any
    reduce: Any
    apply: Any = None
    kind: str = "any degree"
    """``any degree``, ``by child`` (a program for each degree), ``both`` (loops over three messages and more), or the
    reason why there is none."""


def applied(function: Callable[[Tensor, Any], Tensor]) -> Callable[[Any], Fields]:
    return lambda nodes: {"h": torch.tanh(function(nodes.data["s"], nodes) + nodes.data["x"])}


FEATURES = {
    "a sum": Feature(copy, summed(lambda total, nodes: NET.a(total))),
    "a mean": Feature(copy, each(lambda mail, nodes: NET.a(mail.mean(1)))),
    "a sum by the degree": Feature(copy, each(lambda mail, nodes: mail.sum(1) / mail.shape[1])),
    "a sum by a power of the degree": Feature(copy, each(lambda mail, nodes: mail.sum(1) * mail.size(1) ** -0.5)),
    "one by the degree": Feature(copy, each(lambda mail, nodes: mail.sum(1) * (1 / mail.shape[1]))),
    "the length of a mailbox": Feature(copy, each(lambda mail, nodes: mail.sum(1) / len(mail[0]))),
    "extremes": Feature(copy, each(extremes)),
    "extremes that are equal": Feature(copy, each(ties)),
    "a layer for each message": Feature(copy, each(lambda mail, nodes: NET.a(mail).min(1)[0])),
    "attention": Feature(copy, each(attention)),
    "attention by a sum of products": Feature(copy, each(dot_attention)),
    "attention by products of matrices": Feature(copy, each(product_attention)),
    "built-in functions with weights": Feature(
        BuiltIn("u_mul_e", lhs_field="h", rhs_field="weight", out_field="m"),
        BuiltIn("sum", msg_field="m", out_field="s"),
        applied(lambda total, nodes: NET.a(total)),
    ),
    "built-in functions with an extreme": Feature(
        BuiltIn("copy_u", in_field="h", out_field="m"),
        BuiltIn("max", msg_field="m", out_field="s"),
        applied(lambda total, nodes: NET.a(total)),
    ),
    "fields of edges and targets": Feature(
        lambda edges: {"m": edges.src["h"] * torch.sigmoid(edges.data["wide"]) + edges.dst["x"]}, summed(lambda t, n: t)
    ),
    "LayerNorm": Feature(copy, lambda nodes: {"s": NET.a(nodes.mailbox["m"]).sum(1)}, layer_norm),
    "softmax and logsumexp over columns": Feature(
        copy, summed(lambda t, n: torch.softmax(t, -1) + F.log_softmax(t, -1) + t.logsumexp(1, keepdim=True))
    ),
    "GRUCell": Feature(copy, lambda nodes: {"h": NET.gru(nodes.data["x"], nodes.mailbox["m"].sum(1))}),
    "LSTMCell": Feature(lambda edges: {"m": edges.src["h"], "c": edges.src["c"]}, long_short),
    "RNNCell": Feature(copy, lambda nodes: {"h": torch.tanh(NET.rnn(nodes.data["x"], nodes.mailbox["m"].mean(1)))}),
    "BatchNorm in evaluation": Feature(copy, summed(lambda total, nodes: NET.batch_norm(NET.a(total)))),
    "a product with a parameter": Feature(
        copy, summed(lambda t, n: F.normalize(t @ NET.matrix, dim=-1) * NET.scale + NET.shift.sigmoid())
    ),
    "a function of parameters": Feature(copy, summed(lambda t, n: t @ (NET.matrix * NET.a.weight.sigmoid()).t())),
    "heads": Feature(copy, each(in_heads)),
    "an uneven split": Feature(copy, summed(split_unevenly)),
    "chunks and stacks": Feature(
        copy, summed(lambda total, nodes: torch.stack(NET.gates(total).chunk(4, 1), 1).tanh().mean(1))
    ),
    "an embedding": Feature(copy, summed(lambda total, nodes: NET.a(total) + NET.embedding(nodes.data["token"]))),
    "conditions": Feature(copy, summed(mapped)),
    "activations": Feature(copy, summed(activations)),
    "more activations": Feature(copy, summed(more_activations)),
    "an einsum": Feature(copy, each(lambda mail, nodes: torch.einsum("nkh,hd->nd", mail, NET.matrix))),
    "a variance": Feature(copy, each(lambda mail, nodes: mail.var(1, unbiased=False) + mail.norm(dim=-1).sum(1, True))),
    "positions": Feature(
        copy, each(lambda mail, nodes: (mail * torch.arange(mail.shape[1]).view(1, -1, 1)).sum(1) / 4)
    ),
    "positions from one on": Feature(
        copy,
        each(
            lambda mail, nodes: (
                (mail * torch.arange(1.0, mail.shape[1] + 1, dtype=mail.dtype).view(1, -1, 1)).sum(1) / 4
                + (mail / torch.arange(3, 3 + 2 * mail.shape[1], 2).view(1, -1, 1)).sum(1)
            )
        ),
    ),
    "fields of two axes": Feature(
        lambda edges: {"m": edges.src["two"]},
        lambda nodes: {"two": torch.tanh(nodes.mailbox["m"].sum(1) + nodes.data["two"])},
    ),
    "changes in place": Feature(copy, changed_in_place),
    "branches on the degree": Feature(copy, by_degree, kind="both"),
    "a mailbox laid side by side": Feature(copy, each(padded), kind="both"),
    "the last message": Feature(copy, each(lambda mail, nodes: NET.a(mail[:, -1]) + mail.sum(1)), kind="by child"),
    "a loop over messages": Feature(
        copy, each(lambda mail, nodes: sum(torch.sigmoid(mail[:, k]) for k in range(mail.shape[1]))), kind="both"
    ),
    "a value decides": Feature(copy, chosen_by_a_value, kind="the functions branch on the field 'token'"),
    "rows of a mask": Feature(copy, rows_of_a_mask, kind="advanced indexing"),
    "a sorted mailbox": Feature(copy, each(sorted_mailbox), kind="sort compares or accumulates"),
    "a sequence of messages": Feature(
        copy,
        lambda nodes: {"h": NET.sequence(nodes.mailbox["m"])[1][0][0]},
        kind="changes a tensor that outlives the call:",
    ),
}


class Outcome(NamedTuple):
    states: Fields
    gradients: Fields
    catalogue: Catalogue | None


def outcome(feature: Feature, how: str, given: tuple[Fields, Fields] | None = None, **options: Any) -> Outcome:
    """States and gradients of functions, by their programs as NumPy computes them ("interpreter"), or by kernels of
    a mode: torch's operations ("off"), machine code ("required").
    """
    nodes, edges = given or fields()
    leaves = {
        f"{what} {name}": column
        for what, columns in (("node", nodes), ("edge", edges))
        for name, column in columns.items()
        if column.requires_grad
    }
    leaves |= {f"parameter {name}": parameter for name, parameter in NET.named_parameters()}
    graph = (torch.stack(EDGES), dict(nodes), dict(edges))
    catalogue = None
    if how == "interpreter":
        states, catalogue = interpret(open_graph(graph), topo_plan(graph), *feature[:3])
    else:
        functions = {"message_func": feature.message, "reduce_func": feature.reduce, "apply_node_func": feature.apply}
        with kernels(how):
            states = dgltree.prop_nodes_topo(graph, **functions, **options)
    loss = sum(state.sin().sum() for state in states.values() if state.is_floating_point())
    assert isinstance(loss, Tensor)
    found = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
    gradients = {
        name: torch.zeros_like(leaf) if gradient is None else gradient
        for (name, leaf), gradient in zip(leaves.items(), found, strict=True)
    }
    return Outcome({name: state.detach() for name, state in states.items()}, gradients, catalogue)


def largest_difference(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> float:
    """The largest over all tensors, each as a part of its largest entry, or of 1 if that is below."""
    assert found.keys() == expected.keys()
    return max(
        ((found[name] - expected[name]).abs().max() / expected[name].abs().max().clamp_min(1)).item()
        for name in expected
    )


def reason(feature: Feature) -> str:
    """Why functions are no programs."""
    try:
        outcome(feature, "interpreter")
    except NotAProgramError as error:
        return str(error)
    return ""
