"""Triton: Ordered Memory, all words of a batch: two launches a word each way, and two products of torch.

At a word ``triton_attention.py`` says where to write, a program for each sequence, and ``triton_slots.py`` writes, one
for T sequences, slot after slot. Gradients of weights are products over all words at the end. Every row is summed up in
one order: always the same bits.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import triton
from torch import Tensor

from dgltree.engine.kernels.kernel import MemoryMasks, MemoryShape, MemoryWeights, MemoryWord
from dgltree.engine.kernels.triton_attention import attend, attend_back
from dgltree.engine.kernels.triton_launch import Launch
from dgltree.engine.kernels.triton_slots import WARPS, write, write_back

TILE_ROWS = 16
"""Sequences of a program that writes, the fewest that a product of Triton takes."""
INPUTS = 16
"""Inputs of a product that are read at a time."""
MAX_COLUMNS = 64
MAX_ELEMENTS = 1024
"""Elements of a tile of slots by columns: with 2,048 gradients take all 255 registers of a thread, in float64 more."""


class TritonMemory:
    """The words of an Ordered Memory.

    Args:
        shape: its sizes and options.
        x: x~ of all words, (R, n).
        queries: of the attention, (R, n).
        present: (R,) bool, whether there is a word; if there is none, the memory stays what it was.
        attends: (R,) bool, whether the attention is not 0, as it is at the first word that is there.
        words: where each is; no slot is open at the first.
        weights: of the cell, its LayerNorm and the attention.
        masks: of dropout.
        keep: whether there will be a backward pass; else there is room for two words at a time.
    """

    def __init__(
        self,
        shape: MemoryShape,
        x: Tensor,
        queries: Tensor,
        present: Tensor,
        attends: Tensor,
        words: Sequence[MemoryWord],
        weights: MemoryWeights,
        masks: MemoryMasks,
        keep: bool,
    ) -> None:
        self._shape, self._x, self._queries = shape, x, queries
        self._present, self._attends = present.view(torch.uint8), attends.view(torch.uint8)
        self._weights, self._masks = weights, masks
        pairs = [word.slots * word.sequences for word in words]
        if not keep:
            room = max(pairs)
            words = [word._replace(base=t % 2 * room) for t, word in enumerate(words)]
            pairs = [room, room]
        self._words, n, rows = words, shape.n, sum(pairs)
        narrow, wide = (lambda: x.new_empty(rows, n)), (lambda: x.new_empty(rows, 4 * n))
        self._states, self._p = torch.empty_like(x), x.new_zeros(len(x), shape.slots)
        self._M_hat, self._M, self._key, self._below, self._normal = (narrow() for _ in range(5))
        self._hidden, self._gates, self._pi, self._rstd = wide(), wide(), x.new_empty(rows), x.new_empty(rows)
        self._active = wide() if shape.gelu else self._hidden
        self._keyed, self._right, self._dropped = (
            narrow() if dropped else plain
            for dropped, plain in zip(
                (shape.dropped[0], *shape.dropped[2:4]), (self._M_hat, self._M, self._below), strict=True
            )
        )

    def forward(self) -> tuple[Tensor, Tensor]:
        """The state after each word, (R, n), and the attention, (R, slots)."""
        weights, first = self._weights, self._words[0]
        absent = self._present[: first.sequences, None] == 0
        self._states[: first.sequences] = self._x[: first.sequences].masked_fill(absent, 0)
        launch_attend, launch_write = self._launches_forward()
        right, key = weights.horizontal.t(), weights.key.t()
        for before, word, later in self._steps():
            if not before.slots:  # the first slot opens with the state of the first word
                rows = slice(word.base, word.base + word.sequences)
                self._M_hat[rows] = self._states[: word.sequences]
                if self._shape.dropped[0]:
                    torch.mul(self._M_hat[rows], self._masks.key[rows], out=self._keyed[rows])
                self._keys(word, key)
            opened = word.slots - before.slots
            launch_attend((word.sequences, 1, 1), *word, before.base, before.sequences, opened)
            rows = slice(word.base, word.base + word.slots * word.sequences)
            torch.addmm(weights.horizontal_bias, self._right[rows], right, out=self._hidden[rows])
            tiles = triton.cdiv(word.sequences, TILE_ROWS)
            launch_write((tiles, 1, 1), *word, later.base, later.sequences, later.slots - word.slots)
            if later.sequences:
                self._keys(later, key)
        return self._states, self._p

    def backward(self, d_states: Tensor, d_p: Tensor) -> tuple[Tensor, Tensor, MemoryWeights]:
        """The gradients of x and of the queries, (R, n), and of the weights, from those of both results."""
        x, weights, masks = self._x, self._weights, self._masks
        rows, n = self._M.shape
        d_M, d_M_hat, d_pi = x.new_zeros(rows, n), x.new_empty(rows, n), x.new_zeros(rows)
        d_h, d_below, d_right, d_key, d_keyed = (x.new_empty(rows, n) for _ in range(5))
        d_hidden, d_gates = torch.empty_like(self._hidden), torch.empty_like(self._gates)
        d_x, d_queries, of_w, of_norm = (torch.zeros_like(x) for _ in range(4))
        given = d_states, d_M_hat, d_keyed, d_x, d_M, d_pi, d_hidden, d_gates, d_h, d_below
        launch_write = self._write(
            write_back, self._x, self._present, self._M, self._pi, self._hidden, self._active, self._gates,
            self._below, self._normal, self._rstd, weights.vertical, weights.second, weights.norm, weights.norm_bias,
            masks.below, masks.active, masks.key, *given, n,
        )  # fmt: skip
        launch_attend = self._attend(
            attend_back, self._queries, self._present, self._attends, self._M_hat, self._M, self._key, self._pi,
            *self._attention(), masks.score, masks.right, d_p, d_M, d_right, d_pi, d_M_hat, d_key, d_queries, of_w,
            of_norm,
        )  # fmt: skip
        for before, word, later in reversed(self._steps()):
            opened = word.slots - before.slots
            tiles = triton.cdiv(word.sequences, TILE_ROWS)
            launch_write((tiles, 1, 1), *word, later.base, later.sequences, later.slots - word.slots)
            some = slice(word.base, word.base + word.slots * word.sequences)
            torch.mm(d_hidden[some], weights.horizontal, out=d_right[some])
            launch_attend((word.sequences, 1, 1), *word, before.base, before.sequences, opened)
            torch.mm(d_key[some], weights.key, out=d_keyed[some])
        self._first_back(d_states, d_M_hat, d_keyed, d_x)
        paper = self._shape.paper
        return (
            d_x,
            d_queries,
            MemoryWeights(
                key=d_key.t() @ self._keyed,
                key_bias=None if paper else d_key.sum(0),
                key_norm=None if paper else of_norm.sum(0),
                key_norm_bias=None if paper else d_queries.sum(0),
                w=of_w.sum(0, keepdim=True),
                vertical=d_hidden.t() @ self._dropped,
                horizontal=d_hidden.t() @ self._right,
                horizontal_bias=d_hidden.sum(0),
                second=d_gates.t() @ self._active,
                second_bias=d_gates.sum(0),
                norm=(d_h * self._normal).sum(0),
                norm_bias=d_h.sum(0),
            ),
        )

    def _first_back(self, d_states: Tensor, d_M_hat: Tensor, d_keyed: Tensor, d_x: Tensor) -> None:
        """The gradient of the first words, which are the state after them and open the first slot."""
        first = self._words[0].sequences
        d = d_states[:first].clone()
        if len(self._words) > 1:
            word = self._words[1]
            rows = slice(word.base, word.base + word.sequences)
            of_key = d_keyed[rows] * self._masks.key[rows] if self._shape.dropped[0] else d_keyed[rows]
            d[: word.sequences] += d_M_hat[rows] + of_key
        d_x[:first] = d.masked_fill(self._present[:first, None] == 0, 0)

    def _keys(self, word: MemoryWord, key: Tensor) -> None:
        """The keys of the slots that a word attends to."""
        rows, bias = slice(word.base, word.base + word.slots * word.sequences), self._weights.key_bias
        if bias is None:
            torch.mm(self._keyed[rows], key, out=self._key[rows])
        else:
            torch.addmm(bias, self._keyed[rows], key, out=self._key[rows])

    def _steps(self) -> list[tuple[MemoryWord, MemoryWord, MemoryWord]]:
        """Each word but the first, with those before and after it; the one after the last has no rows."""
        end = MemoryWord(0, 0, self._words[-1].slots, 0)
        return list(zip(self._words, self._words[1:], [*self._words[2:], end], strict=False))

    def _launches_forward(self) -> tuple[Launch, Launch]:
        weights, masks = self._weights, self._masks
        launch_attend = self._attend(
            attend, self._queries, self._present, self._attends, self._M_hat, self._M, self._right, self._key, self._pi,
            self._p, *self._attention(), masks.score, masks.right,
        )  # fmt: skip
        launch_write = self._write(
            write, self._x, self._present, self._M_hat, self._keyed, self._M, self._pi, self._hidden, self._active,
            self._gates, self._below, self._dropped, self._normal, self._rstd, self._states, weights.vertical,
            weights.second, weights.second_bias, weights.norm, weights.norm_bias, masks.below, masks.active, masks.key,
            self._shape.n,
        )  # fmt: skip
        return launch_attend, launch_write

    def _attention(self) -> tuple[Tensor, Tensor, Tensor]:
        """The weights of the keys' LayerNorm, which are not read if there is none, and w."""
        weights = self._weights
        if weights.key_norm is None or weights.key_norm_bias is None:
            return weights.w, weights.w, weights.w
        return weights.key_norm, weights.key_norm_bias, weights.w

    def _attend(self, function: Any, *arguments: Tensor) -> Launch:
        shape = self._shape
        S = triton.next_power_of_2(shape.slots)
        B = min(MAX_COLUMNS, triton.next_power_of_2(shape.n), max(1, MAX_ELEMENTS // S))
        constants = {
            "EPS": shape.key_eps,
            "SCALE": (shape.slots if shape.paper else shape.n) ** -0.5,
            "PAPER": shape.paper,
            "ALLOWED": shape.allowed_maximum,
            "DROPPED": shape.dropped[1],
            "MASKED": shape.dropped[2],
            "S": S,
            "B": B,
        }
        warps = min(8, max(1, S * B // 128))
        return Launch(function, (*arguments, shape.n, shape.slots), constants, warps, stages=1)

    def _write(self, function: Any, *arguments: Tensor | int) -> Launch:
        key, _, _, below, active = self._shape.dropped
        constants = {
            "EPS": self._shape.eps,
            "GELU": self._shape.gelu,
            "DROPPED": active,
            "MASKED": below,
            "KEYED": key,
            "PRECISION": self._shape.precision,
            "T": TILE_ROWS,
            "B": min(MAX_COLUMNS, max(16, triton.next_power_of_2(self._shape.n))),
            "K": INPUTS,
        }
        return Launch(function, arguments, constants, WARPS, stages=1)

    @classmethod
    def compile(
        cls, options: tuple[int, ...], dtype: torch.dtype, backward_too: bool, compile_it: bool, shape: MemoryShape
    ) -> bool:
        """Whether memories of this shape can be computed, which compiles: two words of a sequence are.

        So no pass begins that cannot end. Triton does not say what it has on disk, so without ``compile_it`` the answer
        is no.
        """
        if not compile_it:
            return False
        where: dict[str, Any] = {"device": "cpu" if triton.knobs.runtime.interpret else "cuda", "dtype": dtype}
        n, x = shape.n, torch.zeros(2, shape.n, **where)
        zeros: Callable[..., Tensor] = lambda *sizes: torch.zeros(*sizes, **where)  # noqa: E731
        of_keys = (None, None, None) if shape.paper else (zeros(n), zeros(n), zeros(n))
        weights = MemoryWeights._make((
            zeros(n, n), *of_keys, zeros(1, n), zeros(4 * n, n),
            zeros(4 * n, n), zeros(4 * n), zeros(4 * n, 4 * n), zeros(4 * n), zeros(n), zeros(n),
        ))  # fmt: skip
        widths = n, n, n, n, 4 * n
        masks = MemoryMasks(*(zeros(int(some), width) for some, width in zip(shape.dropped, widths, strict=True)))
        there = torch.ones(2, dtype=torch.bool, device=x.device)
        words = [MemoryWord(0, 1, 0, 0), MemoryWord(1, 1, 1, 0)]
        memory = cls(shape, x, x.clone(), there, there, words, weights, masks, backward_too or any(shape.dropped))
        states, p = memory.forward()
        if backward_too:
            memory.backward(torch.zeros_like(states), torch.zeros_like(p))
        return True
