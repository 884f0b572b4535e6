"""Numba: a step of a search by beams, which is numbers of rows and a few exponentials, in one compiled call each for
what is chosen and for the beams after it; see ``beams.py`` and ``nodes.py`` in ``dgltree/encoders/latent``, which say
the same in torch.

A table of pairs has a row ``[left, right, node]`` each, with a hash table of keys and numbers.
"""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dgltree.engine.kernels.numba_compile import compile_kernel, exponential, is_compiled

SPAN = np.int64(2**31)  # this and UNBUILT as in nodes.py, which works without Numba
EMPTY = np.int64(-1)
UNBUILT = np.int64(-1)
ORDERED = np.int64(-2)
NODE = 2
SPREAD = np.int64(0x1E3779B97F4A7C15)
DROPPED = np.int64(20)  # an odd number, and the lower bits of its product


@compile_kernel
def place(keys, key):
    """Where a key is, or would be, in a table whose size is a power of two and which is never full."""
    last = len(keys) - 1
    at = ((key * SPREAD) >> DROPPED) & last
    while keys[at] != key and keys[at] != EMPTY:
        at = (at + 1) & last
    return at


@compile_kernel
def number(keys, numbers, pairs, count, left, right):
    """The number of a pair, ``count`` if it is new; it is in the table afterwards."""
    key = left * SPAN + right
    at = place(keys, key)
    if keys[at] == EMPTY:
        keys[at], numbers[at] = key, count
        pairs[count, 0], pairs[count, 1], pairs[count, NODE] = left, right, UNBUILT
    return numbers[at]


@compile_kernel
def number_all(keys, numbers, pairs, count, left, right, found):
    """The numbers of pairs (m,) into ``found``; how many there are in all."""
    for i in range(len(left)):
        found[i] = number(keys, numbers, pairs, count, left[i], right[i])
        count = max(count, found[i] + 1)
    return count


@compile_kernel
def join(before, chosen, known, count, next_row, missing, after):
    """The beams after a join each, which pairs have to be composed, into ``missing``, how many, and the pairs in all.

    A row is numbered here in the order of the pairs, as if it were composed already.
    """
    rows, pairs, gaps = before
    at, parent, alive, candidates = chosen
    keys, numbers, table = known
    new_rows, new_pairs, new_gaps, closed = after
    sequences, beams = at.shape
    size = pairs.shape[2]
    made = 0
    for i in range(sequences):
        for k in range(beams):
            b = parent[i, k]
            j = at[i, k]
            closed[i, k] = gaps[i, b, j]
            pair = pairs[i, b, j]
            if alive[i, k] and table[pair, NODE] == UNBUILT:
                table[pair, NODE] = ORDERED
                missing[made] = pair
                made += 1
    missing[:made].sort()
    for k in range(made):
        table[missing[k], NODE] = next_row + k
    for i in range(sequences):
        for k in range(beams):
            b = parent[i, k]
            j = at[i, k]
            for s in range(size):
                new_rows[i, k, s] = rows[i, b, s + 1 if s > j else s]
            new_rows[i, k, j] = table[pairs[i, b, j], NODE] if alive[i, k] else 0
            for s in range(size - 1):
                source = s + 1 if s >= j else s
                new_pairs[i, k, s], new_gaps[i, k, s] = pairs[i, b, source], gaps[i, b, source]
    for side in range(2):
        for i in range(sequences):
            for k in range(beams):
                left = at[i, k] - 1 + side
                if alive[i, k] and 0 <= left < candidates[i] - 1:
                    row = new_rows[i, k, left]
                    right = new_rows[i, k, left + 1]
                    pair = number(keys, numbers, table, count, row, right)
                    count = max(count, pair + 1)
                    new_pairs[i, k, left] = pair
    return made, count


@compile_kernel
def leftmost_best(values, near, found):
    """:func:`dgltree.encoders.latent.choice.leftmost_best` of values (S,); what is found becomes -inf there."""
    nothing = values.dtype.type(-np.inf)
    largest = values.dtype.type(0)
    for j in range(len(values)):
        largest = max(largest, abs(values[j]) if values[j] != nothing else largest)
    margin = values.dtype.type(near) * largest
    for k in range(len(found)):
        best = nothing
        for j in range(len(values)):
            best = max(best, values[j])
        first = 0
        while first < len(values) and not (values[first] >= best - margin and values[first] != nothing):
            first += 1
        if first == len(values):  # nothing but -inf or NaN is left: the first that is not found yet
            first = 0
            while contains(found[:k], first):
                first += 1
        found[k], values[first] = first, nothing


@compile_kernel
def contains(values, wanted):
    """Whether one of a few values is the one that is wanted."""
    there = False
    for k in range(len(values)):
        there |= values[k] == wanted
    return there


@compile_kernel
def softmax_parts(scores, pairs, values):
    """The scores of pairs (S,) into ``values``; the largest, and the sum of exponentials of what they are above it."""
    top = scores.dtype.type(-np.inf)
    total = scores.dtype.type(0)
    for j in range(len(pairs)):
        values[j] = scores[pairs[j], 0]
        top = max(top, values[j])
    for j in range(len(pairs)):
        total += exponential(values[j] - top)
    return top, total


@compile_kernel
def choose(near, epsilon, scores, beams, noise, after):
    """The next beams of each sequence, and their totals; see :class:`BeamKernel`."""
    pairs, candidates, total, usable = beams
    of_pairs, of_proposals = noise
    at, parent, alive, new_total = after
    sequences, count, size = pairs.shape
    each = min(at.shape[1], size)  # of one beam, so of all no fewer than are kept
    values = np.empty(size, scores.dtype)
    places = np.empty(count * each, np.int64)
    totals = np.empty(count * each, scores.dtype)
    ranked = np.empty(count * each, scores.dtype)
    nothing = scores.dtype.type(-np.inf)
    for i in range(sequences):
        last = candidates[i]
        for b in range(count):
            top, normal = softmax_parts(scores, pairs[i, b, :last], values)
            for j in range(last, size):
                values[j] = nothing
            if len(of_pairs):
                for j in range(last):
                    values[j] += of_pairs[i, b, j]
            leftmost_best(values[: max(last, each)], near, places[b * each : (b + 1) * each])
            for p in range(b * each, (b + 1) * each):
                score = scores[pairs[i, b, places[p]], 0]
                totals[p] = total[i, b] + math.log(exponential(score - top) / normal + scores.dtype.type(epsilon))
                if places[p] >= last or not usable[i, b]:
                    ranked[p] = nothing
                elif last == 1:  # no choice: beams stay as they are
                    ranked[p] = -b
                else:
                    ranked[p] = totals[p] + (of_proposals[i, p] if len(of_proposals) else scores.dtype.type(0))
        leftmost_best(ranked, near, parent[i])
        for k in range(at.shape[1]):
            p = parent[i, k]
            at[i, k], parent[i, k], new_total[i, k] = places[p], p // each, totals[p]
            alive[i, k] = places[p] < last and usable[i, parent[i, k]]


@compile_kernel
def choose_back(epsilon, scores, pairs, candidates, at, parent, alive, d, d_scores, d_total):
    """Adds the gradients of scores and of totals, from ``d`` of the new totals."""
    values = np.empty(pairs.shape[2], scores.dtype)
    for i in range(d.shape[0]):
        for k in range(d.shape[1]):
            b = parent[i, k]
            d_k = d[i, k]
            d_total[i, b] += d_k
            if alive[i, k]:
                row = pairs[i, b, : candidates[i]]
                top, normal = softmax_parts(scores, row, values)
                chosen = row[at[i, k]]
                p = exponential(scores[chosen, 0] - top) / normal
                d_k *= p / (p + scores.dtype.type(epsilon))
                d_scores[chosen, 0] += d_k
                for j in range(len(row)):
                    d_scores[row[j], 0] -= d_k / normal * exponential(values[j] - top)


class PairKernel:
    """Numbers of pairs and of beams, int64, each tensor without gaps."""

    @staticmethod
    def number(known: tuple[Tensor, Tensor, Tensor], count: int, left: Tensor, right: Tensor, found: Tensor) -> int:
        """``number_all`` of tensors; ``known`` are keys, numbers and pairs, with room for as many more."""
        return int(number_all(*_arrays(known), count, *_arrays((left, right, found))))

    @staticmethod
    def join(
        before: tuple[Tensor, ...],
        chosen: tuple[Tensor, ...],
        known: tuple[Tensor, Tensor, Tensor],
        count: int,
        next_row: int,
        missing: Tensor,
        after: tuple[Tensor, ...],
    ) -> tuple[int, int]:
        """The compiled function of this name, of tensors.

        Args:
            before: rows (b, K', S), pairs and gaps (b, K', S - 1).
            chosen: places and parents (b, K), which of them are alive (bool), and candidates (b,).
            known: keys, numbers and pairs, with room for 2 b K more.
            count: how many pairs there are.
            next_row: the number of the next node.
            missing: (b K,), the pairs that have to be composed are its first.
            after: rows (b, K, S - 1), pairs and gaps (b, K, S - 2), and the gaps that are closed (b, K).
        """
        made, count = join(*map(_arrays, (before, chosen, known)), count, next_row, missing.numpy(), _arrays(after))
        return int(made), int(count)

    @classmethod
    def compile(cls, options: tuple[int, ...], dtype: torch.dtype, backward_too: bool, compile_it: bool) -> bool:
        """Whether all is compiled, or read from disk; with ``compile_it`` what was not there is compiled now."""
        row, table, cube = (np.empty((0,) * k, np.int64) for k in (1, 2, 3))
        known = (row, row, table)
        chosen = (table, table, table.astype(np.bool_), row)
        needed: list[tuple[Any, tuple[Any, ...]]] = [
            (number_all, (*known, 0, row, row, row)),
            (join, ((cube, cube, cube), chosen, known, 0, 0, row, (cube, cube, cube, table))),
        ]
        return all(is_compiled(function, arguments, compile_it) for function, arguments in needed)


class BeamKernel:
    """What a step chooses; float32 or float64, each tensor without gaps.

    Args of a call:
        near, epsilon: as of :func:`dgltree.encoders.latent.choice.leftmost_best`, and added to a probability.
        scores: (N, 1), of all pairs.
        beams: pairs (b, K', S - 1), candidates (b,), totals (b, K'), and which are usable (b, K', bool).
        noise: added to scores (b, K', S - 1) and to the totals of proposals (b, P), without entries if there is none.
        after: places, parents, which are alive (bool), and totals, (b, K) each.
    """

    @staticmethod
    def choose(
        near: float,
        epsilon: float,
        scores: Tensor,
        beams: tuple[Tensor, ...],
        noise: tuple[Tensor, Tensor],
        after: tuple[Tensor, ...],
    ) -> None:
        """The compiled function of this name, of tensors."""
        choose(near, epsilon, scores.numpy(), *map(_arrays, (beams, noise, after)))

    @staticmethod
    def choose_back(epsilon: float, *tensors: Tensor) -> None:
        """The compiled function of this name, of tensors."""
        choose_back(epsilon, *_arrays(tensors))

    @classmethod
    def compile(cls, options: tuple[int, ...], dtype: torch.dtype, backward_too: bool, compile_it: bool) -> bool:
        """Whether all is compiled, or read from disk; with ``compile_it`` what was not there is compiled now."""
        values, more = (torch.empty((0,) * k, dtype=dtype).numpy() for k in (2, 3))
        row, table, cube = (np.empty((0,) * k, np.int64) for k in (1, 2, 3))
        flags = table.astype(np.bool_)
        beams = (cube, row, values, flags)
        after = (table, table, flags, values)
        needed: list[tuple[Any, tuple[Any, ...]]] = [(choose, (0.0, 0.0, values, beams, (more, values), after))]
        if backward_too:
            needed.append(
                (choose_back, (0.0, values, cube, row, table, table, flags, values, values, values)),
            )
        return all(is_compiled(function, arguments, compile_it) for function, arguments in needed)


def _arrays(tensors: tuple[Tensor, ...]) -> tuple[Any, ...]:
    return tuple(tensor.numpy() for tensor in tensors)
