"""CRvNN one place at a time, from the equations: a sentence by itself, or all of a batch as the published programs run
it."""

import math
from typing import Any

import torch
from latent_equations import Noise, Told, affine, composed, gelu, leaf
from torch import Tensor

ZERO, ONE = torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64)


class Sentence:
    """Places: START, the T words, END, and ``padding`` places whose states are 0."""

    def __init__(self, core: Any, h: list[Tensor], padding: int = 0) -> None:
        self.core, self.T = core, len(h)
        self.h = [leaf(core, core.ends[0]), *h, leaf(core, core.ends[1]), *[torch.zeros_like(h[0])] * padding]
        self.S = len(self.h)
        self.e = [ONE] * (self.T + 2) + [ZERO] * padding
        self.q = [ZERO] * self.S
        self.total = [0.0] * self.S
        self.gone: dict[int, tuple[int, float]] = {}
        self.alone = False

    def neighbours(self) -> tuple[list[list[Tensor]], list[list[Tensor]]]:
        R, L = ([[ZERO] * self.S for _ in range(self.S)] for _ in "RL")
        e = self.e
        for i in range(self.S):
            for j in range(i + 1, self.S):
                inside = sum(e[i + 1 : j], ZERO)
                if self.core.neighbours == "product":
                    free = math.prod((1 - e_k for e_k in e[i + 1 : j]), start=ONE)
                    R[i][j], L[j][i] = e[j] * free, e[i] * free
                    continue
                R[i][j] = e[j] if inside + e[j] <= 1 else torch.clamp(1 - inside, min=0)
                L[j][i] = e[i] if inside + e[i] <= 1 else torch.clamp(1 - inside, min=0)
        return L, R

    def passed(self, W: list[list[Tensor]], h: list[Any]) -> list[Any]:
        return [sum(W[i][j] * h[j] for j in range(self.S)) for i in range(self.S)]

    def scores(self) -> Tensor:
        """Of all places, padding too."""
        L, R = self.neighbours()
        Lh, Rh = self.passed(L, self.h), self.passed(R, self.h)
        windows, s, form = zip(self.passed(L, Lh), Lh, self.h, Rh, self.passed(R, Rh), strict=True), [], self.core.gelu
        for window, q in zip(windows, self.q, strict=True):
            if self.core.features is not None:
                window = (*window, q * self.core.features[0] + (1 - q) * self.core.features[1])
            s.append(affine(self.core.second, gelu(affine(self.core.first, torch.cat(window)), form))[0])
        return torch.stack(s)

    def largest(self) -> Tensor:
        return torch.cat([self.scores(), ZERO.view(1)]).max()

    def round(self, t: int, M: Tensor) -> None:
        (L, R), s, T, S, h = self.neighbours(), self.scores(), self.T, self.S, self.h
        A = [torch.exp(s[i] - M) if 1 <= i < T else ZERO for i in range(S)]
        beside = [left + right for left, right in zip(self.passed(L, A), self.passed(R, A), strict=True)]
        p = [A[i] / (A[i] + torch.exp(-M) + beside[i] + 4e-8) for i in range(S)]
        Lh = self.passed(L, h)
        self.q = [q if 1 <= i <= T else ZERO for i, q in enumerate(self.passed(L, p))]
        self.h = [
            q * composed(self.core, Lh[i], h[i]) + (1 - q) * h[i] if i < T + 2 else h[i] for i, q in enumerate(self.q)
        ]
        self.e = [self.e[i] * (1 - p[i]) for i in range(S)]
        self.total = [total + p_i.item() for total, p_i in zip(self.total, p, strict=True)]
        for i in range(1, T):
            if self.merged(i):
                self.gone.setdefault(i, (t, self.rank(i)))
        self.alone = sum(bool(e_i > self.core.threshold) for e_i in self.e[1 : T + 1]) <= 1 or self.alone

    def merged(self, i: int) -> bool:
        return bool(self.e[i] < 0.5) if self.core.config["merged_by"] == "existence" else self.total[i] >= 0.5

    def rank(self, i: int) -> float:
        return 0.0 if self.core.config["merged_by"] == "existence" else -round(self.total[i] / 1e-4)

    def told(self) -> Told:
        def last(i: int) -> tuple[int, float]:
            return self.T + 9, self.e[i].item() if self.core.config["merged_by"] == "existence" else self.rank(i)

        order = sorted(range(1, self.T), key=lambda i: (*(self.gone.get(i) or last(i)), i))
        e = self.e[1 : self.T + 1]
        penalty = ZERO if self.alone or self.T == 1 else -torch.log(e[-1] / sum(e))
        return Told(self.h[self.T], [i - 1 for i in order], penalty * self.core.penalty)


def crvnn(core: Any, h: list[Tensor], training: bool, noise: Noise) -> Told:
    sentence = Sentence(core, h)
    for t in range(sentence.T):
        sentence.round(t, sentence.largest())
        if core.halt and sentence.alone:
            break
    return sentence.told()


def crvnn_batch(core: Any, batch: list[list[Tensor]]) -> list[Told]:
    """With the maximum over all places of all sentences, finished ones and padding too, and T + 1 rounds at most."""
    longest = max(map(len, batch))
    sentences = [Sentence(core, h, longest - len(h)) for h in batch]
    for t in range(longest):
        going = [each for each in sentences if not each.alone and t <= each.T]
        M = torch.stack([each.largest() for each in sentences]).max()
        for each in going:
            each.round(t, M)
    return [each.told() for each in sentences]
