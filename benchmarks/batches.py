"""From trees to plans: batches out of a flattened data set, plans with equal subtrees shared, and a whole epoch."""

from collections.abc import Iterator

import torch

from benchmarks.inputs import equations
from benchmarks.row import Row, Skipped, in_turn
from dgltree import Vocabulary, batch
from dgltree.batching.subtrees import number_subtrees, twins
from dgltree.engine.schedule import schedule

SIZE = 256


def rows(device: str, repeats: int) -> Iterator[Row | Skipped]:
    """The rows of the suite; all of them are work for the CPU, whatever the device."""
    known = equations(4096)
    vocabulary = Vocabulary.from_trees(side for equation in known for side in equation)
    [flattening] = in_turn({"ours": lambda: batch(known[:SIZE], vocabulary)}, repeats).values()
    data = number_subtrees(batch(known, vocabulary))
    order = torch.randperm(len(known), generator=torch.Generator().manual_seed(0))[:SIZE]
    trees = torch.stack([2 * order, 2 * order + 1], 1).flatten()
    chosen = data[trees]
    nodes = chosen.num_nodes

    def planned() -> None:
        schedule(data[trees], share=True)

    steps = {
        "selected": lambda: data[trees],
        "shared": lambda: twins(chosen),
        "planned": planned,
    }
    times = in_turn(steps, repeats)
    for name, what, aim, least in (
        ("selected", f"a batch of {SIZE} equations out of flat arrays", 2e6, 1e6),
        ("shared", "finding its equal subtrees, numbered once", 2e6, 1e6),
        ("planned", "a batch with its plan, equal subtrees shared", None, None),
    ):
        seconds = times[name].median
        yield Row(what, nodes / seconds, "nodes a second", aim, least, ours_s=seconds)
    flat = batch(known[:SIZE], vocabulary).num_nodes / flattening.median
    yield Row(f"a batch of {SIZE} equations out of trees", flat, "nodes a second", ours_s=flattening.median)
