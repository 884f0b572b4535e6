"""Ordered Memory over a sequence."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dgltree.cells.check import check_dropout, check_size
from dgltree.encoders.linearize import PADDING
from dgltree.encoders.locked_dropout import LockedDropout
from dgltree.encoders.memory_attention import ATTENTIONS, allocate
from dgltree.encoders.memory_operators import OPERATORS
from dgltree.encoders.sequence import SequenceCore, SequenceEncoder, check_present, check_sequences, padding


class MemorySteps(NamedTuple):
    """What one direction of Ordered Memory computed for B sequences of T steps."""

    root: Tensor
    """(B, D), the last slot after the last word read."""
    states: Tensor
    """(B, T, D), the last slot after each word; 0 at padding."""
    p: Tensor
    """(B, T, N), the attention over the slots, of which a tree can be read; 0 at padding and at the first word read."""
    computed: int
    """For how many of the B * T * N rows, steps and slots the cell ran."""

    @property
    def share(self) -> float:
        """The part of all B * T * N for which the cell ran."""
        return self.computed / self.p.numel()


class OrderedMemory(nn.Module):
    r"""Ordered Memory over vectors (Shen et al. 2019, arXiv 1910.13466), from the first to the last.

    Slots i = 1 ... N; memories M and :math:`\hat M`, (N, D), at first 0; :math:`\tilde x_t = LN(W x_t + b)`. At each
    step the attention over the slots of :math:`\hat M_{t-1}` (:mod:`dgltree.encoders.memory_attention`) gives p; at the
    first word p = 0. Then, for i = 1 ... N in order,

    .. math::
        \rightarrow\pi_i &= \sum_{j \le i} p_j, \quad \leftarrow\pi_i = \sum_{j \ge i} p_j \\
        M_t^i &= M_{t-1}^i (1 - \leftarrow\pi_i) + \hat M_{t-1}^i \leftarrow\pi_i \\
        o^i &= cell(\hat M_t^{i-1}, M_t^i), \quad \hat M_t^0 = \tilde x_t \\
        \hat M_t^i &= \tilde x_t (1 - \rightarrow\pi_i) + o^i \rightarrow\pi_i

    The state of a step is :math:`\hat M_t^N`. The cell's LayerNorm is that of the input.

    Where :math:`\rightarrow\pi_i` is exactly 0 the cell changes neither a value nor a gradient, and it does not run: at
    slots which no row can have reached yet; and on the CPU for each row by itself. A GPU computes all rows of a slot,
    because it would have to be waited for to know which ones are needed.

    Args:
        input_size: of a vector.
        hidden_size: D.
        operator: the cell: "tree_cell" is the Gated Recursive Cell, "tree_rnn" ``tanh(W [h_1; h_2] + b)``.
        attention: "published" or "paper".
        allowed_maximum: as in :func:`dgltree.encoders.memory_attention.allocate`.
        dynamic: whether the CPU leaves out single rows; the results are the same up to rounding.
        cell_dropout: probability, in training only, on [h_1; h_2], and in the Gated Recursive Cell before W_2.
        attention_dropout: probability, in training only, before W_q, before W_k and before w.

    Initialisation: torch's of ``Linear`` and ``LayerNorm``.

    Raises ``ValueError`` for a size below 1, a dropout outside of 0 to below 1, another operator or attention.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        operator: str = "tree_cell",
        attention: str = "published",
        allowed_maximum: bool = False,
        dynamic: bool = True,
        cell_dropout: float = 0.0,
        attention_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_size("input_size", input_size)
        check_size("hidden_size", hidden_size)
        for dropout in (cell_dropout, attention_dropout):
            check_dropout(dropout)
        if operator not in OPERATORS:
            raise ValueError(f"operator is {operator!r}; it is one of {', '.join(OPERATORS)}")
        if attention not in ATTENTIONS:
            raise ValueError(f"attention is {attention!r}; it is one of {', '.join(ATTENTIONS)}")
        self.input_size = input_size
        self.allowed_maximum, self.dynamic = allowed_maximum, dynamic
        self.input = nn.Linear(input_size, hidden_size)
        self.norm = nn.LayerNorm(hidden_size)
        self.attention = ATTENTIONS[attention](hidden_size, attention_dropout)
        self.cell = OPERATORS[operator](hidden_size, cell_dropout)

    def forward(self, x: Tensor, present: Tensor, slots: int) -> MemorySteps:
        """Read the vectors x (B, T, input_size) where ``present`` (B, T) bool is true; padding may stand anywhere.

        No weight depends on the number of slots, so it may differ from call to call.

        Raises ``ValueError`` for other shapes, for a sequence without a word, and for slots below 1.
        """
        check_present(x, present, self.input_size)
        check_size("slots", slots)
        x = self.norm(self.input(x.masked_fill(~present.unsqueeze(2), 0)))
        queries = self.attention.queries(x)
        attended = present & (present.cumsum(1) > 1)  # all words but the first
        complete = present.all(0).tolist()  # waits for a GPU once, so that the loop need not
        # As both memories are 0 before the first word, it makes no difference that <-pi is 0 there and not 1.
        M = M_hat = x.new_zeros(len(x), slots, x.shape[2])
        pi = x.new_zeros(len(x), slots)
        states, attention, computed = [], [], 0
        for t, (x_t, query) in enumerate(zip(x.unbind(1), queries.unbind(1), strict=True)):
            p = self._attend(query, M_hat, pi, first_slot=slots - t)
            p = p.where(attended[:, t : t + 1], 0)
            right, left = p.cumsum(1), p.flip(1).cumsum(1).flip(1).unsqueeze(2)
            M = M * (1 - left) + M_hat * left
            written, ran = self._write(x_t, M, right, first_slot=slots - t)
            if complete[t]:
                M_hat, pi = written, right
            else:
                here = present[:, t : t + 1]
                M_hat, pi = written.where(here.unsqueeze(2), M_hat), right.where(here, pi)
            states.append(M_hat[:, -1])
            attention.append(p)
            computed += ran
        at_words = torch.stack(states, 1).masked_fill(~present.unsqueeze(2), 0)
        return MemorySteps(states[-1], at_words, torch.stack(attention, 1), computed)

    def _attend(self, query: Tensor, M_hat: Tensor, pi: Tensor, first_slot: int) -> Tensor:
        """p (B, N) from the query (B, D), M_hat (B, N, D) and ->pi (B, N) of the step before.

        After t words p is 0 before ``first_slot`` = N - t, and all of M_hat up to it is x~ of the word before, so these
        slots have the score of ``first_slot`` itself: they are left out, even where the maximum is over all slots. With
        dropout their scores could be others, but p does not depend on the maximum.
        """
        closed, slots = max(first_slot, 0), M_hat.shape[1]
        if closed == slots:
            return torch.zeros_like(pi)
        alpha = self.attention(query, M_hat[:, closed:].contiguous(), slots)
        return nn.functional.pad(allocate(alpha, pi[:, closed:], self.allowed_maximum), (closed, 0))

    def _write(self, x: Tensor, M: Tensor, pi: Tensor, first_slot: int) -> tuple[Tensor, int]:
        """M_hat (B, N, D) from x~ (B, D), M (B, N, D) and ->pi (B, N), and how many rows of slots the cell ran for.

        After t words slot i (from 0) cannot be in use for i < N - t: those before ``first_slot`` are left out unseen.
        """
        M_hat, slots, computed = x, [], 0
        for i, (M_i, pi_i) in enumerate(zip(M.unbind(1), pi.unsqueeze(2).unbind(1), strict=True)):
            if i >= first_slot:
                if self.dynamic and x.device.type == "cpu":
                    rows = pi_i.squeeze(1).nonzero().squeeze(1)
                    M_hat = self._write_rows(rows, x, M_hat, M_i, pi_i)
                    computed += len(rows)
                else:
                    M_hat = self._write_slot(x, M_hat, M_i, pi_i)
                    computed += len(x)
            slots.append(M_hat)
        return torch.stack(slots, 1), computed

    def _write_rows(self, rows: Tensor, x: Tensor, below: Tensor, M_i: Tensor, pi_i: Tensor) -> Tensor:
        """One slot of M_hat, (B, D), where ->pi is not 0 in ``rows`` only; nor was it elsewhere in the slots below."""
        if len(rows) == len(x):
            return self._write_slot(x, below, M_i, pi_i)
        if not len(rows):
            return x
        return x.index_copy(0, rows, self._write_slot(*(part.index_select(0, rows) for part in (x, below, M_i, pi_i))))

    def _write_slot(self, x: Tensor, below: Tensor, M_i: Tensor, pi_i: Tensor) -> Tensor:
        """One slot of M_hat, (rows, D), from x~, the slot below, M^i, (rows, D) each, and ->pi_i (rows, 1)."""
        return x * (1 - pi_i) + self.cell(below, M_i, self.norm) * pi_i


class SequenceOrderedMemory(SequenceCore):
    """The state of :class:`OrderedMemory` after the last id of each sequence.

    Args:
        size: the number of ids.
        hidden_size: n, the width of the state; D is n, or n / 2 for each of two directions.
        slots: N in training.
        evaluation_slots: N in evaluation; None: as many.
        bidirectional: whether a second memory, with weights of its own, reads from the last id to the first; the states
            of both stand side by side.
        embedding_size: of the ids; None: n.
        dropout: probability, in training only, on the embeddings.
        locked: whether the embeddings' dropout mask is one for all steps.
        operator, attention, allowed_maximum, cell_dropout, attention_dropout: as in :class:`OrderedMemory`.
        max_length: of a sequence; None: any.

    Initialisation: embeddings N(0, 1), that of padding 0; torch's of the rest.

    Raises ``ValueError`` as :class:`OrderedMemory` does, and for an odd n where there are two directions.
    """

    def __init__(
        self,
        size: int,
        hidden_size: int,
        *,
        slots: int = 12,
        evaluation_slots: int | None = None,
        bidirectional: bool = False,
        embedding_size: int | None = None,
        operator: str = "tree_cell",
        attention: str = "published",
        allowed_maximum: bool = False,
        dropout: float = 0.0,
        locked: bool = False,
        cell_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        max_length: int | None = None,
    ) -> None:
        memory: dict[str, Any] = {
            "operator": operator,
            "attention": attention,
            "allowed_maximum": allowed_maximum,
            "cell_dropout": cell_dropout,
            "attention_dropout": attention_dropout,
        }
        own = {"slots": slots, "evaluation_slots": evaluation_slots, "bidirectional": bidirectional}
        embedded = {"embedding_size": embedding_size, "dropout": dropout, "locked": locked}
        super().__init__(size, max_length, hidden_size=hidden_size, **own, **embedded, **memory)
        check_size("hidden_size", hidden_size)
        check_size("slots", slots)
        check_dropout(dropout)
        self.slots, self.evaluation_slots = slots, slots if evaluation_slots is None else evaluation_slots
        check_size("evaluation_slots", self.evaluation_slots)
        width = hidden_size if embedding_size is None else embedding_size
        check_size("embedding_size", width)
        directions = 2 if bidirectional else 1
        if hidden_size % directions:
            raise ValueError(f"hidden_size is {hidden_size}; two directions have half of it each: give an even number")
        self.embedding = nn.Embedding(size, width, padding_idx=PADDING)
        self.dropout = LockedDropout(dropout) if locked else nn.Dropout(dropout)
        self.memories = nn.ModuleList(
            OrderedMemory(width, hidden_size // directions, **memory) for _ in range(directions)
        )

    def encode(self, ids: Tensor, lengths: Tensor, *more: Tensor) -> Tensor:
        """(B, n)."""
        return torch.cat([steps.root for steps in self._read(ids, lengths)], 1)

    def steps(self, ids: Tensor, lengths: Tensor) -> list[MemorySteps]:
        """What each direction computed for ids (B, T) and lengths (B,), at the places of the ids.

        Raises ``ValueError`` as a call does.
        """
        check_sequences(ids, lengths, self.size, self.max_length)
        return self._read(ids, lengths)

    def _read(self, ids: Tensor, lengths: Tensor) -> list[MemorySteps]:
        x, present = self.dropout(self.embedding(ids)), ~padding(ids, lengths)
        slots = self.slots if self.training else self.evaluation_slots
        steps = [self.memories[0](x, present, slots)]
        for memory in self.memories[1:]:  # the other direction, with its padding in front
            root, states, p, computed = memory(x.flip(1), present.flip(1), slots)
            steps.append(MemorySteps(root, states.flip(1), p.flip(1), computed))
        return steps


class OrderedMemoryEncoder(SequenceEncoder):
    """:class:`SequenceOrderedMemory` over linearised trees: ``order`` and its options."""

    core_class = SequenceOrderedMemory
