"""Training steps of a binary Tree-LSTM next to DyNet's, which batches by itself; making batches and plans included."""

import importlib.util
import random
import time
from collections.abc import Callable, Iterator

import torch

from benchmarks.peers import BareProducts
from benchmarks.row import Row, Skipped, against, in_turn
from dgltree import PlannedBatch, Tree, Vocabulary, batch, plan
from dgltree.cells import TreeLSTM

TREES, WORDS, CLASSES = 128, 1000, 5
SIZES = ((150, 4.0, 2.8), (50, 8.0, 4.0))
"""n, aim and least."""
PEERS = ("DyNet, autobatch", "DyNet, no autobatch")


def rows(device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The rows of the suite, in CPU time."""
    name = f"binary Tree-LSTM, {TREES} trees, a loss at every node, training"
    if device != "cpu" or importlib.util.find_spec("dynet") is None:
        yield Skipped(name, "the package dynet38 is not installed, or this is no CPU")
        return
    for n, aim, least in SIZES:
        times = in_turn(_steps(n), repeats, clock=time.process_time)
        peer = min(PEERS, key=lambda one: times[one].median)
        for how, limits in (
            ("", {"aim": aim, "least": least}),
            (", equal subtrees shared", {}),
            (", from a flat data set", {}),
            (", planned", {}),
        ):
            ours = times[f"ours{how}"]
            work = {"trees": TREES / ours.median}
            yield against(f"{name}, n = {n}{how}", peer, {**times, "ours": ours}, work=work, **limits)
        for how in ("", ", equal subtrees shared"):
            bare = {**times, "ours": times[f"bare products{how}"]}
            yield against(f"the limit, n = {n}: the bare products alone{how}", peer, bare)
        for one in PEERS:
            yield Row(f"{one}, n = {n}", TREES / times[one].median, "trees a second", ours_s=times[one].median)


def _steps(n: int) -> dict[str, Callable[[], object]]:
    """Ours from trees (equal subtrees computed once or not), from flattened ones, as ``fit`` has them, and planned."""
    from benchmarks.dynet_tree_lstm import RATE, DyNetTreeLSTM, OurTreeLSTM

    trees = drawn(TREES)
    vocabulary = Vocabulary.from_trees(trees)
    torch.manual_seed(0)
    cell = TreeLSTM(vocabulary, n, input_size=n, leaf="gates")
    ours = OurTreeLSTM(cell, CLASSES)
    theirs, flat, order = DyNetTreeLSTM(ours), batch(trees, vocabulary), range(TREES)
    planned, shared = plan(flat, cell), plan(flat, cell, share=True)
    adagrad = torch.optim.Adagrad(ours.parameters(), RATE, fused=True)

    def step(made: Callable[[], PlannedBatch]) -> None:
        ours.loss(made()).backward()
        adagrad.step()
        adagrad.zero_grad()

    return {
        "ours": lambda: step(lambda: plan(batch(trees, vocabulary), cell)),
        "ours, equal subtrees shared": lambda: step(lambda: plan(batch(trees, vocabulary), cell, share=True)),
        "ours, from a flat data set": lambda: step(lambda: plan(flat[order], cell)),
        "ours, planned": lambda: step(lambda: planned),
        "bare products": BareProducts(cell, planned.schedule),
        "bare products, equal subtrees shared": BareProducts(cell, shared.schedule),
        PEERS[0]: lambda: theirs.step(trees, autobatch=True),
        PEERS[1]: lambda: theirs.step(trees, autobatch=False),
    }


def drawn(count: int) -> list[Tree]:
    """Random binary trees of 3 to 34 words, a class at every node."""
    draw = random.Random(0)

    def tree(words: int) -> Tree:
        label = draw.randrange(CLASSES)
        if words == 1:
            return Tree("word", token=f"w{draw.randrange(WORDS)}", label=label)
        left = draw.randrange(1, words)
        return Tree("node", (tree(left), tree(words - left)), label=label)

    return [tree(draw.randrange(3, 35)) for _ in range(count)]
