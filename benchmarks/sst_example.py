"""DGL's example, a Tree-LSTM of sentences with a class at every node, by DGL, with one import changed, and as a cell.

    DGLTREE_DATA=FOLDER .venv/bin/python -m benchmarks.sst_example [--epochs 3] [--trees N] [--binary]

Trains with DGL and with dgltree from the same weights in float64, and prints losses and accuracies of each epoch.
"""

import argparse
import copy
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.inputs import data_folder
from dgltree import PlannedBatch, Tree, TreeBatch, Vocabulary, batch, prop_nodes_topo, propagate
from dgltree.cells import ChildSumTreeLSTM
from dgltree.read.bracket import iter_sst

WORDS, SIZE, CLASSES, BATCH = 300, 150, 5, 25
RATE, DECAY, DROPOUT = 0.05, 1e-4, 0.5


Fields = dict[str, Tensor]


class TreeLSTM(nn.Module):
    """The Tree-LSTMs of arXiv 1503.00075, child-sum (equations 2 to 8) and binary (9 to 14), as functions for DGL.

    ``iou`` of a node is W x of its word, 0 where there is none; states of leaves come from ``apply_node_func``.
    """

    def __init__(self, n: int = SIZE, binary: bool = False) -> None:
        super().__init__()
        self.n, self.binary = n, binary
        arity = 2 if binary else 1
        self.U_iou = nn.Linear(arity * n, 3 * n, bias=False)
        self.U_f = nn.Linear(arity * n, arity * n)
        self.b_iou = nn.Parameter(torch.zeros(1, 3 * n))

    def message_func(self, edges: Any) -> Fields:
        return {"h": edges.src["h"], "c": edges.src["c"]}

    def reduce_func(self, nodes: Any) -> Fields:
        h, c = nodes.mailbox["h"], nodes.mailbox["c"]
        h_all = h.flatten(1) if self.binary else h.sum(1)
        f = torch.sigmoid(self.U_f(h_all if self.binary else h)).view(c.shape)
        return {"iou": self.U_iou(h_all), "c": (f * c).sum(1)}

    def apply_node_func(self, nodes: Any) -> Fields:
        i, o, u = (nodes.data["iou"] + self.b_iou).chunk(3, 1)
        c = torch.sigmoid(i) * torch.tanh(u) + nodes.data["c"]
        return {"h": torch.sigmoid(o) * torch.tanh(c), "c": c}

    def fields(self, trees: TreeBatch) -> Fields:
        """Before a pass: inputs that want gradients, and states of 0."""
        generator = torch.Generator().manual_seed(0)
        iou = torch.randn(trees.num_nodes, 3 * self.n, generator=generator) * (trees.arity == 0).unsqueeze(1)
        zeros = torch.zeros(trees.num_nodes, self.n)
        return {"iou": iou.requires_grad_(), "h": zeros, "c": zeros}


class Sentiment(nn.Module):
    """Classes of all nodes of trees with words at the leaves: embedding, Tree-LSTM, linear readout."""

    def __init__(self, vocabulary: Vocabulary, *, binary: bool = False, dropout: float = DROPOUT) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(vocabulary.tokens), WORDS)
        self.W_iou = nn.Linear(WORDS, 3 * SIZE, bias=False)
        self.functions = TreeLSTM(SIZE, binary=binary)
        self.dropout = nn.Dropout(dropout)
        self.readout = nn.Linear(SIZE, CLASSES)

    def forward(self, graph: Any, propagate: Callable[..., object]) -> Tensor:
        """(N, classes); ``propagate`` is ``dgl.prop_nodes_topo`` or ours."""
        token = graph.ndata["token"]
        words = self.dropout(self.embedding(token.clamp(min=0)))
        graph.ndata["iou"] = self.W_iou(words) * (token >= 0).unsqueeze(1)
        graph.ndata["h"] = graph.ndata["c"] = words.new_zeros(len(token), SIZE)
        functions = self.functions
        propagate(graph, functions.message_func, functions.reduce_func, apply_node_func=functions.apply_node_func)
        return self.readout(self.dropout(graph.ndata["h"]))  # type: ignore[no-any-return]


class AsCell(nn.Module):
    """The same network, child-sum and without dropout, whose Tree-LSTM is a cell with the weights of another's."""

    def __init__(self, vocabulary: Vocabulary, model: Sentiment) -> None:
        super().__init__()
        self.cell = ChildSumTreeLSTM(vocabulary, SIZE, input_size=WORDS, leaf="gates").to(model.readout.weight)
        self.readout = copy.deepcopy(model.readout)
        functions, maps = model.functions, self.cell.named_maps()
        with torch.no_grad():  # its gates are u, i and o, and f among the inputs, which inner nodes have none of
            for found, given in (
                (maps["gates_any"].weight[0], functions.U_iou.weight),
                (maps["gates_any"].bias[0], functions.b_iou[0]),  # type: ignore[index]
                (maps["input_any"].weight[0, : 3 * SIZE], model.W_iou.weight),
            ):
                i, o, u = given.chunk(3)
                found.copy_(torch.cat([u, i, o]))
            maps["message_any"].weight[0].copy_(functions.U_f.weight)
            maps["message_any"].bias[0].copy_(functions.U_f.bias)  # type: ignore[index]
            self.cell.input_embedding.weight.copy_(model.embedding.weight)  # type: ignore[union-attr]

    def forward(self, trees: TreeBatch | PlannedBatch) -> Tensor:
        return self.readout(propagate(trees, self.cell)["h"])  # type: ignore[no-any-return]


def training_step(model: nn.Module, logits: Callable[[], Tensor], label: Tensor) -> Callable[[], float]:
    """Loss of all nodes, backward pass, and Adagrad."""
    adagrad = torch.optim.Adagrad(model.parameters(), RATE, weight_decay=DECAY)

    def step() -> float:
        loss = nn.functional.cross_entropy(logits(), label, reduction="sum")
        adagrad.zero_grad()
        loss.backward()
        adagrad.step()
        return loss.item()

    return step


def by_dgl(*arguments: Any, **functions: Any) -> None:
    """DGL's own, without its warning about leaves."""
    import dgl

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The input graph for the user-defined edge function")
        dgl.prop_nodes_topo(*arguments, **functions)


def epochs(
    model: Sentiment, train: Sequence[Tree], test: Sequence[Tree], vocabulary: Vocabulary, run: Callable[..., object]
) -> Iterator[tuple[float, float]]:
    """Loss per node and accuracy of test roots after every epoch, for ever."""
    parameters = [p for name, p in model.named_parameters() if not name.startswith("embedding")]
    adagrad = torch.optim.Adagrad(parameters, RATE, weight_decay=DECAY)
    words = torch.optim.SGD(model.embedding.parameters(), 0.1 * RATE)
    generator = torch.Generator().manual_seed(0)
    for epoch in itertools.count():
        torch.manual_seed(epoch)  # of dropout
        total, nodes = 0.0, 0
        for among in torch.randperm(len(train), generator=generator).split(BATCH):
            trees = batch([train[k] for k in among.tolist()], vocabulary)
            loss = nn.functional.cross_entropy(model(trees.graph, run), trees.label, reduction="sum")
            for optimizer in (adagrad, words):
                optimizer.zero_grad()
            loss.backward()
            for optimizer in (adagrad, words):
                optimizer.step()
            total, nodes = total + loss.item(), nodes + trees.num_nodes
        model.eval()
        with torch.no_grad():
            tests = batch(test, vocabulary)
            right = (model(tests.graph, run).argmax(1) == tests.label)[tests.roots]
        model.train()
        yield total / nodes, float(right.double().mean())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--trees", type=int, help="train on only this many sentences")
    parser.add_argument(
        "--binary", action="store_true", help="use the binary Tree-LSTM instead of the child-sum Tree-LSTM"
    )
    options = parser.parse_args(arguments)
    folder = data_folder()
    if folder is None:
        parser.error("DGLTREE_DATA names no folder with the Stanford Sentiment Treebank, sst/train.txt and sst/dev.txt")
    files = [(folder / "sst" / f"{name}.txt").read_text(encoding="utf-8") for name in ("train", "dev")]
    train, test = (list(iter_sst(text)) for text in files)
    train = train[: options.trees]
    vocabulary = Vocabulary.from_trees([*train, *test], any_arity=True)
    torch.manual_seed(0)
    model = Sentiment(vocabulary, binary=options.binary).double()
    theirs = epochs(copy.deepcopy(model), train, test, vocabulary, by_dgl)
    ours = epochs(model, train, test, vocabulary, prop_nodes_topo)
    largest = 0.0
    for epoch, (loss, accuracy), (own, right) in zip(range(options.epochs), theirs, ours, strict=False):
        largest = max(largest, abs(own - loss))
        print(
            f"epoch {epoch + 1}: loss per node {loss:.12f} by DGL, {own:.12f} by us; "
            f"accuracy of roots {accuracy:.4f}, {right:.4f}",
            flush=True,
        )
    print(f"largest difference of losses: {largest:.1e}")
    return int(largest > 1e-5)


if __name__ == "__main__":
    sys.exit(main())
