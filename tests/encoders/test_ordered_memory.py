"""Ordered Memory: its numbers are those of its equations, and neither padding nor what is left out changes them."""

import itertools
import math
from typing import Any

import pytest
import torch
from ordered_memory_oracle import transcribed
from syncs import syncs
from torch import Tensor

from dgltree.encoders import OrderedMemory, SequenceOrderedMemory
from dgltree.encoders.latent.ordered_memory.slots import allocate
from dgltree.encoders.sequence.recurrent import LockedDropout

LENGTHS = [1, 2, 3, 5, 9, 7]
FORMS = [
    *itertools.product(["tree_cell", "tree_rnn"], ["published", "paper"], [False, True]),
    ("grc", "published", False),
]


def make(sharpness: float = 1.0, dtype: torch.dtype = torch.float64, **options: Any) -> OrderedMemory:
    """D = 6 over vectors of width 5; a sharp attention closes slots that a flat one leaves open."""
    torch.manual_seed(0)
    memory = OrderedMemory(5, 6, **options)
    with torch.no_grad():
        memory.attention.w.weight.mul_(sharpness)
        memory.norm.weight.uniform_(0.5, 1.5)
        memory.norm.bias.uniform_(-0.5, 0.5)
    return memory.to(dtype)


def sentences(dtype: torch.dtype = torch.float64, lengths: list[int] = LENGTHS) -> tuple[Tensor, Tensor]:
    """Vectors (B, T, 5) and their padding mask, (B, T)."""
    x = torch.randn(len(lengths), max(lengths), 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return x.to(dtype), torch.arange(max(lengths)) >= torch.tensor(lengths).unsqueeze(1)


def states_and_gradients(memory: OrderedMemory, x: Tensor, padding: Tensor, slots: int) -> list[Tensor]:
    """Roots, states and attention at words, and the gradients."""
    x = x.clone().requires_grad_()
    steps = memory(x, padding, slots)
    return [steps.root.detach(), steps.states[~padding].detach(), steps.p[~padding], *gradients(memory, steps.root, x)]


def gradients(memory: OrderedMemory, root: Tensor, x: Tensor) -> list[Tensor]:
    """Of each parameter and of x: of a function of the roots."""
    memory.zero_grad()
    (root * torch.arange(1, root.numel() + 1, dtype=root.dtype).view_as(root)).sum().backward()
    return [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in (*memory.parameters(), x)]


def one_gradient(numbers: list[Tensor]) -> list[Tensor]:
    """Roots, states and attention, and the gradient as one vector, with one largest number to be relative to."""
    return [*numbers[:3], torch.cat([gradient.flatten() for gradient in numbers[3:]])]


def close(found: list[Tensor], expected: list[Tensor], tolerance: float) -> None:
    for a, b in zip(found, expected, strict=True):
        assert (a - b).abs().max() <= tolerance * b.abs().max().clamp(min=1)


@pytest.mark.parametrize("num_slots", [1, 4, 12])
def test_traced_slots_and_sums_of_attention_are_those_of_the_equations(num_slots: int) -> None:
    memory, (x, padding) = make(), sentences()
    x.requires_grad_()
    steps = memory(x, padding, num_slots, trace=True)
    slow = [transcribed(memory, list(row[:n]), num_slots) for row, n in zip(x, LENGTHS, strict=True)]
    found = [part[~padding] for part in (steps.slots, steps.pi)]
    expected = [torch.cat([getattr(each, name) for each in slow]) for name in ("slots", "pi")]
    of_x = [torch.autograd.grad(sum(part.square().sum() for part in parts), x)[0] for parts in (found, expected)]
    close([*found, of_x[0]], [*expected, of_x[1]], 1e-10)
    assert not steps.slots[padding].any()
    assert not steps.pi[padding].any()


@pytest.mark.parametrize("sharpness", [1.0, 1000.0])
@pytest.mark.parametrize(("operator", "attention", "allowed_maximum"), FORMS)
def test_states_attention_and_gradients_are_those_of_the_equations(
    operator: str, attention: str, allowed_maximum: bool, sharpness: float
) -> None:
    memory = make(sharpness, operator=operator, attention=attention, allowed_maximum=allowed_maximum)
    x, padding = sentences()
    leaf = x.clone().requires_grad_()
    slow = [transcribed(memory, list(row[:n]), 4) for row, n in zip(leaf, LENGTHS, strict=True)]
    root, states, p = torch.stack([s.root for s in slow]), *(torch.cat([s[k] for s in slow]) for k in (1, 2))
    expected = [root, states, p, *gradients(memory, root, leaf)]
    close(states_and_gradients(memory, x, padding, 4), expected, 1e-10)


# --- what is left out -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "tolerance", "sharpness"),
    [
        (torch.float64, 1e-12, 1.0),
        (torch.float64, 1e-12, 1000.0),
        (torch.float32, 1e-6, 1.0),
        (torch.float32, 1e-6, 30.0),  # at 1000, rounding alone changes the dense form's gradients by 8e-6
    ],
)
@pytest.mark.parametrize(("operator", "attention", "allowed_maximum"), FORMS)
def test_cells_that_change_nothing_are_left_out(
    operator: str, attention: str, allowed_maximum: bool, sharpness: float, dtype: torch.dtype, tolerance: float
) -> None:
    options = {"operator": operator, "attention": attention, "allowed_maximum": allowed_maximum}
    dense, dynamic = make(sharpness, dtype, **options, dynamic=False), make(sharpness, dtype, **options)
    x, padding = sentences(dtype)
    found, expected = (one_gradient(states_and_gradients(memory, x, padding, 5)) for memory in (dynamic, dense))
    close(found, expected, tolerance)
    steps = dynamic(x, padding, 5)
    needed = int((steps.p.cumsum(2) > 0).sum())
    open_ = sum(min(t, 5) for length in LENGTHS for t in range(length))
    assert steps.computed == needed <= dense(x, padding, 5).computed == open_
    assert needed < open_ or sharpness < 1000
    assert steps.share == needed / (len(LENGTHS) * max(LENGTHS) * 5)


def test_a_sharp_attention_leaves_out_more_than_the_length_of_a_sentence_does() -> None:
    x, padding = sentences(lengths=[12, 12, 12, 12])
    flat, sharp = (make(sharpness)(x, padding, 6) for sharpness in (0.0, 1e4))
    assert flat.computed == 4 * sum(min(t, 6) for t in range(12))
    assert sharp.computed < 0.75 * flat.computed


@pytest.mark.parametrize("operator", ["tree_cell", "tree_rnn"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_twice_the_slots_change_no_bit_of_a_short_sentence(operator: str, dtype: torch.dtype) -> None:
    memory = make(3.0, dtype, operator=operator)
    x, padding = sentences(dtype)
    few, many = memory(x, padding, 8), memory(x, padding, 16)  # up to 9 words
    assert torch.equal(few.root, many.root)
    assert torch.equal(few.states, many.states)
    assert torch.equal(few.p, many.p[:, :, 8:])
    assert not torch.equal(memory(x, padding, 4).root, memory(x, padding, 8).root), "longer sentences need the slots"


# --- what always holds ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("operator", "attention", "allowed_maximum"), FORMS)
def test_the_attention_is_a_distribution_after_the_first_word_and_0_at_it(
    operator: str, attention: str, allowed_maximum: bool
) -> None:
    x, padding = sentences()
    p = make(operator=operator, attention=attention, allowed_maximum=allowed_maximum)(x, padding, 4).p
    assert not p[:, 0].any()
    assert not p[padding].any()
    assert (p >= 0).all(), "so the cumulative sums are monotone"
    torch.testing.assert_close(p.sum(2), (~padding & (torch.arange(9) > 0)).double(), rtol=0, atol=1e-12)
    for t in range(1, 9):  # slot i cannot be reached before word N - i + 2
        assert not p[:, t, : max(0, 4 - t)].any()


def test_the_first_word_comes_out_as_it_went_in_whatever_is_dropped_later() -> None:
    memory = make(cell_dropout=0.9, attention_dropout=0.9)
    x, padding = sentences()
    torch.testing.assert_close(memory(x, padding, 4).states[:, 0], memory.norm(memory.input(x[:, 0])))


def test_memory_above_the_head_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = make(1e6, allowed_maximum=True, dynamic=False)
    seen: list[Tensor] = []
    combined = memory.cell.combined

    def watched(product: Tensor, left: Tensor, right: Tensor, norm: torch.nn.LayerNorm) -> Tensor:
        seen.append(right.detach())
        return combined(product, left, right, norm)

    monkeypatch.setattr(memory.cell, "combined", watched)
    x, padding = sentences(lengths=[30, 30, 30])
    p = memory(x, padding, 3).p
    before, copied = None, 0
    for t in range(3, 30):  # from here on all slots are computed
        M = torch.stack(seen[3 + 3 * (t - 3) :][:3], 1)  # 1 + 2 slots were computed before
        if before is not None:
            above = p[:, t].flip(1).cumsum(1).flip(1) == 0
            assert torch.equal(M[above], before[above])
            copied += int(above.sum())
        before = M
    assert copied > 10


def test_the_maximum_over_allowed_slots_keeps_a_sharp_attention_from_vanishing() -> None:
    alpha, pi = torch.tensor([[2000.0, 0.0, 1.0]]), torch.tensor([[0.0, 0.0, 1.0]])
    assert allocate(alpha, pi, allowed_maximum=False).tolist() == [[0.0, 0.0, 0.0]]
    found = allocate(alpha, pi, allowed_maximum=True)
    torch.testing.assert_close(found, torch.tensor([[0.0, 1.0, math.e]]) / (1 + math.e))


def test_mask_entries_below_the_threshold_close_a_slot_without_gradient() -> None:
    pi = torch.tensor([[0.0, 0.9e-5, 1.1e-5, 1.0]], requires_grad=True)
    p = allocate(torch.zeros(1, 4), pi, allowed_maximum=False)
    torch.testing.assert_close(p, torch.tensor([[0.0, 1.1e-5, 1.0, 1.0]]) / 2.000011)
    p[0, 3].backward()
    assert pi.grad is not None
    assert (pi.grad != 0).tolist() == [[False, False, True, True]]


# --- padding ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("side", ["front", "end", "both", "between"])
def test_padding_anywhere_changes_neither_states_nor_gradients(
    side: str, dynamic: bool, dtype: torch.dtype, tolerance: float
) -> None:
    memory = make(3.0, dtype, dynamic=dynamic)
    x, padding = sentences(dtype, [6])
    alone = states_and_gradients(memory, x, padding, 4)
    places = {"front": range(4, 10), "end": range(6), "both": range(2, 8), "between": [1, 2, 5, 6, 8, 9]}[side]
    wide, absent = x.new_full((1, 10, 5), math.nan), torch.ones(1, 10, dtype=torch.bool)
    wide[0, list(places)], absent[0, list(places)] = x[0], False
    *found, x_gradient = states_and_gradients(memory, wide, absent, 4)
    close(one_gradient([*found, x_gradient[~absent]]), one_gradient(alone), tolerance)
    assert not x_gradient[absent].any()
    steps = memory(wide, absent, 4)
    assert not steps.states[absent].any()
    assert not steps.p[absent].any()


@pytest.mark.parametrize("dynamic", [True, False])
def test_rows_with_padding_on_different_sides_do_not_meet(dynamic: bool) -> None:
    memory = make(3.0, dynamic=dynamic)
    x, padding = sentences()
    turned, absent = x.clone(), padding.clone()
    for row in (1, 3):
        shift = 9 - LENGTHS[row]
        turned[row], absent[row] = x[row].roll(shift, 0), padding[row].roll(shift)
    torch.testing.assert_close(memory(turned, absent, 4).root, memory(x, padding, 4).root, rtol=0, atol=1e-12)


# --- over ids ---------------------------------------------------------------------------------------------------------


def core(**options: Any) -> SequenceOrderedMemory:
    torch.manual_seed(0)
    return SequenceOrderedMemory(20, 12, num_slots=3, **options).double()


IDS = torch.tensor([[3, 4, 5, 6, 7, 8, 9], [5, 4, 0, 0, 0, 0, 0], [7, 3, 4, 9, 2, 0, 0]])
ENDS = torch.tensor([7, 2, 5])


def test_two_directions_are_two_memories_side_by_side() -> None:
    both = core(bidirectional=True, embedding_size=5)
    states = both(IDS, ENDS)
    forward, backward = both.steps(IDS, ENDS)
    assert both.steps(IDS[:1], ENDS[:1])[0].p.shape == (1, 7, 3)
    for row, (ids, end) in enumerate(zip(IDS, ENDS.tolist(), strict=True)):
        words = [both.embedding.weight[i] for i in ids[:end]]
        there, back = (transcribed(m, w, 3) for m, w in zip(both.memories, (words, words[::-1]), strict=True))
        torch.testing.assert_close(states[row], torch.cat([there.root, back.root]), rtol=0, atol=1e-10)
        torch.testing.assert_close(forward.states[row, :end], there.states, rtol=0, atol=1e-10)
        torch.testing.assert_close(forward.p[row, :end], there.p, rtol=0, atol=1e-10)
        torch.testing.assert_close(backward.states[row, :end].flip(0), back.states, rtol=0, atol=1e-10)
        torch.testing.assert_close(backward.p[row, :end].flip(0), back.p, rtol=0, atol=1e-10)
    with pytest.raises(ValueError, match="hidden_size is 7; each of the two directions has half of it, so it must"):
        SequenceOrderedMemory(20, 7, bidirectional=True)


def test_evaluation_may_use_other_slots_than_training() -> None:
    few, many = core(), core(num_evaluation_slots=8)
    assert torch.equal(many(IDS, ENDS), few(IDS, ENDS))
    many.eval()
    assert many.steps(IDS, ENDS)[0].p.shape == (3, 7, 8)
    assert torch.equal(many(IDS, ENDS)[1], few(IDS, ENDS)[1]), "two words need no more than three slots"
    assert not torch.allclose(many(IDS, ENDS)[0], few(IDS, ENDS)[0])


def test_locked_dropout_has_one_mask_for_all_steps_of_a_sequence() -> None:
    torch.manual_seed(0)
    dropped = LockedDropout(0.25)(torch.ones(50, 6, 20))
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    assert set(dropped.unique().tolist()) == {0.0, torch.tensor(1 / 0.75).item()}
    assert abs(float((dropped == 0).float().mean()) - 0.25) < 0.05
    assert isinstance(core(dropout=0.5, locked=True).dropout, LockedDropout)


@pytest.mark.parametrize(
    ("x", "padding", "slots", "error"),
    [
        (torch.zeros(2, 3, 4), torch.zeros(2, 3, dtype=torch.bool), 2, r"x is \(2, 3, 4\); it must be \(B, T, 5\)"),
        (torch.zeros(2, 3, 5), torch.zeros(2, 4, dtype=torch.bool), 2, r"padding is \(2, 4\) .* must be \(2, 3\) bool"),
        (torch.zeros(2, 3, 5), torch.zeros(2, 3), 2, r"padding is \(2, 3\) torch.float32; .* bool"),
        (torch.zeros(0, 3, 5), torch.zeros(0, 3, dtype=torch.bool), 2, "an empty batch"),
        (torch.zeros(2, 0, 5), torch.zeros(2, 0, dtype=torch.bool), 2, "an empty batch"),
        (
            torch.zeros(3, 3, 5),
            torch.tensor([[False] * 3, [True] * 3, [True] * 3]),
            2,
            "sequence 1 is empty; give at least one word",
        ),
        (
            torch.zeros(2, 3, 5),
            torch.zeros(2, 3, dtype=torch.bool),
            0,
            "num_slots is 0; it must be a whole number, 1 or more",
        ),
    ],
)
def test_bad_input_is_refused(x: Tensor, padding: Tensor, slots: int, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        OrderedMemory(5, 6)(x, padding, slots)


def test_empty_and_overlong_sequences_of_ids_are_refused() -> None:
    with pytest.raises(ValueError, match="lengths go from 0 to 7"):
        core()(IDS, torch.tensor([7, 0, 5]))
    for read in (core(max_length=6), core(max_length=6).steps):
        with pytest.raises(ValueError, match="sequence 0 has length 7; this encoder takes max_length=6"):
            read(IDS, ENDS)


@pytest.mark.gpu
def test_no_step_waits_for_a_gpu() -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    memory, waits = make().cuda(), []
    for length in (5, 50):
        x, padding = (tensor.cuda() for tensor in sentences(lengths=[length, 3]))
        memory(x, padding, 4)  # the first call sets up the device's libraries
        with syncs() as found:
            memory(x, padding, 4).root.sum().backward()
        waits.append(len(found))
    assert waits[0] == waits[1]


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("allowed_maximum", [False, True])
def test_over_ids_the_maximum_is_over_the_slots_that_it_is_told(allowed_maximum: bool, bidirectional: bool) -> None:
    """With a sharp attention all that is allowed may be far below the maximum over all slots, and p is 0 there.

    Only with dropout, without which a slot that is closed has the score of one that is not.
    """
    sharp = core(allowed_maximum=allowed_maximum, bidirectional=bidirectional, attention_dropout=0.5)
    with torch.no_grad():
        for memory in sharp.memories:
            memory.attention.w.weight.mul_(1e6)
    ids = torch.randint(1, 20, (8, 30), generator=torch.Generator().manual_seed(0))
    for direction, steps in enumerate(sharp.steps(ids, torch.full((8,), 30))):
        p = steps.p.flip(1) if direction else steps.p
        vanished = bool((p[:, 1:].sum(2) < 0.5).any())
        assert vanished != allowed_maximum


def test_padding_and_the_number_of_slots_may_be_left_out() -> None:
    x = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0))
    memory = OrderedMemory(3, 6, num_slots=4)
    nothing = torch.zeros(2, 5, dtype=torch.bool)
    for a, b in zip(memory(x)[:3], memory(x, nothing, 4)[:3], strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)
    assert memory(x, num_slots=7).p.shape == (2, 5, 7)
    with pytest.raises(ValueError, match="num_slots is 0"):
        OrderedMemory(3, 6, num_slots=0)
