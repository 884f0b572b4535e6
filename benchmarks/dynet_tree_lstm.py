"""A binary Tree-LSTM with a loss at every node, as a DyNet program and in dgltree: the same weights, the same loss."""

from collections.abc import Iterator, Sequence

import dynet as dy
from torch import Tensor, nn

from dgltree import PlannedBatch, Tree, propagate
from dgltree.cells import TreeLSTM

RATE = 0.05
Vectors = tuple["dy.Expression", "dy.Expression"]


class OurTreeLSTM(nn.Module):
    """Trees whose leaves have words, a class at every node; a leaf's gates read its word's vector.

    Args:
        cell: with ``leaf="gates"`` and ``input_size``.
        classes: how many there are.
    """

    def __init__(self, cell: TreeLSTM, classes: int) -> None:
        super().__init__()
        self.cell, self.readout = cell, nn.Linear(cell.hidden_size, classes)

    def loss(self, planned: PlannedBatch) -> Tensor:
        """Of all nodes, added up."""
        logits = self.readout(propagate(planned, self.cell)["h"])
        return nn.functional.cross_entropy(logits, planned.batch.label, reduction="sum")


class DyNetTreeLSTM:
    """The same as a DyNet program: an expression for each gate of each node, which autobatching brings together.

    One product for all gates of a node, cut into pieces, was slower at n = 150, and 7 to 8 % faster at n = 50.

    Args:
        like: gives sizes and weights.
    """

    def __init__(self, like: OurTreeLSTM) -> None:
        n, maps = like.cell.hidden_size, like.cell.named_maps()
        self.vocabulary = like.cell.vocabulary
        self.model = dy.ParameterCollection()  # has to outlive its parameters
        self.words = self.model.lookup_parameters_from_numpy(like.cell.input_embedding.weight.detach().numpy())
        inner, leaf = maps["gates_2"], maps["gates_0"]
        self.inner = self._gates(inner.bias[0].split(n), inner.weight[0].split(n))
        self.leaf = self._gates(leaf.bias[0].split(n), maps["input_0"].weight[0].split(n))
        [self.readout] = self._gates([like.readout.bias], [like.readout.weight])
        self.trainer = dy.AdagradTrainer(self.model, RATE)
        self.trainer.set_clip_threshold(0)  # else it clips gradients

    def _gates(self, biases: Sequence[Tensor], weights: Sequence[Tensor]) -> list[list["dy.Parameters"]]:
        pairs = zip(biases, weights, strict=True)
        return [[self.model.parameters_from_numpy(t.detach().numpy().copy()) for t in pair] for pair in pairs]

    def step(self, trees: Sequence[Tree], autobatch: bool) -> float:
        """A training step; the loss before it."""
        loss = self.loss(trees, autobatch)
        value: float = loss.value()
        loss.backward()
        self.trainer.update()
        return value

    def loss(self, trees: Sequence[Tree], autobatch: bool) -> "dy.Expression":
        """Of all nodes, added up, in a new graph."""
        dy.renew_cg(autobatching=autobatch)
        return dy.esum([self._loss(h, label) for tree in trees for h, label in self._nodes(tree)])

    def _loss(self, h: "dy.Expression", label: int) -> "dy.Expression":
        return dy.pickneglogsoftmax(dy.affine_transform([*self.readout, h]), label)

    def _nodes(self, tree: Tree) -> Iterator[tuple["dy.Expression", int]]:
        """h and class of each node, the root last."""
        known: dict[int, Vectors] = {}
        for node in tree.distinct():
            known[id(node)] = self._state(node, [known[id(child)] for child in node.children])
            yield known[id(node)][0], int(node.label or 0)

    def _state(self, node: Tree, children: list[Vectors]) -> Vectors:
        if children:
            i = dy.concatenate([h for h, _ in children])
        else:
            i = dy.lookup(self.words, self.vocabulary.token_id(node.token or ""))
        u, in_, o, *f = (dy.affine_transform([*gate, i]) for gate in (self.inner if children else self.leaf))
        c = dy.cmult(dy.logistic(in_), dy.tanh(u))
        for f_k, (_, c_k) in zip(f, children, strict=True):
            c = c + dy.cmult(dy.logistic(f_k), c_k)
        return dy.cmult(dy.logistic(o), dy.tanh(c)), c
