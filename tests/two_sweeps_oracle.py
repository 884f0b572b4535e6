"""Self-StrAE and Banyan from their equations: vectors by node, one sentence and one pair after the other."""

import math
from itertools import pairwise

import torch
from torch import Tensor

from dgltree.models import Autoencoder

Node = int | tuple  # a word's id, or a pair of nodes; with a first entry that tells occurrences apart


def cosine(a: Tensor, b: Tensor) -> float:
    return float(((a * b).sum() / (a.norm() * b.norm())).detach())


def sigmoid(v: Tensor) -> Tensor:
    return 1 / (1 + torch.exp(-v))


class Literal:
    """One batch of sentences (lists of ids) through the weights of a network of ours, dropout off."""

    def __init__(self, model: Autoencoder, sentences: list[list[int]]) -> None:
        self.model, self.banyan = model, hasattr(model.up, "weight")
        self.unit = model.up.unit
        self.up: dict[object, Tensor] = {}
        self.children: dict[object, tuple[object, object]] = {}
        self.made: list[object] = []
        self.roots = []
        words = []
        for s, sentence in enumerate(sentences):
            words.append([word if model.entangled else (s, t, word) for t, word in enumerate(sentence)])
        for node in (node for row in words for node in row):
            if node not in self.up:
                self.up[node] = model.up.embedding.weight[node if model.entangled else node[2]]
                self.made.append(node)
        self.leaves = list(self.made)
        longest = max(map(len, words))
        for _ in range(longest - 1):  # round after round, as the programs do: made in this order
            words = [self.joined(row) if len(row) > 1 else row for row in words]
        self.roots = [row[0] for row in words]
        self.down = self.downwards()

    def joined(self, row: list) -> list:
        cosines = [cosine(self.up[a], self.up[b]) for a, b in pairwise(row)]
        best = next(t for t, c in enumerate(cosines) if c > max(cosines) - 1e-9)
        pair, new, t = (row[best], row[best + 1]), [], 0
        while t < len(row):
            here = self.model.everywhere and tuple(row[t : t + 2]) == pair
            if t == best or here:
                new.append(self.node(*row[t : t + 2]))
                t += 2
            else:
                new.append(row[t])
                t += 1
        return new

    def node(self, left: object, right: object) -> object:
        node = ("pair", left, right)
        if node not in self.up:
            self.up[node], self.children[node] = self.composed(self.up[left], self.up[right]), (left, right)
            self.made.append(node)
        return node

    def composed(self, left: Tensor, right: Tensor) -> Tensor:
        up, parts = self.model.up, []
        for k in range(0, len(left), self.unit):
            a, b = left[k : k + self.unit], right[k : k + self.unit]
            if self.banyan:
                parts.append(a * sigmoid(up.weight[0]) + b * sigmoid(up.weight[1]) + up.bias)
            else:
                phi = up.maps["phi_2"]
                parts.append(phi.weight[0] @ torch.cat([a, b]) + phi.bias[0])
        return torch.cat(parts)

    def message(self, e: Tensor, side: int) -> Tensor:
        down, parts = self.model.down, []
        for k in range(0, len(e), self.unit):
            a = e[k : k + self.unit]
            if self.banyan:
                parts.append(a * sigmoid(down.weight[side]) + down.bias[side])
            else:
                parts.append(down.maps["theta_any"].weight[side] @ a + down.maps["theta_any"].bias[side])
        return torch.cat(parts)

    def downwards(self) -> dict[object, Tensor]:
        number = {node: k for k, node in enumerate(self.made)}
        parents: dict[object, list[tuple[object, int]]] = {node: [] for node in self.made}
        for node, pair in self.children.items():
            sides = pair
            if self.model.places == "numbers":
                sides = tuple(sorted(pair, key=number.__getitem__))
            for side, child in enumerate(sides):
                parents[child].append((node, side))
        down: dict[object, Tensor] = {}
        while len(down) < len(self.made):
            for node in self.made:
                if node not in down and all(parent in down for parent, _ in parents[node]):
                    sent = [self.message(down[parent], side) for parent, side in parents[node]]
                    down[node] = sum(sent) / len(sent) if sent else self.up[node]
        return down

    def loss(self) -> Tensor:
        parts = []
        if self.model.loss != "cross_entropy":
            nodes = self.made if self.model.loss == "contrastive" else list(self.children)
            parts.append(self.contrastive(nodes))
        if self.model.output is not None:
            each = []
            for node in self.leaves:
                word = node if self.model.entangled else node[2]
                logits = self.model.output.weight @ self.down[node] + self.model.output.bias
                each.append(torch.log(torch.exp(logits).sum()) - logits[word])
            parts.append(sum(each) / len(each))
        return sum(parts) / len(parts)

    def contrastive(self, nodes: list) -> Tensor:
        total = torch.zeros((), dtype=torch.float64)
        s = torch.stack(
            [
                torch.stack(
                    [(self.up[i] * self.down[j]).sum() / (self.up[i].norm() * self.down[j].norm()) for j in nodes]
                )
                for i in nodes
            ]
        )
        s = self.model.scale * s
        for i in range(len(nodes)):
            total = total + torch.log(torch.exp(s[i]).sum()) + torch.log(torch.exp(s[:, i]).sum()) - 2 * s[i, i]
        return total / (2 * len(nodes))


PAPER = {"scale": 5.0}
PROGRAM = {"scale": math.exp(0.2), "places": "numbers"}
