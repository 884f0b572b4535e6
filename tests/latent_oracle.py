"""Latent-tree networks one sentence at a time, from the equations: every pair composed anew in every step, nothing
shared.

Slow and obvious. They share with the library the parameters alone, and the rule by which equal scores are chosen among.
"""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise, permutations
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dgltree.encoders import (
    SequenceBalancedTree,
    SequenceBeamTree,
    SequenceCRvNN,
    SequenceEfficientBeamTree,
    SequenceGumbelTree,
)


class Told(NamedTuple):
    """What the equations give of a sentence."""

    root: Tensor
    """The whole state; :func:`read` leaves h."""
    order: list[int]
    """Gaps as they are closed; of beams those of the best."""
    penalty: Any = 0.0


Noise = Iterator[Tensor] | None


def affine(linear: torch.nn.Linear, v: Tensor) -> Tensor:
    return linear.weight @ v + linear.bias


def gelu(v: Tensor) -> Tensor:
    return v * (1 + torch.erf(v / math.sqrt(2))) / 2


def norm(module: torch.nn.Module, v: Tensor) -> Tensor:
    centred = v - v.mean()
    return centred / torch.sqrt(centred.square().mean() + 1e-5) * module.weight + module.bias


def leaf(core: Any, x: Tensor) -> Tensor:
    h = affine(core.leaf, x)
    return norm(core.leaf_norm or core.norm, h) if core.cell.normed else h


def words(core: Any, ids: list[int]) -> list[Tensor]:
    if core.config.get("leaf", "linear") != "linear":
        return lstm_words(core, [core.embedding.weight[i] for i in ids])
    return [leaf(core, core.embedding.weight[i]) for i in ids]


def lstm_words(core: Any, x: list[Tensor]) -> list[Tensor]:
    """[h; c] at each word; those of a second LSTM, from right to left, after the first one's h and c."""
    parts: list[list[list[Tensor]]] = []
    for cell, step in zip(core.leaf.cells, (1, -1), strict=False):
        h, c = x[0].new_zeros(2, cell.hidden_size)
        found = []
        for v in x[::step]:
            z = cell.weight_ih @ v + cell.bias_ih + cell.weight_hh @ h + cell.bias_hh
            i, f, g, o = z.split(cell.hidden_size)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            found.append([h, c])
        parts.append(found[::step])
    return [torch.cat([each[k] for k in (0, 1) for each in at]) for at in zip(*parts, strict=True)]


def composed(core: Any, l: Tensor, r: Tensor) -> Tensor:  # noqa: E741 (the l of the equations)
    cell, n = core.cell, core.cell.hidden_size
    W = torch.cat([cell.vertical.weight, cell.horizontal.weight], 1)
    z = W @ torch.cat([l[:n], r[:n]]) + cell.horizontal.bias
    name = core.config["cell"]
    if name == "tree_rnn":
        return torch.tanh(z)
    if name == "tree_lstm":
        i, o, f_l, f_r, u = z.split(n)
        raised = cell.forget_bias
        c = l[n:] * torch.sigmoid(f_l + raised) + r[n:] * torch.sigmoid(f_r + raised) + torch.tanh(u) * torch.sigmoid(i)
        return torch.cat([torch.sigmoid(o) * torch.tanh(c), c])
    a_l, a_r, a_i, u = affine(cell.second, gelu(z) if name == "grc" else torch.relu(z)).split(n)
    return norm(core.norm, torch.sigmoid(a_l) * l + torch.sigmoid(a_r) * r + torch.sigmoid(a_i) * u)


def score(core: Any, l: Tensor, r: Tensor) -> Tensor:  # noqa: E741
    n, how = core.cell.hidden_size, core.score
    if type(how).__name__ == "ChildrenScore":
        k = how.slice_size
        return affine(how.second, gelu(affine(how.first, torch.cat([l[:k], r[:k]]))))[0]
    c = composed(core, l, r)[:n]
    if type(how).__name__ == "LinearScore":
        return affine(how.linear, c)[0]
    root = math.sqrt(n / 2 if core.config["leaf"] == "both" else n)
    return how.query @ c / (root if core.config["scaled"] else 1)


def best(scores: list[float], count: int) -> list[int]:
    """The places of the best, of scores within 1e-9 of each other the leftmost."""
    near, left, found = 1e-9 * max(map(abs, scores), default=0), dict(enumerate(scores)), []
    while left and len(found) < count:
        top = max(left.values())
        found.append(min(i for i, s in left.items() if s >= top - near))
        del left[found[-1]]
    return found


def along(core: Any, h: list[Tensor], order: list[int]) -> Tensor:
    """What the words become if the gaps are closed in this order."""
    h, gaps = list(h), list(range(len(h) - 1))
    for gap in order:
        j = gaps.index(gap)
        h[j : j + 2], gaps[j : j + 1] = [composed(core, h[j], h[j + 1])], []
    [root] = h
    return root[: core.cell.hidden_size]


def read(core: Any, ids: list[int], training: bool, noise: Noise) -> Told:
    """The literal form of a core, in chunks where it has them."""
    join, level = ORACLES[type(core)], [(h, t) for t, h in enumerate(words(core, ids))]  # with each its last word
    k = core.chunk_size if training or core.chunks_in_evaluation else None
    n, order, penalty = core.cell.hidden_size, list[int](), 0.0
    if k is None:
        told = join(core, [h for h, _ in level], training, noise)
        return told._replace(root=told.root[:n])
    while len(level) > 1:
        size, above = k if len(level) >= 1.5 * k else len(level), []
        for start in range(0, len(level), size):
            chunk = level[start : start + size]
            told = join(core, [h for h, _ in chunk], training, noise)
            order += [chunk[gap][1] for gap in told.order]
            penalty = penalty + told.penalty
            above.append((told.root, chunk[-1][1]))
        level = above
    return Told(level[0][0][:n], order, penalty)


def balanced(core: Any, h: list[Tensor], training: bool, noise: Noise) -> Told:
    level = list(zip(h, range(len(h)), strict=True))  # with each its last word
    order = []
    while len(level) > 1:
        above = []
        for (l, end), (r, last) in zip(level[::2], level[1::2], strict=False):  # noqa: E741
            order.append(end)
            above.append((composed(core, l, r), last))
        level = above + level[len(above) * 2 :]
    return Told(level[0][0], order)


def gumbel_tree(core: Any, h: list[Tensor], training: bool, noise: Noise) -> Told:
    gaps, order, n, nodes = list(range(len(h) - 1)), [], core.cell.hidden_size, list(h)
    while len(h) > 1:
        s = torch.stack([score(core, *pair) for pair in pairwise(h)])
        s = s if noise is None else s + next(noise).flatten()
        [j] = best(s.tolist(), 1)
        y = torch.softmax(s / core.temperature, 0)
        hard = torch.zeros_like(y)
        hard[j] = 1
        m = hard + y - y.detach() if training else hard
        c = [composed(core, *pair) for pair in pairwise(h)]
        if core.config["composed"] == "mixture":
            l, r = (sum(m_i * h_i for m_i, h_i in zip(m, side, strict=True)) for side in (h[:-1], h[1:]))  # noqa: E741
            c = [composed(core, l, r)] * len(c)
        h = [
            m[i] * c[i] + (1 - m[: i + 1].sum()) * h[i] + (m[: i + 1].sum() - m[i]) * h[i + 1]
            for i in range(len(h) - 1)
        ]
        nodes.append(sum(m_i * h_i for m_i, h_i in zip(m, h, strict=True)))
        order.append(gaps.pop(j))
    if not core.attention:
        return Told(h[0], order)
    k = torch.stack(nodes)[:, :n]
    return Told(torch.cat([torch.softmax(k @ k.mean(0), 0) @ k, h[0][n:]]), order)


def beam_tree(core: Any, h: list[Tensor], training: bool, noise: Noise) -> Told:
    K, soft, T = core.beam_size, core.soft and training, len(h)
    beams = [(h, torch.zeros((), dtype=torch.float64), list(range(T - 1)), [])]
    for _ in range(T - 1):
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
        kept = best(by.tolist(), K)
        hard = kept[: K - 1] if soft and len(kept) == K else kept
        after = []
        for p in hard:
            b, j, a, gaps, order = proposals[p]
            h = beams[b][0]
            after.append(([*h[:j], composed(core, h[j], h[j + 1]), *h[j + 2 :]], a, gaps, order))
        if len(hard) < len(kept):
            after.append(mixed(core, beams, proposals, [p for p in range(len(proposals)) if p not in hard], kept[-1]))
        beams = after
    weights = torch.softmax(torch.stack([a for _, a, _, _ in beams]), 0)
    root = sum(w * h[0] for w, (h, *_) in zip(weights, beams, strict=True))
    return Told(root, beams[best(weights.tolist(), 1)[0]][3])


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


def crvnn(core: Any, h: list[Tensor], training: bool, noise: Noise) -> Told:
    T = len(h)
    h = [leaf(core, core.ends[0]), *h, leaf(core, core.ends[1])]
    S, zero, one = T + 2, torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64)
    e, q = [one] * S, [zero] * S
    gone: dict[int, int] = {}
    single = False
    for t in range(T):
        R = [[zero] * S for _ in range(S)]
        L = [[zero] * S for _ in range(S)]
        for i in range(S):
            for j in range(i + 1, S):
                inside = sum(e[i + 1 : j], zero)
                if core.neighbours == "product":
                    free = math.prod((1 - e_k for e_k in e[i + 1 : j]), start=one)
                    R[i][j], L[j][i] = e[j] * free, e[i] * free
                    continue
                R[i][j] = e[j] if inside + e[j] <= 1 else torch.clamp(1 - inside, min=0)
                L[j][i] = e[i] if inside + e[i] <= 1 else torch.clamp(1 - inside, min=0)
        at = [{"L": L, "R": R}[side] for side in "LR"]
        Lh, Rh = ([sum(W[i][j] * h[j] for j in range(S)) for i in range(S)] for W in at)
        LLh = [sum(L[i][j] * Lh[j] for j in range(S)) for i in range(S)]
        RRh = [sum(R[i][j] * Rh[j] for j in range(S)) for i in range(S)]
        s = []
        for i in range(S):
            window = [LLh[i], Lh[i], h[i], Rh[i], RRh[i]]
            if core.features is not None:
                window.append(q[i] * core.features[0] + (1 - q[i]) * core.features[1])
            s.append(affine(core.second, gelu(affine(core.first, torch.cat(window))))[0])
        M = torch.stack([*s, zero]).max()
        A = [torch.exp(s[i] - M) if 1 <= i < T else zero for i in range(S)]
        p = []
        for i in range(S):
            beside = sum((L[i][j] + R[i][j]) * A[j] for j in range(S))
            p.append(A[i] / (A[i] + torch.exp(-M) + beside + 4e-8))
        q = [sum(L[i][j] * p[j] for j in range(S)) if 1 <= i <= T else zero for i in range(S)]
        h = [q[i] * composed(core, Lh[i], h[i]) + (1 - q[i]) * h[i] for i in range(S)]
        e = [e[i] * (1 - p[i]) for i in range(S)]
        for i in range(1, T):
            if e[i] < 0.5:
                gone.setdefault(i, t)
        if sum(bool(e[i] > core.threshold) for i in range(1, T + 1)) <= 1:
            single = True
            if core.halt:
                break
    order = sorted(range(1, T), key=lambda i: (gone.get(i, T), 0.0 if i in gone else float(e[i]), i))
    penalty = zero if single or T == 1 else -torch.log(e[T] / sum(e[1 : T + 1]))
    return Told(h[T], [i - 1 for i in order], penalty * core.penalty)


ORACLES: dict[type, Callable[[Any, list[Tensor], bool, Noise], Told]] = {
    SequenceBalancedTree: balanced,
    SequenceGumbelTree: gumbel_tree,
    SequenceCRvNN: crvnn,
    SequenceBeamTree: beam_tree,
    SequenceEfficientBeamTree: beam_tree,
}
"""The literal form of how each network joins neighbours."""


def over_all_orders(core: Any, ids: list[int]) -> Tensor:
    """The mean over all (T - 1)! orders of merges, each weighed by the product of its choices' probabilities."""
    h, orders = words(core, ids), list(permutations(range(len(ids) - 1)))
    logs = []
    for order in orders:
        states, gaps, log = list(h), list(range(len(ids) - 1)), 0.0
        for gap in order:
            j = gaps.index(gap)
            s = torch.stack([score(core, *pair) for pair in pairwise(states)])
            log = log + torch.log(torch.softmax(s, 0)[j] + 1e-20)
            states[j : j + 2], gaps[j : j + 1] = [composed(core, states[j], states[j + 1])], []
        logs.append(torch.as_tensor(log, dtype=torch.float64))
    weights = torch.softmax(torch.stack(logs), 0)
    return sum(w * along(core, h, list(order)) for w, order in zip(weights, orders, strict=True))
