"""Ordered Memory over sequences of vectors."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from dgltree.cells.compose import COMPOSITIONS
from dgltree.encoders.encoder import Attention, Encoded
from dgltree.encoders.latent.ordered_memory.gpu_words import Plan, WordReader, WordsRead, read_by_kernel
from dgltree.encoders.latent.ordered_memory.slots import ATTENTIONS, allocate, write_slots
from dgltree.encoders.latent.ragged import Ragged, front
from dgltree.encoders.sequence.core import InducingCore
from dgltree.encoders.sequence.linearization import PADDING
from dgltree.encoders.sequence.padding import check_sequences, check_vectors, padding_mask
from dgltree.encoders.sequence.recurrent import LockedDropout
from dgltree.support.arguments import check_choice, check_dropout, check_size


class Slots(NamedTuple):
    """The state of b sequences before a step: of the k slots that can have been reached, the last."""

    M: Tensor
    """(b, k, D)"""
    M_hat: Tensor
    """(b, k, D)"""
    pi: Tensor
    r"""(b, k), :math:`\overrightarrow\pi`."""
    x: Tensor
    """(b, D), x~ of the last word, which M_hat equals before the k slots."""

    @property
    def state(self) -> Tensor:
        """(b, D), the last slot of M_hat."""
        return self.M_hat[:, -1] if self.M_hat.shape[1] else self.x

    def all_slots(self, count: int) -> Tensor:
        """(b, count, D), M_hat of those that cannot have been reached, too."""
        unreached = count - self.M_hat.shape[1]
        x = self.x.unsqueeze(1).expand(-1, unreached, -1)
        return torch.cat([x, self.M_hat], 1)

    def first(self, count: int) -> "Slots":
        """The slots of the first sequences; the others have ended."""
        return Slots(*(front(part, count) for part in self))

    def where(self, here: Tensor, other: "Slots") -> "Slots":
        """These slots where ``here`` (b,) is true; ``other`` elsewhere."""
        return Slots(
            M=self.M.where(here.view(-1, 1, 1), other.M),
            M_hat=self.M_hat.where(here.view(-1, 1, 1), other.M_hat),
            pi=self.pi.where(here.view(-1, 1), other.pi),
            x=self.x.where(here.view(-1, 1), other.x),
        )

    def opened(self, slots: int) -> "Slots":
        """So many slots, one more at most. Its M does not matter: its own sum of (5) to the last slot is 1."""
        if slots == self.M.shape[1]:
            return self
        M = pad(self.M, (0, 0, 1, 0))
        M_hat = torch.cat([self.x.unsqueeze(1), self.M_hat], 1)
        pi = pad(self.pi, (1, 0))
        return Slots(M, M_hat, pi, self.x)


OPERATORS = ("tree_cell", "grc", "tree_rnn")
"""The compositions that the papers run in it."""


class MemorySteps(NamedTuple):
    """The output of one direction of Ordered Memory for B sequences of T steps."""

    root: Tensor
    """(B, D), the last slot after the last word read."""
    states: Tensor
    """(B, T, D), the last slot after each word; 0 at padding."""
    p: Tensor
    """(B, T, N), the attention over the slots, of which a tree can be read; 0 at padding and at the first word read."""
    computed: int
    """For how many of the B * T * N rows, steps and slots the cell ran."""
    slots: Tensor | None = None
    r"""(B, T, N, D), :math:`\hat M` after each word, if it is traced; 0 at padding."""
    pi: Tensor | None = None
    r"""(B, T, N), :math:`\overrightarrow\pi` of each word, if it is traced; 0 at padding."""

    @property
    def share(self) -> float:
        """The part of all B * T * N for which the cell ran."""
        return self.computed / self.p.numel()


class OrderedMemory(WordReader):
    r"""Ordered Memory over vectors (Shen et al. 2019, arXiv 1910.13466), from the first to the last.

    Examples:
        >>> import torch
        >>> from dgltree.encoders import OrderedMemory
        >>> memory = OrderedMemory(5, 8, num_slots=6)
        >>> steps = memory(torch.randn(2, 7, 5))
        >>> steps.root.shape, steps.p.shape  # (B, D), (B, T, N)
        (torch.Size([2, 8]), torch.Size([2, 7, 6]))

    Slots i = 1 ... N; memories M and :math:`\hat M`, (N, D), at first 0; :math:`\tilde x_t = LN(W x_t + b)`. At each
    step the attention over the slots of :math:`\hat M_{t-1}`
    (:mod:`dgltree.encoders.latent.ordered_memory.slots`, equations 1 to 4) gives p; at the first word p = 0.
    Then, for i = 1 ... N in order,

    .. math::
        \overrightarrow\pi_i &= \sum_{j \le i} p_j, \quad \overleftarrow\pi_i = \sum_{j \ge i} p_j\quad(5) \\
        M_t^i &= M_{t-1}^i (1 - \overleftarrow\pi_i) + \hat M_{t-1}^i \overleftarrow\pi_i\quad(6) \\
        o^i &= cell(\hat M_t^{i-1}, M_t^i), \quad \hat M_t^0 = \tilde x_t\quad(7) \\
        \hat M_t^i &= \tilde x_t (1 - \overrightarrow\pi_i) + o^i \overrightarrow\pi_i\quad(8)

    The state of a step is :math:`\hat M_t^N`. The cell's LayerNorm is that of the input.

    Where :math:`\overrightarrow\pi_i` is exactly 0 the cell changes neither a value nor a gradient, and does not run:
    at slots which no row can have reached yet; and on the CPU for each row by itself. A GPU computes all rows of a
    slot, because it would have to be waited for to know which ones are needed.

    Args:
        input_size: of a vector.
        hidden_size: D.
        num_slots: N of a call that names no other number.
        operator: the cell: "tree_cell" is the Gated Recursive Cell, "grc" the same with GELU, as the papers on latent
            trees run it (arXiv 2305.19999), "tree_rnn" ``tanh(W [h_1; h_2] + b)``.
        attention: "published" or "paper".
        allowed_maximum: as in :func:`dgltree.encoders.latent.ordered_memory.slots.allocate`.
        dynamic: whether the CPU leaves out single rows; the results are the same up to rounding.
        cell_dropout: probability, in training only, on [h_1; h_2], and in the Gated Recursive Cell before W_2; each
            word and slot has masks of its own.
        attention_dropout: probability, in training only, before W_q, and for each slot before W_k and before w.

    Initialisation: torch's of ``Linear`` and ``LayerNorm``.

    Raises ``ValueError`` for a size below 1, a dropout outside of 0 to below 1, another operator or attention.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        num_slots: int = 12,
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
        check_size("num_slots", num_slots)
        for dropout in (cell_dropout, attention_dropout):
            check_dropout(dropout)
        check_choice("operator", operator, OPERATORS)
        check_choice("attention", attention, ATTENTIONS)
        self.input_size = input_size
        self.num_slots = num_slots
        self.allowed_maximum = allowed_maximum
        self.dynamic = dynamic
        self.input = nn.Linear(input_size, hidden_size)
        self.norm = nn.LayerNorm(hidden_size)
        self.attention = ATTENTIONS[attention](hidden_size, attention_dropout)
        self.cell = COMPOSITIONS[operator](hidden_size, cell_dropout)

    def forward(
        self, x: Tensor, padding: Tensor | None = None, num_slots: int | None = None, trace: bool = False
    ) -> MemorySteps:
        """Read the vectors x (B, T, input_size), but not where ``padding`` (B, T) bool is true, which may be anywhere.

        No weight depends on the number of slots, so it may differ from call to call. With ``trace`` all slots are kept.

        Raises ``ValueError`` for other shapes, for a sequence without a word, and for num_slots below 1.
        """
        check_vectors(x, padding, self.input_size)
        num_slots = self.num_slots if num_slots is None else num_slots
        check_size("num_slots", num_slots)
        if padding is None:
            padding = torch.zeros(x.shape[:2], dtype=torch.bool, device=x.device)
        length = x.shape[1]
        ends = Ragged.of(padding)
        present = ~padding
        attends = present & (present.cumsum(1) > 1)  # all words but the first
        projected = self.input(x.masked_fill(padding.unsqueeze(2), 0))
        x_tilde = self.norm(projected)
        queries = ends.packed(self.attention.queries(x_tilde))
        x_tilde = ends.packed(x_tilde)
        plan = Plan(ends.packed(present), ends.packed(attends), ends, num_slots)
        by_kernel = None
        if not trace and type(self) is OrderedMemory:
            by_kernel = read_by_kernel(self, x_tilde, queries, plan)
        if by_kernel is None:
            made = self.read(x_tilde, queries, plan, trace)
        else:
            states, p = by_kernel
            computed = sum(min(t, num_slots) * count for t, count in enumerate(ends.counts))
            made = WordsRead(states, p, computed, [])
        steps = MemorySteps(
            root=ends.last(made.states),
            states=ends.padded(made.states, length).masked_fill(padding.unsqueeze(2), 0),
            p=ends.padded(made.p, length),
            computed=made.computed,
        )
        if not trace:
            return steps
        slots = torch.cat([slot.all_slots(num_slots).flatten(1) for slot in made.kept])
        slots = ends.padded(slots, length).masked_fill(padding.unsqueeze(2), 0)
        pi = torch.cat([_all_places(slot.pi, num_slots) for slot in made.kept])
        pi = ends.padded(pi, length).masked_fill(padding.unsqueeze(2), 0)
        return steps._replace(slots=slots.unflatten(2, (num_slots, -1)), pi=pi)

    def read(self, x: Tensor, queries: Tensor, plan: Plan, trace: bool = False) -> WordsRead:
        num_slots = plan.num_slots
        counts = plan.ends.counts
        steps = zip(
            x.split(counts), queries.split(counts), plan.present.split(counts), plan.attends.split(counts), strict=True
        )
        states: list[Tensor] = []
        attention: list[Tensor] = []
        kept: list[Slots] = []
        computed = 0
        first = x[: counts[0]]
        no_slot = first.unsqueeze(1)[:, :0]
        slots = Slots(M=no_slot, M_hat=no_slot, pi=first[:, :0], x=torch.zeros_like(first))
        for t, (x_t, query, is_word, attends) in enumerate(steps):
            before = slots.first(len(x_t)).opened(min(t, num_slots))
            p = self._attend(query, before, num_slots)
            p = p.where(attends.unsqueeze(1), 0)
            slots, ran = self._step(before, x_t, p)
            if not plan.ends.complete[t]:
                slots = slots.where(is_word, before)
            states.append(slots.state)
            attention.append(_all_places(p, num_slots))
            computed += ran
            if trace:
                kept.append(slots)
        return WordsRead(torch.cat(states), torch.cat(attention), computed, kept)

    def _attend(self, query: Tensor, slots: Slots, num_slots: int) -> Tensor:
        """p (b, k) over the k open slots, from the query (b, D).

        Slots that are not open yet hold x~ of the word before, as the first open one does: they have its score, so they
        are left out even if the maximum is over all slots. With dropout their scores could be others, but p does not
        depend on the maximum.
        """
        if not slots.M_hat.shape[1]:
            return slots.pi
        alpha = self.attention(query, slots.M_hat, num_slots)
        return allocate(alpha, slots.pi, self.allowed_maximum)

    def _step(self, before: Slots, x: Tensor, p: Tensor) -> tuple[Slots, int]:
        """The slots after a word, from its x~ (b, D) and p (b, k), and for how many of them the cell ran."""
        left_pi = p.flip(1).cumsum(1).flip(1)  # (5), the sum from a slot to the last one
        right_pi = p.cumsum(1)  # the sum from the first slot to this one
        M = before.M.lerp(before.M_hat, left_pi.unsqueeze(2))  # (6)
        M_hat, computed = self._write(x, M, right_pi)
        return Slots(M, M_hat, right_pi, x), computed

    def _write(self, x: Tensor, M: Tensor, pi: Tensor) -> tuple[Tensor, int]:
        """M_hat (b, k, D) from x~ (b, D), M (b, k, D) and ->pi (b, k), and for how many rows and slots the cell ran."""
        rows, slots = pi.shape
        if not slots:
            return M, 0
        if self.dynamic and x.device.type == "cpu" and not pi.all():
            return self._write_used(x, M, pi)
        M = M.transpose(0, 1).flatten(0, 1)  # slot after slot
        of_right = self.cell.of_right(M)
        written = write_slots(self.cell, self.norm, x, of_right, M, pi.t().reshape(-1, 1), [rows] * slots)
        M_hat = written.view(slots, rows, -1).transpose(0, 1)
        return M_hat, rows * slots

    def _write_used(self, x: Tensor, M: Tensor, pi: Tensor) -> tuple[Tensor, int]:
        """M_hat as ``_write`` has it, computed where ->pi is not 0: from some slot on, because it never falls.

        Elsewhere M_hat is x~.
        """
        rows, slots = pi.shape
        used = pi != 0
        order = used.sum(1).argsort(descending=True, stable=True)
        slot, rank = used[order].t().nonzero(as_tuple=True)
        place = order[rank] * slots + slot  # slot after slot, in each the rows that use most slots first
        M_used = M.flatten(0, 1).index_select(0, place)
        pi_used = pi.reshape(-1, 1).index_select(0, place)
        counts = used.sum(0).tolist()
        of_right = self.cell.of_right(M_used)
        written = write_slots(self.cell, self.norm, x.index_select(0, order), of_right, M_used, pi_used, counts)
        source = torch.arange(rows).repeat_interleave(slots)
        source[place] = torch.arange(rows, rows + len(place))
        M_hat = torch.cat([x, written]).index_select(0, source)
        return M_hat.view_as(M), len(place)


def _all_places(of_slots: Tensor, num_slots: int) -> Tensor:
    """(b, N) from what the last k slots have, (b, k); 0 at those before."""
    return pad(of_slots, (num_slots - of_slots.shape[1], 0))


# ---------------------------------------------------------------------------------------------------------------------
# Ordered Memory over sequences of ids.


class SequenceOrderedMemory(InducingCore):
    """The state of :class:`OrderedMemory` after the last id of each sequence.

    Args:
        size: the number of ids.
        hidden_size: n, the width of the state; D is n, or n / 2 for each of two directions.
        num_slots: N in training.
        num_evaluation_slots: N in evaluation; None: as many.
        bidirectional: whether a second memory, with weights of its own, reads from the last id to the first; the states
            of both are side by side.
        embedding_size: of the ids; None: n.
        dropout: probability, in training only, on the embeddings.
        locked: whether the embeddings' dropout mask is one for all steps.
        operator, attention, allowed_maximum, cell_dropout, attention_dropout: as in :class:`OrderedMemory`.
        max_length: of a sequence; None: any.

    Initialisation: embeddings N(0, 1), that of padding 0; torch's of the rest.

    Raises ``ValueError`` as :class:`OrderedMemory` does, and for an odd n if there are two directions.
    """

    def __init__(
        self,
        size: int,
        hidden_size: int,
        *,
        num_slots: int = 12,
        num_evaluation_slots: int | None = None,
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
        own = {"num_slots": num_slots, "num_evaluation_slots": num_evaluation_slots, "bidirectional": bidirectional}
        embedded = {"embedding_size": embedding_size, "dropout": dropout, "locked": locked}
        super().__init__(size, max_length, hidden_size=hidden_size, **own, **embedded, **memory)
        check_size("hidden_size", hidden_size)
        check_size("num_slots", num_slots)
        check_dropout(dropout)
        self.num_slots = num_slots
        self.num_evaluation_slots = num_slots if num_evaluation_slots is None else num_evaluation_slots
        check_size("num_evaluation_slots", self.num_evaluation_slots)
        width = hidden_size if embedding_size is None else embedding_size
        check_size("embedding_size", width)
        directions = 2 if bidirectional else 1
        if hidden_size % directions:
            raise ValueError(
                f"hidden_size is {hidden_size}; each of the two directions has half of it, so it must be even"
            )
        self.embedding = nn.Embedding(size, width, padding_idx=PADDING)
        self.dropout = LockedDropout(dropout) if locked else nn.Dropout(dropout)
        self.memories = nn.ModuleList(
            OrderedMemory(width, hidden_size // directions, **memory) for _ in range(directions)
        )

    def read(self, ids: Tensor, lengths: Tensor, trace: bool = False) -> Encoded:
        """The parse is the attention of the memory that reads from the first word to the last.

        The trace has its ``states`` (B, T, D), the last slot after each word, all ``slots`` (B, T, N, D) of M^, and
        ``pi`` (B, T, N), the sums of the attention up to each slot.
        """
        directions = self._read(ids, lengths, trace)
        forward = directions[0]
        kept = None
        if forward.slots is not None and forward.pi is not None:
            kept = {"states": forward.states, "slots": forward.slots, "pi": forward.pi}
        root = torch.cat([steps.root for steps in directions], 1)
        return Encoded(root, Attention(forward.p, lengths), trace=kept)

    def steps(self, ids: Tensor, lengths: Tensor) -> list[MemorySteps]:
        """Each direction's states for ids (B, T) and lengths (B,), at the places of the ids.

        Raises ``ValueError`` as a call does.
        """
        check_sequences(ids, lengths, self.size, self.max_length)
        return self._read(ids, lengths)

    def _read(self, ids: Tensor, lengths: Tensor, trace: bool = False) -> list[MemorySteps]:
        x = self.dropout(self.embedding(ids))
        padding = padding_mask(ids, lengths)
        num_slots = self.num_slots if self.training else self.num_evaluation_slots
        directions = [self.memories[0](x, padding, num_slots, trace)]
        for memory in self.memories[1:]:  # the other direction, with its padding in front
            steps = memory(x.flip(1), padding.flip(1), num_slots)
            steps = MemorySteps(steps.root, steps.states.flip(1), steps.p.flip(1), steps.computed)
            directions.append(steps)
        return directions
