"""Beam Trees and recursion in recursion one sentence at a time, from the equations: every step copies whole beams."""

from collections.abc import Callable
from itertools import chain, pairwise
from typing import Any

import torch
from latent_equations import Noise, Told, best, composed, score
from torch import Tensor

ZERO = torch.zeros((), dtype=torch.float64)


def u(level: int, chunk: int, beam: int) -> float:
    """A number in place of a draw, for a beam of a chunk of a sequence."""
    return (7 * level + 3 * chunk + beam + 1) * 0.6180339887498949 % 1


def beam_tree(core: Any, h: list[Tensor], training: bool, noise: Noise) -> Told:
    beams = searched(core, [(h, ZERO, list(range(len(h) - 1)), [])], training, noise)
    return answer(beams, [order for *_, order in beams])


def answer(beams: list, orders: list[list[int]]) -> Told:
    weights = torch.softmax(torch.stack([a for _, a, *_ in beams]), 0)
    root = sum(w * h[0] for w, (h, *_) in zip(weights, beams, strict=True))
    return Told(root, orders[best(weights.tolist(), 1)[0]])


def searched(core: Any, beams: list, training: bool, noise: Noise) -> list:
    """The beams at the end: states, total, open gaps, and what they began with, to which the closed gaps are added."""
    K, soft, T = core.beam_size, core.soft and training, len(beams[0][0])
    for t in range(T - 1):
        proposals = []
        scores = [torch.stack([score(core, *pair) for pair in pairwise(h)]) for h, *_ in beams]
        noisy = [s.detach() for s in scores]
        if noise is not None:
            drawn = next(noise)[0]
            noisy = [s + of for s, of in zip(noisy, drawn, strict=True)]
        for b, ((h, a, gaps, order), s, by) in enumerate(zip(beams, scores, noisy, strict=True)):
            log_pi = torch.log(torch.softmax(s, 0) + 1e-20)
            for j in best(by.tolist(), min(K, len(h) - 1)):
                proposals.append((b, j, a + log_pi[j], [*gaps[:j], *gaps[j + 1 :]], [*order, gaps[j]]))
        by = torch.stack([a.detach() for _, _, a, _, _ in proposals])
        by = by if noise is None or soft else by + next(noise).flatten()
        last = t == T - 2
        kept = list(range(len(proposals))) if last else best(by.tolist(), K)
        hard = kept[: K - 1] if soft and len(kept) == K else kept
        after = []
        for p in hard:
            b, j, a, gaps, order = proposals[p]
            h = beams[b][0]
            after.append(([*h[:j], composed(core, h[j], h[j + 1]), *h[j + 2 :]], a, gaps, order))
        if len(hard) < len(kept):
            after.append(mixed(core, beams, proposals, [p for p in range(len(proposals)) if p not in hard], kept[-1]))
        beams = after
    return beams


def mixed(core: Any, beams: list, proposals: list, rest: list[int], first: int) -> tuple:
    """OneSoft: what all other proposals become together."""
    w = torch.softmax(torch.stack([proposals[p][2] for p in rest]), 0)
    size = len(beams[0][0])
    h, c, m = [0.0] * size, [0.0] * (size - 1), torch.zeros(size - 1, dtype=torch.float64)
    a = sum(w_p * proposals[p][2] for w_p, p in zip(w, rest, strict=True))
    for w_p, p in zip(w, rest, strict=True):
        own = beams[proposals[p][0]][0]
        h = [total + w_p * state for total, state in zip(h, own, strict=True)]
        pairs = pairwise(own)
        c = [total + w_p * composed(core, *pair) for total, pair in zip(c, pairs, strict=True)]
        m = m + w_p * torch.eye(size - 1, dtype=torch.float64)[proposals[p][1]]
    sums = m.cumsum(0)
    left = [m[i] * c[i] + (1 - sums[i]) * h[i] + (sums[i] - m[i]) * h[i + 1] for i in range(size - 1)]
    return left, a, *proposals[first][3:]


def recursion(
    core: Any, h: list[Tensor], training: bool, noise: Noise, k: int, u: Callable[[int, int, int], float] = u
) -> Told:
    """All beams handed on. An item is a list of beams, with states, totals, and the gaps that each level closed; a gap
    is known by the word before it."""
    items = [[(state, ZERO, [])] for state in h]
    ends, level = list(range(len(h))), 0
    while True:
        size = k if len(items) >= k + k // 2 else len(items)
        chunks = [list(range(start, min(start + size, len(items)))) for start in range(0, len(items), size)]
        found = [
            chunk_of(core, [items[i] for i in chunk], [ends[i] for i in chunk], training, noise) for chunk in chunks
        ]
        if len(chunks) == 1:
            beams = [([state], a, levels) for state, a, levels in found[0]]
            return answer(beams, [list(chain(*levels)) for *_, levels in beams])
        items = aligned(core.config["handed_on"], found, lambda c, b, t=level: u(t, c, b))
        ends, level = [ends[chunk[-1]] for chunk in chunks], level + 1


def chunk_of(core: Any, members: list[list], ends: list[int], training: bool, noise: Noise) -> list:
    """Beams of a chunk, from those of its members with the same number."""
    starts, before = [], []
    for b in range(len(members[0])):
        beams = [member[b] for member in members]
        starts.append(([state for state, *_ in beams], sum((a for _, a, _ in beams), ZERO), ends[:-1], [b]))
        before.append([list(chain(*parts)) for parts in zip(*(levels for *_, levels in beams), strict=True)])
    found = searched(core, starts, training, noise)
    return [(h[0], a, [*before[order[0]], order[1:]]) for h, a, _, order in found]


def aligned(how: str, chunks: list[list], u: Callable[[int, int], float]) -> list[list]:
    """As many beams of each chunk as that has that has the most."""
    most, after = max(map(len, chunks)), []
    for c, beams in enumerate(chunks):
        if how == "ranked":
            after.append([beams[b % len(beams)] for b in range(most)])
            continue
        a = torch.stack([a.detach() for _, a, _ in beams])
        p = torch.softmax(a, 0) if how == "drawn" else torch.ones_like(a) / len(a)
        others = [sum(bool(part <= u(c, b)) for part in p.cumsum(0)) for b in range(1, most)]
        after.append([beams[0], *(beams[min(i, len(beams) - 1)] for i in others)])
    return after
