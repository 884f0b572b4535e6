"""All words of Ordered Memory by the kernels of a GPU, and their gradients by hand.

A word is some five hundred short operations with their gradients, which cost a GPU's host more than the GPU; by hand it
is two products and two kernels each way, however many slots there are.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call

from dgltree.cells.compose import Compose, GELUGatedRecursive
from dgltree.encoders.latent.ordered_memory.slots import (
    PaperAttention,
    PublishedAttention,
    draw_masks,
    is_as_published,
    is_plain,
)
from dgltree.encoders.latent.ragged import Ragged
from dgltree.engine.autograd import device_generator_state, differentiable_gradients, generator_at
from dgltree.engine.kernels.dispatch import step_kernel
from dgltree.engine.kernels.fused_pass import product_precision
from dgltree.engine.kernels.kernel import MemoryMasks, MemoryShape, MemoryWeights, MemoryWord, are_taken, operand
from dgltree.support.torch_internals import hooks_of, inside_transform

NAMES = (
    "attention.key.weight",
    "attention.key.bias",
    "attention.key_norm.weight",
    "attention.key_norm.bias",
    "attention.w.weight",
    "cell.vertical.weight",
    "cell.horizontal.weight",
    "cell.horizontal.bias",
    "cell.second.weight",
    "cell.second.bias",
    "norm.weight",
    "norm.bias",
)
"""The names of the parameters, in the order of ``MemoryWeights``."""


class Plan(NamedTuple):
    """Which words a batch has, packed as by :class:`dgltree.encoders.latent.ragged.Ragged`, R in all."""

    present: Tensor
    """(R,) bool, whether there is a word; if there is none, the memory stays what it was."""
    attends: Tensor
    """(R,) bool: whether it is any but the first."""
    ends: Ragged
    num_slots: int


class WordsRead(NamedTuple):
    """The results of all R words."""

    states: Tensor
    """(R, D), the state after each word."""
    p: Tensor
    """(R, num_slots), the attention."""
    computed: int
    """For how many rows and slots the cell ran."""
    kept: list[Any]
    """The slots after each step, if they are traced."""


class WordReader(nn.Module, ABC):
    """A memory whose words a kernel may read, with the parts that it knows."""

    norm: nn.LayerNorm
    attention: PublishedAttention | PaperAttention
    cell: Compose
    allowed_maximum: bool

    @abstractmethod
    def read(self, x: Tensor, queries: Tensor, plan: Plan, trace: bool = False) -> WordsRead:
        """The results of all words, from x~ and the attention's queries, (R, D); with ``trace`` all slots.

        By operations of torch and the kernel of a CPU.
        """


def read_by_kernel(memory: WordReader, x: Tensor, queries: Tensor, plan: Plan) -> tuple[Tensor, Tensor] | None:
    """The state after each word, (R, D), and the attention, (R, num_slots), as the operations of torch give them, from
    x~ and the queries of the attention, (R, D).

    None where these compute: a CPU, other equations, transforms, autocast, other tensors.
    """
    shape = _shape(memory, x, plan.num_slots)
    weights = _weights(memory)
    if shape is None or weights is None or not _are_taken((x, queries), weights, shape):
        return None
    given = [x, queries, *(weight for weight in weights if weight is not None)]
    record = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in given)
    kernel = step_kernel("ordered_memory", (), x, record, [shape])
    if kernel is None:
        return None
    tensors = (None if tensor is None else operand(tensor) for tensor in (x, queries, *weights))
    made: tuple[Tensor, Tensor] = WordsByHand.apply(kernel, memory, shape, plan, record, *tensors)
    return made


def _shape(memory: WordReader, x: Tensor, num_slots: int) -> MemoryShape | None:
    """The options of the kernels; None if a call of the memory has other equations than they."""
    cell = memory.cell
    norm = memory.norm
    form = memory.attention
    if not is_as_published(cell, norm, cell.horizontal) or not _attends_as_published(form):
        return None
    scored = form.drop.training and form.drop.p > 0
    active = cell.drop.training and cell.drop.p > 0
    inputs = active and cell.drops_inputs
    return MemoryShape(
        n=x.shape[1],
        slots=num_slots,
        gelu=isinstance(cell, GELUGatedRecursive),
        paper=isinstance(form, PaperAttention),
        allowed_maximum=memory.allowed_maximum,
        eps=norm.eps,
        key_eps=form.key_norm.eps if isinstance(form, PublishedAttention) else 0.0,
        precision=product_precision(x.dtype),
        dropped=(scored, scored, inputs, inputs, active),
    )


def _attends_as_published(form: nn.Module) -> bool:
    """Whether a call of the attention has the kernels' equations: no subclass, no function set on it, no hook."""
    if type(form) not in (PublishedAttention, PaperAttention):
        return False
    assert isinstance(form, PublishedAttention | PaperAttention)
    if hooks_of(form) or "forward" in vars(form):
        return False
    if isinstance(form, PublishedAttention) and not is_plain(form.key_norm, nn.LayerNorm):
        return False
    return is_plain(form.key, nn.Linear) and is_plain(form.w, nn.Linear) and is_plain(form.drop, nn.Dropout)


def _weights(memory: WordReader) -> MemoryWeights | None:
    """The weights of the memory; None if one is missing, or there is a bias that kernels do not know."""
    for name in ("attention.w.bias", "cell.vertical.bias"):
        if _attribute(memory, name) is not None:
            return None
    absent = NAMES[1:4] if isinstance(memory.attention, PaperAttention) else ()
    weights = [_attribute(memory, name) for name in NAMES]
    for name, weight in zip(NAMES, weights, strict=True):
        if (weight is None) != (name in absent):
            return None
    return MemoryWeights._make(weights)


def _attribute(memory: WordReader, name: str) -> Any:
    value: Any = memory
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def _are_taken(read: Sequence[Tensor], weights: MemoryWeights, shape: MemoryShape) -> bool:
    """Whether kernels take the tensors: they read by address, so no weight whose shape differs may reach them."""
    n = shape.n
    sizes = (n, n), (n,), (n,), (n,), (1, n), (4 * n, n), (4 * n, n), (4 * n,), (4 * n, 4 * n), (4 * n,), (n,), (n,)
    tensors: list[Tensor] = []
    for weight, size in zip(weights, sizes, strict=True):
        if weight is None:
            continue
        if weight.shape != size:
            return False
        tensors.append(weight)
    if not are_taken(tensors):
        return False
    if 16 * n * n >= 2**31:  # places in W_2 are 32-bit numbers
        return False
    if len({(tensor.dtype, tensor.device) for tensor in (*read, *tensors)}) > 1:
        return False
    if inside_transform() or torch.compiler.is_compiling():
        return False
    return not torch.is_autocast_enabled(read[0].device.type)


class WordsByHand(torch.autograd.Function):
    """All words by a kernel, which computes what ``WordReader.read`` does."""

    @staticmethod
    def forward(
        ctx: Any,
        kernel: Any,
        memory: WordReader,
        shape: MemoryShape,
        plan: Plan,
        record: bool,
        x: Tensor,
        queries: Tensor,
        *weights: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        ctx.memory = memory
        ctx.plan = plan
        ctx.random = device_generator_state(x.device) if any(shape.dropped) else None
        words = _words(plan)
        masks = _masks(memory, shape, words, x)
        keep = record or any(shape.dropped)  # the masks are those of all words
        ctx.words = kernel(
            shape, x, queries, plan.present, plan.attends, words, MemoryWeights._make(weights), masks, keep
        )  # fmt: skip
        with torch.cuda.device_of(x):
            states, p = ctx.words.forward()
        ctx.save_for_backward(x, queries, *weights)
        return states.detach(), p.detach()

    @staticmethod
    def backward(ctx: Any, d_states: Tensor, d_p: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors
        no_gradients = (None,) * 5
        if torch.is_grad_enabled():
            return *no_gradients, *_differentiable(ctx, saved, (d_states, d_p))
        with torch.cuda.device_of(d_states):
            d_x, d_queries, d_weights = ctx.words.backward(operand(d_states), operand(d_p))
        return *no_gradients, d_x, d_queries, *d_weights


def _words(plan: Plan) -> list[MemoryWord]:
    """Where each word is; one more slot is open at each, up to all."""
    words: list[MemoryWord] = []
    base = 0
    for t, (start, count) in enumerate(zip(plan.ends.starts, plan.ends.counts, strict=False)):
        slots = min(t, plan.num_slots)
        words.append(MemoryWord(start, count, slots, base))
        base += slots * count
    return words


def _masks(memory: WordReader, shape: MemoryShape, words: list[MemoryWord], x: Tensor) -> MemoryMasks:
    """The masks of dropout, drawn as the operations of torch draw them, word by word: up to five operations a word."""
    n = shape.n
    key = [x.new_empty(0, n)]
    score = [x.new_empty(0, n)]
    right = [x.new_empty(0, n)]
    below = [x.new_empty(0, n)]
    active = [x.new_empty(0, 4 * n)]
    drop = memory.attention.drop
    cell = memory.cell
    drops_scores, _, drops_right, *_ = shape.dropped
    if any(shape.dropped):
        # Without gaps, as what torch drops: on a GPU the numbers drawn depend on the layout.
        ones = x.new_ones(max(word.slots * word.sequences for word in words), n)
        for _, count, slots, _ in words:
            if not slots:
                continue
            rows = ones[: slots * count]
            if drops_scores:
                for masks in (key, score):
                    mask = drop(rows.view(count, slots, n))
                    masks.append(mask.transpose(0, 1).flatten(0, 1))
            if drops_right:
                right.append(cell.drop(rows))
            below_mask, active_mask = draw_masks(cell, rows)
            below.append(below_mask)
            active.append(active_mask)
    return MemoryMasks._make(map(torch.cat, (key, score, right, below, active)))


class _Reader(nn.Module):
    """``WordReader.read`` as a call, for weights that are given."""

    def __init__(self, memory: WordReader) -> None:
        super().__init__()
        self.memory = memory

    def forward(self, x: Tensor, queries: Tensor, plan: Plan) -> tuple[Tensor, Tensor]:
        made = self.memory.read(x, queries, plan)
        return made.states, made.p


def _differentiable(ctx: Any, saved: tuple[Tensor | None, ...], given: tuple[Tensor, Tensor]) -> list[Tensor | None]:
    """Gradients that have gradients: the words once more by torch's operations, with the same dropout."""

    def compute(x: Tensor, queries: Tensor, *weights: Tensor | None) -> tuple[Tensor, Tensor]:
        named = {f"memory.{name}": weight for name, weight in zip(NAMES, weights, strict=True) if weight is not None}
        made: tuple[Tensor, Tensor] = functional_call(_Reader(ctx.memory), named, (x, queries, ctx.plan))
        return made

    device = given[0].device
    with generator_at(ctx.random, device):
        return differentiable_gradients(compute, saved, given)
