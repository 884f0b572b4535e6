"""Neural Data Router: a Transformer whose shared layer may copy each word, and attends to the nearest match."""

from math import sqrt
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from dgltree.encoders.encoder import Encoded
from dgltree.encoders.sequence.core import SequenceCore
from dgltree.encoders.sequence.padding import check_sequences
from dgltree.engine.memory import available_bytes
from dgltree.support.arguments import check_dropout, check_size
from dgltree.support.torch_internals import exclude_from_compile

ReadAt = Literal["last", "first"]
KEPT = 17
"""Numbers that attention keeps for each pair of places and each head: 16.6 were measured, in float32 with gradients."""
COPY_BIAS = -3.0
"""First bias of the gate: at first nearly everything is copied (the paper's section 3.1)."""


class GeometricAttention(nn.Module):
    r"""Attention to the nearest match (Csordás, Irie, Schmidhuber 2022, arXiv 2110.07732, section 3.2).

    .. math::
        q_i &= W_q x_i + c, \quad k_j = drop_k(W_k x_j)\quad(1) \\
        D_i &= W_d x_i + b_d\quad(2) \\
        l_{ij} &= \alpha \langle q_i, k_j \rangle + \beta D_i[\text{side of } j] + \gamma\quad(3) \\
        A_{ij} &= \sigma(l_{ij}) \prod_{k \text{ before } j} (1 - \sigma(l_{ik}))\quad(4) \\
        Att(x)_i &= W_o \sum_j A_{ij} W_v x_j\quad(5)

    Each head has its own q, k, D, A and columns of W_v x.

    Keys come in the order i + 1, i - 1, i + 2, i - 2, ...; a place does not attend to itself, and padding takes
    nothing. Rows are not divided by their sum, which is at most 1. Products are sums of logarithms, and those over
    the keys before j differences of one cumulative sum: there is no loop over distances.

    Args:
        hidden_size: n.
        num_heads: they divide n.
        key_dropout: probability with which a number of a key is 0, in training only.

    Initialisation: U(-b, b) with b = sqrt(6/(n + n/heads)); c 0, alpha 1/sqrt(n/heads), beta 1, gamma 0.
    """

    def __init__(self, hidden_size: int, num_heads: int, key_dropout: float) -> None:
        super().__init__()
        width = hidden_size // num_heads
        self.num_heads = num_heads
        self.query = nn.Linear(hidden_size, hidden_size, bias=False)
        self.key = nn.Linear(hidden_size, hidden_size, bias=False)
        self.value = nn.Linear(hidden_size, hidden_size, bias=False)
        self.output = nn.Linear(hidden_size, hidden_size, bias=False)
        self.side = nn.Linear(hidden_size, 2 * num_heads)
        self.query_bias = nn.Parameter(torch.zeros(num_heads, width))
        self.scale = nn.Parameter(torch.tensor([1 / sqrt(width), 1.0, 0.0]))
        self.dropout = nn.Dropout(key_dropout)
        bound = sqrt(6 / (hidden_size + width))
        for part in (self.query, self.key, self.value, self.output):
            nn.init.uniform_(part.weight, -bound, bound)

    def forward(self, states: Tensor, padding: Tensor) -> tuple[Tensor, Tensor]:
        """(B, T, n) from (B, T, n) and where padding is, (B, T) bool; and the weights (B, heads, T, T)."""
        A = nearest_first(self._logits(states), padding)
        taken = A @ self._heads(self.value(states))
        side_by_side = taken.transpose(1, 2).flatten(2)
        return self.output(side_by_side), A  # (5)

    def _logits(self, states: Tensor) -> Tensor:
        """l, (B, heads, T, T)."""
        q = self._heads(self.query(states)) + self.query_bias.unsqueeze(1)  # (1)
        k = self.dropout(self._heads(self.key(states)))
        D = self._heads(self.side(states)).unsqueeze(-2)  # (2), (B, heads, T, 1, 2)
        left, right = D.unbind(-1)
        T = states.shape[1]
        is_right = torch.ones(T, T, dtype=torch.bool, device=states.device).triu(1)
        sides = torch.where(is_right, right, left)
        alpha, beta, gamma = self.scale
        return alpha * (q @ k.transpose(2, 3)) + beta * sides + gamma  # (3)

    def _heads(self, of: Tensor) -> Tensor:
        """(B, heads, T, k) of (B, T, heads k)."""
        return of.unflatten(2, (self.num_heads, -1)).transpose(1, 2)


def nearest_first(logits: Tensor, padding: Tensor) -> Tensor:
    """(B, heads, T, T): each key's probability times that no key before it was taken, the nearest first (4).

    Args:
        logits: (B, heads, T, T) of each key, in the last dimension.
        padding: (B, T) bool.
    """
    T = logits.shape[-1]
    j = torch.arange(T, device=logits.device)
    i = j.unsqueeze(1)
    offset = j - i
    barred = padding[:, None, None] | (offset == 0)
    log_taken = functional.logsigmoid(logits).masked_fill(barred, -torch.inf)
    log_passed = functional.logsigmoid(-logits).masked_fill(barred, 0.0)
    sums = functional.pad(log_passed.cumsum(-1), (1, 0))
    # Before j = i + d come the keys from i - d + 1 to i + d - 1, before j = i - d also the one at i + d.
    distance = offset.abs()
    first = (i - distance + 1).clamp(min=0)
    after = (i + distance + (offset <= 0)).clamp(max=T)
    shape = logits.shape
    log_before = sums.gather(-1, after.expand(shape)) - sums.gather(-1, first.expand(shape))
    return (log_taken + log_before).exp()


class RouterLayer(nn.Module):
    r"""One step of every word: attend, transform, and copy or write by a gate (sections 3.1 and 3.2).

    .. math::
        u &= LN(x + drop(Att(x)))\quad(6) \\
        f &= LN(W_2 drop(relu(W_1 u + b_1)) + b_2)\quad(7) \\
        g &= m \sigma(G_2 drop(relu(G_1 u + c_1)) + c_2)\quad(8) \\
        x' &= (1 - g) x + g f\quad(9)

    In training m is 0 for all of a place with the probability ``gate_dropout``, without rescaling; else it is 1.

    Initialisation: weights U with the bound gain sqrt(6/(fan in + fan out)), gain sqrt 2 of W_1 and G_1, 5/3 of W_2
    and 1 of G_2; c_2 -3, other biases as torch's.
    """

    def __init__(
        self, hidden_size: int, num_heads: int, width: int, dropout: float, key_dropout: float, gate_dropout: float
    ) -> None:
        super().__init__()
        self.attention = GeometricAttention(hidden_size, num_heads, key_dropout)
        self.attended = nn.LayerNorm(hidden_size)
        self.written = nn.LayerNorm(hidden_size)
        self.dropout = nn.Dropout(dropout)
        self.gate_dropout = gate_dropout
        self.update = self._two(hidden_size, width, 5 / 3)
        self.gate = self._two(hidden_size, hidden_size, 1.0)
        last = self.gate[-1]
        assert isinstance(last, nn.Linear)
        nn.init.constant_(last.bias, COPY_BIAS)

    def _two(self, hidden_size: int, width: int, gain: float) -> nn.Sequential:
        first = nn.Linear(hidden_size, width)
        second = nn.Linear(width, hidden_size)
        nn.init.xavier_uniform_(first.weight, sqrt(2))
        nn.init.xavier_uniform_(second.weight, gain)
        return nn.Sequential(first, nn.ReLU(), self.dropout, second)

    def forward(self, states: Tensor, padding: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """States (B, T, n), gates (B, T, n) and attention (B, heads, T, T)."""
        attended, weights = self.attention(states, padding)
        u = self.attended(states + self.dropout(attended))  # (6)
        g = self.gate(u).sigmoid()  # (8)
        if self.training and self.gate_dropout:
            m = torch.rand_like(g[..., :1]) >= self.gate_dropout
            g = g * m
        f = self.written(self.update(u))  # (7)
        return (1 - g) * states + g * f, g, weights  # (9)


class RouterSteps(NamedTuple):
    """The results of B sequences."""

    root: Tensor
    """(B, n)"""
    gates: list[Tensor]
    """(B, T + 2) of each step if they are traced, the mean over n."""
    attention: list[Tensor]
    """(B, heads, T + 2, T + 2) of each step, likewise."""


class SequenceNeuralDataRouter(SequenceCore):
    """The state of the last or first place after a shared layer was run some times (Csordás et al. 2022, 2110.07732).

    Each sequence gets a start and an end of its own, and no positions: order is known from attention alone. The
    layer is a :class:`RouterLayer`.

    ``encoded(..., trace=True)`` gives ``gates`` (B, steps, T + 2), the mean over n, and ``attention``
    (B, steps, heads, T + 2, T + 2) in evaluation, start and end included.

    Args:
        size: the number of ids.
        hidden_size: n.
        num_layers: how often the layer is run in training; about the depth of the trees, or more.
        test_layers: and in evaluation; None: as often.
        num_heads: of the attention; they divide n.
        feedforward_size: width of the update; None: 2 n.
        dropout, key_dropout: probabilities, of hidden numbers and of what is attended to, and of numbers of keys.
        gate_dropout: probability with which a place is copied, whatever its gate says, in training only.
        read_at: the place whose state is the vector, the end ("last") or the start ("first").
        max_length: of a sequence; None: any. Time and memory grow with its square.

    Initialisation: embeddings N(0, 1), else as in the layer.

    Raises ``ValueError`` for a size below 1, heads that do not divide n, a dropout outside of 0 to below 1, another
    ``read_at``, and for sequences whose attention would not fit into memory.
    """

    def __init__(
        self,
        size: int,
        hidden_size: int,
        *,
        num_layers: int = 12,
        test_layers: int | None = None,
        num_heads: int = 4,
        feedforward_size: int | None = None,
        dropout: float = 0.0,
        key_dropout: float = 0.0,
        gate_dropout: float = 0.0,
        read_at: ReadAt = "last",
        max_length: int | None = None,
    ) -> None:
        options = {
            "num_layers": num_layers,
            "test_layers": test_layers,
            "num_heads": num_heads,
            "feedforward_size": feedforward_size,
            "dropout": dropout,
            "key_dropout": key_dropout,
            "gate_dropout": gate_dropout,
            "read_at": read_at,
        }
        super().__init__(size, max_length, hidden_size=hidden_size, **options)
        width = 2 * hidden_size if feedforward_size is None else feedforward_size
        self.num_layers = num_layers
        self.test_layers = num_layers if test_layers is None else test_layers
        check_size("hidden_size", hidden_size)
        check_size("num_layers", num_layers)
        check_size("test_layers", self.test_layers)
        check_size("num_heads", num_heads)
        check_size("feedforward_size", width)
        for probability in (dropout, key_dropout, gate_dropout):
            check_dropout(probability)
        if hidden_size % num_heads:
            raise ValueError(
                f"hidden_size is {hidden_size} and num_heads is {num_heads}; the number of heads must divide the "
                f"hidden size"
            )
        if read_at not in get_args(ReadAt):
            raise ValueError(f"read_at is {read_at!r}; it must be {' or '.join(map(repr, get_args(ReadAt)))}")
        self.read_at = read_at
        self.embedding = nn.Embedding(size + 2, hidden_size)
        self.layer = RouterLayer(hidden_size, num_heads, width, dropout, key_dropout, gate_dropout)

    def encode(self, ids: Tensor, lengths: Tensor, *more: Tensor) -> Tensor:
        """(B, n)."""
        return self._run(ids, lengths).root

    @exclude_from_compile
    def encoded(self, ids: Tensor, lengths: Tensor, trace: bool = False) -> Encoded:
        """The result of a call, with the gates and the attention of each step if there is a trace."""
        if not trace:
            return super().encoded(ids, lengths)
        check_sequences(ids, lengths, self.size, self.max_length)
        steps = self._run(ids, lengths, trace=True)
        kept = {"gates": torch.stack(steps.gates, 1), "attention": torch.stack(steps.attention, 1)}
        return Encoded(steps.root, trace=kept)

    def _run(self, ids: Tensor, lengths: Tensor, trace: bool = False) -> RouterSteps:
        steps = self.num_layers if self.training else self.test_layers
        self._check_memory(len(ids), ids.shape[1] + 2, steps)
        ids, padding = self._with_ends(ids, lengths)
        states = self.embedding(ids)
        gates: list[Tensor] = []
        attention: list[Tensor] = []
        for _ in range(steps):
            states, gate, weights = self.layer(states, padding)
            if trace:
                gates.append(gate.mean(-1))
                attention.append(weights)
        place = torch.zeros_like(lengths) if self.read_at == "first" else lengths + 1
        sequence = torch.arange(len(ids), device=ids.device)
        return RouterSteps(states[sequence, place], gates, attention)

    def _with_ends(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Start, ids, end and padding (B, T + 2), and where padding is."""
        start_id = self.size + 1
        end_id = self.size
        place = torch.arange(ids.shape[1] + 2, device=ids.device)
        end = (lengths + 1).unsqueeze(1)
        wide = functional.pad(ids, (1, 1), value=end_id)
        ended = wide.where(place < end, end_id)
        return ended.where(place > 0, start_id), place > end

    def _check_memory(self, sequences: int, length: int, steps: int) -> None:
        available = available_bytes(self.embedding.weight.device)
        if available is None:
            return
        kept = steps if torch.is_grad_enabled() else 1
        pairs = sequences * self.layer.attention.num_heads * length * length
        needed = pairs * self.embedding.weight.element_size() * KEPT * kept
        if needed > available:
            raise ValueError(
                f"the attention of {sequences} sequences of up to {length - 2} words would need about "
                f"{needed / 1e9:.3g} GB; {available / 1e9:.3g} GB are available. "
                f"Give fewer or shorter sequences at once"
            )
